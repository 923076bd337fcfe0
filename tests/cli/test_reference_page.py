"""The page on the command line says what the commands say."""

from pathlib import Path

from corecode_env.cli.reference import reference_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_the_page_is_what_the_commands_print() -> None:
    assert PAGE.read_text() == reference_page(), (
        f"write it anew: python -m corecode_env.cli.reference > {PAGE.name}"
    )
