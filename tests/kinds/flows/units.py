"""Areal units with outlines for tests of flows: unequal rectangles whose codes say nothing."""

import numpy as np
import pyarrow as pa
import shapely

import geodp
from geodp.grid.outlines import Outlines
from geodp.grid.units import add_other, grid_of_units
from geodp.kinds.flows.zones import pairs_of

WEST, SOUTH, STEP = 139.0, 35.0, 0.01
OTHER = "elsewhere"
"""Name of a zone of all other places."""


def make_units(rows=6, columns=7, seed=0, **levels):
    """A grid of units, and their codes by row and column; ``levels``: codes of larger units."""
    draw = np.random.default_rng(seed)
    # Rows and columns of unequal size.
    x, y = (np.cumsum(np.append(0, draw.integers(1, 4, n))) * STEP for n in (columns, rows))
    shapes = [
        shapely.box(WEST + x[j], SOUTH + y[i], WEST + x[j + 1], SOUTH + y[i + 1])
        for i in range(rows)
        for j in range(columns)
    ]
    codes = np.array([f"{code:03d}" for code in draw.permutation(rows * columns)])
    outlines = Outlines.of(np.array(shapes, object), "EPSG:4326")
    grid = grid_of_units({"unit": codes, **levels}, "made up", outlines)
    return grid, codes.reshape(rows, columns)


def list_codes(grid, columns=None):
    """Codes of the units of a grid, or of those in some columns."""
    columns = np.arange(grid.shape[1]) if columns is None else np.asarray(columns, np.int64)
    return grid.names.format(0, np.stack([0 * columns, columns])).tolist()


def with_other(plain, name=OTHER):
    """The same units, and one for all other places, which lies nowhere."""
    levels, source = add_other({"unit": np.array(list_codes(plain))}, "made up", name)
    shapes = np.append(plain.outlines.shapes, [None])
    return grid_of_units(levels, source, Outlines.of(shapes, plain.outlines.crs))


def middles(grid):
    """Longitude and latitude of a point in each unit, by column: float64[n, 2]."""
    return grid.outlines.inner_points


def unit_trips(grid, number=8000, seed=3, persons=600):
    """Trips of persons between near units, as rows of points and of codes."""
    draw, at = np.random.default_rng(seed), middles(grid)
    start = draw.integers(0, len(at), number)
    far = np.hypot(*(at[start][:, None] - at).transpose(2, 0, 1)) / STEP
    weight = np.cumsum(np.exp(-far / 2), axis=1)
    end = (weight < draw.random(number)[:, None] * weight[:, -1:]).sum(axis=1)
    codes = grid.names.format(0, np.stack([np.zeros(len(at), np.int64), np.arange(len(at))]))
    return {
        "id": [f"p{one}" for one in draw.integers(0, persons, number)],
        "oy": at[start, 1], "ox": at[start, 0], "dy": at[end, 1], "dx": at[end, 0],
        "o": codes[start], "d": codes[end],
    }  # fmt: skip


def unit_table(grid, number=8000, seed=3):
    """The table of pairs of these trips."""
    rows, pairs = unit_trips(grid, number, seed), pairs_of(grid)
    index = np.concatenate([grid.names.find(rows["o"]), grid.names.find(rows["d"])])
    return geodp.CountTable.from_index(pairs, index, np.ones(number, np.int64))


def other_rows(plain, number=4000, outside=400, seed=3):
    """Trips between units, of which the first begin and the next end in places outside."""
    made = {name: np.asarray(one) for name, one in unit_trips(plain, number, seed).items()}
    made["o"], made["d"] = made["o"].astype(object), made["d"].astype(object)
    for end, some in (("o", slice(0, outside)), ("d", slice(outside // 2, 2 * outside))):
        made[end][some] = "999"
        made[f"{end}x"][some], made[f"{end}y"][some] = 10.0, 50.0
    return pa.table({name: pa.array(one.tolist()) for name, one in made.items()})


def other_table(plain, seed=3):
    """The table of pairs of these trips, beside a zone of all other places."""
    table = geodp.flows.read_trips(
        other_rows(plain, 8000, 900, seed), grid=with_other(plain), other=OTHER,
        origin="o", destination="d",
    )  # fmt: skip
    return geodp.CountTable.from_keys(table.grid, table.key, table.count)
