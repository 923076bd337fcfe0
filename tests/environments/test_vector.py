"""What vector environments promise: many seats give what each would give alone.

In threads over one executor, in Gymnasium's own loop and in its worker processes: the same
texts, rewards and infos; episodes that end and begin as the mode of autoreset says; loud
errors that name the environment; nothing left behind.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

import corecode_env
from corecode_env.core.errors import BadConfig, EpisodeError, UnknownName
from corecode_env.core.task import Task
from corecode_env.environments import ThreadVectorEnv, make_vector
from corecode_env.environments.seat_env import make_seat
from corecode_env.executor import LocalExecutor
from corecode_env.executor.testing import InstantExecutor

SOLO = "corecode/SoloCoder-v0"
MODES = [None, "sync", "async"]
texts = st.text(
    st.characters() | st.sampled_from("\ud800\udfff\0\r\u2028\u202e\ufeff\U0010ffff😀"),
    max_size=30,
)


def processes() -> set[int]:
    """Return this process's children and theirs, by their numbers."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if fields[0] != "Z":
            parents[int(stat.parent.name)] = int(fields[1])
    found, grown = {os.getpid()}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found}
        grown = not more <= found
        found |= more
    return found - {os.getpid()}


def same(one: Any, other: Any) -> bool:
    """Return whether two nests of dicts, arrays and tuples hold the same."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        pairs = zip(one.ravel(), other.ravel(), strict=True)
        return one.shape == other.shape and all(same(*pair) for pair in pairs)
    return bool(one == other)


# --------------------------------------------------------------------- the same everywhere
def test_every_way_gives_the_same_texts_rewards_and_infos(tasks: list[Task]) -> None:
    """Four steps of odd texts in the real sandbox, over the ends of episodes."""
    said = [
        ("é漢😀\0\r\n", "def solve(xs):\n    return sum(xs)", "\ud800 lone", "", "print(1)"),
        ("def solve(xs):\n    return '😀'", "", "\u202eabc\ufeff", "x" * 250, "\ud83d\ude00"),
    ]
    traces = []
    for mode in MODES:
        envs = gymnasium.make_vec(
            SOLO,
            5,
            vectorization_mode=mode,
            tasks=tasks,
            split="all",
            max_cycles=2,
            max_chars=200,
        )
        trace: list[Any] = [envs.reset(seed=11)]
        trace += [envs.step(actions) for actions in (*said, *said)]
        envs.close()
        traces.append(trace)
    assert traces[0][1][0]["program"][0] == "é漢😀\0\n"
    assert traces[0][1][1].tolist() == pytest.approx([0.0, 1.3, 0.0, 0.0, 0.0])
    for other in traces[1:]:
        for here, there in zip(traces[0], other, strict=True):
            assert all(same(*pair) for pair in zip(here, there, strict=True))


@pytest.fixture(scope="module")
def odd_envs() -> Any:
    """Vector environments of every mode, that show what was said."""
    from tests.environments.conftest import a_task

    made = {
        mode: gymnasium.make_vec(
            SOLO,
            3,
            vectorization_mode=mode,
            tasks=[a_task(number) for number in range(4)],
            executor=InstantExecutor(),
            max_cycles=100_000,
            max_chars=200,
        )
        for mode in MODES
    }
    for envs in made.values():
        envs.reset(seed=0)
    yield made
    for envs in made.values():
        envs.close()


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=60, deadline=None)
@given(said=st.tuples(texts, texts, texts))
def test_no_mode_ever_returns_a_wrong_text(
    odd_envs: Any, mode: str | None, said: tuple[str, str, str]
) -> None:
    observations, *_ = odd_envs[mode].step(said)
    shown = [text.replace("\r\n", "\n") for text in said]
    expected = [
        text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        for text in shown
    ]
    assert list(observations["program"]) == expected


def test_seeds_are_those_of_gymnasium(tasks: list[Task], executor: Any) -> None:
    envs: Any = make_vector("solo_coder_v0", 3, tasks=tasks, executor=executor)
    alone = make_seat("solo_coder_v0", tasks=tasks, executor=executor)
    expected = [alone.reset(seed=seed)[1]["task_id"] for seed in (7, 8, 9)]
    assert list(envs.reset(seed=7)[1]["task_id"]) == expected
    assert list(envs.reset(seed=np.int64(7))[1]["task_id"]) == expected
    listed, _ = envs.reset(seed=[9, 8, 7])
    assert list(envs.reset(seed=[9, 8, 7])[0]["statement"]) == list(listed["statement"])
    assert list(envs.reset(seed=[9, 8, 7])[1]["task_id"]) == expected[::-1]
    envs.close()


# ------------------------------------------------------------------------------- autoreset
@pytest.mark.parametrize("kind", ["ours", "gymnasium's"])
@pytest.mark.parametrize("autoreset", list(AutoresetMode))
def test_episodes_end_and_begin_as_in_gymnasiums_loop(
    kind: str, autoreset: AutoresetMode, tasks: list[Task], executor: Any, say: Any
) -> None:
    def one() -> Any:
        return make_seat("solo_coder_v0", tasks=tasks, executor=executor, max_cycles=2)

    envs: Any
    if kind == "ours":
        envs = ThreadVectorEnv([one, one], autoreset_mode=autoreset)
    else:
        envs = SyncVectorEnv([one, one], autoreset_mode=autoreset)
    assert envs.metadata["autoreset_mode"] is autoreset
    envs.reset(seed=3)
    observations, rewards, terminated, _, infos = envs.step((say.right, say.wrong))
    assert terminated.tolist() == [True, False]
    assert rewards.tolist() == pytest.approx([1.3, 0.1])
    if autoreset is AutoresetMode.SAME_STEP:
        assert infos["final_obs"][0]["program"].startswith("def solve")
        assert infos["final_info"]["reward_terms"]["all_pass"][0] == pytest.approx(0.2)
        assert observations["program"][0] == ""  # a new episode already
        _, _, terminated, _, _ = envs.step((say.wrong, say.wrong))
        assert terminated.tolist() == [False, True]
    elif autoreset is AutoresetMode.NEXT_STEP:
        assert observations["program"][0].startswith("def solve")
        observations, rewards, terminated, _, _ = envs.step((say.right, say.wrong))
        assert rewards.tolist() == pytest.approx([0.0, 0.1])  # the action went unheard
        assert terminated.tolist() == [False, True]
        assert observations["program"][0] == ""
    else:
        with pytest.raises((EpisodeError, AssertionError)):
            envs.step((say.right, say.wrong))
        options = {"reset_mask": np.array([True, False])}
        observations, _ = envs.reset(options=options)
        assert observations["program"][0] == ""
        assert observations["program"][1].startswith("def solve")
        _, _, terminated, _, _ = envs.step((say.wrong, say.wrong))
        assert terminated.tolist() == [False, True]
    envs.close()


def test_a_reset_mask_is_left_in_the_options_it_came_in(
    tasks: list[Task], executor: Any
) -> None:
    envs = make_vector("solo_coder_v0", 2, tasks=tasks, executor=executor)
    options = {"reset_mask": np.array([True, False]), "task": "sums/3"}
    with pytest.raises(EpisodeError, match="must be reset before some of them are"):
        envs.reset(options=options)
    envs.reset(seed=0, options={"task": "sums/1"})
    _, infos = envs.reset(options=options)
    assert infos["task_id"].tolist() == ["sums/3", None]
    assert set(options) == {"reset_mask", "task"}
    envs.close()


# ---------------------------------------------------------------------------- one executor
class Meeting(InstantExecutor):
    """Holds the programs of a step until as many wait as are to run side by side."""

    def __init__(self, together: int) -> None:
        super().__init__()
        self.barrier = threading.Barrier(together, timeout=20)

    def judge(self, task: Task, program: str) -> Any:
        self.barrier.wait()
        return super().judge(task, program)


def test_programs_of_one_step_are_judged_side_by_side_by_one_executor(
    tasks: list[Task],
) -> None:
    executor = Meeting(4)
    envs = make_vector("solo_coder_v0", 8, tasks=tasks, executor=executor, threads=4)
    envs.reset(seed=0)
    envs.step(("x",) * 8)
    assert len(executor.jobs) == 8
    assert not [thread for thread in threading.enumerate() if "environments" in thread.name]
    envs.close()
    assert not executor.closed


def test_partners_are_asked_one_request_at_a_time(tasks: list[Task], executor: Any) -> None:
    busy = threading.Lock()

    def slow(observation: Any) -> str:
        assert busy.acquire(blocking=False), "asked while it was answering"
        time.sleep(0.002)
        busy.release()
        return "a plan"

    envs = make_vector(
        "planner_coder_v0",
        8,
        seat="coder_0",
        partners={"planner_0": slow},
        tasks=tasks,
        executor=executor,
        threads=8,
    )
    observations, _ = envs.reset(seed=0)
    assert observations["plan"] == ("a plan",) * 8
    envs.close()


# ------------------------------------------------------------------------------ the end
@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_close_leaves_no_process(mode: Any) -> None:
    before = processes()
    envs = make_vector("solo_coder_v0", 2, mode=mode, tasks="pipelines/1")
    envs.reset(seed=0)
    envs.step(("def solve(xs):\n    return xs",) * 2)
    assert processes() - before  # a sandbox is running
    envs.close()
    envs.close()
    patience = time.monotonic() + 10
    while processes() - before and time.monotonic() < patience:
        time.sleep(0.02)  # the system reaps what was ended
    assert not processes() - before


# --------------------------------------------------------------------------------- errors
class Failing(InstantExecutor):
    def judge(self, task: Task, program: str) -> Any:
        if "fail" in program:
            raise RuntimeError("the judge fell ill")
        return super().judge(task, program)


def test_an_error_names_its_environment_and_the_others_finish_their_step(
    tasks: list[Task],
) -> None:
    executor = Failing()
    envs = make_vector("solo_coder_v0", 4, tasks=tasks, executor=executor, threads=2)
    envs.reset(seed=0)
    with pytest.raises(RuntimeError, match="fell ill") as raised:
        envs.step(("x", "fail", "y", "fail"))
    assert raised.value.__notes__ == [
        "raised in environment 1 of 4 (numbered from 0); environments [3] raised too"
    ]
    assert sorted(program for _, program in executor.jobs) == ["x", "y"]
    with pytest.raises(EpisodeError, match="after an error; call reset"):
        envs.step(("x",) * 4)
    envs.reset(seed=0)
    assert envs.step(("x",) * 4)[2].all()
    envs.close()


def test_an_interrupt_leaves_the_rest(tasks: list[Task]) -> None:
    class Interrupted(InstantExecutor):
        def judge(self, task: Task, program: str) -> Any:
            super().judge(task, program)
            raise KeyboardInterrupt

    executor = Interrupted()
    envs = make_vector("solo_coder_v0", 9, tasks=tasks, executor=executor, threads=1)
    envs.reset(seed=0)
    with pytest.raises(KeyboardInterrupt):
        envs.step(("x",) * 9)
    assert len(executor.jobs) == 1
    envs.close()


@pytest.mark.parametrize(
    ("actions", "error"), [("abc", BadConfig), (("x", "y"), BadConfig), ((1, 2, 3), TypeError)]
)
def test_wrong_actions_are_refused(
    tasks: list[Task], executor: Any, actions: Any, error: type[Exception]
) -> None:
    envs = make_vector("solo_coder_v0", 3, tasks=tasks, executor=executor)
    with pytest.raises(EpisodeError, match="step must follow reset"):
        envs.step(("x",) * 3)
    envs.reset(seed=0)
    with pytest.raises(error, match="must be"):
        envs.step(actions)
    envs.close()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_envs": 0}, BadConfig, "num_envs must be a whole number of at least 1"),
        ({"mode": "fork"}, BadConfig, "mode must be one of 'threads', 'processes'"),
        ({"threads": 0}, BadConfig, "threads must be a whole number of at least 1"),
        ({"autoreset_mode": "never"}, BadConfig, "must be one of 'NextStep', 'SameStep'"),
        ({"mode": "processes", "executor": InstantExecutor()}, BadConfig, "must be left out"),
        ({"seat": "coder_9"}, UnknownName, "coder_9"),
    ],
)
def test_wrong_arguments_are_refused(
    tasks: list[Task], options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make_vector("solo_coder_v0", **({"num_envs": 2, "tasks": tasks} | options))


@pytest.mark.parametrize(
    "options",
    [
        {"seed": [1, 2, 3]},
        {"seed": "one"},
        {"options": {"reset_mask": [True]}},
        {"options": {"reset_mask": [0, 1]}},
        {"options": {"reset_mask": np.array([False, False])}},
    ],
)
def test_wrong_seeds_and_masks_are_refused(
    tasks: list[Task], executor: Any, options: Any
) -> None:
    envs = make_vector("solo_coder_v0", 2, tasks=tasks, executor=executor)
    envs.reset(seed=0)
    with pytest.raises(BadConfig, match="must be"):
        envs.reset(**options)
    envs.close()


def test_no_environment_at_all_is_refused() -> None:
    with pytest.raises(BadConfig, match="at least one environment"):
        ThreadVectorEnv([])


def test_gymnasium_copies_the_settings_but_not_the_executor() -> None:
    with LocalExecutor(workers=1, min_isolation="L0") as executor:
        env: Any = gymnasium.make(SOLO, executor=executor)
        env.reset(seed=0)
        env.step("x")
        assert env.unwrapped.engine.judges._given is executor
        assert corecode_env.make("solo_coder_v0", executor=executor) is not None
