"""Coverage and width of intervals with a prior and with public totals, and of isolated islands."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import public, regions
from bench.inputs.isolated import place_isolated
from bench.suites.informed import PAIRS
from bench.suites.methods import names
from bench.tables import fill_saved, markdown, table
from geodp.grid.region import Region
from geodp.release.settlements import SETTLEMENT_KINDS, SIZES
from geodp.release.simulation import CLOSED_FORM, SIMULATION, KeyRuns
from geodp.table.public_totals import PublicTotals

TITLE = """\
Per cent of intervals that hold the true sum, by closed form / by simulation, and their mean width
over twice the 95 % point of the absolute error over releases of the true table (its bias included).
  prior      the later of two censuses with the earlier one as its prior
  totals     public totals of all areas of one level
  islands    own cells of settlements that were placed with nobody else within 16 cells"""

CASES = ("prior", "totals", "islands")
TOTALS, LEVEL = ("hiroshima-2020-wide", "kanto"), 6
"""Maps with public totals, and the length of the codes of areas that have them."""

MAPS = range(101, 103)
"""Seeds of placed islands, two for each map."""

ISLANDS = ("kanto", "europe-2018-9-8")
REGIONS = 40
SAVED = Path(__file__).parents[1] / "results" / "simulated.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uncertainty.md"
MARKS = ("<!-- bench:simulated -->", "<!-- /bench:simulated -->")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A true table, the regions of every kind, and how it is published and simulated."""

    source: geodp.CountTable
    kinds: dict[str, list[Region]]
    publish: dict[str, Any] = field(default_factory=dict)
    simulate: dict[str, Any] = field(default_factory=dict)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument(
        "--cases",
        type=names,
        default=list(CASES),
        metavar="A;B",
        help="the kept figures of others stay",
    )
    parser.add_argument("--epsilons", type=lambda text: text.split(","), default=["1/10", "1"])
    parser.add_argument("--releases", type=int, default=2, help="of which intervals are asked")
    parser.add_argument("--trials", type=int, default=60, help="releases that tell the error")


def measure(
    data: Path | None, cases: list[str], epsilons: list[str], releases: int, trials: int
) -> dict[str, Any]:
    """Measure coverage and width by case, map, budget and kind of region."""
    makers = {"prior": with_prior, "totals": with_totals, "islands": with_islands}
    rows = [
        {"case": name, "map": title, "epsilon": epsilon, "kind": kind, **figures}
        for name in cases
        for title, case in makers[name](data)
        for epsilon in epsilons
        for kind, figures in cover(case, Fraction(epsilon), releases, trials).items()
    ]
    settings = {name: {"releases": releases, "trials": trials} for name in cases}
    if SAVED.is_file() and set(cases) != set(CASES):
        saved = json.loads(SAVED.read_text(encoding="utf-8"))
        rows += [row for row in saved["rows"] if row["case"] not in cases]
        settings = saved["settings"] | settings
    return {"rows": sorted(rows, key=lambda row: CASES.index(row["case"])), "settings": settings}


def with_prior(data: Path | None) -> Any:
    """Yield pairs of censuses, the earlier one as the prior, with settlements that it lacks."""
    for title, (before, now) in PAIRS.items():
        source, kinds = _draw(public.load(now, data))
        prior = public.load(before, data)
        yield (
            title,
            Case(source, kinds, {"prior": prior, "prior_source": "a census"}, {"prior": prior}),
        )


def with_totals(data: Path | None) -> Any:
    """Yield maps with public totals of areas."""
    for name in TOTALS:
        source, kinds = _draw(public.load(name, data))
        yield name, Case(source, kinds, {"totals": totals_of(source)})


def totals_of(source: geodp.CountTable) -> PublicTotals:
    """Make public totals of all inhabited areas with codes of ``LEVEL`` digits."""
    grid = source.grid
    cells = grid.places[0].format(*grid.decode(source.key)[:2])
    codes = sorted({code[:LEVEL] for code in cells})
    held = {code: int(source.counts_at(Region.of(grid, code).key).sum()) for code in codes}
    return PublicTotals.of(grid, held, "a census")


def with_islands(data: Path | None) -> Any:
    """Yield maps with isolated settlements, by their people."""
    for name in ISLANDS:
        towns = public.load(name, data)
        for number, seed in enumerate(MAPS):
            placed = place_isolated(towns, SIZES[0], np.random.default_rng(seed))
            kinds: dict[str, list[Region]] = {}
            for kind, cells in zip(placed.kinds, placed.cells, strict=True):
                first, past = SIZES[SETTLEMENT_KINDS[kind][0] : SETTLEMENT_KINDS[kind][0] + 2]
                region = Region(towns.grid, np.sort(cells))
                kinds.setdefault(f"{first:,}-{past:,} people", []).append(region)
            yield f"{name} {number + 1}", Case(placed.table, kinds)


def _draw(towns: geodp.CountTable) -> tuple[geodp.CountTable, dict[str, list[Region]]]:
    """Place settlements on a map, and draw regions of every kind."""
    random = np.random.default_rng(regions.SEED)
    source, villages = regions.place_villages(towns, random)
    return source, regions.draw(source, villages, REGIONS, random)


def cover(case: Case, epsilon: Fraction, releases: int, trials: int) -> dict[str, dict[str, float]]:
    """Measure the figures of every kind of region."""
    every = [region for group in case.kinds.values() for region in group]
    kind = np.repeat([*case.kinds], [len(group) for group in case.kinds.values()])
    runs = KeyRuns.of(every)
    truth = runs.sums(case.source)

    def release(number: int) -> geodp.Release:
        key = geodp.NoiseKey(number.to_bytes(32, "little"))
        terms = {"epsilon": epsilon, "contribution": 1, "key": key}
        return geodp.publish(case.source, **terms, **case.publish)

    errors = [np.abs(runs.sums(release(i + 1).table) - truth) for i in range(trials)]
    needed = 2 * np.quantile(errors, 0.95, axis=0)
    rows = []
    for number in range(releases):
        # Apart from the releases that tell the error.
        released, row = release(10**6 + number), []
        for method, more in ((CLOSED_FORM, {}), (SIMULATION, case.simulate)):
            estimates = released.estimate_all(every, method=method, **more)
            ends = np.array([(one.low, one.high) for one in estimates]).T
            row += [(ends[0] <= truth) & (truth <= ends[1]), ends[1] - ends[0]]
        rows.append(np.array(row, np.float64))
    held: Floats = np.mean(rows, axis=0)
    return {
        name: {
            "intervals": int((kind == name).sum()) * releases,
            "closed": float(held[0, kind == name].mean()),
            "simulated": float(held[2, kind == name].mean()),
            "wide": float(held[1, kind == name].sum()),
            "narrow": float(held[3, kind == name].sum()),
            "needed": float(needed[kind == name].sum()),
        }
        for name in case.kinds
    }


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table: kinds of regions over all maps, by budget."""
    rows, table_lines = result["rows"], []
    for case, kind in dict.fromkeys((row["case"], row["kind"]) for row in rows):
        line: dict[str, Any] = {"case": case, "regions": kind}
        for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
            same = {"case": case, "kind": kind, "epsilon": epsilon}
            some = [row for row in rows if same.items() <= row.items()]
            line[f"intervals, {epsilon}"] = sum(row["intervals"] for row in some)
            line[f"held and width, {epsilon}"] = _cell(some) if some else "-"
        table_lines.append(line)
    return table_lines


def _cell(rows: list[dict[str, Any]]) -> str:
    """Format coverage and width over the maps."""
    weight = [row["intervals"] for row in rows]
    held = [100 * np.average([row[way] for row in rows], weights=weight) for way in HELD]
    needed = max(sum(row["needed"] for row in rows), 1e-9)
    wide, narrow = (sum(row[way] for row in rows) / needed for way in ("wide", "narrow"))
    return f"{held[0]:.1f} / {held[1]:.1f}; {wide:.1f} / {narrow:.2f}"


HELD = ("closed", "simulated")


def show(result: dict[str, Any]) -> str:
    """Format kinds of regions by case and budget."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
