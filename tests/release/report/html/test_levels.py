"""Levels of a page's map: squares, their margins, and the levels they are shown at."""

import json
from itertools import pairwise

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval import Z
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.region import Region
from geodp.io.write.scale import classify
from geodp.release.report.html import surface as packing
from geodp.release.report.html.surface import list_levels, pack_surface
from tests.release.report.html.pages import NODE, PLACE, page_of, publish, run, towns

SEXES = geodp.Grid.regular((21, 30), **PLACE).with_attribute("sex", ["male", "female", "other"])
MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, 35 + 1 / 3))


def test_margins_are_those_of_squares_in_the_middle(tmp_path):
    counts = np.repeat(towns(21, 30)[..., None], 3, axis=2) // 3
    terms = {"method": "pyramid", "contribution": 1}
    release, _ = publish(tmp_path / "release", SEXES, counts, **{"contribution": 1, **terms})
    listed_levels = list_levels(release)
    assert [level.side for level in listed_levels] == [1, 2, 4, 8]
    for level in listed_levels:
        assert {*level.margins} == {"1", "0"}
    square = np.mgrid[8:16, 8:16].reshape(2, -1)
    for pattern, labels in (("1", None), ("0", {"sex": "male"})):
        region = Region.of_map(SEXES, *square, labels)
        wanted = Z * release.standard_error(region)
        assert listed_levels[3].margins[pattern] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("grid", "sides"),
    [
        (MESH, {1: True, 2: True, 4: True, 5: False, 8: True, 10: False, 16: False}),
        (MESH.with_official_order(), {1: True, 10: True}),
    ],
)
def test_levels_nest_as_the_order_of_cells_does(grid, sides, tmp_path):
    release, _ = publish(tmp_path / "release", grid)
    nested_by_side = {level.side: level.nested for level in list_levels(release)}
    nested = [side for side, is_nested in nested_by_side.items() if is_nested]
    assert all(b % a == 0 for a, b in pairwise(nested))
    assert {side for side, is_nested in sides.items() if is_nested} <= {*nested}
    assert nested_by_side[10] is sides[10]


def test_methods_without_closed_form_have_no_margins(tmp_path):
    release, _ = publish(tmp_path / "release", method="mwem")
    assert {m for level in list_levels(release) for m in level.margins.values()} == {None}


def believable(counts, areas, margins, times):
    """Compute the shown density of each cell, and the side of its square, the slow way."""
    rows, cols = counts.shape
    density, side_of = np.zeros((rows, cols)), np.zeros((rows, cols), int)
    smallest = 0.0
    for side, margin in margins.items():
        smallest = max(smallest, times * margin)
        for row in range(0, rows, side):
            for col in range(0, cols, side):
                some = np.zeros((rows, cols), bool)
                some[row : row + side, col : col + side] = True
                some &= side_of == 0
                if some.any() and abs(counts[some].sum()) >= smallest:
                    density[some] = counts[some].sum() / areas[some].sum()
                    side_of[some] = side
    return density, side_of


@pytest.mark.law
@NODE
@pytest.mark.parametrize("times", [0, 1, 2.5])
def test_each_square_shows_the_smallest_one_that_can_be_believed(times, tmp_path):
    release, card = publish(tmp_path / "release", epsilon="1/20", contribution=1)
    driver = """
    const { density, levelShown } = surface.densities(surface.levels[0], given);
    return [[...density], [...levelShown].map((n) => (n < 0 ? 0 : surface.levels[n].side))];
    """
    computed = run(page_of(release, card), driver, times)
    counts = np.zeros((21, 30))
    counts[tuple(release.grid.decode(release.table.key))] = release.table.count
    margins = {level.side: level.margins[""] for level in list_levels(release)}
    density, side = believable(counts, np.ones((21, 30)), margins, times)
    for looser in np.arange(0.5, times, 0.5):
        hidden = believable(counts, np.ones((21, 30)), margins, looser)[1] == 0
        density[hidden], side[hidden] = 0, 0
    assert len(np.unique(side)) > (1 if times else 0)
    np.testing.assert_array_equal(np.array(computed[1]).reshape(21, 30), side)
    np.testing.assert_allclose(np.array(computed[0]).reshape(21, 30), density, rtol=1e-12)
    assert classify(density).max() > 0


COLOURED = """
return surface.levels.map((level) => [0.5, 1, 1.5, 2, 2.5, 3].map((times) => (
  [...surface.densities(level, times).levelShown].map((each) => each >= 0)
)));
"""


@NODE
def test_a_stricter_setting_colours_no_more_at_any_level(tmp_path):
    release, card = publish(tmp_path / "release", epsilon="1/20", contribution=1)
    for level in run(page_of(release, card), COLOURED):
        assert all((np.array(loose) >= strict).all() for loose, strict in pairwise(level))
    shares = [np.mean(each) for each in run(page_of(release, card), COLOURED)[0]]
    assert shares[0] > shares[-1] > 0


@NODE
def test_areas_of_a_code_system_lie_in_those_above(tmp_path):
    release, card = publish(tmp_path / "release", MESH)
    driver = """
    const level = surface.levels.find(({ side }) => side === 5);
    const chain = surface.chain(level).map(({ side }) => side);
    const { levelShown, rows, cols } = surface.densities(level, 0.5);
    const sums = surface.sumSquares(level).count;
    const large = surface.sumSquares(surface.levels.find(({ side }) => side === 10)).count;
    return [chain, sums.reduce((a, b) => a + b), large.reduce((a, b) => a + b), rows, cols];
    """
    chain, sums, large, rows, cols = run(page_of(release, card), driver)
    assert chain[:2] == [5, 10]
    assert sums == large == release.table.count.sum()
    assert rows * cols > 4


@pytest.mark.law
def test_a_national_map_of_1_km_is_below_5_MB():
    random = np.random.default_rng(8)
    counts = random.lognormal(4, 2, (868, 642)).astype(np.int64)
    counts[random.random(counts.shape) < 0.6] = 0
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4_031_000, 2_684_000, 4_673_000, 3_552_000))
    table = geodp.CountTable.from_dense(counts, grid)
    release = geodp.publish(table, epsilon=1, contribution=1)
    assert release.table.key.size > 200_000
    assert len(json.dumps(pack_surface(release.view()))) < 5_000_000


@NODE
def test_a_large_map_is_drawn_in_coarser_squares(tmp_path, monkeypatch):
    monkeypatch.setattr("geodp.release.report.html.surface.MAX_SQUARES", 200)
    release, card = publish(tmp_path / "release")
    row, col = release.grid.decode(release.table.key[-1:])[:, 0].tolist()
    driver = """
    const total = surface.counts.reduce((sum, count) => sum + count, 0);
    const sides = [surface.cell.side, surface.levels[0].side];
    return [surface.rows, surface.cols, sides, total, surface.estimate([given]).count];
    """
    computed = run(page_of(release, card), driver, [row, col])
    count = release.table.count
    assert computed == [11, 15, [1, 2], count.sum(), count[-1]]


def listed(grid, side, offset):
    """The slow, obvious square: every place of each one that is tried."""
    best = np.empty((2, 0), int)
    parts = [i * grid.size // (2 * packing.MAX_CANDIDATES) for i in (1, 3, 5, 7, 9)]
    parts.sort(key=lambda part: abs(part - grid.size // 2))
    for at in grid.decode(grid.domain.keys_of_ranks(np.array(parts)))[:2].T:
        low = [(i + o) // side * side - o for i, o in zip(at, offset, strict=True)]
        index = np.indices(grid.shape[:2]).reshape(2, -1)
        off = index.T - low
        near = ((off >= 0) & (off < side)).all(axis=1)
        full = np.zeros((len(grid.shape), near.sum()), int)
        full[:2] = index[:, near]
        square = full[:2, grid.contains(full)]
        if square.shape[1] > best.shape[1]:
            best = square
        if best.shape[1] == side * side:
            break
    return best


def masked(share):
    grid = geodp.Grid.regular((60, 90), **PLACE)
    inside = np.random.default_rng(1).random((60, 90)) < share
    inside[30, 40:45] = True
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "a test"))


@pytest.mark.parametrize("grid", [SEXES, MESH, masked(0.01), masked(0.3), masked(0.95)])
@pytest.mark.parametrize("max_cells", [1 << 16, 40, 7])
def test_a_square_is_that_of_its_listed_cells_or_too_large(grid, max_cells, monkeypatch):
    monkeypatch.setattr(packing, "MAX_CELLS", max_cells)
    for side in (1, 3, 8, 16, 32):
        for offset in ((0, 0), (2, 1)):
            square, expected = packing._find_square(grid, side, offset), listed(grid, side, offset)
            if expected.shape[1] <= max_cells:
                assert np.array_equal(square, expected)
            else:
                assert square is None


@pytest.mark.parametrize(
    ("shape", "sides"),
    [((1 << 18, 1 << 19), 18), ((1 << 31, 1 << 31), 30), ((1 << 14, 1 << 15), 14)],
)
def test_a_giant_domain_needs_no_more_than_the_largest_square(shape, sides, monkeypatch):
    """Margins of the largest squares come from their block of keys; few cells are read."""
    grid = geodp.Grid.regular(shape)
    sizes = []
    contains = type(grid).contains

    def counted(self, index):
        sizes.append(index.shape[1])
        return contains(self, index)

    monkeypatch.setattr(type(grid), "contains", counted)
    key = np.arange(0, 1000, 7, dtype=np.uint64)
    table = geodp.CountTable.from_index(grid, grid.decode(key), np.full(key.size, 90))
    release = geodp.publish(table, epsilon=1, contribution=1)
    listed_levels = list_levels(release)
    assert [level.side for level in listed_levels] == [1 << n for n in range(sides)]
    assert all(level.margins[""] > 0 for level in listed_levels)
    sizes.clear()
    for level in listed_levels:
        packing._find_square(grid, level.side, level.offset)
    assert max(sizes) <= packing.MAX_CELLS
    assert sum(sizes) <= 2 * packing.MAX_CELLS * len(listed_levels)
