"""Executor: where other people's code runs. Task and program in, `Judgement` out.

    (Task, program)  ->  LocalExecutor  ->  Judgement

`LocalExecutor` judges in sandboxed processes on this machine; a program that crashes,
hangs or lies is a verdict, never an exception. `corecode_env.executor.testing` has a fake
for tests of what stands above.
"""

import sys

if sys.platform == "linux":
    from corecode_env.executor.isolation import IsolationReport
    from corecode_env.executor.local import LocalExecutor

    __all__ = ["IsolationReport", "LocalExecutor"]
else:
    from corecode_env.executor.elsewhere import LocalExecutor

    __all__ = ["LocalExecutor"]
