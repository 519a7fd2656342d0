"""Coverage and width of 95 % intervals by class of region and cell, kind of map and budget."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

import geodp
from bench.inputs import public, regions
from bench.inputs.isolated import place_isolated
from bench.inputs.synthetic import draw_lattice
from bench.measure.key_runs import KeyRuns
from bench.suites.methods import names
from bench.tables import fill_saved, markdown, table
from geodp.accuracy.interval import WORST_CASE, Estimate
from geodp.grid.region import Region
from geodp.privacy.loss import rational

TITLE = """\
Per cent of usual intervals that hold the true sum, over the maps (the least and the most of a map);
after the semicolon their width over the narrowest of the same form that would hold 95 % of the
class, of the widest map, and in brackets that of worst-case intervals. A class is named by public
geometry or by released counts, but for settlements that are alone in truth. !: the 99 % interval of
some map's coverage excludes 93 to 98 %."""

SPARSE = "40 x 40 cells"
MAPS = ["kanto", "europe-2018-7-5", "germany-1km", SPARSE, "hiroshima-2020", "europe-2018-9-8"]
"""The last two were kept out of all choices of constants."""

ALONE = "in truth alone"
"""Made-up settlements without anybody else around: a class that the truth names, and nobody can
see, so that it is reported beside the others."""

METHODS = ["pyramid", "topdown", "pyramid:prune=7/2"]
REGIONS, CELLS = 50, 4_000
ALLOWED = 0.93, 0.98
SAVED = Path(__file__).parents[1] / "results" / "intervals.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uncertainty.md"
MARKS = ("<!-- bench:intervals -->", "<!-- /bench:intervals -->")

Floats = NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--maps", type=names, default=MAPS, metavar="A;B")
    parser.add_argument("--methods", type=names, default=METHODS, metavar="A;B")
    parser.add_argument(
        "--epsilon", type=rational, nargs="+", default=[Fraction(1, 12), Fraction(1, 10), 1]
    )
    parser.add_argument("--releases", type=int, default=20)


def measure(
    data: Path | None,
    maps: list[str],
    methods: list[str],
    epsilon: list[Fraction],
    releases: int,
) -> dict[str, Any]:
    """Measure coverage and width by map, method, budget and class."""
    rows = []
    for name in maps:
        random = np.random.default_rng(regions.SEED)
        source = draw_lattice() if name == SPARSE else public.load(name, data)
        worlds = [(source, regions.draw(source, REGIONS, random))]
        if name != SPARSE:
            placed = place_isolated(source, 100, random)
            alone = [Region(source.grid, np.sort(key)) for key in placed.cells]
            worlds.append((placed.table, {ALONE: alone}))
        for method in methods:
            for amount in epsilon:
                labels = {"map": name, "method": method, "epsilon": str(amount)}
                for table_, kinds in worlds:
                    covered = cover(table_, kinds, (method, amount), releases)
                    rows += [{**labels, "kind": kind, **row} for kind, row in covered.items()]
    return {"rows": rows, "settings": {"releases": releases}}


def cover(
    source: geodp.CountTable,
    kinds: dict[str, list[Region]],
    terms: tuple[str, Fraction],
    releases: int,
) -> dict[str, dict[str, float | None]]:
    """Measure the figures of every class."""
    every = [region for group in kinds.values() for region in group]
    kind = np.repeat([*kinds], [len(group) for group in kinds.values()])
    runs, random = KeyRuns.of(every), np.random.default_rng(regions.SEED)
    truth, found = runs.sums(source), dict[str, list[Floats]]()
    for number in range(releases):
        key = geodp.NoiseKey((number + 1).to_bytes(32, "little"))
        release = geodp.publish(source, method=terms[0], epsilon=terms[1], contribution=1, key=key)
        count, usual = runs.sums(release.table), ends_of(release.estimate_all(every))
        bound = ends_of(release.estimate_all(every, interval=WORST_CASE))
        row = np.array([truth, count, *usual, *bound])
        for name in kinds:
            found.setdefault(name, []).append(row[:, kind == name])
        if ALONE in kinds:
            found.setdefault(f"{ALONE}, released as more than 0", []).append(row[:, count > 0])
        else:
            for name, cells in cells_by_count(release, random).items():
                low, high = release.intervals().of(cells)
                counts = [
                    one.counts_at(cells).astype(np.float64) for one in (source, release.table)
                ]
                none = np.full(cells.size, np.nan)
                found.setdefault(name, []).append(np.array([*counts, low, high, none, none]))
    return {name: summarise(np.concatenate(rows, axis=1)) for name, rows in found.items()}


def cells_by_count(release: geodp.Release, random: np.random.Generator) -> dict[str, Any]:
    """Draw cells of classes that follow from released counts: uint64[n] each."""
    grid, table_ = release.grid, release.table
    drawn = np.unique(grid.domain.keys_of_ranks(random.integers(grid.domain.cells, size=CELLS)))
    key = np.unique(np.concatenate([drawn, random.permutation(table_.key)[:CELLS]]))
    count = table_.counts_at(key)
    # Of a lowest node, the cell itself and all others that were released as more than 0.
    tree = release.method.tree_variance(grid, release.event)
    assert tree is not None  # as these methods have closed forms
    span = np.uint64(next(n for n in np.cumprod(tree.fanouts[::-1]) if n >= 16))
    listed, number = np.unique(table_.key // span, return_counts=True)
    at = np.minimum(np.searchsorted(listed, key // span), listed.size - 1)
    beside = np.where(listed[at] == key // span, number[at], 0) > (count > 0)
    return {
        "cells released as 0, beside others": key[(count == 0) & beside],
        "cells released as 0, alone": key[(count == 0) & ~beside],
        "cells released as more, alone": key[(count > 0) & ~beside],
        "cells released as 1 to 999": key[(count > 0) & (count < 1000) & beside],
        "cells released as 1,000 and more": key[(count >= 1000) & beside],
    }


def ends_of(estimates: list[Estimate]) -> Floats:
    """Return the ends of intervals: float64[2, n]."""
    return np.array([[one.low for one in estimates], [one.high for one in estimates]])


def summarise(row: Floats) -> dict[str, float | None]:
    """Summarise truth, count, and the ends of usual and worst-case intervals: float64[6, n]."""
    found: dict[str, float | None] = {"intervals": row.shape[1]}
    for name, (low, high) in (("usual", row[2:4]), ("worst", row[4:6])):
        # A usual end is not below 0, which is no part of the width that could be less.
        held = (low <= row[0]) & (row[0] <= high)
        found[f"{name}_held"] = float(held.mean()) if held.size else None
        found[f"{name}_wide"] = over_narrowest(row[0], row[1], low, high)
    return found


def over_narrowest(truth: Floats, count: Floats, low: Floats, high: Floats) -> float | None:
    """Divide the width of intervals by that of the narrowest of the same form that hold 95 %.

    None where the counts themselves hold as many, or an end is a count that is not the truth.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(truth < count, (count - truth) / (count - low), 0.0)
        above = np.where(truth > count, (truth - count) / (high - count), 0.0)
    needed = float(np.quantile(np.maximum(below, above), 0.95)) if truth.size else 0.0
    return 1 / needed if 0 < needed < np.inf else None


def is_outside(row: dict[str, Any]) -> bool:
    """Test whether the 99 % interval of a class's coverage excludes 93 to 98 %."""
    n, held = row["intervals"], round(row["intervals"] * row["usual_held"])
    low = beta.ppf(0.005, held, n - held + 1) if held else 0.0
    high = beta.ppf(0.995, held + 1, n - held) if held < n else 1.0
    return bool(high < ALLOWED[0] or low > ALLOWED[1])


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table: classes, by method and budget."""
    rows = [row for row in result["rows"] if row["intervals"]]
    table_lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        line: dict[str, Any] = {"class": kind}
        for method, epsilon in dict.fromkeys((row["method"], row["epsilon"]) for row in rows):
            same = {"method": method, "epsilon": epsilon, "kind": kind}
            matching = [row for row in rows if same.items() <= row.items()]
            line[f"{method}, {epsilon}"] = _cell(matching) if matching else "-"
        table_lines.append(line)
    return table_lines


def _cell(rows: list[dict[str, Any]]) -> str:
    """Format coverage and width of one class over the maps, as the title explains."""
    held = [100 * row["usual_held"] for row in rows]
    mean = np.average(held, weights=[row["intervals"] for row in rows])
    wide, worst = (
        np.nanmax([row[f"{name}_wide"] or np.nan for row in rows] + [0.0])
        for name in ("usual", "worst")
    )
    bound = f" ({worst:.1f})" if worst else ""
    mark = "!" if any(map(is_outside, rows)) else ""
    return f"{mean:.1f} ({min(held):.1f}-{max(held):.1f}){mark}; {wide:.2f}{bound}"


def show(result: dict[str, Any]) -> str:
    """Format classes by methods and budgets."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table: the defaults of both methods."""
    shown = ("class", "pyramid, 1/10", "pyramid, 1", "topdown, 1/10", "topdown, 1")
    return markdown([{name: row[name] for name in shown} for row in lines(result)])
