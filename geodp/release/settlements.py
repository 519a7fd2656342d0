"""What a release loses of settlements, by how many people they have and what lies around them.

A clamp takes most from settlements that stand alone, and a release cannot show what it has lost. So
settlements of all sizes are placed on a map of towns that is made up on the release's own domain,
and the method runs on that, under keys that everybody may know. Of the release nothing is used but
its domain, its method and how many people it has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.release.simulation import SEED, Simulation
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from geodp.table.stated.error import StatedSettlement, StatedSettlements

Whole = NDArray[np.int64]

SIZES = (100, 200, 500, 1_000, 3_000, 10_000, 30_000)
"""People of settlements: ends of size classes; the last one is stated without an end."""

Surroundings = Literal["alone", "coastal", "inland"]
ALONE: Final = "alone"
COASTAL: Final = "coastal"
INLAND: Final = "inland"
PLACES: tuple[Surroundings, ...] = (ALONE, COASTAL, INLAND)

KINDS = [(size, place) for size in range(len(SIZES) - 1) for place in PLACES]
"""Of settlements: number of the size class, and surroundings."""

EMPTY, AROUND = 8, 4
"""Cells each way in which nobody lives, and whose people count as well."""

WIDEST = 9
"""Cells each way of the largest settlement at most."""

EACH = 4
"""Settlements of every kind on one map, where there is room."""

LEAST = 4
"""Releases that have settlements of a kind, for it to be stated."""

DRAWN, TRIED = 1 << 13, 64
"""Places that are drawn in the domain, and how many are tried for a settlement."""


@dataclass(frozen=True, eq=False)
class _Map:
    """A made-up map, and its settlements: what kinds they are of and which cells they have.

    Attributes
    ----------
    table : CountTable
    kinds : list of int
        Numbers in ``KINDS``.
    own, around : list of uint64[n]
        Keys of their cells, and of all within ``AROUND``.
    """

    table: CountTable
    kinds: list[int]
    own: list[NDArray[np.uint64]] = field(repr=False)
    around: list[NDArray[np.uint64]] = field(repr=False)


def simulate_settlements(simulation: Simulation) -> StatedSettlements | None:
    """Return biases of settlements by size and surroundings; None but on one map without labels.

    Parameters
    ----------
    simulation : Simulation
        Of whose release the domain, the method and the sum of all counts are taken.
    """
    grid = simulation.table.grid
    if len(grid.places) != 1 or len(grid.shape) != 2:
        return None
    people = max(1.0, float(simulation.table.count.sum()))
    maps, by_coast = _make_maps(grid, people, simulation.releases // LEAST)
    found: list[list[tuple[float, float]]] = [[] for _ in KINDS]
    for trial in range(simulation.releases):
        one = maps[trial % len(maps)]
        released = simulation.release(one.table, trial)
        sums = np.zeros((len(KINDS), 3))
        for kind, own, around in zip(one.kinds, one.own, one.around, strict=True):
            true = one.table.counts_at(own).sum()
            off = released.counts_at(own).sum() - true
            near = released.counts_at(around).sum() - one.table.counts_at(around).sum()
            sums[kind] += true, off, near
        for kind in set(one.kinds):
            true, *off = sums[kind]
            found[kind].append((100 * off[0] / true, 100 * off[1] / true))
    rows = []
    for (size, place), some in zip(KINDS, found, strict=True):
        if len(some) < LEAST:  # too small a domain for it
            continue
        (own, near), spread = np.mean(some, axis=0), np.std(some, axis=0, ddof=1) / sqrt(len(some))
        last = None if size == len(SIZES) - 2 else SIZES[size + 1]
        ends = SIZES[size], last
        figures = (round(float(one), 2) for one in (own, spread[0], near, spread[1]))
        rows.append(StatedSettlement(*ends, place, *figures))
    return StatedSettlements(_say(people, by_coast, simulation.releases), tuple(rows))


def _say(people: float, by_coast: bool, releases: int) -> str:
    """Return what the figures mean."""
    coast = "cells outside the domain" if by_coast else "cells where nobody lives, all on one side,"
    return (
        "bias of settlements as released, in per cent of their people, with its simulation error: "
        f"of their own cells, and of all cells within {AROUND} each way. They are placed on a map "
        f"of towns made up on the domain, {people:,.10g} people, of whom {releases} releases are "
        f"simulated under public keys. {ALONE}: nobody else lives within {EMPTY} cells; {COASTAL}: "
        f"beside {coast} and towns as made up; {INLAND}: among inhabited cells. Each has about "
        f"(people / 30) ** 0.8 cells, and at most {SIZES[-1]:,} people"
    )


def _make_maps(grid: Grid, people: float, most: int) -> tuple[list[_Map], bool]:
    """Return maps that together have settlements of all kinds, and whether coasts are the domain's.

    Parameters
    ----------
    grid : Grid
    people : float
        Of the made-up towns.
    most : int
        Maps.
    """
    random, towns = np.random.default_rng(SEED), Proxy.make_up(grid, people).table
    index = grid.decode(grid.domain.keys_of_ranks(random.integers(grid.domain.cells, size=DRAWN)))
    place = index[:2].astype(np.int64).T
    beside = _lies_at_coast(grid, place)
    inhabited = grid.decode(towns.key)[:2].astype(np.int64).T if towns.key.size else place
    coast = place[beside] if beside.any() else place
    sites: dict[Surroundings, Whole] = {ALONE: place, COASTAL: coast, INLAND: inhabited}
    maps, first, missing = list[_Map](), 0, set(range(len(KINDS)))
    while missing and len(maps) < most:
        maps.append(_make_map(grid, towns, sites, not beside.any(), first, random))
        missing -= set(maps[-1].kinds)
        first = min(missing, default=0)
    return maps, bool(beside.any())


def _lies_at_coast(grid: Grid, place: Whole) -> NDArray[np.bool_]:
    """Return whether a cell beside each of some lies on the map and not in the domain: bool[n]."""
    found, shape = np.zeros(len(place), np.bool_), np.array(grid.shape)
    for step in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        other = place + step
        on_map = ((other >= 0) & (other < shape)).all(axis=1)
        some = np.flatnonzero(on_map)
        found[some] |= ~grid.contains(other[some].T)
    return found


def _make_map(
    grid: Grid,
    towns: CountTable,
    sites: dict[Surroundings, Whole],
    clears_coast: bool,
    first: int,
    random: np.random.Generator,
) -> _Map:
    """Return a map with settlements of all kinds in turn, while there is room for the next one."""
    index = grid.decode(towns.key)[:2].astype(np.int64)
    kept = np.ones(towns.key.size, np.bool_)
    taken: list[Whole] = []
    kinds, own, held, around = [], [], [], []
    for turn in range(first, first + EACH * len(KINDS)):
        size, place = KINDS[turn % len(KINDS)]
        total = np.exp(random.uniform(*np.log(SIZES[size : size + 2])))
        cells = _find_room(grid, sites[place], taken, max(1, round((total / 30) ** 0.8)), random)
        if cells is None:
            break
        box = _box_of(cells)
        taken.append(box)
        inside = ((index >= box[:1].T) & (index < box[1:].T)).all(axis=0)
        if place == COASTAL:
            side = random.integers(4)  # drawn in any case, so that the next draws are the same
            away = index[side % 2] - round(float(cells[side % 2].mean()))
            inside &= clears_coast & (away * (1 - 2 * (side // 2)) >= 0)
        if place != INLAND:
            kept &= ~inside
        weight = np.sort(random.lognormal(0, 1, cells.shape[1]))[::-1]
        kinds.append(turn % len(KINDS))
        own.append(grid.encode(cells))
        held.append(np.maximum(np.rint(total * weight / weight.sum()), 1).astype(np.int64))
        around.append(_list_around(grid, cells))
    settled = np.concatenate(own)
    kept &= ~np.isin(towns.key, settled)
    key = np.concatenate([towns.key[kept], settled])
    count = np.concatenate([towns.count[kept], *held])
    return _Map(CountTable.from_keys(grid, key, count), kinds, own, around)


def _find_room(
    grid: Grid, sites: Whole, taken: list[Whole], number: int, random: np.random.Generator
) -> Whole | None:
    """Return so many cells at one of some places whose surroundings nobody has yet: int64[2, n].

    None where there is no room at those that were tried.
    """
    others = np.array(taken, np.int64).reshape(-1, 2, 2)
    for site in sites[random.integers(len(sites), size=TRIED)]:
        cells = _settle(grid, site, number, random)
        box = _box_of(cells)
        if ((others[:, 1] <= box[0]) | (others[:, 0] >= box[1])).any(axis=1).all():
            return cells
    return None


def _settle(grid: Grid, site: Whole, number: int, random: np.random.Generator) -> Whole:
    """Return cells of the domain nearest to a place, the nearest first: int64[2, n]."""
    place = np.indices((2 * WIDEST + 1,) * 2).reshape(2, -1) + site[:, None] - WIDEST
    place = place[:, grid.contains(place)]
    away = ((place - site[:, None]) ** 2).sum(axis=0) + 2 * random.random(place.shape[1])
    return np.asarray(place[:, np.argsort(away)[:number]], np.int64)


def _box_of(cells: Whole) -> Whole:
    """Return first and past rows and columns of a settlement and of ``EMPTY`` cells around."""
    return np.array([cells.min(axis=1) - EMPTY, cells.max(axis=1) + EMPTY + 1], np.int64)


def _list_around(grid: Grid, own: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the cells of the domain within ``AROUND`` each way of the least box of some."""
    low, high = own.min(axis=1) - AROUND, own.max(axis=1) + AROUND + 1
    place = np.indices(tuple(high - low)).reshape(2, -1) + low[:, None]
    return grid.encode(place[:, grid.contains(place)])
