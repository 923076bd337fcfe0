"""# Tree Search.

Several Coders search for one program together. Every program that is tried becomes a node
of a tree, with its public score; a Coder chooses a node to go on from, or starts anew. The
team's answer is the node of the best public score. This is the search of MARS²
(arXiv:2604.14564), with the choice left to whoever acts: a policy that writes it down, or a
search algorithm.

| | |
|---|---|
| Creation | `pettingzoo.make("aec", "corecode/tree_search-v0")` |
| Seat view | `gymnasium.make("corecode/TreeSearch-v0", seat="coder_0")` |
| Agents | `coder_0` to `coder_{coders-1}` |
| Actions | text |
| Parallel API | yes: only the active agent's action counts |
| Manual control | `corecode play --env tree_search_v0 --coder human --rounds 4` |
| Action shape | `UnicodeText(max_chars)` |
| Observation shape | `Dict` of seven texts and two numbers |
| Render modes | `ansi`, `human` |

### Observation space

As in `planner_coder_v0`, where `plan` and `program` stay empty, and

| field | holds |
|---|---|
| `tree` | a line a node; then the best ones whole, within half of `max_chars` |
| `feedback` | what became of the last answer |

A node shown whole is its plan, its program and what the public tests said of it. With
`feedback="none"` the tree shows programs and where they come from, and no scores.

### Action space

Any text. Its first line that is not blank says which node it goes on from:

| first line | meaning |
|---|---|
| `node: new` | start anew |
| `node: 3` | go on from node 3; nodes count from 0, in the order in which they were made |
| `node: pass` | leave this turn to the others |

Then come the plan, which may be empty, and the program: the last block fenced as Python,
without one the last unmarked block, without any all that follows. A text with another first
line makes no node: `feedback` says what was expected, and the turn is gone. The prompt does
not tell of `pass`; it is there for search algorithms that decide who speaks.

### Turns

The Coders act one after the other. The episode ends with a program that meets the rule
`stop` (with `early_stop=True`), when the tree has `max_cycles` nodes, or after `max_cycles`
rounds, whichever comes first: unless many pass or err in form, `max_cycles` is the budget
of nodes.

### Rewards

`rewards.mars2` by default: 1 for a node whose program passes every test, paid to its author
alone; else 0. The paper shapes and normalises rewards over the whole tree; that needs the
finished tree and is an algorithm's business.

### For search algorithms

`env.unwrapped.tree` is the tree so far: `parents`, `agents`, `scores` (public) and `rewards`
(raw, as paid), one of each per node, and `best`, the answer; `episode.judgement` is the
answer's. `search_tree(episode.turns)`, of
`corecode_env.environments.search_tree`, reads the same off a record.

`env.unwrapped.request_at(agent, node)` asks an agent for a program in the paper's way: the
problem alone for a new one, the problem with the node's program and its public tests to go on
from a node. The answer is then played under the line `node: N`.
`reset(options={"prefix": [(turn.agent, turn.action) for turn in episode.turns]})` restores
all nodes, and `corecode_env.fork` copies them.

### Arguments

As in `planner_coder_v0`, without `coder_sees`, and with

| argument | default | meaning |
|---|---|---|
| `coders` | 2 | how many Coders |
| `early_stop` | True | end with a program that meets `stop`; False: grow the whole tree |
| `max_cycles` | 8 | budget of nodes, and most rounds |

### Baseline scores

A tree of at most 8 nodes, default rewards, 100 seeded episodes a row
(`benchmarks/baseline_scores.py`).

| tasks | agents | `coder_0` | `coder_1` | solved |
|---|---|---|---|---|
| `pipelines/1`, `pipelines/4` | `reference` | 1.00 | 0.00 | 100 % |
| `pipelines/1`, `pipelines/4` | `coder_0=faulty:off_by_one` | 0.00 | 1.00 | 100 % |
| `pipelines/1`, `pipelines/4` | `faulty:off_by_one` | 0.00 | 0.00 | 0 % |
| `pipelines/1`, `pipelines/4` | `faulty:wrong_name` | 0.00 | 0.00 | 0 % |
| `pipelines/1`, `pipelines/4` | `random` | 0.00 | 0.00 | 0 % |

The reference starts anew and is right at once, so the other Coder has no turn.

### Versions

* v0: first release (0.1.0)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Unpack

from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from corecode_env.core.episode import ANSWER
from corecode_env.core.messages import extract_program, fenced
from corecode_env.core.registry import unknown_name
from corecode_env.core.seams import Request
from corecode_env.core.task import Task
from corecode_env.environments import solo_coder_v0
from corecode_env.environments.acts import Outcome, Scene
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.options import RENDER_MODES, TeamOptions, one_of, whole_number
from corecode_env.environments.search_tree import (
    NEW,
    NO_PARENT,
    NODE,
    PARENT,
    SCORE,
    Choice,
    SearchNode,
    SearchTree,
    plan_of,
    public_score,
    read_choice,
    search_tree,
    summary,
)
from corecode_env.environments.team import Role, Team
from corecode_env.environments.templates import Prompts
from corecode_env.environments.turn_parallel import TurnParallelEnv
from corecode_env.environments.views import Board, view_of
from corecode_env.rewards import mars2

__all__ = ["env", "parallel_env", "raw_env"]

CODERS: Final = 2
NODES: Final = 8
"""Nodes of a tree while MARS² trains, by the authors' scripts."""


@dataclass(frozen=True, slots=True)
class Expand:
    """The program in the text becomes a node of the tree.

    Attributes:
        early_stop: Whether a program that meets the rule `stop` ends the episode.
    """

    early_stop: bool = True

    def apply(self, text: str, scene: Scene) -> Outcome:
        """Read the first line, judge the program, draw the tree anew."""
        tree = search_tree(scene.turns)
        choice = read_choice(text, len(tree.nodes))
        if isinstance(choice, str):
            news = f"The last answer, by {scene.agent}, was not taken. {choice}"
            return Outcome(feedback=news)
        if choice.passes:
            return Outcome(feedback=f"{scene.agent} passed.")
        return self._grow(tree, choice, text, scene)

    def _grow(self, tree: SearchTree, choice: Choice, text: str, scene: Scene) -> Outcome:
        submission = extract_program(choice.rest)
        judgement = scene.judge(scene.task, submission.program)
        if not judgement.valid:
            return Outcome(submission=submission, judgement=judgement)
        number = len(tree.nodes)
        scored = scene.task.kind == "optimize"
        score = public_score(judgement, scored=scored)
        node = SearchNode(
            number=number,
            parent=choice.parent,
            agent=scene.agent,
            plan=plan_of(text),
            program=submission.program,
            score=score,
            reward=0.0,  # what it pays is known after the turn; nobody is shown it
            turn=len(scene.turns),
            judgement=judgement,
        )
        grown = SearchTree((*tree.nodes, node))
        budget = scene.round + scene.rounds_left + 1
        full = len(grown.nodes) == budget
        seen = summary(
            grown,
            budget=budget,
            scored=scored,
            report=scene.report,
            max_chars=scene.max_chars // 2,
        )
        news = scene.report(judgement).partition("\n")[0]
        assert grown.best is not None, "it has a node"
        facts = {
            ANSWER: float(grown.best.turn),
            NODE: float(number),
            PARENT: NO_PARENT if choice.parent is None else float(choice.parent),
        }
        return Outcome(
            fields={"tree": seen},
            submission=submission,
            judgement=judgement,
            feedback=f"{scene.agent} added node {number}. {news}".rstrip(),
            ends=None if self.early_stop and not full else full,
            facts=facts if score is None else {**facts, SCORE: score},
        )


def start_anew(task: Task) -> str | None:
    """Return what a perfect Coder says: a new node with the reference program."""
    if task.reference_program is None:
        return None
    parts = (f"node: {NEW}", task.reference_plan or "", fenced(task.reference_program))
    return "\n".join(part for part in parts if part)


def team_of(coders: int, *, early_stop: bool) -> Team:
    """Return the team of a number of Coders."""
    expand = Expand(early_stop)
    return Team(
        tuple(
            Role(
                "coder",
                acts="program",
                sees=frozenset({"tree", "feedback"}),
                template="tree_search",
                number=number,
                writes="tree",
                act=expand,
                reference=start_anew,
            )
            for number in range(coders)
        )
    )


class raw_env(TeamEnv):
    """The environment without wrappers; the module says all about it."""

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "tree_search_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        # A Coder sees the nodes of those before it.
        "is_parallelizable": False,
    }

    def __init__(
        self, *, coders: int = CODERS, early_stop: bool = True, **options: Unpack[TeamOptions]
    ) -> None:
        """Make the environment.

        Args:
            coders: How many Coders.
            early_stop: Whether a program that meets the rule `stop` ends the episode.
            **options: See `TeamOptions`.

        Raises:
            BadConfig: If an argument cannot work.
        """
        self.coders = whole_number("coders", coders, 1)
        self.early_stop = bool(one_of("early_stop", early_stop, (True, False)))
        team = team_of(self.coders, early_stop=self.early_stop)
        options.setdefault("max_cycles", NODES)
        if options.get("rewards") is None:
            options["rewards"] = mars2(team.agents)
        super().__init__(team, **options)
        self._solo_prompts = Prompts(solo_coder_v0.TEAM)

    @property
    def tree(self) -> SearchTree:
        """The tree so far.

        Raises:
            EpisodeError: Before the first reset.
        """
        return search_tree(self.episode.turns)

    def request_at(self, agent: str, node: int | None) -> Request:
        """Return a request for a program that goes on from a node.

        The prompt is that of `solo_coder_v0`: the problem and, where there is a node, its
        program and what its public tests said. Play the answer under `node: N`.

        Args:
            agent: Who is asked.
            node: Number of the node; None: start anew.

        Raises:
            UnknownName: If there is no such agent or node.
            EpisodeError: Before the first reset.
        """
        nodes = self.tree.nodes
        if agent not in self.possible_agents:
            raise unknown_name("an agent of this team", agent, self.possible_agents)
        if node is not None and node not in range(len(nodes)):
            raise unknown_name("a node of the tree", node, [str(n.number) for n in nodes])
        texts = dict.fromkeys(self._board.texts, "")
        if node is not None:
            texts["program"] = nodes[node].program
            texts["feedback"] = self._feedback_on(nodes[node].judgement)
        view = view_of(
            solo_coder_v0.TEAM.roles[0],
            self._brief,
            Board(self.max_cycles, texts, self._board.round),
            self._solo_prompts.of("coder_0", self.task.kind),
            self.max_chars,
        )
        prompt = {"role": "user", "content": view["prompt"]}
        return replace(
            self.request(agent), observation=view, messages=(prompt,), reference=None
        )


def env(
    *, coders: int = CODERS, early_stop: bool = True, **options: Unpack[TeamOptions]
) -> OrderEnforcingWrapper[str, dict[str, Any], str | None]:
    """Make the environment for PettingZoo's AEC interface.

    Args:
        coders: How many Coders.
        early_stop: Whether a program that meets the rule `stop` ends the episode.
        **options: See `TeamOptions`.
    """
    return OrderEnforcingWrapper(raw_env(coders=coders, early_stop=early_stop, **options))


def parallel_env(
    *, coders: int = CODERS, early_stop: bool = True, **options: Unpack[TeamOptions]
) -> TurnParallelEnv:
    """Make the environment for PettingZoo's parallel interface: one turn a step.

    Args:
        coders: How many Coders.
        early_stop: Whether a program that meets the rule `stop` ends the episode.
        **options: See `TeamOptions`.
    """
    return TurnParallelEnv(env(coders=coders, early_stop=early_stop, **options))
