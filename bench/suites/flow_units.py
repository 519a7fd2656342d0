"""Flows between areal units: how many trips are placed right, and how often intervals hold."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

import geodp
from bench.inputs.trips import load_taxis
from bench.tables import excerpt, fill_saved, markdown, table
from geodp.grid.outlines import Outlines
from geodp.grid.units import grid_of_units
from geodp.kinds.flows.zones import pairs_of
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

TITLE = """\
Trips of taxis between made-up units of cells of 1 km, at epsilon 1. Intervals: of flows between two
sets of units around random ones."""

SAVED = Path(__file__).parents[1] / "results" / "flow_units.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "flows.md"
MARKS = ("<!-- bench:flow_units -->", "<!-- /bench:flow_units -->")

UNITS = (100, 250, 500, 1000)
"""Random points around which cells are taken together."""

MANY, FEW = {4: "2/5", 8: "1/10"}, {1: "2/5", 2: "1/4", 4: "1/10", 8: "1/20"}
"""Measured blocks, by side, and their shares: those of many trips of a person, and of few."""

MOST = (1, 10, 50)
"""Most trips of a person."""

REGIONS, LARGEST = 60, 12
"""Pairs of regions in a trial, and most units of one."""

CORNER, STEP = (113.75194, 22.447837), 0.01
"""West and south of the map, and about the side of a cell, in degrees."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--trials", type=int, default=2)


def measure(data: Path | None = None, trials: int = 2) -> dict[str, Any]:
    """Measure the trips placed right and intervals, by the number of units and the trips."""
    trips = load_taxis(data)
    rows = []
    for number in UNITS:
        true = between_units(trips, number)
        rows += [measure_one(true, most, trials) for most in MOST]
    return {"settings": {"trials": trials}, "rows": rows}


def measure_one(true: CountTable, most: int, trials: int) -> dict[str, Any]:
    """Return the mean figures of a table."""
    units = true.grid.shape[1]
    right: dict[str, list[float]] = {name: [] for name in ("right", "blocks", "single", "tree")}
    held, widths = [], []
    for trial in range(trials):
        key = NoiseKey(trial.to_bytes(32, "little"))
        spent: dict[str, Any] = {"contribution": most, "epsilon": 1, "key": key}
        made = geodp.flows.publish(true, **spent)
        right["right"].append(share_right(true, made.flows.table))
        for name, levels in (("blocks", MANY), ("single", FEW)):
            other = geodp.flows.publish(true, levels=levels, **spent)
            right[name].append(share_right(true, other.flows.table))
        right["tree"].append(share_right(true, geodp.publish(true, **spent).table))
        regions, counts = draw_regions(true, np.random.default_rng(trial))
        for one, count in zip(made.estimate_all(regions), counts, strict=True):
            held.append(one.low <= count <= one.high)
            widths.append(one.high - one.low)
    named = {
        "right": "right",
        "blocks": "right, blocks of 16",
        "single": "right, single units",
        "tree": "right, tree on pairs",
    }
    figures = {named[name]: float(np.mean(found)) for name, found in right.items()}
    first = {"units": units, "pairs": len(true), "most trips": most}
    return {
        **first,
        **figures,
        "held": 100 * float(np.mean(held)),
        "width": float(np.median(widths)),
    }


def between_units(trips: CountTable, number: int) -> CountTable:
    """Count trips between units of the cells that are closest to each of random points."""
    draw = np.random.default_rng(number)
    shape = np.array(trips.grid.shape[:2])
    # Half of them in the middle of the map: units of towns are small.
    points = draw.uniform(0, 1, (number, 2)) * shape
    points[: number // 2] = shape / 2 + draw.normal(0, 1, (number // 2, 2)) * shape / 5
    cell = np.indices(shape).reshape(2, -1).T
    away = ((cell[:, None] + 0.5 - points) ** 2).sum(axis=2)
    _, unit = np.unique(away.argmin(axis=1), return_inverse=True)
    shapes = [join_cells(cell[unit == one]) for one in range(int(unit.max()) + 1)]
    codes = np.array([f"{one:05d}" for one in draw.permutation(len(shapes))])
    outlines = Outlines.of(np.array(shapes, object), "EPSG:4326")
    grid = grid_of_units({"unit": codes}, "cells around random points", outlines)
    column = grid.names.find(codes)[1][unit].reshape(shape)
    index = trips.grid.decode(trips.key)
    ends = column[index[0], index[1]], column[index[2], index[3]]
    places = [np.zeros_like(ends[0]), ends[0], np.zeros_like(ends[0]), ends[1], *index[4:]]
    return CountTable.from_index(
        pairs_of(grid, trips.grid.attributes), np.stack(places), trips.count
    )


def join_cells(cells: NDArray[np.int64]) -> Any:
    """Return the outline of cells, whose rows and columns are int64[n, 2]."""
    south, west = (CORNER[::-1] + cells * STEP).T
    return shapely.union_all(shapely.box(west, south, west + STEP, south + STEP))


def share_right(true: CountTable, released: Any) -> float:
    """Return the trips in the right pair, in per cent of the true or the released ones."""
    right = np.minimum(released.counts_at(true.key), true.count).sum()
    return 100 * float(right) / max(int(true.count.sum()), int(released.count.sum()))


def draw_regions(
    true: CountTable, draw: np.random.Generator
) -> tuple[list[tuple[NDArray[np.int64], NDArray[np.int64]]], list[int]]:
    """Draw pairs of regions, which are units around one; return their true flows, too.

    Half of the pairs are chosen as trips are, half as pairs with trips are.
    """
    index, count = true.grid.decode(true.key)[[1, 3]], true.count
    hierarchy = true.grid.order.hierarchy  # type: ignore[attr-defined]  # of pairs of units
    point = hierarchy.outlines.inner_points
    picked = [draw.choice(count.size, REGIONS // 2, p=p) for p in (count / count.sum(), None)]
    regions, counts = [], []
    for pair in np.concatenate(picked).tolist():
        size = int(draw.integers(1, LARGEST + 1))
        near = [
            np.argsort(((point - point[unit]) ** 2).sum(axis=1), kind="stable")[:size]
            for unit in index[:, pair]
        ]
        inside = np.isin(index[0], near[0]) & np.isin(index[1], near[1])
        regions.append(tuple(np.stack([np.zeros_like(one), one]) for one in near))
        counts.append(int(count[inside].sum()))
    return regions, counts


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the lines of the table."""
    return list(result["rows"])


def show(result: dict[str, Any]) -> str:
    """Format the table."""
    return f"{result['settings']['trials']} trials\n\n{table(lines(result))}"


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


ENDS = (100, 492, 959)
"""Numbers of units that the document shows."""


def section(result: dict[str, Any]) -> str:
    """Format the document's table."""
    return markdown(
        excerpt(lines(result), {"units": ENDS}, ["pairs", "right, blocks of 16", "width"])
    )
