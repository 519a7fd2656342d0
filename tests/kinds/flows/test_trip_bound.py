"""Plans of flows: noise in closed form, and what a bound keeps by a public guess."""

import numpy as np
import pytest

import geodp
from geodp import UsageError
from geodp.kinds.flows.trip_bound import retained_share
from tests.kinds.flows.test_publish import GRID, publish
from tests.refusals import refuses


def test_the_plan_is_what_the_release_states():
    plan = geodp.flows.plan(GRID, trips=3, epsilon=1)
    release = publish()
    stated = {one.side: one.standard_error for one in release.index.guarantee.levels}
    assert plan.pair_errors == pytest.approx(stated)
    assert [*plan.pairs.values()] == [one.noisy.size for one in release.noisy]
    assert plan.end_error == pytest.approx(release.origins.standard_error(1))
    assert plan.retained is None


def test_more_trips_cost_more_and_keep_more():
    few, many = (
        geodp.flows.plan(GRID, trips=n, epsilon=1, levels={4: "1/2"}, mean_trips=7) for n in (3, 12)
    )
    assert many.end_error > few.end_error
    assert many.total_error > few.total_error
    assert many.retained > few.retained


def test_shares_that_are_kept_are_those_of_geometric_trips():
    trips = np.random.default_rng(1).geometric(1 / 7, 200_000)
    for most in (1, 5, 20):
        assert retained_share(most, 7) == pytest.approx(
            np.minimum(trips, most).sum() / trips.sum(), abs=0.01
        )


@pytest.mark.parametrize("guess", [1, 0, -3, float("inf"), float("nan")])
def test_a_guess_without_sense_is_refused(guess):
    with refuses(UsageError, "flows-mean-trips"):
        geodp.flows.plan(GRID, trips=3, epsilon=1, mean_trips=guess)
