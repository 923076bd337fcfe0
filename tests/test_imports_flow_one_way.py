"""Who may knock at whose door. This table is the architecture; keep it true."""

import ast
from pathlib import Path

import pytest

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "tasks": {"core"},
    "executor": {"core"},
    "rewards": {"core"},
    "records": {"core"},
    "agents": {"core"},
    "environments": {"core", "tasks", "executor", "rewards"},
    "rollout": {"core", "environments", "records"},
    "algorithms": {"agents", "core", "records", "rollout", "tasks"},
    "evaluation": {"core", "executor", "records", "rollout"},
}
BELOW_ROLLOUT = {"core", "tasks", "executor", "rewards", "records", "environments", "rollout"}
MAY_IMPORT["adapters"] = BELOW_ROLLOUT
MAY_IMPORT["distributed"] = BELOW_ROLLOUT
MAY_IMPORT["cli"] = set(MAY_IMPORT)

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "corecode_env"


def names_imported_by(source: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms_imported_by(source: str) -> set[str]:
    names = names_imported_by(source)
    paths = (name.split(".") for name in names if name.startswith("corecode_env."))
    return {path[1] for path in paths} & MAY_IMPORT.keys()


def files_of(room: str) -> list[Path]:
    return sorted((PACKAGE / room).resolve().rglob("*.py"))


def test_every_room_stands_in_the_table() -> None:
    rooms = {init.parent.name for init in PACKAGE.glob("*/__init__.py")}
    assert rooms <= MAY_IMPORT.keys()


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_knocks_only_where_it_may(room: str) -> None:
    for file in files_of(room):
        strangers = rooms_imported_by(file.read_text()) - {room} - MAY_IMPORT[room]
        assert not strangers, (
            f"{file.relative_to(ROOT)} imports {sorted(strangers)}, but {room} may only "
            f"import {sorted(MAY_IMPORT[room])}: move the shared noun down to core, or "
            "take the object as an argument"
        )


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_never_imports_from_the_front_door(room: str) -> None:
    public = {"corecode_env." + name for name in MAY_IMPORT} | {"corecode_env.__version__"}
    for file in files_of(room):
        for name in names_imported_by(file.read_text()):
            if name.startswith("corecode_env."):
                assert any(name == door or name.startswith(door + ".") for door in public), (
                    f"{file.relative_to(ROOT)} imports {name}: inside the package import "
                    "from the room that defines it"
                )


@pytest.mark.parametrize(
    "line",
    [
        "import corecode_env.cli.app",
        "from corecode_env.cli import app",
        "from corecode_env import cli",
        "def f():\n    from corecode_env.cli.app import main",
    ],
)
def test_the_reader_of_imports_sees_every_form(line: str) -> None:
    assert rooms_imported_by(line) == {"cli"}
