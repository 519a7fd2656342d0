"""S2's bits without the library: levels, parents, children and tokens are those of s2geometry."""

import sys

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.grid.cells import SYSTEMS
from geodp.grid.cells.system import degrees
from tests.grid.cells.libraries import need_s2
from tests.refusals import refuses

S2 = SYSTEMS["s2"]


@pytest.fixture(scope="module")
def s2():
    return need_s2()


@pytest.fixture(scope="module")
def some(s2):
    """Cells of all levels, at poles and corners of faces among them."""
    leaves = [
        s2.S2CellId(s2.S2LatLng.FromDegrees(y, x))
        for y, x in ((90, 0), (-90, 0), (0, 180), (35.3, 45), (-33.9, -151.2), (35.7, 139.7))
    ]
    return [leaf.parent(level) for leaf in leaves for level in range(0, 31, 3)]


def test_levels_tokens_and_parents_are_those_of_the_library(some):
    cells = np.array([cell.id() for cell in some], np.uint64)
    assert S2.levels_of(cells).tolist() == [cell.level() for cell in some]
    assert S2.format(cells).tolist() == [cell.ToToken() for cell in some]
    for level in (0, 7, 13):
        below = [cell for cell in some if cell.level() >= level]
        own = np.array([cell.id() for cell in below], np.uint64)
        assert S2.parents(own, level).tolist() == [cell.parent(level).id() for cell in below]


def test_any_number_is_a_cell_where_the_library_says_so(s2, some):
    cells = np.array([cell.id() for cell in some[::4]], np.uint64)
    changed = (cells[:, None] ^ (np.uint64(1) << np.arange(64, dtype=np.uint64))).reshape(-1)
    changed = np.append(changed, np.array([0, 2**64 - 1], np.uint64))
    known = [s2.S2CellId(cell).is_valid() for cell in changed.tolist()]
    assert (S2.levels_of(changed) >= 0).tolist() == known


def test_children_are_all_parts_and_no_others(s2):
    face = S2.base_cells()
    assert [s2.S2CellId(cell).is_face() for cell in face.tolist()] == [True] * 6
    for level in range(5):
        parts = S2.children(face, level)
        assert parts.size == np.unique(parts).size == S2.count(level)
        assert (S2.levels_of(parts) == level).all()
        assert np.array_equal(S2.parents(parts, 0), np.repeat(face, parts.size // 6))


def test_outlines_and_places_are_those_of_the_library(s2, some):
    cells = np.array([cell.id() for cell in some], np.uint64)
    centre, corners = S2.outline(cells)
    for number, cell in enumerate(some):
        corner = s2.S2LatLng(s2.S2Cell(cell).GetVertex(2)).lat().degrees()
        assert np.isclose(degrees(corners[number, 2])[1], corner)
        x, y = degrees(centre[number])
        assert S2.locate([x], [y], cell.level()).tolist() == [cell.id()]


def test_without_the_library_the_extra_and_another_way_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s2geometry", None)
    with refuses(UsageError, r"library-missing: geodp\[s2\].*--grid units:TABLE"):
        S2.require_library()
