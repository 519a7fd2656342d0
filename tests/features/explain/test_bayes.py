"""Bayes' rule on counts with noise: worked examples, and the bounds of a guarantee."""

import math
from fractions import Fraction

import pytest

import geodp
from geodp.features.explain.bayes import shift_belief

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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: geodp.explain.beliefs(0, [0.5]), "epsilon must be above 0."),
        (lambda: geodp.explain.beliefs(1, [1.5]), "A prior must be a chance from 0 to 1."),
        (lambda: geodp.explain.beliefs(1, [math.nan]), "A prior must be a chance from 0 to 1."),
        (
            lambda: geodp.explain.posterior(2, WOMEN, [1], 0),
            "The prior must be a chance from 0 to 1.",
        ),
        (
            lambda: geodp.explain.posterior(0.4, WOMEN, [0.5, 0.5], 0),
            "The chances of the noise must add up to 1.",
        ),
        (
            lambda: geodp.explain.posterior(0.4, [[0.6, 0.6], [1]], [1], 0),
            "The chances of the counts must add up to 1.",
        ),
        (
            lambda: geodp.explain.posterior(0.4, [[1]], [1], 0),
            "Give two laws of the count: where the statement is false, and true.",
        ),
        (
            lambda: geodp.explain.posterior(0.4, WOMEN, [1], 9),
            "No true count gives the observed one with this noise.",
        ),
    ],
)
def test_what_is_no_chance_is_refused(call, message):
    with pytest.raises(geodp.GeodpError) as caught:
        call()
    assert str(caught.value) == message
