"""SQL queries that bound the trips of persons and count them by pair, where the rows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from geodp.errors import UsageError
from geodp.grid.codes.sql import ENGINES, RECORDS, Engine, SqlQuery, SqlRecords
from geodp.kinds.flows.reading.labels import PER_PAIR_LABELS
from geodp.kinds.flows.reading.units import require_bounds
from geodp.privacy.key import NoiseKey, digest
from geodp.typing import IntArray

MOST_ZONES = 1 << 14
"""Most cells or codes in a list of a query: what Snowflake takes."""

RANKS = digest(b"geodp flows trips kept of a person in SQL 1")
"""Derives the secret of the ranks of trips in a query."""

HASHES = {
    "duckdb": "sha256({})",
    "spark": "sha2({}, 256)",
    "bigquery": "TO_HEX(SHA256({}))",
    "postgres": "encode(sha256(convert_to({}, 'UTF8')), 'hex')",
    "snowflake": "sha2({}, 256)",
}
"""Digest of a text in every engine, as hexadecimal digits."""


def draw_secret() -> str:
    """Draw a secret of the ranks of one query, from a fresh key that is forgotten."""
    with NoiseKey.generate() as key:
        return key.fingerprint(RANKS)


PERIOD = "trip_period"
"""Column of periods in the query."""

LABEL = "label_{}"
"""Column of a label in the query, by its number."""


@dataclass(frozen=True, kw_only=True)
class TripRecords(SqlRecords):
    """Trips of persons in a table.

    Attributes
    ----------
    period : str, optional
        Column of days, weeks or months, if a person in one of them is protected; trips without one
        are left out.
    labels : dict of str
        Columns of the labels of trips, by attribute.
    """

    period: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def extras(self) -> dict[str, str | None]:
        """Further columns that every trip keeps, by their names in the query; None: not there."""
        labels = zip(self.label_names, self.labels.values(), strict=True)
        return {"who": self.person, PERIOD: self.period, **dict(labels)}

    def select(
        self, at: Engine, located: Sequence[str], chosen: Sequence[str], inside: Sequence[str]
    ) -> str:
        """Return the steps from the trips to those in places, as of all records.

        Trips without a period are of many days, as those without a person are of many persons.
        """
        timed = [] if self.period is None else [f"{PERIOD} IS NOT NULL"]
        return super().select(at, located, chosen, [*inside, *timed])

    def choose(self, at: Engine) -> list[str]:
        """Return conditions on the places of trips, besides the bounds of the domain."""
        return []

    @property
    def label_names(self) -> list[str]:
        """Columns of labels in the query."""
        return [LABEL.format(number) for number in range(len(self.labels))]


@dataclass(frozen=True, kw_only=True)
class CodedTrips(TripRecords):
    """Trips with codes of zones in two columns.

    Attributes
    ----------
    zones : pair of str
        Columns of origins, and of destinations.
    known : tuple of str
        Codes of all zones, of which others are left out; default: any code is kept.
    """

    zones: tuple[str, str]
    known: tuple[str, ...] = ()

    def place(self, at: Engine) -> str:
        """Return the steps to trips with their codes: the last one is the table ``placed``."""
        ends = [end.strip() for end in self.cells_of.split(",")]
        codes = [
            f"{at.trim(at.name(column))} AS {end}"
            for end, column in zip(ends, self.zones, strict=True)
        ]
        # Not true of NULL either. A trip without a zone would take the place of another one.
        return self.select(at, codes, ends, [f"{end} <> ''" for end in ends])

    def choose(self, at: Engine) -> list[str]:
        """Return conditions on codes: those of zones, as programs may write them.

        Raises UsageError for codes with quotes, and more than every engine takes in a list.
        """
        if not self.known:
            return []
        texts = dict.fromkeys(text for code in self.known for text in _spell(code))
        if any("'" in text for text in texts):
            raise UsageError(
                "Codes of units with a quotation mark cannot be listed in a query: leave "
                "--units-source out, and trips of other zones in --table.",
                code="flows-sql-units-quoted",
            )
        _require_few(len(texts), "codes of units")
        codes = ", ".join(map(at.literal, texts))
        return [f"{end} IN ({codes})" for end in ("from_code", "to_code")]

    def codes(self, at: Engine) -> list[str]:
        """Return the columns of codes of zones."""
        return [f"from_code AS {at.name('origin')}", f"to_code AS {at.name('destination')}"]

    @property
    def cells_of(self) -> str:
        """Names of the columns of both zones."""
        return "from_code, to_code"


@dataclass(frozen=True, kw_only=True)
class LocatedTrips(TripRecords, SqlQuery):
    """Trips with coordinates of both ends.

    Attributes
    ----------
    mask : int64[2, n], optional
        Rows and columns in the extent of the cells that are zones; default: all.
    """

    mask: IntArray | None = None

    def choose(self, at: Engine) -> list[str]:
        """Return conditions on cells: those of the mask.

        Raises UsageError for more cells than every engine takes in a list.
        """
        if self.mask is None:
            return []
        _require_few(self.mask.shape[1], "cells of the mask")
        row0, col0, _, cols = self.extent
        # Columns of the extent are fewer than the factor, so that every cell has its own number.
        numbers = (self.mask[0] + row0) * cols + self.mask[1] + col0
        cells = ", ".join(map(str, numbers.tolist()))
        return [f"{end}cell_row * {cols} + {end}cell_col IN ({cells})" for end in self.ends]


def _spell(code: str) -> list[str]:
    """Return the texts of a code that geodp reads as this one, or refuses as damaged.

    Of whole numbers, as programs write these: with a zero after a point, and without the zeros in
    front. If the query left them out, nobody would be told.
    """
    if not (code.isascii() and code.isdecimal()):
        return [code]
    return [f"{one}{end}" for one in (code, code.lstrip("0") or "0") for end in ("", ".0")]


def _require_few(number: int, what: str) -> None:
    """Raise UsageError for more zones than every engine takes in a list."""
    if number > MOST_ZONES:
        raise UsageError(
            f"A query lists at most {MOST_ZONES:,} zones, as not every engine takes more, and here "
            f"are {number:,} {what}: take a smaller domain or larger zones, or leave trips of "
            "other places out in --table.",
            code="flows-sql-zones-many",
        )


@dataclass(frozen=True, kw_only=True)
class FlowQuery:
    """A query that keeps at most so many trips of each person, and counts them by pair of zones.

    Each trip has a rank, the digest of a secret, the person, the pair, and its number among the
    person's trips of this pair: so which are kept depends on the person's own rows and the secret
    alone, as where geodp reads the rows. Trips of other periods are those of other persons, and
    trips with other labels are of other pairs.

    Attributes
    ----------
    records : CodedTrips or LocatedTrips
        Trips of persons.
    trips, per_pair : int
        Most trips of a person, in all and between two zones.
    secret : str
        Plain letters and digits.
    """

    records: CodedTrips | LocatedTrips
    trips: int
    per_pair: int
    secret: str

    def __post_init__(self) -> None:
        require_bounds(self.trips, self.per_pair)
        located = self.records if isinstance(self.records, LocatedTrips) else None
        if self.records.person is None or (located is not None and located.to is None):
            raise UsageError(
                "The query bounds the trips of persons: name their column (--person), and those of "
                "both places.",
                code="flows-sql-columns",
            )
        if self.records.labels and self.per_pair < self.trips:
            raise UsageError(PER_PAIR_LABELS)

    def write(self, engine: str) -> str:
        """Return the query for an engine, one of ``geodp.grid.codes.sql.ENGINES``.

        Raises UsageError for names that cannot be quoted, and for a code system without SQL.
        """
        at = ENGINES[engine]
        where = "\n    AND ".join(self.records.choose(at))
        # Before trips are numbered: those of other places would take the place of these.
        placed = f"placed\n  WHERE {where}" if where else "placed"
        unit = "who" if self.records.period is None else f"who, {PERIOD}"
        pair = ", ".join([self.records.cells_of, *self.records.label_names])
        columns = [
            *self.records.codes(at),
            *(
                f"{name} AS {at.name(attribute)}"
                for name, attribute in zip(
                    self.records.label_names, self.records.labels, strict=True
                )
            ),
            f"CAST(count(*) AS {at.integer}) AS {at.name(RECORDS)}",
        ]
        return (
            f"{self.records.place(at)}, numbered AS (\n  SELECT {unit}, {pair},\n"
            f"    row_number() OVER (PARTITION BY {unit}, {pair} ORDER BY who) AS number\n"
            f"  FROM {placed}\n), drawn AS (\n  SELECT {unit}, {pair}, number,\n"
            f"    {self._rank(engine, at, f'{unit}, {pair}')} AS came\n  FROM numbered\n"
            f"), paired AS (\n"
            f"  SELECT {unit}, {pair}, number, came, row_number() OVER (\n"
            f"    PARTITION BY {unit}, {pair} ORDER BY came, number) AS of_pair\n  FROM drawn\n"
            f"), ranked AS (\n  SELECT {pair}, row_number() OVER (\n"
            f"    PARTITION BY {unit} ORDER BY came, {pair}, number) AS place\n"
            f"  FROM paired\n  WHERE of_pair <= {self.per_pair}\n), kept AS (\n"
            f"  SELECT {pair} FROM ranked WHERE place <= {self.trips}\n)\n"
            f"SELECT {', '.join(columns)}\nFROM kept\nGROUP BY {pair}"
        )

    def _rank(self, engine: str, at: Engine, columns: str) -> str:
        """Return the rank of a trip, which no other person's rows change."""
        parts = [f"'{self.secret}'"]
        for one in (*columns.split(", "), "number"):
            parts += ["' '", one if one == "who" else at.write(one)]
        return HASHES[engine].format(at.join(parts))
