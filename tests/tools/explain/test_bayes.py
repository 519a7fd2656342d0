"""Bayes' rule on counts with noise: worked examples, and the bounds of a guarantee."""

import math
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.tools.explain.bayes import (
    reach_of_approximate,
    reach_of_concentrated,
    reach_of_pure,
    shift_belief,
)
from tests.refusals import refuses

WOMEN = [[0.6, 0.4], {1: 0.6, 2: 0.4}]
"""How many of two women have a grade, each with the chance 0.4: where one has it not, or has it."""


def laplace(epsilon, reach):
    """Chances of discrete Laplace noise, cut where they are too small to be seen."""
    ratio = math.exp(-epsilon)
    weights = {n: ratio ** abs(n) for n in range(-reach, reach + 1)}
    return {n: weight / sum(weights.values()) for n, weight in weights.items()}


@pytest.mark.parametrize(("observed", "after"), [(0, 0.28679), (1, 0.42424), (2, 0.52414)])
def test_the_lecture_notes_example(observed, after):
    chance = geodp.explain.posterior(0.4, WOMEN, [0.30, 0.18, 0.11, 0.06], observed)
    assert round(chance, 5) == after


@pytest.mark.parametrize(("observed", "after"), [(0, 0), (1, 0.5), (2, 1)])
def test_without_noise_a_count_of_two_tells_it(observed, after):
    assert geodp.explain.posterior(0.4, WOMEN, [1], observed) == pytest.approx(after)


def test_noise_that_is_cut_off_protects_nobody():
    """The lecture notes' noise ends at 3: a count of 5 is possible in one case only."""
    assert geodp.explain.posterior(0.4, WOMEN, [0.30, 0.18, 0.11, 0.06], 5) == 1


def test_identical_rows_move_a_belief_further_than_independent_ones():
    noise = laplace(0.5, 80)
    rows = {False: {0: 1}, True: {5: 1}}
    together = geodp.explain.posterior(0.4, rows, noise, 5) / 0.4
    assert together == pytest.approx(2.226, abs=5e-4)
    alone = geodp.explain.posterior(0.4, {False: {0: 1}, True: {1: 1}}, noise, 1) / 0.4
    assert alone < math.exp(0.5) == pytest.approx(1.649, abs=5e-4)
    assert together <= shift_belief(0.4, 5 * 0.5).most / 0.4 + 1e-12


def test_where_somebody_was_who_is_added_or_removed_is_told_as_of_two():
    """In one cell or in another: both counts tell of it, each with the whole epsilon."""
    noise, prior = laplace(1, 60), 0.1
    here = noise[0] * noise[0]  # the counts 1 and 0 are seen; of those who was there, no error
    there = noise[1] * noise[-1]
    after = prior * here / (prior * here + (1 - prior) * there)
    one, two = (geodp.explain.beliefs(epsilon, [prior])[0].most for epsilon in (1, 2))
    assert after > one
    assert after == pytest.approx(two)


def test_beliefs_of_epsilon_1():
    beliefs = geodp.explain.beliefs(1, [0.01, 0.1, 0.5])
    assert [f"{100 * one.most:.3g}" for one in beliefs] == ["2.67", "23.2", "73.1"]
    assert [one.prior for one in beliefs] == [0.01, 0.1, 0.5]


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 4])
@pytest.mark.parametrize("prior", [0.001, 0.3, 0.5, 0.98])
def test_beliefs_are_reached_by_noise_of_that_epsilon_and_never_passed(epsilon, prior):
    (bound,) = geodp.explain.beliefs(epsilon, [prior])
    noise, one = laplace(float(epsilon), 300), {False: {0: 1}, True: {1: 1}}
    seen = [geodp.explain.posterior(prior, one, noise, y) for y in range(-20, 22)]
    assert max(seen) == pytest.approx(bound.most)
    assert min(seen) == pytest.approx(bound.least)


def test_beliefs_of_any_size():
    assert geodp.explain.beliefs("1e5", [0, 0.5, 1]) == ((0, 0, 0), (0.5, 0, 1), (1, 1, 1))


POSTERIOR = geodp.explain.posterior


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: geodp.explain.beliefs(0, [0.5]), "budget-number-not-positive: epsilon"),
        (lambda: geodp.explain.beliefs(1, [1.5]), "chance-not-0-to-1"),
        (lambda: geodp.explain.beliefs(1, [math.nan]), "chance-not-0-to-1"),
        (lambda: POSTERIOR(2, WOMEN, [1], 0), "chance-not-0-to-1: prior"),
        (lambda: POSTERIOR(0.4, WOMEN, [0.5, 0.5], 0), "chances-do-not-add-up: noise"),
        (lambda: POSTERIOR(0.4, [[0.6, 0.6], [1]], [1], 0), "chances-do-not-add-up: counts"),
        (lambda: POSTERIOR(0.4, [[1]], [1], 0), "laws-of-two"),
        (lambda: POSTERIOR(0.4, WOMEN, [1], 9), "count-impossible"),
    ],
)
def test_what_is_no_chance_is_refused(call, said):
    with refuses(geodp.GeodpError, said):
        call()


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
