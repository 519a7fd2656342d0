"""Exact symmetric laws on the integers, and the noise of tree nodes that they make."""

from geodp.privacy.noise.gaussian import DiscreteGaussian
from geodp.privacy.noise.laplace import DiscreteLaplace
from geodp.privacy.noise.law import LARGEST_SCALE, Law
from geodp.privacy.noise.node import NodeNoise

__all__ = ["LARGEST_SCALE", "DiscreteGaussian", "DiscreteLaplace", "Law", "NodeNoise"]
