"""Samples without playing: what metrics are told, in as few words as a test needs."""

from collections.abc import Sequence

from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.evaluation.samples import Sample

AC, WA, RE, TLE, CE = Verdict.AC, Verdict.WA, Verdict.RE, Verdict.TLE, Verdict.CE


def judged(task_id: str, *hidden: Verdict, public: Sequence[Verdict] = ()) -> Judgement:
    """Return a judgement with these verdicts."""
    results = [TestResult(verdict, public=True) for verdict in public]
    results += [TestResult(verdict) for verdict in hidden]
    return Judgement(task_id, tuple(results))


def sample(task_id: str, *hidden: Verdict, public: Sequence[Verdict] = ()) -> Sample:
    """Return a sample whose program got these verdicts."""
    return Sample(task_id, "x = 1\n", judged(task_id, *hidden, public=public))


def rates(**right: str) -> list[Sample]:
    """Return samples by task: `a="110"` is a task `a` with three programs, two right."""
    return [
        sample(task_id, AC if letter == "1" else WA)
        for task_id, letters in right.items()
        for letter in letters
    ]
