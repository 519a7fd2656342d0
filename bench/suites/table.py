"""The whole table of a census in one release, beside releases of each column apart."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs.census import HIDDEN, MARGINS, REST, VARIABLES, CensusGrid, load_census
from bench.inputs.regions import draw_areas
from bench.measure.cost import forget_peak, peak
from bench.measure.errors import sums
from bench.tables import excerpt, fill, markdown, table
from geodp.grid.region import Region
from geodp.kinds.census.inputs import CensusTables
from geodp.privacy.key import NoiseKey
from geodp.typing import IntArray

TITLE = """\
Thirteen variables of Europe's census grid of 2021 in the German window, made to add up by the
nearest whole numbers. First mean absolute errors at rho 1/2 of inhabited cells, of squares of 16
cells a side and of municipalities, as one release and as thirteen, each with a thirteenth of the
budget; the ratio of both. Then how many 95 % intervals hold the truth, and in brackets their
median half width over the 95 % quantile of the errors. Then mean errors in per cent of how many
people truly are in a part of an area. Then what the office's table leaves open of the foreign-born
of a municipality. Last, processor time and memory beside releases of each column."""

SAVED = Path(__file__).parents[1] / "results" / "table.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "census.md"

DELTA = Fraction(1, 10**10)
RHO = Fraction(1, 2)
SEED, REGIONS = 20210101, 400
SQUARE = 16
SIDES, BOXES = (4, 12, 40), 150
"""Sides of rectangles whose intervals are measured, from half to one and a half of it."""

CLASSES = (1, 10, 100, 1000, 10_000)
"""Smallest numbers of people of the classes of parts of areas whose bias is measured."""

AREAS = (1, 4, 16)
"""Sides of squares whose bias is measured, in cells."""

FOREIGN = ("EU_OTH", "OTH")

Dense = dict[str, IntArray]
"""Counts of the map by variable: int64[rows, columns]."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--trials", type=int, default=3, help="releases; default: 3")
    parser.add_argument(
        "--copies", type=int, nargs="+", default=[1, 13],
        help="copies of the window whose cost is measured; default: 1 13",
    )  # fmt: skip


def measure(data: Path | None, trials: int, copies: list[int]) -> dict[str, Any]:
    """Measure errors, intervals, biases and cost."""
    source, hidden = load_census(data), load_census(data, [HIDDEN])
    tables = source.complete()
    truth = densify(tables.tables)
    grid, random = source.grid, np.random.default_rng(SEED)
    places = draw_areas(tables.tables["persons"], ("municipalities",), REGIONS, random)
    regions = [one for group in places.values() for one in group]
    made = [publish(tables, trial, rho=RHO, delta=DELTA) for trial in range(trials)]
    released = [
        densify({name: one.table for name, one in release.tables.items()}) for release in made
    ]
    broken = sum(not one.holds(each) for each in made for one in made[0].constraints)
    apart = [publish_apart(truth, grid, trial) for trial in range(trials)]
    settings = {
        "trials": trials, "cells": int(source.key.size), "people": int(truth["T"].sum()),
        "regions": len(regions), "broken": broken,
        "broken apart": float(np.mean([contradicts(one, truth["T"] > 0) for one in apart])),
    }  # fmt: skip
    return {
        "settings": settings,
        "errors": list_errors(truth, released, apart, regions, grid),
        "intervals": [
            row
            for name, amounts in BUDGETS.items()
            for row in cover(tables, truth, regions, name, amounts, trials)
        ],
        "bias": [*list_biases(truth, released)],
        "offices": [*compare_offices(source, hidden, truth, released, regions)],
        "cost": [measure_cost(source, number) for number in copies],
    }


BUDGETS: dict[str, dict[str, Fraction]] = {
    "rho 1/2": {"rho": RHO, "delta": DELTA},
    "epsilon 1": {"epsilon": Fraction(1)},
    "epsilon 1/10": {"epsilon": Fraction(1, 10)},
}


def key_of(trial: int) -> NoiseKey:
    """Return the key of a trial."""
    return NoiseKey((trial + 1).to_bytes(32, "little"))


def publish(tables: CensusTables, trial: int, **amounts: Any) -> geodp.census.Census:
    """Publish all tables, whose rests are given as parts."""
    margins = {name: tables.tables[name] for name in MARGINS}
    return geodp.census.publish(
        tables.tables["persons"], margins, contribution=1, contradictions="refuse",
        key=key_of(trial), **amounts,
    )  # fmt: skip


def publish_apart(truth: Dense, grid: geodp.Grid, trial: int) -> Dense:
    """Publish each variable with a thirteenth of the budget."""
    found = {}
    for number, (name, counts) in enumerate(truth.items()):
        one = geodp.CountTable.from_dense(counts, grid)
        key = key_of(1000 * (number + 1) + trial)
        found[name] = publish_one(one, key).table.to_dense()
    return found


def publish_one(one: geodp.CountTable, key: NoiseKey) -> geodp.Release:
    """Publish one variable with a thirteenth of the budget."""
    rho = RHO / len(VARIABLES)
    return geodp.publish(one, rho=rho, delta=DELTA, contribution=1, key=key)


def densify(tables: Mapping[str, Any]) -> Dense:
    """Return the thirteen variables of all tables."""
    found = {"T": tables["persons"].to_dense()}
    for name, labels in MARGINS.items():
        dense = tables[name].to_dense()
        found |= {label: dense[..., i] for i, label in enumerate(labels)}
    return found


def contradicts(counts: Dense, some: Any) -> float:
    """Compute the share of cells in which a margin without a rest does not add up."""
    broken = np.zeros_like(some)
    for name, labels in MARGINS.items():
        if name not in REST:
            broken |= sum(counts[one] for one in labels) != counts["T"]
    return float(broken[some].mean())


def squares(counts: Any, side: int) -> Any:
    """Sum aligned squares of cells."""
    rows, columns = (size // side for size in counts.shape)
    return counts.reshape(rows, side, columns, side).sum(axis=(1, 3))


def list_errors(
    truth: Dense, ours: list[Dense], apart: list[Dense], regions: list[Region], grid: geodp.Grid
) -> list[dict[str, Any]]:
    """Compute mean absolute errors of every variable, and their ratios."""
    some = truth["T"] > 0
    inside = [tuple(np.array(grid.decode(one.key))) for one in regions]
    kinds: dict[str, Callable[[Any], Any]] = {
        "cells": lambda error: error[some],
        "squares": lambda error: squares(error, SQUARE)[squares(truth["T"], SQUARE) > 0],
        "regions": lambda error: np.array([error[one].sum() for one in inside]),
    }
    rows = []
    for name, true in truth.items():
        row: dict[str, Any] = {"variable": name}
        for kind, of in kinds.items():
            one, two = (
                float(np.mean([np.abs(of(each[name] - true)).mean() for each in some_made]))
                for some_made in (ours, apart)
            )
            row |= {kind: one, f"{kind} apart": two, f"{kind} ratio": one / two}
        rows.append(row)
    return rows


def draw_boxes(truth: Dense) -> dict[int, list[tuple[int, int, int, int]]]:
    """Draw rectangles around places by their people: west, south, east, north."""
    random, people = np.random.default_rng(SEED + 1), truth["T"]
    found = {}
    for side in SIDES:
        places = random.choice(people.size, BOXES, p=people.reshape(-1) / people.sum())
        boxes = []
        for row, column in zip(*np.unravel_index(places, people.shape), strict=True):
            height, width = random.integers(side // 2, side * 3 // 2 + 1, 2)
            south = int(np.clip(row - height // 2, 0, people.shape[0] - height))
            west = int(np.clip(column - width // 2, 0, people.shape[1] - width))
            boxes.append((west, south, west + int(width), south + int(height)))
        found[side] = boxes
    return found


def cover(
    tables: CensusTables, truth: Dense, regions: list[Region], name: str,
    amounts: dict[str, Fraction], trials: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield how often intervals of every variable hold the truth, and how wide they are."""
    boxes = draw_boxes(truth)
    asked: dict[str, list[Any]] = {
        **{f"{side} km": [*some] for side, some in boxes.items()}, "municipalities": [*regions]
    }  # fmt: skip
    grid = tables.ground
    true = {
        kind: {one: sum_regions(grid, counts, some) for one, counts in truth.items()}
        for kind, some in asked.items()
    }
    found: dict[tuple[str, str], list[Any]] = {}
    for trial in range(min(trials, 2)):
        release = publish(tables, 100 + trial, **amounts)
        names = dict(zip(release.quantities, name_variables(release), strict=True))
        for kind, some in asked.items():
            for at, one in enumerate(release.estimate_all(some)):
                for column, estimate in one.items():
                    if (variable := names[column]) is not None:
                        off = true[kind][variable][at]
                        ends = (estimate.count - off, estimate.low - off, estimate.high - off)
                        found.setdefault((variable, kind), []).append(ends)
        key = release.tables["persons"].table.key
        index = tuple(np.array(grid.decode(key)))
        for column, (count, _, low, high) in zip(
            release.quantities, release.estimate_cells(key), strict=True
        ):
            if (variable := names[column]) is not None:
                off = truth[variable][index]
                ends = np.stack([count - off, low - off, high - off], axis=1)
                found.setdefault((variable, "cells"), []).extend(ends)
    for variable in truth:
        row: dict[str, Any] = {"budget": name, "variable": variable}
        for kind in ("cells", *asked):
            error, low, high = np.array(found[variable, kind], np.float64).T
            held = (low <= 1e-9) & (high >= -1e-9)
            narrowest = max(float(np.quantile(np.abs(error), 0.95)), 0.5)
            row |= {
                kind: float(held.mean()),
                f"{kind} width": float(np.median(high - low)) / 2 / narrowest,
            }
        yield row


def name_variables(release: geodp.census.Census) -> list[str | None]:
    """Return the variable of every column; None for the rest."""
    return [
        "T" if not one.parts else one.name if one.name in VARIABLES else None
        for one in release.index.columns
    ]


def sum_regions(grid: geodp.Grid, counts: IntArray, regions: list[Any]) -> Any:
    """Sum counts over rectangles or regions."""
    if isinstance(regions[0], Region):
        return np.array([counts[tuple(np.array(grid.decode(one.key)))].sum() for one in regions])
    west, south, east, north = np.array(regions).T
    return sums(counts.astype(np.float64), np.array([south, north, west, east])).astype(np.int64)


def list_biases(truth: Dense, released: list[Dense]) -> Iterator[dict[str, Any]]:
    """Yield mean errors of parts of areas in per cent of their people, by how many these are."""
    ends = [*CLASSES, 1 << 60]
    for side in AREAS:
        for name, true in truth.items():
            people = squares(true, side)
            error = np.mean([squares(one[name] - true, side) for one in released], axis=0)
            row: dict[str, Any] = {"area": f"{side} km", "variable": name}
            for low, high in pairwise(ends):
                some = (people >= low) & (people < high)
                enough = some.sum() >= 30
                row[f"{low:,}+"] = (
                    100 * float(error[some].mean() / people[some].mean()) if enough else None
                )
            yield row


def compare_offices(
    perturbed: CensusGrid, hidden: CensusGrid, truth: Dense, released: list[Dense],
    regions: list[Region],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield what is open of the foreign-born of municipalities, in tables of offices and here."""
    foreign = truth["EU_OTH"] + truth["OTH"]
    grid = perturbed.grid
    true = sum_regions(grid, foreign, regions)
    error = [
        np.abs(sum_regions(grid, one["EU_OTH"] + one["OTH"] - foreign, regions)) for one in released
    ]
    yield {
        "table": "geodp, rho 1/2, German window: error",
        "municipalities": len(regions), "foreign-born": float(np.median(true)),
        "median": float(np.median(error)), "largest tenth": float(np.quantile(error, 0.9)),
    }  # fmt: skip
    dense = as_dense(perturbed)
    ways = dense["T"] - dense["NAT"] - dense["EU_OTH"] - dense["OTH"]
    apart = np.abs(sum_regions(grid, ways, regions))
    yield {
        "table": "the office's perturbed counts: what two ways to count them differ by",
        "municipalities": len(regions), "foreign-born": float(np.median(true)),
        "median": float(np.median(apart)), "largest tenth": float(np.quantile(apart, 0.9)),
    }  # fmt: skip
    dense = as_dense(hidden)
    random, places = np.random.default_rng(SEED + 2), hidden.table("T")
    drawn = draw_areas(places, ("municipalities",), REGIONS, random)
    some = [one for group in drawn.values() for one in group]
    # What is certain in a cell: everybody who is not hidden, and at most all others.
    known = [np.where(dense[f"{one}_CI"] == 1, 0, dense[one]) for one in FOREIGN]
    least = sum(known)
    most = np.where(dense["NAT_CI"] == 1, dense["T"], dense["T"] - dense["NAT"])
    shown = [dense[f"{one}_CI"] == 0 for one in FOREIGN]
    most = np.where(shown[0] & shown[1], least, np.maximum(most, least))
    wide = sum_regions(grid, most - least, some)
    yield {
        "table": "the office's hidden counts (eastern Poland and its neighbours): least to most",
        "municipalities": len(some),
        "foreign-born": float(np.median(sum_regions(grid, least, some))),
        "median": float(np.median(wide)), "largest tenth": float(np.quantile(wide, 0.9)),
    }  # fmt: skip


def as_dense(source: CensusGrid) -> Dense:
    """Return all published columns as maps."""
    index = tuple(np.array(source.grid.decode(source.key)))
    found = {}
    for name, counts in source.columns.items():
        found[name] = np.zeros(source.grid.shape, np.int64)
        found[name][index] = counts
    return found


def repeat(source: CensusGrid, copies: int) -> CensusGrid:
    """Repeat a window side by side."""
    across = int(np.ceil(np.sqrt(copies)))
    grid = geodp.Grid.regular(tuple(across * size for size in source.grid.shape))
    index = np.array(source.grid.decode(source.key))
    shifts = [np.array(divmod(n, across)) * source.grid.shape for n in range(copies)]
    key = grid.encode(np.concatenate([index + by[:, None] for by in shifts], axis=1))
    order = np.argsort(key)
    columns = {name: np.tile(counts, copies)[order] for name, counts in source.columns.items()}
    return CensusGrid(grid, key[order], columns)


def measure_cost(source: CensusGrid, copies: int) -> dict[str, Any]:
    """Measure processor time and memory to publish and write all, beside each column apart."""
    if copies > 1:
        source = repeat(source, copies)
    tables = source.complete()
    row: dict[str, Any] = {"cells": int(source.key.size)}
    row |= cost_of(lambda: publish(tables, 0, rho=RHO, delta=DELTA))
    apart = []
    for name in VARIABLES:
        one = source.table(name)
        apart.append(cost_of(lambda one=one: publish_one(one, key_of(0))))  # type: ignore[misc]
    seconds = sum(each["publish s"] + each["write s"] for each in apart)
    return row | {
        "apart s": seconds,
        "ratio": (row["publish s"] + row["write s"]) / seconds,
        "apart MB": max(each["MB"] for each in apart),
    }


def cost_of(release: Callable[[], Any]) -> dict[str, float]:
    """Measure processor seconds to publish and to write, and the memory that both added at most."""
    before, start = forget_peak(), time.process_time()
    made = release()
    drawn = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder) / "out")
    return {
        "publish s": drawn - start,
        "write s": time.process_time() - drawn,
        "MB": (peak() - before) / 2**20,
    }


def errors(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the table of errors, and their mean."""
    rows = result["errors"]
    parts = [row for row in rows if row["variable"] != "T"]
    mean = {"variable": "mean of parts"} | {
        name: float(np.mean([row[name] for row in parts])) if "ratio" in name else None
        for name in rows[0]
        if name != "variable"
    }
    return [*rows, mean]


def intervals(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the table of intervals."""
    return [
        {name: row[name] for name in ("budget", "variable")}
        | {
            name: f"{100 * row[name]:.1f} % ({row[f'{name} width']:.1f})"
            for name in ("cells", *(f"{side} km" for side in SIDES), "municipalities")
        }
        for row in result["intervals"]
    ]


def biases(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the table of biases."""
    return [
        {
            name: value if isinstance(value, str) else "-" if value is None else f"{value:+.1f}"
            for name, value in row.items()
        }
        for row in result["bias"]
    ]


TABLES: dict[str, Callable[[dict[str, Any]], list[dict[str, Any]]]] = {
    "errors": errors,
    "intervals": intervals,
    "bias": biases,
    "offices": lambda result: result["offices"],
    "cost": lambda result: result["cost"],
}


def worst_intervals(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows of intervals: by budget, the least coverage and the widest."""
    places = ("cells", *(f"{side} km" for side in SIDES), "municipalities")
    table_lines = []
    for budget in dict.fromkeys(row["budget"] for row in result["intervals"]):
        rows = [row for row in result["intervals"] if row["budget"] == budget]
        line: dict[str, Any] = {"budget": budget}
        for place in places:
            lowest = min(rows, key=lambda row: row[place])
            width = max(row[f"{place} width"] for row in rows)
            line[place] = f"{100 * lowest[place]:.1f} %, {lowest['variable']} ({width:.1f})"
        table_lines.append(line)
    return table_lines


def worst_biases(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows of biases: by area, the largest of all variables."""
    table_lines = []
    for area in dict.fromkeys(row["area"] for row in result["bias"]):
        rows = [row for row in result["bias"] if row["area"] == area]
        line: dict[str, Any] = {"area": area}
        for size in (name for name in rows[0] if name not in line and name != "variable"):
            stated = [row for row in rows if row[size] is not None]
            largest = max(stated, key=lambda row: abs(row[size]), default=None)
            line[size] = largest and f"{largest[size]:+.1f}, {largest['variable']}"
        table_lines.append(line)
    return table_lines


def ratios(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows of errors: without those of releases apart."""
    return excerpt(errors(result), without=["cells apart", "squares apart", "regions apart"])


EXTREMES = {"errors": ratios, "intervals": worst_intervals, "bias": worst_biases}
"""Tables of which the document shows the worst rows."""


def show(result: dict[str, Any]) -> str:
    """Format all tables."""
    settings = "  ".join(f"{name}: {value}" for name, value in result["settings"].items())
    return "\n\n".join([settings, *(table(rows(result)) for rows in TABLES.values())])


def fill_document() -> None:
    """Fill the document's tables with the saved figures."""
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    for name, rows in (TABLES | EXTREMES).items():
        marks = f"<!-- bench:table:{name} -->", f"<!-- /bench:table:{name} -->"
        fill(DOCUMENT, marks, markdown(rows(saved)))
