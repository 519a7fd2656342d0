"""What people compute of a released map, as ``geodp.statistics``: with bias, at no budget."""

from geodp.features.statistics.estimate import Statistic, estimate_statistics
from geodp.features.statistics.figures import CLASSES

__all__ = ["CLASSES", "Statistic", "estimate_statistics"]
