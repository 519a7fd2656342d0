"""What was measured before any clamp: the release's own noise, unbiased where it says so."""

import json

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.mechanisms import mechanism
from geodp.release import measurements
from geodp.release.measurements import choose_measurements
from geodp.table.measured import truth_of
from tests.refusals import refuses

GRID = geodp.Grid.regular((20, 13))
RNG = np.random.default_rng(3)
COUNTS = RNG.integers(0, 90, GRID.shape) * (RNG.random(GRID.shape) < 0.1)
TABLE = geodp.CountTable.from_dense(COUNTS, GRID)
METHODS = ("pyramid:setting=R", "pyramid:setting=R,passes=1", "topdown")


def key(n):
    return geodp.NoiseKey(n.to_bytes(32, "little"))


def published(method="pyramid", number=0, **kwargs):
    return geodp.publish(
        TABLE, method=method, epsilon="1/10", key=key(number), **kwargs, contribution=1
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", [{"epsilon": "1/10"}, {"rho": "1/20"}])
def test_they_change_nothing_in_the_release(method, loss):
    plain = geodp.publish(TABLE, method=method, key=key(0), **loss, contribution=1)
    more = geodp.publish(TABLE, method=method, key=key(0), measurements=4, **loss, contribution=1)
    assert np.array_equal(plain.table.key, more.table.key)
    assert np.array_equal(plain.table.count, more.table.count)
    assert plain.measurements is None


def test_topdown_was_refined_from_these_very_values():
    release = published("topdown", measurements=True)
    total, *levels = release.measurements.levels
    assert max(total.value[0], 0) == release.table.total
    for one in levels:
        left_right = [
            truth_of(GRID, one.level._replace(measures=what), one.node, release.table)
            for what in ("count", "difference")
        ]
        held, difference = left_right
        clamped = np.clip(one.value, -held, held)
        assert (np.abs(difference - clamped) <= (held + clamped) % 2).all()
        assert one.node.size


def test_one_pass_shared_out_by_these_very_values():
    release = published("pyramid:passes=1", measurements=True)
    total, *levels = release.measurements.levels
    assert max(total.value[0], 0) == release.table.total
    for one, fanout in zip(levels, mechanism("pyramid").levels(GRID).fanouts, strict=True):
        count = truth_of(GRID, one.level, one.node, release.table)
        above = one.node // np.uint64(fanout)
        for parent in np.unique(above):
            truth, value = count[above == parent], one.value[above == parent].astype(float)
            # The nearest point with this sum: what is taken from all that keep something.
            order, held = np.sort(value)[::-1], truth.sum()
            taken = (np.cumsum(order) - held) / np.arange(1, order.size + 1)
            tau = taken[np.flatnonzero(order > taken)[-1]] if held else np.inf
            assert (np.abs(truth - np.maximum(value - tau, 0)) <= 1).all()


def test_values_are_exact_beyond_floats():
    n = (1 << 59) + 1
    table = geodp.CountTable.from_keys(GRID, [0], [n])
    release = geodp.publish(table, epsilon=100, key=key(0), measurements="cell", contribution=1)
    last = release.measurements.levels[-1]
    assert abs(int(last.value[0]) - n) < 100


@pytest.mark.parametrize(
    ("grid", "complete_to", "complete"),
    [
        (GRID, "cell", (9, 9)),
        (GRID, 512, (1, 9)),
        (geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1)).with_official_order(), None, 0),
    ],
)
def test_levels_are_complete_down_to_the_area_that_is_named(grid, complete_to, complete):
    if complete_to is None:
        event = published().event
        requests = [
            choose_measurements(mechanism("pyramid"), grid, event, w)
            for w in ("basic", "jis:basic")
        ]
        assert requests[0].sizes == requests[1].sizes
        assert len(requests[0].sizes) == len(requests[0].levels) - 1
        with refuses(UsageError, "measurements-levels: jis:basic"):
            choose_measurements(mechanism("pyramid"), grid, event, "municipality")
        return
    request = choose_measurements(
        mechanism("topdown"), grid, published("topdown").event, complete_to
    )
    assert (len(request.sizes) - 1 or 1, len(request.levels) - 1) == complete
    summary = request.summary
    assert f"{sum(request.sizes):,} nodes" in summary
    assert ("visits" in summary) == (complete[0] < complete[1])


def test_other_methods_refuse_in_a_sentence():
    with refuses(UsageError, r"method-has-no-measurements: ^privelet\b.*\bpyramid and topdown\.$"):
        published("privelet", measurements=True)


def test_the_simulation_looks_at_no_data(monkeypatch):
    event = published().event
    first = choose_measurements(mechanism("pyramid"), GRID, event, 64)
    assert all(bias.missing > 0 and bias.bias < 0 for bias in first.biases[-2:])
    monkeypatch.setattr(measurements, "REPEATS", 4)
    other = choose_measurements(mechanism("pyramid"), GRID, event, 64)
    assert first.biases != other.biases
    assert choose_measurements(mechanism("pyramid"), GRID, event, 64).biases == other.biases
    assert json.dumps([bias._asdict() for bias in first.biases])
