"""Options on rows and files that readers of flows share with all other readers.

Nothing heavy is imported here: the commands make their options from the fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from geodp.errors import Rule, UsageError
from geodp.io.read import reader
from geodp.io.read.points import BALLPARK, CRS
from geodp.io.read.reader import Reader, cli_option

if TYPE_CHECKING:
    from geodp.io.read.rows.rounding import Rounding
    from geodp.io.read.rows.selecting import Value
    from geodp.io.read.rows.tally import Duplicates
    from geodp.io.read.table import Decimal

COUNTS_ONLY = Rule(
    "flows-counts-only",
    "Values that mean no people, markers, rounding, the number that stands for one and sums of "
    "repeated rows (--missing, --flags, --round, --raster-unit, --duplicates; missing=, flags=, "
    "rounding=, value_unit=, duplicates=) are of counted rows, and the first one of weights, too: "
    "name the column of counts (--value, value=), or leave them out.",
)


@dataclass(frozen=True, kw_only=True)
class RowOptions(Reader):
    """Options on rows and files; fields as those of :func:`geodp.flows.read_trips`."""

    name: ClassVar[str] = "flows"
    kind: ClassVar[str] = "trips"

    crs: str | None = field(default=None, metadata=cli_option(CRS))
    allow_ballpark: bool = field(default=False, metadata=cli_option(BALLPARK))
    where: Mapping[str, Value] = field(default_factory=dict, metadata=cli_option(reader.WHERE))
    missing: Sequence[str | float] = field(default=(), metadata=cli_option(reader.MISSING))
    flags: Sequence[str] = field(
        default=(), metadata=cli_option(reader.FLAGS, convert=reader.convert_flags)
    )
    duplicates: Duplicates = field(default="error", metadata=cli_option(reader.DUPLICATES))
    encoding: str | None = field(default=None, metadata=cli_option(reader.ENCODING))
    delimiter: str | None = field(default=None, metadata=cli_option(reader.DELIMITER))
    decimal: Decimal | None = field(default=None, metadata=cli_option(reader.DECIMAL))
    layer: str | None = field(default=None, metadata=cli_option(reader.LAYER))
    header_row: int | None = field(default=None, metadata=cli_option(reader.HEADER_ROW))
    first_row: int | None = field(default=None, metadata=cli_option(reader.FIRST_ROW))
    last_row: int | None = field(default=None, metadata=cli_option(reader.LAST_ROW))
    member: str | None = field(default=None, metadata=cli_option(reader.MEMBER))
    rounding: Rounding | None = field(default=None, metadata=cli_option(reader.ROUND))
    value_unit: float | None = field(default=None, metadata=cli_option(reader.UNIT))

    @property
    def opening(self) -> dict[str, Any]:
        """Options on how files are opened, by their names for all readers of tables."""
        return {
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "layer": self.layer,
            "header_row": self.header_row,
            "first_row": self.first_row,
            "last_row": self.last_row,
            "member": self.member,
            "scratch": self.scratch,
        }

    def require_uncounted(self) -> None:
        """Raise UsageError for options that say how counts are read, of rows without any."""
        others = (self.rounding, self.value_unit)
        summed = self.duplicates != "error"
        if self.missing or self.flags or summed or any(one is not None for one in others):
            raise UsageError(COUNTS_ONLY)
