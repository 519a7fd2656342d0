"""Coverage and width of intervals of regions of all kinds, by closed form and by simulation."""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import public, regions
from bench.suites.methods import names
from bench.tables import fill_kept, markdown, table
from geodp.accuracy.interval import Estimate
from geodp.privacy.budget import rational
from geodp.release.simulation import SIMULATION, KeyRuns

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
    """Add the command line's options; their names are :func:`measure`'s."""
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
    """Return coverage and width by map, method, budget and kind of region."""
    rows = []
    for name in maps:
        random = np.random.default_rng(regions.SEED)
        source, villages = regions.settle(public.load(name, data), random)
        drawn = regions.draw(source, villages, REGIONS, random)
        chosen = {kind: some for kind, some in drawn.items() if not kinds or kind in kinds}
        for method in methods:
            for amount in epsilon:
                told = {"map": name, "method": method, "epsilon": str(amount)}
                some = cover(source, chosen, (method, amount), releases, trials)
                rows += [
                    {**told, "kind": kind, **figures}
                    for kind, figures in some.items()
                    if not kinds or kind in kinds
                ]
    settings = {"releases": releases, "trials": trials}
    if not kinds:
        return {"rows": rows, "settings": settings}
    kept = json.loads(SAVED.read_text(encoding="utf-8"))
    now = {identity(row): row for row in rows}
    rows = [now.pop(identity(row), row) for row in kept["rows"]] + [*now.values()]
    return {"rows": rows, "settings": {**kept["settings"], ", ".join(kinds): settings}}


def identity(row: dict[str, Any]) -> tuple[str, ...]:
    """Return what a row is of."""
    return tuple(row[name] for name in ("map", "method", "epsilon", "kind"))


def cover(
    source: geodp.CountTable,
    kinds: dict[str, list[Any]],
    how: tuple[str, Fraction],
    releases: int,
    trials: int,
) -> dict[str, dict[str, float]]:
    """Return the figures of every kind of region."""
    every = [region for some in kinds.values() for region in some]
    kind = np.repeat([*kinds], [len(some) for some in kinds.values()])
    runs = KeyRuns.of(every)
    truth = runs.sums(source)

    def release(number: int) -> geodp.Release:
        key = geodp.NoiseKey(number.to_bytes(32, "little"))
        return geodp.publish(source, method=how[0], epsilon=how[1], contribution=1, key=key)

    errors = np.array([runs.sums(release(i + 1).table) - truth for i in range(trials)])
    needed = np.ptp(np.quantile(errors, (0.025, 0.975), axis=0), axis=0)
    single = np.array([region.cells == 1 for region in every])
    found: dict[str, list[Floats]] = {}
    for number in range(releases):
        own = release(10**6 + number)
        closed = own.estimate_all(every)
        both = [_ends(closed), _ends(own.estimate_all(every, method=SIMULATION))]
        held = [(low <= truth) & (truth <= high) for low, high in both]
        wide = [high - low for low, high in both]
        row = np.array([*held, *wide, needed])
        chosen = {name: kind == name for name in kinds}
        chosen[NOT_LISTED] = single & np.array([one.count == 0 for one in closed])
        chosen[NEVER] = np.array([not one.clamped for one in closed])
        for name, at in chosen.items():
            found.setdefault(name, []).append(row[:, at])
    return {name: _summary(np.concatenate(rows, axis=1)) for name, rows in found.items()}


def _ends(estimates: list[Estimate]) -> tuple[Floats, Floats]:
    return np.array([one.low for one in estimates]), np.array([one.high for one in estimates])


def _summary(row: Floats) -> dict[str, float]:
    """Return coverage and width of regions: held and wide by both ways, and needed: [5, n]."""
    if not row.shape[1]:
        return {"intervals": 0, "closed": 0.0, "simulated": 0.0, "wide": 0.0, "narrow": 0.0}
    held, wide = row[:2].mean(axis=1), row[2:4].sum(axis=1) / max(float(row[4].sum()), 1e-9)
    return {
        "intervals": row.shape[1],
        **dict(zip(("closed", "simulated", "wide", "narrow"), [*held, *wide], strict=True)),
    }


FAR = 1e6
"""Times what is needed, from which on nothing is needed."""

FEW = 30
"""Intervals of a map, of whose coverage nothing is said alone."""


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the document's table: kinds of regions, by method and budget."""
    rows = [row for row in result["rows"] if row["intervals"]]
    found = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        line: dict[str, Any] = {"regions": kind}
        for method, epsilon in dict.fromkeys((row["method"], row["epsilon"]) for row in rows):
            same = {"method": method, "epsilon": epsilon, "kind": kind}
            some = [row for row in rows if same.items() <= row.items()]
            line[f"{method}, {epsilon}"] = _cell(some) if some else "-"
        found.append(line)
    return found


def _cell(rows: list[dict[str, Any]]) -> str:
    """Return coverage and width of one kind over the maps, as the title says."""
    weight = [row["intervals"] for row in rows]
    closed, simulated, wide, narrow = (
        float(np.average([row[name] for row in rows], weights=weight))
        for name in ("closed", "simulated", "wide", "narrow")
    )
    least = min((row["simulated"] for row in rows if row["intervals"] >= FEW), default=None)
    told = "" if least is None else f" ({100 * least:.1f})"
    if wide > FAR:  # the error hardly varies: of cells that are nearly always dropped
        return f"{100 * closed:.1f} / {100 * simulated:.1f}{told}; -"
    return f"{100 * closed:.1f} / {100 * simulated:.1f}{told}; {wide:.1f} / {narrow:.1f}"


def show(result: dict[str, Any]) -> str:
    """Kinds of regions by methods and budgets."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Write the document's table from the kept figures, and return those."""
    return fill_kept(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
