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
          "pandas", "pmtiles", "pyogrio", "s2geometry", "xarray"}

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

SLIM = "netcdf,gpkg,csv:excel,csv:estat,geojson,maplibre,parquet,qml"
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
        ["report", "out", "--output", "page.html"],
        ["evaluate", *WHOLE, "--methods", "pyramid,laplace", "--trials", "2"],
        ["doctor"],
    )
    codes = [code for code, _, _ in done]
    assert codes.pop(5) == 2  # a STAC item needs a date
    assert codes == [0] * 11, done
    assert (tmp_path / "files" / "population.gpkg").exists()
