"""Noise on top of a normal change: held against integrals."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from geodp.mechanisms import learned


def noise_density(x, laplace):
    if laplace:
        return np.exp(-abs(x) / learned.SCALE) / (2 * learned.SCALE)
    return stats.norm.pdf(x)


def integrals(value, width, laplace):
    """Density of the sum, and mean of the change given the sum, by numerical integration."""
    ends = sorted({-60 * width, 60 * width, value - 60, value + 60, 0.0, value})

    def both(power):
        return sum(
            integrate.quad(
                lambda t: (
                    t**power * stats.norm.pdf(t, 0, width) * noise_density(value - t, laplace)
                ),
                a,
                b,
                limit=200,
                points=[x for x in (value - 8 * width, -8 * width, 8 * width) if a < x < b] or None,
            )[0]
            for a, b in pairwise(ends)
        )

    density = both(0)
    return density, both(1) / density


@pytest.mark.law
@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize("part", [1, 5, 8])
def test_densities_and_means_are_the_integrals(laplace, part):
    value = np.array([-3.0, 0.0, 0.7, 6.0])
    density = np.exp(learned.log_density(value, laplace)[:, part])
    mean = learned.posterior_mean(value, laplace)[:, part]
    for i, x in enumerate(value):
        found = integrals(x, learned.WIDTHS[part], laplace)
        np.testing.assert_allclose((density[i], mean[i]), found, rtol=1e-5, atol=1e-6)


def test_no_change_is_the_noise_alone():
    value = np.array([-2.0, 0.0, 5.0])
    for laplace in (True, False):
        own = np.exp(learned.log_density(value, laplace)[:, 0])
        np.testing.assert_allclose(own, [noise_density(x, laplace) for x in value], rtol=1e-12)
        assert not learned.posterior_mean(value, laplace)[:, 0].any()


def test_wide_changes_do_not_cancel():
    """With 4096 deviations Laplace and normal noise of one variance are as good as the same."""
    value = np.array([0.5, 3.0, 100.0, 2000.0])
    laplace, normal = (learned.posterior_mean(value, kind)[:, -1] for kind in (True, False))
    np.testing.assert_allclose(laplace, normal, rtol=1e-6, atol=1e-6)
    laplace, normal = (learned.log_density(value, kind)[:, -1] for kind in (True, False))
    np.testing.assert_allclose(laplace, normal, atol=1e-6)


def test_normal_errors_of_another_variance():
    value = np.array([1.0, 4.0])
    mean = learned.posterior_mean(value, False, 0.25)
    np.testing.assert_allclose(
        mean, value[:, None] * learned.WIDTHS**2 / (learned.WIDTHS**2 + 0.25)
    )


def test_bins_meet():
    knots, middles = learned.knots(), learned.middles()
    assert knots.size == middles.size + 1 == 705
    assert (np.diff(knots) > 0).all()
    assert (knots == -knots[::-1]).all()
    assert knots[-1] == 2**11 - 1
    assert ((middles > knots[:-1]) & (middles < knots[1:])).all()
