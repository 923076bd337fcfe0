"""What isolation levels promise: they are earned by layers, and taken away by one breach."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from corecode_env.core.errors import ExecutorError
from corecode_env.executor import isolation
from corecode_env.executor.isolation import (
    LEVELS,
    IsolationReport,
    acceptable,
    level_of,
    ways_out,
)
from corecode_env.executor.selftest import SELF_TEST, SelfTestReport, run_self_test

EVERY_LAYER = {case.layer: "on" for case in SELF_TEST}
ALL_HELD = SelfTestReport(held=tuple(case.name for case in SELF_TEST))
FLOOR: dict[str, str] = dict.fromkeys(
    ("rlimits", "no_new_privs", "seccomp", "not_root", "no_capabilities", "landlock"), "on"
)
EXTRA: dict[str, str] = dict.fromkeys(
    ("private_root", "network_namespace", "ipc_namespace", "process_limit"), "on"
)


@dataclass(frozen=True)
class Said:
    stdout: bytes = b"held PermissionError\n"
    signal: int | None = None


def report(layers: dict[str, str], selftest: SelfTestReport = ALL_HELD) -> IsolationReport:
    return IsolationReport(level_of(layers, selftest), layers, "Linux 6.1 x86_64", 3, selftest)


def test_the_floor_is_L2_and_its_namespaces_make_L3() -> None:
    assert level_of(FLOOR, ALL_HELD) == "L2"
    assert level_of(FLOOR | EXTRA, ALL_HELD) == "L3"


@pytest.mark.parametrize("layer", EXTRA)
def test_one_missing_extra_keeps_L2(layer: str) -> None:
    assert level_of(FLOOR | EXTRA | {layer: "refused"}, ALL_HELD) == "L2"


@pytest.mark.parametrize("stand_in", ["private_root", "no_paths"])
def test_a_stand_in_for_landlock_makes_L2_minus(stand_in: str) -> None:
    layers = FLOOR | {"landlock": "this kernel has none"}
    assert level_of(layers, ALL_HELD) == "L1"
    assert level_of(layers | {stand_in: "on"}, ALL_HELD) == "L2-"


@pytest.mark.parametrize("layer", ["no_new_privs", "seccomp", "not_root", "no_capabilities"])
def test_without_a_layer_of_the_floor_only_limits_are_left(layer: str) -> None:
    assert level_of(FLOOR | EXTRA | {layer: "refused"}, ALL_HELD) == "L1"


def test_without_limits_there_is_nothing() -> None:
    assert level_of(FLOOR | EXTRA | {"rlimits": "refused"}, ALL_HELD) == "L0"
    assert level_of({}, ALL_HELD) == "L0"


def test_one_breach_or_no_self_test_leaves_L1() -> None:
    breached = replace(ALL_HELD, breaches=("read a file",))
    assert level_of(FLOOR | EXTRA, breached) == "L1"
    assert level_of(FLOOR | EXTRA, SelfTestReport()) == "L1"


def test_levels_are_in_order() -> None:
    for low, weaker in enumerate(LEVELS):
        for high, stronger in enumerate(LEVELS):
            assert acceptable(stronger, weaker) is (high >= low)


def test_a_report_says_what_is_missing_and_how_to_get_it() -> None:
    found = report(
        FLOOR | {"private_root": "Operation not permitted", "no_paths": "not needed: x"}
    )
    assert found.level == "L2"
    assert "private_root: Operation not permitted" in found.summary()
    assert set(ways_out(found)) == {"private_root"}
    assert "unprivileged_userns" in ways_out(found)["private_root"]


def test_there_is_a_way_out_for_every_layer_that_a_level_needs() -> None:
    found = report(dict.fromkeys(FLOOR | EXTRA, "refused"))
    assert set(ways_out(found)) == set(found.missing()) == set(FLOOR | EXTRA)


def test_a_summary_names_the_attacks_that_got_through() -> None:
    found = report(FLOOR, replace(ALL_HELD, breaches=("fork",)))
    assert found.summary() == "attacks that got through: fork"
    assert report(FLOOR | EXTRA).summary() == "every layer is on"


def test_equal_isolation_has_an_equal_hash_and_any_change_another() -> None:
    one = report(FLOOR | EXTRA)
    assert one.hash == report(FLOOR | EXTRA).hash
    assert len({one.hash, report(FLOOR).hash, replace(one, kernel="Linux 6.2").hash}) == 3


# -------------------------------------------------------------------- self-test
def test_the_self_test_has_attacks_on_files_calls_and_limits() -> None:
    assert len(SELF_TEST) >= 20
    assert len({case.name for case in SELF_TEST}) == len(SELF_TEST)
    assert {case.layer for case in SELF_TEST} >= {"landlock", "seccomp", "rlimits"}


def test_a_sandbox_that_refuses_everything_passes() -> None:
    assert run_self_test(lambda program: Said(), EVERY_LAYER) == ALL_HELD


@pytest.mark.parametrize(
    "said",
    [Said(b"got through\n"), Said(b""), Said(b"", signal=9), Said(b"xheld \n")],
    ids=["got through", "said nothing", "was killed by someone", "said something else"],
)
def test_what_does_not_say_that_it_was_held_is_a_breach(said: Said) -> None:
    breaches = run_self_test(lambda program: said, EVERY_LAYER).breaches
    assert len(breaches) == len(SELF_TEST)


def test_an_attack_on_an_extra_layer_is_tried_only_where_the_layer_is_on() -> None:
    extra = {case.name for case in SELF_TEST if case.extra}
    tried = run_self_test(lambda program: Said())
    assert extra and set(ALL_HELD.held) - set(tried.held) == extra


def test_an_attack_that_the_filter_kills_is_held() -> None:
    assert run_self_test(lambda program: Said(b"", signal=31)).breaches == ()


def test_an_attack_that_brings_the_sandbox_down_is_a_breach() -> None:
    def die(program: str) -> Said:
        raise ExecutorError("the zygote is gone")

    assert len(run_self_test(die, EVERY_LAYER).breaches) == len(SELF_TEST)


def test_an_attack_that_says_held_but_leaves_a_trace_is_a_breach() -> None:
    def liar(program: str) -> Said:
        if "truncate" in program:
            exec(program, {})  # not sandboxed: the file is gone
        return Said()

    assert run_self_test(liar).breaches == ("truncate a file",)


def test_this_machine_is_measured_by_attacks_and_holds_them_all() -> None:
    from corecode_env.executor.start import ZygoteSettings

    def settings() -> ZygoteSettings:
        fields, paths = isolation.floor_fields(("numpy",))
        return ZygoteSettings(floor=fields, paths=paths)

    found = isolation.measure_isolation(settings)
    assert found.selftest.breaches == ()
    assert found.level in ("L2-", "L2", "L3")
    assert found.to_json()["level"] == found.level


@pytest.mark.parametrize("layer", ["seccomp", "landlock"])
def test_a_floor_with_a_hole_is_found_out(layer: str) -> None:
    from corecode_env.executor.start import ZygoteSettings

    def settings() -> ZygoteSettings:
        fields, paths = isolation.floor_fields(())
        holes = {"disabled": [layer, "no_paths"], "namespaces": False}
        return ZygoteSettings(floor={**fields, **holes}, paths=paths)

    found = isolation.measure_isolation(settings)
    assert found.selftest.breaches
    assert found.level == "L1"
