"""Budgets are read exactly, in one of four ways."""

from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.privacy.loss import (
    LONGEST,
    ApproximateDP,
    PureDP,
    ZeroConcentratedDP,
    amounts_of,
    budget,
    epsilon_for,
    rational,
    rho_for,
)
from tests.refusals import refuses


def test_four_ways_to_give_a_budget():
    assert budget("1/3") == PureDP(F(1, 3))
    assert budget(rho="1/3") == ZeroConcentratedDP(F(1, 3))
    delta = F(1, 10**6)
    rho = ZeroConcentratedDP(F(1, 3))
    assert budget(rho="1/3", delta="1e-6") == ApproximateDP(epsilon_for(rho.rho, delta), delta, rho)
    rho = ZeroConcentratedDP(rho_for(F(1, 3), delta))
    assert budget("1/3", delta="1e-6") == ApproximateDP(F(1, 3), delta, rho)


def test_amounts_of_each_kind():
    delta = F(1, 10**6)
    assert amounts_of(budget("1/3")) == {"epsilon": F(1, 3), "rho": None, "delta": None}
    assert amounts_of(budget(rho="1/3")) == {"epsilon": None, "rho": F(1, 3), "delta": None}
    stated = {"epsilon": F(1, 3), "rho": rho_for(F(1, 3), delta), "delta": delta}
    assert amounts_of(budget("1/3", delta="1e-6")) == stated
    stated = {"epsilon": epsilon_for(F(1, 3), delta), "rho": F(1, 3), "delta": delta}
    assert amounts_of(budget(rho="1/3", delta="1e-6")) == stated
    assert amounts_of(ApproximateDP(1, delta)) == {"epsilon": 1, "rho": None, "delta": delta}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "epsilon-or-rho"),
        ({"epsilon": 1, "rho": 1}, "epsilon-or-rho"),
        ({"delta": "1e-6"}, "epsilon-or-rho"),
        ({"epsilon": 1, "delta": 1}, "delta-not-below-1"),
        ({"rho": 1, "delta": 2}, "delta-not-below-1"),
        ({"epsilon": 1, "delta": 0}, "budget-number-not-positive: delta"),
        ({"epsilon": 0}, "budget-number-not-positive: epsilon"),
        ({"rho": 0}, r"budget-number-not-positive: \brho\b"),
        ({"epsilon": "1e-199", "delta": "1e-199"}, "rho-out-of-reach"),
        ({"epsilon": "1e101"}, "loss-number-range"),
    ],
)
def test_budgets_that_make_no_sense(given, says):
    with refuses(UsageError, says):
        budget(**given)


@pytest.mark.parametrize(
    "value",
    [
        *("1e200", "1E-200", "0." + "1" * (LONGEST - 2), "1/5", Decimal("0.3"), 2, 0.1, 1e-3),
        *(np.float64(0.7), np.float32(0.1), np.int64(2)),
    ],
)
def test_budgets_up_to_the_longest_are_read_exactly(value):
    assert rational(value) == F(str(value))


class Odd:
    """What reads like a number and is none."""

    def __str__(self):
        return "1"


@pytest.mark.parametrize(
    "value",
    [
        *(Odd(), "1e201", "1E-201", "0." + "1" * (LONGEST - 1), True, None, 1j, "1/0", "x", b"1"),
        *("", [1], float("nan"), float("inf"), "1e99999999"),
    ],
)
def test_budgets_beyond_it_and_what_is_no_number(value):
    with refuses(UsageError, r"budget-number-form: ^delta\b"):
        rational(value, "delta")
