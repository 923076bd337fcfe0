"""Inside: the files that run in the sandbox's own processes. Standard library only."""
