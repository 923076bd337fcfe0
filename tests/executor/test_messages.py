"""What judging a commit message promises: three known measures, one score."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corecode_env.core.errors import UnknownName
from corecode_env.core.task import AssertTest, Checker, Script, StdioTest, Task
from corecode_env.core.verdict import Verdict
from corecode_env.executor.compare import validate_checker
from corecode_env.executor.local import LocalExecutor
from corecode_env.executor.messages import MAX_CHARS, judge_message
from corecode_env.executor.mixing import mix

pytest.importorskip("sacrebleu")
pytest.importorskip("rouge_score")

WANTED = "Fix the condition in grade: use >= instead of >"


def task_of(weights: dict[str, float] | None = None, *, public: bool = True) -> Task:
    tests = (StdioTest("", WANTED),)
    return Task(
        id="message",
        statement="Write the message.",
        interface=Script(),
        public_tests=tests if public else (),
        hidden_tests=() if public else tests,
        checker=Checker("message", weights or {}),
        kind="commit_message",
    )


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(workers=1, min_isolation="L0") as made:
        yield made


@pytest.mark.parametrize("message", [WANTED, f"  {WANTED}\n", WANTED.replace(" in", "\nin")])
def test_the_reference_is_accepted_whatever_its_white_space(message: str) -> None:
    result = judge_message(task_of(), message)
    assert (result.verdict, result.score) == (Verdict.AC, 1.0)


def test_other_words_are_never_accepted_but_earn_their_likeness() -> None:
    near = judge_message(task_of(), "Fix the condition in grade: use >= and not >")
    far = judge_message(task_of(), "Update code")
    assert near.verdict is far.verdict is Verdict.WA
    assert near.score is not None and far.score is not None
    assert 0.0 <= far.score < 0.2 < 0.6 < near.score < 1.0
    assert near.fraction == near.score


def test_letter_case_alone_keeps_a_message_from_being_the_reference() -> None:
    result = judge_message(task_of({"rouge_l": 1.0}), WANTED.upper())
    # ROUGE-L looks at words in lower case, and finds them all.
    assert (result.verdict, result.score) == (Verdict.WA, 0.999)


def test_rouge_l_is_the_longest_common_subsequence_by_words() -> None:
    # "use", "in", "grade" of 4 words and of 8: precision 3/4, recall 3/8.
    result = judge_message(task_of({"rouge_l": 1.0}), "in grade use it")
    words = "fix the condition in grade use instead of".split()
    assert len(words) == 8
    precision, recall = 3 / 4, 3 / 8
    assert result.score == pytest.approx(2 * precision * recall / (precision + recall))


def test_bleu_and_chrf_are_the_librarys_on_a_scale_from_0_to_1() -> None:
    from sacrebleu import sentence_bleu, sentence_chrf

    message = "Fix grade: use >= in the condition"
    for name, measured in (
        ("bleu", sentence_bleu(message, [WANTED], use_effective_order=True)),
        ("chrf", sentence_chrf(message, [WANTED])),
    ):
        result = judge_message(task_of({name: 1.0}), message)
        assert 0.0 < measured.score < 100.0
        assert result.score == pytest.approx(measured.score / 100)


@pytest.mark.parametrize("message", ["", " \n", "\x00", "\ud800", "ℵ" * 10, "- " * 500])
def test_nonsense_scores_next_to_nothing(message: str) -> None:
    result = judge_message(task_of(), message)
    assert result.verdict is Verdict.WA
    assert result.score is not None and 0.0 <= result.score < 0.1


def test_a_message_of_great_length_is_not_looked_at() -> None:
    result = judge_message(task_of(), f"{WANTED} " * MAX_CHARS)
    assert (result.verdict, result.score, result.note) == (
        Verdict.WA,
        0.0,
        "the message is too long",
    )


def test_measures_of_a_hidden_reference_are_not_told(executor: LocalExecutor) -> None:
    (shown,) = executor.judge(task_of(), "Update code").results
    (hidden,) = executor.judge(task_of(public=False), "Update code").results
    assert shown.note.startswith("bleu 0.")
    assert hidden.note == ""
    assert shown.score == hidden.score


def test_a_message_task_that_cannot_be_judged_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'bleu'"):
        validate_checker(task_of({"blue": 1.0}))
    wrong = Task("x", "", Script(), hidden_tests=(AssertTest("pass"),), kind="commit_message")
    with pytest.raises(ValueError, match="exactly one test, a StdioTest"):
        validate_checker(wrong)


# ------------------------------------------------------------------------------- mixing
@pytest.mark.parametrize(
    ("measures", "weights", "mixed"),
    [
        ({"a": 0.5, "b": 1.0}, {"a": 1.0, "b": 3.0}, 0.875),
        ({"a": 0.5, "b": None}, {"a": 1.0, "b": 3.0}, 0.5),
        ({"a": 1.0, "b": 1.0}, {"a": 0.1, "b": 0.2}, 1.0),
        ({"a": 1.0, "b": 0.0}, {"a": 1.0}, 1.0),
        ({"a": None}, {"a": 1.0}, 0.0),
        ({}, {"a": 1.0}, 0.0),
    ],
)
def test_mixing_is_the_weighted_mean_of_what_applies(
    measures: dict[str, float | None], weights: dict[str, float], mixed: float
) -> None:
    assert mix(measures, weights) == mixed
