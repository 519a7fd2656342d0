"""Coverage and width of intervals of all kinds of regions, by closed form and by simulation."""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from geodp.release.simulation import SIMULATION, KeyRuns
from numpy.typing import NDArray

import geodp
from bench.inputs import public, regions
from bench.suites.methods import names
from bench.tables import fill_saved, markdown, table
from geodp.accuracy.interval import Estimate
from geodp.privacy.loss import rational

TITLE = """\
Per cent of intervals that hold the true sum, by closed form and by simulation, and their mean width
over that between the 2.5 and 97.5 % points of the error over releases of the true table. Each cell:
coverage by closed form / by simulation (its least of a map); widths."""

MAPS = ["hiroshima-2020", "kanto"]
METHODS = ["pyramid", "topdown", "pyramid:prune=7/2"]
REGIONS = 40
NOT_LISTED, NEVER = "cells not listed", "never clamped"
SAVED = Path(__file__).parents[1] / "results" / "intervals.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uncertainty.md"
MARKS = ("<!-- bench:intervals -->", "<!-- /bench:intervals -->")

Floats = NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--maps", type=names, default=MAPS, metavar="A;B")
    parser.add_argument("--methods", type=names, default=METHODS, metavar="A;B")
    parser.add_argument("--epsilon", type=rational, nargs="+", default=[Fraction(1, 10), 1])
    parser.add_argument(
        "--kinds", type=names, metavar="A;B", help="of regions; the kept figures of others stay"
    )
    parser.add_argument("--releases", type=int, default=2, help="of which intervals are asked")
    parser.add_argument("--trials", type=int, default=100, help="releases that tell the error")


def measure(
    data: Path | None,
    maps: list[str],
    methods: list[str],
    epsilon: list[Fraction],
    releases: int,
    trials: int,
    kinds: list[str] | None = None,
) -> dict[str, Any]:
    """Measure coverage and width by map, method, budget and kind of region."""
    rows = []
    for name in maps:
        random = np.random.default_rng(regions.SEED)
        source, villages = regions.place_villages(public.load(name, data), random)
        drawn = regions.draw(source, villages, REGIONS, random)
        chosen = {kind: group for kind, group in drawn.items() if not kinds or kind in kinds}
        for method in methods:
            for amount in epsilon:
                labels = {"map": name, "method": method, "epsilon": str(amount)}
                covered = cover(source, chosen, (method, amount), releases, trials)
                rows += [
                    {**labels, "kind": kind, **figures}
                    for kind, figures in covered.items()
                    if not kinds or kind in kinds
                ]
    settings = {"releases": releases, "trials": trials}
    if not kinds:
        return {"rows": rows, "settings": settings}
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    remeasured = {identity(row): row for row in rows}
    rows = [remeasured.pop(identity(row), row) for row in saved["rows"]] + [*remeasured.values()]
    return {"rows": rows, "settings": {**saved["settings"], ", ".join(kinds): settings}}


def identity(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the columns that identify a row."""
    return tuple(row[name] for name in ("map", "method", "epsilon", "kind"))


def cover(
    source: geodp.CountTable,
    kinds: dict[str, list[Any]],
    terms: tuple[str, Fraction],
    releases: int,
    trials: int,
) -> dict[str, dict[str, float]]:
    """Measure the figures of every kind of region."""
    all_regions = [region for group in kinds.values() for region in group]
    kind = np.repeat([*kinds], [len(group) for group in kinds.values()])
    runs = KeyRuns.of(all_regions)
    truth = runs.sums(source)

    def release(number: int) -> geodp.Release:
        key = geodp.NoiseKey(number.to_bytes(32, "little"))
        return geodp.publish(source, method=terms[0], epsilon=terms[1], contribution=1, key=key)

    errors = np.array([runs.sums(release(i + 1).table) - truth for i in range(trials)])
    # Width of the central 95 % of the errors, with which widths of intervals are compared.
    needed = np.ptp(np.quantile(errors, (0.025, 0.975), axis=0), axis=0)
    single = np.array([region.cells == 1 for region in all_regions])
    rows_of: dict[str, list[Floats]] = {}
    for number in range(releases):
        # Apart from the releases that tell the error.
        released = release(10**6 + number)
        closed = released.estimate_all(all_regions)
        both = [_ends(closed), _ends(released.estimate_all(all_regions, method=SIMULATION))]
        held = [(low <= truth) & (truth <= high) for low, high in both]
        widths = [high - low for low, high in both]
        row = np.array([*held, *widths, needed])
        chosen = {name: kind == name for name in kinds}
        chosen[NOT_LISTED] = single & np.array([estimate.count == 0 for estimate in closed])
        chosen[NEVER] = np.array([not estimate.clamped for estimate in closed])
        for name, at in chosen.items():
            rows_of.setdefault(name, []).append(row[:, at])
    return {name: _summary(np.concatenate(rows, axis=1)) for name, rows in rows_of.items()}


def _ends(estimates: list[Estimate]) -> tuple[Floats, Floats]:
    return np.array([estimate.low for estimate in estimates]), np.array(
        [estimate.high for estimate in estimates]
    )


def _summary(row: Floats) -> dict[str, float]:
    """Summarise coverage and width of regions: held and width by both ways, and needed: [5, n]."""
    if not row.shape[1]:
        return {"intervals": 0, "closed": 0.0, "simulated": 0.0, "wide": 0.0, "narrow": 0.0}
    held, wide = row[:2].mean(axis=1), row[2:4].sum(axis=1) / max(float(row[4].sum()), 1e-9)
    return {
        "intervals": row.shape[1],
        **dict(zip(("closed", "simulated", "wide", "narrow"), [*held, *wide], strict=True)),
    }


FAR = 1e6
"""Ratio to the needed width from which on nothing is needed."""

FEW = 30
"""Number of intervals of a map below which its coverage is not reported separately."""


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table: kinds of regions, by method and budget."""
    rows = [row for row in result["rows"] if row["intervals"]]
    table_lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        line: dict[str, Any] = {"regions": kind}
        for method, epsilon in dict.fromkeys((row["method"], row["epsilon"]) for row in rows):
            same = {"method": method, "epsilon": epsilon, "kind": kind}
            matching = [row for row in rows if same.items() <= row.items()]
            line[f"{method}, {epsilon}"] = _cell(matching) if matching else "-"
        table_lines.append(line)
    return table_lines


def _cell(rows: list[dict[str, Any]]) -> str:
    """Format coverage and width of one kind over the maps, as the title explains."""
    # Maps with more regions of a kind count more.
    weight = [row["intervals"] for row in rows]
    closed, simulated, wide, narrow = (
        float(np.average([row[name] for row in rows], weights=weight))
        for name in ("closed", "simulated", "wide", "narrow")
    )
    lowest = min((row["simulated"] for row in rows if row["intervals"] >= FEW), default=None)
    suffix = "" if lowest is None else f" ({100 * lowest:.1f})"
    # The error hardly varies: these cells are nearly always dropped.
    if wide > FAR:
        return f"{100 * closed:.1f} / {100 * simulated:.1f}{suffix}; -"
    return f"{100 * closed:.1f} / {100 * simulated:.1f}{suffix}; {wide:.1f} / {narrow:.1f}"


def show(result: dict[str, Any]) -> str:
    """Format kinds of regions by methods and budgets."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
