"""Fixtures of the executor's tests: programs run as several kinds of user."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import corecode_env

NOBODY = 65534

# How the sandbox's owner runs, by name: fields of the script's settings.
IDENTITIES: Mapping[str, Mapping[str, Any]] = {
    "as_we_are": {},
    "as_an_ordinary_user": {"user": NOBODY},
    "as_root_of_a_container": {"container": True},
    "as_user_of_a_container": {"container": True, "user": NOBODY},
    "without_landlock": {"floor": {"disabled": ["landlock"]}},
    "without_landlock_and_namespaces": {
        "floor": {"disabled": ["landlock"], "namespaces": False}
    },
}

# The same for programs that write: root's own interpreter may be for root alone, and then
# files are opened another way than with one that everybody can run.
WRITERS: Mapping[str, Mapping[str, Any]] = {
    **IDENTITIES,
    "as_root_with_a_public_interpreter": {"runs_for": NOBODY},
    "as_root_of_a_container_with_a_public_interpreter": {
        "container": True,
        "runs_for": NOBODY,
    },
}

RunAll = Callable[[str, Sequence[Mapping[str, Any]]], dict[str, Any]]


@pytest.fixture(scope="session")
def readable_package() -> Iterator[str]:
    """A copy of the rooms that the sandbox needs, which every user can read."""
    source = Path(corecode_env.__file__).parent
    with tempfile.TemporaryDirectory(prefix="corecode-readable-") as folder:
        os.chmod(folder, 0o755)
        for room in ("core", "executor"):
            shutil.copytree(source / room, Path(folder, "corecode_env", room))
        for script in ("floor_script.py", "scratch_script.py"):
            shutil.copy(Path(__file__).with_name(script), folder)
        yield folder


@functools.cache
def interpreter_for(user: int | None) -> str:
    """Return an interpreter that a user can run; skip the test if there is none."""
    if user is None:
        return sys.executable
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        probe = [
            candidate,
            "-I",
            "-c",
            "import sys, json; sys.exit(sys.version_info < (3, 11))",
        ]
        try:
            if (
                subprocess.run(probe, user=user, group=user, cwd="/", check=False).returncode
                == 0
            ):
                return candidate
        except OSError:
            continue
    pytest.skip("no Python 3.11 or later that an ordinary user can run")


@pytest.fixture(scope="session")
def run_as(readable_package: str) -> RunAll:
    """Run programs in one slot of a trainer that has the given identity."""

    def run_all(identity: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return run_with(readable_package, IDENTITIES[identity], runs)

    return run_all


@pytest.fixture(scope="session")
def write_as(readable_package: str) -> RunAll:
    """Run programs that write in a folder, as `run_as` does with those that do not."""

    def run_all(identity: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        settings = WRITERS[identity]
        return run_with(readable_package, settings, runs, "scratch_script.py")

    return run_all


def run_with(
    package: str,
    settings: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    script: str = "floor_script.py",
) -> dict[str, Any]:
    """Start the script with these settings and return its answer."""
    another = {"container", "user", "runs_for"} & settings.keys()
    if another and os.geteuid() != 0:
        pytest.skip("only root can take on another identity")
    request = {
        "settings": {**settings, "package": f"{package}/corecode_env"},
        "runs": list(runs),
    }
    arguments = ["-I", f"{package}/{script}"]
    done = subprocess.run(
        [interpreter_for(settings.get("runs_for", settings.get("user"))), *arguments],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        cwd="/",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="session")
def run_with_settings(readable_package: str) -> Callable[..., dict[str, Any]]:
    """Run programs in one slot of a trainer with the given settings."""
    return functools.partial(run_with, readable_package)
