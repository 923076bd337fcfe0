"""What rescoring promises: new numbers from old records."""

from __future__ import annotations

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.records import rescore

AGENTS = ("planner_0", "coder_0")


def played(verdict: Verdict, *, valid: bool = True) -> Episode:
    old = {"coder_0": {"old": 9.0}}
    judgement = Judgement("t", (TestResult(verdict),))
    turns = (
        Turn("planner_0", 0, {}, "plan"),
        Turn("coder_0", 0, {}, "code", judgement=judgement, reward_terms=old),
    )
    return Episode("t", 0, AGENTS, turns, valid=valid)


def count(turn: Turn, episode: Episode) -> dict[str, dict[str, float | None]]:
    assert episode.turns[-1] == turn
    return {turn.agent: {"turns so far": float(len(episode.turns))}}


def test_new_terms_replace_the_old_ones() -> None:
    (episode,) = rescore([played(Verdict.AC)], count)
    assert episode.returns == {"planner_0": 1.0, "coder_0": 2.0}


def test_an_episode_whose_sandbox_failed_is_left_alone() -> None:
    broken = played(Verdict.SE, valid=False)
    assert list(rescore([broken], count)) == [broken]
