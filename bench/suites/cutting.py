"""Polygons that cut cells: their errors by cells, by land and by a finer map of people."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

import geodp
from bench.inputs import public
from bench.inputs.regions import SEED
from bench.tables import excerpt, fill_saved, markdown, table
from geodp.accuracy.interval import Interval
from geodp.grid.cuts import FinerMap, cover
from geodp.grid.region import regions_of_polygons
from geodp.privacy.loss import rational
from geodp.release.cutting import cut_figures

TITLE = """\
Polygons that cut cells: root mean square error over that of the noise alone, of sums of cells, and
of cells cut by area and by an earlier census on the finer squares; per cent of the intervals that
hold the true number; and the stated error of cutting of sums of cells, over the true one."""

MAPS: dict[str, tuple[str | None, tuple[int, ...]]] = {
    "kanto": (None, (2, 4)),
    "hiroshima-2020-wide": ("hiroshima-2015-wide", (2, 4)),
    "europe-2018-7-5": ("europe-2011-7-5", (4,)),
    "europe-2018-9-8": ("europe-2011-9-8", (4,)),
    "germany-1km": (None, (4,)),
    "samoa-100m": (None, (10,)),
}
"""Maps with an earlier one of the same squares, and how many squares a cell has on a side."""

AREAS = 4, 25, 150
"""Mean areas of polygons, in cells."""

NUMBER = 150
SAVED = Path(__file__).parents[1] / "results" / "cutting.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uncertainty.md"
MARKS = ("<!-- bench:cutting -->", "<!-- /bench:cutting -->")

Floats = NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--epsilon", type=rational, nargs="+", default=[Fraction(1, 12), 1])
    parser.add_argument("--releases", type=int, default=2)


def measure(data: Path | None, epsilon: list[Fraction], releases: int) -> dict[str, Any]:
    """Measure errors and intervals by map, side of the cells and budget."""
    rows = []
    for name, (earlier, sides) in MAPS.items():
        people = public.load(name, data).to_dense()
        before = None if earlier is None else public.load(earlier, data).to_dense()
        for side in sides:
            size = np.array(people.shape) // side * side
            fine, past = (
                None if one is None else one[: size[0], : size[1]] for one in (people, before)
            )
            assert fine is not None
            for amount in epsilon:
                found = _measure(fine, past, side, amount, releases)
                rows.append({"map": name, "side": side, "epsilon": str(amount), **found})
    return {"rows": rows, "settings": {"releases": releases, "polygons": NUMBER * len(AREAS)}}


def _measure(
    fine: NDArray[np.int64],
    past: NDArray[np.int64] | None,
    side: int,
    epsilon: Fraction,
    releases: int,
) -> dict[str, Any]:
    """Measure one map, whose cells have squares of a length of 1."""
    rows, cols = (number // side for number in fine.shape)
    cells = fine.reshape(rows, side, cols, side).sum(axis=(1, 3))
    grid = geodp.Grid.regular((rows, cols), crs="EPSG:3035", transform=(side, 0, 0, 0, side, 0))
    polygons = draw_polygons(cells, side)
    regions = regions_of_polygons(grid, polygons)
    some = [at for at, region in enumerate(regions) if region.cells]
    polygons, regions = [polygons[at] for at in some], [regions[at] for at in some]
    x, y = (np.arange(number + 1.0) for number in fine.shape[::-1])
    truth = np.array([_count(one, fine, x, y) for one in polygons])
    source = geodp.CountTable.from_dense(cells, grid)
    inside = np.array([source.counts_at(region.key).sum() for region in regions])
    maps = {"area": FinerMap(x, y, np.ones(fine.shape), is_people=False)}
    if past is not None:
        maps["people"] = FinerMap(x, y, past.astype(np.float64), is_people=True)
    found: dict[str, list[Floats]] = {}
    for number in range(releases):
        key = geodp.NoiseKey((number + 1).to_bytes(32, "little"))
        release = geodp.publish(source, epsilon=epsilon, contribution=1, key=key)
        figures = release.list_figures(regions)
        cut = {
            name: cut_figures(release, figures, polygons, None, one) for name, one in maps.items()
        }
        plain = cut_figures(release, figures, polygons)
        for name, answers in {"cells": plain, **cut}.items():
            numbers: list[Interval] = [one["count"] for one in answers]
            value, low, high, error = np.array(
                [(one.value, one.low, one.high, one.cutting_error) for one in numbers]
            ).T
            held = (low <= truth) & (truth <= high)
            noise = np.array([one["count"].value for one in figures]) - inside
            found.setdefault(name, []).append(np.array([value - truth, held, error, noise]))
    result: dict[str, Any] = {}
    for name, parts in found.items():
        off, held, error, noise = np.concatenate(parts, axis=1)
        result |= {f"{name}_error": _root(off) / _root(noise), f"{name}_held": float(held.mean())}
        if name == "cells":
            result["stated"] = _root(error) / _root(np.tile(inside - truth, releases))
    return result


def draw_polygons(cells: NDArray[np.int64], side: int) -> list[Any]:
    """Draw stars around places by the root of their people."""
    random = np.random.default_rng(SEED)
    places = np.argwhere(cells > 0)
    weight = np.sqrt(cells[cells > 0])
    found = []
    whole = shapely.box(0, 0, *(number * side for number in cells.shape[::-1]))
    for area in AREAS:
        for at in random.choice(len(places), NUMBER, p=weight / weight.sum()):
            corners = int(random.integers(5, 14))
            angle = np.sort(random.random(corners)) * 2 * np.pi
            radius = np.sqrt(area / np.pi) * random.uniform(0.6, 1.35, corners)
            ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
            shape = shapely.Polygon((places[at][::-1] + random.random(2) + ring) * side).buffer(0)
            found.append(shape.intersection(whole))
    return [one for one in found if one.geom_type == "Polygon" and not one.is_empty]


def _count(shape: Any, fine: NDArray[np.int64], x: Floats, y: Floats) -> float:
    """Count the people in a polygon, who live evenly on the squares."""
    west, south, east, north = np.floor(shape.bounds).astype(int)
    cols, rows = slice(west, east + 2), slice(south, north + 2)
    part = cover(shape, x[cols], y[rows])
    return float((fine[rows, cols][: part.shape[0], : part.shape[1]] * part).sum())


def _root(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    return [
        {
            "map": row["map"],
            "squares on a side": row["side"],
            "epsilon": row["epsilon"],
            **{
                f"{title}{of}": None
                if row.get(f"{name}_{of}") is None
                else row[f"{name}_{of}"] * by
                for name, title in (
                    ("cells", "cells: "),
                    ("area", "area: "),
                    ("people", "people: "),
                )
                for of, by in (("error", 1), ("held", 100))
                if (name, of) != ("cells", "held")
            },
            "stated over true": row["stated"],
        }
        for row in result["rows"]
    ]


def show(result: dict[str, Any]) -> str:
    """Format maps by budgets."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table, at the larger budget, where cutting costs most."""
    return markdown(excerpt(lines(result), {"epsilon": ["1"]}, ["epsilon"]))
