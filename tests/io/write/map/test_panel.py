"""What a map shows: sums of aligned blocks, windows of the grid, and what can be believed."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval import Z
from geodp.errors import UsageError
from geodp.io.write import frame
from geodp.io.write.map.panel import SURE, Panel, crop
from geodp.io.write.view import View
from tests.grids import masked
from tests.io.write.test_writers import KANTO, released
from tests.refusals import refuses

anew = released.__wrapped__
"""Makes a release whose card says nothing of larger maps yet."""

DOWN = (100.0, 0.0, 1000.0, 0.0, -100.0, 5000.0)


def test_pictures_sum_cells_into_aligned_blocks(monkeypatch):
    monkeypatch.setattr(frame, "MAX_BLOCKS", 10)
    release = anew(KANTO)
    panel = Panel.of(release.view(), 0)
    assert panel.frame.block == 4
    total = (panel.value * panel.frame.areas()).sum()
    assert total == pytest.approx(release.table.total)
    assert panel.cells == 16


def test_blocks_are_outside_where_their_middle_is(monkeypatch):
    monkeypatch.setattr(frame, "MAX_BLOCKS", 5)
    inside = np.zeros((18, 18), bool)
    inside[4:8, 8:12] = inside[12:16, :4] = True
    inside[16:, 16:] = True  # a block that is cut before its middle goes by its last cell
    grid = masked(geodp.Grid.regular(inside.shape), inside)
    table = geodp.CountTable.from_dense(np.zeros(grid.shape, int), grid)
    key = geodp.NoiseKey(bytes(32))
    release = geodp.publish(table, epsilon=9, contribution=1, key=key, allow_empty=True)
    assert release.table.total == 0
    panel = Panel.of(release.view(), 0)
    assert panel.frame.block == 4
    assert np.argwhere(~np.isnan(panel.value)).tolist() == [[1, 2], [3, 0], [4, 4]]


@pytest.mark.parametrize(
    "grid", [KANTO, geodp.Grid.regular((8, 16), crs="EPSG:3035", transform=DOWN)]
)
def test_a_window_shows_the_same_cells(grid):
    release = released(grid)
    whole = Panel.of(release.view(), 0)
    place = grid.places[0]
    west, south, east, north = place.bounds
    wide, high = (east - west) / place.cols, (north - south) / place.rows
    bounds = (west + 2.5 * wide, south + high, west + 5 * wide, south + 4.2 * high)
    part = Panel.of(release.view(), 0, bounds)
    rows = slice(1, 5) if place.northwards else slice(place.rows - 5, place.rows - 1)
    assert np.allclose(part.value, whole.value[rows, 2:5], rtol=1e-12)
    assert part.margin == whole.margin
    assert np.array_equal(part.believed, whole.believed[rows, 2:5])
    found, _ = crop(place, bounds)
    ends = west + 2 * wide, south + high, west + 5 * wide, south + 5 * high
    assert found.bounds == pytest.approx(ends)


@pytest.mark.parametrize(
    "bounds",
    [
        (141, 35, 138, 37),
        (138, 37, 141, 35),
        (0, 0, 1, 1),
        (float("nan"), 0, 1, 1),
        (138, 35, float("inf"), 36),
    ],
)
def test_bounds_without_a_cell_are_refused(bounds):
    with refuses(UsageError, "map-bounds-empty|map-bounds-form"):
        crop(KANTO.places[0], bounds)


def test_what_lies_within_its_margin_is_not_believed():
    release = released(KANTO)
    card = release.card()
    panel = Panel.of(View(release.table, card), 0)
    assert panel.margin == pytest.approx(Z * card.expected_error.blocks[0].standard_error)
    counts = np.abs(release.table.to_dense())
    assert np.array_equal(panel.believed, counts >= panel.margin)
    assert 0 < panel.believed.sum() < (counts > 0).sum()


def test_blocks_that_the_card_does_not_know_have_no_margin(monkeypatch):
    """A window of a map in blocks shows single cells; of attributes their sum has no figure."""
    monkeypatch.setattr(frame, "MAX_BLOCKS", 10)
    west, south, *_ = KANTO.places[0].bounds
    near = (west, south, west + 0.03, south + 0.02)
    release = anew(KANTO)
    panel = Panel.of(release.view(), 0, near)
    assert panel.frame.block == panel.cells == 1
    assert panel.margin == pytest.approx(Z * release.card().expected_error.blocks[0].standard_error)
    release = anew(KANTO.with_attribute("sex", ["f", "m"]))
    panel = Panel.of(release.view(), 0, near)
    assert (panel.cells, panel.margin, panel.believed) == (None, None, None)


def test_without_a_closed_form_nothing_is_known_of_a_cell():
    table = geodp.CountTable.from_dense(np.full((8, 8), 9), geodp.Grid.regular((8, 8)))
    release = geodp.publish(table, method="laplace-nonnegative", epsilon=1, contribution=1)
    assert Panel.of(release.view(), 0).believed is None


@pytest.mark.parametrize("each", [0, 40])
def test_what_noise_hides_is_known_in_larger_squares_or_nowhere(each):
    """The mean of a square is near that of its people, and the panel says how large squares are."""
    grid = geodp.Grid.regular((32, 32), crs="EPSG:3035", transform=(1e3, 0, 4.2e6, 0, -1e3, 3.1e6))
    table = geodp.CountTable.from_dense(np.full((32, 32), each), grid)
    terms = {"epsilon": "1/50", "contribution": 1, "key": geodp.NoiseKey(bytes(32))}
    panel = Panel.of(geodp.publish(table, allow_empty=True, **terms).view(), 0)
    known = ~np.isnan(panel.around)
    if each == 0:
        assert panel.least == SURE * panel.margin
        assert panel.resolved == -1
        assert not known.any()
    else:
        assert panel.resolved > 1
        assert np.array_equal(known, ~panel.believed)
        assert np.median(panel.around[known]) == pytest.approx(each, rel=0.4)
