"""Levels of a page's map: squares, their margins, and what is told where."""

import json
from itertools import pairwise

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval import Z
from geodp.grid.region import Region
from geodp.io.write.scale import classify
from geodp.release.report.html.levels import list_levels
from geodp.release.report.html.surface import state_surface
from tests.release.report.html.pages import NODE, PLACE, page_of, publish, run, towns

SEXES = geodp.Grid.regular((21, 30), **PLACE).with_attribute("sex", ["male", "female", "other"])
MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, 35 + 1 / 3))


def test_margins_are_those_of_squares_in_the_middle(tmp_path):
    counts = np.repeat(towns(21, 30)[..., None], 3, axis=2) // 3
    terms = {"method": "pyramid", "contribution": 1}
    release, card = publish(tmp_path / "release", SEXES, counts, **{"contribution": 1, **terms})
    levels = list_levels(release, card)
    assert [level.side for level in levels] == [1, 2, 4, 8]
    for level in levels:
        assert {*level.margins} == {"1", "0"}
    square = np.mgrid[8:16, 8:16].reshape(2, -1)
    for pattern, labels in (("1", None), ("0", {"sex": "male"})):
        region = Region.of_map(SEXES, *square, labels)
        wanted = Z * release.standard_error(region)
        assert levels[3].margins[pattern] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("grid", "sides"),
    [
        (MESH, {1: True, 2: True, 4: True, 5: False, 8: True, 10: False, 16: False}),
        (MESH.with_official_order(), {1: True, 10: True}),
    ],
)
def test_levels_nest_as_the_order_of_cells_does(grid, sides, tmp_path):
    release, card = publish(tmp_path / "release", grid)
    found = {level.side: level.nested for level in list_levels(release, card)}
    nested = [side for side, own in found.items() if own]
    assert all(b % a == 0 for a, b in pairwise(nested))
    assert {side for side, own in sides.items() if own} <= {*nested}
    assert found[10] is sides[10]


def test_methods_without_closed_form_have_no_margins(tmp_path):
    release, card = publish(tmp_path / "release", method="mwem")
    assert {m for level in list_levels(release, card) for m in level.margins.values()} == {None}


def told(counts, areas, margins, times):
    """The slow, obvious reading: what each cell shows, and of squares of which side."""
    rows, cols = counts.shape
    density, side_of = np.zeros((rows, cols)), np.zeros((rows, cols), int)
    least = 0.0
    for side, margin in margins.items():
        least = max(least, times * margin)
        for row in range(0, rows, side):
            for col in range(0, cols, side):
                some = np.zeros((rows, cols), bool)
                some[row : row + side, col : col + side] = True
                some &= side_of == 0
                if some.any() and abs(counts[some].sum()) >= least:
                    density[some] = counts[some].sum() / areas[some].sum()
                    side_of[some] = side
    return density, side_of


@pytest.mark.law
@NODE
@pytest.mark.parametrize("times", [0, 1, 2.5])
def test_each_square_shows_the_smallest_one_that_can_be_believed(times, tmp_path):
    release, card = publish(tmp_path / "release", epsilon="1/20", contribution=1)
    driver = """
    const { density, told } = surface.densities(surface.levels[0], given);
    return [[...density], [...told].map((n) => (n < 0 ? 0 : surface.levels[n].side))];
    """
    found = run(page_of(release, card), driver, times)
    counts = np.zeros((21, 30))
    counts[tuple(release.grid.decode(release.table.key))] = release.table.count
    margins = {level.side: level.margins[""] for level in list_levels(release, card)}
    density, side = told(counts, np.ones((21, 30)), margins, times)
    assert len(np.unique(side)) > (1 if times else 0)
    np.testing.assert_array_equal(np.array(found[1]).reshape(21, 30), side)
    np.testing.assert_allclose(np.array(found[0]).reshape(21, 30), density, rtol=1e-12)
    assert classify(density).max() > 0


@pytest.mark.law
def test_a_national_map_of_1_km_is_below_5_MB():
    random = np.random.default_rng(8)
    counts = random.lognormal(4, 2, (868, 642)).astype(np.int64)
    counts[random.random(counts.shape) < 0.6] = 0
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4_031_000, 2_684_000, 4_673_000, 3_552_000))
    table = geodp.CountTable.from_dense(counts, grid)
    release = geodp.publish(table, epsilon=1, contribution=1)
    assert release.table.key.size > 200_000
    assert len(json.dumps(state_surface(release, release.card()))) < 5_000_000


@NODE
def test_a_large_map_is_drawn_in_coarser_squares(tmp_path, monkeypatch):
    monkeypatch.setattr("geodp.release.report.html.surface.MOST_SQUARES", 200)
    release, card = publish(tmp_path / "release")
    row, col = release.grid.decode(release.table.key[-1:])[:, 0].tolist()
    driver = """
    const total = surface.counts.reduce((sum, count) => sum + count, 0);
    const sides = [surface.cell.side, surface.levels[0].side];
    return [surface.rows, surface.cols, sides, total, surface.estimate([given]).count];
    """
    found = run(page_of(release, card), driver, [row, col])
    count = release.table.count
    assert found == [11, 15, [1, 2], count.sum(), count[-1]]
