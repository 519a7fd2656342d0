"""The table of the pyramid's default: how it is made, and what was measured of it."""

import json
from pathlib import Path

import numpy as np
import pytest

import geodp
from bench.inputs import derived
from bench.suites import shares, shares_bound
from geodp.mechanisms.trees.levels import FEW_BITS, table_levels
from geodp.table.counts import ReleasedTable

pytestmark = pytest.mark.law

ROOT = Path(__file__).parents[2]
TOLD = ("0.1", "municipalities")
"""What the README tells."""

FOUND = json.loads(shares.SAVED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("bits", [13, 16, 18, 21, 22, 27, 36])
def test_the_tables_in_the_code_are_the_benchmark_s(bits, gaussian):
    """Within what another library of linear algebra may find by descent."""
    made = shares.plan_of(bits, shares.GAUSSIAN if gaussian else FOUND["chosen"])
    steps, parts = table_levels(bits, gaussian=gaussian)
    assert made.steps == tuple(steps)
    np.testing.assert_allclose(made.parts, [float(part) for part in parts], atol=30)


def test_small_domains_have_the_default_s_levels():
    for pattern, steps in (("4-6", (12,)), (shares.GAUSSIAN, (12,))):
        plan = shares.plan_on(geodp.Grid.regular((64, 64)), pattern)
        assert plan.steps == steps
        assert plan.parts == ((448, 9552) if pattern == "4-6" else (476, 9524))


def test_the_committed_figures_show_what_is_claimed():
    """Means over the maps, and two patterns between which the maps hardly choose."""
    for epsilon, most in (("0.1", (0.33, 0.34, 0.39)), ("1", (0.20, 0.29, 0.32))):
        rows = [row for row in FOUND["rows"] if row["epsilon"] == epsilon]
        chosen = [row for row in rows if row["by_others"]]
        assert {row["pattern"] for row in chosen} == {FOUND["chosen"], "3-4-4-6"}
        assert {row["data"] for row in chosen} == set(shares.TABLES)
        for name, bound in zip(("cells", "polygons", "municipalities"), most, strict=True):
            logs = [np.log(row["families"][name]) for row in chosen]
            assert np.exp(np.mean(logs)) <= bound
    short = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = [r for r in shares.means(FOUND) if (r["epsilon"], r["regions"]) == TOLD]
    assert f"For municipalities it is {float(row['mean']):.2f} times that of `topdown`" in short


def test_the_committed_figures_keep_the_bound_on_aligned_blocks():
    """But for what chance explains, and for the table that is made to break it."""
    names = {row["data"] for row in FOUND["bound"]}
    assert names == {*shares.TABLES, *shares_bound.WIDE, *derived.TABLES}
    for row in FOUND["bound"]:
        first_large = shares_bound.first_large(row["bits"])
        small, every = (shares_bound.worst(row, n) for n in (first_large, None))
        if row["data"] == "halves":
            assert small[0] > 1.05 * shares_bound.SMALL
            continue
        # The bound is no promise where cells are measured alone.
        if row["bits"] <= FEW_BITS:
            assert small[0] > 1.5 * shares_bound.SMALL
            continue
        assert small[0] - 2 * small[1] <= shares_bound.SMALL, row["data"]
        assert every[0] - 2 * every[1] <= shares_bound.LARGE, row["data"]
        assert small[0] <= 1.03 * shares_bound.SMALL, row["data"]


@pytest.mark.parametrize("shape", [(4, 8), (1, 5), (3, 3)])
def test_errors_of_blocks_are_those_of_their_sums(shape):
    grid, draw = geodp.Grid.regular(shape), np.random.default_rng(1)
    truth, found = (draw.integers(0, 3, shape) for _ in range(2))
    table, other = (geodp.CountTable.from_dense(counts, grid) for counts in (truth, found))
    event = geodp.publish(table, epsilon=1, contribution=1).event
    sums = shares_bound.sums_of_errors(table, ReleasedTable(grid, other.key, other.count, event))
    error = other.to_vector() - table.to_vector()
    for size in range(grid.bits + 1):
        blocks = error.reshape(-1, 1 << size).sum(axis=1)
        assert sums[:, size].tolist() == [np.abs(blocks).sum(), (blocks**2).sum()]
