"""What acts promise: a role's text may mean anything, and the engine keeps its word over it.

The board and the spaces hold the team's own fields; forks, stored turns, records and
rewards work as for plans and programs; a sandbox that fails in an act ends the episode.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.agents import FaultyAgent, ReferenceAgent
from corecode_env.core.episode import Episode, Submission, Turn
from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.task import CallTest, Task
from corecode_env.core.verdict import Verdict
from corecode_env.environments import fork
from corecode_env.environments.acts import Outcome, Scene
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.seat_env import SeatEnv
from corecode_env.environments.team import Role, Team
from corecode_env.rewards import Term
from corecode_env.rollout import collect, play

CRITIC = Role("critic", acts="text", writes="critique", prompt="Judge:\n$program\n\nSay why.")
CODER = Role(
    "coder",
    acts="program",
    sees=frozenset({"critique", "feedback"}),
    prompt="Solve:\n$problem\n\nThe critic says: $critique",
)
CRITICS = Team((CRITIC, CODER))


@dataclass(frozen=True)
class Acting:
    """An act that is one function."""

    fn: Callable[[str, Scene], Outcome]

    def apply(self, text: str, scene: Scene) -> Outcome:
        return self.fn(text, scene)


def acting(fn: Callable[[str, Scene], Outcome], **fields: Any) -> Team:
    """Return a team in which the first role's text does what the function says."""
    role: dict[str, Any] = {"acts": "text", "writes": "note", "prompt": "Say."} | fields
    return Team((Role("actor", act=Acting(fn), **role), CODER_OF_NOTES))


CODER_OF_NOTES = Role("coder", acts="program", sees=frozenset({"feedback"}), prompt="$problem")


@pytest.fixture
def started(tasks: list[Task], executor: Any) -> Callable[..., TeamEnv]:
    """Return a function that starts an episode of a team."""

    def start(team: Team, *, seed: int = 0, **options: Any) -> TeamEnv:
        settings: dict[str, Any] = {"max_cycles": 2} | options
        env = TeamEnv(team, tasks=tasks, executor=executor, **settings)
        env.reset(seed=seed)
        return env

    return start


# --------------------------------------------------------------------------- fields of a team
def test_a_text_goes_to_its_field_and_to_those_who_may_see_it(
    started: Any, say: SimpleNamespace
) -> None:
    env = started(CRITICS)
    env.step("think of empty lists")
    coder, critic = env.observe("coder_0"), env.observe("critic_0")
    assert coder["critique"] == "think of empty lists"
    assert "The critic says: think of empty lists" in coder["prompt"]
    assert critic["critique"] == ""
    assert env.state()["critique"] == "think of empty lists"
    env.step(say.wrong)
    assert "return None" in env.observe("critic_0")["prompt"]


def test_spaces_have_the_shared_fields_and_the_teams_own(started: Any) -> None:
    shared = {"plan", "program", "feedback", "statement", "round", "rounds_left"}
    env = started(CRITICS)
    for agent in env.agents:
        assert set(env.observation_space(agent)) == shared | {"prompt", "role", "critique"}
        assert env.observation_space(agent).contains(env.observe(agent))
    assert set(env.state_space) == shared | {"active_agent", "critique"}
    assert env.state_space.contains(env.state())


def test_a_paragraph_of_a_prompt_is_left_out_while_its_field_is_empty(started: Any) -> None:
    assert "critic says" not in started(CRITICS).observe("coder_0")["prompt"]


def test_a_long_field_gives_way_before_the_statement_does(started: Any) -> None:
    env = started(CRITICS, max_chars=300)
    statement = env.task.statement
    env.step("x" * 300)
    prompt = env.observe("coder_0")["prompt"]
    assert len(prompt) <= 300
    assert statement in prompt
    assert "[...]" in prompt


def test_a_placeholder_of_another_teams_field_is_refused(started: Any) -> None:
    stranger = replace(CODER, prompt="$problem $hint", sees=frozenset())
    with pytest.raises(BadConfig, match=r"of 'coder_0'.*critique.*got '\$hint"):
        started(Team((CRITIC, stranger)))


def test_two_seats_of_one_role_may_have_prompts_of_their_own(started: Any) -> None:
    second = replace(CODER, number=1, prompt="Try in another way: $problem")
    env = started(Team((CRITIC, CODER, second)))
    prompts = [env.observe(agent)["prompt"] for agent in ("coder_0", "coder_1")]
    assert [prompt[:6] for prompt in prompts] == ["Solve:", "Try in"]


# ------------------------------------------------------------------------------- what acts do
def test_an_act_may_write_judge_and_report(started: Any, say: SimpleNamespace) -> None:
    def first_answer(text: str, scene: Scene) -> Outcome:
        submission = Submission(f"def solve(xs):\n    return {text}\n")
        judgement = scene.judge(scene.task, submission.program)
        found = {"note": f"{scene.agent} on {scene.task.id}", "plan": "as judged"}
        return Outcome(
            found,
            submission,
            judgement,
            feedback="Judged. " + scene.report(judgement),
            facts={"length": len(text)},
        )

    env = started(acting(first_answer, writes=("note", "plan")))
    env.step("sum(xs)")
    board, turn = env.state(), env.episode.turns[0]
    assert board["note"] == f"actor_0 on {env.task.id}"
    assert board["plan"] == "as judged"
    assert board["program"] == "def solve(xs):\n    return sum(xs)\n"
    assert board["feedback"] == "Judged. Public tests: 1 of 1 passed."
    assert turn.judgement is not None
    assert turn.judgement.passed
    assert turn.facts == {"length": 7}
    assert env.terminations["coder_0"]


def test_an_act_sees_the_board_and_the_turns_before_its_own(
    started: Any, say: SimpleNamespace
) -> None:
    seen: list[Scene] = []

    def look(text: str, scene: Scene) -> Outcome:
        seen.append(scene)
        return Outcome({"note": text})

    env = started(acting(look))
    for turn in ("one", say.wrong, "two"):
        env.step(turn)
    first, second = seen
    assert first.turns == ()
    assert first.fields["note"] == ""
    assert [turn.action for turn in second.turns] == ["one", say.wrong]
    assert second.fields["note"] == "one"
    assert second.fields["program"] == "def solve(xs):\n    return None\n"
    assert (second.round, second.rounds_left) == (1, 0)


def test_a_text_that_leaves_feedback_alone_keeps_it(
    started: Any, say: SimpleNamespace
) -> None:
    env = started(CRITICS)
    for turn in ("a", say.wrong, "b"):
        env.step(turn)
    assert "0 of 1 passed" in env.observe("coder_0")["feedback"]


@pytest.mark.parametrize(("ends", "over"), [(True, True), (False, False), (None, True)])
def test_an_act_may_end_the_episode_or_hold_it_open(
    ends: bool | None, over: bool, started: Any
) -> None:
    def right(text: str, scene: Scene) -> Outcome:
        program = scene.task.reference_program or ""
        return Outcome({}, Submission(program), scene.judge(scene.task, program), ends=ends)

    env = started(acting(right))
    env.step("go")
    assert env.terminations["coder_0"] is over


def test_what_an_act_writes_is_cut_and_cleaned(started: Any) -> None:
    def shout(text: str, scene: Scene) -> Outcome:
        long = "\ud800" + "x" * (2 * scene.max_chars)
        return Outcome({"note": long}, Submission(long), feedback=long)

    env = started(acting(shout), max_chars=300)
    env.step("go")
    assert env.state_space.contains(env.state())
    assert env.state()["note"] == "\ufffd" + "x" * 299


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome({"secret": "x"}), r"only \['note'\], got \['secret'\]"),
        (Outcome({"program": "x"}), r"only \['note'\], got \['program'\]"),
    ],
)
def test_an_act_that_writes_what_its_role_does_not_is_an_error(
    outcome: Outcome, message: str, started: Any
) -> None:
    env = started(acting(lambda text, scene: outcome))
    before = (env.episode, env.state())
    with pytest.raises(BadConfig, match=message):
        env.step("go")
    assert (env.episode, env.state()) == before


def test_a_judgement_of_another_task_is_an_error(started: Any, say: SimpleNamespace) -> None:
    def elsewhere(text: str, scene: Scene) -> Outcome:
        other = replace(scene.task, id="other")
        return Outcome(judgement=scene.judge(other, "x"))

    with pytest.raises(BadConfig, match="got one of 'other'"):
        started(acting(elsewhere)).step("go")


# ------------------------------------------------------------------------- the sandbox failed
def test_a_sandbox_that_fails_in_an_act_ends_the_episode_without_a_word(
    started: Any, say: SimpleNamespace
) -> None:
    """Also on a derived task, and whatever the act makes of it."""

    def hack(text: str, scene: Scene) -> Outcome:
        probe = replace(scene.task, id="probe", hidden_tests=(), public_tests=(CallTest(()),))
        verdict = scene.judge(probe, "break_the_sandbox").verdict
        return Outcome({"note": f"found {verdict}"}, feedback=f"broke: {verdict}")

    env = started(acting(hack), rewards=[lambda turn, episode: 1.0])
    env.step("go")
    assert all(env.truncations.values())
    assert set(env.rewards.values()) == {0.0}
    assert not env.episode.valid
    judgement = env.episode.turns[0].judgement
    assert judgement is not None
    assert judgement.verdict is Verdict.SE
    assert (env.state()["note"], env.state()["feedback"]) == ("", "")


# ------------------------------------------------------------- forks, prefixes, records, pay
def draw(text: str, scene: Scene) -> Outcome:
    """Write a random number."""
    return Outcome({"note": f"{text} {scene.rng().random()}"})


def test_equal_seeds_and_turns_give_equal_outcomes_in_forks_too(started: Any) -> None:
    def notes(env: TeamEnv) -> str:
        env.step("go")
        return str(env.state()["note"])

    parent = started(acting(draw), seed=5)
    children = fork(parent, 2)
    assert len({notes(env) for env in (parent, *children, started(acting(draw), seed=5))}) == 1
    assert notes(started(acting(draw), seed=6)) != parent.state()["note"]


def test_later_turns_draw_anew(started: Any, say: SimpleNamespace) -> None:
    env = started(acting(draw))
    for turn in ("go", say.wrong, "go"):
        env.step(turn)
    first, second = (turn.written["note"] for turn in env.episode.turns[::2])
    assert first != second


def test_stored_turns_play_again_as_they_did(started: Any, say: SimpleNamespace) -> None:
    whole = started(acting(draw), seed=3)
    for turn in ("one", say.wrong):
        whole.step(turn)
    prefix = [(turn.agent, turn.action) for turn in whole.episode.turns]
    again = started(acting(draw), seed=3)
    again.reset(seed=3, options={"prefix": prefix})
    assert again.episode == whole.episode
    assert again.state() == whole.state()


def test_an_act_and_what_it_holds_is_shared_by_forks(started: Any) -> None:
    env = started(acting(draw))
    child = fork(env, 1)[0]
    assert child.role_of("actor_0").act is env.role_of("actor_0").act


def test_trees_grow_over_acts(tasks: list[Task], executor: Any) -> None:
    def make_env() -> Any:
        return TeamEnv(acting(draw), tasks=tasks, executor=executor, max_cycles=1)

    team = {"actor": lambda observation: "go", "coder": lambda observation: "x"}
    (tree,) = collect(make_env, team, ["sums/1"], samples={"actor": 2, "coder": 3}, seed=1)
    assert [len(group.indices) for group in tree.groups("coder_0")] == [3, 3]
    assert all(node.turn.written for node in tree.nodes if node.turn.agent == "actor_0")


def test_records_hold_what_was_written_and_found(started: Any) -> None:
    env = started(acting(lambda text, scene: Outcome({"note": "n"}, facts={"hits": 2.0})))
    env.step("go")
    (turn,) = env.episode.turns
    assert (turn.written, turn.facts) == ({"note": "n"}, {"hits": 2.0})
    stored = json.loads(json.dumps(env.episode.to_json()))
    assert Episode.from_json(stored).turns == (turn,)


def test_a_text_that_is_its_own_field_is_recorded_once(started: Any) -> None:
    env = started(CRITICS)
    env.step("think")
    assert env.episode.turns[0].written == {}
    assert "written" not in env.episode.to_json()["turns"][0]


def test_a_transcript_shows_what_was_written(started: Any) -> None:
    env = started(
        acting(lambda text, scene: Outcome({"note": "found it"})), render_mode="ansi"
    )
    env.step("where?")
    shown = env.render()
    assert shown.index("where?") < shown.index("note:") < shown.index("found it")


def test_a_term_may_pay_by_facts_and_leave_a_role_out(
    started: Any, say: SimpleNamespace
) -> None:
    def hits(turn: Turn, episode: Episode) -> float | None:
        return turn.facts.get("hits")

    team = acting(lambda text, scene: Outcome(facts={"hits": 2.0}))
    env = started(team, rewards=[Term("hits", hits, weight=0.5, pays=("actor",))])
    for turn in ("go", say.wrong):
        env.step(turn)
    assert env.episode.returns == {"actor_0": 1.0, "coder_0": 0.0}


# ----------------------------------------------------------------------- agents know the role
def test_requests_say_what_the_answer_is_taken_for(started: Any, say: SimpleNamespace) -> None:
    env = started(CRITICS)
    assert [env.request(agent).acts for agent in env.agents] == ["text", "program"]


def reference_of(task: Task) -> str | None:
    program = task.reference_program
    return None if program is None else f"Call it.\n```python\n{program}```\nDone."


KNOWING = Team((replace(CRITIC, reference=lambda task: f"critique of {task.id}"), CODER))


def test_the_reference_agent_says_what_the_role_holds_for_right(started: Any) -> None:
    env = started(KNOWING)
    team = {"critic": ReferenceAgent(), "coder": ReferenceAgent()}
    turns = play(env, team, seed=0).turns
    assert turns[0].action == f"critique of {env.task.id}"
    assert turns[1].judgement is not None
    assert turns[1].judgement.passed


def test_without_a_reference_of_its_own_a_text_is_the_plan(
    started: Any, say: SimpleNamespace
) -> None:
    env = started(CRITICS)
    assert ReferenceAgent().act([env.request("critic_0")]) == [env.task.reference_plan]


def test_a_faulty_agent_spoils_programs_in_answers_of_any_form_and_no_notes(
    started: Any,
) -> None:
    coder = replace(CODER, reference=reference_of)
    env = started(Team((replace(CRITIC, reference=reference_of), coder)))
    requests = [env.request("critic_0"), env.request("coder_0")]
    right = ReferenceAgent().act(requests)
    spoilt = FaultyAgent("wrong_name").act(requests)
    assert right[0] == right[1] == spoilt[0]
    assert spoilt[1] == right[1].replace("solve", "solve_")


def test_a_role_whose_reference_knows_nothing_is_told_so(
    executor: Any, say: SimpleNamespace
) -> None:
    team = Team((replace(CRITIC, reference=lambda task: None), CODER))
    env = TeamEnv(team, tasks=[say.task()], executor=executor)
    env.reset(seed=0)
    with pytest.raises(BadConfig, match="as critic must know what to say"):
        ReferenceAgent().act([env.request("critic_0")])
    with pytest.raises(EpisodeError, match="pass partners="):
        SeatEnv(env, "coder_0").reset(seed=0)


def test_the_default_partner_of_a_seat_plays_notes_too(
    executor: Any, say: SimpleNamespace
) -> None:
    for team, critique in ((KNOWING, "critique of"), (CRITICS, "No critique was written")):
        seat = SeatEnv(TeamEnv(team, tasks=[say.task()], executor=executor), "coder_0")
        observation, _ = seat.reset(seed=0)
        assert observation["critique"].startswith(critique)
