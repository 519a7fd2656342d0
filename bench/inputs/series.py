"""A public series to measure on: people staying in Tokyo, 36 months, on 2^14 cells of 1 km."""

from __future__ import annotations

from pathlib import Path

import geodp
from geodp.errors import UsageError

FILE = Path("jinryu", "tokyo_mdp_mesh1km_2019-2021.csv.gz")
WINDOW = (138.8, 35.4, 140.4, 36.4666666667)
YEARS, MONTHS = ("2019", "2020", "2021"), tuple(f"{month:02d}" for month in range(1, 13))


def load_months(folder: Path) -> tuple[list[str], list[geodp.CountTable]]:
    """Load the months and their tables: one type of day and one time of day.

    Raises UsageError where the file is missing.
    """
    if not (folder / FILE).exists():
        raise UsageError(f"There is no {FILE} below {folder} (--data).")
    grid = geodp.Grid.mesh("jis:basic", bounds=WINDOW)
    # One pass over the file reads all months, which are then told apart by their labels.
    both = grid.with_attribute("year", list(YEARS)).with_attribute("month", list(MONTHS))
    read = geodp.read_table(
        folder / FILE,
        grid=both,
        code="mesh1kmid",
        value="population",
        columns={"year": "year", "month": "month"},
        where={"dayflag": "1", "timezone": "0"},
        outside="crop",
    )
    row, col, year, month = both.decode(read.key)
    times, tables = [], []
    for number, year_name in enumerate(YEARS):
        for month_number, name in enumerate(MONTHS):
            here = (year == number) & (month == month_number)
            index = [row[here], col[here]]
            times.append(f"{year_name}-{name}")
            tables.append(geodp.CountTable.from_index(grid, index, read.count[here]))
    return times, tables
