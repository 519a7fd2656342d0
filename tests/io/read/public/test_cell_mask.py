"""Public masks of cells of H3 and S2: lists of codes, outlines, land by name."""

import geopandas
import numpy as np
import pytest
import shapely

from geodp.errors import InputError, UsageError
from geodp.grid.cells import find_cells
from geodp.grid.cells.cell_grid import grid_of_cells
from geodp.io.read.public.land import state_land
from geodp.io.read.public.mask import mask_of_land, read_cell_mask
from tests.grid.cells.libraries import NEEDS
from tests.io.files import tiff
from tests.refusals import refuses


@pytest.fixture(params=["h3:5", "s2:10"])
def spec(request):
    NEEDS[request.param[:2]]()
    return request.param


def cells_at(spec, *places):
    system, level = find_cells(spec)
    return system.format(system.locate(*np.array(places).T, level)).tolist()


def holds(grid, spec, *places):
    return (grid.names.find(cells_at(spec, *places), drops=True)[0] >= 0).tolist()


def geojson(folder, *boxes):
    """Write boxes as GeoJSON: west, south, east, north."""
    path = folder / "mask.geojson"
    path.write_text(geopandas.GeoSeries([shapely.box(*box) for box in boxes]).to_json())
    return path


def masked(spec, path):
    return grid_of_cells(spec, mask=read_cell_mask(path, spec, source="an example"))


@pytest.mark.parametrize(
    "text",
    [
        "{0}\n{1}\n",
        "cell,people\n{0},3\n{1},4\n",
        "\ufeffcell;name\n# a comment\n{0};a\n\n{1};b # another\n",
        "{0}\n{1}\n{0}\n",
    ],
)
def test_a_list_of_codes_is_the_area(spec, text, tmp_path):
    codes = cells_at(spec, (139.7, 35.6), (10.0, 50.0))
    path = tmp_path / "mask.csv"
    path.write_text(text.format(*codes), "utf-8")
    assert sorted(masked(spec, path).hierarchy.codes[-1]) == sorted(codes)
    mask = read_cell_mask(path, spec, source="an example")
    assert grid_of_cells(spec, (139, 35, 140, 36), mask=mask).size == 1


def test_codes_that_are_coarser_hold_all_below_them_and_finer_ones_are_refused(spec, tmp_path):
    system, level = find_cells(spec)
    path = tmp_path / "mask.txt"
    cell = system.locate([10.0], [50.0], level)
    path.write_text(system.format(system.parents(cell, level - 1))[0])
    grid = masked(spec, path)
    assert grid.size == system.count(1) // system.count(0) or grid.size == 7
    for code, words in (
        (system.format(system.children(cell, level + 1))[0], "mask-code-too-fine"),
        ("q1", "mask-code-no-cell"),
    ):
        path.write_text(f"{system.format(cell)[0]}\n{code}\n")
        with refuses(InputError, words) as caught:
            read_cell_mask(path, spec, source="an example")
        assert (caught.value.row, code in str(caught.value)) == (2, False)


def test_polygons_hold_the_cells_that_they_touch(spec, tmp_path):
    grid = masked(spec, geojson(tmp_path, (9, 49, 11, 51)))
    assert holds(grid, spec, (9.001, 49.001), (10, 50), (11, 51), (13, 50)) == [True] * 3 + [False]
    assert "in the mask of an example" in grid.hierarchy.source
    tiny = masked(spec, geojson(tmp_path, (10, 50, 10.0001, 50.0001)))
    assert holds(tiny, spec, (10, 50)) == [True]


@pytest.mark.parametrize(
    "boxes",
    [
        [(177, -19, 180, -16), (-180, -19, -178, -16)],
        [(177, -19, 182, -16)],  # longitudes that go on
        [(-183, -19, -178, -16)],
    ],
)
def test_polygons_across_180_degrees_are_whole(spec, boxes, tmp_path):
    grid = masked(spec, geojson(tmp_path, *boxes))
    inside = ((177.5, -18), (179.99, -17), (-179.99, -17), (-178.5, -18))
    assert holds(grid, spec, *inside, (0, -17), (-170, -17)) == [True] * 4 + [False] * 2


def test_polygons_that_jump_across_180_degrees_are_refused(spec, tmp_path):
    with refuses(InputError, "outline-jumps"):
        masked(spec, geojson(tmp_path, (177, -19, -178, -16)))
    coarse = f"{spec[:2]}:2"
    grid = masked(coarse, geojson(tmp_path, (-180, 60, 180, 90)))  # a box around the Earth
    assert holds(grid, coarse, (0, 89.9), (180, 75), (0, 30)) == [True, True, False]


def test_other_files_are_refused(spec, tmp_path):
    values = np.zeros((1, 1), np.uint8)
    raster = tiff(values, (0.1, 0, 9, 0, -0.1, 50), None)(tmp_path)
    with refuses(UsageError, "mask-is-raster"):
        read_cell_mask(raster, spec, source="an example")
    empty = tmp_path / "mask.txt"
    empty.write_text("cell\n")
    with refuses(InputError, "mask-without-codes"):
        read_cell_mask(empty, spec, source="an example")
    with refuses(UsageError, "mask-source-missing: --mask-source"):
        read_cell_mask(empty, spec, source=" ")


def test_land_by_name_reaches_across_180_degrees(spec):
    grid = grid_of_cells(spec, mask=mask_of_land("land:fiji"))
    suva, taveuni, lau, nadi_sea = (
        (178.44, -18.14),
        (-179.98, -16.85),
        (-178.8, -18.2),
        (175.0, -15),
    )
    assert holds(grid, spec, suva, taveuni, lau, nadi_sea, (139, 35)) == [True] * 3 + [False] * 2
    (fact,) = state_land(grid)
    assert "outside of land:fiji" in fact
    wide = grid_of_cells(spec, mask=mask_of_land("land:fiji:100km"))
    assert wide.size > grid.size
    assert state_land(grid_of_cells(spec, mask=mask_of_land("land:fiji"), other="abroad")) == ()
    assert state_land(grid_of_cells(spec, (178, -18, 179, -17))) == ()


def test_every_point_of_land_is_in_its_mask(spec):
    """Places on the outline of a country, on its islands too."""
    from geodp.io.read.public.land import read_lands

    grid = grid_of_cells(spec, mask=mask_of_land("land:new-zealand"))
    points = np.concatenate([shapely.get_coordinates(one) for one in read_lands("new-zealand")])
    assert all(holds(grid, spec, *points[::50]))


def test_names_of_no_land_are_refused():
    with refuses(UsageError, "land-unknown"):
        mask_of_land("land:atlantis")
    with refuses(UsageError, r"land-width: \b500\b"):
        mask_of_land("land:fiji:0km")
