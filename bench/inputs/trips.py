"""Trips between zones to measure on: public ones of taxis, and made-up ones of persons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs.public import load

Integers = NDArray[np.int64]

SHAPE = (47, 84)
"""Zones of 1 km of the taxis' area: 94 x 168 cells of 500 m."""


def load_taxis(data: Path | None, *, mirrored: bool = False) -> geodp.CountTable:
    """Load trips of taxis between zones of 1 km; mirrored: their destinations point-mirrored."""
    cells = load("taxi", data)
    row, column, to_row, to_column = cells.grid.decode(cells.key) // 2
    if mirrored:
        to_row, to_column = SHAPE[0] - 1 - to_row, SHAPE[1] - 1 - to_column
    index = np.stack([row, column, to_row, to_column])
    return geodp.CountTable.from_index(geodp.Grid.regular(SHAPE).pairs(), index, cells.count)


@dataclass(frozen=True, eq=False)
class MadeTrips:
    """Trips of made-up persons, one a row.

    Attributes
    ----------
    grid : Grid
        The map of zones.
    person : int64[n]
    index : int64[4, n]
        Rows and columns of origins and destinations.
    """

    grid: geodp.Grid
    person: Integers
    index: Integers

    @property
    def table(self) -> geodp.CountTable:
        """All trips by pair of zones, with none dropped."""
        count = np.ones(self.person.size, np.int64)
        return geodp.CountTable.from_index(self.grid.pairs(), self.index, count)


def make_radiation(seed: int, persons: int, side: int = 48, hubs: int = 6) -> MadeTrips:
    """Make trips by the radiation law (Simini et al. 2012) and to hubs: no law of distance.

    Homes follow a rough surface; a person works where the radiation law says, has mean 7 trips,
    of which most are between home and work, and a fifth go to one of a few hubs.
    """
    draw = np.random.default_rng(seed)
    place = np.stack(np.unravel_index(np.arange(side * side), (side, side)))
    people = draw.lognormal(0, 1.6, side * side)
    centre = np.hypot(*(place - side / 2)) / side
    people *= np.exp(-4 * centre)
    law = radiate(people, place)
    home = draw.choice(people.size, persons, p=people / people.sum())
    # The inverse of each row's distribution, at a uniform number.
    reach = np.cumsum(law, axis=1)
    uniform = draw.random(persons) * reach[home, -1]
    work = (reach[home] < uniform[:, None]).sum(axis=1)
    hub = draw.choice(people.size, hubs, p=people / people.sum())
    trips = 1 + draw.negative_binomial(2, 0.25, persons)
    person = np.repeat(np.arange(persons), trips)
    order = np.arange(person.size) % 2 == 0
    origin = np.where(order, home[person], work[person])
    destination = np.where(order, work[person], home[person])
    away = draw.random(person.size) < 0.2
    destination = np.where(away, draw.choice(hub, person.size), destination)
    index = np.concatenate([place[:, origin], place[:, destination]])
    return MadeTrips(geodp.Grid.regular((side, side)), person, index)


def radiate(people: NDArray[np.float64], place: Integers) -> NDArray[np.float64]:
    """Compute the radiation law: the share of each zone's trips to every other: float64[n, n].

    Whoever lives in zone i goes to j with a chance of m n / ((m + s) (m + n + s)), where m and n
    are the people of both, and s those nearer to i than j is.
    """
    law = np.zeros((people.size, people.size))
    for i in range(people.size):
        away = np.hypot(*(place - place[:, [i]]))
        order = np.argsort(away, kind="stable")[1:]
        within = np.concatenate([[0.0], np.cumsum(people[order])[:-1]])
        m, n = people[i], people[order]
        law[i, order] = m * n / ((m + within) * (m + n + within))
    return law


def make_commuters(seed: int, persons: int = 3_000, side: int = 32) -> MadeTrips:
    """Make trips of persons who always go between the same two zones, 1 to 19 times each.

    The distance to work is normal in both directions, with a deviation of five zones.
    """
    draw = np.random.default_rng(seed)
    home = draw.integers(0, side, (2, persons))
    work = home + np.rint(draw.normal(0, 5, (2, persons))).astype(np.int64)
    trips = draw.integers(1, 20, persons)
    index = np.concatenate([home, np.clip(work, 0, side - 1)])
    person = np.repeat(np.arange(persons), trips)
    return MadeTrips(geodp.Grid.regular((side, side)), person, index[:, person])


def make_concentrated(
    seed: int, partners: int, trips: int = 100_000, side: int = 32
) -> geodp.CountTable:
    """Make trips of which all from a zone go to one zone, or to a few, anywhere on the map.

    Zones are as large as a lognormal variable with a deviation of 1 says, and a zone's partners
    are drawn at random. No law of distance knows such flows.
    """
    draw = np.random.default_rng(seed)
    zones = side * side
    size = draw.lognormal(0, 1, zones)
    origin = draw.choice(zones, trips, p=size / size.sum())
    partner = draw.integers(0, zones, (zones, partners))
    destination = partner[origin, draw.integers(0, partners, trips)]
    index = np.concatenate([np.divmod(origin, side), np.divmod(destination, side)])
    grid = geodp.Grid.regular((side, side)).pairs()
    return geodp.CountTable.from_index(grid, index, np.ones(trips, np.int64))


def make_partners(seed: int, side: int = 40, trips: int = 200) -> geodp.CountTable:
    """Make trips from every zone to three others anywhere: 6, 3 and 1 of ten.

    A school, a works and a shuttle, say: few thick pairs, and no law of distance.
    """
    draw, zones = np.random.default_rng(seed), side * side
    origin = np.repeat(np.arange(zones), 3)
    partner = np.concatenate([draw.choice(zones, 3, replace=False) for _ in range(zones)])
    count = draw.multinomial(trips, (0.6, 0.3, 0.1), zones).ravel()
    index = np.concatenate([np.divmod(origin, side), np.divmod(partner, side)])[:, count > 0]
    pairs = geodp.Grid.regular((side, side)).pairs()
    return geodp.CountTable.from_index(pairs, index, count[count > 0])


def make_hubs(
    seed: int, shape: tuple[int, int] = (60, 40), persons: int = 12_000, trips: int = 90_000
) -> MadeTrips:
    """Make trips of persons of which half go to one hub, of four, and the rest stay near home."""
    draw = np.random.default_rng(seed)
    home = np.stack([draw.integers(0, size, persons) for size in shape])
    hubs = np.array([[12, 15, 40, 50], [10, 31, 20, 8]])[:, draw.integers(0, 4, persons)]
    person = draw.integers(0, persons, trips)
    near = home[:, person] + np.rint(draw.laplace(0, 2.5, (2, trips))).astype(np.int64)
    limit = np.array(shape)[:, None] - 1
    end = np.where(draw.random(trips) < 0.5, hubs[:, person], np.clip(near, 0, limit))
    return MadeTrips(geodp.Grid.regular(shape), person, np.concatenate([home[:, person], end]))


def make_day(seed: int, side: int = 40, trips: int = 20_000) -> geodp.CountTable:
    """Make few trips between many pairs, over distances of 2.5 zones on average."""
    draw = np.random.default_rng(seed)
    start = draw.integers(0, side, (2, trips))
    end = np.clip(start + np.rint(draw.laplace(0, 2.5, (2, trips))), 0, side - 1).astype(np.int64)
    pairs = geodp.Grid.regular((side, side)).pairs()
    index = np.concatenate([start, end])
    return geodp.CountTable.from_index(pairs, index, np.ones(trips, np.int64))


def load_flights(data: Path) -> geodp.CountTable:
    """Load a year of flights between airports of the contiguous US, in squares of one degree."""
    rows = np.genfromtxt(
        data / "flights-us" / "flights.csv",
        delimiter=",",
        names=True,
        usecols=("origin_lat", "origin_lon", "destination_lat", "destination_lon", "flights"),
    )
    shape, corner = (26, 59), (24, -125)
    index = np.stack(
        [
            np.floor(rows[f"{end}_{axis}"] - corner[axis == "lon"]).astype(np.int64)
            for end in ("origin", "destination")
            for axis in ("lat", "lon")
        ]
    )
    inside = ((index >= 0) & (index < np.array(shape * 2)[:, None])).all(axis=0)
    pairs = geodp.Grid.regular(shape).pairs()
    return geodp.CountTable.from_index(
        pairs, index[:, inside], rows["flights"][inside].astype(np.int64)
    )
