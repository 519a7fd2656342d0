"""Flows between areal units by hour: how many trips are placed right, and in the right hour."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs.hours import HOURS, add_hours
from bench.inputs.trips import load_taxis
from bench.suites.flow_units import ENDS, between_units, draw_regions, lines, share_right
from bench.suites.flow_units import show as show
from bench.tables import excerpt, fill_saved, markdown
from geodp.grid.grid import Grid
from geodp.kinds.flows.zones import pairs_of, zones_of
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

TITLE = """\
Trips of taxis between made-up units of cells of 1 km, by made-up hours, at epsilon 1.
  right             per cent of the trips in the right pair of units and in the right hour, of the
                    true trips, or of the released ones where these are more
  all hours         the same without hours
  origins           per cent of the trips from the right unit in the right hour
  empty, missing    per cent of the released pairs by hour without a trip, and of those with trips
                    that are released as 0
  held, width       per cent of the 95 % intervals of flows between two sets of units in one hour
                    that hold the truth, and their median width"""

SAVED = Path(__file__).parents[1] / "results" / "flow_unit_hours.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "flows.md"
MARKS = ("<!-- bench:flow_unit_hours -->", "<!-- /bench:flow_unit_hours -->")

UNITS = (100, 250, 1000)
"""Random points around which cells are taken together."""

MOST = (1, 10)
"""Most trips of a person."""

SHOWN = (3, 8, 13, 18)
"""Hours in which intervals are measured."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--trials", type=int, default=2)


def measure(data: Path | None = None, trials: int = 2) -> dict[str, Any]:
    """Measure all ways to release flows by hour, by the number of units and the trips."""
    trips = add_hours(load_taxis(data))
    rows = [
        row
        for number in UNITS
        for most in MOST
        for row in measure_units(between_units(trips, number), most, trials)
    ]
    return {"settings": {"trials": trials}, "rows": rows}


def measure_units(true: CountTable, most: int, trials: int) -> Iterator[dict[str, Any]]:
    """Yield the mean figures of a table, by way."""
    keys = [NoiseKey(trial.to_bytes(32, "little")) for trial in range(trials)]
    for name, publish in WAYS.items():
        found = [compare(true, publish(true, most, key)) for key in keys]
        figures = {one: float(np.mean([each[one] for each in found])) for one in found[0]}
        held = cover(true, most, keys) if publish is by_hour else {"held": None, "width": None}
        yield {"units": true.grid.shape[1], "most trips": most, "method": name, **figures, **held}


def by_hour(true: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Release flows by hour."""
    made = geodp.flows.publish(true, contribution=most, epsilon=1, key=key).flows.table
    return CountTable.from_keys(true.grid, made.key, made.count)


def apart(true: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Release the flows of every hour apart, each with the whole budget: a trip has one hour."""
    index, made, counts = true.grid.decode(true.key), [], []
    for hour in range(HOURS):
        one = select_hour(true, hour)
        own = NoiseKey(bytes([hour]) + key.words().tobytes()[1:])
        found = geodp.flows.publish(one, contribution=most, epsilon=1, key=own).flows.table
        ends = one.grid.decode(found.key)
        made.append(np.concatenate([ends, np.full((1, found.key.size), hour, index.dtype)]))
        counts.append(np.asarray(found.count, np.int64))
    return CountTable.from_index(true.grid, np.concatenate(made, 1), np.concatenate(counts))


WAYS: dict[str, Callable[[CountTable, int, NoiseKey], CountTable]] = {
    "geodp.flows by hour": by_hour,
    "flows of every hour apart": apart,
}
"""Ways to release flows by hour."""


def plain_pairs(true: CountTable) -> Grid:
    """Return the grid of pairs of the units of a table, without hours."""
    return pairs_of(zones_of(true.grid))


def select_hour(true: CountTable, hour: int) -> CountTable:
    """Return the trips of one hour, without hours."""
    index = true.grid.decode(true.key)
    some = index[4] == hour
    return CountTable.from_index(plain_pairs(true), index[:4, some], true.count[some])


def compare(true: CountTable, released: CountTable) -> dict[str, float]:
    """Compute all figures of one release."""
    whole, ends = plain_pairs(true), zones_of(true.grid)
    ends = ends.with_attribute("hour", true.grid.attributes[0].labels)
    figures = {"right": share_right(true, released)}
    for name, grid, axes in (("all hours", whole, [0, 1, 2, 3]), ("origins", ends, [0, 1, 4])):
        one, other = (
            CountTable.from_index(grid, each.grid.decode(each.key)[axes], each.count)
            for each in (true, released)
        )
        figures[name] = share_right(one, other)
    figures["empty"] = 100 * float(np.mean(true.counts_at(released.key) == 0))
    figures["missing"] = 100 * float(np.mean(released.counts_at(true.key) == 0))
    return figures


def cover(true: CountTable, most: int, keys: list[NoiseKey]) -> dict[str, float]:
    """Return how often intervals of flows in one hour hold the truth, and their median width."""
    held, widths = [], []
    for trial, key in enumerate(keys):
        made = geodp.flows.publish(true, contribution=most, epsilon=1, key=key)
        draw = np.random.default_rng(trial)
        for hour in SHOWN:
            regions, counts = draw_regions(select_hour(true, hour), draw)
            found = made.estimate_all(regions, labels={"hour": hour})
            for one, count in zip(found, counts, strict=True):
                held.append(one.low <= count <= one.high)
                widths.append(one.high - one.low)
    return {"held": 100 * float(np.mean(held)), "width": float(np.median(widths))}


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table."""
    return markdown(
        excerpt(lines(result), {"units": ENDS}, ["origins", "empty", "missing", "width"])
    )
