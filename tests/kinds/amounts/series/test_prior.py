"""A series with a prior: one for every period, which changes nothing of what is measured."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.amounts.publish import prepare_amounts
from geodp.kinds.amounts.series import AmountsSeriesOptions, prepare_series
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.release.periods import Periods, name_part
from geodp.release.request import Request
from tests.keys import keep
from tests.kinds.amounts.made import KEY
from tests.kinds.amounts.series.test_verify import change_period
from tests.kinds.amounts.test_prior import SOURCE, as_published, not_private, read, told, town
from tests.kinds.changing import change_index, failed
from tests.refusals import refuses

TIMES = ("2015", "2020")
AREA = (8, 8, 24, 24)
EDGES = (100, 300)


@pytest.fixture(scope="module")
def tables():
    return [read(town(), 1, EDGES), read(town(), 2, EDGES)]


@pytest.fixture(scope="module")
def census():
    return as_published(read(town(), 3))


@pytest.fixture(scope="module")
def earlier():
    return geodp.amounts.publish(read(town(), 3, EDGES), epsilon=2, contribution=1)


def publish(tables, **more):
    terms = {"person": "all", "contribution": 1, "epsilon": "2/5"} | more
    return geodp.amounts.publish_series(tables, times=TIMES, **terms)


def prepare(tables, **more):
    request = Request(terms=Terms.of(epsilon="2/5", contribution=1), key=KEY)
    options = AmountsSeriesOptions(person="all")
    return prepare_series(tables, Periods.of(TIMES), request, options, **more)


@pytest.fixture(scope="module")
def informed(tables, census):
    return publish(tables, **told(census))


def errors(series, tables):
    """Mean absolute errors of the counts of cells, by period."""
    return [
        np.abs(one.count.table.to_dense() - table.records.to_dense()).mean()
        for one, table in zip(series, tables, strict=True)
    ]


@pytest.mark.parametrize("kind", ["census", "release"])
def test_a_period_with_a_prior_is_the_release_that_it_would_be_by_itself(
    tables, census, earlier, kind
):
    """With the part of its budget and its key, and with what it learned of the prior."""
    prior = told(census if kind == "census" else earlier)
    prepared = prepare(tables, **prior)
    made = prepared.release()
    series_key = KEY.derive(prepared.identify(), prepared.design.draws)
    for number, table in enumerate(tables):
        alone = prepare_amounts(table, prepared.design.parts[number].request, **prior)
        drawn = alone.draw(series_key.derive(name_part(b"geodp amounts period 1", number)))
        one = alone.design.complete(drawn, None)
        assert one.index.prior == made[number].index.prior
        np.testing.assert_array_equal(one.count.table.count, made[number].count.table.count)
        np.testing.assert_array_equal(one.sum.table.count, made[number].sum.table.count)


def test_a_prior_changes_nothing_of_what_is_measured(tables, census, earlier, tmp_path):
    plain = prepare(tables)
    for prior in (census, earlier):
        prepared = prepare(tables, **told(prior))
        # The same key of the series, and so the same noise; the same streams.
        assert prepared.identify() == plain.identify()
        assert prepared.design.draws == plain.design.draws
        for one, other in zip(prepared.design.parts, plain.design.parts, strict=True):
            assert one.plan == other.plan
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(10))
    key = geodp.NoiseKey.from_file(keep(tmp_path / "key"))
    kept = {"ledger": ledger, "dataset": "incomes", "key": key}
    for more in (told(census), {}, told(earlier)):
        publish(tables, **kept, **more)
    assert len(ledger.charges("incomes")) == 1


def _trust(card):
    card["prior"]["streams"][0]["levels"][0]["reliability"] = 0.5


@pytest.mark.parametrize(
    ("time", "change", "found"),
    [
        (None, lambda card: card["prior"].update(source="another"), "guarantee"),
        (None, lambda card: card.pop("prior"), "guarantee"),
        ("2020", lambda card: card["prior"].update(source="another"), "guarantee"),
        # A period alone tells what it learned.
        ("2020", _trust, "2020"),
    ],
)
def test_a_changed_prior_is_found(informed, shared, tmp_path, time, change, found):
    shared.copy(informed, tmp_path / "out")
    public = tmp_path / "out" / "public"
    assert failed(public) == {}
    if time is None:
        change_index(public, change)
    else:
        change_period(public, time, change)
    assert found in failed(public)
    assert found == "2020" or "index.prior" in failed(public)[found]


def test_what_is_no_prior_is_refused(tables, census, earlier):
    own = [(part, "prior-is-table") for one in tables for part in (one.records, *one.classes)]
    for prior, code in (*own, (tables[0], "amounts-prior-kind"),
                        (not_private(tables[0]), "prior-not-private")):  # fmt: skip
        with refuses(UsageError, code):
            publish(tables, **told(prior))
    with refuses(UsageError, "prior-source-missing"):
        publish(tables, prior=census)
    with refuses(UsageError, "source-without-prior"):
        publish(tables, prior_source=SOURCE)
    series = publish(tables, **told(earlier))
    with refuses(UsageError, "amounts-compare-prior"):
        earlier.compare(AREA, release=series["2020"])
    change = series.compare(AREA)["count"]
    assert change.low < change.high
