"""Records: what is kept and shown. Episodes on disk, replay, viewer."""

from corecode_env.records.jsonl import (
    EpisodesRead,
    EpisodeWriter,
    iter_episodes,
    read_episodes,
    write_episodes,
)
from corecode_env.records.rescore import rescore

__all__ = [
    "EpisodeWriter",
    "EpisodesRead",
    "iter_episodes",
    "read_episodes",
    "rescore",
    "write_episodes",
]
