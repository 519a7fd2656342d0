"""Selection, as ``geodp.select``: which candidates are best, and no count is shown."""

from geodp.features.select.hot_spots import top_cells
from geodp.features.select.mechanisms.exponential import exponential
from geodp.features.select.mechanisms.permute_and_flip import permute_and_flip
from geodp.features.select.quantiles import median_centre, quantile
from geodp.features.select.resolution import level

__all__ = ["exponential", "level", "median_centre", "permute_and_flip", "quantile", "top_cells"]
