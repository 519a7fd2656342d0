"""What is asked of areal units, and of pairs of them: answers are codes of their public table."""

import numpy as np
import pytest

from geodp import CountTable, select
from geodp.grid.units import grid_of_units, pairs_of_units
from geodp.io.verify.verify import verify

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
