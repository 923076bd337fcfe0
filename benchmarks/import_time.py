"""What `import corecode_env` costs, beside the three libraries that it cannot do without.

    python benchmarks/import_time.py [--repeats 15]

Starts fresh interpreters by turns and times the imports inside them. Prints milliseconds
and the ratio, each as median and quartiles over the repeats.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import numpy as np

AIM = 1.5
"""Times the cost of the libraries alone that is aimed at."""

LIBRARIES = "import gymnasium, numpy, pettingzoo"
OURS = "import corecode_env"


def seconds_of(statement: str) -> float:
    """Return the seconds that a statement takes in a fresh interpreter."""
    source = (
        "import time; start = time.perf_counter(); "
        f"{statement}; print(time.perf_counter() - start)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def quartiles(values: list[float], unit: float) -> str:
    """Return median and quartiles as text."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]) / unit
    return f"{middle:8.2f}  [{low:.2f}, {high:.2f}]"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Import time beside the libraries'.")
    parser.add_argument("--repeats", type=int, default=15, help="default: 15")
    repeats = parser.parse_args().repeats
    for statement in (LIBRARIES, OURS):  # once unmeasured: byte code and disk cache
        seconds_of(statement)
    pairs = [(seconds_of(OURS), seconds_of(LIBRARIES)) for _ in range(repeats)]
    ours, libraries = ([pair[k] for pair in pairs] for k in (0, 1))
    ratios = [a / b for a, b in pairs]
    print(f"{repeats} repeats, median [quartiles]; milliseconds, then the ratio")
    print(f"corecode_env                    {quartiles(ours, 1e-3)}")
    print(f"gymnasium, numpy, pettingzoo    {quartiles(libraries, 1e-3)}")
    met = "within" if float(np.median(ratios)) <= AIM else "above"
    print(
        f"ratio                           {quartiles(ratios, 1.0)}  {met} the aim of {AIM:g}"
    )


if __name__ == "__main__":
    main()
