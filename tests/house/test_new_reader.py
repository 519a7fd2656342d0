"""A new reader is one file: the example of docs/how-to works everywhere with no other edit."""

import json

import pytest

from tests.house.recipes import copy_with, count_passed, run, run_any
from tests.house.test_house import violations

pytestmark = pytest.mark.law


GRID = ("--grid", "jis:half", "--bounds", "139", "35.3333333333", "140", "36")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with the example's file, and some inputs."""
    copy = copy_with(tmp_path_factory.mktemp("project"), "geodp/io/read/jsonl.py", "Add a reader")
    good = [{"code": "533946111", "people": 3}, {"code": "533946112", "people": 4}]
    for name, rows in {
        "good": good,
        "bad": [*good, {"code": "533946113", "people": -5}],
        "other": [{"code": "533946111", "n": 1}],
        "again": [*good, *good],
    }.items():
        lines = [json.dumps(row) for row in rows]
        (copy / f"{name}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (copy / "broken.jsonl").write_text('{"code": "533946111", "people": SECRET\n')
    return copy


def publish(project, file, *words):
    more = ("--count-name", "people", "--epsilon", "1", "--contribution", "1")
    return run_any(project, "publish", file, *GRID, *more, *words)


def test_the_house_and_the_readers_tests_take_it(project):
    assert violations(project / "geodp") == []
    files = ("tests.io.read.test_table_of_readers", "tests.cli.test_process")
    asked = "frozen_value or spell or fields or imports_little"
    assert all(count_passed(project, files, asked).values())


def test_the_command_line_has_its_options(project):
    for command in ("publish", "evaluate"):
        assert "Name of the count (JSON lines). [default: count]" in " ".join(
            run(project, command, "--help-all").split()
        )
    done = publish(project, "a.csv", "--output", "o")
    assert done.returncode == 2
    assert "Not for a table: --count-name" in done.stderr
    done = publish(project, "good.jsonl", "--value", "v", "--output", "o")
    assert done.returncode == 2
    assert (
        "Not for JSON lines: --value. These take --count-name, --duplicates, --outside."
        in done.stderr
    )


def test_its_files_are_published(project):
    done = publish(project, "good.jsonl", "--output", "out")
    assert done.returncode == 0, done.stderr
    kept = json.loads((project / "out" / "restricted" / "run.json").read_text(encoding="utf-8"))
    assert (kept["counted_people"], kept["occupied_cells"]) == (7, 2)
    run(project, "verify", "out")
    done = publish(project, "again.jsonl", "--duplicates", "sum", "--output", "summed")
    assert done.returncode == 0, done.stderr
    kept = json.loads((project / "summed" / "restricted" / "run.json").read_text(encoding="utf-8"))
    assert (kept["counted_people"], kept["occupied_cells"]) == (14, 2)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("bad.jsonl", "bad.jsonl, row 3: Column people: "),
        ("other.jsonl", "other.jsonl: A line has a code and a people."),
        ("again.jsonl", "again.jsonl, row 3: The cell already has a row"),
        ("broken.jsonl", "broken.jsonl: The file cannot be read as a table"),
        ("absent.jsonl", "absent.jsonl: There is no such file."),
    ],
)
def test_what_is_wrong_is_named_by_file_and_row_without_a_value(project, file, words):
    done = publish(project, file, "--output", "wrong")
    assert done.returncode == 5, done.stderr
    assert words in done.stderr
    assert not any(secret in done.stderr for secret in ("-5", "SECRET", "533946"))
    assert not (project / "wrong").exists()
