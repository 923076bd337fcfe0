"""Source: syntax trees back to text, whatever numbers are in them."""

from __future__ import annotations

import ast
import copy
import sys


def unparse(node: ast.AST) -> str:
    """Return the source of a tree, with integers that Python refuses to print in hex.

    Python turns no integer of over some 4,300 digits into decimal text, and `ast.unparse`
    knows no other way; hexadecimal has no such limit.

    >>> unparse(ast.parse("x = 0x" + "f" * 5000))[:20]
    "x = int('0xfffffffff"
    """
    limit = sys.get_int_max_str_digits()
    huge = any(_is_huge(part, limit) for part in ast.walk(node))
    return ast.unparse(_HexIntegers(limit).visit(copy.deepcopy(node)) if huge else node)


def _is_huge(node: ast.AST, limit: int) -> bool:
    # A decimal digit holds over 3 bits, so that this errs towards hex.
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        return False
    return limit > 0 and node.value.bit_length() > 3 * limit


class _HexIntegers(ast.NodeTransformer):
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not _is_huge(node, self.limit):
            return node
        assert isinstance(node.value, int)
        digits: list[ast.expr] = [ast.Constant(hex(node.value)), ast.Constant(16)]
        return ast.Call(ast.Name("int", ast.Load()), digits, [])
