"""The floor plan in pyproject.toml is the building that stands."""

import sys
import tomllib
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FOLDER_OF = {
    "corecode_env": "corecode_env",
    "corecode_env.agents": "agents",
    "corecode_env.algorithms": "algorithms",
}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def packages_on_disk() -> set[str]:
    found = set()
    for name, folder in FOLDER_OF.items():
        # rglob does not walk into the two links, so nothing is found twice.
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            if parts[:1] not in (("agents",), ("algorithms",)):
                found.add(".".join((name, *parts)))
    return found


def test_every_room_is_on_the_floor_plan() -> None:
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    missing = sorted(packages_on_disk() - listed)
    assert not missing, f"add {missing} to [tool.setuptools] packages in pyproject.toml"
    assert listed == packages_on_disk()


def test_every_data_file_beside_the_code_travels_with_the_package() -> None:
    patterns: dict[str, list[str]] = PROJECT["tool"]["setuptools"]["package-data"]
    shipped: set[Path] = set()
    for package, globs in patterns.items():
        folder = ROOT.joinpath(*package.split("."))
        for pattern in globs:
            shipped |= {file.resolve() for file in folder.glob(pattern)}
    for place in FOLDER_OF.values():
        for file in (ROOT / place).rglob("*"):
            is_data = file.is_file() and file.suffix != ".py"
            if is_data and "__pycache__" not in file.parts:
                assert file.resolve() in shipped, (
                    f"{file.relative_to(ROOT)} is in no wheel: name it in "
                    "[tool.setuptools.package-data] in pyproject.toml"
                )


def test_bundled_task_sets_come_with_their_licences() -> None:
    names = {item.name for item in files("corecode_env.tasks.builtin").iterdir()}
    assert any(name.endswith((".jsonl.gz", ".json.gz")) for name in names)
    assert any(name.startswith("LICENSE") for name in names)
    assert any(name.endswith(".md") for name in names), "attribution"


def test_the_command_is_installed_under_its_name() -> None:
    (command,) = entry_points(group="console_scripts", name="corecode")
    assert command.value == "corecode_env.cli:main"
    assert callable(command.load())


def test_the_extra_all_is_every_extra_that_users_install_on_any_machine() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(everything.removeprefix("corecode-env[").removesuffix("]").split(","))
    assert named == extras.keys() - {"all", "vllm", "test", "docs", "bench"}


def test_every_tested_version_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in lines
        if line and not line.startswith("#")
    }
    wanted = list(PROJECT["project"]["dependencies"])
    for extra in ("test", "docs", "data"):
        wanted += PROJECT["project"]["optional-dependencies"][extra]
    names = {requirement.split(">")[0].lower() for requirement in wanted}
    assert names <= pinned, f"pin {sorted(names - pinned)} in constraints.txt"


@pytest.mark.parametrize("room", ["agents", "algorithms"])
def test_a_room_refuses_to_be_imported_by_its_folder_name(
    room: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.delitem(sys.modules, room, raising=False)
    with pytest.raises(ImportError, match=f"corecode_env.{room}"):
        __import__(room)


@pytest.mark.parametrize("room", ["agents", "algorithms"])
def test_a_room_at_the_top_is_linked_into_the_package(room: str) -> None:
    link = ROOT / "corecode_env" / room
    assert link.is_symlink()
    assert link.resolve() == (ROOT / room).resolve()
