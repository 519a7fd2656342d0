"""A kind of one's own, which a package adds: employed persons among adults, in two years."""

import geodp
from tests.contract.kinds import OWN
from tests.golden.case import Golden
from tests.golden.worlds.maps import AT, CELLS, csv, number, square

YEARS = ("2020", "2025")
WORK = {
    f"{year}.csv": csv(
        "row,col,employed,adults",
        [(*at, number(i + n, 50), 50 + number(i + n, 40)) for i, at in enumerate(CELLS)],
    )
    for n, year in enumerate(YEARS)
}


def tables_of(given, year):
    """Return the confidential maps of a year by the names of their streams."""
    rows = given.table(f"{year}.csv")
    return {
        name: geodp.read_table(rows, grid=square(), value=name, **AT)
        for name in ("employed", "adults")
    }


def rates(given):
    return OWN.publish(tables_of(given, "2020"), contribution=1, **given.terms)


def rates_of_years(given):
    tables = [tables_of(given, year) for year in YEARS]
    return OWN.publish_series(tables, times=YEARS, person="all", contribution=1, **given.terms)


OF_ONES_OWN = [
    Golden("own", "kind of one's own", "", WORK, rates),
    Golden("own-rho", "kind of one's own", "", WORK, rates, "rho"),
    Golden("own-series", "kind of one's own", "", WORK, rates_of_years, "rho, delta"),
]
