"""What pytest leaves out where an optional dependency is missing: the modules that need it."""

from importlib.util import find_spec

NEEDS_TORCH = ["corecode_env/algorithms/losses.py"]

collect_ignore = [] if find_spec("torch") else NEEDS_TORCH
