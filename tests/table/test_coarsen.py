"""Coarser cells: published areas and squares, with attributes, pairs and masks."""

import numpy as np
import pytest

from geodp import CountTable, Grid
from geodp.errors import UsageError
from geodp.grid.coarsen import Coarsening
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.privacy.assumption import ContributionBound
from geodp.table.counts import coarsen
from tests.refusals import refuses

# Neither begins nor ends at an edge of a 10 km or 5 km mesh.
EDGES = (139.0125, 35.0125, 139.40625, 35.3)


def table_of(grid, seed=0):
    counts = np.random.default_rng(seed).poisson(2, grid.shape)
    index = np.array(np.nonzero(counts))
    keep = grid.contains(index)
    return CountTable.from_index(grid, index[:, keep], counts[tuple(index[:, keep])])


def sums_by_code(table, level):
    """Naive: the coarser code is a piece of the finer one."""
    digits = {"jis:basic": 8, "jis:secondary": 6, "jis:primary": 4}[level]
    index = table.grid.decode(table.key)
    codes = table.grid.places[0].format(index[0], index[1])
    found = {}
    for code, rest, count in zip(codes, index[2:].T.tolist(), table.count, strict=True):
        at = (code[:digits], *rest)
        found[at] = found.get(at, 0) + int(count)
    return found


@pytest.mark.parametrize("level", ["jis:basic", "jis:secondary", "jis:primary"])
@pytest.mark.parametrize("official", [False, True])
@pytest.mark.parametrize("sexes", [0, 2])
def test_published_areas_hold_their_cells(level, official, sexes):
    grid = Grid.mesh("jis:half", bounds=EDGES)
    if sexes:
        grid = grid.with_attribute("sex", ["male", "female"])
    if official:
        grid = grid.with_official_order("above" if sexes else "below")
    table = table_of(grid)
    found = coarsen(table, Coarsening.of(grid, level))
    index = found.grid.decode(found.key)
    codes = found.grid.places[0].format(index[0], index[1])
    written = {
        (code, *rest): int(count)
        for code, rest, count in zip(codes, index[2:].T.tolist(), found.count, strict=True)
    }
    assert written == sums_by_code(table, level)
    assert (found.grid.areas.nested) == official
    if official and sexes:
        assert found.grid.order.axes[0] == 2  # sex stays above all areas


def test_squares_of_a_regular_grid_and_of_pairs():
    transform = (100, 0, 5000, 0, -100, 900)
    grid = Grid.regular((5, 7), crs="EPSG:3035", transform=transform)
    table = table_of(grid)
    found = coarsen(table, Coarsening.of(grid, 2))
    padded = np.zeros((6, 8), np.int64)
    padded[:5, :7] = table.to_dense()
    assert (found.to_dense() == padded.reshape(3, 2, 4, 2).sum(axis=(1, 3))).all()
    assert found.grid.places[0].transform == (200, 0, 5000, 0, -200, 900)
    pairs = grid.pairs()
    table = table_of(pairs)
    found = coarsen(table, Coarsening.of(pairs, "2"))
    assert found.grid.shape == (3, 4, 3, 4)
    padded = np.zeros((6, 8, 6, 8), np.int64)
    padded[:5, :7, :5, :7] = table.to_dense()
    assert (found.to_dense() == padded.reshape(3, 2, 4, 2, 3, 2, 4, 2).sum(axis=(1, 3, 5, 7))).all()


@pytest.mark.parametrize("attribute", [False, True])
def test_a_mask_becomes_the_coarser_cells_that_it_touches(attribute):
    grid = Grid.mesh("jis:half", bounds=EDGES)
    if attribute:
        grid = grid.with_attribute("sex", ["male", "female"])
    inside = np.random.default_rng(1).random(grid.shape[:2]) < 0.02
    masked = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "an example"))
    found = Coarsening.of(masked, "secondary")
    row, col = np.nonzero(inside)
    codes = {code[:6] for code in grid.places[0].format(row, col)}
    assert found.grid.size == len(codes) * (2 if attribute else 1)
    table = table_of(masked)
    assert coarsen(table, found).count.sum() == table.count.sum()


def test_what_bounds_a_person_stays():
    grid = Grid.regular((4, 4))
    table = CountTable.from_keys(grid, [0, 1], [3, 4], bound=ContributionBound(2, "geodp"))
    found = coarsen(table, Coarsening.of(grid, 4))
    assert (found.bound, found.count.tolist()) == (ContributionBound(2, "geodp"), [7])


@pytest.mark.parametrize("level", ["jis:2km", "3", "inspire:1km", 0, "nonsense"])
def test_no_such_level(level):
    with refuses(UsageError, "coarser-cells-are-areas: jis:primary.*jis:basic"):
        Coarsening.of(Grid.mesh("jis:half", bounds=EDGES), level)
    with refuses(UsageError, "coarser-cells-form"):
        Coarsening.of(Grid.regular((4, 4)), "basic")
