"""What tree search promises: nodes that are kept, gone on from, told of and restored."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.agents import FaultyAgent, ReferenceAgent
from corecode_env.core.episode import Episode
from corecode_env.core.errors import BadConfig, EpisodeError, UnknownName
from corecode_env.core.task import Checker, ScoreTest, Stdio, Task
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.environments import fork, tree_search_v0
from corecode_env.environments.search_tree import (
    Choice,
    SearchTree,
    plan_of,
    public_score,
    read_choice,
    search_tree,
)
from corecode_env.evaluation import samples_of
from corecode_env.executor import LocalExecutor
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rollout import play

Play = Callable[..., Any]


@pytest.fixture
def playing(tasks: list[Task], executor: InstantExecutor) -> Play:
    """Return what makes an environment and plays texts in it, one a turn."""

    def run(*texts: str, seed: int = 0, **options: Any) -> Any:
        bound: dict[str, Any] = {"tasks": tasks, "executor": executor} | options
        env = tree_search_v0.raw_env(**bound)
        env.reset(seed=seed)
        for text in texts:
            env.step(text)
        return env

    return run


def is_over(env: Any) -> bool:
    return all(env.terminations.values())


# --------------------------------------------------------------------------- the first line
@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("node: new\nrest", Choice(rest="rest")),
        ("node: 0\nrest", Choice(parent=0, rest="rest")),
        ("\n\n  node:2  \r\nrest", Choice(parent=2, rest="rest")),
        ("node:\tnew", Choice()),
        ("node: pass", Choice(passes=True)),
    ],
)
def test_a_first_line_names_a_node_a_new_one_or_none(text: str, choice: Choice) -> None:
    assert read_choice(text, 3) == choice


@pytest.mark.parametrize(
    "text",
    [
        *("", "node", "node: ", "node: -1", "node: 1.0", "node: 01", "node: +1", "node: 1 2"),
        *("Node: 1", "node: NEW", "node 1", "`node: 1`", "so\nnode: 1", "node: \uff11"),
        *("node: 1 (the best)", "node:\nnew", "nodes: new"),
    ],
)
def test_any_other_first_line_is_told_the_forms(text: str) -> None:
    problem = read_choice(text, 3)
    assert isinstance(problem, str)
    assert "must be 'node: new', or 'node: N' with N a node (0 to 2)" in problem


@pytest.mark.parametrize(
    ("number", "known", "expected"),
    [
        ("0", 0, "There is no node 0 yet: the first line must be 'node: new'."),
        ("1", 1, "or 'node: N' with N a node (0)."),
        ("999999", 2, "There is no node 999999 yet"),
    ],
)
def test_a_node_that_is_not_there_is_told_those_that_are(
    number: str, known: int, expected: str
) -> None:
    problem = read_choice(f"node: {number}\nx", known)
    assert isinstance(problem, str)
    assert expected in problem


def test_a_long_first_line_is_not_given_back_whole() -> None:
    problem = read_choice("x" * 5_000, 1)
    assert isinstance(problem, str)
    assert len(problem) < 200


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("node: new\nsort,\nthen add\n```python\nx\n```\nbye", "sort,\nthen add"),
        ("node: new\n```python\nx\n```", ""),
        ("node: new\nprint(1)", ""),
    ],
)
def test_a_plan_is_what_stands_before_the_first_fence(text: str, plan: str) -> None:
    assert plan_of(text) == plan


# ---------------------------------------------------------------------------------- the tree
def test_nodes_keep_parents_authors_scores_and_raw_rewards(
    playing: Play, say: SimpleNamespace
) -> None:
    env = playing(
        f"node: new\nidea\n{say.wrong}",
        f"node: new\n{say.half}",
        f"node: 1\nmend\n{say.right}",
        f"node: 0\n{say.wrong}",
        max_cycles=6,
        early_stop=False,
    )
    tree = env.tree
    assert tree.parents == (None, None, 1, 0)
    assert tree.agents == ("coder_0", "coder_1", "coder_0", "coder_1")
    assert tree.scores == (0.0, 1.0, 1.0, 0.0)
    assert tree.rewards == (0.0, 0.0, 1.0, 0.0)
    assert [node.plan for node in tree.nodes] == ["idea", "", "mend", ""]
    assert tree.nodes[2].program == say.right.removeprefix("```python\n").removesuffix("```\n")
    assert tree.children(None) == (0, 1)
    assert tree.children(1) == (2,)
    assert not is_over(env)


def test_the_answer_is_the_best_public_score_and_the_earliest_of_equals(
    playing: Play, say: SimpleNamespace
) -> None:
    env = playing(max_cycles=5, early_stop=False)
    assert env.tree.nodes == ()
    answers = []
    for program in (say.wrong, say.wrong, say.half, say.right):
        env.step(f"node: new\n{program}")
        answers.append(env.tree.nodes.index(env.tree.best))
        assert env.judgement == env.tree.best.judgement
    assert answers == [0, 0, 2, 2]
    assert env.judgement.pass_rate == pytest.approx(1 / 3)
    (sample,) = samples_of([env.episode])
    assert (sample.program, sample.judgement) == (env.tree.best.program, env.judgement)


def test_a_node_pays_its_author_alone(playing: Play, say: SimpleNamespace) -> None:
    env = playing(f"node: new\n{say.wrong}", f"node: new\n{say.right}")
    assert is_over(env)
    assert env.episode.returns == {"coder_0": 0.0, "coder_1": 1.0}
    assert env.infos["coder_1"]["reward_terms"] == {"solved": 1.0}


def test_another_reward_is_the_nodes_reward_too(playing: Play, say: SimpleNamespace) -> None:
    from corecode_env.rewards import pass_rate

    env = playing(f"node: new\n{say.half}", rewards=pass_rate())
    assert env.tree.rewards == pytest.approx((1 / 3,))


def test_a_bad_first_line_makes_no_node_and_costs_the_turn(
    playing: Play, say: SimpleNamespace, executor: InstantExecutor
) -> None:
    env = playing(say.right, max_cycles=2)
    assert env.tree == SearchTree()
    assert executor.jobs == []
    assert env.agent_selection == "coder_1"
    told = env.observe("coder_1")["feedback"]
    assert told.startswith(
        "The last answer, by coder_0, was not taken. The first line must be"
    )
    assert told in env.observe("coder_1")["prompt"]
    assert set(env.episode.returns.values()) == {0.0}


def test_whoever_passes_leaves_the_tree_and_the_rewards_alone(
    playing: Play, say: SimpleNamespace
) -> None:
    env = playing(f"node: new\n{say.wrong}", "node: pass", max_cycles=3)
    before = env.observe("coder_0")["tree"]
    env.step("node: pass")
    assert env.observe("coder_0")["tree"] == before
    assert env.observe("coder_0")["feedback"] == "coder_0 passed."
    assert env.agent_selection == "coder_1"


def test_a_full_tree_ends_the_episode(playing: Play, say: SimpleNamespace) -> None:
    env = playing(*[f"node: new\n{say.wrong}"] * 2, max_cycles=3)
    assert not is_over(env)
    env.step(f"node: new\n{say.wrong}")
    assert is_over(env)
    assert len(env.tree.nodes) == 3


def test_a_search_that_lets_one_speak_per_round_fills_the_same_tree(
    playing: Play, say: SimpleNamespace
) -> None:
    """As search algorithms play it: each round the chosen one acts, the others pass."""
    env = playing(max_cycles=4, coders=3)
    for chosen in (2, 0, 2, 1):
        for number in range(3):
            if not is_over(env):
                env.step(f"node: new\n{say.wrong}" if number == chosen else "node: pass")
    assert is_over(env)
    assert env.tree.agents == ("coder_2", "coder_0", "coder_2", "coder_1")


def test_texts_without_form_end_after_the_rounds(playing: Play) -> None:
    env = playing(*["what?"] * 6, max_cycles=3)
    assert is_over(env)
    assert env.tree.best is None


@pytest.mark.parametrize(("early_stop", "over"), [(True, True), (False, False)])
def test_a_passing_program_ends_it_only_where_that_is_wanted(
    playing: Play, say: SimpleNamespace, early_stop: bool, over: bool
) -> None:
    env = playing(f"node: new\n{say.right}", early_stop=early_stop)
    assert is_over(env) is over


def test_a_broken_sandbox_makes_no_node_that_counts(
    playing: Play, say: SimpleNamespace
) -> None:
    env = playing(f"node: new\n{say.wrong}", f"node: 0\n{say.breaks}")
    assert all(env.truncations.values())
    assert not env.infos["coder_0"]["reward_valid"]
    assert env.observe("coder_0")["tree"].startswith("Nodes: 1 of 8.")


# ------------------------------------------------------------------------------ what is seen
def test_every_coder_sees_the_tree_with_programs_and_public_tests(
    playing: Play, say: SimpleNamespace
) -> None:
    env = playing(f"node: new\nidea\n{say.wrong}", f"node: 0\n{say.wrong}")
    views = [env.observe(agent) for agent in env.possible_agents]
    assert views[0]["tree"] == views[1]["tree"]
    lines = views[0]["tree"].splitlines()
    assert lines[:4] == [
        "Nodes: 2 of 8.",
        "node 0 (anew, by coder_0): Public tests: 0 of 1 passed.",
        "node 1 (from node 0, by coder_1): Public tests: 0 of 1 passed.",
        "Best so far: node 0.",
    ]
    assert "idea\n```python\ndef solve(xs):\n    return None\n```" in views[0]["tree"]
    assert "solve([1, 2]) == 3" in views[0]["tree"]
    assert views[0]["tree"] in views[0]["prompt"]


def test_without_feedback_neither_scores_nor_their_order_are_told(
    playing: Play, say: SimpleNamespace
) -> None:
    def seen(first: str, second: str) -> str:
        env = playing(
            f"node: new\n{first}", f"node: new\n{second}", feedback="none", early_stop=False
        )
        return str(env.observe("coder_0")["tree"])

    told = seen(say.half, say.wrong)
    assert "passed" not in told
    assert "Best" not in told
    assert told.index("Node 1.") < told.index("Node 0.")
    other = seen(say.wrong, say.half)
    assert other.index("Node 1.") < other.index("Node 0.")


@pytest.mark.parametrize("max_chars", [200, 1_000, 5_000])
def test_the_tree_is_shown_within_half_of_what_a_text_may_have(
    playing: Play, say: SimpleNamespace, max_chars: int
) -> None:
    long = "node: new\n```python\n" + "x = 1\n" * 200 + "```"
    texts = [f"node: new\n{say.half}", *[long] * 5]
    env = playing(*texts, max_cycles=9, max_chars=max_chars, early_stop=False)
    view = env.observe("coder_0")
    assert len(view["tree"]) <= max_chars // 2
    assert view in env.observation_space("coder_0")
    if max_chars == 1_000:
        assert "Too long to show: node 1, 2, 3, 4, 5." in view["tree"]
        assert "Node 0.\n```python\ndef solve(xs):\n    return xs[0]\n```" in view["tree"]


def test_a_transcript_cuts_the_tree_and_not_the_program(playing: Play) -> None:
    long = "node: new\n```python\n" + "x = 1\n" * 300 + "```"
    env = playing(long, render_mode="ansi")
    assert env.observe("coder_0")["tree"].count("x = 1") == 300
    shown = re.sub(r"\x1b\[[0-9;]*m", "", env.render())
    assert "node 0 (anew, by coder_0)" in shown
    assert 300 < shown.count("x = 1") < 500
    assert "[...]" in shown


def test_a_request_at_a_node_shows_the_problem_and_that_node_alone(
    playing: Play, say: SimpleNamespace
) -> None:
    env = playing(f"node: new\n{say.half}", f"node: new\n{say.wrong}", early_stop=False)
    fresh = env.request_at("coder_1", None)
    at_one = env.request_at("coder_1", 1)
    assert fresh.agent == at_one.agent == "coder_1"
    assert "Your last program" not in fresh.observation["prompt"]
    assert "return None" in at_one.observation["prompt"]
    assert "return xs[0]" not in at_one.observation["prompt"]
    assert "Public tests: 0 of 1 passed." in at_one.observation["prompt"]
    assert at_one.messages == ({"role": "user", "content": at_one.observation["prompt"]},)
    assert at_one.observation in env.observation_space("coder_1")
    (answer,) = ReferenceAgent().act([at_one])
    env.step(f"node: 1\n{answer}")
    assert env.tree.nodes[2].parent == 1
    assert env.tree.nodes[2].judgement.passed


def test_a_request_for_nobody_or_nowhere_is_refused(playing: Play) -> None:
    env = playing()
    with pytest.raises(UnknownName, match="did you mean 'coder_1'"):
        env.request_at("coder_11", None)
    with pytest.raises(UnknownName, match="a node of the tree; known: none"):
        env.request_at("coder_0", 0)


# ----------------------------------------------------------------- records, stored turns, forks
def full_search(playing: Play, say: SimpleNamespace) -> Any:
    return playing(
        f"node: new\n{say.wrong}", "oops", f"node: 0\n{say.half}", "node: pass",
        early_stop=False, seed=4,
    )  # fmt: skip


def test_stored_turns_restore_every_node(playing: Play, say: SimpleNamespace) -> None:
    env = full_search(playing, say)
    stored = playing(early_stop=False)
    turns = [(turn.agent, turn.action) for turn in env.episode.turns]
    stored.reset(seed=4, options={"prefix": turns})
    assert stored.tree == env.tree
    assert stored.observe("coder_0") == env.observe("coder_0")


def test_forks_grow_trees_of_their_own(playing: Play, say: SimpleNamespace) -> None:
    env = full_search(playing, say)
    before = env.tree
    one, two = fork(env, 2)
    one.step(f"node: 1\n{say.right}")
    two.step(f"node: new\n{say.wrong}")
    assert env.tree == before
    assert one.tree.parents == (None, 0, 1)
    assert two.tree.parents == (None, 0, None)


def test_a_record_brings_its_tree(playing: Play, say: SimpleNamespace) -> None:
    env = full_search(playing, say)
    record = Episode.from_json(env.episode.to_json())
    assert search_tree(record.turns) == env.tree


def test_there_is_no_tree_before_the_first_reset(tasks: list[Task], executor: Any) -> None:
    with pytest.raises(EpisodeError, match="call reset"):
        _ = tree_search_v0.raw_env(tasks=tasks, executor=executor).tree


# --------------------------------------------------------------------------- scores and agents
def test_a_scored_task_is_searched_by_its_public_scores() -> None:
    def judge(task: Task, program: str) -> Judgement:
        score = float(len(program))
        public = TestResult(Verdict.AC, public=True, score=score)
        return Judgement(task.id, (public, TestResult(Verdict.AC, score=100 - score)))

    task = Task(
        "long",
        "Write much.",
        Stdio(),
        public_tests=(ScoreTest("a"),),
        hidden_tests=(ScoreTest("b"),),
        checker=Checker(source="def score(instance, output): return 1.0"),
        kind="optimize",
    )
    env = tree_search_v0.raw_env(tasks=[task], executor=InstantExecutor(judge), max_cycles=3)
    env.reset(seed=0)
    for program in ("aa", "aaaa", "a"):
        env.step(f"node: new\n{program}")
    assert env.tree.scores == (2.0, 4.0, 1.0)
    assert env.tree.best is not None
    assert env.tree.best.number == 1
    lines = env.observe("coder_0")["tree"].splitlines()
    assert lines[2] == "node 1 (anew, by coder_1): Public tests: 1 of 1 passed. Score 4."
    assert lines[4:8] == ["Best so far: node 1.", "", "Node 1.", "```python"]


def test_without_public_tests_no_node_is_called_the_best(
    playing: Play, say: SimpleNamespace
) -> None:
    task = say.task(public_tests=())
    env = playing(f"node: new\n{say.wrong}", f"node: new\n{say.right}", tasks=[task])
    tree = env.observe("coder_0")["tree"]
    assert env.tree.scores == (None, None)
    assert env.tree.best.number == 0
    assert "Best" not in tree
    assert "public tests" not in tree
    assert tree.index("Node 1.") < tree.index("Node 0.")


KINDS = [
    *("commit_message/mbpp-sanitized", "cruxeval", "heuristics/cargo", "pipelines/3/repair"),
    *("pipelines/3/io_prediction", "unit_tests/mbpp-sanitized"),
]


@pytest.mark.parametrize("name", KINDS)
def test_the_reference_is_right_on_every_kind_of_task(name: str) -> None:
    with LocalExecutor(1, min_isolation="L0") as sandbox:
        env = tree_search_v0.env(tasks=name, split="all", executor=sandbox, max_cycles=1)
        episode = play(env, {"coder": ReferenceAgent()}, seed=1)
    assert episode.returns["coder_0"] == 1.0
    prompt = episode.turns[0].observation["prompt"]
    assert "node: new" in prompt


def test_a_public_score_is_none_without_public_tests() -> None:
    hidden = Judgement("t", (TestResult(Verdict.AC, score=3.0),))
    assert public_score(hidden, scored=False) is None
    assert public_score(hidden, scored=True) is None


def test_an_output_that_scores_nothing_counts_as_none() -> None:
    results = [TestResult(verdict, True, score=5.0) for verdict in (Verdict.AC, Verdict.WA)]
    assert public_score(Judgement("t", tuple(results)), scored=True) == 2.5


def test_the_reference_starts_anew_and_solves(tasks: list[Task], executor: Any) -> None:
    env = tree_search_v0.env(tasks=tasks, executor=executor)
    episode = play(env, {"coder": ReferenceAgent()}, seed=1)
    assert episode.turns[0].action.startswith("node: new\n1. add up the list\n```python")
    assert episode.returns == {"coder_0": 1.0, "coder_1": 0.0}


def test_a_faulty_coder_fills_the_tree_with_wrong_programs(
    tasks: list[Task], executor: Any
) -> None:
    env = tree_search_v0.env(tasks=tasks, executor=executor, max_cycles=4)
    episode = play(env, {"coder": FaultyAgent("off_by_one")}, seed=1)
    tree = search_tree(episode.turns)
    assert len(tree.nodes) == 4
    assert set(tree.scores) == {0.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coders": 0}, "coders must be a whole number of at least 1, got 0"),
        ({"early_stop": "no"}, "early_stop must be one of True, False, got 'no'"),
    ],
)
def test_arguments(options: dict[str, Any], message: str, tasks: list[Task]) -> None:
    with pytest.raises(BadConfig, match=message):
        tree_search_v0.env(tasks=tasks, **options)
