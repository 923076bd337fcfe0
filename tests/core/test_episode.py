"""What episodes promise."""

import json
from dataclasses import replace

import pytest

from corecode_env.core.episode import ANSWER, Episode, Submission, Turn
from corecode_env.core.verdict import Judgement, TestResult, Verdict


def episode(cpu: float = 0.1) -> Episode:
    judgement = Judgement("t", (TestResult(Verdict.AC, cpu_seconds=cpu),))
    plan = Turn("planner_0", 0, {"prompt": "p", "round": 0}, "plan")
    code = Turn(
        "coder_0",
        0,
        {"prompt": "c", "round": 0},
        "```python\nx\n```",
        Submission("x\n", found="fence"),
        judgement,
        {"planner_0": {"acc": 1.0}, "coder_0": {"acc": 1.0, "time": None}},
        "stop",
        (1, 2),
        (-0.5, -0.25),
    )
    return Episode(
        "t", 3, ("planner_0", "coder_0"), (plan, code), env_id="e", versions={"python": "3"}
    )


def test_an_episode_survives_json() -> None:
    assert Episode.from_json(json.loads(json.dumps(episode().to_json()))) == episode()


def test_equal_play_is_equal_whatever_the_clock_says() -> None:
    assert episode(0.1) == episode(0.2)


def test_a_turn_may_pay_another_agent() -> None:
    assert episode().returns == {"planner_0": 1.0, "coder_0": 1.0}


def test_the_last_judgement_is_the_episodes() -> None:
    last = episode().judgement
    assert last is not None and last.passed


def test_a_turn_may_name_an_earlier_program_as_the_answer() -> None:
    wrong = Judgement("t", (TestResult(Verdict.WA),))
    first = episode().turns[1]
    named = replace(first, judgement=wrong, facts={ANSWER: 0.0})
    unnamed = replace(first, judgement=wrong)
    note = Turn("planner_0", 1, {}, "a note", facts={"other": 1.0})
    assert replace(episode(), turns=(first, named, note)).answer is first
    assert replace(episode(), turns=(first, unnamed)).judgement is wrong
    assert replace(episode(), turns=(note,)).answer is None


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="corecode/episode/1"):
        Episode.from_json({"schema": "x"})
