"""What one person may contribute to a series is what the loosest of its snapshots allows."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.series.publish import SeriesOptions, prepare_series
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.release import transaction
from geodp.release.periods import Periods
from geodp.release.request import Request
from geodp.table.reading import SERIES_ROWS_FACT
from tests.keys import secret
from tests.ledgers import small_ledger
from tests.refusals import refuses

GRID = geodp.Grid.regular((8, 8))
TIMES = ("2024-01", "2024-02", "2024-03")


def snapshot(most, enforced):
    """Return a table of one snapshot, with the bound that its records or its layout give it."""
    key = np.arange(64, dtype=np.uint64)
    count = np.full(64, 50, np.int64)
    bound = None
    if most is not None:
        by = ("geodp",) if enforced else ("layout", "a census")
        bound = ContributionBound(most, *by)
    return geodp.CountTable.of_cells(GRID, key, count, bound=bound)


def prepare(tables, contribution=None, **more):
    terms = Terms.of(epsilon=Fraction(3), contribution=contribution, **more)
    request = Request(terms=terms, method="laplace", key=NoiseKey(secret("series")))
    periods, options = (
        Periods.of(TIMES[: len(tables)]),
        SeriesOptions(person="all", noise="laplace"),
    )
    return prepare_series(tables, periods, request, options).design


@pytest.mark.parametrize("bounds", sorted({*permutations((1, 2, 5))} | {(3, 3, 3)}))
def test_the_largest_bound_of_all_snapshots_is_that_of_each(bounds):
    found = prepare([snapshot(bound, True) for bound in bounds])
    for event in (found.total, found.parts[0].event):
        assert event.contribution == max(bounds)
        assert event.enforced
    assert found.parts[0].event.epsilon == 1
    assert found.parts[0].event.scale == max(bounds)
    assert found.shown.card().guarantee.contribution == max(bounds)


@pytest.mark.parametrize("loose", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_what_one_snapshot_does_not_enforce_nobody_enforces(loose):
    tables = [snapshot(2, number not in loose) for number in range(3)]
    found = prepare(tables)
    for event in (found.total, found.parts[0].event):
        assert (event.contribution, event.enforced) == (2, False)
    assert found.shown.card().guarantee.enforced is False


def test_a_bound_that_one_snapshot_lacks_is_asked_for():
    tables = [snapshot(1, True), snapshot(None, False)]
    with refuses(UsageError, "contribution-unstated"):
        prepare(tables)
    assert prepare(tables, 4).parts[0].event.contribution == 4


def test_a_bound_below_that_of_any_snapshot_is_refused():
    for bounds in permutations((1, 3)):
        with refuses(UsageError, r"contribution-below-table: \b3\b"):
            prepare([snapshot(bound, True) for bound in bounds], 2)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_labels_that_are_sums_are_refused_in_any_snapshot_and_asked_about(place):
    grid = GRID.with_attribute("kind", ["p", "q", "r"])
    counts = [np.ones((8, 8, 3), int) * [1, 2, 4] for _ in range(3)]
    tables = [geodp.CountTable.from_dense(one, grid) for one in counts]
    facts = prepare(tables, 1).shown.card().guarantee.not_protected
    assert any("labels which count the sum of others" in fact for fact in facts)
    counts[place][..., 2] = 3
    tables[place] = geodp.CountTable.from_dense(counts[place], grid)
    with refuses(UsageError, "contribution-below-sums-found"):
        prepare(tables, 1)


@pytest.mark.parametrize("empty", [{0}, {1}, {2}, {0, 2}])
def test_a_snapshot_may_be_empty_and_a_series_not(empty):
    nobody = geodp.CountTable.from_dense(np.zeros((8, 8), int), GRID)
    tables = [nobody if number in empty else snapshot(1, True) for number in range(3)]
    assert SERIES_ROWS_FACT in prepare(tables, 1).shown.public_facts
    with refuses(UsageError, "series-empty"):
        prepare([nobody] * 3, 1)


def test_a_method_that_does_not_take_the_grid_is_refused():
    request = Request(terms=Terms.of(epsilon=1, contribution=1), method="parts")
    grid = GRID.with_attribute("kind", ["p", "q"]).with_attribute_order("above")
    tables = [geodp.CountTable.from_dense(np.ones((8, 8, 2), int), grid)] * 2
    with refuses(UsageError, "parts-needs-attributes-below"):
        prepare_series(tables, Periods.of(TIMES[:2]), request, SeriesOptions(person="all"))


def test_both_events_say_where_the_key_is_from():
    for key, origin in ((None, "entropy"), (NoiseKey(secret("series")), "fixed")):
        terms, tables = Terms.of(epsilon=1, contribution=1), [snapshot(1, True)] * 2
        request = Request(terms=terms, method="laplace", key=key)
        periods, options = Periods.of(TIMES[:2]), SeriesOptions(person="all")
        found = prepare_series(tables, periods, request, options).design
        assert (found.total.key_origin, found.parts[0].event.key_origin) == (origin, origin)


def test_what_a_series_is_made_from_is_declared_to_the_ledger(tmp_path, monkeypatch):
    ledger = small_ledger(tmp_path)
    asked = []
    real = transaction.draw_and_charge

    def draw_and_charge(*given, **more):
        asked.append(more)
        return real(*given, **more)

    monkeypatch.setattr(transaction, "draw_and_charge", draw_and_charge)
    tables = [snapshot(1, True)] * 2
    charged = {"ledger": ledger, "dataset": "census", "records": "all"}
    geodp.publish_series(tables, times=TIMES[:2], person="all", epsilon="1/2", **charged)
    assert asked == [{"records": "all"}]
