"""Worlds of the same kinds from records of persons, for those that read such records."""

from __future__ import annotations

from dataclasses import replace

from tests.contract.kinds import CODES, GRID, KINDS, Kind, lines

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
    homes = [(code, 1 + n % 3) for code in CODES for n in range(15)]
    return lines(
        ("lon", "lat", "id"),
        *((*centre(code), f"h{n}") for n, (code, size) in enumerate(homes) for _ in range(size)),
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
