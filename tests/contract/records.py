"""Worlds of the same kinds from records of persons, for those that read such records."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.contract.kinds import AMOUNT, BOUNDS, CODES, GRID, KINDS, Kind, lines
from tests.contract.kinds import RECORDS as RECORDS_SOLD

POINTS = ("--points", "--x", "lon", "--y", "lat")
PERSON = (*POINTS, "--person", "id")
EPSILON = ("--epsilon", "2")


def centre(code: str) -> tuple[str, str]:
    """Return longitude and latitude of the middle of a cell of the map."""
    row, col = map(int, code[-2:])
    return f"{139.5 + (col + 0.5) / 80:.6f}", f"{35.5 + (row + 0.5) / 120:.6f}"


def persons(more: int = 0) -> str:
    """Return records at points, one of each person."""
    places = [code for i, code in enumerate(CODES) for _ in range(20 + i + more)]
    return lines(
        ("lon", "lat", "id", "sex"),
        *((*centre(code), f"p{n}", "fm"[n % 2]) for n, code in enumerate(places)),
    )


def members() -> str:
    """Return records of persons with their household, of one to three persons."""
    homes = [
        (code, size)
        for i, code in enumerate(CODES)
        for size, many in enumerate((9 + i, 3, 2 + i % 3), 1)
        for _ in range(many)
    ]
    return lines(
        ("lon", "lat", "id"),
        *((*centre(code), f"h{n}") for n, (code, size) in enumerate(homes) for _ in range(size)),
    )


def sold(last: int) -> str:
    """Return amounts of persons at points: the first of those of the kinds of amounts."""
    return lines(
        ("lon", "lat", "id", "n"),
        *((*centre(code), f"p{n}", amount) for n, (code, amount) in enumerate(RECORDS_SOLD[:last])),
    )


def _made(name: str, **changes: object) -> Kind:
    given = {"amounts": (), "labels": (), "persons": ("id",), "in_python": None, "terms": EPSILON}
    return replace(KINDS[name], **given | {"places": ("lon", "lat")} | changes)


def _owned(name: str) -> Kind:
    kind = KINDS[name]
    files = {}
    for file, text in kind.files.items():
        header, *rows = text.splitlines()
        files[file] = lines((header, "id"), *((row, f"p{n}") for n, row in enumerate(rows)))
    options = (*kind.options, "--person", "id")
    return replace(kind, files=files, options=options, persons=("id",), in_python=None)


RECORDS: dict[str, Kind] = {
    "counts": _made("counts", files={"a.csv": persons()}, options=(*GRID, *PERSON)),
    "counts by label": _made(
        "counts by label", files={"a.csv": persons()}, labels=("sex",),
        options=(*GRID, *PERSON, "--by", "sex", "--labels", "sex=f,m"),
    ),
    "series": _made(
        "series", files={"a.csv": persons(), "b.csv": persons(5)},
        options=(*GRID, *PERSON, "--person-in", "all"),
    ),
    "households of persons": _made(
        "households of persons", files={"a.csv": members()},
        options=(*GRID, *POINTS, "--household", "id", "--protect", "person"),
        terms=(*EPSILON, "--contribution", "1"),
    ),
    "households by size": _made(
        "households by size", files={"a.csv": members()},
        options=(*GRID, *POINTS, "--household", "id", "--protect", "household"),
    ),
    "flows": KINDS["flows"],
    "amounts": _owned("amounts"),
    "series of amounts": _owned("series of amounts"),
    "selection": _made(
        "selection", files={"a.csv": persons()}, options=(*GRID, *PERSON, "--k", "3")
    ),
}  # fmt: skip
"""A kind that is not here reads no persons."""

ENGINE = ("--grid", "jis:basic", "--bounds", *map(str, BOUNDS), "--engine", "duckdb")
COUNTED = (*GRID, "--code", "code", "--value", "geodp_records")
SIZED = (
    *(*GRID, "--code", "code", "--by", "size", "--labels", "size=1,2,3,4,5,6,7"),
    *("--value", "geodp_households", "--protect"),
)
CLIPPED = AMOUNT[2:]
AT_POINTS = (*GRID, *PERSON, *CLIPPED)
BY_PERSON = (*ENGINE, "--person", "id")


@dataclass(frozen=True)
class Query:
    """A query that counts records where they are.

    Attributes
    ----------
    kind : Kind
        Reads these records itself.
    sql : tuple of str
        The command that prints the query, without the table.
    options : tuple of str
        How what the query gives is published.
    """

    kind: Kind
    sql: tuple[str, ...]
    options: tuple[str, ...]


def _amounts(name: str, files: dict[str, str], *more: str) -> Query:
    kind = replace(RECORDS[name], files=files, places=("lon", "lat"), options=(*AT_POINTS, *more))
    options = (*GRID, "--code", "code", *CLIPPED, "--value", "geodp_records", *more)
    return Query(kind, ("amounts", "sql", *BY_PERSON, *CLIPPED), options)


QUERIES: dict[str, Query] = {
    "counts": Query(RECORDS["counts"], ("sql", *BY_PERSON), COUNTED),
    "series": Query(RECORDS["series"], ("sql", *BY_PERSON), (*COUNTED, "--person-in", "all")),
    "households of persons": Query(
        RECORDS["households of persons"],
        ("households", "sql", *ENGINE, "--household", "id"),
        (*SIZED, "person"),
    ),
    "households by size": Query(
        RECORDS["households by size"],
        ("households", "sql", *ENGINE, "--household", "id"),
        (*SIZED, "household"),
    ),
    "flows": Query(
        RECORDS["flows"],
        ("flows", "sql", *BY_PERSON, "--from", "code", "--to", "to", "--trips", "1"),
        (*GRID, "--from", "origin", "--to", "destination", "--value", "geodp_records"),
    ),
    "amounts": _amounts("amounts", {"a.csv": sold(360)}, "--classes", "3,6"),
    "series of amounts": _amounts(
        "series of amounts", {"a.csv": sold(360), "b.csv": sold(330)}, "--person-in", "all"
    ),
    "selection": Query(RECORDS["selection"], ("sql", *BY_PERSON), (*COUNTED, "--k", "3")),
}
"""A kind that is not here has no query."""
