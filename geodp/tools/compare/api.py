"""Public names of ``geodp.compare``: tests and estimates from releases, which cost no budget."""

from geodp.tools.compare.changes import CellChanges as CellChanges
from geodp.tools.compare.changes import CellDifferences as CellDifferences
from geodp.tools.compare.changes import compare_cells as compare_cells
from geodp.tools.compare.changes import estimate_cell_changes as estimate_cell_changes
from geodp.tools.compare.difference import Difference as Difference
from geodp.tools.compare.difference import Hypothesis as Hypothesis
from geodp.tools.compare.difference import adjust as adjust
from geodp.tools.compare.logit import Logit as Logit
from geodp.tools.compare.logit import logit as logit
from geodp.tools.compare.regions import Ratio as Ratio
from geodp.tools.compare.regions import compare_regions as compare_regions
from geodp.tools.compare.regions import estimate_mean as estimate_mean
from geodp.tools.compare.regions import estimate_ratio as estimate_ratio
