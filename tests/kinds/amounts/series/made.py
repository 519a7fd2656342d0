"""Made-up records of two and three years, for tests."""

import numpy as np
import pyarrow as pa

import geodp
from tests.kinds.amounts.made import GIVEN, incomes

TIMES = ("2015", "2020")
READ = {name: GIVEN[name] for name in ("grid", "x", "y", "amount", "clip", "unit_of_amount")}
TERMS = {name: GIVEN[name] for name in ("contribution", "epsilon", "method")}


def rows(year=0, n=8000):
    """Persons of a year, whose incomes grow by a tenth a year."""
    x, y, income = incomes(n, seed=5 + year)
    income = income * 1.1**year
    return pa.table({"id": np.arange(n), "x": x, "y": y, "income": income})


def table(year=0, n=8000, **more):
    """Read them."""
    return geodp.amounts.read_records(rows(year, n), **(READ | more))


def tables(number=2, **more):
    """Read several years."""
    return [table(year, **more) for year in range(number)]


def publish(given=None, times=TIMES, **more):
    """Release two years."""
    given = tables() if given is None else given
    return geodp.amounts.publish_series(given, times=times, **(TERMS | {"person": "all"} | more))


def arrays(release):
    """All numbers of a release, for comparisons."""
    parts = [release.count.table, *release.classes]
    parts += [] if release.sum is None else [release.sum.table]
    return [one.to_dense() for one in parts]


def same(one, other):
    """Whether two releases have the same numbers."""
    return all(np.array_equal(a, b) for a, b in zip(arrays(one), arrays(other), strict=True))
