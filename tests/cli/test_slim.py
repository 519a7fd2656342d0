"""What an installation without any extra does: the main job, and a sentence for all else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.law

ROOT = Path(__file__).parents[2]
FILE = str(ROOT / "data" / "kanto" / "tblT999999H5339.zip")

RUN = """
import json, sys

ABSENT = {"dask", "distributed", "geopandas", "h3", "h5py", "matplotlib", "openpyxl",
          "pandas", "pmtiles", "pyogrio", "s2geometry", "scipy", "xarray"}

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent)
from tests.command import geodp

for line in sys.stdin:
    done = geodp(*json.loads(line))
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
assert not ABSENT & {name.partition(".")[0] for name in sys.modules}
"""

SLIM = "gpkg,csv:excel,csv:estat,geojson,maplibre,parquet,qml"
"""Exports that need no library but those of every installation."""

TABLE = [FILE, "--grid", "jis:half", "--value", "人口（総数）", "--epsilon", "1/2"]
WHOLE = [*TABLE, "--primary", "5339"]


def run(folder, *calls):
    """Exit code, standard output and error of each call, one process for all."""
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input="".join(json.dumps([*map(str, call)]) + "\n" for call in calls),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_main_job_needs_no_extra(tmp_path):
    done = run(
        tmp_path,
        ["inspect", FILE],
        ["plan", *WHOLE[1:3], "--primary", "5339", "--epsilon", "1/2", "--people", "5e6"],
        ["publish", *WHOLE, "--output", "out"],
        ["verify", "out"],
        ["estimate", "out", "--area", "533946"],
        ["export", "out", "--to", "gpkg,csv:excel,csv:estat,parquet,stac", "--output", "stac"],
        ["export", "out", "--to", SLIM, "--output", "files"],
        ["map", "out", "--output", "map.png"],
        ["report", "out"],
        ["report", "out", "--format", "html", "--output", "page.html"],
        ["evaluate", *WHOLE, "--methods", "pyramid,laplace", "--trials", "2"],
        ["doctor"],
    )
    codes = [code for code, _, _ in done]
    assert codes.pop(5) == 2  # a STAC item needs a date
    assert codes == [0] * 11, done
    assert (tmp_path / "files" / "population.gpkg").exists()


REMEDY = "pip install 'geodp[scipy]'"

LEDGER = ["--ledger", "office.ledger", "--dataset", "people"]
COUNTS = [
    *["--grid", "jis:secondary", "--primary", "5339", "--code", "code", "--value", "people"],
    *["--epsilon", "1/8", "--contribution", "1", *LEDGER],
]
PLAN = ["plan", "--grid", "jis:secondary", "--primary", "5339", "--epsilon", "1", "--people", "1e5"]


def test_what_needs_scipy_says_so_before_any_charge(tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("code,people\n533946,300\n533945,400\n")
    series = ["publish-series", "2024=one.csv", "2025=two.csv"]
    begin, *done, tree, show = run(
        tmp_path,
        ["budget", "init", *LEDGER, "--epsilon", "1"],
        ["publish", "one.csv", *COUNTS, "--method", "matrix", "--output", "out"],
        ["publish", "one.csv", *COUNTS, "--method", "barak", "--output", "out"],
        [*series, *COUNTS, "--person-in", "all", "--output", "out"],
        ["publish", "one.csv", *COUNTS, "--method", "matrix:strategy=tree", "--output", "tree"],
        ["budget", "show", *LEDGER[:2], "--json"],
    )
    assert begin[0] == tree[0] == show[0] == 0, (begin, tree, show)
    for code, _, said in done:
        assert code == 2
        assert said.strip().endswith(f"{REMEDY}.")
        assert said.count("Error") == 1
    assert not (tmp_path / "out").exists()
    (people,) = json.loads(show[1])["datasets"]
    assert people["spent"]["epsilon"] == "1/8"


def test_what_needs_scipy_of_a_release_says_so(tmp_path):
    _, *done = run(
        tmp_path,
        ["publish", *WHOLE, "--output", "out"],
        ["statistics", "out"],
        ["export", "out", "--to", "netcdf", "--output", "netcdf"],
        ["compare", "out", "--area", "533946", "--area", "533945", "--conservative"],
    )
    for code, _, said in done:
        assert code == 2
        assert said.strip().endswith(f"{REMEDY}.")
    assert not (tmp_path / "netcdf").exists()
