"""Five programs that a researcher would write, each of at most six lines after its imports."""

import geopandas
import numpy as np
import pandas
import pytest
import shapely

import geodp

GRID = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.5, 35.5))


@pytest.fixture
def frame():
    """Counts of 500 m cells, as an office has them."""
    rng = np.random.default_rng(2)
    row, col = np.divmod(rng.choice(120 * 80, 900, replace=False), 80)
    codes = GRID.places[0].format(row, col)
    return pandas.DataFrame({"mesh": codes, "residents": rng.integers(1, 900, 900)})


@pytest.fixture
def towns():
    """Municipalities, as polygons."""
    west, south = np.meshgrid(np.arange(139, 139.5, 0.1), np.arange(35, 35.5, 0.1))
    shapes = shapely.box(west.ravel(), south.ravel(), west.ravel() + 0.1, south.ravel() + 0.1)
    names = [f"town {number}" for number in range(shapes.size)]
    return geopandas.GeoDataFrame({"name": names}, geometry=shapes, crs="EPSG:6668")


def test_a_frame_in_and_a_map_out(frame):
    table = geodp.read_table(frame, grid=GRID, code="mesh", value="residents")
    cells = geodp.publish(table, epsilon=1, contribution=1).to_geopandas("residents")
    assert cells.crs == "EPSG:6668"
    assert cells.residents.sum() == pytest.approx(frame.residents.sum(), rel=0.01)


def test_a_table_of_municipalities(frame, towns):
    table = geodp.read_table(frame, grid=GRID, code="mesh", value="residents")
    estimated = geodp.publish(table, epsilon=1, contribution=1).estimate(towns)
    assert estimated["count"].sum() == pytest.approx(frame.residents.sum(), rel=0.05)
    assert (estimated.low <= estimated["count"]).all()


def test_methods_side_by_side_on_queries_of_ones_own(frame, towns):
    table = geodp.read_table(frame, grid=GRID, code="mesh", value="residents")
    queries = {"west": (139, 35, 139.25, 35.5), **towns.set_index("name").geometry}
    estimated = geodp.evaluate(
        table, methods=["pyramid", "geometric"], contribution=1, trials=20, queries=queries
    )
    errors = estimated.to_pandas().pivot(index=["query", "trial"], columns="method", values="error")
    assert errors.shape == (20 * 26, 2)
    assert errors.loc["west"].abs().mean().pyramid < errors.loc["west"].abs().mean().geometric


def test_written_and_read_back(frame, tmp_path):
    table = geodp.read_table(frame, grid=GRID, code="mesh", value="residents")
    geodp.publish(table, epsilon=1, contribution=1).write(tmp_path / "out", name="residents")
    array = geodp.open(tmp_path / "out").to_xarray()
    assert array.sizes == {"y": 120, "x": 80}
    assert array.sum() == geodp.open(tmp_path / "out").table.total


def test_a_file_by_its_reader(frame, tmp_path):
    frame.to_csv(tmp_path / "cells.csv", index=False)
    table = geodp.read(tmp_path / "cells.csv", GRID, code="mesh", value="residents")
    release = geodp.publish(table, epsilon=1, contribution=1)
    assert len(release.to_pandas()) == release.table.key.size
