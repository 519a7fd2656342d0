"""Small worlds of trips, for tests that enumerate what one person changes."""

import itertools

import numpy as np
import pyarrow as pa

import geodp

GRID = geodp.Grid.regular((2, 2))
PLACES = (0, 1, 3)
"""Zones of the worlds, by row and column one after the other."""

PAIRS = tuple(itertools.product(PLACES, repeat=2))


def persons(most=2):
    """All lists of at most so many trips of one person, each a pair of zones."""
    for number in range(most + 1):
        yield from itertools.combinations_with_replacement(PAIRS, number)


def rows_of(world):
    """Trips of a world, which lists each person's, as a table of rows."""
    rows = [(f"p{i}", *trip) for i, trips in enumerate(world) for trip in trips]
    columns = [[row[n] for row in rows] for n in range(3)]
    places = [np.array(column, np.int64) for column in columns[1:]]
    return pa.table(
        {
            "id": pa.array(columns[0], pa.string()),
            "oy": places[0] // 2,
            "ox": places[0] % 2,
            "dy": places[1] // 2,
            "dx": places[1] % 2,
        }
    )


WHERE = {"origin": ("oy", "ox"), "destination": ("dy", "dx"), "person": "id"}


def table_of(world, trips, key=None, grid=GRID, **more):
    """The table of pairs of a world, with each person's trips bounded."""
    return geodp.flows.read_trips(rows_of(world), grid=grid, **WHERE, trips=trips, key=key, **more)
