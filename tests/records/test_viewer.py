"""What the viewer promises: everything on one page, whatever programs hold, in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.episode import Episode, Submission, Turn
from corecode_env.core.errors import BadConfig
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.records import write_episodes
from corecode_env.records.viewer import episode_files, page

HOSTILE = (
    "</script><script>document.title='caught'</script><!-- <img src=x onerror="
    "\"document.title='caught'\">\u2028\u2029 {{script}} &lt; \ud800"
)
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


def episode(
    task_id: str = "t/1", text: str = "print(1)", verdict: Verdict = Verdict.AC, seed: int = 0
) -> Episode:
    results = (TestResult(verdict, public=True), *[TestResult(verdict)] * 3)
    planned = Turn("planner_0", 0, {"prompt": "Plan it."}, "1. think")
    judged = Turn(
        agent="coder_0",
        round=0,
        observation={"prompt": "Write it."},
        action=text,
        submission=Submission(text),
        judgement=Judgement(task_id, results),
        reward_terms={"coder_0": {"accuracy": 0.25, "time": None}},
    )
    return Episode(task_id, seed, ("planner_0", "coder_0"), (planned, judged), env_id="e_v0")


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert found is not None
    record: dict[str, Any] = json.loads(found[1])
    return record


@pytest.fixture
def dump(tmp_path: Path) -> Callable[[str, str], str]:
    """Open a page at a place in a browser, and return the page as the browser then has it."""

    def dump(html: str, place: str) -> str:
        assert CHROMIUM is not None
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=20000",
        )
        profile = f"--user-data-dir={tmp_path / 'profile'}"
        address = f"{file.as_uri()}#/{place}"
        done = subprocess.run(
            [CHROMIUM, *options, profile, "--dump-dom", address],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout

    return dump


def shown(dom: str) -> str:
    main = re.search(r"<main.*?</main>", dom, re.S)
    assert main is not None
    return unescape(re.sub(r"<[^>]*>", " ", main[0]))


def test_hostile_text_cannot_leave_its_place_in_the_page(tmp_path: Path) -> None:
    write_episodes(tmp_path / "e.jsonl", [episode(text=HOSTILE, task_id=HOSTILE)])
    html = page([tmp_path / "e.jsonl"], title="<b>run</b>")
    assert html.count("</script>") == 2
    assert "<b>" not in html
    assert "\u2028" not in html
    assert HOSTILE in data_of(html)["texts"]


def test_a_page_asks_for_nothing_from_outside(tmp_path: Path) -> None:
    write_episodes(tmp_path / "e.jsonl", [episode()])
    html = page([tmp_path / "e.jsonl"], title="run")
    assert re.findall(r"\b(?:src|href)=[\"'](?!#)", html) == []
    assert "default-src 'none'" in html


def test_texts_and_turns_that_episodes_share_are_kept_once(tmp_path: Path) -> None:
    write_episodes(tmp_path / "e.jsonl", [episode(text="a"), episode(text="b")])
    data = data_of(page([tmp_path / "e.jsonl"], title="run"))
    assert [e["turns"] for e in data["episodes"]] == [[0, 1], [0, 2]]
    assert sorted(data["texts"]) == ["1. think", "Plan it.", "Write it.", "a", "b"]


def test_more_episodes_than_fit_are_cut_evenly_and_the_page_says_so(tmp_path: Path) -> None:
    for name, count in (("a", 2), ("b", 9), ("c", 9)):
        write_episodes(tmp_path / f"{name}.jsonl", [episode(seed=i) for i in range(count)])
    data = data_of(page(episode_files(tmp_path), title="run", most=10))
    files = [e["file"] for e in data["episodes"]]
    assert [files.count(i) for i in range(3)] == [2, 4, 4]
    assert "Of 20 recorded episodes" in data["notes"][0]


def test_a_line_that_was_cut_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "e.jsonl"
    write_episodes(file, [episode(), episode()])
    file.write_bytes(file.read_bytes()[:-20])
    data = data_of(page([file], title="run"))
    assert len(data["episodes"]) == 1
    assert f"{file}:2" in data["notes"][0]


def test_steps_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for step in (10, 2, 1):
        write_episodes(tmp_path / "episodes" / f"step-{step}.jsonl", [episode()])
    assert [f.stem for f in episode_files(tmp_path)] == ["step-1", "step-2", "step-10"]


def test_a_folder_without_episodes_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="corecode play --out"):
        episode_files(tmp_path)


@in_browser
def test_a_browser_shows_hostile_text_as_text(
    tmp_path: Path, dump: Callable[[str, str], str]
) -> None:
    plain = HOSTILE.replace("\ud800", "")
    write_episodes(tmp_path / "e.jsonl", [episode(text=plain, task_id="<i>t</i>")])
    dom = dump(page([tmp_path / "e.jsonl"], title="run"), "episode/0")
    assert "<title>run</title>" in dom
    assert plain in unescape(dom)
    assert "<img" not in re.sub(r"<script.*?</script>", "", dom, flags=re.S)
    assert "<i>" not in dom


@in_browser
def test_every_view_shows_what_it_is_for(
    tmp_path: Path, dump: Callable[[str, str], str]
) -> None:
    first, last = tmp_path / "evaluation-0.jsonl", tmp_path / "evaluation-5.jsonl"
    wrong = [episode(text="first try", verdict=Verdict.WA), episode(text="second try")]
    write_episodes(first, wrong)
    write_episodes(last, [episode(text="third try")])
    metrics = [{"step": 0, "pass@1": 0.5}, {"step": 5, "pass@1": 1.0}]
    html = page([first, last], title="run", metrics=metrics)
    overview = dump(html, "")
    assert "3 episodes, 2 solved, in 2 files." in shown(overview)
    assert '<polyline class="line"' in overview
    assert "3 of 3 episodes" in shown(dump(html, "episodes"))
    one = shown(dump(html, "episode/0"))
    wanted = ("1. think", "first try", "second try", "accuracy", "0.25", "1\u20133", "hidden")
    for text in wanted:
        assert text in one
    assert "Group: the 2 episodes that begin with the same turn" in one
    assert "Tree: all turns that grew from this reset" in one
    assert "third try" not in one
    both = shown(dump(html, "compare"))
    assert "50 % of 2" in both
    assert "100 % of 1" in both
    assert "first try" in both
    assert "third try" in both


@pytest.mark.slow
@in_browser
def test_ten_thousand_episodes_stay_usable(
    tmp_path: Path, dump: Callable[[str, str], str]
) -> None:
    many = (episode(f"t/{i // 10}", f"print({i})\n" * 40, seed=i // 10) for i in range(10_000))
    write_episodes(tmp_path / "e.jsonl", many)
    html = page([tmp_path / "e.jsonl"], title="run")
    assert len(html) < 20_000_000
    listed = dump(html, "episodes")
    assert "10000 of 10000 episodes" in shown(listed)
    assert listed.count("<tr>") == 51
