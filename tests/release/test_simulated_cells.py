"""Intervals of cells by simulation: from the release alone, stated, and worked out again."""

import json

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.verify.verify import verify
from geodp.io.write.view import View
from geodp.privacy.key import NoiseKey
from geodp.release.remaking import errors_of
from tests.ledgers import small_ledger
from tests.refusals import refuses

pytestmark = pytest.mark.law

GRID = geodp.Grid.regular((32, 32))
ROW, COL = np.indices((32, 32))
FEW = 20


@pytest.fixture(scope="module")
def people():
    simulated = np.where(COL < 12 + ROW % 5, 700, 0)
    simulated[20, 28] = 900
    return simulated


def publish(people, simulate=0, number=0, **more):
    table = geodp.CountTable.from_dense(people, GRID)
    more = {
        "method": "pyramid:chain=3-3-4,shares=2070-2019-2322-3589",
        "epsilon": "1/10",
        "key": NoiseKey(number.to_bytes(32, "little")),
        **more,
    }
    return geodp.publish(table, simulate=simulate, **more, contribution=1)


def test_counts_stay_and_cells_where_nobody_is_listed_become_narrower(people):
    plain, simulated = publish(people), publish(people, FEW)
    np.testing.assert_array_equal(plain.table.count, simulated.table.count)
    far = GRID.encode(np.array([[2, 3, 30], [25, 30, 31]]))
    assert (plain.table.counts_at(far) == 0).all()
    wide, narrow = plain.intervals().of(far), simulated.intervals().of(far)
    assert (narrow[1] < 0.9 * wide[1]).all()
    assert (narrow[1] > 0).all()
    cells = simulated.card().expected_error.cells
    assert cells.simulated == FEW
    assert cells.isolated >= narrow[1].max() * (1 - 1e-5)
    assert plain.card().expected_error.cells.simulated is None


def test_an_interval_holds_its_count_where_every_planted_cell_gained():
    grid, random = geodp.Grid.regular((40, 50)), np.random.default_rng(11)
    counts = (random.pareto(1.2, grid.shape) * 20).astype(int) * (random.random(grid.shape) < 0.05)
    release = geodp.publish(
        geodp.CountTable.from_dense(counts, grid),
        method="pyramid:chain=2-2-3-5,shares=1309-966-1408-2018-4299,passes=1,prune=2",
        epsilon=1,
        contribution=1,
        key=NoiseKey(bytes([10]) * 32),
        simulate=FEW,
    )
    assert release.margins.isolated_losses[0] == 0
    assert (release.intervals().of(release.table.key)[1] >= release.table.count).all()


def test_they_follow_from_the_release_and_the_number_alone(people):
    simulated = publish(people, FEW)
    again = errors_of(View(simulated.table, simulated.card())).intervals()
    key = np.arange(GRID.size, dtype=np.uint64)
    np.testing.assert_array_equal(simulated.intervals().of(key), again.of(key))
    one = simulated.estimate(GRID.encode(np.array([[20], [28]])))
    low, high = again.of(GRID.encode(np.array([[20], [28]])))
    assert (one.low, one.high) == (low[0], high[0])


def test_they_hold_the_true_counts(people):
    key = np.arange(GRID.size, dtype=np.uint64)
    truth, held = people[tuple(GRID.decode(key))], np.zeros(2)
    for number in range(6):
        low, high = publish(people, FEW, number).intervals().of(key)
        inside = (low <= truth) & (truth <= high)
        held += inside[truth > 0].mean() / 6, inside[truth == 0].mean() / 6
    assert min(held) >= 0.93


def test_they_are_written_and_verified(people, tmp_path):
    publish(people, FEW).write(tmp_path / "out")
    checks = {check.name: check for check in verify(tmp_path / "out", errors_of)}
    assert checks["intervals"].ok
    assert "computed again" in checks["intervals"].detail
    card = json.loads((tmp_path / "out/public/release.json").read_text(encoding="utf-8"))
    assert card["expected_error"]["cells"]["simulated"] == FEW
    assert card["expected_error"]["settlements"]["settlements"]


@pytest.mark.parametrize("method", ["laplace", "privelet", "dawa"])
def test_what_cannot_be_simulated_is_refused_before_the_charge(method, people, tmp_path):
    ledger = small_ledger(tmp_path)
    with refuses(UsageError, "simulated-nothing-clamped: --simulate"):
        publish(people, FEW, method=method, key=None, ledger=ledger, dataset="census")
    for number in (1, 10**6, -5):
        with refuses(UsageError, r"simulated-releases-range: \b20\b.*10,000"):
            publish(people, number, key=None, ledger=ledger, dataset="census")
    assert not ledger.charges()


def test_cells_of_releases_that_meet_public_totals_are_not_simulated(people):
    with refuses(UsageError, "not-simulated"):
        publish(people, FEW, totals=object())
