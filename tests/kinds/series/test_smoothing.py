"""Snapshots that predict each other: the same measurements, less error, no later one forward."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.series import smoothing
from geodp.kinds.series.smoothing import TOTAL_PARTS, CellShares, Smoother, Smoothing
from geodp.mechanisms import mechanism
from geodp.mechanisms.trees import informed
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.table.counts import ReleasedTable
from tests.keys import keep, secret
from tests.refusals import refuses

GRID = geodp.Grid.regular((32, 32))
PYRAMID = mechanism("pyramid")
GIVEN = {"epsilon": 2, "contribution": 1, "person": "all", "noise": "laplace"}


def counts(number, seed=1):
    """A map with many empty cells that hardly changes."""
    rng = np.random.default_rng(seed)
    usual = np.where(rng.random(GRID.shape) < 0.3, rng.pareto(1.1, GRID.shape) * 40, 0)
    return rng.poisson(usual, (number, *GRID.shape))


def times(number, unit="M"):
    return [str(np.datetime64("2024-01-01T00", unit) + n) for n in range(number)]


def publish(maps, unit="M", **more):
    tables = [geodp.CountTable.from_dense(one, GRID) for one in maps]
    given = GIVEN | {"key": NoiseKey(secret("series")), "method": "pyramid:setting=R"} | more
    return geodp.publish_series(
        tables, times=times(len(maps), unit), **{"contribution": 1, **given}
    )


def dense(series):
    return np.array([one.table.to_dense() for one in series])


@pytest.fixture(scope="module")
def maps():
    return counts(4)


@pytest.fixture(scope="module")
def smoothed(maps):
    return {smooth: publish(maps, smooth=smooth) for smooth in ("none", "forward", "both")}


def test_snapshots_of_a_map_that_hardly_changes_have_less_error(maps, smoothed):
    error = {name: np.abs(dense(series) - maps).mean() for name, series in smoothed.items()}
    assert error["both"] < error["forward"] < 0.95 * error["none"]
    assert error["both"] < 0.85 * error["none"]


def test_a_snapshot_that_has_nothing_of_its_neighbours_is_believed(maps):
    moved = maps.copy()
    moved[2] = maps[2][::-1, ::-1]
    plain, smooth = (dense(publish(moved, smooth=one))[2] for one in ("none", "both"))
    blocks = [
        np.abs((one - moved[2]).reshape(4, 8, 4, 8).sum((1, 3))).mean() for one in (plain, smooth)
    ]
    assert blocks[1] < 1.25 * blocks[0]


def test_smoothing_is_no_further_measurement(maps, tmp_path):
    """Another choice under the same kept key is a replay, and the first forward one is the same."""
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("stays", PureDP(2))
    key = NoiseKey.from_file(keep(tmp_path / "key"))
    charged = {"ledger": ledger, "dataset": "stays", "key": key}
    plain = publish(maps, smooth="none", **charged)
    forward = publish(maps, smooth="forward", **charged)
    assert len(ledger.charges("stays")) == 1
    assert np.array_equal(dense(plain)[0], dense(forward)[0])
    assert not np.array_equal(dense(plain)[1], dense(forward)[1])


def test_tables_are_read_by_the_two_mechanisms_alone(monkeypatch):
    """Whatever else decides is made of their results, which all have noise in them."""

    class Opaque:
        grid = GRID

    rng, asked, gathered = np.random.default_rng(0), [], []
    held = [np.sort(rng.permutation(1024)[:200]).astype(np.uint64) for _ in range(3)]

    def release(self, table, event, key):
        asked.append((table, key))
        number = tables.index(table)
        return ReleasedTable(GRID, held[number], np.full(200, number + 1), event)

    def refine(table, steps, key, prior, *, reliabilities, gather):
        found = release(None, table, None, key)
        gathered.append(gather)
        return found.key, found.count, ()

    tables, keys = tuple(Opaque() for _ in held), ("a", "b", "c")
    monkeypatch.setattr(type(PYRAMID), "release", release)
    monkeypatch.setattr(informed, "refine", refine)
    event = PYRAMID.event(GRID, Terms.of(epsilon=1, contribution=1))
    found = Smoother(tables, keys, PYRAMID, event, Smoothing("both", (2,))).run()
    assert [one.key.tolist() for one in found] == [one.tolist() for one in held]
    assert {*asked} == {*zip(tables, keys, strict=True)}  # each with its own key, however often
    assert gathered == [True] * 4 + [False] * 3  # the last pass teaches nothing any more


def test_forward_no_snapshot_depends_on_a_later_one(maps, monkeypatch):
    monkeypatch.setattr("geodp.release.publish.release_digest", lambda *_: bytes(32))
    changed = maps.copy()
    changed[3] = maps[3, ::-1]
    for smooth in ("forward", "both"):
        before, after = (dense(publish(one, smooth=smooth)) for one in (maps, changed))
        assert np.array_equal(before[:3], after[:3]) == (smooth == "forward")
        assert not np.array_equal(before[3], after[3])


@pytest.mark.law
def test_cycles_help_where_the_like_comes_again():
    day, night = counts(1, 2)[0], counts(1, 3)[0]
    maps = np.random.default_rng(4).poisson([day, night] * 6)
    error = {}
    for cycles in ((), (2,)):
        found = publish(maps, unit="h", smooth="both", cycles=cycles)
        error[cycles] = np.abs(dense(found) - maps).mean()
    assert error[(2,)] < 0.97 * error[()]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"smooth": "much"}, "smooth-unknown"),
        ({"smooth": "both", "method": "laplace"}, "method-not-smoothed: laplace"),
        ({"smooth": "both", "method": "pyramid:passes=1"}, "method-not-smoothed"),
        ({"cycles": (4,)}, "cycle-out-of-range"),
        ({"cycles": (1,)}, "cycle-out-of-range"),
        ({"cycles": (3, 3)}, "cycle-twice"),
        ({"cycles": (3,), "smooth": "none"}, "cycles-need-smoothing"),
    ],
)
def test_what_cannot_be_smoothed_is_refused_in_a_sentence(maps, given, said):
    with refuses(UsageError, said) as error:
        publish(maps, **given)
    assert "\n" not in str(error.value)


def test_the_best_is_none_where_a_method_cannot():
    assert Smoothing.of("best", (), mechanism("laplace"), 9).mode == "none"
    assert Smoothing.of("best", (), PYRAMID, 9).mode == "both"


def test_shares_are_exact_parts():
    key = np.array([1, 5, 9], np.uint64)
    one = CellShares.of(key, np.array([1, 2, 1], np.int64))
    assert one.part.tolist() == [TOTAL_PARTS // 4, TOTAL_PARTS // 2, TOTAL_PARTS // 4]
    other = CellShares.of(key[1:], np.array([3, 1], np.int64))
    assert one.mix(other).part.tolist() == [
        TOTAL_PARTS // 4,
        TOTAL_PARTS * 5 // 4,
        TOTAL_PARTS // 2,
    ]
    assert one.mix(other, 2).part.tolist() == [
        TOTAL_PARTS // 2,
        TOTAL_PARTS * 7 // 4,
        TOTAL_PARTS * 3 // 4,
    ]
    assert CellShares.of(key[:0], np.empty(0, np.int64)).key.size == 0
    assert CellShares.of(key, np.array([2**59, 1, 1], np.int64)).key.tolist() == [1]
    other = CellShares(np.array([0, 5, 11], np.uint64), np.array([1, 1, 2**59], np.int64))
    assert one.mix(other).key.tolist() == [1, 5, 9, 11]


def test_priors_that_are_joined_count_alike():
    cells = [CellShares(np.array([n], np.uint64), np.array([7 * n + 1])) for n in range(4)]
    found = smoothing._join([None, *cells])
    assert (found.part / found.part.sum()).tolist() == [0.25] * 4
    assert smoothing._join([None, None]) is None
