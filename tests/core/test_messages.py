"""How a program is taken out of what a model wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.messages import extract_program, fenced_blocks

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


def test_fenced_blocks_come_with_their_labels_and_places() -> None:
    text = "Two.\n```python Checker\na\n```\n~~~\nb\n~~~\n```text\nc"
    blocks = fenced_blocks(text)
    assert [(b.tag, b.label, b.body, b.closed) for b in blocks] == [
        ("python", "checker", "a\n", True),
        ("", "", "b\n", True),
        ("text", "", "c", False),
    ]
    assert [text[block.start :][:3] for block in blocks] == ["```", "~~~", "```"]
