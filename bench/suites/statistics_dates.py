"""Intervals of statistics by a prior map of another date or place: how often they hold the truth.

Tables are quarters of tiles of GEOSTAT, a window of Hiroshima prefecture, and people staying in
Tokyo in January. A later map as prior counts as a date, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs import public
from bench.tables import paragraph
from geodp.features.statistics.estimate import (
    NOT_ESTIMABLE,
    PRIOR,
    estimate_statistics,
    square_kilometres,
)
from geodp.features.statistics.figures import list_figures

TUNED, CHECKED, ELSEWHERE = "tuned on", "checked", "checked, another place"

SIDE = 256
"""Rows and columns of a quarter of a tile."""

WINDOW = (60, 40, 120, 180)
"""Rows and columns within Hiroshima prefecture: first ones and numbers."""

EPSILONS = ("0.05", "0.1", "0.3")

STATISTICS = (
    *("inhabited", "cells:1-19", "cells:20-99", "cells:100-499", "median", "gini"),
    *("urban-centres", "people-in-urban-centres", "urban-clusters", "people-in-urban-clusters"),
)

HIROSHIMA = {
    2010: "hiroshima-2010",
    2015: "hiroshima-2015-wide",
    2020: "hiroshima-2020",
}
"""Maps by year; all begin at the same corner."""


def list_pairs() -> list[tuple[str, str, str, float | None]]:
    """List the use of a pair, its map, its prior map, and the years between their dates."""
    pairs: list[tuple[str, str, str, float | None]] = []
    for tile, use in (("9-8", TUNED), ("7-5", CHECKED)):
        for quarter in range(4):
            early, late = (f"europe-{year}-{tile}/{quarter}" for year in (2011, 2018))
            pairs += [(use, late, early, 7), (use, early, late, 7)]
    for early, late in ((2010, 2015), (2015, 2020), (2010, 2020)):
        first, second = (f"{HIROSHIMA[year]}/window" for year in (early, late))
        pairs += [(CHECKED, second, first, late - early), (CHECKED, first, second, late - early)]
    for early, late, years in (("flow", "flow-2020", 1), ("flow", "flow-2021", 2)):
        pairs += [(CHECKED, late, early, years), (CHECKED, early, late, years)]
    for one, other in ((0, 1), (1, 0), (2, 3), (3, 2)):
        place, elsewhere = f"europe-2018-7-5/{one}", f"europe-2011-7-5/{other}"
        pairs.append((ELSEWHERE, place, elsewhere, None))
    pairs.append((ELSEWHERE, "kanto", "hiroshima-2010", None))
    return pairs


def load_part(name: str, data: Path | None) -> geodp.CountTable:
    """Load a map, the quarter of one that is named ``map/number``, or its ``map/window``."""
    whole, _, part = name.partition("/")
    source = public.load(whole, data)
    if not part:
        return source
    row, col, rows, cols = WINDOW
    if part != "window":
        row, col = (SIDE * one for one in divmod(int(part), 2))
        rows = cols = SIDE
    place = source.grid.places[0]
    wide, turn, west, lean, high, south = place.transform[:6]
    corner = (west + col * wide + row * turn, south + row * high + col * lean)
    transform = (wide, turn, corner[0], lean, high, corner[1])
    grid = geodp.Grid.regular((rows, cols), crs=place.crs, transform=transform)
    cells = source.to_dense()[row : row + rows, col : col + cols]
    return geodp.CountTable.from_dense(cells, grid)


def measure(data: Path | None, release_of: Any) -> list[dict[str, Any]]:
    """Measure a row for each pair, budget and statistic.

    Parameters
    ----------
    data : Path, optional
    release_of : callable
        Makes a release of a table by its budget and the number of a trial.
    """
    rows = []
    for use, name, prior, years in list_pairs():
        table, other = (load_part(one, data) for one in (name, prior))
        figures = list_figures(table.grid.domain.to_dense(), square_kilometres(table.grid))
        dense = np.asarray(table.to_dense(), np.float64)
        names = [one for one in STATISTICS if one in figures]
        for epsilon in EPSILONS:
            release = release_of(table, epsilon, 0)
            found, same_date = (
                estimate_statistics(release, names, prior=other, years=apart)
                for apart in (years, 0)
            )
            for one, unchanged in zip(found, same_date, strict=True):
                true = figures[one.name].of(dense)
                rows.append(
                    {
                        "use": use,
                        "map": name,
                        "prior": prior,
                        "epsilon": epsilon,
                        "statistic": one.name,
                        "true": true,
                        "low": one.low,
                        "high": one.high,
                        "basis": one.basis,
                        "holds": holds(one, true),
                        "holds_unchanged": holds(unchanged, true),
                    }
                )
    return rows


def holds(one: Any, true: float) -> bool | None:
    """Return whether an interval holds the true value; None without an interval."""
    return None if one.low is None else bool(one.low <= true <= one.high)


def lines(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Build a row for each use and statistic: intervals by the prior map that hold the truth."""
    found = []
    for use in (TUNED, CHECKED, ELSEWHERE):
        for name in STATISTICS:
            some = [row for row in rows if (row["use"], row["statistic"]) == (use, name)]
            told = [row for row in some if row["basis"] == PRIOR]
            reach = [50 * (row["high"] - row["low"]) / row["true"] for row in told if row["true"]]
            found.append(
                {
                    "maps": use,
                    "statistic": name,
                    "cases": len(some),
                    "not estimable": sum(row["basis"] == NOT_ESTIMABLE for row in some),
                    "by the prior map": len(told),
                    "hold": sum(row["holds"] for row in told),
                    "without changes": sum(bool(row["holds_unchanged"]) for row in told),
                    "half width, %": f"{np.median(reach):.1f}" if reach else "",
                }
            )
    return found


def counted(rows: Sequence[dict[str, Any]]) -> str:
    """Describe in sentences how many intervals hold the true value, by use and in all."""
    words = []
    for use in (TUNED, CHECKED, ELSEWHERE):
        told = [row for row in rows if row["use"] == use and row["basis"] == PRIOR]
        words.append(f"{use}: {sum(row['holds'] for row in told)} of {len(told)}")
    others = [row for row in rows if row["basis"] not in (PRIOR, NOT_ESTIMABLE)]
    return paragraph(
        f"Intervals by a prior map that hold the true value: {'; '.join(words)}. Of intervals on "
        f"another basis {sum(row['holds'] for row in others)} of {len(others)} do."
    )
