"""A series of amounts: one charge, keys of its own, exact parts, and no noise in common."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.amounts.publish import prepare_amounts
from geodp.kinds.amounts.series import AmountsSeriesOptions, prepare_series
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP
from geodp.privacy.terms import Terms
from geodp.release.periods import Periods, name_part
from geodp.release.request import Request
from tests.kinds.amounts.made import EDGES, GRID, KEY
from tests.kinds.amounts.series.made import TERMS, TIMES, publish, table, tables
from tests.refusals import refuses

PERIOD = b"geodp amounts period 1"
"""Label that derives the keys of periods."""


def prepare(given=None, person="all", times=TIMES, **terms):
    """Everything before the charge."""
    terms = Terms.of(**({"epsilon": 1, "contribution": 1} | terms))
    request = Request(terms=terms, method=TERMS["method"], key=KEY)
    given = tables(classes=EDGES) if given is None else given
    options = AmountsSeriesOptions(person=person)
    return prepare_series(given, Periods.of(times), request, options)


def test_an_approximate_budget_is_charged_whole_and_divided_by_rho(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", ApproximateDP(Fraction(1), Fraction(1, 10**6)))
    given = {"epsilon": 1, "delta": "1e-6", "ledger": ledger, "dataset": "incomes"}
    series = publish(tables(n=300), **given)
    (line,) = ledger.charges("incomes")
    assert (line.loss.epsilon, line.loss.delta) == (1, Fraction(1, 10**6))
    parts = [Fraction(one.index.guarantee.rho) for one in series]
    assert sum(parts) == Fraction(series.index.guarantee.rho)


def test_all_periods_have_one_scale_and_one_design():
    prepared = prepare(tables(classes=EDGES, step="0.0001"))
    parts = prepared.design.parts
    assert len({part.plan for part in parts}) == 1
    cards = [part.preview.index.amount for part in parts]
    assert cards[0] == cards[1] == prepared.design.index.amount
    assert 0 < cards[0].notches < 10**7


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": None, "rho": "1/4"}])
def test_a_period_alone_with_its_part_and_its_key_has_the_same_bytes(budget, tmp_path):
    given = tables(classes=EDGES)
    prepared = prepare(given, **budget)
    design = prepared.design
    prepared.release().write(tmp_path / "series")
    part = design.parts[1]
    # As the release of amounts that the period would be by itself.
    alone = prepare_amounts(given[1], replace(part.request, terms=design.sharing.each))
    assert alone.design.plan == part.plan
    series_key = KEY.derive(prepared.identify(), design.draws)
    made = part.complete(alone.draw(series_key.derive(name_part(PERIOD, 1))), None)
    made.write(tmp_path / "alone")
    names = ["amounts.csv", "amounts.parquet", "count/count.csv", "count/count.parquet"]
    for name in names:
        one, other = (tmp_path / at / name for at in ("alone/public", "series/public/2020"))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"given": [1, 2]}, "amounts-series-tables"),
        ({"given": [table(n=50)]}, "tables-and-times-differ"),
        ({"times": ("2015", "2016", "2018")}, "snapshot-missing"),
        ({"times": ("2015",)}, "snapshots-fewer-than-two"),
        ({"times": ("2020", "2015")}, "snapshots-out-of-order"),
        ({"person": "some"}, "person-in-missing"),
        ({"unit": "person-year"}, "snapshots-need-person-one"),
        ({"contribution": None}, "contribution-unstated"),
        ({"method": "laplace"}, "pyramid-needed"),
        ({"means": False}, "amounts-nothing-released"),
        ({"share": 2}, "amounts-share"),
        ({"metadata": {"reference_date": "2020-10-01"}}, "metadata-of-one-release"),
        ({"given": [table(n=50), table(n=50, clip=(0, 500))]}, "tables-of-times-differ"),
        ({"given": [table(n=50), table(n=50, classes=EDGES)]}, "tables-of-times-differ"),
        ({"given": [table(n=50), table(n=50, unit_of_amount="EUR")]}, "tables-of-times-differ"),
        ({"given": [table(n=50), table(n=50, step="0.5")]}, "tables-of-times-differ"),
    ],
)
def test_what_is_no_series_is_refused(ledger, changed, code):
    given = {"given": tables(n=50), "ledger": ledger, "dataset": "census"}
    with refuses(UsageError, code):
        publish(**(given | changed))
    assert ledger.charges("census") == ()


def test_an_empty_period_is_allowed_and_an_empty_series_is_not():
    empty = geodp.CountTable.from_keys(GRID, [], [])
    some = table(n=50)
    none = replace(some, records=empty, above=np.empty(0, np.int64))
    series = publish([some, none])
    assert {*map(len, (series, series.estimate((0, 0, 8, 8))))} == {2}
    with refuses(UsageError, "series-empty"):
        publish([none, none])
    assert len(publish([none, none], allow_empty=True)) == 2


def test_a_person_of_a_column_is_bounded_in_every_period():
    series = publish(tables(person="id", contribution=1, n=300))
    bound = series.index.guarantee.assumptions[0]
    assert bound.stated_by == "geodp"
    assert bound.statement == "One person has at most 1 of the records of each period."
    assert [one.kind for one in series.index.guarantee.assumptions] == ["contribution", "amounts"]
    alone = publish(tables(n=300), person="one").index.guarantee
    assert alone.assumptions[-1].statement == "One person is in one period only."
    assert alone.assumptions[-1].stated_by == "operator"
