"""Read, then run."""
