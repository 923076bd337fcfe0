"""Rollout: from play to data. Agents meet environments."""

from corecode_env.rollout.collect import collect
from corecode_env.rollout.play import Players, play

__all__ = ["Players", "collect", "play"]
