"""Testing: what tests of environments, agents and rewards need.

from corecode_env.testing import InstantExecutor, check_text_env

The pytest plugin `corecode_env.pytest_plugin`, which is installed with the package, gives
the same as fixtures.
"""

from corecode_env.core.errors import ConformanceError
from corecode_env.environments.conformance import CHECKS, check_text_env
from corecode_env.executor.testing import InstantExecutor

__all__ = ["CHECKS", "ConformanceError", "InstantExecutor", "check_text_env"]
