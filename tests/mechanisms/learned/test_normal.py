"""Functions of the normal law: held against SciPy's, to the last digits of float64."""

import numpy as np
import pytest
from scipy import special

from geodp.mechanisms import learned

EDGES = np.array([0.0, learned.FAR, learned.FARTHEST])


def both_sides(edges):
    return np.concatenate([edges, np.nextafter(edges, 1e9), np.nextafter(edges, -1e9)])


def test_the_scaled_complement_is_that_of_scipy():
    x = np.concatenate([np.linspace(-26, 60, 2001), np.geomspace(60, 1e7, 500), both_sides(EDGES)])
    np.testing.assert_allclose(learned.erfcx(x), special.erfcx(x), rtol=2e-15)


def test_far_away_it_has_the_same_bits():
    x = np.geomspace(np.nextafter(learned.FARTHEST, 60), 1e6, 5000)
    assert (learned.erfcx(x) == special.erfcx(x)).all()


def test_it_is_infinite_where_it_is_beyond_float64():
    with np.errstate(all="raise", under="ignore"):
        assert learned.erfcx(np.array([-27.0, -1e5])).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.5, 3.0, 8.0, 35.0])
def test_the_logarithm_of_the_distribution_function(x):
    found = learned.log_normal(np.array([[x]]))
    np.testing.assert_allclose(found, [[special.log_ndtr(x)]], rtol=1e-12)


def test_the_complement_keeps_the_shape():
    x = np.linspace(-3, 3, 12).reshape(3, 4)
    np.testing.assert_allclose(learned.erfc(x), special.erfc(x), rtol=1e-15, atol=0)
