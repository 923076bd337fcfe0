"""What `corecode doctor` promises: the truth about this machine, and the way to more."""

import json
from collections.abc import Callable

from click.testing import Result

from corecode_env.cli import options
from corecode_env.cli.doctor import extras, versions
from corecode_env.executor import LocalExecutor, isolation

Run = Callable[..., Result]


def test_it_reports_what_the_executor_reports(run: Run) -> None:
    report = json.loads(run("doctor", "--min-isolation", "L0", "--json").stdout)
    with LocalExecutor(1, min_isolation="L0") as executor:
        measured = executor.isolation()
    assert report["level"] == measured.level
    assert report["layers"] == dict(measured.layers)
    assert report["reached"] is True


def test_the_exit_code_says_whether_the_level_is_reached(run: Run) -> None:
    assert run("doctor", "--min-isolation", "L0").exit_code == 0
    levels = ["L0", "L1", "L2-", "L2", "L3"]
    level = json.loads(run("doctor", "--json").stdout)["level"]
    for wanted in levels:
        reached = levels.index(level) >= levels.index(wanted)
        expected = 0 if reached else 3
        assert run("doctor", "--min-isolation", wanted).exit_code == expected


def test_the_levels_to_choose_from_are_those_of_the_executor() -> None:
    assert tuple(reversed(options.LEVELS)) == isolation.LEVELS


def test_every_layer_is_on_or_says_why_not(run: Run) -> None:
    layers = json.loads(run("doctor", "--json").stdout)["layers"]
    assert layers
    text = run("doctor").stdout
    for layer, state in layers.items():
        assert layer in text
        assert state == "on" or len(state) > len("off")


def test_versions_name_python_and_what_it_stands_on() -> None:
    assert {"python", "corecode-env", "gymnasium", "pettingzoo", "numpy"} <= versions().keys()


def test_extras_are_those_that_users_install() -> None:
    assert extras().keys() == {
        *("train", "vllm", "smollm", "ray", "openai", "plots", "metrics", "data"),
    }
    assert extras()["data"]["pyarrow"] is not None
