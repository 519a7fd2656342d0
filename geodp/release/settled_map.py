"""Maps of towns, public ones, on which settlements of known sizes and surroundings are placed.

A clamp takes most from settlements that stand alone, and no release shows what it has lost: what
that is can be tried on such maps only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.release.simulation import SEED
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from geodp.typing import IntArray

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

FAR, FEWEST, MOST, ROOM = 16, 4, 256, 2800
"""Cells each way in which nobody lives around those that stand alone on a map of their own, so that
no lowest node of them has others; how many they are at least and at most; and cells of the domain
for each, of which it clears about half."""

DRAWN, TRIED = 1 << 13, 64
"""Places that are drawn in the domain, and how many are tried for a settlement."""


@dataclass(frozen=True, eq=False)
class SettledMap:
    """A public map, and its settlements: what kinds they are of and which cells they have.

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


def make_maps(grid: Grid, people: float, most: int) -> tuple[list[SettledMap], bool]:
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
    place = _draw_places(grid, random)
    beside = _lies_at_coast(grid, place)
    inhabited = grid.decode(towns.key)[:2].astype(np.int64).T if towns.key.size else place
    coast = place[beside] if beside.any() else place
    sites: dict[Surroundings, IntArray] = {ALONE: place, COASTAL: coast, INLAND: inhabited}
    maps, first, missing = list[SettledMap](), 0, set(range(len(KINDS)))
    while missing and len(maps) < most:
        kinds = [i % len(KINDS) for i in range(first, first + EACH * len(KINDS))]
        maps.append(_settle_map(towns, kinds, sites, not beside.any(), random))
        missing -= set(maps[-1].kinds)
        first = min(missing, default=0)
    return maps, bool(beside.any())


def place_isolated(towns: CountTable, least: int, random: np.random.Generator) -> SettledMap:
    """Return a map with settlements of all size classes, around which nobody else is left.

    Parameters
    ----------
    towns : CountTable
        Public, on one map without labels.
    least : int
        People of the smallest: one of ``SIZES``.
    random : Generator
    """
    grid = towns.grid
    kinds = [KINDS.index((size, ALONE)) for size in range(SIZES.index(least), len(SIZES) - 1)]
    number = int(np.clip(grid.domain.cells // ROOM, FEWEST, MOST))
    sites: dict[Surroundings, IntArray] = {ALONE: _draw_places(grid, random)}
    turns = [kinds[i % len(kinds)] for i in range(number)]
    return _settle_map(towns, turns, sites, False, random, FAR)


def _draw_places(grid: Grid, random: np.random.Generator) -> IntArray:
    """Return rows and columns of cells of the domain: int64[n, 2]."""
    rank = random.integers(grid.domain.cells, size=DRAWN)
    return grid.decode(grid.domain.keys_of_ranks(rank))[:2].astype(np.int64).T


def _lies_at_coast(grid: Grid, place: IntArray) -> NDArray[np.bool_]:
    """Return whether a cell beside each of some lies on the map and not in the domain: bool[n]."""
    found, shape = np.zeros(len(place), np.bool_), np.array(grid.shape)
    for step in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        other = place + step
        on_map = ((other >= 0) & (other < shape)).all(axis=1)
        some = np.flatnonzero(on_map)
        found[some] |= ~grid.contains(other[some].T)
    return found


def _settle_map(
    towns: CountTable,
    turns: Sequence[int],
    sites: dict[Surroundings, IntArray],
    clears_coast: bool,
    random: np.random.Generator,
    reach: int = EMPTY,
) -> SettledMap:
    """Return a map with settlements of kinds in turn, while there is room for the next one."""
    grid = towns.grid
    index = grid.decode(towns.key)[:2].astype(np.int64)
    kept = np.ones(towns.key.size, np.bool_)
    taken: list[IntArray] = []
    kinds, own, held, around = [], [], [], []
    for kind in turns:
        size, place = KINDS[kind]
        total = np.exp(random.uniform(*np.log(SIZES[size : size + 2])))
        number = max(1, round((total / 30) ** 0.8))
        cells = _find_room(grid, sites[place], taken, number, reach, random)
        if cells is None:
            break
        box = _box_of(cells, reach)
        taken.append(box)
        inside = ((index >= box[:1].T) & (index < box[1:].T)).all(axis=0)
        if place == COASTAL:
            side = random.integers(4)  # drawn in any case, so that the next draws are the same
            away = index[side % 2] - round(float(cells[side % 2].mean()))
            inside &= clears_coast & (away * (1 - 2 * (side // 2)) >= 0)
        if place != INLAND:
            kept &= ~inside
        weight = np.sort(random.lognormal(0, 1, cells.shape[1]))[::-1]
        kinds.append(kind)
        own.append(grid.encode(cells))
        held.append(np.maximum(np.rint(total * weight / weight.sum()), 1).astype(np.int64))
        around.append(_list_around(grid, cells))
    settled = np.concatenate(own)
    kept &= ~np.isin(towns.key, settled)
    key = np.concatenate([towns.key[kept], settled])
    count = np.concatenate([towns.count[kept], *held])
    return SettledMap(CountTable.from_keys(grid, key, count), kinds, own, around)


def _find_room(
    grid: Grid,
    sites: IntArray,
    taken: list[IntArray],
    number: int,
    reach: int,
    random: np.random.Generator,
) -> IntArray | None:
    """Return so many cells at one of some places whose surroundings nobody has yet: int64[2, n].

    None where there is no room at those that were tried.
    """
    others = np.array(taken, np.int64).reshape(-1, 2, 2)
    for site in sites[random.integers(len(sites), size=TRIED)]:
        cells = _settle(grid, site, number, random)
        box = _box_of(cells, reach)
        if ((others[:, 1] <= box[0]) | (others[:, 0] >= box[1])).any(axis=1).all():
            return cells
    return None


def _settle(grid: Grid, site: IntArray, number: int, random: np.random.Generator) -> IntArray:
    """Return cells of the domain nearest to a place, the nearest first: int64[2, n]."""
    place = np.indices((2 * WIDEST + 1,) * 2).reshape(2, -1) + site[:, None] - WIDEST
    place = place[:, grid.contains(place)]
    away = ((place - site[:, None]) ** 2).sum(axis=0) + 2 * random.random(place.shape[1])
    return np.asarray(place[:, np.argsort(away)[:number]], np.int64)


def _box_of(cells: IntArray, reach: int) -> IntArray:
    """Return first and past rows and columns of a settlement and of some cells around."""
    return np.array([cells.min(axis=1) - reach, cells.max(axis=1) + reach + 1], np.int64)


def _list_around(grid: Grid, own: IntArray) -> NDArray[np.uint64]:
    """Return the cells of the domain within ``AROUND`` each way of the least box of some."""
    low, high = own.min(axis=1) - AROUND, own.max(axis=1) + AROUND + 1
    place = np.indices(tuple(high - low)).reshape(2, -1) + low[:, None]
    return grid.encode(place[:, grid.contains(place)])
