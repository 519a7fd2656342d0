"""Bins, priors, posteriors and raking, beside numpy."""

import numpy as np
import pytest

from geodp.kinds.flows.kernels import deconvolution
from geodp.kinds.flows.kernels.balancing import CLASSES, class_of

DRAW = np.random.default_rng(1)
MOST = 5
STEP = 2.0
VALUE = STEP * np.arange(-MOST, MOST + 1)
SUPPORT = np.array([0.0, 1.0, 3.0, 8.0])
PRIOR = np.array([0.6, 0.2, 0.15, 0.05])
EXPECTED = DRAW.choice([0.0, 0.3, 5.0], (7, 9))
NOISY = DRAW.normal(EXPECTED, 8.0)


def test_pairs_are_counted_by_class_and_bin_and_find_their_entries():
    counts, sums = np.zeros((CLASSES, 2 * MOST + 2), np.int64), np.zeros((CLASSES, 2))
    for some in (slice(0, 3), slice(3, None)):
        deconvolution.sum_bins(EXPECTED[some], NOISY[some], STEP, counts, sums)
    merged, entry = np.arange(CLASSES), np.empty(EXPECTED.shape, np.uint16)
    merged[class_of.py_func(5.0)] = 2
    deconvolution.find_entries(EXPECTED, NOISY, STEP, merged, MOST, entry)
    nearest = np.maximum(np.rint(NOISY / STEP), -MOST) + MOST
    beyond = (MOST + 0.5) * STEP < NOISY
    assert beyond.any()
    assert (nearest == 0).any()
    for expected, own in ((0.3, class_of.py_func(0.3)), (5.0, 2)):
        which, some = class_of.py_func(expected), expected == EXPECTED
        at = np.where(beyond, 2 * MOST + 1, nearest)[some].astype(int)
        assert counts[which].tolist() == np.bincount(at, minlength=2 * MOST + 2).tolist()
        assert sums[which] == pytest.approx([expected * some.sum(), NOISY[some & beyond].sum()])
        assert entry[some].tolist() == (own * (2 * MOST + 2) + at).tolist()
    assert counts.sum() == (EXPECTED > 0).sum()
    assert (entry[EXPECTED == 0] == CLASSES * (2 * MOST + 2)).all()


def test_half_a_bin_is_rounded_up_and_the_last_one_ends_there():
    counts, sums = np.zeros((CLASSES, 2 * MOST + 2), np.int64), np.zeros((CLASSES, 2))
    noisy = np.array([[-1.0, 1.0, (MOST + 0.5) * STEP, -99.0]])
    deconvolution.sum_bins(np.ones((1, 4)), noisy, STEP, counts, sums)
    assert np.nonzero(counts[28])[0].tolist() == [0, MOST, MOST + 1, 2 * MOST + 1]


def test_flows_are_looked_up_and_known_ones_are_the_noisy_ones():
    entry, out = np.array([[0, 1], [1, 0]], np.uint16), np.empty((2, 2))
    deconvolution.look_up(np.array([[1.0, 2.0], [3.0, 4.0]]), entry, np.array([9.0, np.nan]), out)
    assert out.tolist() == [[9.0, 2.0], [3.0, 9.0]]


def likelihood_of(variance, normal, value=VALUE):
    out = np.empty((value.size, SUPPORT.size))
    deconvolution.fill_likelihood(value, SUPPORT, variance, normal, out)
    return out


@pytest.mark.parametrize("normal", [True, False])
def test_likelihoods_are_those_of_the_law_of_the_noise(normal):
    apart = np.abs(VALUE[:, None] - SUPPORT)
    exact = np.exp(-(apart**2) / 18) if normal else np.exp(-apart / np.sqrt(4.5))
    assert likelihood_of(9.0, normal) == pytest.approx(exact / exact.max(axis=1, keepdims=True))
    # So little noise that no true flow is likely: the nearest is the only one.
    assert likelihood_of(1e-12, normal, np.array([2.9, 9.0])).tolist() == [
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_posteriors_are_cumulated_and_have_moments_and_quantiles():
    likelihood = likelihood_of(9.0, normal=True)
    cumulated, mean, variance = np.empty(likelihood.shape), *np.empty((2, VALUE.size))
    deconvolution.cumulate(likelihood, PRIOR, cumulated)
    exact = likelihood * PRIOR / (likelihood @ PRIOR)[:, None]
    assert cumulated == pytest.approx(exact.cumsum(axis=1))
    deconvolution.find_moments(cumulated, SUPPORT, mean, variance)
    assert mean == pytest.approx(exact @ SUPPORT)
    assert variance == pytest.approx(exact @ SUPPORT**2 - (exact @ SUPPORT) ** 2)
    found = np.empty(VALUE.size)
    for level in (0.0, 0.3, 0.7, 1.0):
        deconvolution.find_quantiles(cumulated, SUPPORT, level, found)
        assert found == pytest.approx([np.interp(level, one, SUPPORT) for one in cumulated])


def test_the_prior_with_a_mean_is_the_most_likely_one():
    """Weights are what is most likely where the mean is theirs; others are divided by a line."""
    prior = np.empty(4)
    deconvolution.keep_mean(PRIOR, SUPPORT, float(PRIOR @ SUPPORT), prior)
    assert prior == pytest.approx(PRIOR)
    for mean in (0.01, 0.5, 2.0, 7.9):
        deconvolution.keep_mean(PRIOR, SUPPORT, mean, prior)
        assert (prior.sum(), prior @ SUPPORT) == pytest.approx((1, mean))
        slopes = np.diff(PRIOR / prior) / np.diff(SUPPORT)
        assert slopes == pytest.approx(np.full(3, slopes[0]), rel=1e-6)


def test_a_learned_prior_keeps_its_mean_and_is_as_likely_as_the_true_one():
    likelihood = likelihood_of(9.0, normal=True)
    density = np.exp(-((VALUE[:, None] - SUPPORT) ** 2) / 18)
    count = np.rint(1e6 * (density / density.sum(axis=0)) @ PRIOR).astype(np.int64)
    prior, mean = np.full(4, 0.25), float(PRIOR @ SUPPORT)
    deconvolution.learn_prior(likelihood, count, SUPPORT, mean, 2_000, np.empty(4), prior)
    assert prior @ SUPPORT == pytest.approx(mean)
    assert count @ np.log(likelihood @ prior) >= count @ np.log(likelihood @ PRIOR) - 1
    # Pairs of no bin count for nothing, and one round is that of the definition.
    one, expected = np.full(4, 0.25), np.full(4, 0.25)
    deconvolution.learn_prior(likelihood, count, SUPPORT, mean, 1, np.empty(4), one)
    weight = (count[:, None] * likelihood * expected / (likelihood @ expected)[:, None]).sum(axis=0)
    deconvolution.keep_mean(weight / count.sum(), SUPPORT, mean, expected)
    assert one == pytest.approx(expected)


def test_raking_moves_flows_by_their_variances_and_sums_what_they_become():
    variance, entry = np.array([0.0, 1.0, 4.0]), DRAW.integers(0, 3, (5, 6)).astype(np.uint16)
    value, factor = DRAW.gamma(1, 3, (5, 6)), DRAW.normal(0, 2, 6)
    moved, sums = value.copy(), np.empty((5, 2))
    deconvolution.rake_columns(moved, entry, variance, factor, sums)
    exact = np.maximum(value + factor * variance[entry], 0)
    assert (moved == 0).any()
    assert moved == pytest.approx(exact)
    assert sums == pytest.approx(np.stack([exact.sum(axis=1), variance[entry].sum(axis=1)], 1))
    moved, sums = value.copy(), np.ones((2, 6))
    deconvolution.rake_rows(moved, entry, variance, factor[:5], sums)
    exact = np.maximum(value + factor[:5, None] * variance[entry], 0)
    assert moved == pytest.approx(exact)
    assert sums - 1 == pytest.approx(np.stack([exact.sum(axis=0), variance[entry].sum(axis=0)]))
