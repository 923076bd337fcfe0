"""What the loader of the Hash Code tasks and their scorers promise."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import ScoreTest, Task
from corecode_env.tasks import hashcode_scorers
from corecode_env.tasks.formats import Where
from corecode_env.tasks.hashcode import HASHCODE, LARGE_INSTANCES, REFERENCES, SCORERS

DATA = Path(__file__).resolve().parents[1] / "data/hashcode/hashcode.jsonl.gz"
with gzip.open(DATA, "rt", encoding="utf-8") as _lines:
    RECORDS: dict[str, dict[str, Any]] = {
        record["id"].rpartition("/")[2]: record for record in map(json.loads, _lines)
    }
TASKS = {name: HASHCODE.read(record, Where(DATA.name)) for name, record in RECORDS.items()}
each_task = pytest.mark.parametrize("name", SCORERS)


def score(task: Task, instance: str, output: str) -> float:
    """Run a task's scorer as the judge does: from its source alone."""
    space: dict[str, Any] = {"__name__": "scorer"}
    exec(task.checker.source, space)
    result = space["score"](instance, output)
    assert isinstance(result, float)
    return result


def instance(name: str, key: str) -> str:
    return next(str(i["input"]) for i in RECORDS[name]["instances"] if i["name"] == key)


@each_task
def test_the_documented_example_has_its_documented_score(name: str) -> None:
    example = RECORDS[name]["example"]
    task = TASKS[name]
    given = task.public_tests[0]
    assert isinstance(given, ScoreTest)
    assert score(task, given.instance, example["output"]) == example["score"]


def test_the_documented_scores_are_10_and_462500_and_2() -> None:
    assert [RECORDS[name]["example"]["score"] for name in SCORERS] == [10, 462500, 2]


@each_task
def test_the_example_is_public_and_the_other_instances_hidden_but_the_large_ones(
    name: str,
) -> None:
    task = TASKS[name]
    names = {test.name for test in task.tests if isinstance(test, ScoreTest)}
    assert len(task.public_tests) == 1 and task.hidden_tests
    assert names == {i["name"] for i in RECORDS[name]["instances"]} - LARGE_INSTANCES.keys()
    assert task.kind == "optimize"


@each_task
def test_every_test_is_scored_against_a_reference_above_zero(name: str) -> None:
    for test in TASKS[name].tests:
        assert isinstance(test, ScoreTest)
        assert test.reference == REFERENCES[name, test.name] > 0


@each_task
@pytest.mark.parametrize(
    "output", ["", "\n", "x\n", "-1\n", "1_0\n", "٣\n", "99999999999999999999999\n", "1\n"]
)
def test_nonsense_is_invalid(name: str, output: str) -> None:
    given = TASKS[name].public_tests[0]
    assert isinstance(given, ScoreTest)
    with pytest.raises(ValueError, match=r"must|one slide"):
        score(TASKS[name], given.instance, output)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("1 0\n", "2 lines"),
        ("1 0\n1 1\n0\n", "2 lines"),
        ("1 0\n1 0\n", "once"),
        ("1 0\n1 3\n", "below 3"),
        ("2 0\n1 1\n", "number of rides"),
        ("1 0\n\n1 1\n", "2 lines"),
    ],
)
def test_rides_must_be_assigned_as_the_format_says(output: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        hashcode_scorers.self_driving_rides(
            instance("self_driving_rides", "a_example"), output
        )


def test_rides_that_end_late_earn_nothing_and_still_take_the_vehicle_away() -> None:
    # One vehicle, bonus 2, 10 steps. Ride 0 ends at (0, 3) at step 3; ride 1 is too late.
    city = "5 5 1 3 2 10\n0 0 0 3 0 9\n4 3 4 4 0 2\n4 4 4 3 0 9\n"
    rides = hashcode_scorers.self_driving_rides
    assert rides(city, "1 0\n") == 3 + 2
    assert rides(city, "2 0 1\n") == 3 + 2
    assert rides(city, "3 0 1 2\n") == 3 + 2 + 1
    assert rides(city, "0\n") == 0


def test_a_ride_earns_its_bonus_only_at_its_earliest_start() -> None:
    city = "5 5 1 1 7 20\n0 2 0 4 3 20\n"
    assert hashcode_scorers.self_driving_rides(city, "1 0\n") == 2 + 7  # waits until 3
    late = "5 5 1 1 7 20\n0 2 0 4 1 20\n"
    assert hashcode_scorers.self_driving_rides(late, "1 0\n") == 2  # arrives at 2


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("1\n0 0 1 3\n", "at most 100 MB"),
        ("2\n0 2\n0 1\n", "once"),
        ("1\n0 2 2\n", "once"),
        ("1\n3 0\n", "below 3"),
        ("1\n0 5\n", "below 5"),
        ("2\n0 2\n", "2 lines"),
        ("1\n0 2\n1 1\n", "1 lines"),
        ("4\n0\n1\n2\n2\n", "at most 3"),
    ],
)
def test_caches_must_be_filled_as_the_format_says(output: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        hashcode_scorers.streaming_videos(instance("streaming_videos", "example"), output)


def test_empty_caches_save_nothing() -> None:
    assert (
        hashcode_scorers.streaming_videos(instance("streaming_videos", "example"), "0\n") == 0
    )


def test_the_best_linked_cache_serves() -> None:
    # Video 0 is in caches 0 (10 ms) and 1 (30 ms); the center takes 100 ms.
    net = "1 1 1 2 9\n5\n100 2\n0 10\n1 30\n0 0 4\n"
    videos = hashcode_scorers.streaming_videos
    assert videos(net, "1\n1 0\n") == 70_000
    assert videos(net, "2\n1 0\n0 0\n") == 90_000


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("1\n1\n", "one H or two V"),
        ("1\n0 3\n", "one H or two V"),
        ("1\n1 2 0\n", "one H or two V"),
        ("2\n0\n0\n", "once"),
        ("1\n4\n", "below 4"),
        ("0\n", "at least one slide"),
        ("1\n\n0\n", "1 lines"),
    ],
)
def test_slides_must_be_made_as_the_format_says(output: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        hashcode_scorers.photo_slideshow(instance("photo_slideshow", "a_example"), output)


def test_given_order_of_memorable_moments_scores_152() -> None:
    # A figure of the data's README: horizontal photos, then pairs of vertical ones.
    given = instance("photo_slideshow", "c_memorable_moments")
    lines = given.splitlines()[1:]
    flat = [str(number) for number, line in enumerate(lines) if line[0] == "H"]
    upright = [str(number) for number, line in enumerate(lines) if line[0] == "V"]
    pairs = [f"{a} {b}" for a, b in zip(upright[::2], upright[1::2], strict=True)]
    output = "\n".join([str(len(flat + pairs)), *flat, *pairs])
    assert hashcode_scorers.photo_slideshow(given, output) == 152


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("id", "hashcode/2030/pizza", "id"),
        ("objective", "minimize", "objective"),
        ("example", 3, "example"),
        ("example", {"instance": "z", "output": "", "score": 1}, "example.instance"),
        ("instances", [{"name": "a_example"}], "instances[0].input"),
        ("scoring", None, "scoring"),
    ],
)
def test_a_broken_record_names_its_field(field: str, value: object, named: str) -> None:
    record = {**RECORDS["photo_slideshow"], field: value}
    with pytest.raises(BadRecord) as caught:
        HASHCODE.read(record, Where("h.jsonl", 1))
    assert caught.value.field == named


def test_a_task_survives_the_way_through_json() -> None:
    for task in TASKS.values():
        assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
