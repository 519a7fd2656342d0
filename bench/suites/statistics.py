"""Statistics of released maps: biases as estimated from a release, compared with measured ones."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs import public
from bench.inputs.families import draw_families
from bench.measure.regions import CellSets, MapDifference
from bench.tables import excerpt, fill, markdown, paragraph, table
from geodp.table.proxy import Proxy
from geodp.tools.statistics.estimate import estimate_statistics, list_figures, square_kilometres

TITLE = """\
Statistics of released maps, in per cent of the true ones.
  measured                bias over releases of the true table
  estimated, basis        from one release
  right                   within 30 % of the measured; or by less than a standard error (~), or both
                          below 1 % (<1); no: none of these"""

MAPS = (
    *("kanto", "hiroshima-2020", "germany-1km", "europe-2018-7-5", "europe-2018-9-8"),
    *("samoa-100m", "europe-2011-9-8"),
)

SUMS = ("polygons", "municipalities")
SUM_MAPS = ("kanto", "hiroshima-2020", "europe-2018-9-8")
"""Regions of whose sums the error is measured, with aligned squares, and the maps."""

SEED, REGIONS = 20150901, 300
"""Seed and number of aligned squares."""

RIGHT, SMALL = 0.3, 0.01
"""Parts of the measured bias, and of the value: see ``TITLE``."""

SYMBOLS = {"yes": "", "~": "~", "<1": "<1", "no": "!"}

SAVED = Path(__file__).parents[1] / "results" / "statistics.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "statistics.md"
MARKS = ("<!-- bench:statistics -->", "<!-- /bench:statistics -->")
SUM_MARKS = ("<!-- bench:statistics:sums -->", "<!-- /bench:statistics:sums -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--maps", type=lambda text: text.split(","), metavar="A,B")
    parser.add_argument("--trials", type=int, default=8, help="releases of the true table")
    parser.add_argument("--sums", type=int, default=40, help="the same for errors of sums; 0: none")
    parser.add_argument(
        "--epsilons", type=lambda text: text.split(","), default=["0.1", "1"], metavar="A,B"
    )


def measure(
    data: Path | None = None,
    maps: list[str] | None = None,
    trials: int = 8,
    sums: int = 40,
    epsilons: list[str] | None = None,
) -> dict[str, Any]:
    """Measure a row for each map, budget and statistic, and one for each family of sums.

    Saved rows of other maps and budgets stay, and those of sums where none are measured.
    """
    names = maps or [*MAPS]
    saved = json.loads(SAVED.read_text(encoding="utf-8")) if SAVED.is_file() else {}
    remeasured = {(name, epsilon) for name in names for epsilon in epsilons or ["0.1", "1"]}
    rows, errors = (
        [row for row in saved.get(kind, []) if (row["map"], row["epsilon"]) not in replaced]
        for kind, replaced in (("rows", remeasured), ("sums", remeasured if sums else ()))
    )
    for name in names:
        source = public.load(name, data)
        for epsilon in epsilons or ["0.1", "1"]:
            rows += _rows(name, source, epsilon, trials)
            if name in SUM_MAPS and sums:
                errors += _sums(name, source, epsilon, sums)
    return {"trials": trials, "sums": errors, "rows": rows}


def release_of(source: geodp.CountTable, epsilon: str, trial: int) -> geodp.Release:
    """Make one of the releases that are measured."""
    key = geodp.NoiseKey(hashlib.sha256(f"bench statistics {trial}".encode()).digest())
    return geodp.publish(source, epsilon=epsilon, key=key, contribution=1)


def _rows(name: str, source: geodp.CountTable, epsilon: str, trials: int) -> list[dict[str, Any]]:
    """Estimate from the first release, and measure over all."""
    figures = list_figures(square_kilometres(source.grid))

    def compute(cells: Any) -> Any:
        dense = np.asarray(cells.to_dense(), np.float64)
        return np.array([figure.of(dense) for figure in figures.values()])

    # The first release is both measured and the one that is estimated from.
    true, first = compute(source), release_of(source, epsilon, 0)
    shown = [compute(first.table)]
    shown += [compute(release_of(source, epsilon, i).table) for i in range(1, trials)]
    bias = np.mean(shown, axis=0) - true
    return [
        {
            "map": name,
            "epsilon": epsilon,
            "statistic": estimate.name,
            "true": float(true[i]),
            "measured": float(bias[i]),
            "estimated": estimate.bias,
            "standard_error": estimate.standard_error,
            "corrected": getattr(estimate.corrected, "value", None),
            "low": getattr(estimate.corrected, "low", None),
            "high": getattr(estimate.corrected, "high", None),
            "basis": estimate.basis,
            "right": verdict(estimate, float(bias[i]), float(true[i])),
        }
        for i, estimate in enumerate(estimate_statistics(first))
    ]


def verdict(estimate: Any, measured: float, true: float) -> str:
    """Compare an estimated bias with the measured one."""
    if estimate.bias is None:
        return ""
    deviation = abs(estimate.bias - measured)
    if deviation <= RIGHT * abs(measured):
        return "yes"
    if deviation <= estimate.standard_error:
        return "~"
    # Two biases below 1 % agree for every purpose, whatever their ratio is.
    return "<1" if max(abs(estimate.bias), abs(measured)) <= SMALL * abs(true) else "no"


def _sums(name: str, source: geodp.CountTable, epsilon: str, trials: int) -> list[dict[str, Any]]:
    """Measure root-mean-square errors of sums of regions."""
    grid = source.grid
    families = draw_families(SUMS, grid, Proxy(source, name))
    groups: list[Any] = [group for one in families for group in one.groups]
    for cells in (1, 64):
        draw = np.random.default_rng(SEED).integers(grid.size // cells, size=REGIONS)
        first = np.unique(draw).astype(np.uint64) * np.uint64(cells)
        # Keys of an aligned square are consecutive in Morton order.
        keys = [k + np.arange(cells, dtype=np.uint64) for k in first]
        # Squares at the edge have fewer cells.
        inside = [k[grid.contains_keys(k)] for k in keys]
        groups.append(CellSets.of(f"{REGIONS} aligned squares of {cells} cells", inside))
    releases = [release_of(source, epsilon, i).table for i in range(trials)]
    differences = [MapDifference.of(source, one) for one in releases]
    rows = []
    for group in groups:
        errors = np.array([group.sums(one)[1] for one in differences])
        measured = float(np.sqrt((errors**2).mean()))
        rows.append({"map": name, "epsilon": epsilon, "regions": group.name, "measured": measured})
    return rows


def show(result: dict[str, Any]) -> str:
    """Format biases, then errors of sums."""
    return "\n\n".join([table(lines(result)), counted(result), table(result["sums"])])


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build a row for each map and budget: measured and estimated bias of each statistic."""
    line_of: dict[tuple[str, str], dict[str, Any]] = {}
    for row in result["rows"]:
        place = row["map"], row["epsilon"]
        line = line_of.setdefault(place, {"map": place[0], "epsilon": place[1]})
        line[row["statistic"]] = _cell(row)
    return list(line_of.values())


def _cell(row: dict[str, Any]) -> str:
    """Format measured and estimated bias in per cent of the true value."""
    # Per cent of 0 are undefined.
    if not row["true"]:
        return ""
    measured = f"{100 * row['measured'] / row['true']:+.1f}"
    if row["estimated"] is None:
        return f"{measured} / ?"
    return (
        f"{measured} / {100 * row['estimated'] / row['true']:+.1f} {SYMBOLS[row['right']]}".strip()
    )


def counted(result: dict[str, Any]) -> str:
    """Describe in a sentence how many biases were estimated, and how many of them are right."""
    rows = [row for row in result["rows"] if row["true"]]
    estimated = [row for row in rows if row["estimated"] is not None]
    right = {
        name: sum(row["right"] == name for row in estimated) for name in ("yes", "~", "<1", "no")
    }
    wrong = ", ".join(
        f"{row['statistic']} of {row['map']} at {row['epsilon']}"
        for row in estimated
        if row["right"] == "no"
    )
    held = sum(row["low"] <= row["true"] <= row["high"] for row in estimated)
    return paragraph(
        f"Of {len(rows)} biases {len(estimated)} were estimated: {right['yes']} within 30 % of the "
        f"measured, {right['~']} within a standard error, {right['<1']} below 1 % as measured, "
        f"{right['no']} wrong ({wrong or 'none'}). Of their intervals {held} hold the true value."
    )


def largest(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows: biases of 1 % and more, as measured."""
    return [
        {"map": row["map"], "epsilon": row["epsilon"], "statistic": row["statistic"]}
        | {"measured / estimated": _cell(row)}
        for row in result["rows"]
        if row["true"] and abs(row["measured"] / row["true"]) >= 0.01
    ]


def sums_by_map(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows of errors of sums at the smaller budget: families, by map."""
    line_of: dict[str, dict[str, Any]] = {}
    for row in excerpt(result["sums"], {"epsilon": ["0.1"]}):
        line = line_of.setdefault(row["regions"], {"regions": row["regions"]})
        line[row["map"]] = row["measured"]
    return [*line_of.values()]


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    fill(DOCUMENT, MARKS, f"{markdown(largest(result))}\n\n{counted(result)}")
    fill(DOCUMENT, SUM_MARKS, markdown(sums_by_map(result)))
    return result
