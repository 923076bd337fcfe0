"""What `corecode play` promises: agents play, everybody sees it, and it can be repeated."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from corecode_env.core.episode import Episode
from corecode_env.records import read_episodes

Run = Callable[..., Result]


def played(result: Result) -> list[Episode]:
    assert result.exit_code == 0, result.stderr
    return [Episode.from_json(json.loads(line)) for line in result.stdout.splitlines()]


def test_reference_agents_solve_humaneval_and_mbpp_by_default(run: Run) -> None:
    episodes = played(run("play", "--episodes", 4, "--json"))
    sources = [episode.task_id.split("/")[0].lower() for episode in episodes]
    assert sources == ["humaneval", "mbpp", "humaneval", "mbpp"]
    for episode in episodes:
        assert episode.judgement is not None
        assert episode.judgement.passed
        assert episode.returns == {"planner_0": 1.1, "coder_0": pytest.approx(1.3)}


def test_the_table_has_a_row_an_episode_and_a_transcript_comes_first(run: Run) -> None:
    result = run("play", "--tasks", "pipelines/1", "--episodes", 3)
    assert result.exit_code == 0
    assert "3 episodes" in result.stdout
    assert "3 solved" in result.stdout
    assert "planner_0" in result.stdout
    assert "def solve" in result.stdout


def test_without_transcripts_only_the_table_is_printed(run: Run) -> None:
    result = run("play", "--tasks", "pipelines/1", "--episodes", 2, "--show", 0)
    assert "def solve" not in result.stdout


def test_a_faulty_coder_earns_less(run: Run) -> None:
    args = ("play", "--tasks", "pipelines/1", "--episodes", 2, "--json")
    (wrong, _) = played(run(*args, "--coder", "faulty:syntax_error"))
    (right, _) = played(run(*args))
    assert wrong.returns["coder_0"] < right.returns["coder_0"]
    assert wrong.task_id == right.task_id


def test_the_same_seed_plays_the_same_episodes(run: Run) -> None:
    args = ("play", "--tasks", "pipelines/2", "--episodes", 3, "--json", "--seed")
    assert played(run(*args, 5)) == played(run(*args, 5))
    first, other = played(run(*args, 5)), played(run(*args, 6))
    assert [e.task_id for e in first] != [e.task_id for e in other]


def test_rounds_go_on_until_the_public_tests_pass(run: Run) -> None:
    args = ("play", "--tasks", "pipelines/1", "--episodes", 1, "--rounds", 3, "--json")
    (wrong,) = played(run(*args, "--coder", "faulty:syntax_error"))
    (right,) = played(run(*args))
    assert len(wrong.turns) == 6
    assert len(right.turns) == 2


def test_episodes_are_appended_to_a_file_that_reads_back(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "episodes.jsonl"
    args = ("play", "--tasks", "pipelines/1", "--episodes", 2, "--out", out)
    printed = played(run(*args, "--json"))
    assert run(*args, "--show", 0).exit_code == 0
    read = read_episodes(out)
    assert list(read.episodes) == printed + printed
    assert read.problems == ()


def test_one_task_can_be_chosen_from_any_of_the_sources(run: Run) -> None:
    args = ("--tasks", "humaneval", "--tasks", "pipelines/1", "--episodes", 2, "--json")
    episodes = played(run("play", *args, "--task", "HumanEval/53"))
    assert [episode.task_id for episode in episodes] == ["HumanEval/53", "HumanEval/53"]


def test_the_solo_environment_asks_the_coder_only(run: Run) -> None:
    args = ("play", "--env", "solo_coder_v0", "--tasks", "pipelines/1", "--episodes", 1)
    (episode,) = played(run(*args, "--json"))
    assert episode.agents == ("coder_0",)


def test_roles_beside_planner_and_coder_have_an_option_of_their_own(run: Run) -> None:
    args = ("play", "--env", "debug_team_v0", "--tasks", "pipelines/1", "--episodes", 1)
    wrong = ("--coder", "faulty:off_by_one", "--json")
    (mended,) = played(run(*args, *wrong))
    (spoilt,) = played(run(*args, *wrong, "--agent", "debugger=faulty:wrong_name"))
    assert mended.returns["debugger_0"] == pytest.approx(1.3)
    assert spoilt.returns["debugger_0"] == 0.0


@pytest.mark.parametrize("env", ["retrieval_team_v0", "helper_main_v0", "tree_search_v0"])
def test_every_team_plays_with_no_more_than_its_name(run: Run, env: str) -> None:
    result = run("play", "--env", env, "--tasks", "pipelines/2", "--episodes", 1)
    assert result.exit_code == 0
    assert "1 solved" in result.stdout
    assert "-0.00" not in result.stdout


def test_one_seat_of_several_may_have_an_agent_of_its_own(run: Run) -> None:
    args = ("play", "--env", "tree_search_v0", "--tasks", "pipelines/1", "--rounds", 2)
    wrong = ("--agent", "coder_0=faulty:off_by_one", "--episodes", 1, "--json")
    (episode,) = played(run(*args, *wrong))
    assert episode.returns == {"coder_0": 0.0, "coder_1": 1.0}


def test_a_hacker_finds_a_planted_bug(run: Run) -> None:
    args = ("play", "--env", "solvita_v0", "--tasks", "pipelines/1/stdio", "--episodes", 1)
    (episode,) = played(run(*args, "--agent", "solver=faulty:corner_case", "--json"))
    assert episode.turns[-1].facts["break_ratio"] > 0
    assert episode.returns["hacker_0"] > 0.2 > episode.returns["solver_0"]


def test_a_person_may_play_through_standard_input(run: Run) -> None:
    typed = "Sum them.\n.\ndef solve(xs):\n    return sum(xs)\n.\n"
    args = ("play", "--tasks", "pipelines/1", "--episodes", 1, "--json")
    (episode,) = played(run(*args, "--planner", "human", "--coder", "human", typed=typed))
    assert [turn.action for turn in episode.turns] == [
        "Sum them.\n",
        "def solve(xs):\n    return sum(xs)\n",
    ]


# ------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("--env", "planer_coder_v0"), "did you mean 'planner_coder_v0'"),
        (("--env", "planner_coder_discrete_v0"), "whose actions are numbers"),
        (("--coder", "refrence"), "did you mean 'reference'"),
        (("--coder", "faulty:of_by_one"), "did you mean 'faulty:off_by_one'"),
        (("--tasks", "humanevel"), "did you mean 'humaneval'"),
        (("--tasks", "humaneval", "--task", "HumanEval/999"), "HumanEval/99"),
        (("--episodes", "0"), "--episodes"),
        (("--min-isolation", "L9"), "--min-isolation"),
        (("--nonsense",), "--nonsense"),
        (("--agent", "coder"), "ROLE=AGENT"),
        (("--agent", "=human"), "ROLE=AGENT"),
        (("--agent", "codr=human"), "did you mean 'coder'"),
        (("--agent", "coder_1=random"), "did you mean 'coder_0'"),
        (("--agent", "coder=refrence"), "did you mean 'reference'"),
    ],
)
def test_a_wrong_word_is_exit_code_2_with_a_hint(
    run: Run, args: tuple[str, ...], hint: str
) -> None:
    result = run("play", *args)
    assert result.exit_code == 2
    assert hint in result.stderr
    assert "Traceback" not in result.stderr


def test_a_person_who_says_nothing_ends_it_with_one_line(run: Run) -> None:
    result = run("play", "--tasks", "pipelines/1", "--coder", "human", typed="")
    assert result.exit_code == 2
    assert "coder_0" in result.stderr.splitlines()[-1]
