"""Bounding of trips by person: which are kept depends on the person's own trips and the key alone.

Each trip of a person gets a rank from the key, the person's name, the pair, and its number among
the person's trips of this pair. The lowest ranks are kept: a uniform sample of the person's trips,
unless those between two zones are bounded, too. So neither the order of rows nor trips of other
persons play a role, and a person more or less changes the kept trips by the person's own.
"""

from __future__ import annotations

from numbers import Integral
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.io.read.rows.persons import WEIGHTS, hash_names
from geodp.privacy.key import NoiseKey, Stream, blocks, digest
from geodp.typing import IntArray, KeyArray

TRIPS_MISSING = Rule(
    "flows-trips-missing",
    "Say how many trips of a person are kept (--trips N, trips=N). geodp flows plan shows what "
    "they cost.",
)

MOST_TRIPS = 10_000
"""Most trips that may be kept of one person: noise for more would hide every flow."""

RANKS = digest(b"geodp flows trips kept of a person 1")
"""Derives the key of the ranks of trips."""

NAMES = digest(b"geodp flows names of persons 1")
"""Derives the key of the weights that hash names."""


class TripBound:
    """Choice of at most ``trips`` trips of a person, and of at most ``per_pair`` between two zones.

    Parameters
    ----------
    trips, per_pair : int
    secret : NoiseKey or None
        Key of the ranks; None: a fresh one, which is forgotten.
    """

    def __init__(self, trips: int, per_pair: int, secret: NoiseKey | None = None) -> None:
        self._trips, self._per_pair = require_bounds(trips, per_pair)
        secret = NoiseKey.generate() if secret is None else secret
        with secret.derive(NAMES) as weights:
            lines = blocks(weights, Stream.SAMPLE, np.arange(WEIGHTS, dtype=np.uint64))
        self._weights = np.ascontiguousarray(lines[0])
        # Odd, so that different pairs, and different trips of one pair, have different addresses.
        self._factors = lines[1, :2] | np.uint64(1)
        self._ranks = secret.derive(RANKS)

    def keep(
        self, names: pa.Array, key: KeyArray, weight: IntArray | None = None
    ) -> NDArray[np.intp]:
        """Find the trips that are kept: their positions, int[m], in any order.

        Parameters
        ----------
        names : texts [n]
            Persons; all trips of each of them are here.
        key : uint64[n]
            Pairs of the trips.
        weight : int64[n], optional
            As how many each trip counts. Of the trips of one pair, any may be kept.
        """
        if not key.size:
            return np.empty(0, np.intp)
        encoded = names.dictionary_encode()
        person = encoded.indices.to_numpy().astype(np.int64)
        # Trips of one pair are numbered by their weights, so that the order of rows plays no role.
        order = np.lexsort((key, person) if weight is None else (weight, key, person))
        person, key = person[order], key[order]
        number = number_runs((person[1:] != person[:-1]) | (key[1:] != key[:-1])).astype(np.uint64)
        address = hash_names(encoded.dictionary, self._weights)[person]
        address = address + key * self._factors[0] + number * self._factors[1]
        rank = blocks(self._ranks, Stream.SAMPLE, address)[0]
        if self._per_pair < self._trips:
            # The lowest ranks of each pair: all trips of it are candidates, not its first ones.
            within = np.lexsort((rank, key, person))
            person, key, rank = person[within], key[within], rank[within]
            place = number_runs((person[1:] != person[:-1]) | (key[1:] != key[:-1]))
            some = place < self._per_pair
            person, rank, order = person[some], rank[some], order[within][some]
        # Stable: equal ranks, which practically never occur, stay in the order of pair and number.
        best = np.lexsort((rank, person))
        place = number_runs(person[best][1:] != person[best][:-1])
        return np.asarray(order[best[place < self._trips]], np.intp)


def trips_of_units(names: pa.Array, key: KeyArray, of_pair: int) -> IntArray:
    """Return the numbers of trips of all units that have any: int64[units].

    Parameters
    ----------
    names : texts [n]
        Units of trips; all trips of each are here.
    key : uint64[n]
        Pairs of the trips.
    of_pair : int
        Most trips of a unit between two zones that count.
    """
    person = names.dictionary_encode().indices.to_numpy().astype(np.int64)
    order = np.lexsort((key, person))
    person, key = person[order], key[order]
    new = np.append(True, (person[1:] != person[:-1]) | (key[1:] != key[:-1]))[: person.size]
    start = np.flatnonzero(new)
    found = np.zeros(person.size, np.int64)
    np.add.at(found, person[start], np.minimum(np.diff(np.append(start, person.size)), of_pair))
    return found[found > 0]


def number_runs(new: NDArray[np.bool_]) -> IntArray:
    """Count the items of each run from 0: int64[n + 1]; ``new``: where item i + 1 begins one."""
    starts = np.flatnonzero(np.append(True, new))
    size = new.size + 1
    return np.asarray(np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size))))


def require_bounds(trips: object, per_pair: object) -> tuple[int, int]:
    """Return both bounds; UsageError unless they are whole numbers from 1 on."""
    for name, value in (("trips", trips), ("per_pair", per_pair)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise UsageError(
                f"{name} must be a whole number of at least 1.", code="flows-bound-form"
            )
    most, of_pair = int(cast(int, trips)), int(cast(int, per_pair))
    if most > MOST_TRIPS:
        raise UsageError(
            f"trips must be at most {MOST_TRIPS:,}: the noise grows with it, and would hide every "
            "flow.",
            code="flows-trips-too-many",
        )
    return most, min(of_pair, most)
