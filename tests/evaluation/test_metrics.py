"""What metrics promise: each name is what its page says, from whole programs to single tests."""

from dataclasses import replace

import pytest

from corecode_env.core.episode import Episode, Submission, Turn
from corecode_env.core.errors import BadConfig
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.evaluation import program_text
from corecode_env.evaluation.metrics import Metrics, Prices, failure_kind, summarise
from corecode_env.evaluation.samples import Sample, samples_of
from tests.evaluation.samples import AC, CE, RE, TLE, WA, judged, rates, sample


def values(metrics: Metrics) -> dict[str, float]:
    return {name: estimate.value for name, estimate in metrics.values.items()}


def test_pass_at_k_is_the_mean_over_tasks() -> None:
    found = summarise(rates(a="11000", b="00000"), ks=(1, 2, 5))
    assert found["pass@1"].value == pytest.approx(0.2)
    assert found["pass@2"].value == pytest.approx(0.35)  # half of 1 - C(3,2)/C(5,2)
    assert found["pass@5"].value == 0.5
    assert (found.tasks, found.samples, found.invalid) == (2, 10, 0)


def test_tests_are_counted_one_by_one_and_public_and_hidden_apart() -> None:
    found = values(
        summarise(
            [
                sample("a", AC, WA, WA, WA, public=(AC,)),
                sample("b", AC, public=(AC, WA)),
            ]
        )
    )
    assert found["apr"] == 4 / 8
    assert found["apr/public"] == 2 / 3
    assert found["apr/hidden"] == 2 / 5
    assert found["pass@1"] == 0.0
    assert found["pass@1/public"] == 0.5
    assert found["pass@1/hidden"] == 0.5


def test_tasks_without_public_tests_do_not_count_among_the_public() -> None:
    found = summarise([sample("a", AC), sample("b", WA, public=(AC,))])
    assert found["pass@1/public"].value == 1.0
    assert found["pass@1/public"].n == 1


def test_verdicts_share_all_programs_among_them() -> None:
    found = values(summarise([sample("a", AC), sample("a", WA), sample("b", TLE, RE)]))
    shares = {name: value for name, value in found.items() if name.startswith("verdict/")}
    assert shares == {
        "verdict/AC": pytest.approx(1 / 3),
        "verdict/WA": pytest.approx(1 / 3),
        "verdict/TLE": pytest.approx(1 / 3),
    }


def test_kinds_of_failure_add_up_to_failures() -> None:
    raised = (
        TestResult(RE, public=True, note="IndexError: list index out of range; exit status 1"),
    )
    odd = (TestResult(RE, public=True, note="AttackError: ; exit status 1"),)
    samples = [
        sample("a", AC),
        sample("a", WA),
        sample("a", TLE),
        sample("b", CE),
        sample("b", RE),
        Sample("b", "x", Judgement("b", raised)),
        Sample("b", "x", Judgement("b", odd)),
        Sample("c"),
    ]
    found = values(summarise(samples))
    kinds = {n.removeprefix("failure/"): v for n, v in found.items() if "failure/" in n}
    assert set(kinds) == {
        "timeout",
        "compile",
        "unnamed_exception",
        "IndexError",
        "other_exception",
        "unjudged",
    }
    assert sum(kinds.values()) == pytest.approx(found["failure"]) == pytest.approx(6 / 8)


def test_a_name_that_a_program_made_up_never_becomes_a_metric() -> None:
    for note in ("print: x", "__import__: x", "SystemExitt", "", "exit status 1"):
        result = TestResult(RE, public=True, note=note)
        assert failure_kind(Judgement("t", (result,))) in (
            "other_exception",
            "unnamed_exception",
        )
    exits = TestResult(RE, public=True, note="KeyboardInterrupt; exit status 1")
    assert failure_kind(Judgement("t", (exits,))) == "KeyboardInterrupt"


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.SE])
def test_every_verdict_is_a_failure_of_a_kind_or_none(verdict: Verdict) -> None:
    judgement = judged("t", verdict)
    assert (failure_kind(judgement) is None) is judgement.error_free


def test_samples_that_the_sandbox_failed_at_say_nothing() -> None:
    broken = replace(sample("a", Verdict.SE), valid=False)
    found = summarise([sample("a", AC), broken, replace(broken, task_id="b")], ks=(1, 2))
    assert (found.tasks, found.samples, found.invalid) == (1, 1, 2)
    assert found["pass@1"].value == 1.0
    assert "pass@2" not in found.values  # one valid program is not two


def test_time_is_per_test_and_memory_per_program() -> None:
    def program(verdict: Verdict, *use: tuple[float, int]) -> Sample:
        results = [TestResult(verdict, cpu_seconds=s, peak_bytes=b) for s, b in use]
        return Sample("t", "x", Judgement("t", tuple(results)))

    found = values(
        summarise([program(AC, (1.0, 10), (3.0, 30)), program(TLE, (5.0, 90), (5.0, 70))])
    )
    assert found["cpu_seconds"] == 3.5
    assert found["cpu_seconds/accepted"] == 2.0
    assert found["peak_bytes"] == 60
    assert found["peak_bytes/accepted"] == 30


def test_program_text_is_measured_in_characters_and_tokens() -> None:
    programs = [Sample("t", "x = 1\n", judged("t", AC)), Sample("t", "(((", judged("t", CE))]
    found = values(summarise(programs))
    assert found["characters"] == 4.5
    assert found["code_tokens"] == 3  # the other is no Python


def test_complexity_counts_every_function_once() -> None:
    pytest.importorskip("radon")
    nested = "def f(x):\n    def g(y):\n        return 1 if y else 2\n    return g(x)\n"
    method = "class A:\n    class B:\n        def f(self):\n            pass\n"
    assert program_text.cyclomatic_complexity("x = 1\n") == 1
    assert program_text.cyclomatic_complexity(nested) == 4
    assert program_text.cyclomatic_complexity(method) == 2
    assert program_text.cyclomatic_complexity("def f(:\n") is None
    assert program_text.cyclomatic_complexity("re = '\\d'\n") == 1
    assert program_text.cyclomatic_complexity("x = 1\n" * program_text.LONGEST) is None
    assert "complexity" in summarise([sample("t", AC)]).values


@pytest.mark.parametrize(
    "text", ["", "\x00", "'''", "\ud800", "a\n  b\n c", "$", "x" * 200_000]
)
def test_no_text_is_too_odd_to_be_measured(text: str) -> None:
    program_text.code_tokens(text)
    summarise([Sample("t", text, judged("t", CE))])


def turn(agent: str, read: int | None, written: int | None, program: str = "") -> Turn:
    return Turn(
        agent,
        0,
        {},
        program,
        submission=Submission(program) if program else None,
        judgement=judged("t", AC if program == "right" else WA) if program else None,
        prompt_ids=None if read is None else tuple(range(read)),
        token_ids=None if written is None else tuple(range(written)),
    )


def test_tokens_and_cost_are_per_task_that_was_solved() -> None:
    team = ("planner_0", "coder_0")
    episodes = [
        Episode("a", 0, team, (turn("planner_0", 10, 4), turn("coder_0", 20, 6, "right"))),
        Episode("a", 0, team, (turn("planner_0", 10, 4), turn("coder_0", 20, 6, "wrong"))),
        Episode("b", 0, team, (turn("planner_0", 10, 0), turn("coder_0", 20, 10, "wrong"))),
    ]
    prices = Prices(read=1.0, written=10.0)
    found = values(summarise(samples_of(episodes), prices=prices))
    assert found["tokens_per_solved_task"] == 120
    assert found["cost_per_solved_task"] == pytest.approx((90 * 1.0 + 30 * 10.0) / 1e6)
    shared = values(summarise(samples_of(episodes, shared_turns=1)))
    assert shared["tokens_per_solved_task"] == 106  # the plan of task a was written once
    assert "cost_per_solved_task" not in shared


def test_agents_that_count_no_tokens_have_no_token_metrics() -> None:
    episode = Episode("a", 0, ("coder_0",), (turn("coder_0", None, None, "right"),))
    found = summarise(samples_of([episode]), prices=Prices(1.0, 1.0))
    assert not [name for name in found.values if "tokens_per" in name or "cost" in name]


def test_the_last_program_of_several_rounds_counts() -> None:
    turns = (turn("coder_0", 1, 1, "wrong"), turn("coder_0", 1, 1, "right"))
    (found,) = samples_of([Episode("a", 0, ("coder_0",), turns)])
    assert found.passed
    assert found.program == "right"
    assert found.tokens_out == 2


def test_groups_are_measured_by_themselves() -> None:
    found = summarise(rates(a="11", b="00", c="10"), groups={"a": "easy", "b": "hard"})
    assert {name: group["pass@1"].value for name, group in found.groups.items()} == {
        "easy": 1.0,
        "hard": 0.0,
    }
    assert found["pass@1"].value == pytest.approx(0.5)


def test_nothing_played_is_nothing_measured() -> None:
    found = summarise([])
    assert (found.tasks, found.samples, dict(found.values)) == (0, 0, {})


@pytest.mark.parametrize("ks", [(), (0,), (1, -1)])
def test_a_k_that_means_nothing_is_refused(ks: tuple[int, ...]) -> None:
    with pytest.raises(BadConfig, match="at least 1"):
        summarise(rates(a="1"), ks=ks)


def test_a_price_that_nobody_charges_is_refused() -> None:
    with pytest.raises(BadConfig, match="not negative"):
        Prices(read=-1.0)
