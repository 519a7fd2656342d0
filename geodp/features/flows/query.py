"""SQL queries that bound the trips of persons and count them by pair, where the rows are."""

from __future__ import annotations

from dataclasses import dataclass

from geodp.errors import UsageError
from geodp.features.flows.reading.bounding import require_bounds
from geodp.grid.codes.sql import ENGINES, RECORDS, Engine, SqlQuery
from geodp.privacy.key import NoiseKey, digest

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
    key = NoiseKey.generate()
    secret = key.fingerprint(RANKS)
    key.forget()
    return secret


@dataclass(frozen=True, kw_only=True)
class FlowQuery(SqlQuery):
    """A query that keeps at most so many trips of each person, and counts them by pair of zones.

    Each trip has a rank, the digest of a secret, the person, the pair, and its number among the
    person's trips of this pair: so which are kept depends on the person's own rows and the secret
    alone, as where geodp reads the rows.

    Attributes
    ----------
    trips, per_pair : int
        Most trips of a person, in all and between two zones.
    secret : str
        Plain letters and digits.
    """

    trips: int
    per_pair: int
    secret: str

    def __post_init__(self) -> None:
        require_bounds(self.trips, self.per_pair)
        if self.person is None or self.to is None:
            raise UsageError(
                "The query bounds the trips of persons: name their column (--person), and those of "
                "both places.",
                code="flows-sql-columns",
            )

    def write(self, engine: str) -> str:
        """Return the query for an engine, one of ``geodp.grid.codes.sql.ENGINES``.

        Raises UsageError for names that cannot be quoted, and for a code system without SQL.
        """
        at, cells = ENGINES[engine], self.cells_of
        counted = f"CAST(count(*) AS {at.integer}) AS {at.name(RECORDS)}"
        return (
            f"{self.place(at)}, numbered AS (\n  SELECT who, {cells},\n"
            f"    row_number() OVER (PARTITION BY who, {cells} ORDER BY who) AS number\n"
            f"  FROM placed\n), drawn AS (\n  SELECT who, {cells}, number,\n"
            f"    {self._rank(engine, at)} AS came\n  FROM numbered\n), paired AS (\n"
            f"  SELECT who, {cells}, number, came, row_number() OVER (\n"
            f"    PARTITION BY who, {cells} ORDER BY came, number) AS of_pair\n  FROM drawn\n"
            f"), ranked AS (\n  SELECT {cells}, row_number() OVER (\n"
            f"    PARTITION BY who ORDER BY came, {cells}, number) AS place\n"
            f"  FROM paired\n  WHERE of_pair <= {self.per_pair}\n), kept AS (\n"
            f"  SELECT {cells} FROM ranked WHERE place <= {self.trips}\n)\n"
            f"SELECT {', '.join([*self.codes(at), counted])}\nFROM kept\nGROUP BY {cells}"
        )

    def _rank(self, engine: str, at: Engine) -> str:
        """Return the rank of a trip, which no other person's rows change."""
        numbers = [at.write(one) for one in (*self.cells_of.split(", "), "number")]
        parts = [f"'{self.secret}'"]
        for one in ("who", *numbers):
            parts += ["' '", one]
        return HASHES[engine].format(at.join(parts))
