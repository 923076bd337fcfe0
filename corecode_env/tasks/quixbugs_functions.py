"""What the functions of QuixBugs do, in our words: the published tests have no statement.

Also how a result is compared where the published one is only one of several right ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Described:
    """A function of QuixBugs."""

    signature: str
    does: str
    """What it returns, as a clause after "a function that returns"."""
    check: str = ""
    """Source that asserts about `_args`, `_result` and `_expected`; empty: equality."""


_ANY_PLACE: Final = """\
if _expected == -1:
    assert type(_result) is int and _result == -1
else:
    assert type(_result) is int and 0 <= _result < len(_args[0])
    assert _args[0][_result] == _args[1]
"""
_ANY_SUBSEQUENCE: Final = """\
def _runs_through(text):
    letters = iter(text)
    return all(letter in letters for letter in _result)
assert type(_result) is str and len(_result) == len(_expected)
assert _runs_through(_args[0]) and _runs_through(_args[1])
"""
_WITHIN_EPSILON: Final = """\
assert type(_result) in (int, float) and abs(_result - _expected) <= _args[1]
"""
_ANY_ORDER: Final = """\
assert type(_result) is list and all(type(item) is list for item in _result)
assert sorted(_result) == sorted(_expected)
"""

FUNCTIONS: Final[Mapping[str, Described]] = MappingProxyType(
    {
        "bitcount": Described("bitcount(n)", "the number of 1 bits of n (n >= 0)"),
        "bucketsort": Described(
            "bucketsort(arr, k)", "the numbers of arr, all from 0 to k - 1, in ascending order"
        ),
        "find_first_in_sorted": Described(
            "find_first_in_sorted(arr, x)",
            "the first index at which x stands in the ascending list arr, or -1",
        ),
        "find_in_sorted": Described(
            "find_in_sorted(arr, x)",
            "an index at which x stands in the ascending list arr, or -1",
            _ANY_PLACE,
        ),
        "flatten": Described(
            "flatten(arr)", "the items of the nested list arr, in order, without nesting"
        ),
        "gcd": Described("gcd(a, b)", "the greatest common divisor of a and b (both >= 0)"),
        "get_factors": Described(
            "get_factors(n)",
            "the prime factors of n (n >= 1) in ascending order, each as often as it occurs",
        ),
        "hanoi": Described(
            "hanoi(height, start=1, end=3)",
            "the moves, each as (from, to), by which the usual recursion brings a tower of "
            "Hanoi of this height from peg start to peg end, over the lowest of pegs 1, 2, 3 "
            "that is neither; start and end may be the same",
        ),
        "is_valid_parenthesization": Described(
            "is_valid_parenthesization(parens)",
            "whether the string parens of ( and ) is properly nested and closed",
        ),
        "kheapsort": Described(
            "kheapsort(arr, k)",
            "the items of arr in ascending order; each stands at most k places away from "
            "where it belongs",
        ),
        "knapsack": Described(
            "knapsack(capacity, items)",
            "the largest total value of items, given as (weight, value), whose weights add up "
            "to at most capacity; each item can be taken once",
        ),
        "kth": Described("kth(arr, k)", "the k-th smallest item of arr, counted from 0"),
        "lcs_length": Described(
            "lcs_length(s, t)", "the length of the longest substring that s and t share"
        ),
        "levenshtein": Described(
            "levenshtein(source, target)",
            "the smallest number of insertions, deletions and replacements of one letter that "
            "turn source into target",
        ),
        "lis": Described(
            "lis(arr)", "the length of the longest strictly increasing subsequence of arr"
        ),
        "longest_common_subsequence": Described(
            "longest_common_subsequence(a, b)",
            "a longest string whose letters stand in a and in b in this order, not "
            "necessarily next to each other",
            _ANY_SUBSEQUENCE,
        ),
        "max_sublist_sum": Described(
            "max_sublist_sum(arr)",
            "the largest sum of neighbouring items of arr; no item at all counts as 0",
        ),
        "mergesort": Described("mergesort(arr)", "the items of arr in ascending order"),
        "next_palindrome": Described(
            "next_palindrome(digit_list)",
            "the digits, as a list, of the next larger number that reads the same both ways; "
            "digit_list holds the digits of such a number",
        ),
        "next_permutation": Described(
            "next_permutation(perm)",
            "the next permutation of the list perm in lexicographic order; there is one",
        ),
        "pascal": Described(
            "pascal(n)", "the first n rows of Pascal's triangle, as a list of lists"
        ),
        "possible_change": Described(
            "possible_change(coins, total)",
            "the number of ways to make total with any numbers of the given coins, in no "
            "particular order; 0 for a negative total",
        ),
        "powerset": Described(
            "powerset(arr)",
            "all subsets of arr as a list of lists, items in the order of arr, subsets in any "
            "order",
            _ANY_ORDER,
        ),
        "quicksort": Described("quicksort(arr)", "the items of arr in ascending order"),
        "rpn_eval": Described(
            "rpn_eval(tokens)",
            "the value of an expression in reverse Polish notation; tokens are numbers and "
            "the strings + - * /",
        ),
        "shunting_yard": Described(
            "shunting_yard(tokens)",
            "the tokens, numbers and the strings + - * /, of an infix expression in reverse "
            "Polish notation; operators of equal rank go from left to right",
        ),
        "sieve": Described("sieve(max)", "all primes up to and including max, ascending"),
        "sqrt": Described(
            "sqrt(x, epsilon)", "the square root of x, at most epsilon off", _WITHIN_EPSILON
        ),
        "subsequences": Described(
            "subsequences(a, b, k)",
            "all strictly ascending lists of k integers from a to b - 1, in lexicographic "
            "order",
        ),
        "to_base": Described(
            "to_base(num, b)",
            "num (> 0) written in base b (2 to 36), with digits 0 to 9 and A to Z",
        ),
        "wrap": Described(
            "wrap(text, cols)",
            "text cut into a list of pieces of at most cols characters: each cut is just "
            "before the last blank that lets the piece fit (the blank begins the next "
            "piece), or after cols characters if there is no blank; the pieces joined are "
            "the text",
        ),
    }
)
"""All functions with published tests."""
