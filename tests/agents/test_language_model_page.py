"""What the page on language models shows, runs: its blocks, one after the other.

They stand under `py`, not `python`: the tests of the docs run those without torch.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")
pytest.importorskip("openai")

from corecode_env.agents.local_model import TransformersAgent
from tests.agents.tiny_models import byte_tokenizer, tiny_llama

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "use-a-language-model.md"


def test_the_blocks_of_the_page_run(tmp_path: Path) -> None:
    model = tiny_llama(window=4096)
    TransformersAgent(model, byte_tokenizer()).save(tmp_path / "my-model")
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    program = "\n".join(
        f"exec(compile({body!r}, 'block {number}', 'exec'))"
        for number, body in enumerate(blocks, start=1)
    )
    # peft asks transformers for an attribute by its old name.
    quiet = ("-W", "error", "-W", "ignore::FutureWarning")
    done = subprocess.run(
        [sys.executable, *quiet, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "my-coder" / "adapter_config.json").is_file()
