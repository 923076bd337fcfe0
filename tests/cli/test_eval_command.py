"""What `corecode eval` and `corecode compare` promise: numbers with intervals, kept and compared."""

import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from corecode_env.tasks import load_tasks

Run = Callable[..., Result]
LEVEL = ("eval", "--tasks", "pipelines/2", "--limit", 4, "--samples", 2, "--k", "2,1")


def metrics(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("source", "split"),
    [
        ("humaneval", "test"),
        ("pipelines/4", "test"),
        ("google_contests", "all"),
    ],
)
def test_reference_agents_pass_at_the_first_try(run: Run, source: str, split: str) -> None:
    asked = ("--tasks", source, "--split", split, "--limit", 2, "--samples", 2, "--k", "1,2")
    found = metrics(run("eval", *asked, "--json"))
    assert found["values"]["pass@1"]["value"] == found["values"]["pass@2"]["value"] == 1.0
    assert (found["tasks"], found["samples"], found["invalid"]) == (2, 4, 0)


def test_a_faulty_coder_fails_and_the_table_says_how(run: Run) -> None:
    result = run(*LEVEL, "--coder", "faulty:syntax_error")
    assert result.exit_code == 0
    assert "8 programs for 4 tasks" in result.stdout
    assert "failure/compile" in result.stdout
    assert "level 2" in result.stdout
    assert "pass@1 " in result.stdout and "pass@2 " in result.stdout


def test_the_split_and_the_limit_choose_the_tasks(run: Run, tmp_path: Path) -> None:
    run(*LEVEL, "--split", "validation", "--out", tmp_path)
    lines = (tmp_path / "episodes.jsonl").read_text().splitlines()
    ids = {json.loads(line)["task_id"] for line in lines}
    assert ids == set(load_tasks("pipelines/2").split("validation").head(4).ids())


def test_a_folder_holds_everything_and_the_same_command_goes_on(
    run: Run, tmp_path: Path
) -> None:
    asked = (*LEVEL, "--baseline-alone", "--out", tmp_path, "--json")
    first = metrics(run(*asked))
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {
        "episodes.jsonl",
        "settings.json",
        "metrics.json",
        "metrics.csv",
        "report.md",
    }
    assert ("gain.png" in written) is (find_spec("matplotlib") is not None)
    kept = json.loads((tmp_path / "metrics.json").read_text())
    assert kept["gains"]["level 2"]["relative"]["value"] == 0.0
    assert {name: kept[name] for name in first} == first
    file = tmp_path / "episodes.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]))
    again = metrics(run(*asked))
    assert again["values"]["pass@1"] == first["values"]["pass@1"]
    assert len(file.read_text().splitlines()) == len(lines)


def test_a_folder_of_another_evaluation_is_refused(run: Run, tmp_path: Path) -> None:
    assert run(*LEVEL, "--out", tmp_path).exit_code == 0
    result = run(*LEVEL, "--out", tmp_path, "--coder", "faulty:crash")
    assert result.exit_code == 2
    assert "choose another folder" in result.stderr


@pytest.mark.parametrize(("samples", "expected"), [(1, [1]), (4, [1]), (5, [1, 5])])
def test_without_k_it_is_1_and_5_if_there_are_so_many(
    run: Run, samples: int, expected: list[int]
) -> None:
    asked = ("eval", "--tasks", "pipelines/1", "--limit", 1, "--samples", samples, "--json")
    names = [
        name for name in metrics(run(*asked))["values"] if re.fullmatch(r"pass@\d+", name)
    ]
    assert names == [f"pass@{k}" for k in expected]


def test_the_gain_of_a_plan_is_measured(run: Run) -> None:
    found = metrics(run(*LEVEL, "--baseline-alone", "--json"))["values"]
    assert found["pass@1/alone"]["value"] == 1.0
    assert found["collaboration_gain"]["value"] == found["gain_in_pass@1"]["value"] == 0.0


def test_larger_teams_are_measured_too_and_the_coder_alone_beside_them(run: Run) -> None:
    args = ("eval", "--env", "debug_team_v0", "--tasks", "pipelines/1", "--limit", 2)
    wrong = (*args, "--samples", 1, "--coder", "faulty:off_by_one", "--json")
    mended = metrics(run(*wrong))
    spoilt = metrics(run(*wrong, "--agent", "debugger=faulty:off_by_one", "--baseline-alone"))
    assert [found["values"]["pass@1"]["value"] for found in (mended, spoilt)] == [1.0, 0.0]


def test_programs_may_share_a_plan(run: Run, tmp_path: Path) -> None:
    assert run(*LEVEL, "--shared-plan", "--out", tmp_path).exit_code == 0
    assert json.loads((tmp_path / "settings.json").read_text())["samples"] == {"coder_0": 2}


def test_prompts_and_what_a_coder_sees_are_part_of_the_evaluation(
    run: Run, tmp_path: Path
) -> None:
    prompt = tmp_path / "coder.txt"
    prompt.write_text("Write.\n\n$plan")
    asked = (*LEVEL, "--prompts", f"coder={prompt}", "--coder-sees", "plan")
    assert run(*asked, "--out", tmp_path / "run", "--baseline-alone").exit_code == 0
    for folder, seen in (("run", "Write.\n\n1."), ("run/alone", "Write.")):
        lines = (tmp_path / folder / "episodes.jsonl").read_text().splitlines()
        assert json.loads(lines[0])["turns"][-1]["observation"]["prompt"].startswith(seen)
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings["prompts"] == {"coder": str(prompt)}
    other = run(*LEVEL, "--out", tmp_path / "run")
    assert other.exit_code == 2 and "coder_sees" in other.stderr


@pytest.mark.skipif(
    not all(find_spec(name) for name in ("torch", "transformers")), reason="needs torch"
)
def test_a_local_model_is_asked_as_the_options_say(run: Run, tmp_path: Path) -> None:
    asked = ("--planner", "tiny:planner", "--coder", "tiny:coder", "--coder-sees", "plan")
    prompts = ("--prompts", "planner=tiny", "--prompts", "coder=tiny")
    cold = (*LEVEL, *asked, *prompts, "--limit", 1, "--temperature", 0, "--max-new-tokens", 5)
    assert run(*cold, "--out", tmp_path).exit_code == 0
    lines = (tmp_path / "episodes.jsonl").read_text().splitlines()
    turns = [json.loads(line)["turns"] for line in lines]
    # At temperature 0 both samples are the same, and five tokens are no whole plan.
    assert turns[0][0]["action"] == turns[1][0]["action"]
    assert {len(turn["token_ids"]) for played in turns for turn in played} == {5}
    assert json.loads((tmp_path / "settings.json").read_text())["local"] == {
        "temperature": 0.0,
        "max_new_tokens": 5,
    }


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--prompts", "coder"), "must be ROLE=FILE"),
        (("--prompts", "codr=x.txt"), "coder"),
        (("--coder", "tiny:codr"), "did you mean 'coder'"),
        (("--temperature", "-1"), "temperature"),
        (("--k", "1,5"), "must not exceed --samples"),
        (("--k", "0"), "whole numbers from 1 up"),
        (("--k", "one"), "whole numbers from 1 up"),
        (("--env", "solo_coder_v0", "--baseline-alone"), "compares with solo_coder_v0"),
        (("--coder", "human"), "corecode play"),
        (("--price-read", "-1"), "not negative"),
        (("--tasks", "humaneval", "--split", "train"), "split"),
        (("--planner", "nobody"), "nobody"),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    run: Run, args: tuple[str, ...], message: str
) -> None:
    result = run(*LEVEL, *args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_two_runs_are_compared_task_by_task(run: Run, tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    run(*LEVEL, "--out", good)
    run(*LEVEL, "--coder", "faulty:off_by_one", "--out", bad)
    found = metrics(run("compare", bad, good / "episodes.jsonl", "--json"))
    assert found["difference"]["value"] == 1.0
    assert (found["won"], found["lost"], found["tasks"]) == (4, 0, 4)
    assert found["mcnemar_p"] == 0.125
    table = run("compare", bad, good)
    assert table.exit_code == 0
    assert "B less A" in table.stdout and "pipelines/2/" in table.stdout


def test_runs_of_other_tasks_cannot_be_compared(run: Run, tmp_path: Path) -> None:
    run(*LEVEL, "--out", tmp_path / "a")
    run(*LEVEL, "--split", "train", "--out", tmp_path / "b")
    result = run("compare", tmp_path / "a", tmp_path / "b")
    assert result.exit_code == 2
    assert "in common" in result.stderr


def test_a_folder_without_episodes_says_so(run: Run, tmp_path: Path) -> None:
    result = run("compare", tmp_path, tmp_path)
    assert result.exit_code == 2
    assert "episodes.jsonl" in result.stderr


def test_samples_are_samples_however_many_seats_a_role_has(run: Run) -> None:
    args = ("eval", "--env", "tree_search_v0", "--tasks", "pipelines/1", "--limit", 1)
    result = run(
        *args, "--rounds", 2, "--samples", 3, "--coder", "faulty:off_by_one", "--json"
    )
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["samples"] == 3
