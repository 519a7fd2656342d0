"""Fields and statements that readers of trips, of stays and of records of places share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.read.rows.input_files import FilePath, TableSource
from geodp.io.read.rows.selecting import Value
from geodp.io.read.rows.survey import Survey
from geodp.io.read.rows.tally import Outside
from geodp.privacy.key import NoiseKey
from geodp.typing import KeyArray

Place: TypeAlias = str | tuple[str, str]
"""A column of codes; or a pair of columns: row and column on a grid that lies nowhere, otherwise y
and x, such as latitude and longitude."""

CRS_UNUSED = Rule(
    "flows-crs-unused",
    "There are no coordinates here, so that a CRS says nothing: leave it out (--points-crs, crs=).",
)

SEPARATOR = "\x1f"
"""Character between a person and a period."""

KEPT_FACT = (
    "that of each {unit} at most {trips:,} trips were kept in all, and at most {per_pair:,} "
    "between two zones, chosen by a hash of the {unit}'s own trips under a secret key"
)
"""Statement of a release on how its trips were bounded."""

WHERE_FACT = "that only rows with {} were read"
"""Statement on the selection of rows."""


@dataclass(frozen=True, kw_only=True)
class RowReader:
    """Reader of rows of persons; fields as those of :func:`geodp.flows.read_trips`."""

    grid: Grid
    person: str | None = None
    trips: int | None = None
    per_pair: int | None = None
    unit: str | None = None
    time: str | None = None
    time_zone: str | None = None
    crs: str | None = None
    where: Mapping[str, Value] = field(default_factory=dict)
    outside: Outside | None = None
    key: NoiseKey | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    memory: int | str | None = None
    scratch: FilePath | None = None

    def require_units(self) -> str:
        """Return the protected unit; UsageError for columns that do not go together."""
        raise NotImplementedError

    def list_units(self, paths: TableSource, survey: Survey) -> Iterator[tuple[pa.Array, KeyArray]]:
        """Yield units and pairs of their trips, in parts; all trips of a unit are in one part.

        ``paths``: rows of persons; ``survey``: notes what was read. Raises InputError for a row in
        another form.
        """
        raise NotImplementedError

    def state_units(self) -> tuple[str, ...]:
        """State for the card how trips are made, and which rows were left out or refused."""
        raise NotImplementedError

    @property
    def memory_of_part(self) -> int:
        """Bytes for the rows, which wait by person; and as many for the pairs of their trips."""
        return max(bytes_of(self.memory) // 2, MIN_MEMORY)

    def state_where(self) -> list[str]:
        """State for the card which rows were selected; empty where all were read."""
        if not self.where:
            return []
        chosen = ", ".join(f"{name} = {value}" for name, value in self.where.items())
        return [WHERE_FACT.format(chosen)]

    def state_zone(self) -> str:
        """Name for the card the zone of the periods."""
        return self.time_zone or "local time, as the times say it"
