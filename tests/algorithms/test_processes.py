"""What several processes promise: the update of one, shared; and files of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from corecode_env.algorithms.batches import Row  # noqa: E402
from corecode_env.algorithms.config import TeamGRPOConfig, from_record  # noqa: E402
from corecode_env.algorithms.processes import ALONE, Processes, joined  # noqa: E402
from corecode_env.algorithms.updates import Learner  # noqa: E402
from tests.algorithms.bigram import BigramPolicy  # noqa: E402

ROOT = Path(__file__).parents[2]
ROWS = {
    "planner_0": [Row((0,), (1,), (-1.0,), 0.5), Row((0,), (2, 1), (-1.0, -2.0), -0.5)],
    "coder_0": [
        Row((1,), tuple(n % 3 for n in range(length)), (-1.0,) * length, advantage)
        for length, advantage in ((1, 1.0), (3, -1.0), (2, 0.25), (4, 0.0), (5, -0.75))
    ],
}


@dataclass
class Meeting:
    """Where threads that stand for processes wait for each other."""

    number: int
    table: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.number, timeout=30)

    def exchange(self, rank: int, mine: Any) -> list[Any]:
        self.table[rank] = mine
        self.barrier.wait()
        found = [self.table[other] for other in range(self.number)]
        self.barrier.wait()
        return found


@dataclass(frozen=True)
class Threads(Processes):
    """Processes that are threads of this one."""

    meeting: Meeting = field(default_factory=lambda: Meeting(1))

    def gather(self, mine: Any) -> list[Any]:
        return self.meeting.exchange(self.rank, mine)

    def decide(self, ask: Callable[[], Any]) -> Any:
        return self.meeting.exchange(self.rank, ask() if self.first else None)[0]

    def add_gradients(self, parameters: Sequence[Any]) -> None:
        gradients = [None if p.grad is None else p.grad.clone() for p in parameters]
        everywhere = self.gather(gradients)
        for place, parameter in enumerate(parameters):
            there = [part[place] for part in everywhere if part[place] is not None]
            parameter.grad = sum(there) if there else None


def updated(number: int, **settings: Any) -> list[tuple[Any, dict[str, float]]]:
    """Take two steps in a number of processes; return weights and metrics of each."""
    settings = {"learning_rate": 0.1, "micro_batch": 2, "grad_clip": 0.5, **settings}
    config = from_record(TeamGRPOConfig, settings)
    meeting = Meeting(number)
    found: dict[int, tuple[Any, dict[str, float]]] = {}

    def learn(rank: int) -> None:
        policy = BigramPolicy(seed=3)
        processes = ALONE if number == 1 else Threads(rank, number, meeting=meeting)
        learner = Learner(policy, ["planner_0", "coder_0"], config, processes)
        metrics = [learner.learn(ROWS, step) for step in range(2)]
        found[rank] = policy.model.weight.detach(), metrics[-1]

    threads = [threading.Thread(target=learn, args=(rank,)) for rank in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[rank] for rank in range(number)]


@pytest.mark.parametrize("number", [2, 3, 7])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"epochs": 2, "mini_batches": 2},
        {"loss": {"loss_type": "grpo", "kl_weight": 0.0}},
        {"loss": {"loss_type": "dapo"}},
        {"importance_cap": 2.0, "epochs": 2},
    ],
    ids=["one update", "several updates", "grpo", "dapo", "importance weights"],
)
def test_several_processes_make_the_update_of_one(number: int, settings: Any) -> None:
    ((weights, metrics),) = updated(1, **settings)
    assert not torch.equal(weights, BigramPolicy(seed=3).first)
    for shared, told in updated(number, **settings):
        assert torch.allclose(shared, weights, atol=1e-6)
        assert told == pytest.approx(metrics, abs=1e-6)


def test_each_does_its_share() -> None:
    shares = [Processes(rank, 3).share(range(7)) for rank in range(3)]
    assert shares == [[0, 3, 6], [1, 4], [2, 5]]


def test_one_process_is_alone() -> None:
    assert joined() is ALONE
    assert ALONE.first and ALONE.gather(5) == [5] and ALONE.decide(lambda: 5) == 5


# --------------------------------------------------------------------- really several
PROGRAM = """
import sys
import torch
from corecode_env.algorithms.processes import joined
from tests.algorithms.train_toy import train

torch.set_num_threads(1)
summary = train(sys.argv[1], int(sys.argv[2]), old_logprobs="recompute", epochs=2)
processes = joined()
ranks = processes.gather(processes.rank)
if processes.first:
    print(ranks, summary.step)
try:
    processes.decide(lambda: 1 / 0)
except ZeroDivisionError:
    print("told")
"""


def launch(program: Path, number: int, *args: object, cpu: str = "true") -> str:
    # What `accelerate launch` does for GPUs; for CPUs it starts one process whatever it is told.
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(number)]
    command += ["--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0"]
    command += [str(program), *map(str, args)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": cpu}
    environ["OMP_NUM_THREADS"] = "1"
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def steps(folder: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith("seconds")} for line in lines]


@pytest.mark.slow
def test_a_run_on_two_processes_is_that_of_one_and_can_be_resumed(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    from tests.algorithms.train_toy import train

    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    one, two = tmp_path / "one", tmp_path / "two"
    train(str(one), 4, epochs=2)
    assert launch(program, 2, two, 2).split("\n")[0] == "[0, 1] 2"
    told = launch(program, 2, two, 4)
    assert told.count("told") == 2
    assert len(steps(two)) == len(steps(one))
    for first, second in zip(steps(one), steps(two), strict=True):
        assert second == pytest.approx(first, abs=1e-5)
    name = Path("checkpoints") / "step-000004" / "planner_0" / "weights.pt"
    expected = torch.load(one / name, weights_only=True)
    found = torch.load(two / name, weights_only=True)
    assert torch.allclose(found["weight"], expected["weight"], atol=1e-5)


@pytest.mark.slow
def test_processes_without_devices_say_what_to_set(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there are devices")
    program = tmp_path / "program.py"
    program.write_text(
        "from corecode_env.algorithms.processes import joined\n"
        "try:\n    joined()\nexcept ValueError as error:\n    print(error)\n"
    )
    assert launch(program, 2, cpu="").count("set ACCELERATE_USE_CPU=true") == 2
