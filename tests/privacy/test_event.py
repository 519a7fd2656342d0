"""What an event costs and how much noise it gets, worked out by hand."""

from fractions import Fraction as F

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.privacy.budget import LONGEST, budget, rational
from geodp.privacy.event import ADD_REMOVE, CONCENTRATED, NEIGHBOURS, PURE, REPLACE, Event, event
from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP, epsilon_for, rho_for
from geodp.privacy.noise.gaussian import DiscreteGaussian
from geodp.privacy.noise.laplace import DiscreteLaplace


def spent(neighbours=ADD_REMOVE, contribution=1, sensitivity=1, rho=None, **changed):
    """Of epsilon 1/3, or of rho."""
    epsilon = F(1, 3) if rho is None else None
    given = {"enforced": False, "unit": "person", "key_origin": "entropy", "rho": rho, **changed}
    return event("m", epsilon, neighbours, contribution, sensitivity=sensitivity, **given)


@pytest.mark.parametrize(
    ("neighbours", "contribution", "measured", "sensitivity"),
    [
        (ADD_REMOVE, 1, 1, 1),
        (ADD_REMOVE, 1, 7, 7),
        (ADD_REMOVE, 5, 7, 35),
        (REPLACE, 1, 7, 14),
        (REPLACE, 5, 7, 70),
    ],
)
def test_sensitivity_scale_and_variance_of_a_person(
    neighbours, contribution, measured, sensitivity
):
    pure = spent(neighbours, contribution, measured)
    assert pure.sensitivity == sensitivity
    assert pure.scale == 3 * sensitivity
    # The L2 norm is the factor times the root of what is measured: factor^2 * measured / (2 rho).
    factor = contribution * (2 if neighbours == REPLACE else 1)
    gaussian = spent(neighbours, contribution, measured, F(1, 8))
    assert gaussian.sensitivity == sensitivity
    assert gaussian.sigma2 == 4 * factor**2 * measured


@pytest.mark.parametrize("share", [None, F(1), F(1, 5)])
def test_a_share_of_the_budget_has_the_noise_of_that_share(share):
    given = () if share is None else (share,)
    part = share or F(1)
    pure, gaussian = spent(sensitivity=2), spent(sensitivity=2, rho=F(1, 8))
    assert pure.law(*given) == DiscreteLaplace.of_scale(6 / part)
    assert pure.width(*given) == float(6 / part)
    assert gaussian.law(*given) == DiscreteGaussian.of_sigma2(8 / part)
    assert gaussian.width(*given) == float(8 / part) ** 0.5


def test_noise_of_the_other_kind_has_no_such_parameter():
    with pytest.raises(UsageError, match="no scale"):
        _ = spent(rho=F(1)).scale
    with pytest.raises(UsageError, match="no sigma2"):
        _ = spent().sigma2
    without = Event("m", None, ADD_REMOVE, 1, False, 1, "person", "entropy")
    with pytest.raises(UsageError, match="no scale"):
        _ = without.scale
    stated = Event("m", F(1), ADD_REMOVE, 1, False, 1, "person", "entropy", F(1), F(1, 9))
    with pytest.raises(UsageError, match="no scale"):
        _ = stated.scale


def test_what_each_kind_costs():
    assert spent().loss == PureDP(F(1, 3))
    assert spent(rho=F(1, 8)).loss == ZeroConcentratedDP(F(1, 8))
    stated = Event("m", F(1), ADD_REMOVE, 1, False, 1, "person", "entropy", F(1, 8), F(1, 9))
    assert stated.loss == ApproximateDP(1, F(1, 9), ZeroConcentratedDP(F(1, 8)))
    assert stated.loss.original == ZeroConcentratedDP(F(1, 8))
    for epsilon, delta in ((None, F(1, 9)), (F(1), None)):
        half = Event("m", epsilon, ADD_REMOVE, 1, False, 1, "person", "entropy", F(1, 8), delta)
        assert half.loss == ZeroConcentratedDP(F(1, 8))
    assert (spent().variant, spent(rho=F(1)).variant) == (PURE, CONCENTRATED)


def test_only_a_key_that_nobody_knew_is_private():
    private = {name: spent(key_origin=name).is_private for name in ("entropy", "file", "fixed", "")}
    assert private == {"entropy": True, "file": True, "fixed": False, "": False}


def test_an_event_keeps_what_it_was_given():
    made = event("m", F(1, 3), REPLACE, np.int64(5), True, 7, " one  trip ", "file", F(1), F(1, 9))
    given = ("m", F(1, 3), REPLACE, 5, True, 70, "trip", "file", F(1), F(1, 9))
    assert made == Event(*given)
    assert type(made.contribution) is int
    assert (spent().rho, spent().delta) == (None, None)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"neighbours": "friends"}, "neighbours must be"),
        ({"contribution": 0}, "at least 1"),
        ({"contribution": -1}, "at least 1"),
        ({"contribution": True}, "at least 1"),
        ({"contribution": 1.5}, "at least 1"),
        ({"contribution": "2"}, "at least 1"),
        ({"unit": ""}, "whom the guarantee protects"),
        ({"unit": "one"}, "whom the guarantee protects"),
        ({"unit": None}, "whom the guarantee protects"),
    ],
)
def test_an_event_that_makes_no_sense_is_refused(changed, says):
    with pytest.raises(UsageError, match=says):
        spent(**changed)


def test_the_names_of_the_relations_that_cards_and_ledgers_hold():
    assert NEIGHBOURS == (ADD_REMOVE, REPLACE) == ("add-remove-one", "replace-one")


# -- budgets


def test_four_ways_to_give_a_budget():
    assert budget("1/3") == {"epsilon": F(1, 3), "rho": None, "delta": None}
    assert budget(rho="1/3") == {"epsilon": None, "rho": F(1, 3), "delta": None}
    delta = F(1, 10**6)
    stated = {"epsilon": epsilon_for(F(1, 3), delta), "rho": F(1, 3), "delta": delta}
    assert budget(rho="1/3", delta="1e-6") == stated
    stated = {"epsilon": F(1, 3), "rho": rho_for(F(1, 3), delta), "delta": delta}
    assert budget("1/3", delta="1e-6") == stated


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "either"),
        ({"epsilon": 1, "rho": 1}, "either"),
        ({"delta": "1e-6"}, "either"),
        ({"epsilon": 1, "delta": 1}, "delta must be below 1; the inverse"),
        ({"rho": 1, "delta": 2}, "delta must be below 1"),
        ({"epsilon": 1, "delta": 0}, "delta must be above 0"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"rho": 0}, "rho must be above 0"),
        ({"epsilon": "1e-199", "delta": "1e-199"}, "No rho above 0"),
    ],
)
def test_budgets_that_make_no_sense(given, says):
    with pytest.raises(UsageError, match=says):
        budget(**given)


@pytest.mark.parametrize(
    "value", ["1e200", "1E-200", "0." + "1" * (LONGEST - 2), 0.1, np.float32(0.1)]
)
def test_budgets_up_to_the_longest_are_read_exactly(value):
    assert rational(value) == F(str(value))


class Odd:
    """What reads like a number and is none."""

    def __str__(self):
        return "1"


@pytest.mark.parametrize(
    "value",
    [Odd(), "1e201", "1E-201", "0." + "1" * (LONGEST - 1), True, None, 1j, "1/0", "x", b"1"],
)
def test_budgets_beyond_it_and_what_is_no_number(value):
    with pytest.raises(UsageError, match="delta must be a decimal"):
        rational(value, "delta")
