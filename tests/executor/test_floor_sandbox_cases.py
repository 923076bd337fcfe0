"""What the sandbox promises to a program, and from a program: all of `cases/sandbox.jsonl`.

Every case runs in a real slot of a trainer that is whoever runs the tests, an ordinary user,
root of a container, and a user of a container; and on kernels without Landlock.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

RunAll = Callable[[str, Sequence[Mapping[str, Any]]], dict[str, Any]]

FILE = Path(__file__).with_name("cases") / "sandbox.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").split("\n") if line]
IDENTITIES = (
    "as_we_are",
    "as_an_ordinary_user",
    "as_root_of_a_container",
    "without_landlock_and_namespaces",
    pytest.param("as_user_of_a_container", marks=pytest.mark.slow),
    pytest.param("without_landlock", marks=pytest.mark.slow),
)
LEVELS = {
    "as_an_ordinary_user": ("L2", "L3"),
    "as_root_of_a_container": ("L2",),
    "as_user_of_a_container": ("L2",),
    "without_landlock": ("L2-",),
    "without_landlock_and_namespaces": ("L2-",),
}
# Programs that need to open a path: where paths are closed by more than Landlock, these
# fail in a way that the program can see, and harm nobody.
NEEDS_A_PATH = {"F007", "F008"}


def as_run(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case as the script takes it."""
    if "stdin_b64" in case:
        stdin = case["stdin_b64"]
    elif "stdin_repeat" in case:
        text, times = case["stdin_repeat"]
        stdin = base64.b64encode(text.encode() * times).decode()
    else:
        stdin = base64.b64encode(case.get("stdin", "").encode()).decode()
    seconds = case.get("wall_seconds", 5.0)
    run = {
        "id": case["id"],
        "program": case["program"],
        "stdin_b64": stdin,
        "cpu_seconds": seconds,
        # Wide, for a loaded machine, but not for programs that only sleep.
        "wall_seconds": seconds
        if case["expect"].get("verdict") == ["ILE"]
        else 4 * seconds + 5,
    }
    if "memory_bytes" in case:
        run["memory_bytes"] = case["memory_bytes"]
    return run


@pytest.fixture(scope="module")
def answers(run_as: RunAll) -> Callable[[str], dict[str, Any]]:
    done: dict[str, dict[str, Any]] = {}

    def answer(identity: str) -> dict[str, Any]:
        if identity not in done:
            done[identity] = run_as(identity, [as_run(case) for case in CASES])
        return done[identity]

    return answer


@pytest.mark.parametrize("case", CASES, ids=[f"{c['id']}-{c['name']}" for c in CASES])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_program_is_held_and_served(
    identity: str, case: Mapping[str, Any], answers: Callable[[str], dict[str, Any]]
) -> None:
    if case["id"] in NEEDS_A_PATH and identity.startswith("without_landlock"):
        pytest.skip("there /proc, and with it /dev/stdin, is closed")
    outcome = answers(identity)["outcomes"][case["id"]]
    assert "died" not in outcome
    check(case["expect"], outcome)


def check(expect: Mapping[str, Any], outcome: Mapping[str, Any]) -> None:
    """Hold an outcome against what a case expects."""
    stdout = base64.b64decode(outcome["stdout_b64"])
    stderr = outcome["stderr"]
    assert not outcome["harm"]
    if "stdout" in expect:
        assert stdout == expect["stdout"].encode("utf-8"), stderr
    if "stdout_b64" in expect:
        assert stdout == base64.b64decode(expect["stdout_b64"])
    if "stdout_lacks" in expect:
        assert expect["stdout_lacks"].encode() not in stdout
        assert stdout.startswith(b"denied") or outcome["signal"] == 31, stderr
    if "stdout_length" in expect:
        assert len(stdout) == expect["stdout_length"]
    if "stderr_contains" in expect:
        assert expect["stderr_contains"] in stderr
    if "verdict" in expect:
        assert outcome["verdict"] in expect["verdict"], stderr
    if "peak_below_bytes" in expect:
        assert outcome["peak_bytes"] < expect["peak_below_bytes"]
    if "exit" in expect:
        status = -outcome["signal"] if outcome["signal"] else outcome["exit"]
        assert status != 0 if expect["exit"] == "nonzero" else status == expect["exit"], stderr
    assert outcome["verdict"] != "SE"


@pytest.mark.parametrize("identity", IDENTITIES)
def test_nothing_outlives_the_programs(
    identity: str, answers: Callable[[str], dict[str, Any]]
) -> None:
    assert answers(identity)["harm"] == []


@pytest.mark.parametrize("identity", IDENTITIES)
def test_no_attack_of_the_self_test_gets_through(
    identity: str, answers: Callable[[str], dict[str, Any]]
) -> None:
    report = answers(identity)["report"]
    assert report["selftest"]["breaches"] == []
    assert report["level"] in LEVELS.get(identity, ("L2", "L3")), report["layers"]
