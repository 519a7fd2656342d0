"""What is left of a guarantee where totals are public: between tables that have the same ones."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.grid.hierarchy import Hierarchy
from geodp.mechanisms import mechanism
from geodp.privacy.terms import ADD_REMOVE, REPLACE
from geodp.table.counts import ReleasedTable
from geodp.table.public_totals import PublicTotals
from tests.laws.audit import audited, caught
from tests.laws.side_by_side import GRIDS, Case, neighbours_of, of_pyramid

pytestmark = pytest.mark.law

REGIONS = Hierarchy.of_cells(
    [[0, 0, 1, 1], [0, 1, 0, 1]], {"city": ["a", "a", "b", "b"]}, "made up"
)
GRID = geodp.Grid.regular((2, 2)).with_hierarchy(REGIONS)
TOTALS = PublicTotals.of(GRID, {"a": 2, "b": 1}, "a book")
TABLES = tuple(
    geodp.CountTable.from_dense(np.array(counts), GRID)
    for counts in ([[2, 0], [1, 0]], [[1, 1], [1, 0]])
)
"""One person of region a lives elsewhere in it."""

PYRAMID = mechanism("pyramid")


def met(table, event, key):
    """The release with its totals."""
    TOTALS.require(table)
    return TOTALS.fit(PYRAMID.release(table, event, key))


def overspent(table, event, key):
    """The same with 32 times the budget."""
    return met(table, replace(event, epsilon=32 * event.epsilon), key)


def finer(table, event, key):
    """Met are the exact counts of cells, too, which nobody published."""
    released = met(table, event, key)
    return type(released)(GRID, table.key, table.count, event)


@pytest.mark.parametrize(("neighbours", "left"), [(ADD_REMOVE, 2), (REPLACE, 1)])
def test_what_is_left_holds_and_more_is_caught(neighbours, left):
    trials = 500
    assert audited(met, PYRAMID, TABLES, neighbours, trials=trials) <= left
    for broken in (overspent, finer):
        assert caught(broken, PYRAMID, TABLES, neighbours, left, trials=trials)


def test_totals_that_are_met_tell_who_is_not_counted_within_them():
    """The control of the claim itself: of tables with other totals nothing is promised."""
    others = geodp.CountTable.from_dense(np.array([[1, 0], [1, 0]]), GRID)
    fewer = PublicTotals.of(GRID, {"a": 1, "b": 1}, "a book")

    def each(table, event, key):
        own = TOTALS if table is TABLES[0] else fewer
        return own.fit(PYRAMID.release(table, event, key))

    assert caught(each, PYRAMID, (TABLES[0], others), ADD_REMOVE, 2, trials=300)


class Met(Case):
    """A pyramid whose one region has a public total: claimed is what is left of its guarantee."""

    @property
    def claim(self):
        """The distance of two steps: one person out and one in."""
        return 2 * super().claim

    @property
    def together(self):
        """Copies of the pyramid, each a region of one map that meets its total."""
        return met_together


def met_together(method, grid, event, counts, trials, key):
    """Rows of a map are copies; :meth:`PublicTotals.fit` takes each for a region."""
    values = of_pyramid(method, grid, event, counts, trials, key)
    rows = geodp.Grid.regular(values.shape)
    place = np.arange(values.size)
    area = place // counts.size
    totals = PublicTotals(
        rows, ((),) * trials, (), np.full(trials, counts.sum()), place, area, "a book"
    )
    index = np.array(np.nonzero(values))
    released = geodp.CountTable.from_index(rows, index, values[tuple(index)].astype(np.int64))
    fitted = totals.fit(ReleasedTable(rows, released.key, released.count, event))
    found = np.zeros(values.shape)
    found[tuple(rows.decode(fitted.key))] = fitted.count
    assert (found.sum(axis=1) == counts.sum()).all()
    return found


def test_a_quarter_too_much_is_caught_side_by_side():
    """Nearly all of the budget is for the cells, between which a person moves."""
    spec, cells = "pyramid:chain=3,shares=1-99", GRIDS["square"]
    pair = neighbours_of(cells, REPLACE, (41, 40))
    audit = Met(spec, cells, *pair)
    trials = 30_000
    assert 0.75 * audit.claim < audit.audited(trials) <= audit.claim
    assert audit.audited(trials, Fraction(5, 4)) > audit.claim
