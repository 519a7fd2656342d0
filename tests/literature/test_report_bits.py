"""One bit of a device's amount: beside its twin, by all outcomes, and what is refused."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

import geodp
from geodp.errors import CodeError, UsageError
from geodp.literature.bit_means import report_bits
from geodp.local.coins import Chance, FixedCoins
from tests.reference import mean
from tests.reference.coins import Units, walks
from tests.refusals import refuses

EPSILON = Fraction(1)


@pytest.mark.parametrize("maximum", [1, 3, 15000, 1 << 32, (1 << 32) + 1, 1 << 62])
def test_bits_are_those_of_the_twin(maximum):
    draw = np.random.default_rng(14)
    values = np.append(draw.integers(0, maximum, 200, endpoint=True), [0, maximum])
    units = draw.integers(0, 1 << 32, 3000, dtype=np.uint64).astype(np.uint32)
    units[5:700:7] = Chance(1, 1, EPSILON).digits(1)[0]  # ties, and numbers that are drawn again
    units[6:700:11] = (1 << 32) - 1
    theirs = Units(units)
    expected = [mean.report(int(value), theirs, maximum, EPSILON) for value in values]
    coins = FixedCoins(units)
    assert report_bits(values, maximum, 1, coins).tolist() == expected
    assert units.size - coins.ahead(0).size == theirs.used


def test_values_beyond_53_bits_are_compared_as_whole_numbers():
    units = [0, 1 << 28, (1 << 32) - 1] * 2  # 2**60 is drawn, and nothing turned
    bits = report_bits([1 << 60, (1 << 60) + 1], 1 << 62, 1, FixedCoins(units))
    assert bits.dtype == np.uint8
    assert bits.tolist() == [0, 1]


def law(value, maximum, scale=1.0):
    """The probability of a 1, by all outcomes of the twin."""
    done = walks(lambda coins: mean.report(value, coins, maximum, EPSILON), scale)
    return sum(probability for told, probability, _ in done if told)


@pytest.mark.parametrize(("scale", "holds"), [(1.0, True), (0.5, False)])
def test_no_bit_tells_more_than_epsilon_and_half_the_turns_are_caught(scale, holds):
    ones = [law(value, 6, scale) for value in range(7)]
    zeros = [1 - one for one in ones]
    largest = max(log(max(told) / min(told)) for told in (ones, zeros))
    assert (largest == pytest.approx(1)) is holds
    assert (largest <= 1 + 1e-12) is holds
    assert (ones == pytest.approx([mean.chance(value, 6, 1) for value in range(7)])) is holds


def test_the_law_of_bits_and_the_test_that_they_are_for():
    """Fixed units; a share lies within five standard errors of its chance."""
    units = np.random.default_rng(7).integers(0, 1 << 32, 10**6, dtype=np.uint64)
    coins = FixedCoins(units.astype(np.uint32))
    ones = []
    for value in (3000, 3600):
        bits = report_bits(np.full(100_000, value), 15_000, 1, coins)
        p = mean.chance(value, 15_000, 1)
        assert abs(bits.mean() - p) < 5 * (p * (1 - p) / bits.size) ** 0.5
        ones.append((int(bits.sum()), bits.size))
    found = geodp.literature.means(*ones, 15_000, 1)
    assert found.low < 600 < found.high
    assert found.p_value < 0.05


def test_values_outside_are_refused_and_not_quoted():
    for values in ([1, 7, 3], [1, -1, 3], [1, -7, 3], np.array([1, 2**63 + 7], np.uint64)):
        with refuses(CodeError, "value-above-most") as error:
            report_bits(values, 6, 1)
        assert error.value.position == 1
        assert "7" not in str(error.value)
    for values in ([1.5], [[1]], ["1"], 3):
        with refuses(UsageError, "values-need-smaller-unit"):
            report_bits(values, 6, 1)
    for maximum in (0, -1, (1 << 62) + 1):
        with refuses(UsageError, "setting-out-of-range: ^maximum of a value"):
            report_bits([0], maximum, 1)
    for maximum in (1.5, True):
        with refuses(UsageError, r"setting-not-whole: ^maximum\b"):
            report_bits([0], maximum, 1)
    for epsilon in (0, -1, "nan", 17, 65):
        with refuses(
            UsageError,
            "budget-number-form|budget-number-not-positive|epsilon-weak|report-epsilon-range: "
            "epsilon",
        ):
            report_bits([0], 6, epsilon)
    assert report_bits([0], 6, 17, allow_weak=True).tolist() == [0]
    assert report_bits([], 6, 1).size == 0
