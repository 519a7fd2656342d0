"""Losses of isolated settlements, by their people and by their distance from others.

The map is synthetic: Japan's domain of 500 m cells, cut to land by name, needs no data.
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
from bench.suites.settlements_bound import find_min_loss
from bench.tables import excerpt, fill_saved, markdown, table
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.read.public.land import cut_to_land
from geodp.mechanisms import mechanism
from geodp.privacy.loss import rational
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

DISTANCES = {"4 km": (9, 24), "32 km": (65, 4)}
"""Cells each way without other people, and number of settlements of each size."""

PEOPLE = 126_000_000
AROUND = 4
SEED = 20150901
METHODS = ["pyramid", "pyramid:setting=islands"]
"""The default, for which the smallest possible loss is shown too; and isolated settlements."""

SAVED = Path(__file__).parents[1] / "results" / "settlements.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uncertainty.md"
MARKS = ("<!-- bench:settlements -->", "<!-- /bench:settlements -->")

Counts = NDArray[np.int64]
Sums = NDArray[np.float64]
"""For every settlement its people, those released in its cells, and with the surroundings: [3, n].
"""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--methods", type=names, default=METHODS, metavar="A;B")
    parser.add_argument("--epsilon", type=rational, nargs="+", default=[Fraction(1, 10)])
    parser.add_argument("--trials", type=int, default=4, help="releases of every map")
    parser.add_argument("--maps", type=int, default=6, help="that are made up")


def measure(methods: list[str], epsilon: list[Fraction], trials: int, maps: int) -> dict[str, Any]:
    """Measure losses by method, budget, domain and distance; saved rows of other versions stay."""
    full = geodp.Grid.mesh("jis:half")
    land = cut_to_land(full, "land:japan")
    combinations = [(method, amount) for method in methods for amount in epsilon]
    sums_of: dict[tuple[str, Fraction, str], list[Sums]] = {}
    for number in range(maps):
        people, label = plant(land, seed=SEED + number)
        # The most favourable public mask: it excludes all cells far from people.
        cut = full.with_mask(
            mask_of_blocks(full, blocks_of_array(near(people > 0, 1)), "made-up settlements")
        )
        for method, amount in combinations:
            for domain, grid in (("whole", full), ("land", land), ("settlements", cut)):
                sums = find_sums(people, label, grid, (method, amount), trials)
                sums_of.setdefault((method, amount, domain), []).append(sums)
    rows = [
        {"method": method, "version": mechanism(method).version}
        | {"epsilon": str(amount), "domain": domain, **row}
        for (method, amount, domain), map_sums in sums_of.items()
        for row in lost(map_sums)
    ]
    # Rows of other versions are kept, so that the document can show the change.
    now = {(row["method"], row["version"]) for row in rows}
    saved = json.loads(SAVED.read_text(encoding="utf-8"))["rows"] if SAVED.is_file() else []
    before = [
        row
        for row in saved
        if row["method"] in METHODS and (row["method"], row["version"]) not in now
    ]
    best = [
        {"method": method, "version": mechanism(method).version, "epsilon": str(amount)}
        | {"domain": "at best", "alone": "known"}
        | {
            size: [None, loss]
            for size, loss in find_min_loss(full, method, amount, CLASSES, AROUND).items()
        }
        for method in METHODS[:1]
        if method in methods
        for amount in epsilon
    ]
    return {"rows": [*before, *rows, *best], "settings": {"trials": trials, "maps": maps}}


def plant(
    land: geodp.Grid, distances: dict[str, tuple[int, int]] = DISTANCES, seed: int = SEED
) -> tuple[Counts, Counts]:
    """Generate people of every cell, and the settlement of each: int64[rows, cols] each, 0: none.

    Towns are spread over the land; places that are drawn in it are emptied, and get settlements of
    all sizes one after another, of about 30 people ** 0.2 a cell, log-normal.
    """
    proxy = Proxy.make_up(land, PEOPLE).table
    people = np.zeros(land.shape, np.int64)
    people[tuple(land.decode(proxy.key).astype(np.int64))] = proxy.count
    inside, label = land.domain.to_dense(), np.zeros(land.shape, np.int64)
    random, number, sizes = np.random.default_rng(seed), 0, len(CLASSES) - 1
    cells = np.argwhere(inside)
    for reach, each in sorted(distances.values(), reverse=True):
        wanted = number + each * sizes
        # Rejection: a place whose window overlaps an earlier settlement is drawn again.
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
    """Find cells within a number of cells each way of some: bool[rows, cols]."""
    wide = np.pad(some, reach)
    across = np.logical_or.reduce([np.roll(wide, i, 1) for i in range(-reach, reach + 1)])
    both = np.logical_or.reduce([np.roll(across, i, 0) for i in range(-reach, reach + 1)])
    return np.asarray(both[reach:-reach, reach:-reach], np.bool_)


def find_sums(
    people: Counts,
    label: Counts,
    grid: geodp.Grid,
    terms: tuple[str, Fraction],
    trials: int,
) -> Sums:
    """Count people of settlements, and on average those of a method's releases under a budget."""
    table, number = geodp.CountTable.from_dense(people, grid), int(label.max())
    place = np.array(np.nonzero(label))
    which = label[tuple(place)]
    boxes = []
    for settlement in range(1, number + 1):
        cells = place[:, which == settlement]
        ends = zip(cells.min(axis=1) - AROUND, cells.max(axis=1) + AROUND + 1, strict=True)
        boxes.append(tuple(slice(max(low, 0), high) for low, high in ends))
    sums = np.zeros((3, number))
    sums[0] = [people[box][label[box] > 0].sum() for box in boxes]
    for trial in range(trials):
        noise = geodp.NoiseKey(trial.to_bytes(32, "little"))
        release = geodp.publish(table, method=terms[0], epsilon=terms[1], contribution=1, key=noise)
        released = release.table.to_dense()
        sums[1] += [released[box][label[box] > 0].sum() / trials for box in boxes]
        sums[2] += [released[box].sum() / trials for box in boxes]
    return sums


def lost(every: list[Sums]) -> list[dict[str, Any]]:
    """Compute per cent that settlements of every size lose on some maps, for each distance.

    There are three figures: in their cells, with surroundings, and the latter's standard error.
    """
    rows, first, sizes = [], 0, len(CLASSES) - 1
    for name, (_, each) in sorted(DISTANCES.items(), key=lambda item: -item[1][0]):
        row: dict[str, Any] = {"alone": name}
        for size in range(sizes):
            chosen = [i for i in range(first, first + each * sizes) if (i + 1) % sizes == size]
            true, inside, around = np.concatenate([sums[:, chosen] for sums in every], axis=1)
            error = np.std(around - true, ddof=1) * true.size**0.5
            kind = f"{CLASSES[size]:,}-{CLASSES[size + 1]:,}"
            differences = [inside.sum() - true.sum(), around.sum() - true.sum(), error]
            row[kind] = [100 * float(part / true.sum()) for part in differences]
        rows.append(row)
        first += each * sizes
    return rows


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    return [
        {name: _pair(*value) if isinstance(value, list) else value for name, value in row.items()}
        for row in result["rows"]
    ]


def _pair(inside: float | None, around: float, error: float | None = None) -> str:
    """Format the figures of settlements; a bound has only the second one."""
    both = f"{'' if inside is None else f'{inside:.0f}'} / {around + 0.0:.1f}".strip()
    return both if error is None else f"{both} ± {error:.1f}"


def show(result: dict[str, Any]) -> str:
    """Format sizes of settlements by method, budget, domain and distance."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table: nobody else within 32 km, and the bound."""
    alone = {
        "version": [max(row["version"] for row in result["rows"])],
        "alone": ["32 km", "known"],
    }
    return markdown(excerpt(lines(result), alone, ["version", "epsilon", "alone"]))
