"""Laws of noise by their names, and their exact tails."""

from functools import partial

from geodp.privacy.noise.law import DiscreteGaussian, DiscreteLaplace
from tests.reference import noise as reference


def law_of(name, scale):
    if name == "laplace":
        return DiscreteLaplace.of_scale(scale)
    return DiscreteGaussian.of_sigma2(scale**2)


def tail_of(name, scale):
    """P(|Z| >= g) as a rational number, or to the precision of the decimal context."""
    if name == "laplace":
        return partial(reference.tail, 1 / scale)
    return partial(reference.gaussian_tail, scale**2)
