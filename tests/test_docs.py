"""What the docs and the README show, runs.

Python blocks of a page run one after the other in one process, in an empty folder. Shell
blocks are not run, but every `corecode` line in them must be one that the command accepts.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from corecode_env.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [body for tag, body in FENCE.findall(text) if tag == language]


def name_of(page: object) -> str:
    return str(page.relative_to(ROOT)) if isinstance(page, Path) else str(page)


def commands() -> list[tuple[Path, str]]:
    found = []
    for page in PAGES:
        for body in blocks(page, "sh"):
            for part in re.split(r"\n|&&|;", body.replace("\\\n", " ")):
                line = part.strip()
                if re.match(r"(\.venv/bin/)?corecode\s", line):
                    found.append((page, line))
    return found


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=name_of)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    # Each block is compiled under its own name, so that a failure says where it stands.
    program = "\n".join(
        f"exec(compile({body!r}, '{page.name}, block {number}', 'exec'))"
        for number, body in enumerate(blocks(page, "python"), start=1)
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "line"), commands(), ids=name_of)
def test_a_command_that_a_page_shows_is_one(page: Path, line: str) -> None:
    words = shlex.split(re.split(r"\s[<>|#]", line)[0])[1:]
    command: click.Command = app
    context = click.Context(app, info_name="corecode", **app.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"{page.name}: corecode has no command {name!r}"
        command = found
    # Parsing refuses unknown options, wrong values and too many words.
    if not {"--help", "-h", "--version"} & set(words):
        command.make_context(name_of(page), words, parent=context)


def test_the_readme_names_every_room_of_the_tree() -> None:
    (tree,) = blocks(ROOT / "README.md", "text")
    rooms = {path.parent.name for path in (ROOT / "corecode_env").glob("*/__init__.py")}
    tops = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] not in "._"}
    ignored = {"build", "dist", "site"}
    for room in rooms | {top for top in tops - ignored if not top.endswith(".egg-info")}:
        assert f"{room}/" in tree, f"the tree in README.md must name {room}/"


def test_the_readme_shows_at_most_twelve_lines_that_run() -> None:
    (body,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in body.splitlines() if line.strip()]) <= 12


def test_every_page_is_on_the_map() -> None:
    listed = set(re.findall(r"([\w/+-]+\.md)", (ROOT / "mkdocs.yml").read_text()))
    there = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert listed == there


@pytest.mark.parametrize("marker", ["demo command", "play command", "test command"])
def test_the_readme_has_each_of_its_commands_once(marker: str) -> None:
    text = (ROOT / "README.md").read_text()
    found = re.findall(rf"<!-- {marker} -->\n```sh\n(.*?)```", text, re.DOTALL)
    assert len(found) == 1
    assert found[0].strip().count("\n") == 0, "one command, so that it can be copied"
    assert f'readme_command "{marker}"' in (ROOT / ".ci" / "run").read_text()
