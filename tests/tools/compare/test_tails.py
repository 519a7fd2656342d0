"""The law of the difference of two noises: summed term by term, and far out."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from geodp.tools.compare.difference import LatticeNoise, tail_of_difference, tail_of_sum

PAIRS = [
    (LatticeNoise(F(2), F(1)), LatticeNoise(F(2), F(1))),
    (LatticeNoise(F(1, 3), F(1)), LatticeNoise(F(1, 3), F(1))),
    (LatticeNoise(F(2), F(1)), LatticeNoise(F(3), F(1))),
    (LatticeNoise(F(1), F(1, 4)), LatticeNoise(F(3), F(1, 2))),
    (LatticeNoise(F(3), F(1, 2)), LatticeNoise(F(1), F(1, 4))),
]


def summed(first, second, least):
    """The chance that a sum of two noises is as large, from a double sum over both lattices."""
    laws = []
    for noise in (first, second):
        size = int(60 * max(noise.scale, 1) / noise.step)
        number = np.arange(-size, size + 1)
        mass = np.exp(-np.abs(number) * float(noise.step / noise.scale))
        laws.append((number * float(noise.step), mass / math.fsum(mass)))
    (x, p), (y, q) = laws
    beyond = np.append(np.cumsum(q[::-1])[::-1], 0)
    return math.fsum(p * beyond[np.searchsorted(y, least - x)])


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_it_is_the_double_sum(first, second):
    for least in (-7, -1, -0.25, 0, 0.25, 1, 2.5, 9, 30):
        found = tail_of_difference(first, second, np.array([least]))[0]
        assert found == pytest.approx(summed(first, second, least), rel=1e-9)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_it_is_a_law(first, second):
    step = float(min(first.step, second.step))
    at = np.arange(-200, 201) * step
    tails = tail_of_difference(first, second, at)
    assert (np.diff(tails) <= 0).all()
    assert tails + tail_of_difference(first, second, step - at) == pytest.approx(np.ones(401))


def test_far_tails_are_kept_and_end_at_a_bound():
    one, other = LatticeNoise(F(10), F(1)), LatticeNoise(F(10) + F(1, 10**9), F(1))
    far = np.array([200.0, 600.0, 5000.0])
    equal, unlike = tail_of_difference(one, one, far), tail_of_difference(one, other, far)
    assert unlike == pytest.approx(equal, rel=1e-6)
    assert 0 < equal[2] < 1e-20
    q = math.exp(-0.1)
    mass = ((1 - q) / (1 + q)) ** 2
    pmf = [mass * q**d * (d + (1 + q * q) / (1 - q * q)) for d in range(600, 1600)]
    assert equal[1] == pytest.approx(math.fsum(pmf), rel=1e-9)


def test_one_laplace_noise_and_very_many():
    z = np.array([-3.0, 0.0, 0.5, 2.118, 6.0, 25.0])
    laplace = np.where(
        z < 0, 1 - np.exp(-math.sqrt(2) * np.abs(z)) / 2, np.exp(-math.sqrt(2) * z) / 2
    )
    assert tail_of_sum(z, np.ones(6)) == pytest.approx(laplace, rel=1e-6)
    normal = [math.erfc(one / math.sqrt(2)) / 2 for one in z.tolist()]
    assert tail_of_sum(z, np.zeros(6)) == pytest.approx(normal, rel=1e-9)
    assert tail_of_sum(z[:4], np.full(4, 1e-9)) == pytest.approx(normal[:4], rel=0.01)


@pytest.mark.parametrize("count", [2, 5, 12])
def test_a_few_laplace_noises_as_convolved(count):
    step, size = 0.02, 2000
    number = np.arange(-size, size + 1)
    one = np.exp(-np.abs(number) * step)
    law = np.array([1.0])
    for _ in range(count):
        law = np.convolve(law, one / one.sum(), "same" if law.size > 1 else "full")
    error = math.sqrt(2 * count)
    for z in (0.5, 2.0, 3.5):
        summed = law[number * step >= z * error].sum()
        found = tail_of_sum(np.array([z]), np.array([1 / count]))[0]
        assert found == pytest.approx(summed, rel=0.02)
