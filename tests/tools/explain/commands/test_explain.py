"""``geodp explain``: a written release in plain words, and nothing heavy is loaded for it."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import geodp
from tests.command import geodp as command

HEAVY = ("numba", "llvmlite", "pyarrow", "rasterio", "pyproj", "matplotlib", "scipy", "pandas")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release of counts that no page may show."""
    grid = geodp.Grid.regular((8, 8))
    table = geodp.CountTable.from_dense(np.full((8, 8), 7), grid)
    path = tmp_path_factory.mktemp("explain") / "release"
    geodp.publish(table, epsilon=1, contribution=1).write(path)
    return path


def test_a_selection_has_no_table_to_export(tmp_path):
    table = geodp.CountTable.from_dense(np.arange(64).reshape(8, 8), geodp.Grid.regular((8, 8)))
    geodp.select.top_cells(table, 2, epsilon=1, contribution=1).write(tmp_path / "out")
    refused = command("export", tmp_path / "out", "--to", "gpkg", "--output", tmp_path / "x")
    assert refused.returncode == 2
    assert "geodp report, geodp verify and geodp explain read it" in refused.stderr


def test_what_is_no_release_is_refused(tmp_path):
    done = command("explain", tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"Error: {tmp_path} holds no release: there is no public/release.json.\n"
    (tmp_path / "release.json").write_text('{"schema": "other"}')
    assert "The card's schema is 'other'" in command("explain", tmp_path).stderr


def test_the_file_of_an_audit(tmp_path):
    path = tmp_path / "audit.json"
    said = {"threshold": 10, "rate": "1/5", "epsilon": 1.0, "delta": 1e-6}
    path.write_text(json.dumps({"guarantee": said}))
    done = command("explain", path)
    assert done.returncode == 0
    assert "Counts below 10 must be left out" in done.stdout
    path.write_text("{}")
    assert command("explain", path).returncode == 3
    path.write_text("{")
    done = command("explain", path)
    assert done.returncode == 5
    assert "not readable as JSON" in done.stderr


def test_nothing_heavy_is_loaded(folder):
    code = (
        "import sys; from geodp.cli import geodp;"
        f"geodp.main(['explain', {str(folder)!r}], standalone_mode=False);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("# What release ")
    assert done.stderr == "[]\n"
