"""A new format is one file: CONTRIBUTING's example works everywhere with no other edit."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import geodp

ROOT = Path(__file__).parents[2]
LINES = 40
"""A complete format is not longer than this, blank lines apart."""


def example():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (block,) = (block for block in blocks if "FORMATS = " in block)
    return block


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the package, with the example's file and no other change."""
    copy = tmp_path_factory.mktemp("project")
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(geodp.__file__).parent, copy / "geodp", ignore=leave)
    path = copy / "geodp" / "io" / "write" / "json_lines.py"
    assert not path.exists()
    path.write_text(example(), encoding="utf-8")
    lines = [f"{x},{y},{10 * x + y}" for x in range(8) for y in range(8)]
    (copy / "people.csv").write_text("\n".join(["x,y,n", *lines, ""]), encoding="utf-8")
    return copy


def run(project, *words):
    """Run a module in the copy, whose geodp comes before any that is installed."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_example_is_short():
    assert sum(1 for line in example().splitlines() if line.strip()) <= LINES


def test_a_release_has_it_and_is_verified(project):
    table = ("--x", "x", "--y", "y", "--anchor", "index", "--value", "n", "--method", "laplace")
    call = ("people.csv", "--grid", "regular:8x8", *table, "--contribution", "1", "--epsilon", "1")
    code, said = run(project, "geodp", "publish", *call, "--output", "out")
    assert code == 0, said
    public = project / "out" / "public"
    card = json.loads((public / "release.json").read_text(encoding="utf-8"))
    assert card["files"][-1]["name"] == "population.jsonl"
    assert card["files"][-1]["media_type"] == "application/jsonl"
    rows = [json.loads(line) for line in (public / "population.jsonl").open(encoding="utf-8")]
    assert len(rows) == len((public / "population.csv").read_text().splitlines()) - 1
    assert {*rows[0]} == {"cell", "population"}
    code, said = run(project, "geodp", "verify", "out")
    assert code == 0, said
    with (public / "population.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    code, said = run(project, "geodp", "verify", "out")
    assert code == 3
    assert "population.jsonl was changed" in said
