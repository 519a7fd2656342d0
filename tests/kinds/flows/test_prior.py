"""Flows with a prior: trusted as far as noisy pairs show, and never a part of what is measured."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import shapely

import geodp
from geodp.errors import UsageError
from geodp.grid.outlines import Outlines
from geodp.grid.units import grid_of_units
from geodp.kinds.flows.estimator import WEIGHTS, choose_trust, estimate_flows, fit_pairs
from geodp.kinds.flows.flows import describe_identity
from geodp.kinds.flows.prior_flows import LAW_RECORDS, FlowsPrior, TrustedPrior
from geodp.kinds.flows.publish import make_plan
from geodp.kinds.flows.streams import TripStreams
from geodp.kinds.flows.zones import Zones
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from tests.command import geodp as run
from tests.house.wiretap import listening
from tests.keys import keep
from tests.kinds.flows.forms import UNITS, failed, make
from tests.kinds.flows.masks import land, masked, masked_trips
from tests.kinds.flows.test_estimator import ZONES, noisy, right, truth
from tests.kinds.flows.test_publish import GRID, MESH, ends_of, publish, trips_on
from tests.kinds.flows.units import list_codes, make_units, unit_table
from tests.refusals import refuses

SOURCE = "a census, table 3"
KEY = NoiseKey(bytes(range(32)))


def with_prior(table=None, prior=None, **more):
    prior = trips_on(seed=4) if prior is None else prior
    return publish(table, prior=prior, **({"prior_source": SOURCE} | more))


def prior_of(dense):
    ends = np.nonzero(dense)
    return FlowsPrior(ZONES.number, *ends, dense[ends], SOURCE)


def estimated(dense, scales, prior):
    ends = dense.sum(axis=1), dense.sum(axis=0)
    flows = estimate_flows(ZONES, ends, [*noisy(dense, scales)], 7, prior=prior)
    made = np.zeros_like(dense)
    origin, destination, count = flows.join()
    made[origin, destination] = count
    assert np.array_equal(made.sum(axis=1), ends[0])
    assert np.array_equal(made.sum(axis=0), ends[1])
    return made, flows


def rearranged(dense):
    """Flows that a law of distance does not explain, with a prior of the same habits."""
    order = np.random.default_rng(3).permutation(ZONES.number)
    return dense[:, order]


@pytest.mark.parametrize("scales", [{1: 30}, {4: 10}, {2: 20, 8: 40}])
def test_a_good_prior_places_more_trips_right(scales):
    now, before = rearranged(truth(seed=1)), rearranged(truth(seed=5))
    none, _ = estimated(now, scales, None)
    made, flows = estimated(now, scales, prior_of(before))
    assert flows.known.weight > 0
    assert right(now, made) > right(now, none) + 0.01


def test_a_useless_prior_is_not_used():
    now, useless = truth(), prior_of(rearranged(truth(seed=5)))
    none, _ = estimated(now, {4: 10}, None)
    made, flows = estimated(now, {4: 10}, useless)
    assert flows.known.weight == 0
    assert np.array_equal(made, none)


def test_expected_flows_are_those_of_a_slow_twin():
    now, before = truth(), prior_of(truth(seed=5))
    pairs = [*noisy(now, {4: 10})]
    margins = tuple(pairs[0].blocks.sums(now.sum(axis=axis)) for axis in (1, 0))
    expected_pairs = fit_pairs(ZONES, margins, [replace(pairs[0], variance=1e18)], 3.0).expected
    law = expected_pairs.whole()
    trusted = TrustedPrior.of(before, 0.75, int(now.sum()))
    out = np.empty_like(law)
    trusted.mix(law, before.sums(pairs[0].blocks, slice(0, pairs[0].blocks.number)), out)
    block = pairs[0].blocks.of_zone
    for i, j in ((0, 0), (3, 7), (29, 2)):
        some = (block[before.origin] == i) & (block[before.destination] == j)
        trips = before.count[some].sum()
        expected = law[i, j] * before.trips / now.sum()
        ratio = (LAW_RECORDS + trips) / (LAW_RECORDS + expected)
        assert out[i, j] == pytest.approx(law[i, j] * (1 + 0.75 * (ratio - 1)))
    chosen = choose_trust((expected_pairs, margins), pairs, before)
    assert chosen.weight in WEIGHTS


def test_measurements_are_those_without_a_prior():
    none, one = publish(key=KEY), with_prior(key=KEY)
    for a, b in zip(none.noisy, one.noisy, strict=True):
        assert np.array_equal(a.noisy, b.noisy)
    assert one.index.prior.weight > 0
    assert all(ends.is_used for ends in one.index.prior.ends)
    assert one.origins.table.count.sum() == one.destinations.table.count.sum()
    assert one.flows.table.key.tolist() != none.flows.table.key.tolist()
    for made, released in ends_of(one):
        assert np.array_equal(made, released)
    assert none.index.prior is None
    assert "prior" not in none.index.to_json()
    again = with_prior(key=KEY)
    assert again.flows.table.count.tolist() == one.flows.table.count.tolist()


def draw_ends(priors=(), table=None, budget="1/4"):
    """Both maps of ends with a fixed key, and all draws that were made of it."""
    terms = Terms.of(epsilon=budget, contribution=3)
    plan = make_plan(Zones.of(GRID), terms, key_origin="fixed")
    trips = TripStreams.of(trips_on() if table is None else table, plan.zones)
    with listening() as wire:
        made = plan.draw_ends(trips, KEY.restrict(plan.declare()), priors)
    return made, {(one.secret, draw) for one in wire.heard for draw in one.draws}


def ends_prior(table):
    return FlowsPrior.of(Zones.of(GRID), table, SOURCE).ends(Zones.of(GRID))


def errors_of_ends(made, table):
    sums = TripStreams.of(table, Zones.of(GRID))
    pairs = zip(made.tables, (sums.origins, sums.destinations), strict=True)
    return [int(np.abs(one.to_dense() - true.to_dense()).sum()) for one, true in pairs]


def test_both_maps_of_ends_learn_from_a_good_prior():
    now, before = trips_on(), trips_on(seed=4)
    (without, _), (informed, _) = draw_ends(), draw_ends(ends_prior(before))
    assert without.learned == ()
    for less, more in zip(errors_of_ends(informed, now), errors_of_ends(without, now), strict=True):
        assert less < 0.6 * more
    assert {int(one.count.sum()) for one in informed.tables} == {
        int(informed.tables[0].count.sum())
    }


def useless(kind):
    index = np.indices((16,) * 4).reshape(4, -1)
    if kind == "mirrored":
        before = trips_on(seed=4)
        index = 15 - before.grid.decode(before.key)
    return geodp.CountTable.from_index(GRID.pairs(), index, np.ones(index.shape[1], np.int64))


@pytest.mark.parametrize("kind", ["mirrored", "flat"])
@pytest.mark.parametrize("budget", ["1/4", "1/50", 5])
def test_a_prior_of_other_ends_leaves_both_maps_as_they_are(kind, budget):
    """Also where the noisy total is below 0, and its root is raised to open what is below it."""
    (without, _), (informed, _) = (
        draw_ends(one, budget=budget) for one in ((), ends_prior(useless(kind)))
    )
    for one, other in zip(without.tables, informed.tables, strict=True):
        assert np.array_equal(one.key, other.key)
        assert np.array_equal(one.count, other.count)
    assert len(informed.learned) == 2
    assert not any(level.reliability for one in informed.learned for level in one.levels)


def test_a_prior_of_ends_draws_nothing_more():
    """Every node's noise is of the same keys and laws as in the release without one."""
    (_, without), (_, informed) = draw_ends(), draw_ends(ends_prior(trips_on(seed=4)))
    assert without
    assert informed <= without


def test_a_prior_costs_nothing(tmp_path):
    ledger = Ledger.create(tmp_path / "office.ledger")
    for name in ("trips", "later"):
        ledger.add_dataset(name, PureDP(Fraction(1)))
    charged = {"key": NoiseKey.from_file(keep(tmp_path / "key")), "ledger": ledger}
    first, second = (make_one(**charged, dataset="trips") for make_one in (publish, with_prior))
    assert len(ledger.charges("trips")) == 1
    assert second.index.budget == first.index.budget
    # A release that was charged needs no source.
    now = publish(trips_on(seed=6), prior=first, **charged, dataset="later")
    assert now.index.prior.source.startswith("an earlier release that was charged itself")


TABLE = trips_on()
ENDS = {"grid": GRID, "origin": ("oy", "ox"), "destination": ("dy", "dx")}
PERSONS = pa.table({"id": ["a", "b"], "oy": [0, 1], "ox": [0, 2], "dy": [3, 3], "dx": [1, 1],
                    "mode": ["bus", "car"], "n": [3, 4]})  # fmt: skip
BY_MODE = {"by": "mode", "labels": {"mode": ["bus", "car"]}}


def records(**how):
    return {"prior": geodp.flows.read_trips(PERSONS, **ENDS, **how)}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"prior": TABLE, "table": TABLE}, "prior-is-table"),
        ({"prior": [1]}, "flows-prior-kind"),
        ({"prior": trips_on(MESH)}, "flows-prior-zones"),
        ({"prior": geodp.CountTable.from_dense(np.ones((16, 16), int), GRID)}, "flows-prior-zones"),
        ({"prior_source": None}, "prior-source-missing"),
        ({"prior": publish(key=KEY)}, "prior-not-private"),
        ({"prior": trips_on(number=0)}, "prior-empty"),
        (records(person="id", trips=1), "prior-of-records"),
        (records(), "prior-of-records"),
        (records(person="id", trips=1, **BY_MODE), "prior-of-records"),
    ],
)
def test_what_is_no_prior_is_refused(given, code):
    with refuses(UsageError, code):
        with_prior(**given)


def test_a_source_without_a_prior_is_refused_and_counted_trips_are_one():
    with refuses(UsageError, "source-without-prior"):
        publish(prior_source=SOURCE)
    assert with_prior(**records(value="n")).prior.trips == 7


def test_labels_of_a_prior_are_added_up():
    before = trips_on(seed=4)
    index = before.grid.decode(before.key)
    modes = before.grid.with_attribute("mode", ("walk", "car"))
    halves = [np.append(index, np.full((1, before.key.size), n), axis=0) for n in (0, 1)]
    labelled = geodp.CountTable.from_index(
        modes, np.concatenate(halves, axis=1), np.tile(before.count, 2)
    )
    twice = geodp.CountTable.from_keys(before.grid, before.key, 2 * before.count)
    one, other = (with_prior(prior=prior, key=KEY) for prior in (labelled, twice))
    assert one.index.prior == other.index.prior
    assert one.flows.table.count.tolist() == other.flows.table.count.tolist()
    release = publish(labelled)
    assert with_prior(prior=release).prior.trips == int(release.flows.table.count.sum())


@pytest.fixture(scope="module")
def told(shared):
    return make(shared, "prior")


def test_a_prior_that_is_left_out_is_in_no_file(told, tmp_path):
    release, same = (with_prior(key=KEY, leave_out_prior=out) for out in (True, False))
    assert release.index.prior.left_out
    assert np.array_equal(release.flows.table.count, same.flows.table.count)
    release.write(tmp_path / "out")
    folder = tmp_path / "out" / "public"
    assert failed(folder) == {}
    assert not (folder / "prior.parquet").exists()
    texts = "".join(path.read_text() for path in folder.rglob("*.json"))
    assert release.prior.sha256 not in texts
    opened, regions = geodp.open(tmp_path / "out"), ((0, 0, 8, 8), (4, 4, 16, 16))
    assert opened.prior is None
    with refuses(UsageError, "flows-prior-not-given"):
        opened.estimate(*regions)
    again = geodp.flows.give_prior(opened, trips_on(seed=4)).estimate(*regions)
    assert again == same.estimate(*regions)
    for other in (told, publish()):
        with refuses(UsageError, "flows-prior-not-needed"):
            geodp.flows.give_prior(other, trips_on(seed=4))


def test_the_identity_of_a_release_says_nothing_of_a_prior_that_is_left_out(told):
    """Whoever guesses an unpublished prior could confirm the guess by a digest of it."""
    tables = [one.table for one in told.tables.values()]
    stated, other = told.index.prior, replace(told.prior, count=told.prior.count + 1)
    left_out = replace(stated, left_out=True)
    for prior, same in ((stated, False), (left_out, True)):
        digests = {
            describe_identity(tables, told.noisy, told.index.decay, prior, one)
            for one in (told.prior, other)
        }
        assert (len(digests) == 1) is same


def test_the_command_takes_a_release_and_leaves_it_out(shared, tmp_path):
    frame = make(shared, "mesh").to_pandas()
    frame.to_csv(tmp_path / "now.csv", index=False)
    out = shared.write(make(shared, "mesh", seed=8))
    words = (
        *("flows", "publish", tmp_path / "now.csv", "--grid", "jis:basic", "--from", "origin"),
        *("--bounds", "139", "35", "139.2", "35.1333333333", "--to", "destination"),
        *("--value", "count", "--contribution", "1", "--epsilon", "1"),
        *("--prior-is-public", "--prior-source", SOURCE, "--output", tmp_path / "again"),
    )
    done = run(*words, "--prior", tmp_path / "now.csv")
    assert "The file of --prior is one of the inputs" in done.stderr
    done = run(*words, "--prior", out, "--leave-out-prior")
    assert done.returncode == 0, done.stderr
    assert "no noise" not in done.stdout
    kept = json.loads((tmp_path / "again" / "restricted" / "run.json").read_text())["prior"]
    assert kept["cells_sha256"] not in (tmp_path / "again/public/flows.json").read_text()
    assert not (tmp_path / "again" / "public" / "prior.parquet").exists()
    area = ("--from", "523940", "--to", "523940")
    asked = ("estimate", tmp_path / "again", *area)
    assert "geodp estimate --prior" in run(*asked).stderr
    done = run(*asked, "--prior", out)
    assert done.returncode == 0, done.stderr
    done = run(*words, "--prior", out, "--overwrite")
    assert "prior.parquet in the public folder" in done.stdout
    assert "no noise" in done.stdout


def renamed(grid, outlines=None):
    """The same units with other words for their source, or other outlines."""
    return grid_of_units({"unit": list_codes(grid)}, "named anew", outlines or grid.outlines)


def test_units_of_the_same_codes_and_outlines_are_the_same_zones(shared):
    again, table = renamed(UNITS), unit_table(UNITS)
    assert again != UNITS
    given = {"contribution": 3, "epsilon": 1, "prior_source": "a census"}
    told = [
        geodp.flows.publish(table, **given, key=KEY, prior=unit_table(one))
        for one in (UNITS, again)
    ]
    assert told[0].prior.sha256 == told[1].prior.sha256
    assert told[0].to_pandas().equals(told[1].to_pandas())
    # So is an earlier release, also where it was opened from its folder.
    earlier = make(shared, "units")
    for one in (earlier, geodp.open(shared.write(earlier))):
        made = geodp.flows.publish(table, **given, prior=one)
        assert made.prior.trips == earlier.flows.table.count.sum()
    moved = Outlines.of(shapely.transform(UNITS.outlines.shapes, lambda at: at + 1), "EPSG:4326")
    for grid, code in (
        (renamed(UNITS, outlines=moved), "flows-prior-outlines"),
        (make_units(rows=5)[0], "flows-prior-zones"),
    ):
        with refuses(UsageError, code):
            geodp.flows.publish(table, **given, prior=unit_table(grid))


def test_the_same_mask_with_other_words_is_the_same():
    inside = land((8, 8))
    one, two = (masked(geodp.Grid.regular((8, 8)), inside, source) for source in ("a", "b"))
    table, prior = masked_trips(one, number=500), masked_trips(two, number=400)
    made = geodp.flows.publish(table, contribution=1, epsilon=1, prior=prior, prior_source="c")
    assert made.prior.trips == 400
    smaller = inside & (np.indices((8, 8))[0] > 2)
    for other in (masked(geodp.Grid.regular((8, 8)), smaller, "a"), geodp.Grid.regular((8, 8))):
        with refuses(UsageError, "flows-prior-zones"):
            wrong = masked_trips(other, number=50)
            geodp.flows.publish(table, contribution=1, epsilon=1, prior=wrong, prior_source="c")
