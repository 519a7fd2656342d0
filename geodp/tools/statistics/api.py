"""Public names of ``geodp.statistics``: statistics of released maps, with their biases."""

from geodp.tools.statistics.estimate import CLASSES as CLASSES
from geodp.tools.statistics.estimate import Statistic as Statistic
from geodp.tools.statistics.estimate import estimate_statistics as estimate_statistics
