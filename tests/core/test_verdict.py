"""What verdicts and judgements promise."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.verdict import PRECEDENCE, Judgement, TestResult, Verdict, worst


def judged(*verdicts: Verdict, public: int = 0) -> Judgement:
    return Judgement(
        "t", tuple(TestResult(v, public=i < public) for i, v in enumerate(verdicts))
    )


def test_every_verdict_has_its_place_and_a_meaning() -> None:
    assert sorted(PRECEDENCE) == sorted(Verdict)
    assert all(verdict.meaning for verdict in Verdict)


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1))
def test_only_all_accepted_is_accepted(verdicts: list[Verdict]) -> None:
    assert (worst(verdicts) is Verdict.AC) == (set(verdicts) == {Verdict.AC})


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1))
def test_a_sandbox_error_hides_behind_nothing(verdicts: list[Verdict]) -> None:
    assert (worst(verdicts) is Verdict.SE) == (Verdict.SE in verdicts)


def test_no_result_at_all_is_not_passed() -> None:
    assert not judged().passed
    assert judged().pass_rate == 0.0


def test_rates_are_apart_for_public_and_hidden_tests() -> None:
    judgement = judged(Verdict.AC, Verdict.WA, Verdict.AC, Verdict.AC, public=2)
    assert judgement.public_pass_rate == 0.5
    assert judgement.hidden_pass_rate == 1.0
    assert judgement.pass_rate == 0.75
    assert judged(Verdict.AC).public_pass_rate is None


def test_a_part_of_the_cases_counts_only_on_a_wrong_answer() -> None:
    assert TestResult(Verdict.WA, score=0.4).fraction == 0.4
    assert TestResult(Verdict.RE, score=0.4).fraction == 0.0
    assert TestResult(Verdict.AC, score=0.4).fraction == 1.0


def test_a_test_without_a_score_lowers_the_mean_score() -> None:
    judgement = Judgement("t", (TestResult(Verdict.AC, score=0.8), TestResult(Verdict.RE)))
    assert judgement.score == 0.4
    assert judged(Verdict.AC).score is None


def test_clock_readings_do_not_count_in_comparisons() -> None:
    assert TestResult(Verdict.AC, cpu_seconds=1.0) == TestResult(Verdict.AC, cpu_seconds=2.0)


def test_a_judgement_survives_json() -> None:
    judgement = Judgement(
        "t",
        (TestResult(Verdict.RE, True, None, 0.5, 0.6, 7, 1, None, "x", ("near_limit",)),),
        "L2",
    )
    back = Judgement.from_json(json.loads(json.dumps(judgement.to_json())))
    assert back == judgement
    assert back.isolation == "L2"
    assert back.results[0].cpu_seconds == 0.5


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="corecode/judgement/1"):
        Judgement.from_json({"schema": "other"})
