"""What people compute of a released map, as ``geodp.statistics``: with bias, at no budget."""

from geodp.analysis.statistics.estimate import Statistic, estimate_statistics
from geodp.analysis.statistics.figures import CLASSES

__all__ = ["CLASSES", "Statistic", "estimate_statistics"]
