"""What the comparison of printed output promises."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Checker,
    Function,
    ScoreTest,
    Stdio,
    StdioTest,
    Task,
    Test,
)
from corecode_env.core.verdict import Verdict
from corecode_env.executor.compare import (
    OUTPUT_CHECKERS,
    compare_output,
    output_cap,
    validate_checker,
)

AC, WA, PE = Verdict.AC, Verdict.WA, Verdict.PE


def verdict(
    output: str | bytes, expected: str, name: str = "default", **options: object
) -> Verdict:
    data = output.encode("utf-8", "surrogatepass") if isinstance(output, str) else output
    return compare_output(data, expected, Checker(name, options)).verdict


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("4\n", "4"),
        ("4", "4\n"),
        ("4  \n", "4"),
        ("4\t\r\n5\r\n", "4\n5\n"),
        ("4\n\n\n", "4"),
        ("  4\n", "  4"),
        ("a\n\nb\n", "a\n\nb"),
        ("", ""),
        ("\n \n", ""),
    ],
)
def test_c11_white_space_at_ends_does_not_count(output: str, expected: str) -> None:
    for name in ("default", "lines", "tokens"):
        assert verdict(output, expected, name) is AC


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (" 4", "4"),
        ("\n4", "4"),
        ("a\nb", "a\n\nb"),
        ("a  b", "a b"),
        ("a b", "a\nb"),
        ("4\u00a0", "4"),
        ("4\u2003\n", "4"),
        ("4\x1c", "4"),
        ("4\x85", "4"),
        ("a\u2028b", "a\nb"),
    ],
)
def test_c11_other_white_space_counts_and_only_ascii_is_white(
    output: str, expected: str
) -> None:
    assert verdict(output, expected) is WA
    assert verdict(output, expected, "lines") is WA


def test_c11_tokens_ignore_all_ascii_white_space_and_no_other() -> None:
    assert verdict("a\n\n  b", "a b", "tokens") is AC
    assert verdict("a\u00a0b", "a b", "tokens") is WA
    assert verdict("a b c", "a b", "tokens") is WA


def test_c11_exact_means_every_byte() -> None:
    assert verdict("4\n", "4\n", "exact") is AC
    assert verdict("4", "4\n", "exact") is WA


def test_pe_is_said_only_where_the_task_asks_for_it() -> None:
    assert verdict("a  b", "a b") is WA
    assert verdict("a  b", "a b", presentation_error=True) is PE
    assert verdict("a c", "a b", presentation_error=True) is WA
    assert verdict("a b", "a b", presentation_error=True) is AC


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("0.3333334", "0.333333333"),
        ("1e6", "1000000.0"),
        ("1000000", "1000000.0"),
        ("-0.0", "0.0"),
        ("1000000.9", "1000000.0"),
        (".5", "0.5"),
        ("x 2.5 y", "x 2.50000001 y"),
        ("5.0e-7", "0.0"),
    ],
)
def test_c10_a_decimal_is_met_within_the_tolerance(output: str, expected: str) -> None:
    assert verdict(output, expected) is AC
    assert verdict(output, expected, "float") is AC
    assert verdict(output, expected, "lines") is WA


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("0.33334", "0.333333333"),
        ("50000000000000001", "50000000000000000"),
        ("5.0", "5"),
        ("5.0", "05"),
        ("1_0.5", "10.5"),
        ("nan", "0.5"),
        ("inf", "1.5"),
        ("0.5", "nan"),
        ("\u0661.5", "1.5"),
        ("1,5", "1.5"),
        ("0x1p-1", "0.5"),
        ("2.5  y", "2.50000001 y"),
        ("2.5", "2.5 2.5"),
        ("1e999", "1.5"),
    ],
)
def test_c10_anything_else_is_compared_as_text(output: str, expected: str) -> None:
    assert verdict(output, expected) is WA


def test_c10_integers_beyond_floats_compare_as_text() -> None:
    for name in OUTPUT_CHECKERS:
        assert verdict("50000000000000001", "50000000000000000", name) is WA


def test_c10_two_nans_or_infinities_are_equal_as_text_only() -> None:
    assert verdict("nan inf", "nan inf", "float") is AC
    assert verdict("NaN", "nan", "float") is WA
    assert verdict("1e999", "1e998", "float") is WA


def test_c10_the_float_checker_takes_integers_for_numbers_where_one_side_is_decimal() -> None:
    assert verdict("2.0000001", "2", "float") is AC
    assert verdict("2", "2.0000001", "float") is AC
    assert verdict("3", "2", "float", abs=5) is WA


def test_c10_tolerances_are_the_tasks_choice() -> None:
    assert verdict("0.34", "0.33", abs=0.02) is AC
    assert verdict("104.0", "100.0", rel=0.05, abs=0) is AC
    assert verdict("106.0", "100.0", rel=0.05, abs=0) is WA


def test_c09_numbers_of_any_length_compare_as_text() -> None:
    digits = "7" * 10_000
    assert verdict(digits, digits) is AC
    assert verdict(digits[:-1] + "8", digits) is WA
    assert verdict(digits[:-1] + "8", digits, "float") is WA


@pytest.mark.parametrize("name", OUTPUT_CHECKERS)
def test_c10_a_long_token_takes_no_long_time(name: str) -> None:
    began = time.process_time()
    assert verdict("7" * 60_000 + "x", "7" * 400_000 + ".5", name) is WA
    assert verdict("7." * 30_000 + "x", "7." * 200_000 + "5", name) is WA
    assert time.process_time() - began < 2.0


def test_c12_order_is_free_where_the_task_says_so() -> None:
    assert verdict("b\na\n", "a\nb", "unordered_lines") is AC
    assert verdict("b\na\na\n", "a\nb", "unordered_lines") is WA
    assert verdict("a a b", "a b b", "unordered_tokens") is WA
    assert verdict("b a", "a\nb", "unordered_tokens") is AC


def test_c12_case_is_free_where_the_task_says_so() -> None:
    assert verdict("YES", "Yes") is WA
    assert verdict("YES", "Yes", ignore_case=True) is AC


@pytest.mark.parametrize(
    "output",
    [b"\xff\xfe", b"\x00", "\ufeff4".encode(), b"4\xc3", b"\xed\xa0\x80", "4\u0301".encode()],
)
def test_c13_odd_bytes_are_just_wrong(output: bytes) -> None:
    for name in OUTPUT_CHECKERS:
        assert compare_output(output, "4", Checker(name)).verdict is WA


def test_c13_odd_text_equals_itself() -> None:
    for text in ("\ud800", "\ufeffa", "a\x00b", "\U0001f600"):
        assert verdict(text, text) is AC


def test_output_much_longer_than_expected_is_wrong_without_a_look() -> None:
    cap = output_cap("4")
    assert verdict("4" + "\n" * (cap - 1), "4") is AC
    assert verdict("4" + "\n" * cap, "4") is WA


# -------------------------------------------------------------------------- cases
def cases(output: str, expected: str, **options: object) -> tuple[Verdict, float | None]:
    found = compare_output(output.encode(), expected, Checker("cases", options))
    return found.verdict, found.score


def test_cases_earn_the_fraction_that_is_right() -> None:
    expected = "Case #1: 5\nCase #2: a b\nCase #3: x\nCase #4: 7\n"
    assert cases(expected, expected) == (AC, 1.0)
    assert cases("Case #1: 5\nCase #2: a c\nCase #3: x\nCase #4: 8\n", expected) == (WA, 0.5)
    assert cases("Case #1: 5\n", expected) == (WA, 0.25)
    assert cases("", expected) == (WA, 0.0)
    assert cases("5\na b\nx\n7\n", expected) == (WA, 0.0)


def test_a_case_may_have_many_lines() -> None:
    expected = "Case #1:\n..X\n.X.\nCase #2:\nXX\n"
    assert cases("Case #1:\n..X\n.X.\n\nCase #2:\nXX", expected) == (AC, 1.0)
    assert cases("Case #1:\n..X\n.X\nCase #2:\nXX", expected) == (WA, 0.5)


def test_a_case_said_twice_is_not_right() -> None:
    assert cases("Case #1: 5\nCase #1: 6\n", "Case #1: 6\n") == (WA, 0.0)


def test_output_beside_the_right_cases_is_not_accepted() -> None:
    assert cases("debug\nCase #1: 6\n", "Case #1: 6\n") == (WA, 1.0)
    assert cases("Case #1: 6\nCase #2: 6\n", "Case #1: 6\n") == (WA, 1.0)


def test_cases_have_the_tolerance_of_the_task() -> None:
    assert cases("Case #1: 0.50000001", "Case #1: 0.5") == (AC, 1.0)
    assert cases("Case #1: 0.51", "Case #1: 0.5", abs=0.1) == (AC, 1.0)
    assert cases("Case #1: 0.5", "Case #1: 1", abs=0.1) == (WA, 0.0)


def test_the_prefix_is_the_tasks_choice() -> None:
    assert cases("Fall 1: 6", "Fall 1: 6", prefix="Fall ") == (AC, 1.0)


# ---------------------------------------------------------------------- properties
@given(st.text(), st.sampled_from(sorted(OUTPUT_CHECKERS)))
def test_every_output_equals_itself(text: str, name: str) -> None:
    if name == "cases" and text.count("Case #"):
        return
    assert verdict(text, text, name) is AC


@given(st.binary(), st.text(), st.sampled_from(sorted(OUTPUT_CHECKERS)), st.booleans())
def test_no_output_breaks_a_comparison(
    output: bytes, expected: str, name: str, case: bool
) -> None:
    checker = Checker(name, {"ignore_case": case, "presentation_error": True})
    assert compare_output(output, expected, checker).verdict in (AC, WA, PE)


@given(st.text(alphabet="ab .1\n\t", max_size=12), st.text(alphabet="ab .1\n\t", max_size=12))
def test_what_lines_accept_tokens_accept_too(output: str, expected: str) -> None:
    if verdict(output, expected, "lines") is AC:
        assert verdict(output, expected, "tokens") is AC
        assert verdict(output, expected, "default") is AC


# ----------------------------------------------------------------------- validation
def task(test: Test, checker: Checker) -> Task:
    interface = Stdio() if isinstance(test, StdioTest | ScoreTest) else Function("f")
    return Task("t", "", interface, hidden_tests=(test,), checker=checker)


PRINTS = StdioTest("1", "2")
CALLS = CallTest((1,), {}, 2)


@pytest.mark.parametrize(
    ("test", "checker"),
    [
        (PRINTS, Checker()),
        (PRINTS, Checker("float", {"abs": 1e-3, "rel": 0, "ignore_case": True})),
        (PRINTS, Checker("cases", {"prefix": "Case #", "ignore_exit": True})),
        (PRINTS, Checker(source="def check(i, o, e): return o == e")),
        (CALLS, Checker(options={"abs": 1, "as_set": True, "shape": True, "json_keys": True})),
        (AssertTest("f(1)"), Checker(options={"mutates_arguments": True})),
        (ScoreTest("1"), Checker("source", source="def score(i, o): return 1.0")),
    ],
)
def test_a_checker_that_fits_is_accepted(test: Test, checker: Checker) -> None:
    validate_checker(task(test, checker))


@pytest.mark.parametrize(
    ("test", "checker", "message"),
    [
        (PRINTS, Checker("tokns"), "did you mean 'tokens'"),
        (CALLS, Checker("lines"), "known: default"),
        (PRINTS, Checker("lines", {"abs": 1}), "known options, got 'abs'"),
        (PRINTS, Checker("float", {"as_set": True}), "known options"),
        (CALLS, Checker(options={"ignore_case": True}), "known options"),
        (PRINTS, Checker("float", {"abs": -1}), "tolerance abs >= 0, got -1"),
        (PRINTS, Checker("float", {"rel": float("nan")}), "tolerance rel >= 0"),
        (PRINTS, Checker("float", {"rel": True}), "tolerance rel >= 0"),
        (PRINTS, Checker("cases", {"prefix": ""}), "prefix"),
        (CALLS, Checker(options={"as_set": 1}), "as_set true or false"),
        (ScoreTest("1"), Checker(), "source of score"),
        (CallTest((object(),), {}, 1), Checker(), "plain values"),
    ],
)
def test_a_checker_that_cannot_work_is_refused_with_the_way_out(
    test: Test, checker: Checker, message: str
) -> None:
    with pytest.raises((BadConfig, UnknownName), match=message):
        validate_checker(task(test, checker))


def test_an_unknown_checker_is_an_error_of_the_task() -> None:
    with pytest.raises(UnknownName, match="output checker"):
        compare_output(b"", "", Checker("nonsense"))
