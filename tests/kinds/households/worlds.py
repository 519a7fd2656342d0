"""Small worlds of households, for tests that enumerate what one person or household changes."""

import itertools

import numpy as np

import geodp

GRID = geodp.Grid.regular((2, 2))
LARGEST = 4


def worlds(households=3, sizes=range(LARGEST), places=(0, 3)):
    """All worlds of some households, each the pair of its cell and its size; 0: nobody."""
    for place in itertools.product(places, repeat=households):
        for size in itertools.product(sizes, repeat=households):
            yield tuple((c, s) for c, s in zip(place, size, strict=True) if s)


def one_person_more(world, places=(0, 1, 3)):
    """All worlds in which one more person lives: in a household of others, or in a new one."""
    for i, (place, size) in enumerate(world):
        yield (*world[:i], (place, size + 1), *world[i + 1 :])
    for place in places:
        yield (*world, (place, 1))


def one_household_more(world, sizes=range(1, LARGEST + 2), places=(0, 1, 3)):
    """All worlds with one more household."""
    for place, size in itertools.product(places, sizes):
        yield (*world, (place, size))


def two_tables(world, grid=GRID):
    """Persons and households of a world."""
    persons, homes = np.zeros((2, 4), np.int64)
    for place, size in world:
        persons[place] += size
        homes[place] += 1
    return tuple(
        geodp.CountTable.from_dense(one.reshape(grid.shape), grid) for one in (persons, homes)
    )


def by_size(world, grid=GRID, largest=LARGEST):
    """Households by size of a world; the last size stands for larger ones, too."""
    counts = np.zeros((4, largest), np.int64)
    for place, size in world:
        counts[place, min(size, largest) - 1] += 1
    labels = [*map(str, range(1, largest)), f"{largest}+"]
    sized = grid.with_attribute("size", labels)
    return geodp.CountTable.from_dense(counts.reshape(sized.shape), sized)
