"""Try every attack, fault and habit as four kinds of user, on each Python; print a table.

    python tools/sandbox_matrix.py [--only REGEX] [PYTHON ...]

A PYTHON is the interpreter of an environment that has `corecode-env[test]`; without one, this
interpreter. Rows are the rules and ids of `docs/explanation/what-is-tested.md` and the
programs of `tests/executor/cases/`; a column is a Python and a user:

    root                   whoever runs this, who must be root
    user                   an ordinary user
    container              root under the rules of Docker's default profile, emulated
    container user         an ordinary user under the same rules

Exit status: 0 if all held, 1 if one row failed, 2 if a column could not be run at all.

An ordinary user must be able to read the interpreter, which is not so for one below /root.
Copy it to where everybody can, and make an environment of the copy:

    cp -a ~/.pyenv/versions/3.12.1 /opt/python-3.12
    patchelf --set-rpath '$ORIGIN/../lib' /opt/python-3.12/bin/python3.12  # if shared
    /opt/python-3.12/bin/python3 -m venv /opt/environment-3.12
    /opt/environment-3.12/bin/pip install -c constraints.txt -e '.[test]'
    python tools/sandbox_matrix.py /opt/environment-3.12/bin/python
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "executor"
PAGE = ROOT / "docs" / "explanation" / "what-is-tested.md"
NOBODY: Final = 65534
USERS: Final[Mapping[str, tuple[str, ...]]] = {
    "root": (),
    "user": ("user",),
    "container": ("container",),
    "container user": ("container", "user"),
}
CASE_TESTS: Final = {
    "test_floor_sandbox_cases": ("test_a_program_is_held_and_served",),
    "test_forging_programs": ("test_no_forging_program_is_accepted_on_any_test",),
}
# Those identities are columns here; the others, machines without a layer, belong to each.
OTHER_IDENTITIES: Final = (
    "as_an_ordinary_user",
    "as_root_of_a_container",
    "as_user_of_a_container",
)
_ROW: Final = re.compile(r"^\| (rule \d+|[FHRC]\d\d) \| .+ \| (.*) \|$", re.MULTILINE)
_NAME: Final = re.compile(r"`(test_\w+)\.(test_\w+)(?:\[([FHRC]\d\d)\])?`")
_CASE: Final = re.compile(r"[\[-]([A-Z]\d{3})\b")


def become(what: Iterable[str], command: list[str]) -> None:
    """Take on the rules of a container, another user, or both, and run a command."""
    place = importlib.util.spec_from_file_location("floor_script", TESTS / "floor_script.py")
    if place is None or place.loader is None:
        raise FileNotFoundError(TESTS / "floor_script.py")
    script = importlib.util.module_from_spec(place)
    place.loader.exec_module(script)
    script.stand_in_for_packages(str(ROOT / "corecode_env"))
    if "container" in what:
        script.become_container()
    if "user" in what:
        script.become_user(NOBODY)
    os.execv(command[0], command)


@functools.cache
def told() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the page: (file, test) -> (id, how the parameters must begin), ..."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for id_, cell in _ROW.findall(PAGE.read_text(encoding="utf-8")):
        for file, test, parameter in _NAME.findall(cell):
            if (TESTS / f"{file}.py").exists():
                found[file, test].append((id_, parameter))
    return found


def rows_of(file: str, test: str, parameters: str) -> list[str]:
    """Return the rows that one test belongs to."""
    if test in CASE_TESTS.get(file, ()):
        return _CASE.findall(f"-{parameters}")[:1]
    ids = told().get((file, test), [])
    return [id_ for id_, begins in ids if not begins or re.search(rf"\b{begins}_", parameters)]


def run_column(python: str, user: str, only: str) -> dict[str, str]:
    """Run all tests of the table as one user; return `ok`, `FAIL` or `-` (skipped) by row.

    Raises:
        RuntimeError: If they cannot be run.
    """
    names = sorted({*told(), *((f, t) for f, tests in CASE_TESTS.items() for t in tests)})
    nodes = [f"tests/executor/{file}.py::{test}" for file, test in names]
    nodes = [node for node in nodes if re.search(only, node)]
    with tempfile.TemporaryDirectory(prefix="corecode-matrix-") as folder:
        os.chmod(folder, 0o777)
        report = Path(folder, "report.xml")
        options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}", "--tb=short"]
        options += ["-o", "addopts=--import-mode=importlib --strict-markers"]
        options += ["-k", " and ".join(f"not {identity}" for identity in OTHER_IDENTITIES)]
        command = [python, "-m", "pytest", *options, *nodes]
        arguments = [python, __file__, "--become", ",".join(USERS[user]), "--", *command]
        environment = {
            **os.environ,
            "HOME": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": folder,
        }
        done = subprocess.run(
            arguments, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if not report.exists():
            raise RuntimeError((done.stderr or done.stdout).strip()[-500:])
        print(done.stdout[done.stdout.find("= FAILURES") :] if done.returncode else "", end="")
        return read(report)


def read(report: Path) -> dict[str, str]:
    """Return what came of each row, from pytest's report."""
    found: dict[str, str] = {}
    strength = ("-", "ok", "FAIL")
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname", "").rpartition(".")[2]
        test, _, parameters = case.get("name", "").partition("[")
        kinds = {child.tag for child in case}
        state = "FAIL" if kinds & {"failure", "error"} else "-" if "skipped" in kinds else "ok"
        for row in rows_of(file, test, parameters):
            found[row] = max(found.get(row, "-"), state, key=strength.index)
    return found


def every_row() -> list[str]:
    """Return the names of all rows."""
    ids = [id_ for id_, _ in _ROW.findall(PAGE.read_text(encoding="utf-8"))]
    for name in ("sandbox", "forging"):
        lines = (TESTS / "cases" / f"{name}.jsonl").read_text("utf-8").split("\n")
        ids += [json.loads(line)["id"] for line in lines if line]
    return ids


def version_of(python: str) -> str:
    """Return an interpreter's version, as 3.12.1."""
    code = "import platform; print(platform.python_version())"
    return subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def show(columns: Mapping[str, Mapping[str, str]], only: str) -> int:
    """Print the table and return how many cells failed."""
    rows = [row for row in every_row() if any(row in column for column in columns.values())]
    width = max(map(len, columns), default=0) + 2
    print("".join(["row".ljust(9), *(name.ljust(width) for name in columns)]))
    for row in rows:
        cells = [column.get(row, "").ljust(width) for column in columns.values()]
        print("".join([row.ljust(9), *cells]).rstrip())
    missing = [] if only else sorted(set(every_row()) - set(rows))
    failed = sum(cell == "FAIL" for column in columns.values() for cell in column.values())
    cells_run = sum(cell != "-" for column in columns.values() for cell in column.values())
    print(f"{len(rows)} rows, {len(columns)} columns: {cells_run} cells run, {failed} failed")
    if missing:
        print(f"no test was run for {', '.join(missing)}")
    return failed + len(missing)


def main() -> int:
    """Run the columns, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="tests whose node id matches this")
    parser.add_argument("--become", help=argparse.SUPPRESS)
    parser.add_argument("pythons", nargs="*", default=[])
    options = parser.parse_args()
    if options.become is not None:
        become(options.become.split(","), options.pythons)
    if os.geteuid() != 0:
        parser.error("only root can become all of the users; run the tests themselves instead")
    columns: dict[str, dict[str, str]] = {}
    problems = []
    for python in options.pythons or [sys.executable]:
        for user in USERS:
            name = f"{version_of(python)} {user}"
            print(f"running as {name}", file=sys.stderr, flush=True)
            try:
                columns[name] = run_column(python, user, options.only)
            except RuntimeError as error:
                problems.append(f"{name}: not run: {error}")
    failed = show(columns, options.only)
    print("\n".join(problems))
    return 1 if failed else 2 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
