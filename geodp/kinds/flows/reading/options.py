"""Options on rows and files that readers of flows share with all other readers.

Nothing heavy is imported here: the commands make their options from the fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from geodp.errors import Rule, UsageError
from geodp.io.read.options import BALLPARK, CRS
from geodp.io.read.reader import CountsReader, cli_option

COUNTS_ONLY = Rule(
    "flows-counts-only",
    "Values that mean no people, markers, rounding, the number that stands for one and sums of "
    "repeated rows (--missing, --flags, --round, --raster-unit, --duplicates; missing=, flags=, "
    "rounding=, value_unit=, duplicates=) are of counted rows, and the first one of weights, too: "
    "name the column of counts (--value, value=), or leave them out.",
)


COUNTED = ("missing", "flags", "duplicates", "rounding", "value_unit")
"""Options on how counts are read, which rows of persons do not have."""


@dataclass(frozen=True, kw_only=True)
class RowOptions(CountsReader):
    """Options on rows and files.

    Attributes
    ----------
    crs : str, optional
        CRS of coordinates, if it is not the grid's, and of points, if it is not that of their
        column.
    allow_ballpark : bool
        Whether one datum may be taken for another if the exact transformation is not installed.
    """

    name: ClassVar[str] = "flows"
    kind: ClassVar[str] = "trips"

    crs: str | None = field(default=None, metadata=cli_option(CRS))
    allow_ballpark: bool = field(default=False, metadata=cli_option(BALLPARK))

    def require_uncounted(self) -> None:
        """Raise UsageError for options that say how counts are read, of rows without any."""
        if any(getattr(self, name) not in ((), "error", None) for name in COUNTED):
            raise UsageError(COUNTS_ONLY)
