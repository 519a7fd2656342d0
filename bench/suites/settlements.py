"""What a release loses of settlements that stand alone, by their people and how far alone.

On a made-up map of Japan: its domain of 500 m cells, cut to land by name, needs no data.
"""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.suites.methods import names
from bench.suites.settlements_bound import find_least_lost
from bench.tables import fill_kept, markdown, table
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.read.public.land import cut_to_land
from geodp.mechanisms import mechanism
from geodp.privacy.budget import rational
from geodp.table.proxy import Proxy

TITLE = """\
Per cent by which settlements have fewer people than in truth: in their own cells, and, after the
stroke, with all around them within 2 km (with the standard error over settlements, where it is
kept). Nobody else lives within 4 km, or within 32 km.
  whole          the domain is that of the grid, sea and all
  land           it is land:japan
  settlements    the same, cut to inhabited cells and those beside them, as a public mask may be
  at best        what is lost at least, whoever does it: see settlements_bound"""

CLASSES = (100, 200, 500, 1_000, 3_000, 10_000, 30_000)
"""People of settlements: ends of size classes."""

ALONE = {"4 km": (9, 24), "32 km": (65, 4)}
"""Cells each way in which nobody else lives, and settlements of each size."""

PEOPLE = 126_000_000
AROUND = 4
SEED = 20150901
METHODS = ["pyramid", "pyramid:setting=islands"]
"""The default, for which what is lost at best is told too; and for lone settlements on Japan."""

SAVED = Path(__file__).parents[1] / "results" / "settlements.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uncertainty.md"
MARKS = ("<!-- bench:settlements -->", "<!-- /bench:settlements -->")

Counts = NDArray[np.int64]
Sums = NDArray[np.float64]
"""Of every settlement its people, those found in its own cells, and with all around: [3, n]."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options; their names are :func:`measure`'s."""
    parser.add_argument("--methods", type=names, default=METHODS, metavar="A;B")
    parser.add_argument("--epsilon", type=rational, nargs="+", default=[Fraction(1, 10)])
    parser.add_argument("--trials", type=int, default=4, help="releases of every map")
    parser.add_argument("--maps", type=int, default=6, help="that are made up")


def measure(methods: list[str], epsilon: list[Fraction], trials: int, maps: int) -> dict[str, Any]:
    """Losses by method, budget, domain and distance; kept ones of other versions stay."""
    whole = geodp.Grid.mesh("jis:half")
    land = cut_to_land(whole, "land:japan")
    hows = [(method, amount) for method in methods for amount in epsilon]
    found: dict[tuple[str, Fraction, str], list[Sums]] = {}
    for number in range(maps):
        people, label = plant(land, seed=SEED + number)
        cut = whole.with_mask(
            mask_of_blocks(whole, blocks_of_array(near(people > 0, 1)), "made-up settlements")
        )
        for method, amount in hows:
            for domain, grid in (("whole", whole), ("land", land), ("settlements", cut)):
                sums = find_sums(people, label, grid, (method, amount), trials)
                found.setdefault((method, amount, domain), []).append(sums)
    rows = [
        {"method": method, "version": mechanism(method).version}
        | {"epsilon": str(amount), "domain": domain, **row}
        for (method, amount, domain), every in found.items()
        for row in lost(every)
    ]
    now = {(row["method"], row["version"]) for row in rows}
    kept = json.loads(SAVED.read_text(encoding="utf-8"))["rows"] if SAVED.is_file() else []
    before = [
        row
        for row in kept
        if row["method"] in METHODS and (row["method"], row["version"]) not in now
    ]
    best = [
        {"method": method, "version": mechanism(method).version, "epsilon": str(amount)}
        | {"domain": "at best", "alone": "known"}
        | {
            size: [None, least]
            for size, least in find_least_lost(whole, method, amount, CLASSES, AROUND).items()
        }
        for method in METHODS[:1]
        if method in methods
        for amount in epsilon
    ]
    return {"rows": [*before, *rows, *best], "settings": {"trials": trials, "maps": maps}}


def plant(
    land: geodp.Grid, alone: dict[str, tuple[int, int]] = ALONE, seed: int = SEED
) -> tuple[Counts, Counts]:
    """People of every cell, and to which settlement it belongs: int64[rows, cols] each, 0: to none.

    Towns are made up all over the land; around places that are drawn in it nobody is left, and
    there are settlements of all sizes in turn, of about 30 people ** 0.2 a cell, log-normal.
    """
    proxy = Proxy.make_up(land, PEOPLE).table
    people = np.zeros(land.shape, np.int64)
    people[tuple(land.decode(proxy.key).astype(np.int64))] = proxy.count
    inside, label = land.domain.to_dense(), np.zeros(land.shape, np.int64)
    random, number, sizes = np.random.default_rng(seed), 0, len(CLASSES) - 1
    cells = np.argwhere(inside)
    for reach, each in sorted(alone.values(), reverse=True):
        wanted = number + each * sizes
        while number < wanted:
            row, col = cells[random.integers(len(cells))]
            window = tuple(slice(max(at - reach - 9, 0), at + reach + 10) for at in (row, col))
            if label[window].any():
                continue
            people[window] = 0
            number += 1
            size = number % sizes
            total = np.exp(random.uniform(*np.log(CLASSES[size : size + 2])))
            place = np.indices((19, 19)).reshape(2, -1).T + np.array([row - 9, col - 9])
            place = place[land.contains(place.T)]
            away = ((place - (row, col)) ** 2).sum(axis=1) + 2 * random.random(len(place))
            place = place[np.argsort(away)[: max(1, round((total / 30) ** 0.8))]]
            weight = np.sort(random.lognormal(0, 1, len(place)))[::-1]
            held = np.maximum(np.rint(total * weight / weight.sum()), 1).astype(np.int64)
            people[tuple(place.T)], label[tuple(place.T)] = held, number
    return people, label


def near(some: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Return cells within a number of cells each way of some: bool[rows, cols]."""
    wide = np.pad(some, reach)
    across = np.logical_or.reduce([np.roll(wide, i, 1) for i in range(-reach, reach + 1)])
    both = np.logical_or.reduce([np.roll(across, i, 0) for i in range(-reach, reach + 1)])
    return np.asarray(both[reach:-reach, reach:-reach], np.bool_)


def find_sums(
    people: Counts,
    label: Counts,
    grid: geodp.Grid,
    how: tuple[str, Fraction],
    trials: int,
) -> Sums:
    """Return people of settlements, and how many a method has of them, by a budget, on average."""
    table, number = geodp.CountTable.from_dense(people, grid), int(label.max())
    place = np.array(np.nonzero(label))
    which = label[tuple(place)]
    boxes = []
    for one in range(1, number + 1):
        own = place[:, which == one]
        ends = zip(own.min(axis=1) - AROUND, own.max(axis=1) + AROUND + 1, strict=True)
        boxes.append(tuple(slice(max(low, 0), high) for low, high in ends))
    sums = np.zeros((3, number))
    sums[0] = [people[box][label[box] > 0].sum() for box in boxes]
    for trial in range(trials):
        noise = geodp.NoiseKey(trial.to_bytes(32, "little"))
        release = geodp.publish(table, method=how[0], epsilon=how[1], contribution=1, key=noise)
        found = release.table.to_dense()
        sums[1] += [found[box][label[box] > 0].sum() / trials for box in boxes]
        sums[2] += [found[box].sum() / trials for box in boxes]
    return sums


def lost(every: list[Sums]) -> list[dict[str, Any]]:
    """Per cent that settlements of every size lose on some maps, for each distance.

    Of each three figures: in own cells, with all around, and the standard error of the latter.
    """
    rows, first, sizes = [], 0, len(CLASSES) - 1
    for name, (_, each) in sorted(ALONE.items(), key=lambda item: -item[1][0]):
        row: dict[str, Any] = {"alone": name}
        for size in range(sizes):
            some = [i for i in range(first, first + each * sizes) if (i + 1) % sizes == size]
            true, own, around = np.concatenate([sums[:, some] for sums in every], axis=1)
            error = np.std(around - true, ddof=1) * true.size**0.5
            kind = f"{CLASSES[size]:,}-{CLASSES[size + 1]:,}"
            less = [own.sum() - true.sum(), around.sum() - true.sum(), error]
            row[kind] = [100 * float(part / true.sum()) for part in less]
        rows.append(row)
        first += each * sizes
    return rows


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the document's table."""
    return [
        {name: _pair(*value) if isinstance(value, list) else value for name, value in row.items()}
        for row in result["rows"]
    ]


def _pair(own: float | None, around: float, error: float | None = None) -> str:
    """Return the figures of settlements; of a bound there is the second one only."""
    both = f"{'' if own is None else f'{own:.0f}'} / {around + 0.0:.1f}".strip()
    return both if error is None else f"{both} ± {error:.1f}"


def show(result: dict[str, Any]) -> str:
    """Sizes of settlements by method, budget, domain and distance."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Write the document's table from the kept figures, and return those."""
    return fill_kept(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
