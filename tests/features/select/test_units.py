"""What is asked of areal units, and of pairs of them: answers are codes of their public table."""

from fractions import Fraction as F

import numpy as np
import pytest

from geodp import CountTable, select
from geodp.errors import UsageError
from geodp.features.select.resolution import Level, list_levels
from geodp.grid.units import grid_of_units, pairs_of_units
from geodp.io.verify.verify import verify
from tests.refusals import refuses

SURE = {"epsilon": 10**6, "contribution": 1}
BLOCKS = [f"{county}{tract}{block}" for county in "12" for tract in "123" for block in "12345"]
UNITS = {
    "block": BLOCKS[::-1],
    "tract": [code[:2] for code in BLOCKS[::-1]],
    "county": [code[:1] for code in BLOCKS[::-1]],
}
GRID = grid_of_units(UNITS, "blocks of this test")
PAIRS = pairs_of_units(GRID)


def count_of(grid, seed=3):
    """Counts of a third of the cells, all different, and their cells by code of every end."""
    draw = np.random.default_rng(seed)
    index = np.stack([axis.reshape(-1) for axis in np.indices(grid.shape)])
    some = draw.permutation(index.shape[1])[: index.shape[1] // 3]
    table = CountTable.from_index(grid, index[:, some], draw.permutation(some.size) * 10 + 11)
    index = grid.decode(table.key)
    ends = [grid.names.format(end, index).tolist() for end in range(len(grid.places))]
    return table, dict(zip(zip(*ends, strict=True), table.count.tolist(), strict=True))


@pytest.mark.parametrize("grid", [GRID, PAIRS], ids=["units", "pairs"])
def test_the_largest_are_named_by_their_codes(grid, tmp_path):
    table, counts = count_of(grid)
    found = select.top_cells(table, 5, **SURE)
    best = sorted(counts, key=counts.get)[::-1][:5]
    assert [tuple(one.values()) for one in found.chosen] == best
    names = ("code",) if grid is GRID else ("origin", "destination")
    assert tuple(found.chosen[0]) == names
    found.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))


def test_the_largest_pairs_of_a_level_have_a_unit_at_both_ends(tmp_path):
    table, counts = count_of(PAIRS)
    sums = {}
    for (home, work), count in counts.items():
        sums[home[:2], work[:2]] = sums.get((home[:2], work[:2]), 0) + count
    best = sorted(sums, key=sums.get)[::-1]
    found = select.top_cells(table, 36, level="tract", **SURE)
    assert found.card().question.candidates == 36
    named = [(one["origin_tract"], one["destination_tract"]) for one in found.chosen]
    assert named[: len(best)] == best
    assert len({*named}) == 36
    for one in found.chosen:
        ends = [(one[f"{end}_county"], one[f"{end}_tract"]) for end in ("origin", "destination")]
        assert all(tract.startswith(county) for county, tract in ends)
    found.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))


def test_levels_of_pairs_have_the_error_of_an_even_split_among_pairs_of_units():
    table, counts = count_of(PAIRS)
    event = select.top_cells(table, 1, epsilon=1, contribution=1).event
    question = Level(F(2))
    measured = dict(zip(list_levels(PAIRS), question.measure(table, event), strict=True))
    every = {(home, work): counts.get((home, work), 0) for home in BLOCKS for work in BLOCKS}
    for level, digits in (("county", 1), ("tract", 2), ("block", 3), ("cell", 3)):
        blocks = {}
        for (home, work), count in every.items():
            blocks.setdefault((home[:digits], work[:digits]), []).append(count)
        error = sum(abs(n - F(sum(own), len(own))) for own in blocks.values() for n in own)
        assert measured[level] == -(error + len(blocks) * F(1, 2))


@pytest.mark.parametrize("grid", [GRID, PAIRS], ids=["units", "pairs"])
def test_units_have_no_middle_and_no_order_along_a_map(grid):
    table, _ = count_of(grid)
    for axis in grid.axis_names:
        with refuses(UsageError, "units-lie-along-no-axis"):
            select.quantile(table, "1/2", axis=axis, **SURE)
    with refuses(UsageError, "median-needs-one-map" if grid is PAIRS else "median-needs-places"):
        select.median_centre(table, **SURE)


def test_an_attribute_of_units_has_quantiles():
    grid = GRID.with_attribute("age", ["young", "middle", "old"])
    table = CountTable.from_index(grid, np.array([[0] * 3, [1, 2, 3], [0, 1, 2]]), [1, 9, 1])
    (found,) = select.quantile(table, "1/2", axis="age", **SURE).chosen
    assert found["label"] == "middle"
