"""The README's commands run as they stand, and its figures are those that are kept.

Its Python example runs as a doctest.
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

import geodp

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())


def run_console(document, folder):
    """Run the commands of a document's first console block, and return what they printed."""
    text = (ROOT / document).read_text(encoding="utf-8").replace("\\\n", "")
    block = re.search(r"```console\n(.*?)```", text, re.DOTALL)
    commands = [line[2:] for line in block[1].splitlines() if line.startswith("$ ")]
    (folder / "data").symlink_to(ROOT / "data")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    outputs = []
    for command in commands:
        assert shlex.split(command)[0] == "geodp"
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    return outputs


def kept(name):
    """Figures that a benchmark kept; they are no part of the wheel."""
    pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
    return json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.law
def test_its_commands_run(tmp_path):
    plan, _, _ = run_console("README.md", tmp_path)
    assert "407.3" in plan
    assert (tmp_path / "release" / "public" / "population.tif").exists()
    assert (tmp_path / "release" / "restricted").exists()


def test_the_commands_of_the_page_on_formats_run(tmp_path):
    columns, code = run_console("docs/formats.md", tmp_path)
    assert "人口（総数）" in columns
    assert code.strip() == "533946113"


def test_every_method_is_in_the_table():
    table = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8").partition("\nWhere ours")[0]
    named = {name for row in table.splitlines() for name in re.findall("`([a-z0-9-]+)`", row[:60])}
    assert set(geodp.METHODS) <= named


def test_errors_beside_laplace_noise_are_those_that_were_kept():
    found = kept("peers")
    rows = {row["peer"]: row for row in found["rows"]}
    ours, laplace = rows["geodp pyramid"], rows["geodp laplace"]
    negative = 100 * laplace["negative"] / found["settings"]["cells"]
    figures = [f"{ours['mae'][bits]:.1f}" for bits in (6, 12)]
    figures += [f"{laplace['mae'][6]:.1f}", f"{laplace['mae'][12]:.0f}", f"{negative:.0f} %"]
    for figure in figures:
        assert re.search(rf"\b{figure}(?!\w)", WORDS), figure
    assert ours["negative"] == 0


def test_rows_with_laplace_noise_differ_by_chance():
    """Three standard errors of the difference, between any two of them."""
    rows = [row for row in kept("peers")["rows"] if "laplace, each cell" in row["peer"]]
    rows += [row for row in kept("peers")["rows"] if row["peer"] == "geodp laplace"]
    assert len(rows) == 4
    for one, other in combinations(rows, 2):
        error = math.hypot(one["mae_se"][12], other["mae_se"][12])
        assert abs(one["mae"][12] - other["mae"][12]) < 3 * error


def test_seconds_and_ways_of_running_are_those_that_were_kept():
    found = kept("speed")
    (row,) = (
        row
        for row in found["refinement"]
        if (row["table"], row["method"], row["bits"]) == ("clustered", "pyramid", 37)
        and row["occupied"] == 10_000_000
    )
    assert {f"{row['seconds_1']:.1f}", f"{row['seconds_2']:.1f}"} <= {*WORDS.split()}
    ways = [way for row in found["identical"] for way in row["ways"]]
    assert all(row["identical"] for row in found["identical"])
    assert f"{len(ways)} of {len(ways)}" in WORDS
