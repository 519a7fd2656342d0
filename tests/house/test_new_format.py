"""A new format is one file: the example of docs/how-to works everywhere with no other edit."""

import json

import pytest

from tests.house.recipes import copy_with, run, run_any

pytestmark = pytest.mark.law


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project, with the example's file and no other change, and a table."""
    file = "geodp/io/write/json_lines.py"
    copy = copy_with(tmp_path_factory.mktemp("project"), file, "Add a format")
    lines = [f"{x},{y},{10 * x + y}" for x in range(8) for y in range(8)]
    (copy / "people.csv").write_text("\n".join(["x,y,n", *lines, ""]), encoding="utf-8")
    return copy


def test_a_release_has_it_and_is_verified(project):
    table = ("--x", "x", "--y", "y", "--anchor", "index", "--value", "n", "--method", "laplace")
    call = ("people.csv", "--grid", "regular:8x8", *table, "--contribution", "1", "--epsilon", "1")
    run(project, "publish", *call, "--output", "out")
    public = project / "out" / "public"
    card = json.loads((public / "release.json").read_text(encoding="utf-8"))
    assert card["files"][-1]["name"] == "population.jsonl"
    assert card["files"][-1]["media_type"] == "application/jsonl"
    rows = [json.loads(line) for line in (public / "population.jsonl").open(encoding="utf-8")]
    assert len(rows) == len((public / "population.csv").read_text().splitlines()) - 1
    assert {*rows[0]} == {"cell", "population"}
    run(project, "verify", "out")
    with (public / "population.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    done = run_any(project, "verify", "out")
    assert done.returncode == 3
    assert "population.jsonl was changed" in done.stdout + done.stderr
