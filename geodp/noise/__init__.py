"""Exact symmetric laws on the integers, and the noise of tree nodes that they make."""

from geodp.noise.gaussian import DiscreteGaussian
from geodp.noise.laplace import DiscreteLaplace
from geodp.noise.law import LARGEST_SCALE, Law
from geodp.noise.node import NodeNoise

__all__ = ["LARGEST_SCALE", "DiscreteGaussian", "DiscreteLaplace", "Law", "NodeNoise"]
