"""Shuffling: the answer is a bound of the enumerated pair, close to it, and stands beside."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from scipy import stats

from geodp.errors import UsageError
from geodp.local.amplification import Shuffled, amplify_by_shuffling
from geodp.privacy.loss import ApproximateDP, PureDP, compose, within
from tests.refusals import refuses

NAMED = {"shuffler": "the postal service"}


def exponential(x):
    """exp(x) of a fraction, to 80 digits, as a fraction."""
    with localcontext(prec=80):
        return F((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def pair(local, n):
    """Both laws of the clones reduction, every outcome listed."""
    e = exponential(local)
    clone, truth = 1 / e, e / (e + 1)
    one, other = {}, {}
    for c in range(n):
        chance = math.comb(n - 1, c) * clone**c * (1 - clone) ** (n - 1 - c)
        for a, b in product(range(c + 1), (0, 1)):
            p = chance * F(math.comb(c, a), 2**c) * (truth if b else 1 - truth)
            one[a + b, c - a + 1 - b] = one.get((a + b, c - a + 1 - b), 0) + p
            other[c - a + 1 - b, a + b] = other.get((c - a + 1 - b, a + b), 0) + p
    return one, other


def delta_of(one, other, epsilon):
    """The hockey-stick divergence of two listed laws."""
    e = exponential(epsilon)
    return sum(max(F(), p - e * other.get(o, 0)) for o, p in one.items())


SMALL = [
    (F(1), 1, F(1, 10)),
    (F(1), 2, F(1, 10)),
    (F(1), 9, F(1, 100)),
    (F(1, 2), 14, F(1, 50)),
    (F(2), 14, F(1, 1000)),
    (F(4), 10, F(1, 10**6)),
    (F(1, 10), 12, F(1, 1000)),
]


@pytest.mark.parametrize(("local", "n", "delta"), SMALL)
def test_it_is_the_enumerated_pair_rounded_up(local, n, delta):
    found = amplify_by_shuffling(local, n, delta, **NAMED).epsilon
    laws = pair(local, n)
    assert delta_of(*laws, found) <= delta
    assert delta_of(*laws, found * F(9999, 10**4)) > delta


@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize(("local", "n", "delta"), SMALL[:3] + SMALL[-2:])
def test_it_holds_for_shuffled_randomised_response(local, n, delta, kinds):
    e = exponential(local)
    lie = 1 / (e + kinds - 1)

    def histograms(values):
        law = {(0,) * kinds: F(1)}
        for value in values:
            longer = {}
            for counts, p in law.items():
                for said in range(kinds):
                    after = tuple(c + (i == said) for i, c in enumerate(counts))
                    longer[after] = longer.get(after, 0) + p * lie * (e if said == value else 1)
            law = longer
        return law

    found = amplify_by_shuffling(local, n, delta, **NAMED).epsilon
    for others in {(0,) * (n - 1), (1,) * (n - 1), (kinds - 1,) * (n - 1)}:
        assert delta_of(histograms((0, *others)), histograms((1, *others)), found) <= delta


@pytest.mark.law
@pytest.mark.parametrize(
    ("local", "n", "delta"), [(0.5, 2000, 1e-5), (2.0, 3000, 1e-6), (1.0, 5000, 1e-3)]
)
def test_it_is_close_to_the_double_sum(local, n, delta):
    found = float(amplify_by_shuffling(local, n, delta, **NAMED).epsilon)
    truth = math.exp(local) / (math.exp(local) + 1)

    def summed(epsilon):
        total = 0.0
        for c in range(n):
            if (weight := stats.binom.pmf(c, n - 1, math.exp(-local))) < 1e-16:
                continue
            ones = np.arange(c + 2)
            there = np.append(0, stats.binom.pmf(ones[:-1], c, 0.5))
            here = np.append(there[1:], 0)
            p, q = truth * there + (1 - truth) * here, (1 - truth) * there + truth * here
            total += weight * np.maximum(p - math.exp(epsilon) * q, 0).sum()
        return total

    assert summed(found) <= delta
    assert summed(found * 0.995) > delta


def closed_form(local, n, delta):
    """Theorem 3.2 of the same paper."""
    assert local <= math.log(n / (16 * math.log(2 / delta)))
    e = math.exp(local)
    root = 8 * math.sqrt(e * math.log(4 / delta) / n) + 8 * e / n
    return math.log1p((e - 1) / (e + 1) * root)


@pytest.mark.parametrize(
    ("local", "closed", "numerical"), [(1, 0.0268, 0.0061), (4, 0.2264, 0.0642)]
)
def test_a_million_devices(local, closed, numerical):
    found = amplify_by_shuffling(local, 10**6, "1e-8", **NAMED)
    assert closed_form(local, 10**6, 1e-8) == pytest.approx(closed, abs=5e-5)
    assert float(found.epsilon) == pytest.approx(numerical, abs=5e-5)
    assert found.delta == F(1, 10**8)


@pytest.mark.law
def test_more_devices_and_a_larger_delta_help_and_nothing_hurts():
    def epsilon(n, delta):
        return amplify_by_shuffling(1, n, delta, **NAMED).epsilon

    found = [epsilon(n, "1e-6") for n in (1, 2, 30, 1000, 10**5, 10**40)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= 1
    assert epsilon(1000, "1e-4") < epsilon(1000, "1e-90") <= 1
    assert epsilon(1000, "0.9") == 0


def test_the_ends_of_the_ranges_are_taken():
    assert amplify_by_shuffling(50, 1000, "1e-6", **NAMED).epsilon == 50
    assert amplify_by_shuffling(1, 10, "1e-100", **NAMED).epsilon <= 1
    assert amplify_by_shuffling(1, 10, "0.999", **NAMED).epsilon == 0


def test_it_stands_beside_the_local_guarantee():
    found = amplify_by_shuffling("1/2", 1000, "1e-5", shuffler=" the postal service ")
    assert isinstance(found, ApproximateDP)
    assert found.local == PureDP(F(1, 2))
    assert "the postal service strips and mixes the reports of 1,000 devices" in found.statement
    assert found.statement.endswith("local guarantee of every report, exp(0.5).")
    assert found.describe()["shuffler"] == "the postal service"
    assert found.describe()["local"]["epsilon"] == "1/2"
    assert not within(found, ApproximateDP(F(100), F(1, 2)))  # no ledger takes it for a charge
    assert type(compose([found, PureDP(1)])) is ApproximateDP


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shuffler": None}, "shuffler-unnamed"),
        ({"shuffler": "  "}, "shuffler-unnamed"),
        ({"shuffler": "a\nb"}, "shuffler-unnamed"),
        ({"n": 0}, "devices-below-1"),
        ({"n": 1.5}, "devices-below-1"),
        ({"n": True}, "devices-below-1"),
        ({"epsilon": 0}, "budget-number-not-positive"),
        ({"epsilon": math.nan}, "budget-number-form"),
        ({"epsilon": 51}, r"epsilon-too-large: \b50\b"),
        ({"delta": 1}, "delta-out-of-range"),
        ({"delta": "1e-101"}, "delta-out-of-range"),
        ({"delta": 0}, "budget-number-not-positive: ^delta"),
    ],
)
def test_what_is_refused(given, said):
    call = {"epsilon": 1, "n": 1000, "delta": "1e-6", **NAMED, **given}
    with refuses(UsageError, said):
        amplify_by_shuffling(**call)


def test_the_class_is_what_a_caller_gets():
    assert type(amplify_by_shuffling(1, 10, "1e-3", **NAMED)) is Shuffled
