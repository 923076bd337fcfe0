"""Tasks: where problems come from. Files and generated families become `Task` values."""
