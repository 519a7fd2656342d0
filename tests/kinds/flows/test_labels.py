"""Flows by label: divided exactly, written, verified, opened and estimated."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError, VerificationError
from geodp.grid.axes import Attribute
from geodp.grid.region import Region
from geodp.kinds.flows.label_estimates import (
    choose_labels,
    draw_one_label,
    draw_parts,
    vary_parts,
)
from geodp.kinds.flows.label_model import (
    CHUNK,
    LabelledBlocks,
    NoisyLabels,
    divide_labels,
    find_cells,
    find_spread,
    fit_labels,
    round_total,
)
from geodp.kinds.flows.streams import LabelDesign, count_cells
from geodp.kinds.flows.zones import Zones
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import HOUR, by_label, count_between, make
from tests.kinds.flows.test_publish import GRID, trips_on
from tests.refusals import refuses

ZONES = Zones.of(GRID)
KINDS = (("pairs", 8), ("origins", 4), ("destinations", 4))


def labelled_trips(seed=3, number=20_000):
    """Trips between near zones, by hours that are later where they begin farther in the east."""
    return by_label(trips_on(seed=seed, number=number), HOUR)


def publish(table=None, **more):
    table = labelled_trips() if table is None else table
    return geodp.flows.publish(table, **({"epsilon": 1, "contribution": 3} | more))


@pytest.fixture(scope="module")
def release(shared):
    return make(shared, "hours")


def flows_of(table):
    """Zones, labels and counts of a table by label."""
    index = table.grid.decode(table.key)
    ends = [np.searchsorted(ZONES.key, GRID.encode(index[at : at + 2])) for at in (0, 2)]
    return ends[0], ends[1], index[4], np.asarray(table.count, np.int64)


def measured(table, width=0.0, labels=24):
    """Counts by label of all cells, with noise of a standard deviation."""
    origin, destination, label, count = flows_of(table)
    draw, streams = np.random.default_rng(0), []
    for kind in KINDS:
        exact = np.zeros((count_cells(ZONES, *kind), labels), np.int64)
        np.add.at(exact, (find_cells(ZONES, *kind, origin, destination), label), count)
        noisy = exact + np.rint(draw.normal(0, width, exact.shape)).astype(np.int64)
        streams.append(NoisyLabels(*kind, noisy, max(width, 1e-6) ** 2))
    return streams, (origin, destination, count)


@pytest.mark.parametrize("width", [0, 30, 10_000])
def test_flows_are_divided_exactly(width):
    streams, flows = measured(labelled_trips(), width)
    flow, label, count = divide_labels(ZONES, flows, streams, 1)
    assert np.array_equal(np.bincount(flow, count, flows[2].size), flows[2])
    assert (count > 0).all()
    assert label.min() >= 0
    assert label.max() < 24
    again = divide_labels(ZONES, flows, streams, 1)
    assert all(np.array_equal(a, b) for a, b in zip(again, (flow, label, count), strict=True))


def test_what_is_measured_without_noise_is_met():
    table = labelled_trips()
    streams, flows = measured(table)
    flow, label, count = divide_labels(ZONES, flows, streams, 1)
    for one in streams:
        made = np.zeros(one.noisy.shape)
        np.add.at(made, (one.cells(ZONES, *(end[flow] for end in flows[:2])), label), count)
        apart = np.abs(made - one.noisy).sum() / one.noisy.sum()
        assert apart < 0.05


@pytest.mark.parametrize(("width", "most"), [(50, 0.9), (500, 0.6)])
def test_labels_of_places_are_found_in_noise(width, most):
    table = labelled_trips(number=200_000)
    streams, flows = measured(table, width)
    blocks = LabelledBlocks.of(ZONES, flows, streams)
    model = fit_labels(blocks.trips.astype(float), blocks.cells, streams)
    exact = measured(table)[0][1].noisy
    noisy = streams[1].noisy
    made = np.zeros(exact.shape)
    np.add.at(made, blocks.cells[1], model.expect())
    apart = [np.abs(one - exact).mean() for one in (made, noisy)]
    assert apart[0] < most * apart[1]
    assert np.allclose(model.expect().sum(axis=1), blocks.trips)
    assert np.allclose(model.expect(3, 7), model.expect()[3:7])


def test_where_noise_hides_all_labels_are_those_of_the_map():
    draw = np.random.default_rng(0)
    expected = np.full((60, 24), 5.0)
    found = [find_spread(expected, draw.normal(0, 100, expected.shape), 100.0**2) for _ in range(5)]
    assert min(found) == 0
    apart = draw.normal(0, 2.5, expected.shape) + draw.normal(0, 1, expected.shape)
    assert find_spread(expected, apart, 1.0) == pytest.approx(0.25, rel=0.2)


def test_many_flows_are_divided_in_parts(monkeypatch):
    streams, flows = measured(labelled_trips(), 30)
    whole = divide_labels(ZONES, flows, streams, 1)
    assert flows[2].size * 24 < CHUNK
    monkeypatch.setattr("geodp.kinds.flows.label_model.CHUNK", 1000)
    parts = divide_labels(ZONES, flows, streams, 1)
    assert np.array_equal(np.bincount(parts[0], parts[2]), np.bincount(whole[0], whole[2]))


def test_totals_are_rounded_exactly():
    assert round_total(np.array([1.4, 1.4, 1.2]), 4).tolist() == [2, 1, 1]
    assert round_total(np.array([0.5, 0.5]), 7).sum() == 7


@pytest.mark.parametrize(("side", "labels"), [(1, 2), (16, 1_000_000)])
def test_counts_by_label_beyond_all_memory_are_refused_before_they_are_made(side, labels):
    # 64 GiB of counts of single zones.
    grid = geodp.Grid.regular((1024, 1024))
    with refuses(VerificationError, "flows-stated-labels"):
        LabelDesign.read(side, "3/20").require_possible(grid, labels)
    LabelDesign.choose(grid, 1000, 1, Fraction(3, 20)).require_possible(grid, 1000)


def test_estimates_of_labels_add_up_to_all(release):
    regions = (0, 0, 8, 16), (0, 0, 16, 16)
    sets = [{"hour": hour} for hour in range(24)]
    hours = [one for (one,) in release.estimate_sets([regions], sets)]
    whole = release.estimate(*regions)
    assert sum(one.count for one in hours) == whole.count
    assert all(one.low <= one.count <= one.high for one in hours)
    assert release.estimate(*regions, hour=[*range(24)]) == whole
    several = release.estimate(*regions, hour=["8", 9])
    assert several.count == hours[8].count + hours[9].count
    wide = max(one.high - one.low for one in hours)
    assert wide < 2 * (whole.high - whole.low)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("repeated", [1, 100, 10_000])
def test_parts_of_few_trips_of_units_with_many_are_finite(repeated):
    expected = np.tile([0.05, 0.3, 0.65], (100_000, 1))
    trips = np.ones(100_000)
    drawn = draw_parts(expected, trips, repeated, np.random.default_rng(0))
    assert np.isfinite(drawn).all()
    assert np.allclose(drawn.sum(axis=1), trips)
    assert drawn.mean(axis=0) == pytest.approx(expected[0], abs=0.02)


def test_one_label_is_drawn_as_often_as_it_is_expected():
    expected = np.tile([1e-300, 3e-300, 0, 4e-300], (8_000, 1))
    drawn = draw_one_label(expected, np.random.default_rng(0))
    assert set(drawn.sum(axis=1)) == {1}
    assert drawn.mean(axis=0) == pytest.approx([1 / 8, 3 / 8, 0, 1 / 2], abs=0.02)


def station_trips(most=4_000):
    """Trips by mode of which few are by train, but nearly all of those from and to one zone."""
    draw = np.random.default_rng(5)
    place, mode = draw.integers(0, 16, (4, 60_000)), draw.choice(3, 60_000, p=[0.2, 0.7, 0.1])
    place[:2, :most] = place[2:, most : 2 * most] = 5
    mode[: 2 * most] = draw.choice(3, 2 * most, p=[0.05, 0.05, 0.9])
    pairs = GRID.pairs().with_attribute("mode", ("walk", "car", "train"))
    return geodp.CountTable.from_index(pairs, np.stack([*place, mode]), np.ones(60_000, np.int64))


WHOLE = (0, 0, 16, 16)


def test_intervals_hold_a_zone_that_differs_from_its_block():
    table, zone = station_trips(), Region.of_map(GRID, np.array([5]), np.array([5]))
    every = Region(GRID, np.sort(ZONES.key))
    regions, mode = [(zone, every), (every, zone)], {"mode": "train"}
    truth = count_between(table, regions, mode)
    for trial in range(3):
        made = publish(table, contribution=10, key=NoiseKey(bytes([trial]) * 32))
        found = made.estimate_all(regions, labels=mode)
        for n, one in zip(truth, found, strict=True):
            assert n > 1.3 * one.count
            assert one.low <= n <= one.high


def test_parts_of_many_zones_differ_less():
    of_zone, trips = np.repeat(np.arange(4), 10), np.ones(40)
    inside = np.zeros(40, np.bool_)
    # One zone, all but one, half, and all zones of a block.
    inside[[0, *range(11, 20), *range(20, 25), *range(30, 40)]] = True
    one, rest, half, whole = vary_parts(of_zone, trips, inside)
    assert one == pytest.approx(0.9**2 / (0.9**2 + 0.1**2))
    assert rest == pytest.approx(0.1**2 / (0.9**2 + 0.1**2))
    assert half == pytest.approx(1 / 5 / 2)
    assert whole == 0
    # The trips are off by as much in one zone as in all others.
    assert 0.1 * one**0.5 == pytest.approx(0.9 * rest**0.5)
    assert not vary_parts(of_zone, 0 * trips, inside).any()


def test_intervals_of_whole_blocks_allow_for_no_zone_that_differs(monkeypatch):
    made = publish(station_trips())
    assert made.index.guarantee.labels.side == 8
    regions = [((0, 0, 8, 8), WHOLE), (WHOLE, (0, 8, 8, 16)), (WHOLE, WHOLE), ((0, 0, 4, 8), WHOLE)]

    def estimate():
        return made.estimate_all(regions, labels={"mode": "train"})

    before = estimate()
    monkeypatch.setattr("geodp.kinds.flows.label_estimates.CONCENTRATION", 1e12)
    after = estimate()
    assert before[:3] == after[:3]
    assert before[3].standard_error > 1.5 * after[3].standard_error


def test_labels_are_chosen_by_name():
    attributes = (HOUR, Attribute("mode", ("walk", "car")))
    assert choose_labels(attributes, {}).all()
    chosen = choose_labels(attributes, {"hour": 8}).reshape(24, 2)
    assert chosen[8].all()
    assert chosen.sum() == 2
    assert choose_labels(attributes, {"hour": [8, 9], "mode": "car"}).sum() == 2
    with refuses(UsageError, "flows-attribute-unknown"):
        choose_labels(attributes, {"day": 1})
    for label in ("24", [], [8, "night"]):
        with refuses(UsageError, "flows-label-unknown"):
            choose_labels(attributes, {"hour": label})


@pytest.mark.parametrize(
    ("table", "more", "code"),
    [
        (None, {"levels": {4: "9/10"}, "label_share": "1/10"}, "flows-levels-form"),
        (trips_on(), {"label_share": "1/10"}, "flows-label-share-unused"),
        (
            geodp.CountTable.from_keys(
                GRID.pairs().with_attribute("code", [*map(str, range(1001))]), [], []
            ),
            {"allow_empty": True},
            "flows-labels-too-many",
        ),
        *(
            (None, {"label_share": share}, "flows-label-share")
            for share in ("1", 0, "-1/2", "some", float("nan"), "1/0")
        ),
    ],
)
def test_shares_without_sense_and_too_many_labels_are_refused(table, more, code):
    with refuses(UsageError, code):
        publish(table, **more)


def test_more_budget_for_labels_lowers_their_noise():
    one, other = (publish(label_share=share).index.guarantee for share in ("1/10", "1/5"))
    assert one.labels.standard_error > 1.9 * other.labels.standard_error
    assert Fraction(one.end_share) > Fraction(other.end_share)
    planned = geodp.flows.plan(GRID, trips=3, epsilon=1, by="hour", label_share="1/5")
    assert planned.label_error == pytest.approx(other.labels.standard_error)
    assert planned.label_sides == (other.labels.side, other.labels.pair_side)
    assert geodp.flows.plan(GRID, trips=3, epsilon=1).label_error is None
