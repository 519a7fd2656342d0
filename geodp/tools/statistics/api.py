"""Public names of ``geodp.statistics``: statistics of released maps, with their biases."""

from geodp.tools.statistics.estimate import CLASSES, Statistic, estimate_statistics

__all__ = ["CLASSES", "Statistic", "estimate_statistics"]
