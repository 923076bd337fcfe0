"""What prompts and transcripts promise to those who read them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.core.errors import BadConfig
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Function,
    ScoreTest,
    Script,
    Stdio,
    StdioTest,
    Task,
)
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.environments import planner_coder_v0, solo_coder_v0
from corecode_env.environments.brief import brief_of, literal
from corecode_env.environments.feedback import feedback_text, scrub
from corecode_env.environments.templates import PLACEHOLDERS, Template


def fill(text: str, **values: str) -> str:
    return Template(text, "test").fill(dict.fromkeys(PLACEHOLDERS, "") | values)


# --------------------------------------------------------------------------------- templates
def test_placeholders_are_filled_and_dollars_kept() -> None:
    assert fill("$role: ${problem}s cost $$5", role="coder", problem="sum") == (
        "coder: sums cost $5"
    )


def test_a_paragraph_with_nothing_to_say_is_left_out() -> None:
    text = "First.\n\nPlan:\n$plan\n\nProgram:\n$program\n$feedback\n\nLast."
    assert fill(text) == "First.\n\nLast."
    assert fill(text, feedback="bad") == "First.\n\nProgram:\n\nbad\n\nLast."


def test_values_are_not_read_as_templates() -> None:
    assert fill("$plan", plan="$problem and $$") == "$problem and $$"


@pytest.mark.parametrize("text", ["$nothing", "$ alone", "${broken"])
def test_placeholders_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(BadConfig, match="must be among role, problem"):
        Template(text, "mine.txt")


def test_an_own_template_serves_its_role_for_every_kind(
    tmp_path: Path, executor: Any, say: SimpleNamespace
) -> None:
    path = tmp_path / "coder.txt"
    path.write_text("Do: $problem ($round of $rounds_left more)\n", "utf-8")
    for kind in ("code", "repair"):
        env = planner_coder_v0.raw_env(
            tasks=[say.task(kind=kind)], executor=executor, prompts={"coder": path}
        )
        env.reset(seed=0)
        prompt = env.observe("coder_0")["prompt"]
        assert prompt == f"Do: {env.task.statement} (1 of 0 more)"
        assert env.observe("planner_0")["prompt"].startswith("You ")


def test_the_planners_form_has_core_codes_parts(tasks: list[Task], executor: Any) -> None:
    env = planner_coder_v0.raw_env(tasks=tasks, executor=executor)
    env.reset(seed=0)
    prompt = env.observe("planner_0")["prompt"]
    parts = ["Inputs and outputs", "Sequence", "Branch", "Loop", "Considerations"]
    places = [prompt.index(part) for part in parts]
    assert places == sorted(places)
    assert "no code" in prompt


# ------------------------------------------------------------------------------------ briefs
def test_the_interface_tells_how_a_program_is_called(say: SimpleNamespace) -> None:
    function = brief_of(
        say.task(interface=Function("area", "def area(r):", "import math")), 5_000
    )
    assert "`area`" in function.interface
    assert "def area(r):" in function.interface
    assert "import math" in function.interface
    stdio = brief_of(say.task(interface=Stdio(), public_tests=(StdioTest("1\n", "2\n"),)), 999)
    assert "input()" in stdio.interface
    assert stdio.examples == "Input:\n1\nOutput:\n2"


def test_a_literal_is_asked_for_where_the_answer_is_taken_whole(say: SimpleNamespace) -> None:
    brief = brief_of(say.task(interface=Script(), kind="io_prediction"), 999)
    assert "as it stands" in brief.interface
    assert brief.examples == "answer([1, 2]) == 3"


def test_tests_of_every_form_can_be_shown(say: SimpleNamespace) -> None:
    tests = (
        CallTest((1,), {"b": "x"}, None),
        AssertTest("assert solve(1) is None\n"),
        ScoreTest("5 7\n", "small"),
    )
    assert brief_of(say.task(public_tests=tests), 999).public_tests == (
        "solve(1, b='x') == None",
        "assert solve(1) is None",
        "Input:\n5 7",
    )


def test_feedback_on_a_scored_task_tells_the_scores(say: SimpleNamespace) -> None:
    task = say.task(kind="optimize", public_tests=(ScoreTest("5 7\n"), ScoreTest("9\n")))
    results = (
        TestResult(Verdict.AC, public=True, score=0.75),
        TestResult(Verdict.WA, public=True, score=0.0, note="route is broken"),
        TestResult(Verdict.AC, score=0.123),
    )
    text = feedback_text("public", task, ("first", "second"), Judgement(task.id, results))
    assert "Test 1: accepted, score 0.75." in text
    assert "Test 2: wrong answer, score 0." in text
    assert "route is broken" in text
    assert "0.123" not in text


def test_a_note_that_repeats_is_said_once(say: SimpleNamespace) -> None:
    task = say.task(public_tests=(CallTest((1,)), CallTest((2,))))
    results = [TestResult(Verdict.CE, public=True, note="SyntaxError: line 1")] * 2
    text = feedback_text("public", task, ("a", "b"), Judgement(task.id, tuple(results)))
    assert text.count("SyntaxError") == 1
    assert text.count("does not compile") == 2


def test_examples_read_the_same_in_every_process() -> None:
    assert literal({"b": {"y", "x", "z"}}) == "{'b': {'x', 'y', 'z'}}"
    assert (
        literal(((1,), frozenset({2, 1}), set(), [])) == "((1,), frozenset({1, 2}), set(), [])"
    )


def test_examples_are_few_and_short(say: SimpleNamespace) -> None:
    tests = tuple(CallTest(("x" * 5_000, number)) for number in range(20))
    brief = brief_of(say.task(public_tests=tests), 20_000)
    assert len(brief.examples) < 5_000


@pytest.mark.parametrize(
    ("note", "clean"),
    [
        ("at 0x7f3a <X at 0xdeadbeef>", "at 0x... <X at 0x...>"),
        ('File "/home/me/run/main.py", line 3', 'File "main.py", line 3'),
        ("/usr/lib/python3.12/json/decoder.py failed", "json/decoder.py failed"),
        ("expected 0xff, got /x", "expected 0xff, got /x"),
        ("in /tmp/job7/main.py", "in job7/main.py"),
    ],
)
def test_notes_are_scrubbed_of_addresses_and_host_paths(note: str, clean: str) -> None:
    assert scrub(note) == clean


# -------------------------------------------------------------------------------- transcripts
def test_ansi_gives_the_whole_coloured_transcript(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = planner_coder_v0.env(
        tasks=tasks, executor=executor, render_mode="ansi", max_cycles=2
    )
    env.reset(seed=1)
    for turn in ("my plan", say.wrong, "better plan", say.right):
        env.step(turn)
    text: Any = env.render()
    for part in ("my plan", "better plan", "planner_0", "coder_0", "round 2", "sums/"):
        assert part in text
    for part in ("WA", "AC", "wrong answer", "accepted", "✗", "✓", "reward"):
        assert part in text
    assert "\x1b[" in text
    assert env.render() == text


def test_human_prints_each_turn_once(
    tasks: list[Task],
    executor: Any,
    say: SimpleNamespace,
    capsys: pytest.CaptureFixture[str],
) -> None:
    env = planner_coder_v0.env(tasks=tasks, executor=executor, render_mode="human")
    env.reset(seed=1)
    assert "Return the sum" in capsys.readouterr().out
    env.step("my plan")
    assert capsys.readouterr().out.count("my plan") == 1
    assert env.render() is None
    assert capsys.readouterr().out == ""
    env.step(say.right)
    assert "AC" in capsys.readouterr().out
    env.reset(seed=2)
    assert "Return the sum" in capsys.readouterr().out


def test_markup_in_a_text_is_shown_as_it_stands(tasks: list[Task], executor: Any) -> None:
    env = solo_coder_v0.env(tasks=tasks, executor=executor, render_mode="ansi")
    env.reset(seed=1)
    env.step("print('[bold]x[/red]')")
    assert "[bold]x[/red]" in str(env.render())


def test_render_without_a_mode_warns(tasks: list[Task], executor: Any) -> None:
    env = solo_coder_v0.env(tasks=tasks, executor=executor)
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode='ansi'"):
        assert env.render() is None
