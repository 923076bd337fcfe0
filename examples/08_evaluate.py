"""How good is a pair? pass@k with intervals, the worth of a plan, and a comparison."""

from collections.abc import Sequence
from functools import partial

from rich.console import Console

from corecode_env.agents import ReferenceAgent
from corecode_env.core.seams import Request
from corecode_env.environments import make
from corecode_env.evaluation import collaboration_gain, compare, evaluate, summarise
from corecode_env.evaluation.report import comparison_tables, metrics_tables, with_gain
from corecode_env.executor import LocalExecutor
from corecode_env.tasks import load_tasks


class Careless:
    """Knows the answer and forgets it now and then; less often if it has a plan."""

    def __init__(self, alone: float, with_plan: float) -> None:
        """Keep the chances of a right program."""
        self.alone = alone
        self.with_plan = with_plan

    def act(self, requests: Sequence[Request]) -> list[str]:
        """Answer with the reference program, or with one that does nothing."""
        right = ReferenceAgent().act(requests)
        return [
            answer if request.seed % 1000 < 1000 * self.chance(request) else "pass"
            for request, answer in zip(requests, right, strict=True)
        ]

    def chance(self, request: Request) -> float:
        """Return how likely a right answer is."""
        return self.with_plan if request.observation.get("plan") else self.alone


def main() -> None:
    """Measure two Coders on held-out tasks, one of them without a plan too."""
    tasks = load_tasks("pipelines/2").split("test").head(20)
    planner, coder, better = ReferenceAgent(), Careless(0.3, 0.6), Careless(0.3, 0.9)
    five = {"planner": 5}  # five plans, and a program to each
    with LocalExecutor() as executor:
        pair = partial(make, "planner_coder_v0", tasks=tasks, split="all", executor=executor)
        solo = partial(make, "solo_coder_v0", tasks=tasks, split="all", executor=executor)
        played = evaluate(pair, {"planner": planner, "coder": coder}, tasks, samples=five)
        other = evaluate(pair, {"planner": planner, "coder": better}, tasks, samples=five)
        alone = evaluate(solo, {"coder": coder}, tasks, samples={"coder": 5})
    metrics = with_gain(summarise(played, ks=(1, 5)), collaboration_gain(played, alone))
    for table in (*metrics_tables(metrics), *comparison_tables(compare(played, other))):
        Console(width=100).print(table)
    print(f"{sum(sample.passed for sample in played)} of {len(played)} programs passed")


if __name__ == "__main__":
    main()
