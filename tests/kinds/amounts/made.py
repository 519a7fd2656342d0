"""Made-up records of amounts, for tests."""

import numpy as np
import pyarrow as pa

import geodp
from geodp.privacy.key import NoiseKey

GRID = geodp.Grid.regular((16, 16), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
KEY = NoiseKey(bytes(range(32)))
EDGES = (100, 200, 300, 500)
GIVEN = {
    "grid": GRID,
    "x": "x",
    "y": "y",
    "amount": "income",
    "clip": (0, 1000),
    "unit_of_amount": "10,000 yen",
    "contribution": 1,
    "epsilon": 1,
    # So small a grid has one level by default.
    "method": "pyramid:setting=R",
}


def incomes(n=20_000, seed=5):
    """Places and incomes of n persons, most of them in the south-west."""
    draw = np.random.default_rng(seed)
    x, y = 16 * draw.beta(1, 2, (2, n))
    return x, y, draw.lognormal(5.5, 0.7, n)


def rows(n=20_000, seed=5):
    """The same as a table."""
    x, y, income = incomes(n, seed)
    return pa.table({"id": np.arange(n), "x": x, "y": y, "income": income})


def truth(n=20_000, seed=5):
    """Records, sums of clipped incomes and records by class, by row and column."""
    x, y, income = incomes(n, seed)
    counted = np.minimum(np.floor(income + 0.5), 1000).astype(np.int64)
    at = (y.astype(int), x.astype(int))
    number, total = np.zeros((2, 16, 16), np.int64)
    classes = np.zeros((16, 16, len(EDGES) + 1), np.int64)
    np.add.at(number, at, 1)
    np.add.at(total, at, counted)
    np.add.at(classes, (*at, np.searchsorted(EDGES, counted, "right")), 1)
    return number, total, classes


def publish(data=None, **more):
    """Release them."""
    return geodp.amounts.publish(rows() if data is None else data, **(GIVEN | more))
