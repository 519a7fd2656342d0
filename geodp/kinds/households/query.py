"""SQL queries that count households by cell and size, to run where the records of persons are."""

from __future__ import annotations

from dataclasses import dataclass

from geodp.grid.codes.sql import ENGINES, SqlQuery
from geodp.kinds.households.inputs import DEFAULT_SIZE

HOUSEHOLDS = "geodp_households"
"""Column of counts of households."""

SIZE = "size"
"""Column of their size."""


@dataclass(frozen=True, kw_only=True)
class HouseholdQuery(SqlQuery):
    """A query that counts households by cell and size; ``person`` identifies the household.

    Attributes
    ----------
    max_size : int
        Most persons that are counted of a household.
    """

    max_size: int = DEFAULT_SIZE

    def write(self, engine: str) -> str:
        """Return the query for an engine, one of ``geodp.grid.codes.sql.ENGINES``.

        It fails where records of a household lie in two cells: none of them decides where it is.
        """
        at = ENGINES[engine]
        # The text depends on the row, so that it is not converted before there is such a row.
        fault = at.join(["'a household is in two cells: '", at.write("min(cell_row)")])
        # A conversion that fails stops the query, but for Spark, which makes it NULL.
        if engine == "spark":
            fault = f"raise_error({fault})"
        apart = "min(cell_row) <> max(cell_row) OR min(cell_col) <> max(cell_col)"
        size = (
            f"CASE WHEN {apart} THEN CAST({fault} AS {at.integer})"
            f" ELSE least(count(*), {self.max_size}) END"
        )
        counted = f"CAST(count(*) AS {at.integer}) AS {at.name(HOUSEHOLDS)}"
        columns = ", ".join([*self.codes(at), f"persons AS {at.name(SIZE)}", counted])
        return (
            f"{self.place(at)}, sized AS (\n"
            f"  SELECT min(cell_row) AS cell_row, min(cell_col) AS cell_col, {size} AS persons\n"
            f"  FROM placed\n  GROUP BY who\n)\n"
            f"SELECT {columns}\nFROM sized\nGROUP BY {self.cells_of}, persons"
        )
