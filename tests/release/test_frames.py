"""A release as frames: the rows of its files, and what cannot be had is said."""

import html
import sys

import geopandas
import numpy as np
import pandas
import pyarrow.parquet
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.mask import mask_of_blocks
from tests.refusals import refuses

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
    published = release(GRIDS[name])
    published.write(tmp_path / "out", name="residents")
    file = geopandas.read_parquet(tmp_path / "out" / "public" / "residents.parquet")
    frame = published.to_geopandas("residents")
    pandas.testing.assert_frame_equal(frame.drop(columns="geometry"), file.drop(columns="geometry"))
    assert frame.geometry.geom_equals_exact(file.geometry, 0).all()
    assert frame.crs == file.crs
    assert frame.residents.sum() == published.table.total
    assert published.to_arrow("residents").equals(
        pyarrow.table(
            published.to_pandas("residents"), schema=published.to_arrow("residents").schema
        )
    )


def test_what_has_no_place_has_no_outlines():
    published = release(Grid.regular((8, 8)))
    assert set(published.to_pandas()) >= {"population", "standard_error"}
    with refuses(UsageError, "rows-not-on-earth"):
        published.to_geopandas()


def test_an_error_that_depends_on_the_data_has_no_column():
    assert set(release(MESH, "ugrid").to_pandas()) == {"code", "population"}


@pytest.mark.parametrize("library", ["pandas", "polars", "geopandas", "xarray"])
def test_a_library_that_is_not_there_is_asked_for(library, monkeypatch):
    published = release(MESH)
    monkeypatch.setitem(sys.modules, library, None)
    with refuses(UsageError, f"library-missing: \\b{library}\\b"):
        getattr(published, f"to_{library}")()


def test_cells_outside_the_domain_are_no_numbers():
    mask = mask_of_blocks(METRES, np.array([[0, 0, 8, 6]]).T, "the northern half")
    grid = METRES.with_mask(mask)
    table = geodp.CountTable.from_index(grid, [[1, 3], [2, 5]], [40, 60])
    array = geodp.publish(table, epsilon=1, key=KEY, contribution=1).to_xarray("residents")
    assert array.name == "residents"
    assert int(np.isnan(array.values).sum()) == 96 - grid.size
    assert array.spatial_ref.attrs["crs_wkt"]


def test_arrays_need_one_map():
    for made in (release(GRIDS["pairs"]), release(Grid.regular((4, 4, 4)))):
        with refuses(UsageError, "xarray-needs-one-map"):
            made.to_xarray()
        with refuses(UsageError, "plot-needs-one-map"):
            made.plot()


def test_a_plot_lies_where_the_grid_does():
    for grid in (MESH, METRES):
        made = release(grid)
        ax = made.plot()
        (image,) = ax.get_images()
        west, east, south, north = image.get_extent()
        assert (west, south, east, north) == pytest.approx(grid.places[0].bounds)
        drawn = np.ma.filled(image.get_array(), 0)
        assert drawn.sum() == made.table.total
        dense = made.table.to_dense()
        assert np.array_equal(drawn, dense[::-1] if grid.places[0].northwards else dense)
        assert made.plot(ax=ax, cmap="viridis") is ax
        assert ax.get_images()[-1].get_cmap().name == "viridis"


def test_a_notebook_shows_a_map_and_the_first_lines():
    made = release(METRES)
    shown = made._repr_html_()
    assert "data:image/png;base64," in shown
    assert "NOT PRIVATE" in shown
    assert html.escape(made.card().guarantee.in_words) in shown
    plain = release(Grid.regular((4, 4, 4)))._repr_html_()
    assert "<img" not in plain
    assert "64 cells" in plain


def test_releases_are_said_in_one_line(tmp_path):
    made = release(MESH)
    size = f"{len(made.table)} of 9,600 cells listed, shape=(120, 80), pyramid, epsilon 1"
    assert repr(made) == f"Release({size})"
    assert repr(made.table) == f"ReleasedTable({size})"
    made.write(tmp_path / "out")
    assert repr(geodp.open(tmp_path / "out")) == f"WrittenRelease({size})"


def test_polars_has_the_same_rows():
    published = release(MESH)
    columns = published.to_arrow("residents").to_pydict()
    assert published.to_polars("residents").to_dict(as_series=False) == columns
    assert len(columns["residents"]) == len(published.table)
