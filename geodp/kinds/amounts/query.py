"""SQL queries that clip amounts, count them on the step, and bound persons where records are."""

from __future__ import annotations

from dataclasses import dataclass

from geodp.errors import UsageError
from geodp.grid.codes.sql import ENGINES, RECORDS, Engine, SqlQuery
from geodp.kinds.amounts.scale import Scale, show_number

MOST_PLACES = 8
"""Most decimals of the step: every engine multiplies amounts by so large a power of ten exactly."""

MOST_UNITS = 1 << 62
"""Beyond this, twice the span in units of the last decimal of the step is no 64-bit integer."""

DECIMAL = "DECIMAL(27, 9)"
"""Type of exact decimals, of every engine but BigQuery, whose NUMERIC has more digits."""

NO_NUMBERS = ("nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")
"""Texts of floats that are no amounts."""


@dataclass(frozen=True, kw_only=True)
class AmountQuery(SqlQuery):
    """A query that counts records by cell and clipped amount.

    Attributes
    ----------
    scale : Scale
        Its name is that of the column of amounts.
    records : int
        Most records that are kept of a person.
    """

    scale: Scale
    records: int = 1

    @property
    def extras(self) -> dict[str, str | None]:
        """Further columns that every record keeps, by their names in the query."""
        return {**super().extras, "amount": self.scale.name}

    @property
    def places(self) -> int:
        """Decimals of the step."""
        _, _, decimals = show_number(self.scale.step).partition(".")
        return len(decimals)

    def write(self, engine: str) -> str:
        """Return the query for an engine, one of ``geodp.grid.codes.sql.ENGINES``.

        It fails where an amount is missing, no number, or below 0 under a lower end of 0. Amounts
        are exact decimals of at most 9 places; of longer ones the engine rounds the tenth. The
        column has numbers: one of text fails, or is cast in ``table``, and so is one of floats of
        32 bits, whose decimals are not those that are written. Raises UsageError for a step that is
        no decimal, or too fine.
        """
        step = self.scale.step
        ten = 10**self.places
        if (
            "/" in show_number(step)
            or self.places > MOST_PLACES
            or 2 * ten * self.scale.span * step > MOST_UNITS
        ):
            raise UsageError(
                f"The query counts on steps with at most {MOST_PLACES} decimals, in at most 2**61 "
                "units of the last of them: choose another step.",
                code="amounts-sql-step",
            )
        at = ENGINES[engine]
        chosen = ["cell_row", "cell_col", *(["who"] if self.person else [])]
        chosen += ["came"] if self.by else []
        counted = f"CAST(count(*) AS {at.integer}) AS {at.name(RECORDS)}"
        columns = [*self.codes(at), f"{self._amount(at, ten)} AS {at.name(self.scale.name)}"]
        return (
            f"{self.place(at)}, counted AS (\n"
            f"  SELECT {', '.join(chosen)},\n    {self._steps(engine, at, ten)} AS steps\n"
            f"  FROM placed\n){self._keep(at)}\n"
            f"SELECT {', '.join([*columns, counted])}\nFROM kept\n"
            "GROUP BY cell_row, cell_col, steps"
        )

    def _steps(self, engine: str, at: Engine, ten: int) -> str:
        """Return the steps from the lower end to a clipped amount, to the nearest; halves go up."""
        kind = "NUMERIC" if engine == "bigquery" else DECIMAL
        lower, upper = (f"CAST('{show_number(end)}' AS {kind})" for end in self.scale.clip)
        unit = int(self.scale.step * ten)
        # Text depends on the row, so that it is not converted before there is such a row.
        fault = at.join(["'an amount is missing, no number or below 0: '", at.write("cell_row")])
        failed = f"CAST({fault} AS {at.integer})"
        if engine == "spark":
            failed = f"CAST(raise_error({fault}) AS {at.integer})"
        texts = ", ".join(f"'{text}'" for text in NO_NUMBERS)
        bad = f"amount IS NULL OR lower({at.write('amount')}) IN ({texts})"
        if self.scale.lower == 0:
            bad += " OR amount < 0"
        # Clipped first, as it is, so that every amount fits into a decimal.
        clipped = f"CAST(least(greatest(amount, {lower}), {upper}) AS {kind})"
        whole = at.floor(f"({clipped} - {lower}) * {2 * ten}")
        nearest = at.divide(f"({whole} + {unit})", 2 * unit)
        return f"CASE WHEN {bad} THEN {failed}\n    ELSE {nearest} END"

    def _amount(self, at: Engine, ten: int) -> str:
        """Return a clipped amount in plain digits: an integer, or text."""
        lower, _ = self.scale.clip
        unit = int(self.scale.step * ten)
        number = f"({int(lower * ten)} + steps * {unit})"
        if ten == 1:
            return number
        size = f"abs({number})"
        digits = f"lpad({at.write(at.remain(size, ten))}, {self.places}, '0')"
        sign = f"CASE WHEN {number} < 0 THEN '-' ELSE '' END"
        return at.join([sign, at.write(at.divide(size, ten)), "'.'", digits])

    def _keep(self, at: Engine) -> str:
        """Return the steps that keep so many records of each person, the first or random ones."""
        if self.person is None:
            return ", kept AS (\n  SELECT cell_row, cell_col, steps FROM counted\n)"
        # A separate column, as not every engine can order by a random expression.
        came = "came" if self.by else f"{at.random} AS came"
        columns = "cell_row, cell_col, steps"
        return (
            f", drawn AS (\n  SELECT who, {columns}, {came}\n  FROM counted\n), ranked AS (\n"
            f"  SELECT {columns}, row_number() OVER"
            f" (PARTITION BY who ORDER BY came, {columns}) AS place\n  FROM drawn\n), kept AS (\n"
            f"  SELECT {columns} FROM ranked WHERE place <= {self.records}\n)"
        )
