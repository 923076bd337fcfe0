"""What pytest leaves out where an optional dependency is missing: the modules that need it."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from corecode_env.core.errors import MissingExtra

ROOT = Path(__file__).parent
OPTIONAL = ("torch", "openai", "matplotlib", "radon")


def lacks_an_extra(path: Path) -> bool:
    """Whether importing a module of ours says that an extra is missing."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    try:
        import_module(module)
    except MissingExtra:
        return True
    return False


collect_ignore = []
if not all(find_spec(name) for name in OPTIONAL):
    rooms = ("agents", "algorithms", "cli", "evaluation", "records")
    modules = [path for room in rooms for path in (ROOT / "corecode_env" / room).glob("*.py")]
    collect_ignore = [
        str(path) for path in modules if path.name != "__init__.py" and lacks_an_extra(path)
    ]
