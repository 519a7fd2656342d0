"""Measure biases of settlements in simulated releases.

Settlements of all sizes are placed on a synthetic map of towns on the release's own domain, and the
method runs on that map under public keys. Of the release, only its domain, its method and its
number of people are used. A clamp takes most from isolated settlements, no release shows what it
has lost, and only such maps measure it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.release.release import Release
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from geodp.table.stated.error import StatedSettlement, StatedSettlements
from geodp.typing import IntArray

SEED = 20150901

SIZES = (100, 200, 500, 1_000, 3_000, 10_000, 30_000)
"""Bounds of size classes of settlements, in people; the last class is stated without an end."""

Surroundings = Literal["alone", "coastal", "inland"]
ISOLATED: Final = "alone"
COASTAL: Final = "coastal"
INLAND: Final = "inland"
PLACES: tuple[Surroundings, ...] = (ISOLATED, COASTAL, INLAND)

SETTLEMENT_KINDS = [(size, place) for size in range(len(SIZES) - 1) for place in PLACES]
"""Kinds of settlements: index of the size class, and surroundings."""

EMPTY, AROUND = 8, 4
"""Cells in each direction that are empty, and whose people count as near the settlement."""

WIDEST = 9
"""Largest distance of a settlement's cells from its centre, in each direction."""

EACH = 4
"""Settlements of every kind on one map, if there is space."""

DRAWN, TRIED = 1 << 13, 64
"""Sites that are drawn in the domain, and how many of them are tried for a settlement."""


@dataclass(frozen=True, eq=False)
class SettlementMap:
    """A public map with the kinds and the cells of its settlements.

    Attributes
    ----------
    table : CountTable
    kinds : list of int
        Indices into ``SETTLEMENT_KINDS``, one for each settlement.
    cells, around : list of uint64[n]
        Keys of the cells of each settlement, and of all cells within ``AROUND`` of it.
    """

    table: CountTable
    kinds: list[int]
    cells: list[NDArray[np.uint64]] = field(repr=False)
    around: list[NDArray[np.uint64]] = field(repr=False)


def make_maps(grid: Grid, people: float, max_maps: int) -> tuple[list[SettlementMap], bool]:
    """Make maps that together have settlements of all kinds.

    Parameters
    ----------
    grid : Grid
    people : float
        Number of people in the synthetic towns.
    max_maps : int

    Returns
    -------
    list of SettlementMap
    bool
        Whether coasts are those of the domain; a domain without any gets coasts of empty cells.
    """
    random, towns = np.random.default_rng(SEED), Proxy.make_up(grid, people).table
    place = draw_places(grid, random)
    coastal = _lies_at_coast(grid, place)
    # Without a coast in the domain, the towns on one side of a settlement are removed instead.
    inhabited = grid.decode(towns.key)[:2].astype(np.int64).T if towns.key.size else place
    coast = place[coastal] if coastal.any() else place
    sites: dict[Surroundings, IntArray] = {ISOLATED: place, COASTAL: coast, INLAND: inhabited}
    maps, first, missing = list[SettlementMap](), 0, set(range(len(SETTLEMENT_KINDS)))
    while missing and len(maps) < max_maps:
        # Each map begins with a kind that is still missing: large settlements may not fit after the
        # others, but do so on a map where they come first.
        number = len(SETTLEMENT_KINDS)
        kinds = [i % number for i in range(first, first + EACH * number)]
        maps.append(place_settlements(towns, kinds, sites, not coastal.any(), random))
        missing -= set(maps[-1].kinds)
        first = min(missing, default=0)
    return maps, bool(coastal.any())


def draw_places(grid: Grid, random: np.random.Generator) -> IntArray:
    """Draw cells of the domain, as rows and columns: int64[n, 2]."""
    rank = random.integers(grid.domain.cells, size=DRAWN)
    return grid.decode(grid.domain.keys_of_ranks(rank))[:2].astype(np.int64).T


def _lies_at_coast(grid: Grid, place: IntArray) -> NDArray[np.bool_]:
    """Return whether a neighbour of each cell lies on the map but outside the domain: bool[n]."""
    at_coast, shape = np.zeros(len(place), np.bool_), np.array(grid.shape)
    for step in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        other = place + step
        on_map = ((other >= 0) & (other < shape)).all(axis=1)
        some = np.flatnonzero(on_map)
        at_coast[some] |= ~grid.contains(other[some].T)
    return at_coast


def place_settlements(
    towns: CountTable,
    sequence: Sequence[int],
    sites: dict[Surroundings, IntArray],
    clears_coast: bool,
    random: np.random.Generator,
    reach: int = EMPTY,
) -> SettlementMap:
    """Place settlements of the kinds in ``sequence`` one by one, until the next does not fit."""
    grid = towns.grid
    index = grid.decode(towns.key)[:2].astype(np.int64)
    remaining = np.ones(towns.key.size, np.bool_)
    taken: list[IntArray] = []
    kinds, cells, held, around = [], [], [], []
    for kind in sequence:
        size, place = SETTLEMENT_KINDS[kind]
        # People are log-uniform in the size class; area grows with them by the power 0.8, the
        # density that the card states.
        total = np.exp(random.uniform(*np.log(SIZES[size : size + 2])))
        number = max(1, round((total / 30) ** 0.8))
        site = _find_free_site(grid, sites[place], taken, number, reach, random)
        if site is None:
            break
        box = _box_of(site, reach)
        taken.append(box)
        inside = ((index >= box[:1].T) & (index < box[1:].T)).all(axis=0)
        if place == COASTAL:
            # Drawn even if it is not used, so that all further draws are the same on every domain.
            side = random.integers(4)
            away = index[side % 2] - round(float(site[side % 2].mean()))
            inside &= clears_coast & (away * (1 - 2 * (side // 2)) >= 0)
        if place != INLAND:
            remaining &= ~inside
        # The densest cell comes first, which is the one nearest to the centre.
        weight = np.sort(random.lognormal(0, 1, site.shape[1]))[::-1]
        kinds.append(kind)
        cells.append(grid.encode(site))
        held.append(np.maximum(np.rint(total * weight / weight.sum()), 1).astype(np.int64))
        around.append(_cells_around(grid, site))
    keys = np.concatenate(cells)
    remaining &= ~np.isin(towns.key, keys)
    key = np.concatenate([towns.key[remaining], keys])
    count = np.concatenate([towns.count[remaining], *held])
    return SettlementMap(CountTable.from_keys(grid, key, count), kinds, cells, around)


def _find_free_site(
    grid: Grid,
    sites: IntArray,
    taken: list[IntArray],
    number: int,
    reach: int,
    random: np.random.Generator,
) -> IntArray | None:
    """Find ``number`` cells at a site whose box of surroundings is free: int64[2, n].

    None if none of the sites that were tried is free.
    """
    others = np.array(taken, np.int64).reshape(-1, 2, 2)
    for site in sites[random.integers(len(sites), size=TRIED)]:
        cells = _nearest_cells(grid, site, number, random)
        box = _box_of(cells, reach)
        if ((others[:, 1] <= box[0]) | (others[:, 0] >= box[1])).any(axis=1).all():
            return cells
    return None


def _nearest_cells(
    grid: Grid, site: IntArray, number: int, random: np.random.Generator
) -> IntArray:
    """List the cells of the domain that are nearest to a site, the nearest first: int64[2, n]."""
    place = np.indices((2 * WIDEST + 1,) * 2).reshape(2, -1) + site[:, None] - WIDEST
    place = place[:, grid.contains(place)]
    # Noise in the distance, or all settlements of a size would have the same shape.
    away = ((place - site[:, None]) ** 2).sum(axis=0) + 2 * random.random(place.shape[1])
    return np.asarray(place[:, np.argsort(away)[:number]], np.int64)


def _box_of(cells: IntArray, reach: int) -> IntArray:
    """Compute first and past-the-last rows and columns of a settlement with its surroundings."""
    return np.array([cells.min(axis=1) - reach, cells.max(axis=1) + reach + 1], np.int64)


def _cells_around(grid: Grid, cells: IntArray) -> NDArray[np.uint64]:
    """List the cells of the domain within ``AROUND`` of the bounding box of cells: uint64[n]."""
    low, high = cells.min(axis=1) - AROUND, cells.max(axis=1) + AROUND + 1
    place = np.indices(tuple(high - low)).reshape(2, -1) + low[:, None]
    return grid.encode(place[:, grid.contains(place)])


FEWEST_OF_A_KIND = 4
"""Minimum number of releases with settlements of a kind for its bias to be stated."""


def measure_settlements(release: Release, releases: int) -> StatedSettlements | None:
    """Measure biases of settlements; None unless the grid is one map without labels.

    Of the release, only its domain, its method and its sum of all counts are used.
    """
    method, table = release.method, release.table
    assert isinstance(method, Mechanism)
    assert isinstance(table.event, Measurement)
    grid = table.grid
    if grid.plain_map is None:
        return None
    people = max(1.0, float(table.count.sum()))
    maps, by_coast = make_maps(grid, people, releases // FEWEST_OF_A_KIND)
    # For every kind, pairs of biases in per cent (own cells, surroundings), one for each release.
    biases: list[list[tuple[float, float]]] = [[] for _ in SETTLEMENT_KINDS]
    for trial in range(releases):
        one = maps[trial % len(maps)]
        digest = hashlib.sha256(f"geodp estimate, public, {trial}".encode()).digest()
        # The method would report progress of its own for every single run.
        with progress.silence():
            released = method.release(one.table, table.event, NoiseKey(digest))
        progress.advance()
        sums = np.zeros((len(SETTLEMENT_KINDS), 3))
        for kind, cells, around in zip(one.kinds, one.cells, one.around, strict=True):
            true = one.table.counts_at(cells).sum()
            off = released.counts_at(cells).sum() - true
            near = released.counts_at(around).sum() - one.table.counts_at(around).sum()
            sums[kind] += true, off, near
        for kind in set(one.kinds):
            true, *off = sums[kind]
            biases[kind].append((100 * off[0] / true, 100 * off[1] / true))
    rows = []
    for (size, place), some in zip(SETTLEMENT_KINDS, biases, strict=True):
        if len(some) < FEWEST_OF_A_KIND:  # the domain is too small for this kind
            continue
        (inside, near), spread = (
            np.mean(some, axis=0),
            np.std(some, axis=0, ddof=1) / sqrt(len(some)),
        )
        row = StatedSettlement(
            people=SIZES[size],
            below=None if size == len(SIZES) - 2 else SIZES[size + 1],
            surroundings=place,
            own=round(float(inside), 2),
            own_simulation_error=round(float(spread[0]), 2),
            near=round(float(near), 2),
            near_simulation_error=round(float(spread[1]), 2),
        )
        rows.append(row)
    return StatedSettlements(_describe(people, by_coast, releases), tuple(rows))


def _describe(people: float, by_coast: bool, releases: int) -> str:
    """Describe what the figures mean, for the card."""
    coast = "cells outside the domain" if by_coast else "cells where nobody lives, all on one side,"
    return (
        "bias of settlements as released, in per cent of their people, with its simulation error: "
        f"of their own cells, and of all cells within {AROUND} each way. They are placed on a map "
        f"of synthetic towns on the domain, {people:,.10g} people, of whom {releases} releases are "
        f"simulated under public keys. {ISOLATED}: nobody else lives within {EMPTY} cells; "
        f"{COASTAL}: next to {coast} and to synthetic towns; {INLAND}: among inhabited cells. Each "
        f"has about (people / 30) ** 0.8 cells, and at most {SIZES[-1]:,} people"
    )


MIN_RELEASES, MAX_RELEASES = 20, 10_000
"""Allowed numbers of simulated releases of each stand-in."""


def require_simulated(release: Release, releases: int) -> None:
    """Raise UsageError if cells of a release, or of an empty one like it, cannot be simulated."""
    if not MIN_RELEASES <= releases <= MAX_RELEASES:
        raise UsageError(
            f"The number of simulated releases is 0, or from {MIN_RELEASES} to {MAX_RELEASES:,}.",
            code="simulated-releases-range",
        )
    method = release.method
    central = isinstance(method, Mechanism) and isinstance(release.event, Measurement)
    if not central or not method.nonnegative or release.block_errors is None:
        raise UsageError(
            f"{method.name} clamps nothing, or has no standard errors of cells: leave out "
            "--simulate (simulate=).",
            code="simulated-nothing-clamped",
        )


def simulate_settlements(release: Release, releases: int) -> Release:
    """Add simulated biases of settlements, by size and surroundings, to a release.

    Parameters
    ----------
    release : Release
    releases : int
        Number of simulated releases; 0: return the release unchanged.

    Raises
    ------
    UsageError
        As for :func:`require_simulated`.
    """
    if not releases:
        return release
    require_simulated(release, releases)
    progress.begin("Simulating releases", releases, public=True)
    settlements = measure_settlements(release, releases)
    return replace(release, simulated=releases, settlements=settlements)
