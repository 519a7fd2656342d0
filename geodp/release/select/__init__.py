"""Selection, as ``geodp.select``: which candidates are best, and no count is shown."""

from geodp.mechanisms.selection.exponential import exponential
from geodp.mechanisms.selection.permute_and_flip import permute_and_flip
from geodp.release.select.hot_spots import top_cells
from geodp.release.select.quantiles import median_centre, quantile
from geodp.release.select.resolution import level

__all__ = ["exponential", "level", "median_centre", "permute_and_flip", "quantile", "top_cells"]
