"""What helper and main promise: two blind coders, one program, CoMLRL's levels."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.agents import make_agent
from corecode_env.core.episode import Episode
from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.task import Stdio, StdioTest, Task
from corecode_env.core.verdict import Verdict
from corecode_env.environments import helper_main_v0
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.joint_program import facts_of, joined
from corecode_env.environments.seat_env import SeatEnv
from corecode_env.environments.split_program import NO_HELP, split_program
from corecode_env.executor import LocalExecutor
from corecode_env.executor.testing import InstantExecutor
from corecode_env.records import rescore
from corecode_env.rewards import helper_main
from corecode_env.rollout import play
from corecode_env.tasks import load_tasks

AUX = "def aux(xs):\n    return [x for x in xs if x]\n"
MAIN = "def solve(xs):\n    ys = aux(xs)\n    return sum(ys)\n"

Team = Callable[..., TeamEnv]


@pytest.fixture
def team(tasks: list[Task]) -> Team:
    """Return a function that plays turns, in a sandbox that lets any program pass."""

    def with_turns(*turns: str, verdict: Verdict = Verdict.AC, **options: Any) -> TeamEnv:
        executor = InstantExecutor(lambda task, program: verdict)
        settings: dict[str, Any] = {"tasks": tasks, "executor": executor} | options
        env = helper_main_v0.raw_env(**settings)
        env.reset(seed=0)
        for turn in turns:
            env.step(turn)
        return env

    return with_turns


# ------------------------------------------------------------------------------- the game
def test_both_sources_are_judged_as_one_program(team: Team) -> None:
    env = team(f"Mine:\n```python\n{AUX}```", f"```python\n{MAIN}```")
    (_, turn) = env.episode.turns
    assert turn.submission is not None
    assert turn.submission.program == f"{AUX}\n{MAIN}"
    assert env.state()["program"] == turn.submission.program
    assert env.episode.returns == {"helper_0": 4.0, "main_0": 4.0}


def test_neither_sees_what_the_other_writes_in_a_round(team: Team) -> None:
    main = team(AUX).observe("main_0")
    assert (main["aux"], main["program"]) == ("", "")
    assert "for x in xs if x" not in main["prompt"]


def test_main_may_be_shown_the_helper(team: Team) -> None:
    main = team(AUX, main_sees="aux").observe("main_0")
    assert main["aux"] == AUX
    assert AUX.rstrip() in main["prompt"]


def test_later_rounds_show_both_functions_and_what_their_tests_said(
    team: Team, say: SimpleNamespace
) -> None:
    env = team(AUX, MAIN, verdict=Verdict.WA, max_cycles=2)
    for agent in env.agents:
        prompt = env.observe(agent)["prompt"]
        for part in (AUX, MAIN, "0 of 1 passed"):
            assert part.rstrip() in prompt


def test_a_test_that_passes_is_needed_for_what_rewards_working_together(team: Team) -> None:
    env = team(AUX, MAIN, verdict=Verdict.WA)
    assert env.episode.returns == {"helper_0": 1.5, "main_0": 1.5}


def test_without_a_main_function_no_test_counts(team: Team) -> None:
    env = team(AUX, "def other(xs):\n    return aux(xs)\n")
    assert env.episode.returns == {"helper_0": 0.4, "main_0": 0.4}
    assert "tests" not in env.episode.turns[-1].facts


def test_two_halves_that_do_not_parse_together_are_worth_the_first_level(team: Team) -> None:
    env = team("def aux(xs:\n    return 1\n", MAIN)
    assert env.episode.returns == {"helper_0": 0.6, "main_0": 0.6}


def test_a_record_holds_all_that_other_weights_need(team: Team) -> None:
    stored = Episode.from_json(json.loads(json.dumps(team(AUX, MAIN).episode.to_json())))
    (again,) = rescore([stored], helper_main(own_work=0.0, tests=2.0))
    assert again.returns == {"helper_0": 4.0, "main_0": 4.0}
    (less,) = rescore([stored], helper_main(own_work=0.0))
    assert less.returns == {"helper_0": 3.0, "main_0": 3.0}


@pytest.mark.parametrize("name", ["main_sees", "rewards"])
def test_arguments_of_no_use_are_refused(name: str, team: Team) -> None:
    with pytest.raises(ValueError, match=name.removesuffix("s") + ".*must"):
        team(**{name: "everything"})


def test_tasks_without_a_function_are_refused_with_the_way_out(
    team: Team, say: SimpleNamespace
) -> None:
    task = say.task(
        interface=Stdio(), public_tests=(), hidden_tests=(StdioTest("1\n", "1\n"),)
    )
    with pytest.raises(BadConfig, match="whose interface is stdio; choose others"):
        team(tasks=[task])
    with pytest.raises(BadConfig, match="must ask for a function"):
        team().reset(options={"task": task})


# ------------------------------------------------------------------------------- the facts
def true_of(main: str, aux: str = AUX) -> set[str]:
    return {name for name, value in facts_of(aux, main, "solve").items() if value}


DEFINED = {"aux_defined", "main_defined", "syntax"}


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ("return sum(xs)", DEFINED),
        ("return aux(xs)", DEFINED | {"uses_aux"}),
        ("ys = aux(xs)\n    return ys", DEFINED | {"uses_aux"}),
        ('"""Doc."""\n    return aux(xs)', DEFINED | {"uses_aux"}),
        ("ys = aux(xs)\n    return ys[0]", DEFINED | {"uses_aux", "own_work"}),
        ("unused = aux(xs)\n    return sum(xs)", DEFINED | {"uses_aux", "own_work"}),
        ("return sum(aux(xs))", DEFINED | {"uses_aux", "own_work"}),
        ("return aux(aux(xs) + [1])", DEFINED | {"uses_aux"}),
        ("aux(xs)\n    return sum(xs)", DEFINED | {"uses_aux", "own_work", "ignores_aux"}),
        ("# aux(xs)\n    return 'aux(1)'", DEFINED),
        ("return solver.aux(xs)", DEFINED),
        ("print(xs)", {"aux_defined"}),
        ("return", {"aux_defined"}),
        ("return (", {"aux_defined"}),
    ],
)
def test_facts_of_a_main_function(body: str, facts: set[str]) -> None:
    assert true_of(f"def solve(xs):\n    {body}\n") == facts


@pytest.mark.parametrize(
    "aux", ["", "def help(xs):\n    return xs\n", "aux = sum", "def aux("]
)
def test_without_a_helper_nobody_uses_it(aux: str) -> None:
    assert "aux_defined" not in true_of(MAIN, aux)
    assert "uses_aux" not in true_of(MAIN, aux)


def test_a_helper_that_returns_nothing_may_be_called_but_is_not_defined() -> None:
    assert true_of(MAIN, "def aux(xs):\n    xs.sort()\n") == {
        "main_defined",
        "syntax",
        "uses_aux",
        "own_work",
    }


def test_a_main_with_an_aux_of_its_own_uses_no_help() -> None:
    assert true_of(AUX + MAIN) == DEFINED


@pytest.mark.parametrize("source", ["x = " + "(" * 500 + ")" * 500, "\x00", "x = '\ud800'"])
def test_sources_that_break_the_parser_have_no_function(source: str) -> None:
    assert true_of(source, source) == set()


def test_joining_keeps_empty_halves_out() -> None:
    assert joined("", MAIN) == MAIN
    assert joined(AUX, "") == AUX
    assert joined("", "") == "\n"


# ------------------------------------------------------------------- the reference's halves
def run(source: str, *args: Any) -> Any:
    """Run a source of this file."""
    names: dict[str, Any] = {}
    exec(source, names)
    return names["solve"](*args)


@pytest.mark.parametrize(
    ("program", "own_work"),
    [
        ("def solve(xs):\n    xs = xs[1:]\n    xs = sorted(xs)\n    return xs[-1]\n", True),
        ("def solve(xs):\n    n = 0\n    for x in xs:\n        n += x\n    return n\n", True),
        ("def solve(xs):\n    import math\n    n = len(xs)\n    return math.sqrt(n)\n", True),
        (
            "def solve(xs):\n    'Doc.'\n    ys = [x for x in xs]\n    return [x + 1 for x in ys]",
            True,
        ),
        (
            "K = 2\n\ndef twice(x):\n    return x * K\n\ndef solve(xs):\n    return list(map(twice, xs))",
            False,
        ),
        (
            "def solve(xs):\n    if not xs:\n        return 0\n    n = len(xs)\n    return n + 1\n",
            False,
        ),
        (
            "def solve(xs):\n    if len(xs) > 1:\n        n = 1\n    else:\n        n = 2\n    return n\n",
            False,
        ),
        ("def solve(xs):\n    return 0 if not xs else 1 + solve(xs[1:])\n", False),
    ],
)
def test_the_two_halves_do_what_the_whole_did(program: str, own_work: bool) -> None:
    aux, main = split_program(program, "solve")
    assert aux.startswith("def aux(xs):")
    for xs in ([], [4], [3, 1, 2]):
        try:
            expected = run(program, xs)
        except IndexError:
            with pytest.raises(IndexError):
                run(joined(aux, main), xs)
        else:
            assert run(joined(aux, main), xs) == expected
    facts = facts_of(aux, main, "solve")
    assert facts["uses_aux"] == 1.0
    assert facts["own_work"] == float(own_work)


@pytest.mark.parametrize(
    "program",
    [
        "def solve(*xs):\n    y = xs\n    return y\n",
        "def solve(xs):\n    yield from xs\n",
        "def solve(xs):\n    global K\n    K = xs\n    return K\n",
        "class solve:\n    pass\n",
        "def solve(xs):\n    'Only words.'\n",
        "solve = sorted\n",
        "def aux(xs):\n    return xs\n\ndef solve(xs):\n    return aux(xs)\n",
        "def solve(xs:\n",
    ],
)
def test_what_cannot_be_cut_is_left_whole(program: str) -> None:
    assert split_program(program, "solve") == (NO_HELP, program)


def test_reference_agents_are_paid_for_real_work_in_the_sandbox() -> None:
    agents = {role: make_agent("reference") for role in ("helper", "main")}
    with LocalExecutor(workers=1, min_isolation="L0") as executor:
        for tasks in ("pipelines/3", "mbpp"):
            env = helper_main_v0.env(tasks=tasks, executor=executor)
            for seed in range(5):
                episode = play(env, agents, seed=seed)
                assert episode.judgement is not None
                assert episode.judgement.passed
                assert min(episode.returns.values()) >= 3.0


@pytest.mark.slow
def test_the_halves_of_every_bundled_reference_pass_its_tests() -> None:
    with LocalExecutor(min_isolation="L0") as executor:
        for name in ("humaneval", "mbpp"):
            tasks = list(load_tasks(name))
            programs = [
                joined(
                    *split_program(task.reference_program or "", helper_main_v0.entry_of(task))
                )
                for task in tasks
            ]
            judged = executor.map(zip(tasks, programs, strict=True))
            failed = [
                t for t, judgement in zip(tasks, judged, strict=True) if not judgement.passed
            ]
            whole = executor.map((task, task.reference_program or "") for task in failed)
            assert [judgement.task_id for judgement in whole if judgement.passed] == []


@pytest.mark.parametrize(
    "fault", ["off_by_one", "wrong_name", "syntax_error", "no_code", "crash"]
)
def test_a_fault_is_mains_alone(fault: str, team: Team) -> None:
    env = team()
    requests = [env.request("helper_0"), env.request("main_0")]
    right = make_agent("reference").act(requests)
    wrong = make_agent(f"faulty:{fault}").act(requests)
    assert wrong[0] == right[0]
    assert wrong[1] != right[1]


def test_without_a_reference_program_partners_are_asked_for(
    say: SimpleNamespace, executor: Any
) -> None:
    env = helper_main_v0.env(tasks=[say.task(reference_program=None)], executor=executor)
    with pytest.raises(EpisodeError, match="pass partners="):
        SeatEnv(env, "main_0").reset(seed=0)
