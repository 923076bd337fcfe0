"""Collect: many agents' answers to many tasks, as trees.

    make_env, agents, tasks  ->  Tree, Tree, ...

Trees are played in cohorts. Within a cohort everybody who waits for an agent is asked in
one batch, and a batch is made only when nobody of the cohort could still join it: what is
asked together depends on the tasks alone, never on a clock, so that a run on the CPU can be
repeated bit for bit. Two cohorts take turns, so that the programs of one are judged while
the agents answer the other. An agent with a coroutine `aact` (a server on the network) is
asked one request at a time instead, as many at once as are in flight.
"""

from __future__ import annotations

import asyncio
import math
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from pettingzoo.utils.env import AECEnv

from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Agent, Reply, Request
from corecode_env.core.seeding import derive_seed
from corecode_env.core.task import Task
from corecode_env.core.tree import Tree
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.forking import fork
from corecode_env.rollout.branching import Growth, Path, Seat, check_samples
from corecode_env.rollout.play import Players, ask, cast_players, checked_replies

Environment = AECEnv[str, Any, Any]
COHORTS_AT_ONCE: Final = 2
_JUDGES: Final = min(32, 2 * (os.cpu_count() or 1) + 4)


def collect(
    make_env: Callable[[], Environment],
    agents: Players,
    tasks: Iterable[str | Task],
    *,
    samples: Mapping[str, int],
    seed: int,
    max_in_flight: int = 64,
    prefixes: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    indices: Iterable[int] | None = None,
) -> Iterator[Tree]:
    """Play every task and yield its tree as soon as it is finished.

    Args:
        make_env: Makes the environment; called once, forked for every episode, and closed
            at the end.
        agents: Who plays, by agent or role.
        tasks: Ids or tasks; read as they are needed. One that stands twice is played twice.
        samples: Answers per question, by agent or role: `{"planner": 5, "coder": 2}` gives
            five plans and two programs for each. They branch on an agent's first turn.
        seed: Seed of everything. An answer's seed derives from it, the place of the task
            and the path in the tree, and not from what else is in flight.
        max_in_flight: Episodes that are under way at one time, at most (a single wide tree
            may exceed it).
        prefixes: Stored turns to start from, by task id, such as plans made earlier.
        indices: Place of each task in a longer list of which these are a part, so that what
            an interrupted run left out gets the seeds it would have had; None: 0, 1, 2, ...

    Yields:
        Trees in the order in which they finish; `Tree.index` is the place of their task.

    Raises:
        BadConfig: If an argument cannot work.
        Exception: What an agent, a reward or the executor raised, after every tree that was
            finished by then has been yielded.
    """
    if isinstance(max_in_flight, bool) or max_in_flight < 1:
        raise BadConfig(f"max_in_flight must be at least 1, got {max_in_flight!r}")
    env = make_env()
    if not isinstance(env, AECEnv) or not isinstance(env.unwrapped, TeamEnv):
        raise BadConfig(
            f"make_env must make an AEC environment of this package, got "
            f"{type(env).__name__}; return planner_coder_v0.env(...)"
        )
    try:
        names = env.possible_agents
        players = cast_players(names, agents)
        wanted = check_samples(samples, names)
        env.reset(seed=derive_seed(seed, "collect"))  # what is not reset cannot be forked
    except BaseException:
        env.close()  # type: ignore[no-untyped-call]
        raise
    collection = _Collection(env, players, wanted, seed, max_in_flight, dict(prefixes or {}))
    numbered = enumerate(tasks) if indices is None else zip(indices, tasks, strict=True)
    return collection.run(iter(numbered))


@dataclass(slots=True)
class _Waiting:
    """Somebody who waits for an agent's answer."""

    place: tuple[int, Path]
    agent: Agent
    request: Request
    answer: asyncio.Future[Reply]


class _Cohort:
    """Trees whose questions are asked together.

    `busy` counts the seats that could still ask something before the next batch.
    """

    def __init__(self, collection: _Collection) -> None:
        self.collection = collection
        self.busy = 0
        self.waiting: list[_Waiting] = []
        self.asking: set[asyncio.Task[None]] = set()

    def leave(self) -> None:
        """Note that a seat will ask nothing more, or not before the next batch."""
        self.busy -= 1
        if self.busy == 0 and self.waiting:
            batch = sorted(self.waiting, key=lambda waiting: waiting.place)
            self.waiting = []
            asking = asyncio.create_task(self._ask_all(batch))
            self.asking.add(asking)
            asking.add_done_callback(self.asking.discard)

    async def ask(self, place: tuple[int, Path], agent: Agent, request: Request) -> Reply:
        """Wait for an answer."""
        aact = getattr(agent, "aact", None)
        if aact is not None:
            return checked_replies(await aact([request]), [request])[0]
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.waiting.append(_Waiting(place, agent, request, answer))
        self.leave()
        return await answer

    async def _ask_all(self, batch: list[_Waiting]) -> None:
        by_agent: dict[int, list[_Waiting]] = {}
        for waiting in batch:
            by_agent.setdefault(id(waiting.agent), []).append(waiting)
        groups = list(by_agent.values())
        asked = [
            self.collection.ask(group[0].agent, [w.request for w in group]) for group in groups
        ]
        results = await asyncio.gather(*asked, return_exceptions=True)
        # Counted before anybody goes on, so that the first cannot start a batch of its own.
        self.busy += len(batch)
        for group, result in zip(groups, results, strict=True):
            for place, waiting in enumerate(group):
                if waiting.answer.done():
                    continue
                if isinstance(result, BaseException):
                    waiting.answer.set_exception(result)
                else:
                    waiting.answer.set_result(result[place])


@dataclass
class _Collection:
    """One call of `collect`: a thread with an event loop plays, the caller reads trees."""

    env: Environment
    players: dict[str, Agent]
    samples: dict[str, int]
    seed: int
    max_in_flight: int
    prefixes: dict[str, Sequence[tuple[str, str]]]
    finished: queue.Queue[Tree | None] = field(default_factory=queue.Queue)
    error: BaseException | None = None
    stopped: bool = False

    def run(self, tasks: Iterator[tuple[int, str | Task]]) -> Iterator[Tree]:
        """Yield trees until all are finished, or something failed."""
        player = threading.Thread(
            target=self._play_in_thread, args=(tasks,), name="corecode-collect", daemon=True
        )
        player.start()
        try:
            while (tree := self.finished.get()) is not None:
                yield tree
            if self.error is not None:
                raise self.error
        finally:
            self.stopped = True
            player.join()
            self.env.close()  # type: ignore[no-untyped-call]

    def _play_in_thread(self, tasks: Iterator[tuple[int, str | Task]]) -> None:
        try:
            asyncio.run(self._play(tasks))
        except BaseException as error:
            self.error = _first_cause(error)
        finally:
            self.finished.put(None)

    async def _play(self, tasks: Iterator[tuple[int, str | Task]]) -> None:
        distinct = {id(agent): agent for agent in self.players.values()}
        with ThreadPoolExecutor(_JUDGES, "corecode-judge") as self.judges:
            # One thread an agent: its calls come one after the other.
            self.threads = {key: ThreadPoolExecutor(1, "corecode-agent") for key in distinct}
            try:
                size, at_once = self._cohorts()
                async with asyncio.TaskGroup() as group:
                    for _ in range(at_once):
                        group.create_task(self._play_cohorts(tasks, size))
            finally:
                for thread in self.threads.values():
                    thread.shutdown()

    def _cohorts(self) -> tuple[int, int]:
        """Return how many trees make a cohort, and how many cohorts play at once."""
        episodes = math.prod(self.samples.values())
        if all(hasattr(agent, "aact") for agent in self.players.values()):
            return 1, max(1, self.max_in_flight // episodes)
        return max(1, self.max_in_flight // (COHORTS_AT_ONCE * episodes)), COHORTS_AT_ONCE

    async def _play_cohorts(self, tasks: Iterator[tuple[int, str | Task]], size: int) -> None:
        while not self.stopped and self.error is None:
            some = list(islice(tasks, size))
            if not some:
                return
            try:
                await self._play_cohort(some)
            except Exception as error:
                # The other cohort goes on to its end: what it finishes is not lost.
                self.error = self.error or _first_cause(error)

    async def _play_cohort(self, tasks: Sequence[tuple[int, str | Task]]) -> None:
        cohort = _Cohort(self)
        cohort.busy = len(tasks)
        async with asyncio.TaskGroup() as group:
            for index, task in tasks:
                seed = derive_seed(self.seed, "tree", index)
                group.create_task(self._grow(cohort, Growth(task, index, seed)))

    async def _grow(self, cohort: _Cohort, growth: Growth) -> None:
        (env,) = fork(self.env, 1)
        task_id = growth.task if isinstance(growth.task, str) else growth.task.id
        prefix = list(self.prefixes.get(task_id, ()))
        options: dict[str, Any] = {"task": growth.task}
        if prefix:
            options["prefix"] = prefix
        await self._in_judge(lambda: env.reset(seed=growth.seed, options=options))
        seat = Seat(env)
        for turn in seat.engine.episode.turns:
            seat.path = (*seat.path, 0)
            growth.turns[seat.path] = turn
        await self._branch(cohort, growth, seat)
        self.finished.put(growth.tree(seat.engine.episode))

    async def _branch(self, cohort: _Cohort, growth: Growth, seat: Seat) -> None:
        """Play on from a seat, whose place in `cohort.busy` this takes over."""
        if not seat.live or self.stopped:
            cohort.leave()
            return
        seats = seat.branch(self.samples)
        cohort.busy += len(seats) - 1
        async with asyncio.TaskGroup() as group:
            for branch in seats:
                group.create_task(self._turn(cohort, growth, branch))

    async def _turn(self, cohort: _Cohort, growth: Growth, seat: Seat) -> None:
        request = seat.request(growth.seed)
        agent = self.players[request.agent]
        reply = await cohort.ask((growth.index, seat.path), agent, request)
        growth.turns[seat.path] = await self._in_judge(lambda: seat.step(reply))
        await self._branch(cohort, growth, seat)

    async def ask(self, agent: Agent, requests: list[Request]) -> list[Reply]:
        """Ask an agent in its own thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads[id(agent)], ask, agent, requests)

    async def _in_judge(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.judges, work)


def _first_cause(error: BaseException) -> BaseException:
    """Return what went wrong first, out of the groups that the loop wraps it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
