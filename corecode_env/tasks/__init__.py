"""Tasks: where problems come from. Files and generated families become `Task` values."""

from corecode_env.tasks.formats import FORMATS, Format, Where
from corecode_env.tasks.sources import iter_tasks, known_sets, load_tasks
from corecode_env.tasks.taskset import TaskSampler, TaskSet

__all__ = [
    "FORMATS",
    "Format",
    "TaskSampler",
    "TaskSet",
    "Where",
    "iter_tasks",
    "known_sets",
    "load_tasks",
]
