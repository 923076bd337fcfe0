"""How a program is taken out of what a model wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.messages import extract_program

CASES = [
    ("print(1)", "print(1)", "whole text"),
    ("", "", "whole text"),
    ("```python\na\n```", "a\n", "fence"),
    ("```py\na\n```\nthen\n```python\nb\n```", "b\n", "fence 2 of 2"),
    ("```python\na\n```\n```text\nout\n```", "a\n", "fence 1 of 2"),
    ("```\na\n```\n```\nb\n```", "b\n", "fence 2 of 2"),
    ("talk\n```python\na = 1\nb", "a = 1\nb", "open fence"),
    ("~~~python\na\n~~~", "a\n", "fence"),
    ("````python\n```\n````", "```\n", "fence"),
    ("```json\n{}\n```", "```json\n{}\n```", "whole text"),
    ("```python\r\na\r\n```", "a\n", "fence"),
    ("```Python\na\n```", "a\n", "fence"),
    ("```", "", "open fence"),
]


@pytest.mark.parametrize(("action", "program", "found"), CASES)
def test_the_program_is_found(action: str, program: str, found: str) -> None:
    submission = extract_program(action)
    assert (submission.program, submission.found) == (program, found)


@given(st.text(alphabet="`~ \npython#x"))
def test_any_text_gives_a_program(action: str) -> None:
    assert extract_program(action).program in action.replace("\r\n", "\n")
