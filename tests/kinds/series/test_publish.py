"""A series: one charge, keys of its own, parts of the budget, and nothing shared between noises."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.series.series import Series
from geodp.mechanisms import mechanism
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP
from geodp.privacy.noise.law import LARGEST_SCALE
from tests.refusals import refuses

GRID, WIDER = geodp.Grid.regular((16, 16)), geodp.Grid.regular((16, 17))
TIMES = ("2024-01", "2024-02", "2024-03")
TERMS = {"epsilon": 3, "contribution": 1, "person": "all", "noise": "laplace"}


def tables(number=3, grid=GRID, add=0):
    rng = np.random.default_rng(5)
    counts = rng.poisson(50, (number, *grid.shape)) + add
    return [geodp.CountTable.from_dense(one, grid) for one in counts]


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "office.ledger")
    made.add_dataset("stays", PureDP(Fraction(5)))
    return made


def publish(given=None, times=TIMES, **more):
    return geodp.publish_series(
        tables() if given is None else given, times=times, **{"contribution": 1} | TERMS | more
    )


def dense(series):
    return [one.table.to_dense() for one in series]


def test_all_of_zcdp_is_charged_once(tmp_path):
    ledger = Ledger.create(tmp_path / "l")
    cap = ApproximateDP(Fraction(1), Fraction(1, 10**9))
    ledger.add_dataset("stays", cap)
    given = {"epsilon": "1", "delta": "1e-9", "noise": "gaussian", "person": "all"}
    series = geodp.publish_series(
        tables(), times=TIMES, ledger=ledger, dataset="stays", **{"contribution": 1, **given}
    )
    (line,) = ledger.charges("stays")
    assert (line.loss.epsilon, line.loss.delta) == (1, Fraction(1, 10**9))
    assert sum(one.event.own.rho for one in series) == series.total.rho
    assert {one.event.loss for one in series} == {series.total.loss}
    assert series.total.loss.original.rho == series.total.rho


def test_equal_snapshots_share_no_noise(key):
    one = tables(1)[0]
    series = publish([one, one, one], key=key)
    values = dense(series)
    assert all(not np.array_equal(values[i], values[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    # Nor with a single release of the same table, key and budget.
    alone = geodp.publish(one, epsilon=1, contribution=1, key=key)
    assert alone.event == series[0].event.own
    assert not any(np.array_equal(alone.table.to_dense(), value) for value in values)


@pytest.mark.parametrize(
    "change",
    [
        {"times": ("2024-02", "2024-03", "2024-04")},
        {"epsilon": 4},
        {"person": "one"},
        {"neighbours": "replace-one"},
        {"unit": "household"},
        {"method": "pyramid:setting=R"},
        {"given": [*tables()[:2], tables(1, add=1)[0]]},
        {"given": tables(4), "times": (*TIMES, "2024-04")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_changes_every_snapshot(key, change):
    before, after = dense(publish(key=key)), dense(publish(**change, key=key))
    assert not any(np.array_equal(a, b) for a, b in zip(before, after, strict=False))


def test_a_snapshot_is_a_release_that_says_of_which_series_it_is():
    series = publish(people=12800.0)
    assert isinstance(series, Series)
    assert series["2024-02"] is series[1]
    change = series.compare((0, 0, 16, 16), times=("2024-01", "2024-03"))["count"]
    assert change.value == series[2].table.total - series[0].table.total
    assert {type(one) for one in series} == {geodp.Release}
    card = series[1].card()
    assert (card.guarantee.epsilon, card.guarantee.share) == ("3", "1/3")
    said = card.guarantee.not_protected[-1]
    assert "the snapshot of 2024-02 in a series of 3, from 2024-01 to 2024-03" in said
    assert "a person is in every snapshot; together they spend epsilon = 3" in said
    assert series[0].standard_error(4) > 0


def test_counts_of_any_size_are_whole_until_the_noise_is_in(key):
    big = np.zeros(GRID.shape, np.int64)
    big[3, 4] = 2**59 + 1
    grown = big.copy()
    grown[3, 4] += 1
    found = []
    for table in (big, grown):
        both = [geodp.CountTable.from_dense(one, GRID) for one in (table, table)]
        series = publish(both, times=TIMES[:2], key=NoiseKey(bytes(32)), method="laplace")
        found.append([one.table.to_dense()[3, 4] - int(table[3, 4]) for one in series])
    assert all(abs(value) < 1000 and value == int(value) for row in found for value in row)


@pytest.mark.parametrize(
    ("given", "more", "said"),
    [
        (tables(2), {}, r"tables-and-times-differ: \b2\b.*\b3\b"),
        ([*tables(2), tables(1, WIDER)[0]], {}, "tables-of-times-differ: 2024-03"),
        ([*tables(2), "no"], {}, "table-expected"),
        (None, {"times": ("2024-01", "2024-02", "2024-04")}, "snapshot-missing: 2024-03"),
        (None, {"times": ("2024-01", "2024-01", "2024-02")}, "snapshot-twice"),
        (None, {"unit": "person-day"}, "snapshots-need-person-one"),
        (None, {"noise": "gaussian"}, "gaussian-needs-delta"),
        (None, {"metadata": {"reference_date": "2024-01-01"}}, "metadata-of-one-release"),
        (None, {"epsilon": Fraction(1, 2 * LARGEST_SCALE)}, r"noise-too-wide: \bscale\b"),
        ([geodp.CountTable.from_dense(np.zeros((16, 16), int), GRID)] * 3, {}, "series-empty"),
    ],
)
def test_refused_before_the_charge(ledger, given, more, said):
    with refuses(UsageError, said) as error:
        publish(given, **more, ledger=ledger, dataset="stays")
    assert "\n" not in str(error.value)
    assert ledger.charges("stays") == ()


def test_a_key_is_forgotten_when_the_draw_fails(ledger, monkeypatch):
    kept = []
    method = mechanism("pyramid")
    real = type(method).release

    def fail(self, table, event, key):
        kept.append(key)
        if len(kept) == 2:
            raise MemoryError
        return real(self, table, event, key)

    monkeypatch.setattr(type(method), "release", fail)
    with pytest.raises(MemoryError):
        publish()
    for key in kept:
        with refuses(UsageError, "key-forgotten"):
            key.words()


@pytest.mark.parametrize("method", ["pyramid", "parts"])
def test_equal_snapshots_have_noise_of_their_own(method):
    """Equal noise would tell that they are equal: parts alone draw their map under its contents."""
    grid = GRID.with_attribute("sex", ["f", "m"])
    given = {"times": TIMES[:2], "key": NoiseKey(bytes(32)), "method": method}
    one, two = dense(publish(tables(1, grid) * 2, **given))
    assert (one.sum(axis=-1) != two.sum(axis=-1)).any()
