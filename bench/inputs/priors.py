"""Priors of flows to measure with: an independent half of the trips, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

import geodp
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

Integers = NDArray[np.int64]

BLOCK = 4
"""Zones on a side of the blocks between which flows of another year differ."""

SURVEYED, EXPANDED = 0.1, 10
"""Share of the trips in a survey, and by how much each of them is expanded."""

RELEASED = NoiseKey(bytes([9]) * 32)
"""Key of the noise of a release that is a prior, with the epsilon of 1 and 10 trips of a person."""


def halve(trips: CountTable, seed: int = 1) -> tuple[CountTable, CountTable]:
    """Put every trip into one of two halves, as if they were of two periods."""
    count = np.asarray(trips.count, np.int64)
    first = np.random.default_rng(seed).binomial(count, 0.5)
    return _of(trips, first), _of(trips, count - first)


def change(trips: CountTable, spread: float, seed: int = 3) -> CountTable:
    """Make trips of another year: origins, destinations and pairs of blocks change by factors.

    Factors are lognormal, with the spread of their logarithms; trips are Poisson variables.
    """
    draw, rows = np.random.default_rng(seed), np.asarray(trips.grid.shape)
    index = trips.grid.decode(trips.key)
    blocks = -(-rows // BLOCK)
    factors = [draw.lognormal(0, spread, shape) for shape in (blocks, rows[:2], rows[2:])]
    changed = factors[0][tuple(index // BLOCK)]
    changed *= factors[1][tuple(index[:2])] * factors[2][tuple(index[2:])]
    return _of(trips, draw.poisson(np.asarray(trips.count) * changed))


def survey(trips: CountTable, seed: int = 4) -> CountTable:
    """Ask few of the travellers, and expand each of their trips to those of all."""
    draw = np.random.default_rng(seed)
    return _of(trips, EXPANDED * draw.binomial(np.asarray(trips.count, np.int64), SURVEYED))


def spread_evenly(trips: CountTable) -> CountTable:
    """Make one trip from every zone, and one to every zone: a prior that knows nothing."""
    rows, columns = trips.grid.shape[:2]
    place = np.indices((rows, columns)).reshape(2, -1)
    opposite = np.array([[rows - 1], [columns - 1]]) - place
    index = np.concatenate([place, opposite])
    return CountTable.from_index(trips.grid, index, np.ones(rows * columns, np.int64))


def make_priors(
    half: CountTable, mirrored: CountTable
) -> Mapping[str, CountTable | geodp.flows.Flows | None]:
    """Make priors by name; ``mirrored``: the half with its destinations mirrored."""
    release = geodp.flows.publish(half, epsilon=1, contribution=10, key=RELEASED)
    # A kept key is no secret, and flows with one are no prior: their numbers alone are.
    made = CountTable.from_keys(half.grid, release.flows.table.key, release.flows.table.count)
    return {
        "none": None,
        "the other half": half,
        "release of the other half": made,
        "a tenth of it, times 10": survey(half),
        "another year, factors of 1.2": change(half, 0.2),
        "another year, factors of 1.6": change(half, 0.5),
        "destinations mirrored": mirrored,
        "one trip from every zone": spread_evenly(half),
    }


def _of(trips: CountTable, count: Integers) -> CountTable:
    """Make a table of the pairs of another one."""
    return CountTable.from_keys(trips.grid, trips.key[count > 0], count[count > 0])
