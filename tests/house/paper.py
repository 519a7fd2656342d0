"""``python -m tests.house.paper``: write the table of all methods in docs/proofs/paper.md anew."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import geodp
from geodp.accuracy.area_sums import areas_of
from geodp.mechanisms import Mechanism
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms

DOCUMENT = Path(__file__).parents[2] / "docs" / "proofs" / "paper.md"
BEGIN, END = "<!-- methods -->", "<!-- /methods -->"
SMALL = geodp.Grid.mesh("inspire:10km", bounds=(4000000, 3000000, 4160000, 3160000))
HUGE = geodp.Grid.regular((1 << 20, 1 << 20))
RELEASES = 20


def used(row: Mechanism, grid: geodp.Grid) -> geodp.Measurement:
    """What a release of small counts with much noise spends."""
    return row.event(grid, Terms.of(epsilon="1/50", contribution=1), "fixed")


def is_additive(row: Mechanism) -> bool:
    """Whether the 100 km squares of releases, in official order, are the sums of their cells."""
    official = SMALL.with_official_order()
    grid = SMALL if row.unsupported(official) else official
    people = np.zeros(SMALL.shape, int)
    people[3:9, 4:11] = 30
    table = geodp.CountTable.from_dense(people, grid)
    for number in range(RELEASES):
        released = row.release(table, used(row, grid), NoiseKey(bytes([number]) * 32))
        key = official.encode(grid.decode(released.key))
        rank = np.argsort(key)
        again = geodp.ReleasedTable(official, key[rank], released.count[rank], released.event)
        (squares,) = [areas.table for areas in areas_of(again, None)]
        starts = range(0, SMALL.shape[0], 10)
        sums = np.add.reduceat(np.add.reduceat(released.to_dense(), starts, 0), starts, 1)
        if not np.allclose(squares.to_dense(), sums, rtol=1e-9, atol=1e-6):
            return False
    return True


def properties(row: Mechanism) -> list[str]:
    """What a method says of itself, in words."""
    yes = {True: "yes", False: "no"}
    dense = row.unsupported(HUGE) is not None
    return [
        f"`{row.name}`",
        yes[row.nonnegative],
        yes[is_additive(row)],
        yes[row.whole],
        "cells of the domain" if dense else "cells of the output",
        yes["sampled exactly" in row.noise],
        "data" if row.variances(SMALL, used(row, SMALL)) is None else "closed form",
    ]


def write_table() -> str:
    """Return the table of all methods, in Markdown."""
    head = [
        "method",
        "not negative",
        "additive",
        "whole",
        "cost grows with",
        "exact noise",
        "error",
    ]
    methods = [properties(geodp.METHODS[name]) for name in sorted(geodp.METHODS)]
    rows = [head, ["---"] * len(head), *methods]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    """Put the table between its marks."""
    text = DOCUMENT.read_text(encoding="utf-8")
    marks = re.compile(f"{BEGIN}.*{END}", re.DOTALL)
    DOCUMENT.write_text(marks.sub(f"{BEGIN}\n{write_table()}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
