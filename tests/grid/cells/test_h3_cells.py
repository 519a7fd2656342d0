"""H3's bits without the library: levels, parents and children are those that h3 says."""

import numpy as np
import pytest

from geodp.grid.cells import SYSTEMS
from geodp.grid.cells.system import degrees
from tests.grid.cells.libraries import need_h3

H3 = SYSTEMS["h3"]


@pytest.fixture(scope="module")
def h3():
    return need_h3()


@pytest.fixture(scope="module")
def some(h3):
    """Cells of all resolutions, pentagons among them."""
    cells = [
        h3.latlng_to_cell(latitude, 7 * latitude, resolution)
        for resolution in range(16)
        for latitude in range(-90, 91, 30)
    ]
    return [*cells, *(cell for resolution in (0, 1, 6) for cell in h3.get_pentagons(resolution))]


def test_levels_are_resolutions(h3, some):
    cells, good = H3.read(some)
    assert good.all()
    assert H3.levels_of(cells).tolist() == [h3.get_resolution(cell) for cell in some]
    assert H3.format(cells).tolist() == some


def test_any_number_is_a_cell_where_the_library_says_so(h3, some):
    """Each bit of valid cells changed: mode, resolution, base cell, digits."""
    cells = H3.read(some)[0][::5]
    changed = (cells[:, None] ^ (np.uint64(1) << np.arange(64, dtype=np.uint64))).reshape(-1)
    known = [h3.is_valid_cell(h3.int_to_str(cell)) for cell in changed.tolist()]
    assert (H3.levels_of(changed) >= 0).tolist() == known


def test_parents_are_those_of_the_library(h3, some):
    for cell in some:
        for level in range(h3.get_resolution(cell) + 1):
            found = H3.format(H3.parents(H3.read([cell])[0], level))
            assert found.tolist() == [h3.cell_to_parent(cell, level)]


@pytest.mark.parametrize("pentagon", [False, True])
def test_children_are_those_of_the_library(h3, pentagon):
    for resolution in (0, 1, 5):
        cell = (
            h3.get_pentagons(resolution)[3] if pentagon else h3.latlng_to_cell(35, 139, resolution)
        )
        for level in range(resolution, resolution + 3):
            found = H3.format(H3.children(H3.read([cell])[0], level))
            assert sorted(found) == sorted(h3.cell_to_children(cell, level))


def test_the_earth_is_all_base_cells(h3):
    base = H3.base_cells()
    assert sorted(H3.format(base)) == sorted(h3.get_res0_cells())
    assert [H3.children(base, level).size for level in range(4)] == [
        H3.count(level) for level in range(4)
    ]


def test_children_lie_within_reach(h3):
    """All corners of descendants, three resolutions down."""
    for cell in [*h3.get_res0_cells()[::7], *h3.get_pentagons(2), h3.latlng_to_cell(60, 10, 4)]:
        own = H3.read([cell])[0]
        centre, corners = H3.outline(own)
        parts = H3.outline(H3.children(own, h3.get_resolution(cell) + 3))[1]
        radius = np.arccos(np.clip((corners * centre[:, None]).sum(-1), -1, 1)).max()
        assert np.arccos(np.clip((parts * centre).sum(-1), -1, 1)).max() < radius * H3.reach


def test_outlines_and_places_are_those_of_the_library(h3, some):
    centre, corners = H3.outline(H3.read(some)[0])
    for number, cell in enumerate(some):
        y, x = h3.cell_to_latlng(cell)
        assert np.allclose(np.array(degrees(centre[number])), [x, y])
        edge = h3.cell_to_boundary(cell)
        assert np.allclose(degrees(corners[number, : len(edge)])[1], [one[0] for one in edge])
        at = H3.locate([x], [y], h3.get_resolution(cell))
        assert H3.format(at).tolist() == [cell]
