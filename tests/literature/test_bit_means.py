"""One-bit means: sample sizes, power and tests against published figures and simulations."""

import math

import numpy as np
import pytest

from geodp import literature
from geodp.errors import UsageError
from tests.refusals import refuses

MOST, APART, SHARE = 15000, 600, 0.2
SETTING = (APART, MOST)


@pytest.mark.parametrize(
    ("epsilon", "worst", "exact", "two_sided"),
    [
        (None, 1934, 1325, 1681),
        (0.5, 32210, 31601, 40118),
        (1, 9049, 8440, 10714),
        (4, 2080, 1471, None),
    ],
)
def test_sample_sizes(epsilon, worst, exact, two_sided):
    assert literature.sample_size(*SETTING, epsilon, sides=1) == worst
    assert literature.sample_size(*SETTING, epsilon, share=SHARE, sides=1) == exact
    if two_sided is not None:
        assert literature.sample_size(*SETTING, epsilon, share=SHARE) == two_sided


@pytest.mark.parametrize(
    ("epsilon", "power"),
    [(0.5, 0.115), (1, 0.215), (2, 0.445), (4, 0.657), (6, 0.692), (None, 0.697)],
)
def test_power_of_a_thousand(epsilon, power):
    found = literature.power(1000, *SETTING, epsilon, share=SHARE, sides=1)
    assert found == pytest.approx(power, abs=5e-4)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("share", [None, 0.0, 0.2, 0.9])
def test_a_sample_has_the_power_that_it_was_planned_for(share, sides):
    asked = {"share": share, "sides": sides, "alpha": 0.01}
    n = literature.sample_size(*SETTING, 1, power=0.9, **asked)
    assert literature.power(n, *SETTING, 1, **asked) >= 0.9
    assert literature.power(n - 1, *SETTING, 1, **asked) < 0.9


def test_a_smaller_mean_needs_as_many_as_a_larger_one_seen_from_there():
    assert literature.sample_size(-600, MOST, 1, share=0.24) == literature.sample_size(
        600, MOST, 1, share=0.2
    )


def test_the_statistic_is_that_of_the_paper():
    t, n, m = math.tanh(0.5), (900, 1000), (430, 420)
    found = literature.means((m[1], n[1]), (m[0], n[0]), MOST, 1, null=100)
    pa, pb = m[0] / n[0], m[1] / n[1]
    spread = math.sqrt(pa * (1 - pa) / (n[0] - 1) + pb * (1 - pb) / (n[1] - 1))
    z = (pa - pb - 100 * t / MOST) / spread
    assert found.value == pytest.approx(
        MOST / n[0] * (m[0] * (math.e + 1) - n[0]) / (math.e - 1)
        - MOST / n[1] * (m[1] * (math.e + 1) - n[1]) / (math.e - 1)
    )
    assert (found.value - 100) / found.standard_error == pytest.approx(z)
    assert found.p_value == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))
    greater = literature.means((m[1], n[1]), (m[0], n[0]), MOST, 1, null=100, alternative="greater")
    less = literature.means((m[1], n[1]), (m[0], n[0]), MOST, 1, null=100, alternative="less")
    assert greater.p_value + less.p_value == pytest.approx(1)
    assert greater.p_value == pytest.approx(math.erfc(z / math.sqrt(2)) / 2)
    assert (found.low + found.high) / 2 == pytest.approx(found.value)
    assert found.high - found.low == pytest.approx(2 * 1.959964 * found.standard_error)


def rejected(random, n, shares, epsilon, trials, **asked):
    """The share of trials that find a difference, with bits drawn from their means."""
    t = 1 if epsilon is None else math.tanh(epsilon / 2)
    bits = [random.binomial(n, (1 - t) / 2 + t * share, trials).tolist() for share in shares]
    pairs = zip(*bits, strict=True)
    small = sum(
        literature.means((a, n), (b, n), MOST, epsilon, **asked).p_value <= 0.05 for a, b in pairs
    )
    return small / trials


@pytest.mark.law
@pytest.mark.parametrize("epsilon", [None, 0.5, 4])
def test_errors_of_both_kinds_as_simulated(epsilon):
    random, trials = np.random.default_rng(1), 20_000
    n = literature.sample_size(*SETTING, epsilon, share=SHARE, sides=1)
    same = rejected(random, n, (SHARE, SHARE), epsilon, trials)
    assert same == pytest.approx(0.05, abs=0.005)
    greater = {"alternative": "greater"}
    assert rejected(random, n, (SHARE, SHARE), epsilon, trials, **greater) == pytest.approx(
        0.05, abs=0.005
    )
    apart = (SHARE, SHARE + APART / MOST)
    assert rejected(random, n, apart, epsilon, trials, **greater) == pytest.approx(0.8, abs=0.01)


@pytest.mark.law
def test_errors_of_both_kinds_of_devices_with_values_of_their_own():
    random, trials, n, t = np.random.default_rng(2), 12_000, 2723, math.tanh(1)
    shapes = ((1, 4), (1.2, 3.8))  # means 0.2 and 0.24 of the maximum
    found = np.zeros(2)
    for _ in range(trials):
        ones = [
            int((random.random(n) < (1 - t) / 2 + t * random.beta(*shapes[group], n)).sum())
            for group in (0, 0, 1)
        ]
        for which in (0, 1):
            pair = ((ones[0], n), (ones[1 + which], n))
            found[which] += literature.means(*pair, MOST, 2, alternative="greater").p_value <= 0.05
    assert found / trials == pytest.approx([0.05, 0.8], abs=0.01)
    assert found[0] / trials == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: literature.sample_size(0, MOST), "difference-out-of-range"),
        (lambda: literature.sample_size(16000, MOST), "difference-out-of-range"),
        (lambda: literature.sample_size(math.nan, MOST), "difference-out-of-range"),
        (lambda: literature.sample_size(600, 0), "budget-number-not-positive|maximum-not-positive"),
        (lambda: literature.sample_size(600, math.inf), "maximum-not-positive|null-not-finite"),
        (
            lambda: literature.sample_size(600, MOST, 0),
            "budget-number-not-positive|maximum-not-positive",
        ),
        (lambda: literature.sample_size(600, MOST, share=0.97), "share-out-of-range"),
        (lambda: literature.sample_size(600, MOST, share=-0.1), "share-out-of-range"),
        (lambda: literature.sample_size(600, MOST, alpha=0), "chance-out-of-range: alpha"),
        (lambda: literature.sample_size(600, MOST, power=1), "chance-out-of-range: power"),
        (lambda: literature.sample_size(600, MOST, sides=3), "sides-not-1-or-2"),
        (lambda: literature.sample_size(MOST, MOST, share=0), "bits-without-error"),
        (lambda: literature.sample_size(1e-9, MOST, 1), "difference-too-small"),
        (lambda: literature.power(1, *SETTING), "devices-fewer-than-two|group-too-small"),
        (lambda: literature.power(10.0, *SETTING), "devices-fewer-than-two"),
        (lambda: literature.means((5, 4), (1, 4), 1), "group-too-small"),
        (lambda: literature.means((0.5, 4), (1, 4), 1), "bits-not-whole"),
        (lambda: literature.means((0, 1), (1, 4), 1), "devices-fewer-than-two|group-too-small"),
        (lambda: literature.means((0, 4), (4, 4), 1), "bits-alike"),
        (lambda: literature.means((1, 4), (2, 4), 1, alternative="more"), "alternative-unknown"),
        (
            lambda: literature.means((1, 4), (2, 4), 1, null=math.inf),
            "maximum-not-positive|null-not-finite",
        ),
        (lambda: literature.means((1, 4), (2, 4), 1, alpha=1), "chance-out-of-range: alpha"),
    ],
)
def test_what_is_refused(call, said):
    with refuses(UsageError, said):
        call()
