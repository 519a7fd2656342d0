"""The upper end of the clip by public guesses: closed forms against simulation, and refusals."""

import math
from itertools import pairwise

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.amounts.clip import Guess
from tests.kinds.amounts.made import GRID, publish, truth
from tests.refusals import refuses

PLAN = {"median": 250, "upper_tenth": 600, "epsilon": 1, "method": "pyramid:setting=R"}


@pytest.mark.parametrize("upper", [100, 300, 1000, 5000])
def test_the_guess_is_lognormal(upper):
    guess = Guess(250, 600)
    drawn = np.random.default_rng(1).lognormal(math.log(250), guess.spread, 400_000)
    assert guess.beyond(600) == pytest.approx(0.1)
    assert guess.mean == pytest.approx(drawn.mean(), rel=0.01)
    assert guess.clipped(upper) == pytest.approx(np.minimum(drawn, upper).mean(), rel=0.01)
    assert guess.beyond(upper) == pytest.approx((drawn > upper).mean(), abs=0.003)


def test_higher_ends_have_less_bias_and_more_noise():
    rows = geodp.amounts.plan(GRID, **PLAN)
    assert sorted(rows, key=lambda one: one.upper) == rows
    assert all(a.bias > b.bias and a.noise < b.noise for a, b in pairwise(rows))
    assert [one for one in rows if one.best] == [min(rows, key=lambda one: one.error)]
    for one in rows:
        assert one.error == pytest.approx(math.hypot(one.bias, one.noise))


def test_larger_areas_bear_higher_ends():
    def best(**more):
        return next(one.upper for one in geodp.amounts.plan(GRID, **PLAN, **more) if one.best)

    assert best(records=100) < best(records=10_000)
    assert best(records=1000) > best(records=1000, people=5000)
    assert best(records=1000, share="1/4") < best(records=1000)


def test_the_noise_is_that_of_releases():
    (planned,) = geodp.amounts.plan(GRID, **PLAN, clips=[1000], records=1000)
    number, total, _ = truth()
    some = number >= 50
    errors = []
    for _ in range(10):
        release = publish()
        n, s = (one.table.to_dense() for one in (release.count, release.sum))
        mean = s[some] / np.maximum(n[some], 1)
        # The error of a mean falls with the records.
        errors.append((mean / (total[some] / number[some]) - 1) * number[some] / 1000)
    assert np.std(errors) == pytest.approx(planned.noise, rel=0.25)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"median": 0}, "amounts-plan-guess"),
        ({"upper_tenth": 250}, "amounts-plan-guess"),
        ({"records": 0}, "amounts-plan-records"),
        ({"clips": [0]}, "amounts-plan-clips"),
        ({"clips": [10], "lower": 10}, "amounts-plan-clips"),
        ({"share": 0}, "amounts-plan-share"),
        ({"method": "laplace"}, "pyramid-needed"),
    ],
)
def test_guesses_that_make_no_sense_are_refused(more, code):
    with refuses(UsageError, code):
        geodp.amounts.plan(GRID, **{**PLAN, **more})
