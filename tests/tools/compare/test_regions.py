"""Two regions: shared noise, exact single cells, clamps, and errors of both kinds by simulation."""

import math

import numpy as np
import pytest

from geodp import compare
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.tools.compare.regions import noise_of_cells
from tests.refusals import refuses
from tests.tools.compare.releases import GRID, keys, released, run
from tests.tools.compare.test_tails import summed

METHODS = ["pyramid", "topdown", "privelet", "hay"]
PAIRS = {
    "siblings": (run(0, 16), run(16, 32)),
    "cousins": (run(0, 4), run(60, 64)),
    "one in the other": (run(0, 4), run(0, 12)),
    "overlapping": (run(3, 21), run(15, 40)),
    "all and a half": (run(0, 64), run(0, 32)),
}


@pytest.mark.law
@pytest.mark.parametrize("spec", METHODS)
def test_the_error_of_a_difference_is_the_real_one(spec):
    trials, z = 100, {name: [] for name in PAIRS}
    for seed in range(trials):
        one = released(spec, seed)
        for name, (a, b) in PAIRS.items():
            true = 100_000 * (b.size - a.size)
            found = compare.compare_regions((one, a), (one, b), null=true)
            z[name].append((found.value - true) / found.standard_error)
    # The fourth moment of Laplace noise is 6: four standard errors of the mean square.
    slack = 4 * math.sqrt(5 / trials)
    for name, values in z.items():
        assert np.mean(np.square(values)) == pytest.approx(1, abs=slack), name


def test_errors_added_up_would_be_wrong_for_siblings():
    one = released("hay", 0)
    (a, b) = run(0, 16), run(16, 32)
    found = compare.compare_regions((one, a), (one, b)).standard_error
    added = math.hypot(*(one.standard_error(Region(GRID, key)) for key in (a, b)))
    assert abs(found / added - 1) > 0.1


def test_two_releases_have_errors_that_add_up():
    one, two = released("pyramid", 1), released("topdown", 2, people=100_100)
    a, b = run(0, 16), run(3, 19)
    found = compare.compare_regions((one, a), (two, b))
    first, second = one.estimate(a), two.estimate(b)
    assert found.value == second.count - first.count
    assert found.standard_error == pytest.approx(
        math.hypot(first.standard_error, second.standard_error)
    )
    assert found.basis == "long-tailed"


GAUSSIAN = {"epsilon": None, "rho": "1/8"}


@pytest.mark.parametrize("spec", ["pyramid", "topdown"])
def test_gaussian_noise_is_tested_by_the_normal_law(spec):
    one = released(spec, 1, **GAUSSIAN)
    found = compare.compare_regions((one, run(0, 16)), (one, run(16, 32)))
    z = (abs(found.value) - 0.5) / found.standard_error  # whole numbers
    assert found.basis == "normal"
    assert found.p_value == pytest.approx(min(1, math.erfc(z / math.sqrt(2))))


def rates(spec, trials, levels, **terms):
    """How often the null hypothesis and one 2.5 errors off it are refuted at these levels."""
    refuted, asked = np.zeros((2, len(levels))), np.zeros((2, 1))
    a, b = run(0, 16), run(32, 48)
    first = released(spec, 0, **terms)
    error = compare.compare_regions((first, a), (first, b)).standard_error
    for seed in range(trials):
        one = released(spec, seed, **terms)
        # How often a difference is found is known well enough from every third release.
        for which, null in enumerate((0, 2.5 * error)[: 1 + (seed % 3 == 0)]):
            p_value = compare.compare_regions((one, a), (one, b), null=null).p_value
            refuted[which] += p_value <= np.array(levels)
            asked[which] += 1
    return refuted / asked


@pytest.mark.law
@pytest.mark.parametrize("spec", ["pyramid", "topdown"])
def test_errors_of_both_kinds_with_gaussian_noise(spec):
    trials = 600
    (same,), (apart,) = rates(spec, trials, [0.05], epsilon=None, rho="1/800")
    assert same == pytest.approx(0.05, abs=2.2 * math.sqrt(0.05 * 0.95 / trials))
    power = sum(math.erfc((1.959964 + sign * 2.5) / math.sqrt(2)) / 2 for sign in (1, -1))
    assert apart == pytest.approx(power, abs=2.2 * math.sqrt(power * (1 - power) / (trials / 3)))


@pytest.mark.law
@pytest.mark.parametrize("spec", ["pyramid", "topdown", "privelet", "hay"])
def test_laplace_noise_finds_nothing_too_often(spec):
    levels, trials = [0.05, 0.01, 0.002], 450
    same, apart = rates(spec, trials, levels, epsilon="1/10")
    for level, rate in zip(levels, same.tolist(), strict=True):
        assert rate <= level + 3 * math.sqrt(level / trials)
    assert same[0] > 0.02
    assert apart[0] > 0.6


@pytest.mark.parametrize("spec", ["laplace", "geometric"])
def test_single_cells_are_tested_exactly(spec):
    one, two = released(spec, 1, 50, "1/2"), released(spec, 2, 50, "1/4")
    assert noise_of_cells(one).scale == 2
    for first, second in (((one, keys(3)), (one, keys(9))), ((one, keys(3)), (two, keys(3)))):
        found = compare.compare_regions(first, second)
        assert found.basis == "exact"
        noises = [noise_of_cells(side[0]) for side in (first, second)]
        size = abs(found.value)
        chance = summed(*noises, size)
        assert found.p_value == pytest.approx(min(1, 2 * chance))
        half = found.value - found.low
        step = float(min(noise.step for noise in noises))
        assert summed(*noises, half + step) <= 0.025 < summed(*noises, half)
        assert found.high - found.value == pytest.approx(half)
    assert noise_of_cells(released("pyramid", 1)) is None
    several = compare.compare_regions((one, keys(3, 4)), (one, keys(9)))
    assert several.basis == "long-tailed"


def test_exact_p_values_are_uniform():
    random, trials, scale = np.random.default_rng(6), 20_000, 2.0
    one, two = released("geometric", 1, 50, "1/2"), released("geometric", 2, 50, "1/2")
    noises = [noise_of_cells(one), noise_of_cells(two)]
    stop = -math.expm1(-1 / scale)
    drawn = random.geometric(stop, (4, trials)) * np.array([[1], [-1], [1], [-1]])
    values, counts = np.unique(np.abs(drawn.sum(axis=0)), return_counts=True)
    for value in (3, 7, 12):
        real = counts[values >= value].sum() / trials
        stated = 2 * summed(*noises, value)
        assert real == pytest.approx(stated, abs=4 * math.sqrt(stated / trials))


def test_clamped_regions_need_to_be_asked_for():
    people = np.zeros((8, 8), np.int64)
    people[0, 0], people[7, 7] = 300, 900
    one = released("topdown", 3, people)
    a, b = GRID.encode(np.array([[0], [0]])), GRID.encode(np.array([[7], [7]]))
    assert one.estimate(a).clamped
    with refuses(UsageError, "region-clamped"):
        compare.compare_regions((one, a), (one, b))
    found = compare.compare_regions((one, a), (one, b), conservative=True)
    assert found.basis == "conservative"
    apart = one.estimate(b).low - one.estimate(a).high
    assert (found.p_value <= 0.05) == (apart >= 0)
    assert found.low <= 600 <= found.high
    other = compare.compare_regions((one, b), (one, a), conservative=True)
    assert other.p_value == found.p_value
    assert (other.low, other.high) == pytest.approx((-found.high, -found.low))
    less = compare.compare_regions((one, a), (one, b), conservative=True, alternative="less")
    assert less.p_value > 0.5


@pytest.mark.law
@pytest.mark.parametrize("spec", ["topdown", "pyramid"])
def test_conservative_finds_nothing_too_often(spec):
    random = np.random.default_rng(7)
    trials, wrong = 150, 0
    for seed in range(trials):
        people = np.where(random.random((8, 8)) < 0.1, 40, 0)
        people[0, 0] = people[5, 5] = 40
        one = released(spec, seed, people, "1/2")
        a, b = GRID.encode(np.array([[0], [0]])), GRID.encode(np.array([[5], [5]]))
        found = compare.compare_regions((one, a), (one, b), conservative=True)
        wrong += found.p_value <= 0.05
    assert wrong / trials <= 0.05 + 3 * math.sqrt(0.05 / trials)


def test_differences_of_counts_beyond_floats_are_exact():
    people = np.zeros((8, 8), np.int64)
    people[0, 0], people[0, 1] = (1 << 58) + 12, 1 << 58
    one = released("geometric", 1, people, 50)
    a, b = (GRID.encode(np.array([[0], [col]])) for col in (0, 1))
    found = compare.compare_regions((one, b), (one, a))
    assert found.value == 12
    assert (found.low, found.high) == (12, 12)  # of e^-50 there is nothing at 5 %
    assert found.p_value < 1e-6


@pytest.mark.parametrize(
    ("sides", "asked", "said"),
    [
        (lambda: ((ONE, run(0, 4)), (ONE, run(0, 4))), {}, "regions-same"),
        (lambda: ((ONE, run(0, 4)), (released("hay", 1), run(0, 4))), {}, "regions-same"),
        (
            lambda: ((ONE, run(0, 4)), (ONE, run(4, 8))),
            {"alternative": "more"},
            "alternative-unknown",
        ),
        (lambda: ((ONE, run(0, 4)), (ONE, run(4, 8))), {"alpha": 0}, "chance-out-of-range: alpha"),
        (lambda: ((ONE, run(0, 4)), (ONE, run(4, 8))), {"alpha": 1e-16}, "alpha-too-small: 1e-15"),
        (lambda: ((DAWA, run(0, 4)), (DAWA, run(4, 8))), {}, "region-error-unknown"),
    ],
)
def test_what_is_refused(sides, asked, said):
    with refuses(UsageError, said):
        compare.compare_regions(*sides(), **asked)


ONE = released("hay", 1)
DAWA = released("laplace-nonnegative", 1)
