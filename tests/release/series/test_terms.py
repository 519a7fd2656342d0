"""What one person may contribute to a series is what the loosest of its snapshots allows."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.mechanisms import mechanism
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.release.series.publish import prepare_series
from geodp.table.periods import Periods
from tests.keys import secret

GRID = geodp.Grid.regular((8, 8))
TIMES = ("2024-01", "2024-02", "2024-03")


def snapshot(bound, enforced):
    """Return a table of one snapshot, with the bound that its records or its form give it."""
    key = np.arange(64, dtype=np.uint64)
    count = np.full(64, 50, np.int64)
    return geodp.CountTable.of_cells(GRID, key, count, bound=bound, enforced=enforced)


def prepare(tables, contribution=None, **more):
    terms = Terms.of(epsilon=Fraction(3), contribution=contribution, **more)
    periods = Periods.of(TIMES[: len(tables)])
    key = NoiseKey(secret("series"))
    laplace = mechanism("laplace")
    return prepare_series(tables, periods, laplace, terms, person="all", noise="laplace", key=key)


@pytest.mark.parametrize("bounds", sorted({*permutations((1, 2, 5))} | {(3, 3, 3)}))
def test_the_largest_bound_of_all_snapshots_is_that_of_each(bounds):
    found = prepare([snapshot(bound, True) for bound in bounds])
    for event in (found.whole, found.each):
        assert event.contribution == max(bounds)
        assert event.enforced
    assert found.each.epsilon == 1
    assert found.each.scale == max(bounds)
    assert found.outline.card().guarantee.contribution == max(bounds)


@pytest.mark.parametrize("loose", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_what_one_snapshot_does_not_enforce_nobody_enforces(loose):
    tables = [snapshot(2, number not in loose) for number in range(3)]
    found = prepare(tables)
    for event in (found.whole, found.each):
        assert (event.contribution, event.enforced) == (2, False)
    assert found.outline.card().guarantee.enforced is False


def test_a_bound_that_one_snapshot_lacks_is_asked_for():
    tables = [snapshot(1, True), snapshot(None, False)]
    with pytest.raises(UsageError, match="Nothing in the input bounds"):
        prepare(tables)
    assert prepare(tables, 4).each.contribution == 4


def test_a_bound_below_that_of_any_snapshot_is_refused():
    for bounds in permutations((1, 3)):
        with pytest.raises(UsageError, match="counted 3 times"):
            prepare([snapshot(bound, True) for bound in bounds], 2)
