"""Lines of flows in files for GIS: between areal units, across 180 degrees, from places outside."""

import sqlite3

import geopandas
import numpy as np
import pyarrow as pa
import pytest
import shapely

import geodp
from geodp.grid.cells.cell_grid import grid_of_cells
from geodp.io.verify.verify import verify
from geodp.io.write.geometry import CODES_ALONE
from tests.command import geodp as run
from tests.grid.cells.libraries import need_h3
from tests.io.verify.forging import sign
from tests.kinds.flows.forms import make
from tests.kinds.flows.test_units import FIJI, across, fiji_flows
from tests.kinds.flows.units import OTHER, list_codes


def write(release, folder):
    release.write(folder)
    return folder / "public" / "flows"


@pytest.fixture(scope="module")
def plain(shared):
    """A release between units that all have outlines, and its folder of flows."""
    release = make(shared, "units")
    return release, shared.write(release) / "public" / "flows"


@pytest.fixture(scope="module")
def beyond(shared):
    """One with a zone of all other places."""
    release = make(shared, "other", epsilon=5)
    return release, shared.write(release) / "public" / "flows"


def is_sound(folder):
    return all(one.ok for one in verify(folder.parents[1]))


def test_files_have_the_lines_of_frames(plain):
    release, folder = plain
    lines = release.to_geopandas()
    for file in (
        geopandas.read_file(folder / "flows.gpkg"),
        geopandas.read_parquet(folder / "flows.parquet"),
        geodp.open(folder.parent).to_geopandas(),
    ):
        assert file.crs == lines.crs
        assert shapely.equals_exact(file.geometry.to_numpy(), lines.geometry.to_numpy()).all()
    assert {*lines.geom_type} == {"LineString"}


def test_flows_without_a_place_have_no_line(beyond):
    release, folder = beyond
    rows = release.to_pandas()
    at_other = (rows[["origin", "destination"]] == OTHER).any(axis=1).tolist()
    assert 0 < sum(at_other) < len(at_other)
    layer = geopandas.read_file(folder / "flows.gpkg")
    for file in (layer, geopandas.read_parquet(folder / "flows.parquet")):
        assert file.geometry.isna().tolist() == at_other
        assert file["flows"].tolist() == release.flows.table.count.tolist()
    # An index of boxes finds the lines alone.
    middle = shapely.box(139, 35, 139.05, 35.05)
    found = geopandas.read_file(folder / "flows.gpkg", bbox=middle)
    assert len(found) == release.to_geopandas().intersects(middle).sum() > 0


@pytest.mark.parametrize("which", ["plain", "beyond"])
def test_exports_have_the_lines(which, request, tmp_path):
    release, folder = request.getfixturevalue(which)
    to = tmp_path / "maps"
    told = run("export", folder, "--to", "gpkg,fgb,parquet", "--output", to)
    assert told.returncode == 0, told.stderr
    lines = release.to_geopandas()
    for file in (
        geopandas.read_file(to / "flows.gpkg"),
        geopandas.read_file(to / "flows.fgb"),
        geopandas.read_parquet(to / "flows.parquet"),
    ):
        some, ends = file[file.geometry.notna()], ["origin", "destination"]
        some, wanted = (one.sort_values(ends)[ends].values.tolist() for one in (some, lines))
        assert some == wanted
        assert file.total_bounds == pytest.approx(lines.total_bounds)
    assert is_sound(folder)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE flows SET geometry = (SELECT geometry FROM flows WHERE fid = 2) WHERE fid = 1",
        "UPDATE flows SET geometry = NULL WHERE fid = 1",
        "UPDATE gpkg_contents SET min_x = min_x - 1",
    ],
)
def test_changed_lines_are_found(plain, shared, tmp_path, change):
    shared.copy(plain[0], tmp_path / "out")
    folder = tmp_path / "out" / "public" / "flows"
    with sqlite3.connect(folder / "flows.gpkg") as base:
        triggers = base.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            base.execute(f'DROP TRIGGER "{name}"')
        base.execute(change)
    base.close()
    sign(folder)
    (wrong,) = (one for one in verify(folder) if not one.ok)
    assert wrong.detail == "Not what the release holds: flows.gpkg."


def test_lines_across_180_degrees_stay_within_the_extent(tmp_path):
    release = fiji_flows(across(*FIJI))
    folder = write(release, tmp_path / "out")
    file = geopandas.read_file(folder / "flows.gpkg")
    with sqlite3.connect(folder / "flows.gpkg") as base:
        west, south, east, north = base.execute(
            "SELECT min_x, min_y, max_x, max_y FROM gpkg_contents"
        ).fetchone()
    base.close()
    bounds = file.total_bounds
    assert ((west, south) <= bounds[:2]).all()
    assert ((east, north) >= bounds[2:]).all()
    assert (shapely.length(file.geometry.to_numpy()) < 10).all()
    assert is_sound(folder)


def test_all_lines_lie_within_the_public_extent():
    edges = [(-180, -170), (-60, -50), (30, 40), (100, 110), (170, 180)]
    outlines = across(*edges).outlines
    number = np.arange(len(edges))
    ends = outlines.connect(*(one.ravel() for one in np.meshgrid(number, number)))
    west, south, east, north = outlines.line_bounds
    assert ((ends >= (west, south)) & (ends <= (east, north))).all()
    assert (np.abs(np.diff(ends[..., 0], axis=1)) <= 180).all()


def test_cells_of_h3_are_told(tmp_path):
    need_h3()
    grid = grid_of_cells("h3:5", (139, 35, 139.5, 35.5))
    codes = list_codes(grid, np.arange(6))
    rows = pa.table({"o": [*codes, *codes] * 30, "d": [*codes, *codes[::-1]] * 30})
    release = geodp.flows.publish(
        rows, grid=grid, origin="o", destination="d", contribution=1, epsilon=5
    )
    folder = write(release, tmp_path / "out")
    left = {one.name: one.why for one in geodp.open(folder).card().left_out}
    assert left == {} or left["flows.gpkg"] == CODES_ALONE
    assert not (folder / "flows.gpkg").exists()
    told = run("export", folder, "--to", "gpkg", "--output", tmp_path / "maps")
    assert told.returncode == 2
    assert CODES_ALONE in told.stderr.replace("\n", " ")
    assert len(release.to_geopandas()) == release.flows.table.key.size
