"""Public names of ``geodp.statistics``: statistics of released maps, with their biases."""

from geodp.features.statistics.estimate import Statistic, estimate_statistics
from geodp.features.statistics.figures import CLASSES

__all__ = ["CLASSES", "Statistic", "estimate_statistics"]
