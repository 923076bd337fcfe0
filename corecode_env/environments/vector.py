"""Vector: many environments at once, stepped in threads over one executor.

    (action, ...)  ->  ThreadVectorEnv  ->  SeatEnv, ...  ->  one executor

To judge a program is to wait for the sandbox. So a few threads keep it busy, and one executor
serves all environments: no process for each, no second pool of warm processes, no copy of
what agents read. The threads end with the call that started them: between calls nothing
runs, so that a trainer may fork or end as it likes.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from gymnasium import Env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from corecode_env.core.calling import as_agent
from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.seams import Agent, Executor, Reply, Request
from corecode_env.environments.judge_service import local_executor
from corecode_env.environments.options import one_of, whole_number
from corecode_env.environments.seat_env import Partner, make_seat
from corecode_env.environments.task_source import as_task_set

T = TypeVar("T")
Mode = Literal["threads", "processes"]
MODES: Final = ("threads", "processes")
Observations = Any
"""A batch as Gymnasium makes it: a Dict of arrays, and for a text a tuple of texts."""
Stepped = tuple[
    Observations,
    NDArray[np.float64],
    NDArray[np.bool_],
    NDArray[np.bool_],
    dict[str, Any],
]
"""Observations, rewards, terminations, truncations, infos, with an entry an environment."""

_SPARE_THREADS: Final = 2
"""Threads that read and write texts while the others wait for the sandbox."""


class _Seen(NamedTuple):
    """What one environment answered to a step or reset."""

    observation: Any
    infos: tuple[dict[str, Any], ...]
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False


class ThreadVectorEnv(SyncVectorEnv[Any, Any]):
    """Environments of one process, stepped side by side in threads.

    Behaves as Gymnasium's `SyncVectorEnv`, whose results it gives in whatever order the
    threads run: seeds, infos, the three modes of autoreset, `options["reset_mask"]`. If an
    environment raises, the others finish their step, and the error is raised with a note
    that names the environment; the next call must then be `reset`.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env[Any, Any]]],
        *,
        threads: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        owned: Executor | None = None,
    ) -> None:
        """Make the environments.

        Args:
            env_fns: Make one environment each, all of the same spaces.
            threads: Most environments that are stepped at once; None: two more than the
                workers of `owned`, or than this process has cores.
            autoreset_mode: `NextStep`, `SameStep` or `Disabled`.
            owned: An executor that is closed with the environments.

        Raises:
            BadConfig: If an argument cannot work.
        """
        if not env_fns:
            raise BadConfig("env_fns must make at least one environment, got none")
        if threads is None:
            workers = getattr(owned, "workers", None) or len(os.sched_getaffinity(0))
            threads = workers + _SPARE_THREADS
        self.threads = whole_number("threads", threads, 1)
        self._owned = owned
        super().__init__(env_fns, autoreset_mode=_autoreset(autoreset_mode))
        self._latest: list[Any] = [None] * self.num_envs
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        self._ready = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Start an episode in every environment.

        Args:
            seed: Environment i gets `seed + i`, or entry i of a list.
            options: What the environments' own `reset` takes; and `reset_mask`, shape
                (environments,) of bool: start only these, and leave the others as they are.

        Raises:
            BadConfig: If seeds or mask have another length or type.
        """
        seeds = self._seeds(seed)
        given = dict(options or {})
        mask = given.pop("reset_mask", None)
        chosen = self._masked(mask)
        if mask is not None and not self._ready:
            raise EpisodeError(
                "all environments must be reset before some of them are, got a reset_mask at "
                "the first reset or after an error; call reset()"
            )

        def start(number: int) -> _Seen:
            env_options = given if options is not None else None
            observation, info = self.envs[number].reset(
                seed=seeds[number], options=env_options
            )
            return _Seen(observation, (info,))

        observations, *_, infos = self._collected(self._each(start, chosen))
        return observations, infos

    def step(self, actions: Any) -> Stepped:
        """Step every environment.

        Args:
            actions: One for each environment, in order; for texts a tuple or list of them.

        Raises:
            BadConfig: If there is not one action for each environment.
            EpisodeError: If there was no reset, or an episode is over and nobody reset it
                (`Disabled`).
        """
        if not self._ready:
            raise EpisodeError(
                "step must follow reset, got a step before the first reset or after an "
                "error; call reset()"
            )
        if self.autoreset_mode == AutoresetMode.DISABLED and self._over.any():
            raise EpisodeError(
                "step must find all episodes open where autoreset is disabled, got "
                f"environments {np.flatnonzero(self._over).tolist()} that are over; call "
                "reset(options={'reset_mask': terminations | truncations})"
            )
        each = self._actions(actions)
        seen = self._each(lambda number: self._step_one(number, each[number]), None)
        return self._collected(seen)

    def _step_one(self, number: int, action: Any) -> _Seen:
        env = self.envs[number]
        if self._over[number] and self.autoreset_mode == AutoresetMode.NEXT_STEP:
            observation, info = env.reset()
            return _Seen(observation, (info,))
        observation, reward, terminated, truncated, info = env.step(action)
        infos: tuple[dict[str, Any], ...] = (info,)
        if (terminated or truncated) and self.autoreset_mode == AutoresetMode.SAME_STEP:
            final = {"final_obs": observation, "final_info": info}
            observation, info = env.reset()
            infos = final, info
        return _Seen(observation, infos, float(reward), terminated, truncated)

    def _each(self, work: Callable[[int], T], chosen: Iterable[int] | None) -> dict[int, T]:
        """Do something for each environment, several at once."""
        numbers = list(range(self.num_envs) if chosen is None else chosen)
        results: dict[int, T] = {}
        errors: dict[int, BaseException] = {}
        waiting, lock = iter(numbers), threading.Lock()

        def run() -> None:
            while True:
                with lock:
                    number = next(waiting, None)
                if number is None:
                    return
                try:
                    results[number] = work(number)
                except BaseException as error:
                    errors[number] = error
                    if not isinstance(error, Exception):
                        return  # an interrupt: leave the rest

        self._ready = False
        helpers = [
            threading.Thread(target=run, name=f"environments-{number}", daemon=True)
            for number in range(min(self.threads, len(numbers)) - 1)
        ]
        for helper in helpers:
            helper.start()
        run()
        for helper in helpers:
            helper.join()
        if errors:
            raise self._told(errors)
        self._ready = True
        return results

    def _told(self, errors: Mapping[int, BaseException]) -> BaseException:
        """Return the first error, with a note that says where it and others were raised."""
        first = min(errors)
        note = f"raised in environment {first} of {self.num_envs} (numbered from 0)"
        if others := sorted(errors.keys() - {first}):
            note += f"; environments {others} raised too"
        errors[first].add_note(note)
        return errors[first]

    def _collected(self, seen: Mapping[int, _Seen]) -> Stepped:
        """Batch what environments answered; those that were not asked stay as they were."""
        count = self.num_envs
        rewards = np.zeros(count, dtype=np.float64)
        terminations = np.zeros(count, dtype=np.bool_)
        truncations = np.zeros(count, dtype=np.bool_)
        infos: dict[str, Any] = {}
        for number in sorted(seen):
            one = seen[number]
            self._latest[number] = one.observation
            rewards[number] = one.reward
            terminations[number], truncations[number] = one.terminated, one.truncated
            self._over[number] = one.terminated or one.truncated
            for info in one.infos:
                infos = self._add_info(infos, info, number)
        space = self.single_observation_space
        empty: Any = create_empty_array(space, n=count, fn=np.zeros)
        observations = concatenate(space, self._latest, empty)
        return observations, rewards, terminations, truncations, infos

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, Sequence):
            seeds = list(seed)
        else:
            try:
                seeds = [operator.index(seed) + number for number in range(self.num_envs)]
            except TypeError:
                seeds = []
        if len(seeds) != self.num_envs:
            raise BadConfig(
                f"seed must be a whole number or a list of {self.num_envs}, got {seed!r}"
            )
        return seeds

    def _masked(self, mask: Any) -> list[int] | None:
        """Return which environments a mask names; None: all."""
        if mask is None:
            return None
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_ or not array.any():
            raise BadConfig(
                f"the option reset_mask must be {self.num_envs} booleans, one of them true, "
                f"got {mask!r}"
            )
        return [int(number) for number in np.flatnonzero(array)]

    def _actions(self, actions: Any) -> list[Any]:
        each = [] if isinstance(actions, str) else list(iterate(self.action_space, actions))
        if len(each) != self.num_envs:
            raise BadConfig(
                f"actions must be one for each of {self.num_envs} environments, got "
                f"{actions!r:.200}"
            )
        return each

    def close_extras(self, **options: Any) -> None:
        """Close the environments, and the executor if it came with them."""
        super().close_extras(**options)
        if self._owned is not None:
            self._owned.close()


class OneAtATime:
    """An agent that many threads may ask: it answers one after the other."""

    def __init__(self, agent: Agent) -> None:
        """Take the agent."""
        self.agent = agent
        self._lock = threading.Lock()

    def act(self, requests: Sequence[Request]) -> Sequence[str | Reply]:
        """Answer when nobody else is being answered."""
        with self._lock:
            return self.agent.act(requests)


def make_vector(
    env_id: str,
    num_envs: int = 1,
    *,
    mode: Mode = "threads",
    seat: str | None = None,
    partners: Mapping[str, Partner] | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    **options: Any,
) -> VectorEnv[Any, Any, Any]:
    """Make many seats of one environment, as one Gymnasium vector environment.

    Args:
        env_id: Id of the environment, such as `planner_coder_v0`.
        num_envs: How many.
        mode: `threads`: in this process, over one executor; `processes`: each in a worker
            process of its own, with an executor of its own (Gymnasium's `AsyncVectorEnv`).
        seat: The agent that is played from outside.
        partners: Who plays the others. In `threads` they are shared and asked one request
            at a time; in `processes` each worker has a copy.
        executor: Who judges, in `threads`; None: a `LocalExecutor`, closed with the result.
        threads: Most environments that are stepped at once, in `threads`; None: two more
            than the executor has workers.
        autoreset_mode: `NextStep`, `SameStep` or `Disabled`.
        **options: Arguments of the environment.

    Raises:
        BadConfig: If an argument cannot work.
    """
    num_envs = whole_number("num_envs", num_envs, 1)
    one_of("mode", mode, MODES)
    if isinstance(options.get("tasks"), str | Path):
        options["tasks"] = as_task_set(options["tasks"])  # read once, not once for each
    if mode == "processes":
        if executor is not None or threads is not None:
            raise BadConfig(
                "executor and threads must be left out where mode is 'processes', got one: "
                "each process judges with an executor of its own; use mode='threads'"
            )
        make_one = partial(make_seat, env_id, seat, partners, **options)
        return AsyncVectorEnv([make_one] * num_envs, autoreset_mode=_autoreset(autoreset_mode))
    owned = local_executor() if executor is None else None
    shared = {agent: OneAtATime(as_agent(who)) for agent, who in (partners or {}).items()}
    make_one = partial(make_seat, env_id, seat, shared, executor=executor or owned, **options)
    if threads is None and executor is not None:
        threads = getattr(executor, "workers", num_envs) + _SPARE_THREADS
    return ThreadVectorEnv(
        [make_one] * num_envs, threads=threads, autoreset_mode=autoreset_mode, owned=owned
    )


def _autoreset(mode: str | AutoresetMode) -> AutoresetMode:
    """Return the mode of autoreset that a name stands for."""
    if isinstance(mode, AutoresetMode):
        return mode
    return AutoresetMode(
        one_of("autoreset_mode", mode, [each.value for each in AutoresetMode])
    )
