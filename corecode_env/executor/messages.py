"""Messages: judging a text by how near it is to a reference.

    text, reference  ->  BLEU, chrF and ROUGE-L, each in [0, 1]  ->  a score

Nothing is run. The measures are those of two libraries that need no download: sacrebleu
(Post, 2018, arXiv:1804.08771) for sentence BLEU and chrF, rouge-score for ROUGE-L (Lin,
2004, "ROUGE: A Package for Automatic Evaluation of Summaries").
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

from corecode_env.core.errors import MissingExtra
from corecode_env.core.task import StdioTest, Task
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.executor.mixing import mix, weights_of

MAX_CHARS: Final = 2000
"""Longest message that is compared; a longer one scores nothing."""


def judge_message(task: Task, message: str) -> TestResult:
    """Judge a message.

    Args:
        task: A task of kind `commit_message`; `output` of its test is the reference.
        message: What was handed in; white space counts as one blank.

    Returns:
        AC with score 1.0 for the reference's own words, WA with the score below 1 else.

    Raises:
        MissingExtra: If the libraries are not installed.
    """
    (test,) = task.tests
    assert isinstance(test, StdioTest), "validated before"
    public = bool(task.public_tests)
    mine, wanted = _words(message), _words(test.output)
    if len(mine) > MAX_CHARS:
        return TestResult(Verdict.WA, score=0.0, note="the message is too long")
    if mine == wanted:
        return TestResult(Verdict.AC, score=1.0)
    measures = {name: measure(mine, wanted) for name, measure in _measures().items()}
    note = ", ".join(f"{name} {value:.3f}" for name, value in measures.items())
    # Other words, however close, are not the reference.
    score = min(mix(dict(measures), weights_of(task)), _CLOSEST)
    return TestResult(Verdict.WA, score=score, note=note if public else "")


_CLOSEST: Final = 0.999


def _words(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())


@cache
def _measures() -> dict[str, Callable[[str, str], float]]:
    try:
        rouge_scorer: Any = import_module("rouge_score.rouge_scorer")
        sacrebleu: Any = import_module("sacrebleu.metrics")
    except ImportError as error:
        raise MissingExtra("sacrebleu or rouge-score", "metrics") from error
    bleu = sacrebleu.BLEU(effective_order=True)
    chrf = sacrebleu.CHRF()
    rouge = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)

    def rouge_l(mine: str, wanted: str) -> float:
        return float(rouge.score(wanted, mine)["rougeL"].fmeasure)

    return {
        "bleu": lambda mine, wanted: float(bleu.sentence_score(mine, [wanted]).score) / 100,
        "chrf": lambda mine, wanted: float(chrf.sentence_score(mine, [wanted]).score) / 100,
        "rouge_l": rouge_l,
    }
