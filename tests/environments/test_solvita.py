"""What Solvita promises: certified tests, hacks that are really run, and fair pay for both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.agents import FaultyAgent, RandomAgent, ReferenceAgent, ScriptedAgent
from corecode_env.core.episode import Episode
from corecode_env.core.errors import BadConfig
from corecode_env.core.messages import fenced
from corecode_env.core.seams import Request
from corecode_env.core.task import Checker, Limits, Script, Stdio, StdioTest, Task
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.environments import fork, solvita_v0
from corecode_env.environments.oracle import pack_tests, read_artefacts, unpack_tests
from corecode_env.environments.solvita_players import reference_oracle
from corecode_env.executor import LocalExecutor
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rollout import play
from corecode_env.tasks import load_tasks

LIMITS = Limits(cpu_seconds=0.2, wall_seconds=5.0, memory_bytes=64 * 2**20)
SQUARE = Task(
    "square",
    "Read a whole number from 0 to 99 and print its square.",
    Stdio(),
    public_tests=(StdioTest("2\n", "4\n"), StdioTest("3\n", "9\n")),
    hidden_tests=(StdioTest("10\n", "100\n"), StdioTest("77\n", "5929\n")),
    limits=LIMITS,
    reference_program="print(int(input()) ** 2)\n",
    reference_plan="1. read\n2. square\n3. print",
)

GENERATOR = "import random\nrandom.seed(int(input()))\nprint(random.randrange(20))\n"
VALIDATOR = """
try:
    print("valid" if 0 <= int(input()) < 100 else "out of range")
except ValueError:
    print("no number")
"""
CHECKER = """
import json
case = json.loads(input())
print("right" if case["output"].split() == case["answer"].split() else "wrong")
"""
BRUTE = "n = int(input())\nprint(sum(n for _ in range(n)))\n"
PARTS = {
    "generator": GENERATOR,
    "validator": VALIDATOR,
    "checker": CHECKER,
    "brute": BRUTE,
}

RIGHT = fenced("print(int(input()) ** 2)")
SMALL_ONLY = fenced("n = int(input())\nprint(n * n if n < 50 else 0)")
"""Right on every number that `GENERATOR` makes."""
WRONG = fenced("print(0)")


def oracle(**changes: str) -> str:
    """Return an Oracle's text, with other programs in place of good ones; empty: none."""
    parts = PARTS | changes
    return "\n".join(fenced(text, f"python {name}") for name, text in parts.items() if text)


def inputs(*texts: str) -> str:
    return "\n".join(fenced(text, "input") for text in texts)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalExecutor]:
    with LocalExecutor(1, min_isolation="L0") as made:
        yield made


@pytest.fixture
def playing(sandbox: LocalExecutor) -> Any:
    """Return what makes an environment and plays texts in it, one a turn."""

    def run(*texts: str, task: Task = SQUARE, seed: int = 0, **options: Any) -> Any:
        bound: dict[str, Any] = {"tasks": [task], "executor": sandbox} | options
        env = solvita_v0.raw_env(**bound)
        env.reset(seed=seed)
        for text in texts:
            env.step(text)
        return env

    return run


def facts(env: Any) -> dict[str, float]:
    return dict(env.episode.turns[-1].facts)


def is_over(env: Any) -> bool:
    return all(env.terminations.values())


def certificate(env: Any) -> str:
    return str(env.observe("oracle_0")["certificate"])


# --------------------------------------------------------------------------------- the Oracle
def test_good_programs_are_certified_and_make_tests(playing: Any) -> None:
    env = playing("plan", oracle())
    assert facts(env) == {
        "trusted": 1.0,
        "checker_trusted": 1.0,
        "certified": 8.0,
        "certificate": 1.0,
    }
    tests = unpack_tests(env.state(), "certified")
    assert len({test.input for test in tests}) == 8
    assert all(int(test.output) == int(test.input) ** 2 for test in tests)
    assert certificate(env).splitlines() == [
        "Checker: takes the answers of the public tests, and refuses them with garbage.",
        "Brute force: passes the public tests.",
        "Validator: takes the inputs of the public tests.",
        "Generator: 8 different inputs, 8 of them valid, 8 answered by brute force.",
    ]


@pytest.mark.parametrize(
    ("changes", "score", "said"),
    [
        ({"brute": ""}, -1.0, "Missing: a block that starts with ```python brute."),
        ({"brute": "print(1 / 0)"}, -1.0, "runtime error on public test 1. ZeroDivision"),
        ({"brute": "print(4)"}, -0.7, "wrong answer on public test 2."),
        ({"brute": "while True: pass"}, -1.0, "CPU time limit exceeded on public test 1."),
        ({"validator": "print('no')"}, 0.0, "refuses the input of public test 1."),
        ({"validator": "x ="}, 0.0, "refuses the input of public test 1."),
        ({"generator": "print(1 / 0)"}, 0.0, "0 different inputs"),
        ({"generator": "print(-1)"}, 0.0, "1 different inputs, 0 of them valid"),
    ],
)
def test_programs_that_fall_short_are_told_and_not_used(
    playing: Any, changes: dict[str, str], score: float, said: str
) -> None:
    env = playing("plan", oracle(**changes))
    assert facts(env)["trusted"] == 0.0
    assert facts(env)["certificate"] == score
    assert said in certificate(env)
    assert env.state()["certified"] == ""


def test_one_test_is_enough_to_be_relied_on_but_pays_less(playing: Any) -> None:
    env = playing("plan", oracle(generator="print(7)"))
    assert facts(env)["trusted"] == 1.0
    assert facts(env)["certificate"] == pytest.approx(0.9 / 8)


def test_too_many_invalid_inputs_are_not_relied_on(playing: Any) -> None:
    env = playing("plan", oracle(generator="n = int(input())\nprint(n % 7 + 98)"))
    assert facts(env)["trusted"] == 0.0
    assert "at least one input, and 80% of all, must be valid" in certificate(env)


def test_tests_that_a_known_program_contradicts_cost_the_oracle(playing: Any) -> None:
    """The brute force is right on the public tests, and wrong elsewhere."""
    some = oracle(brute="n = int(input())\nprint(n * n if n < 10 else 1)")
    assert facts(playing("plan", some))["certificate"] == -0.2
    env = playing(
        "plan",
        oracle(
            brute="n = int(input())\nprint(n * n if n in (2, 3) else -1)",
            generator="print(int(input()) % 40 + 4)",
        ),
    )
    assert facts(env)["certificate"] == -0.5
    assert facts(env)["trusted"] == 1.0  # nobody in the game can know


@pytest.mark.parametrize(
    ("checker", "said"),
    [
        ("print('wrong')", "does not take the answer of a public test"),
        ("print('right')", "takes an answer with garbage behind it"),
        ("print(1 / 0)", "does not take the answer of a public test"),
    ],
)
def test_a_checker_that_errs_is_not_used(playing: Any, checker: str, said: str) -> None:
    env = playing("plan", oracle(checker=checker))
    assert facts(env)["trusted"] == 1.0
    assert facts(env)["checker_trusted"] == 0.0
    assert said in certificate(env)


def test_the_last_block_of_a_name_counts_and_tags_are_names_too() -> None:
    text = "```brute\na\n```\n```python Brute\nb\n```\n```validator\nc\n```\n```python\nd\n```"
    found = read_artefacts(text)
    assert (found.brute, found.validator, found.generator) == ("b\n", "c\n", "")


def test_keep_leaves_the_certified_programs_in_force(playing: Any) -> None:
    first = ("plan", oracle(), SMALL_ONLY, inputs("77"))
    env = playing(*first, "plan", "Keep\n")
    assert facts(env) == {}
    assert len(unpack_tests(env.state(), "certified")) == 8
    env.step(SMALL_ONLY)
    assert facts(env) == {"ready": 0.0}  # the break is among its tests


def test_bad_programs_of_a_later_round_leave_the_certified_ones_in_force(
    playing: Any,
) -> None:
    env = playing("plan", oracle(), WRONG, "plan", "nothing at all", RIGHT, inputs("77"))
    assert facts(env)["valid_ratio"] == 1.0


def test_keep_without_anything_certified_is_a_text_without_programs(playing: Any) -> None:
    env = playing("plan", "keep")
    assert certificate(env).startswith("Missing: a block that starts with ```python generator")


# --------------------------------------------------------------------------------- the Hacker
def test_an_input_that_breaks_the_program_counts_and_comes_back_as_a_test(
    playing: Any,
) -> None:
    env = playing("plan", oracle(), SMALL_ONLY, inputs("77", "5"))
    assert facts(env) == {
        "hack_inputs": 2.0,
        "hack_failures": 0.0,
        "valid_ratio": 1.0,
        "break_ratio": 0.5,
        "severity": 0.4,
    }
    assert unpack_tests(env.state(), "breaks") == [StdioTest("77\n", "5929\n")]
    told = env.observe("solver_0")["feedback"]
    assert told.startswith("Inputs that broke the program: 0 of 1 passed.")
    assert "Input:\n77\nOutput:\n5929" in told
    assert told in env.observe("planner_0")["prompt"]
    assert env.observe("hacker_0")["hacks"].splitlines() == [
        r"Input 1 ('77\n'): breaks the program: wrong answer.",
        r"Input 2 ('5\n'): the program answers right.",
    ]
    assert (env.agent_selection, env.episode.turns[-1].round) == ("planner_0", 0)


@pytest.mark.parametrize(
    ("program", "severity"),
    [
        ("n = int(input())\nwhile n > 50: pass\nprint(n * n)", 0.8),
        ("n = int(input())\nassert n < 50\nprint(n * n)", 0.6),
        ("n = int(input())\nx = b'1' * (10**8 if n > 50 else 1)\nprint(n * n)", 1.0),
        ("n = int(input())\nprint(n * n, end='x' * (2**21 if n > 50 else 0))", 1.0),
    ],
)
def test_a_crash_or_an_overrun_is_a_break_of_its_own_severity(
    playing: Any, program: str, severity: float
) -> None:
    env = playing("plan", oracle(), fenced(program), inputs("77"))
    assert (facts(env)["break_ratio"], facts(env)["severity"]) == (1.0, severity)


@pytest.mark.parametrize("given", ["100", "-1", "seven", "", "77 77"])
def test_an_input_that_the_validator_refuses_is_no_hack(playing: Any, given: str) -> None:
    crashes = fenced("n = int(input())\nassert n < 50\nprint(n * n)")
    env = playing("plan", oracle(), crashes, inputs(given))
    assert (facts(env)["valid_ratio"], facts(env)["break_ratio"]) == (0.0, 0.0)
    assert "the validator refuses it" in env.observe("hacker_0")["hacks"]
    assert is_over(env)
    assert facts(env)["accepted"] == 1.0


def test_an_input_that_the_brute_force_cannot_answer_is_no_hack(playing: Any) -> None:
    brute = "n = int(input())\nassert n < 50\nprint(n * n)"
    env = playing("plan", oracle(brute=brute), SMALL_ONLY, inputs("77"))
    assert (facts(env)["valid_ratio"], facts(env)["break_ratio"]) == (1.0, 0.0)
    assert "the brute force does not answer it" in env.observe("hacker_0")["hacks"]


def test_a_checker_decides_between_several_right_answers(playing: Any) -> None:
    """Any multiple of the square is right, says the checker: so is what the program prints."""
    checker = """
import json
case = json.loads(input())
try:
    n = int(case["output"])
    print("right" if n and n % max(1, int(case["answer"])) == 0 else "wrong")
except ValueError:
    print("wrong")
"""
    twice = fenced("n = int(input())\nprint(n * n * (2 if n > 50 else 1))")
    env = playing("plan", oracle(checker=checker), twice, inputs("77"))
    assert facts(env)["break_ratio"] == 0.0
    env = playing("plan", oracle(checker=""), twice, inputs("77"))
    assert facts(env)["break_ratio"] == 1.0
    always = fenced("n = int(input())\nprint(n * n * (2 if n > 3 else 1))")
    assert facts(playing("plan", oracle(checker=checker), always)) == {"ready": 1.0}
    assert facts(playing("plan", oracle(checker=""), always)) == {"ready": 0.0}


def test_a_checker_that_fails_on_an_output_lets_it_pass(playing: Any) -> None:
    checker = CHECKER.replace("print(", "assert int(case['input']) < 50\nprint(")
    env = playing("plan", oracle(checker=checker), SMALL_ONLY, inputs("77"))
    assert facts(env)["break_ratio"] == 0.0


def test_a_program_of_the_hacker_prints_an_input(playing: Any) -> None:
    env = playing("plan", oracle(), SMALL_ONLY, fenced("print(70 + 7)"))
    assert facts(env)["break_ratio"] == 1.0


def test_programs_that_print_no_input_are_counted(playing: Any) -> None:
    env = playing("plan", oracle(), RIGHT, f"{fenced('1 / 0')}\n{fenced('x =')}")
    assert (facts(env)["hack_inputs"], facts(env)["hack_failures"]) == (0.0, 2.0)
    assert env.episode.returns["hacker_0"] == pytest.approx(-0.6 - 0.2)
    assert "Programs that made no input: 2." in env.observe("hacker_0")["hacks"]


def test_a_text_without_blocks_has_no_input_and_is_told_so(playing: Any) -> None:
    env = playing("plan", oracle(), RIGHT, "try 77")
    assert env.episode.returns["hacker_0"] == pytest.approx(-0.6)
    assert "fence each as ```input or ```python" in env.observe("hacker_0")["hacks"]


def test_five_inputs_are_tried_and_equal_ones_once(playing: Any) -> None:
    env = playing("plan", oracle(), SMALL_ONLY, inputs("1", "1", "2", "3", "4", "77"))
    assert facts(env)["hack_inputs"] == 4.0
    assert facts(env)["break_ratio"] == 0.0


def test_without_a_certified_oracle_nothing_is_tried(playing: Any) -> None:
    env = playing("plan", "no programs", SMALL_ONLY, inputs("77"))
    assert facts(env) == {"accepted": 1.0}
    assert env.observe("hacker_0")["hacks"] == "Nothing was tried: no Oracle is certified."
    assert env.episode.returns["hacker_0"] == 0.0


def test_a_hack_by_the_tasks_own_way_of_comparing(playing: Any) -> None:
    """What the task's checker takes for right is right here too."""
    task = replace(SQUARE, checker=Checker("float", {"abs": 0.5}))
    decimal = fenced("n = int(input())\nprint(f'{n * n + 0.25:.2f}' if n > 50 else n * n)")
    env = playing("plan", oracle(checker=""), decimal, inputs("77"), task=task)
    assert facts(env)["break_ratio"] == 0.0
    env = playing("plan", oracle(checker=""), decimal, inputs("77"))
    assert facts(env)["break_ratio"] == 1.0


# ----------------------------------------------------------------------------------- the loop
def test_a_program_that_fails_public_tests_never_meets_the_hacker(playing: Any) -> None:
    env = playing("plan", oracle(), WRONG)
    assert (env.agent_selection, facts(env)) == ("planner_0", {"ready": 0.0})
    assert env.observe("solver_0")["feedback"].startswith("Public tests: 0 of 2 passed.")


def test_a_program_that_fails_certified_tests_is_told_which(playing: Any) -> None:
    env = playing("plan", oracle(), fenced("n = int(input())\nprint(n * n if n < 4 else 0)"))
    assert env.agent_selection == "planner_0"
    told = env.observe("solver_0")["feedback"]
    assert told.startswith("Public tests: 2 of 2 passed.\nThe team's own tests: ")


def test_a_program_that_nobody_breaks_is_accepted_and_pays_all(playing: Any) -> None:
    env = playing("plan", oracle(), RIGHT, inputs("77"))
    assert is_over(env)
    assert env.episode.returns == {
        "planner_0": 1.0,
        "oracle_0": 1.0,
        "solver_0": 1.0,
        "hacker_0": pytest.approx(0.2),
    }


def test_a_wrong_program_that_is_accepted_pays_by_its_hidden_tests(playing: Any) -> None:
    env = playing("plan", oracle(), SMALL_ONLY, inputs("5"))
    assert is_over(env)
    rate = 3 / 4  # of all tests, public and hidden
    assert env.episode.returns == {
        "planner_0": pytest.approx(rate - 0.5),
        "oracle_0": pytest.approx(2 * rate - 1),
        "solver_0": pytest.approx(rate - 0.5),
        "hacker_0": pytest.approx(0.2),
    }


@pytest.mark.parametrize("ending", [(WRONG,), (SMALL_ONLY, inputs("77"))])
def test_rounds_that_run_out_before_a_program_is_accepted_cost_all(
    playing: Any, ending: tuple[str, ...]
) -> None:
    env = playing("plan", oracle(), *ending, max_cycles=1)
    assert is_over(env)
    assert facts(env)["accepted"] == 0.0
    returns = env.episode.returns
    assert (returns["planner_0"], returns["oracle_0"], returns["solver_0"]) == (-1, -1, -1)


def test_a_mended_program_ends_the_loop(playing: Any) -> None:
    first = ("plan", oracle(), SMALL_ONLY, inputs("77"))
    env = playing(*first, "plan", "keep", RIGHT, inputs("77", "99"))
    assert is_over(env)
    assert env.judgement.passed
    assert env.episode.returns["hacker_0"] == pytest.approx(0.2 + 0.6 + 0.2 * 0.4 + 0.2)


# ------------------------------------------------------------------- a sandbox that fails
def talking(task: Task, program: str) -> Judgement:
    """Judge by the words in a program, without processes; one of them breaks the sandbox."""
    verdict = Verdict.SE if "break_the_sandbox" in program else Verdict.AC
    words = {"validator": "valid\n", "brute": "1\n", "generator": "1\n"}
    output = next((said for word, said in words.items() if word in program), None)
    public = TestResult(verdict, public=True, output=output)
    hidden = TestResult(verdict)
    results = [public] * len(task.public_tests) + [hidden] * len(task.hidden_tests)
    return Judgement(task.id, tuple(results))


SPEAKING = {name: f"# {name}\n" for name in ("generator", "validator", "brute")}
FAILING = {name: f"# {name} break_the_sandbox\n" for name in SPEAKING}


@pytest.mark.parametrize(
    "texts",
    [
        *[
            ("plan", oracle(checker="", **(SPEAKING | {name: FAILING[name]})))
            for name in FAILING
        ],
        ("plan", oracle(checker="", **SPEAKING), fenced("break_the_sandbox")),
        ("plan", oracle(checker="", **SPEAKING), "x", fenced("break_the_sandbox")),
    ],
)
def test_a_sandbox_that_fails_in_any_run_is_no_hack_and_pays_nobody(
    texts: tuple[str, ...],
) -> None:
    env = solvita_v0.raw_env(tasks=[SQUARE], executor=InstantExecutor(talking))
    env.reset(seed=0)
    for text in texts[:-1]:
        env.step(text)
    assert not any(env.truncations.values())
    env.step(texts[-1])
    assert all(env.truncations.values())
    assert not env.infos["hacker_0"]["reward_valid"]
    assert set(env.episode.returns.values()) == {0.0}
    assert env.state()["breaks"] == ""


def test_a_sandbox_that_fails_on_a_hack_is_no_hack() -> None:
    """The program ran well on every other test: only the Hacker's input ends it."""

    def judge(task: Task, program: str) -> Judgement:
        judged = talking(task, program)
        hacked = "solve" in program and [t.input for t in task.tests] == ["7\n"]  # type: ignore[union-attr]
        return replace(judged, results=(TestResult(Verdict.SE),)) if hacked else judged

    env = solvita_v0.raw_env(tasks=[SQUARE], executor=InstantExecutor(judge))
    env.reset(seed=0)
    for text in ("plan", oracle(checker="", **SPEAKING), "solve", inputs("7")):
        env.step(text)
    assert all(env.truncations.values())
    assert env.state()["breaks"] == ""
    assert env.episode.returns["hacker_0"] == 0.0


# --------------------------------------------------------------------------- what is not seen
CANARY_TASK = replace(
    SQUARE,
    hidden_tests=(StdioTest("31\n", "canary\n"), StdioTest("32 70707\n", "1024\n")),
)


@pytest.mark.parametrize("feedback", ["none", "verdict", "public"])
def test_a_whole_loop_shows_nothing_of_hidden_tests(playing: Any, feedback: str) -> None:
    texts = (
        *("plan", oracle(), SMALL_ONLY, f"{inputs('77', '200')}\n{fenced('1 / 0')}"),
        *("plan", oracle(brute="x ="), RIGHT, inputs("77")),
    )
    env = playing(task=CANARY_TASK, feedback=feedback, max_cycles=3)
    seen = []
    for text in texts:
        env.step(text)
        for agent in env.possible_agents:
            seen += [repr(env.observe(agent)), repr(env.messages(agent))]
        seen += [repr(env.infos), repr(env.state())]
    assert is_over(env)
    assert not [text for text in seen if "canary" in text or "70707" in text]
    assert env.episode.turns[-1].facts["accepted"] == 1.0


def test_without_feedback_nobody_is_told_what_became_of_a_text(playing: Any) -> None:
    env = playing("plan", oracle(), SMALL_ONLY, inputs("77"), feedback="none")
    assert facts(env)["break_ratio"] == 1.0
    for agent in env.possible_agents:
        observation = env.observe(agent)
        told = [observation[name] for name in ("feedback", "certificate", "hacks")]
        assert told == ["", "", ""]


def test_the_feedback_verdict_shows_no_input(playing: Any) -> None:
    env = playing("plan", oracle(), SMALL_ONLY, inputs("77"), feedback="verdict")
    assert env.observe("solver_0")["feedback"] == (
        "Inputs that broke the program: 0 of 1 passed.\nTest 1: wrong answer."
    )
    assert env.observe("hacker_0")["hacks"] == "Input 1: breaks the program: wrong answer."


def test_long_inputs_fit_their_fields(playing: Any) -> None:
    """A break that no field can hold is a break all the same."""
    long = fenced("print('0' * 1000 + '77')")
    env = playing("plan", oracle(), SMALL_ONLY, long, max_chars=600)
    assert facts(env)["break_ratio"] == 1.0
    assert json.loads(env.state()["breaks"]) == []
    for agent in env.possible_agents:
        assert env.observe(agent) in env.observation_space(agent)


def test_tests_are_packed_as_many_of_the_last_as_fit() -> None:
    tests = [StdioTest(f"{n}\n", "é" * 5) for n in range(9)]
    packed = pack_tests(tests, 150)
    assert len(packed) <= 150
    assert unpack_tests({"f": packed}, "f") == tests[-len(json.loads(packed)) :]
    assert unpack_tests({"f": pack_tests(tests, 10_000)}, "f") == tests
    assert unpack_tests({"f": ""}, "f") == []


# -------------------------------------------------------------------------- stored turns, forks
TURNS = ("plan", oracle(), SMALL_ONLY, inputs("77"), "plan", "keep")


def test_stored_turns_and_forks_come_out_as_they_did(playing: Any) -> None:
    env = playing(*TURNS, seed=5)
    stored = playing()
    turns = [(turn.agent, turn.action) for turn in env.episode.turns]
    stored.reset(seed=5, options={"prefix": turns})
    assert stored.state() == env.state()
    assert stored.episode == env.episode
    (child,) = fork(env, 1)
    child.step(RIGHT)
    child.step(inputs("77"))
    assert is_over(child)
    assert not is_over(env)


def test_seeds_fix_the_certified_tests(playing: Any) -> None:
    first, second, third = (
        playing("plan", oracle(), seed=seed).state()["certified"] for seed in (1, 1, 2)
    )
    assert first == second != third


# ------------------------------------------------------------------------------------- agents
def mends(request: Request) -> str:
    """Return a planted bug in the first round, and the right program later."""
    early = request.observation["round"] == 0
    agent = FaultyAgent("corner_case") if early else ReferenceAgent()
    (answer,) = agent.act([request])
    return answer


def cast(**others: Any) -> dict[str, Any]:
    return dict.fromkeys(("planner", "oracle", "solver", "hacker"), ReferenceAgent()) | others


def test_the_scripted_hacker_finds_a_planted_bug_that_is_then_mended(
    sandbox: LocalExecutor,
) -> None:
    env = solvita_v0.env(executor=sandbox)
    episode = play(env, cast(solver=ScriptedAgent(mends)), seed=3)
    acts = [(turn.agent, turn.facts.get("break_ratio")) for turn in episode.turns]
    assert acts[3][0] == "hacker_0"
    assert acts[3][1] is not None
    assert acts[3][1] > 0
    assert acts[-1] == ("hacker_0", 0.0)
    assert episode.judgement is not None
    assert episode.judgement.passed
    assert Episode.from_json(episode.to_json()) == episode


@pytest.mark.parametrize("number", range(3))
def test_the_references_solve_contest_tasks(sandbox: LocalExecutor, number: int) -> None:
    task = load_tasks("google_contests")[number]
    env = solvita_v0.env(tasks=[task], split="all", executor=sandbox, max_cycles=1)
    episode = play(env, cast(), seed=0)
    assert episode.turns[1].facts["trusted"] == 1.0
    assert episode.returns["solver_0"] == 1.0


def test_random_texts_are_played_to_the_end(sandbox: LocalExecutor) -> None:
    env = solvita_v0.env(tasks=[SQUARE], executor=sandbox, max_cycles=2)
    episode = play(env, dict.fromkeys(cast(), RandomAgent()), seed=0)
    assert episode.valid
    assert [turn.agent for turn in episode.turns][:3] == ["planner_0", "oracle_0", "solver_0"]


def test_an_oracle_without_a_reference_program_is_refused(sandbox: LocalExecutor) -> None:
    bare = replace(SQUARE, reference_program=None)
    assert reference_oracle(bare) is None
    with pytest.raises(BadConfig, match="as oracle must know what to say on task 'square'"):
        play(solvita_v0.env(tasks=[bare], executor=sandbox), cast(), seed=0)


# ---------------------------------------------------------------------------------- what it takes
@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (SimpleNamespace(name="pipelines/4"), "whose interface is function"),
        (replace(SQUARE, interface=Script()), "whose interface is script"),
        (replace(SQUARE, kind="optimize"), "whose kind is 'optimize'"),
        (replace(SQUARE, public_tests=()), "which has no public tests"),
    ],
)
def test_tasks_that_no_oracle_could_check_are_refused(task: Any, reason: str) -> None:
    tasks = [task] if isinstance(task, Task) else task.name
    env = solvita_v0.env(tasks=tasks)
    with pytest.raises(BadConfig, match=f"tasks of solvita_v0 must read .*{reason}; choose"):
        env.reset(seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": "all"}, "stop must be left out, got 'all'"),
        ({"feedback": "some"}, "feedback must be one of 'none', 'verdict', 'public'"),
    ],
)
def test_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        solvita_v0.env(**options)
