import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import geopandas
import pytest
from click.testing import CliRunner

from geodp.cli.options import split_specs
from geodp.errors import InputError, UsageError
from geodp.tools.evaluate.commands.evaluate import evaluate
from tests.bits import has_bits
from tests.contract.regions import write_regions
from tests.keys import keep

DATA = Path(__file__).parents[4] / "data" / "kanto"
REAL = Path(__file__).resolve().parents[5] / "shared" / "data" / "estat-2020-500m"
GRID = ["--grid", "jis:half", "--value", "人口（総数）"]
SMALL = [str(DATA / "tblT999999H5339.zip"), *GRID, "--primary", "5339", "--epsilon", "1/2"]
BOX = [138.0, 35.0, 141.2, 37.1333333333]


def run(*arguments):
    return CliRunner().invoke(evaluate, [*map(str, arguments)], catch_exceptions=True)


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    return keep(tmp_path_factory.mktemp("key") / "key")


@pytest.fixture
def areas(tmp_path):
    boxes = {"west": (139.1, 35.4, 139.6, 35.9), "east": (139.4, 35.4, 139.9, 35.9)}
    document = json.loads(write_regions(tmp_path, boxes).read_text(encoding="utf-8"))
    for number, one in enumerate(document["features"]):
        one["properties"]["id"] = number
    file = tmp_path / "west-east.geojson"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_json_output_and_plot(tmp_path, key_file, areas):
    more = ["--methods", "topdown,geometric", "--trials", 2, "--key-file", key_file]
    more += ["--rectangles", 20, "--seed", 1, "--polygons", areas]
    files = ["--output", tmp_path / "a.json", "--plot", tmp_path / "a.png"]
    done = run(*SMALL, *more, *files, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert json.loads((tmp_path / "a.json").read_text()) == document
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    for file in files[1::2]:
        assert has_bits(file, 0o600)
    assert document["confidential"] is True
    assert document["notice"].startswith("CONFIDENTIAL: ")
    assert document["epsilon"] == "1/2"
    assert document["trials"] == 2
    assert document["areas"] == [4**i for i in range(9)]  # 160 x 160, padded to 256 x 256
    assert document["blocks"][:2] == [160 * 160, 80 * 80]
    for row in document["methods"].values():
        assert len(row["mae"]) == len(row["rmse_se"]) == len(row["closed_form"]) == 9
        assert set(row["classes"]) == {"0", "1-9", "10-99", "100-999", "1000+"}
        assert set(row["hot_spots"]) == {"1", "16", "256"}
        assert set(row["rectangles"]) == {"mae", "mae_se", "rmse", "rmse_se", "scaled", "dpbench"}
        assert set(row["polygons"]) == {"west", "east"}
        assert row["polygons"]["west"]["cells"] == 80 * 120
    for name, file in zip(files[::2], files[1::2], strict=True):
        refused = run(*SMALL, name, file)
        assert isinstance(refused.exception, UsageError)
        assert "--overwrite" in str(refused.exception)
    few = ["--methods", "topdown", "--trials", 1]
    public = run(*SMALL, *few, *files[:2], "--overwrite", "--public-input", "--json")
    assert "CONFIDENTIAL" not in public.output
    assert json.loads(public.output)["confidential"] is False
    assert stat.S_IMODE(files[1].stat().st_mode) != 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.png", areas.name]


def test_tables_for_people(areas):
    more = ["--methods", "topdown", "--methods", "geometric", "--trials", "2", "--rectangles", "5"]
    done = run(*SMALL, *more, "--polygons", areas)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("CONFIDENTIAL: ")
    assert sum(line.startswith("topdown ") for line in lines) == 5
    for words in (
        "Mean absolute error",
        "Root-mean-square error of",
        "rectangles",
        "areas",
        "65,536",
    ):
        assert words in done.output
    assert len(lines[-1].split()) == 1 + len(["areas", "MAE", "RMSE", "largest bias"])


def test_methods_that_refuse_are_listed_with_their_reason(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y,n\n3,4,900\n70000,5,80\n")
    call = [file, "--grid", "regular:99999x99999", "--x", "x", "--y", "y", "--anchor", "index"]
    call += ["--value", "n", "--epsilon", "1", "--contribution", "1", "--trials", "1"]
    call += ["--methods", "topdown,laplace"]
    done = run(*call)
    assert done.exit_code == 0, done.output
    assert "not run: laplace: laplace works on every cell" in " ".join(done.output.split())
    none = run(*call[:-1], "laplace")
    assert isinstance(none.exception, UsageError)


def test_gaussian_budgets():
    more = ["--delta", "1e-6", "--methods", "pyramid,geometric", "--trials", "2"]
    done = run(*SMALL, *more)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[1].startswith("epsilon 1/2 = 0.5, rho 0.0")
    assert ", delta 1/1000000 = 1e-06, add-remove-one" in lines[1]
    assert "not run: geometric: geometric has Laplace noise only" in " ".join(done.output.split())
    call = [*SMALL[:-2], "--rho", "1/100", "--methods", "topdown", "--trials", "1", "--json"]
    document = json.loads(run(*call).stdout)
    assert document["epsilon"] is None
    assert (document["rho"], document["noise"]) == ("1/100", "gaussian")
    refused = run(*call[:-7], "--rho", "1", "--methods", "laplace")
    assert "Laplace noise only" in str(refused.exception)
    assert "either epsilon or rho" in str(run(*SMALL, "--rho", "1").exception)


def test_specs_are_split_at_commas_between_methods():
    assert split_specs(["hay:fanout=4,nonnegative=yes,topdown", "laplace, geometric"]) == [
        "hay:fanout=4,nonnegative=yes",
        "topdown",
        "laplace",
        "geometric",
    ]
    assert split_specs(["all"]) == ["all"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--methods", "magic"], "method must be one of"),
        (["--methods", ","], "at least one method"),
        (["--trials", "0"], "--trials"),
        (["--processes", "0"], "--processes"),
        (["--epsilon", "x"], "epsilon"),
        (["--polygons", "absent.geojson"], "no such file"),
        (["--polygon-name", "a"], "--polygons only"),
        (["--output", "a.txt"], "must end in .json"),
        (["--output", "nowhere/a.json"], "no folder"),
        (["--key-file", "absent"], "key file"),
        (["--mask-source", "x"], "--mask"),
        (["--encoding", "x"], "--encoding"),
    ],
)
def test_wrong_calls_are_refused_before_anything_is_read(options, words):
    call = ["absent.txt", "--grid", "jis:half", "--epsilon", "1"]
    done = run(*call, *options)
    assert done.exit_code != 0
    assert words in done.output + str(done.exception)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not GeoJSON"),
        ('{"type": "FeatureCollection", "features": []}', "hold polygons and nothing else"),
        ('{"type": "Point", "coordinates": [139, 35]}', "hold polygons and nothing else"),
        ("names", "do not differ"),
    ],
)
def test_polygons_that_are_none(content, words, areas):
    areas.write_text(areas.read_text().replace("west", "east") if content == "names" else content)
    done = run(*SMALL, "--polygons", areas)
    assert isinstance(done.exception, InputError)
    assert words in str(done.exception)


def test_polygons_of_gdal_are_in_the_crs_of_the_grid(areas):
    frame = geopandas.read_file(areas)
    there, elsewhere = areas.with_name("a.gpkg"), areas.with_name("b.gpkg")
    frame.to_crs("EPSG:6668").to_file(there)
    frame.to_crs("EPSG:3035").to_file(elsewhere)
    call = [*SMALL, "--methods", "topdown", "--trials", "1", "--json", "--polygons"]
    sizes = {name: row["cells"] for name, row in polygons(run(*call, there)).items()}
    assert sizes == {"west": 9600, "east": 9600}
    numbered = polygons(run(*call, there, "--polygon-name", "id"))
    assert list(numbered) == ["0", "1"]
    for options, words in (
        ([elsewhere], "EPSG:6668"),
        ([there, "--polygon-name", "x"], "no field"),
    ):
        refused = run(*call, *options)
        assert isinstance(refused.exception, UsageError)
        assert words in str(refused.exception)
    no_place = ["a.csv", "--grid", "regular:4x4", "--x", "x", "--y", "y", "--value", "v"]
    refused = run(*no_place, "--epsilon", "1", "--polygons", areas)
    assert "place on the Earth" in str(refused.exception)


def polygons(done):
    assert done.exit_code == 0, done.output + str(done.exception)
    return json.loads(done.stdout)["methods"]["topdown"]["polygons"]


TELLS = """
import os, sys
import geodp.cli
from geodp.tools.evaluate.commands import evaluate as module
told, sys.argv = int(sys.argv[1]), ["geodp", *sys.argv[2:]]
module._report_progress = lambda done, trials: os.write(told, b".")
geodp.cli.main()
"""
"""Writes a byte into a pipe after every trial."""


@pytest.mark.law
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
@pytest.mark.parametrize("processes", ["1", "2"])
def test_an_interrupted_run_leaves_nothing(processes, tmp_path):
    call = ["evaluate", *SMALL, "--trials", "100000", "--processes", processes]
    trial, told = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", TELLS, str(told), *call, "--output", str(tmp_path / "a.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        pass_fds=[told],
    )
    os.close(told)
    try:
        assert os.read(trial, 1) == b"."
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        os.close(trial)
        with contextlib.suppress(ProcessLookupError):  # none is left
            os.killpg(child.pid, signal.SIGKILL)
    # By the signal where threads of a library still run; shells report that as 130.
    assert child.returncode in (130, -signal.SIGINT), err
    assert "Interrupted; nothing was published." in err.splitlines()
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_dir(), reason="the real data sets are not beside the project")
def test_the_census_window_of_2020(key_file):
    """Table 2 of Terada et al. (2015), ten years later; the Laplace row is independent of data."""
    call = [*sorted(REAL.glob("*.zip")), *GRID, "--bounds", *BOX, "--epsilon", "0.1", "--json"]
    done = run(*call, "--methods", "laplace,topdown", "--trials", 8, "--key-file", key_file)
    methods = json.loads(done.stdout)["methods"]
    laplace, topdown = methods["laplace"], methods["topdown"]
    assert laplace["mae"][:5] == pytest.approx([10, 21.87, 44.77, 90.03, 180.7], rel=0.05)
    assert laplace["rmse"][:5] == pytest.approx([14.14, 28.28, 56.55, 113, 226], rel=0.05)
    assert topdown["mae"][:5] == pytest.approx([27.68, 43.25, 59.41, 74.9, 89.9], rel=0.06)
    assert topdown["rmse"][:5] == pytest.approx([64.8, 85.7, 105, 120.5, 135.4], rel=0.06)
    assert topdown["negative"] == 0
    assert topdown["density"] == pytest.approx(0.266, abs=0.003)
    assert topdown["visited"] == pytest.approx(105_000, rel=0.02)
