"""How far guarantees let beliefs move, against the laws of mechanisms that have them."""

import math

import numpy as np
import pytest

from geodp.features.explain.reach import (
    reach_of_approximate,
    reach_of_concentrated,
    reach_of_pure,
)


def loss_and_distance(first, second):
    """Log ratios and chances of the outcomes of two laws, and their total variation distance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(first) - np.log(second)
    return loss, np.abs(first - second).sum() / 2


def gaussians(rho, people):
    """Discrete normal laws of a count, and of the count with so many people more."""
    at = np.arange(-4000, 4000)
    found = [np.exp(-rho * (at - shift) ** 2.0) for shift in (0, people)]
    return [weights / weights.sum() for weights in found]


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_reaches_a_pure_guarantee(epsilon, people):
    keep = 1 / (1 + math.exp(-people * epsilon))
    loss, distance = loss_and_distance(np.array([keep, 1 - keep]), np.array([1 - keep, keep]))
    reach = reach_of_pure(epsilon, people)
    assert reach.chance == 0
    assert loss.max() == pytest.approx(reach.shift)
    assert distance == pytest.approx(reach.advantage)


@pytest.mark.parametrize("people", [1, 2, 5])
@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5])
@pytest.mark.parametrize("delta", [1e-6, 0.05])
def test_normal_noise_keeps_to_a_concentrated_guarantee(rho, delta, people):
    first, second = gaussians(rho, people)
    loss, distance = loss_and_distance(first, second)
    reach = reach_of_concentrated(rho, delta, people)
    assert first[loss > reach.shift].sum() <= reach.chance == delta
    assert distance <= reach.advantage < 1
    # It is no empty bound: a fifth of it is passed more often, and the guess is nearly as good.
    assert first[loss > reach.shift / 5].sum() > delta
    assert reach.advantage < 1.3 * distance + 0.1


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (1.0, 1e-6), (2.0, 0.2)])
def test_a_law_that_tells_all_with_delta_reaches_an_approximate_guarantee(epsilon, delta):
    keep = 1 / (1 + math.exp(-epsilon))
    first, second = [
        np.array([delta * told, (1 - delta) * k, (1 - delta) * (1 - k), delta * (not told)])
        for told, k in ((True, keep), (False, 1 - keep))
    ]
    loss, distance = loss_and_distance(first, second)
    reach = reach_of_approximate(epsilon, delta)
    assert distance == pytest.approx(reach.advantage)
    assert first[loss > reach.shift].sum() <= reach.chance


def test_an_approximate_guarantee_may_pass_its_epsilon_more_often_than_delta():
    """So ln 2 is added: ratios a little above exp(epsilon) need little of delta."""
    epsilon, delta = 1.0, 0.01
    most = math.exp(epsilon) * 1.05
    first = np.array([most * 0.2, 1 - most * 0.2])
    second = np.array([0.2, 0.8])
    over = np.maximum(first - math.exp(epsilon) * second, 0).sum()
    assert over == pytest.approx(0.2 * math.exp(1) * 0.05)
    scale = delta / over  # the rest of both laws is the same
    loss, _ = loss_and_distance(first, second)
    assert scale * first[loss > epsilon].sum() > 10 * delta
    reach = reach_of_approximate(epsilon, delta)
    assert scale * first[loss > reach.shift].sum() <= reach.chance == 2 * delta


def test_groups_of_an_approximate_guarantee():
    two = reach_of_approximate(0.5, 0.001, 2)
    assert two.shift == pytest.approx(1 + math.log(2))
    assert two.chance == pytest.approx(2 * 0.001 * (1 + math.exp(0.5)))
    assert (
        reach_of_approximate(5.0, 0.1, 40)
        == pytest.approx(reach_of_approximate(200.0, 1.0), abs=1e-9)
        or reach_of_approximate(5.0, 0.1, 40).chance == 1
    )
