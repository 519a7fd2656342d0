"""A release as frames: the rows of its files, and what cannot be had is said."""

import sys

import geopandas
import numpy as np
import pandas
import pyarrow.parquet
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid

KEY = geodp.NoiseKey(bytes(range(32)))
MESH = Grid.mesh("jis:half", bounds=(139, 35, 139.5, 35.5))
METRES = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, 1000, 3e6))
GRIDS = {
    "mesh": MESH,
    "metres": METRES,
    "attribute": MESH.with_attribute("sex", ("f", "m")),
    "pairs": Grid.regular((4, 4), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, 1000, 3e6)).pairs(),
}


def release(grid, method="pyramid"):
    index = np.random.default_rng(3).integers(
        0, np.array(grid.shape)[:, None], (len(grid.shape), 60)
    )
    table = geodp.CountTable.from_index(grid, index, np.full(60, 40))
    return geodp.publish(table, method=method, epsilon=1, contribution=1, key=KEY)


@pytest.mark.parametrize("name", GRIDS)
def test_frames_are_the_rows_of_the_file(name, tmp_path):
    found = release(GRIDS[name])
    found.write(tmp_path / "out", name="residents")
    file = geopandas.read_parquet(tmp_path / "out" / "public" / "residents.parquet")
    frame = found.to_geopandas("residents")
    pandas.testing.assert_frame_equal(frame.drop(columns="geometry"), file.drop(columns="geometry"))
    assert frame.geometry.geom_equals(file.geometry).all()
    assert frame.crs == file.crs
    assert frame.residents.sum() == found.table.total
    assert found.to_arrow("residents").equals(
        pyarrow.table(found.to_pandas("residents"), schema=found.to_arrow("residents").schema)
    )


def test_what_has_no_place_has_no_outlines():
    found = release(Grid.regular((8, 8)))
    assert set(found.to_pandas()) >= {"population", "standard_error"}
    with pytest.raises(UsageError, match="nowhere on the Earth"):
        found.to_geopandas()


def test_an_error_that_depends_on_the_data_has_no_column():
    assert set(release(MESH, "ugrid").to_pandas()) == {"code", "population"}


@pytest.mark.parametrize("library", ["pandas", "geopandas"])
def test_a_library_that_is_not_there_is_asked_for(library, monkeypatch):
    found = release(MESH)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=f"{library} is not installed"):
        getattr(found, f"to_{library}")()
