"""corecode-env: code tasks as multi-agent environments.

A Planner and a Coder take text actions; a sandboxed executor runs the program and pays
rewards. This front door only re-exports; inside the package import from the rooms.
"""

__version__ = "0.1.0"
