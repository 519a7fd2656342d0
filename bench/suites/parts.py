"""Intervals and errors of parts of cells and regions, and how places differ from surroundings."""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.baselines.libraries import by_name
from bench.inputs import public
from bench.inputs.regions import draw_areas
from bench.suites.attributes import budgets
from bench.suites.methods import names
from bench.tables import excerpt, fill, markdown, table
from geodp.accuracy.interval import Z
from geodp.accuracy.part_errors import spread
from geodp.grid.joint import split_grid
from geodp.grid.region import Region
from geodp.table.counts import coalesce

TITLE = """\
Per cent of 95 % intervals that hold the truth. Parts of cells: single parts (one sex of one age) of
all cells of the domain, by how many people they truly have. Regions: one sex, one age, or one of
both in inhabited rectangles of 2 to 80 cells a side. Then mean squares of what parts of areas hold
more or less than their people times the shares of 16 times as large areas around them, over the law
that intervals go by, where so many are expected: t s (1 - s) of t people and the share s. Then
mean absolute errors of one part of a cell and of a municipality, and of all its people. Last, how
many intervals of areas hold the truth, and in brackets their widths over those that the errors of
these releases need."""

MAPS = ["kanto-parts", "hiroshima-parts"]
MAX_PEOPLE = (0, 9, 99)
KINDS = ("0", "1 to 9", "10 to 99", "100 and more", "regions")
SIDES, REGIONS, SEED = (2, 3, 6, 12, 30, 80), 60, 20201001
METHODS = ("OpenDP laplace, each cell", "parts", "parts:share=3/10", "parts:share=7/10")
"""Methods whose errors are compared; OpenDP adds noise to each part of each cell."""

ERRORS = ("part of a cell", "part of a municipality", "its people")
MUNICIPALITIES = 200
FAMILIES, AREAS = ("municipalities", "polygons"), 30
"""Areas whose intervals are tested, and the number of each kind."""

LEAST_ERROR = 0.3
"""Standard error of a width's comparison at least: a few releases can all be right."""

CELLS, EXPECTED, ENOUGH = (1, 16, 256), (1, 16, 256, 4096), 100
SAVED = Path(__file__).parents[1] / "results" / "parts.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "attributes.md"
MARKS = ("<!-- bench:parts -->", "<!-- /bench:parts -->")
MARKS_OF_AREAS = ("<!-- bench:parts:areas -->", "<!-- /bench:parts:areas -->")
MARKS_OF_ERRORS = ("<!-- bench:parts:errors -->", "<!-- /bench:parts:errors -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--maps", type=names, default=MAPS, metavar="A;B")
    parser.add_argument("--epsilons", type=budgets, default=budgets("1/10,1"), metavar="E,E")
    parser.add_argument("--trials", type=int, default=3, help="releases; default: 3")


def measure(
    data: Path | None, maps: list[str], epsilons: list[Fraction], trials: int
) -> dict[str, Any]:
    """Measure a row for each map and budget, and one for each map and size of area."""
    rows, apart, areas, wide = [], [], [], []
    for name in maps:
        source = public.load(name, data)
        title = {"map": public.SOURCES[name].title}
        for epsilon in epsilons:
            shares = covered(source, epsilon, trials)
            rows.append({**title, "epsilon": str(epsilon), **shares})
            compared = compare(source, epsilon, trials)
            areas += [{**title, "epsilon": str(epsilon), **row} for row in compared]
            tested = hold_areas(source, epsilon, trials)
            wide += [{**title, "epsilon": str(epsilon), **row} for row in tested]
        apart += [{**title, **row} for row in differences(source)]
    settings = {"trials": trials}
    return {
        "rows": rows,
        "differences": apart,
        "areas": areas,
        "intervals": wide,
        "settings": settings,
    }


def covered(source: geodp.CountTable, epsilon: Fraction, trials: int) -> dict[str, float]:
    """Compute the share of intervals of every kind that hold the truth."""
    grid = source.grid
    key = grid.encode(np.indices(grid.shape).reshape(len(grid.shape), -1))
    truth = source.to_dense().reshape(-1)
    kind = np.searchsorted(MAX_PEOPLE, truth)
    regions = list_regions(source)
    held, tested = np.zeros(len(KINDS)), np.zeros(len(KINDS))
    for trial in range(trials):
        noise = geodp.NoiseKey((trial + 1).to_bytes(32, "little"))
        release = geodp.publish(source, method="parts", epsilon=epsilon, contribution=1, key=noise)
        intervals = release.intervals()
        assert intervals is not None
        low, high = intervals.of(key)
        inside = (low <= truth) & (truth <= high)
        held += np.bincount(kind, inside, len(KINDS))
        tested += np.bincount(kind, minlength=len(KINDS))
        for region, people in regions:
            estimate = release.estimate(region)
            held[-1] += estimate.low <= people <= estimate.high
        tested[-1] += len(regions)
    shares = held / np.maximum(tested, 1)
    return {name: float(share) for name, share in zip(KINDS, shares, strict=True)}


def list_regions(source: geodp.CountTable) -> list[tuple[Region, int]]:
    """List inhabited rectangles of one sex, of one age, or of both, with their people."""
    random, grid, drawn = np.random.default_rng(SEED), source.grid, []
    (sex, sexes), (age, ages) = ((axis.name, axis.labels) for axis in grid.attributes)
    sets = [
        {sex: sexes[0]},
        {age: ages[-1]},
        *({sex: sexes[1], age: age_label} for age_label in ages[:3]),
    ]
    while len(drawn) < REGIONS * len(sets):
        sides = random.choice(SIDES, 2)
        corner = [random.integers(n - side) for n, side in zip(grid.shape, sides, strict=False)]
        index = np.indices(sides).reshape(2, -1) + np.array(corner)[:, None]
        regions = [Region.of_map(grid, *index, labels) for labels in sets]
        people = [int(source.count[np.isin(source.key, region.key)].sum()) for region in regions]
        # Empty rectangles are held by nearly any interval.
        if any(people):
            drawn += zip(regions, people, strict=True)
    return drawn


def differences(source: geodp.CountTable) -> list[dict[str, Any]]:
    """Compute mean squares over those of the law, by size of area and by expected people."""
    joint = split_grid(source.grid)
    assert joint is not None
    cell, part = joint.split(source.key)
    rows = []
    for cells in CELLS:
        node, place = np.unique(cell // np.uint64(cells), return_inverse=True)
        held = np.zeros((node.size, joint.parts))
        np.add.at(held, (place, part), source.count)
        above, parent = np.unique(node // np.uint64(16), return_inverse=True)
        around = np.zeros((above.size, joint.parts))
        np.add.at(around, parent, held)
        share = (around / around.sum(axis=1, keepdims=True))[parent]
        people = held.sum(axis=1, keepdims=True)
        # Compared with the binomial law that intervals assume for parts of a place.
        mean, square = people * share * (1 - share), (held - people * share) ** 2
        row: dict[str, Any] = {"cells of an area": cells}
        for n in EXPECTED:
            cells_near = (mean >= n / 2) & (mean < 2 * n)
            # Ratios of few places would be chance.
            enough = cells_near.sum() >= ENOUGH
            row[f"{n:,}"] = (
                square[cells_near].sum() / spread(mean[cells_near]).sum() if enough else None
            )
        rows.append(row)
    return rows


def hold_areas(source: geodp.CountTable, epsilon: Fraction, trials: int) -> list[dict[str, Any]]:
    """Compute how often intervals of parts of areas hold the truth, and their relative widths."""
    places, (sex, age) = add_up_parts(source), source.grid.attributes
    drawn = draw_areas(places, FAMILIES, AREAS, np.random.default_rng(SEED))
    labels = {
        "one sex": {sex.name: sex.labels[0]},
        "the oldest": {age.name: age.labels[-1]},
        "one sex and age": {sex.name: sex.labels[1], age.name: age.labels[2]},
        "all people": {},
    }
    kinds = [(name, part) for name in drawn for part in labels]
    regions = [
        Region.of_map(source.grid, *np.array(places.grid.decode(region.key)), labels[part])
        for name, part in kinds
        for region in drawn[name]
    ]
    truth = np.array([source.count[np.isin(source.key, one.key)].sum() for one in regions])
    estimates: list[Any] = []
    for trial in range(trials):
        noise = geodp.NoiseKey((trial + 1).to_bytes(32, "little"))
        release = geodp.publish(source, method="parts", epsilon=epsilon, contribution=1, key=noise)
        estimates.append([(e.low, e.high, e.count) for e in release.estimate_all(regions)])
    ends = np.moveaxis(np.array(estimates, np.float64), 2, 0)
    rows, sizes = [], np.cumsum([0, *(len(drawn[name]) for name, _ in kinds)])
    for (name, part), start, stop in zip(kinds, sizes, sizes[1:], strict=False):
        (low, high, count), people = ends[:, :, start:stop], truth[start:stop]
        error = np.sqrt(np.square(count - people).mean(axis=0))
        width = (high - low).mean(axis=0) / (2 * Z * np.maximum(error, LEAST_ERROR))
        rows.append(
            {
                "areas": name,
                "of": part,
                "intervals": int(stop - start) * trials,
                "held": float(((low <= people) & (people <= high)).mean()),
                "width": float(np.median(width)),
            }
        )
    return rows


def add_up_parts(source: geodp.CountTable) -> geodp.CountTable:
    """Add up the parts of each cell."""
    joint = split_grid(source.grid)
    assert joint is not None
    cell, count = coalesce(source.key // np.uint64(joint.width), source.count)
    return geodp.CountTable.of_cells(joint.map, cell, count, bound=source.bound)


def compare(source: geodp.CountTable, epsilon: Fraction, trials: int) -> list[dict[str, Any]]:
    """Compute mean absolute errors of parts of cells and of municipalities, by method."""
    joint, random = split_grid(source.grid), np.random.default_rng(SEED)
    assert joint is not None
    drawn = draw_areas(add_up_parts(source), ("municipalities",), MUNICIPALITIES, random)
    regions = [region.key.astype(np.int64) for group in drawn.values() for region in group]
    everywhere = np.concatenate(regions)
    truth, rows = source.to_vector().astype(np.float64), []
    for name in METHODS:
        run, to_vector = by_name(name).prepare(source, epsilon)
        summed = np.zeros(3)
        for trial in range(trials):
            off = (to_vector(run(trial)) - truth).reshape(-1, joint.width)[:, joint.low]
            sums = np.array([off[region].sum(axis=0) for region in regions])
            people = np.abs(sums.sum(axis=1)).mean()
            summed += np.abs(off[everywhere]).mean(), np.abs(sums).mean(), people
        figures = (summed / trials).tolist()
        rows.append({"method": name, **dict(zip(ERRORS, figures, strict=True))})
    return rows


def place_of(row: dict[str, Any]) -> str:
    """Return the place of a row's map, which its title begins with."""
    return str(row["map"]).partition(",")[0]


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's first table."""
    return [
        {"map": place_of(row), "epsilon": row["epsilon"]}
        | {name: f"{100 * row[name]:.1f}" for name in KINDS}
        for row in result["rows"]
    ]


def apart(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of its second table."""
    return [
        {name: f"{value:.2f}" if isinstance(value, float) else value for name, value in row.items()}
        | {"map": place_of(row)}
        for row in result["differences"]
    ]


def errors(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of its third table."""
    return [
        {"map": place_of(row), "epsilon": row["epsilon"], "method": row["method"]}
        | {name: f"{row[name]:,.0f}" if row[name] >= 100 else f"{row[name]:.3g}" for name in ERRORS}
        for row in result["areas"]
    ]


def held(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of its fourth table."""
    return [
        {name: row[name] for name in ("map", "epsilon", "areas", "of", "intervals")}
        | {"held (width)": f"{100 * row['held']:.1f} % ({row['width']:.1f})"}
        for row in result["intervals"]
    ]


def least_held(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows of it: the least share over maps and budgets, and the widest."""
    table_lines = []
    for name in dict.fromkeys(row["areas"] for row in result["intervals"]):
        rows = excerpt(result["intervals"], {"areas": [name]})
        line: dict[str, Any] = {"areas": name}
        for of in dict.fromkeys(row["of"] for row in rows):
            held, width = (
                [row[figure] for row in rows if row["of"] == of] for figure in ("held", "width")
            )
            line[of] = f"{100 * min(held):.1f} % ({max(width):.1f})"
        table_lines.append(line)
    return table_lines


def show(result: dict[str, Any]) -> str:
    """Format all tables."""
    return "\n\n".join([table(part(result)) for part in (lines, apart, errors, held)])


def fill_document() -> None:
    """Fill the document's tables with the saved figures."""
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    large = excerpt(apart(saved), {"cells of an area": [max(CELLS)]}, ["cells of an area"])
    fill(DOCUMENT, MARKS, f"{markdown(lines(saved))}\n\n{markdown(large)}")
    fill(DOCUMENT, MARKS_OF_ERRORS, markdown(excerpt(errors(saved), {"method": METHODS[:3]})))
    fill(DOCUMENT, MARKS_OF_AREAS, markdown(least_held(saved)))
