"""Heuristics: small problems without a best answer, each a folder.

A folder holds `statement.md`, `generate.py`, `score.py`, and two programs: `trivial.py` and
`decent.py`, which is the reference. They are read by the loader for users' own folders
(`tasks/problem_folder.py`). `score.py` is run by the judge, so it imports the standard
library only.
"""
