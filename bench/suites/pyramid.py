"""The pyramid on public statistics: compared with the paper's method, and with its own plans."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.inputs import public
from bench.parts import add_parts, choose_parts
from bench.suites import pyramid_parts
from bench.suites.pyramid_parts import LARGEST_MEASURED, PAPER, PYRAMID, Rows
from bench.tables import excerpt, fill, markdown, table

TITLE = """\
The pyramid (default settings if not named), mean absolute errors of blocks of 2^0 ... 2^12 cells.
  ratio                   error of the pyramid over that of the paper's method, below 1 is better
  (...)                   a table of zeros would have a smaller error than the paper's method
  above 2^12              the largest closed-form ratio of larger blocks, which are few
  output                  cells of the release that are not 0"""

SURE = 0.007
"""Relative standard error below which a ratio counts as well measured."""

SAVED = Path(__file__).parents[1] / "results" / "pyramid.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "pyramid.md"
PARTS: dict[str, Callable[[Path | None, int], Rows]] = {
    "kanto": lambda folder, trials: pyramid_parts.kanto(folder, trials),
    "sizes": lambda folder, trials: pyramid_parts.sizes(folder, trials),
    "domains": lambda folder, trials: pyramid_parts.domains(),
    "ratios": lambda folder, trials: pyramid_parts.ratios(folder, pyramid_parts.TABLES, trials),
    "large": lambda folder, trials: pyramid_parts.ratios(
        folder, pyramid_parts.LARGE_TABLES, trials
    ),
    "gaussian": lambda folder, trials: pyramid_parts.gaussian(2 * trials),
    "gains": lambda folder, trials: pyramid_parts.gains(),
    "planned": lambda folder, trials: pyramid_parts.planned(2 * trials),
}
"""Measurements, each a table of the document."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    add_parts(parser, PARTS)
    parser.add_argument(
        "--trials", type=int, default=100, help="releases of each method on the Kanto window"
    )


def measure(
    data: Path | None = None, parts: list[str] | None = None, trials: int = 100
) -> dict[str, Any]:
    """Measure rows of the chosen parts; others are taken from the saved figures."""
    chosen, saved = choose_parts(parts, PARTS, SAVED)
    # Fails now where data are missing, rather than after a long measurement.
    if set(chosen) & {"kanto", "sizes", "ratios", "large"}:
        public.load("kanto", data)
    measured = {part: PARTS[part](data, trials) for part in chosen}
    return {part: measured.get(part, saved.get(part, [])) for part in PARTS}


def show(result: dict[str, Any]) -> str:
    """Format all tables that have rows."""
    lines = {part: LINES[part](result[part]) for part in PARTS if result[part]}
    return "\n\n".join(f"{part}\n{table(rows)}" for part, rows in lines.items())


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, rows in excerpts(result).items():
        fill(DOCUMENT, marks(part), markdown(rows))
    return result


def excerpts(result: dict[str, Rows]) -> dict[str, Rows]:
    """Build the document's tables: the smaller budget, few sizes, and the farthest plan."""
    tables = {part: LINES[part](result[part]) for part in PARTS}
    between = ["2^2", "2^6", "2^10", "2^14", "2^16"]
    small = [*between[:3], "n", "epsilon", "2^12", "output cells"]
    return {
        "kanto": excerpt(tables["kanto"], {"": [f"`{method}`" for method in SHOWN]}, between),
        "domains": tables["domains"][:1],
        "ratios": excerpt(tables["ratios"], {"epsilon": ["0.1"], "table": EXTREMES}, small),
        "large": excerpt(
            tables["large"],
            {"epsilon": ["0.1"]},
            ["epsilon", *small[:4], *(f"RMSE 2^{i}" for i in (0, 8, 16, 24))],
        ),
        "gaussian": [
            {name: str(value).partition(" ")[0] for name, value in row.items()}
            for row in excerpt(tables["gaussian"], without=between)
        ],
        "gains": excerpt(
            tables["gains"],
            {"standard error of": [GAIN], "epsilon": ["0.1"]},
            ["standard error of", "epsilon", "median size"],
        ),
        "planned": tables["planned"],
    }


EXTREMES = [
    public.SOURCES[name].title
    for name in ("kanto", "europe-2018-9-8", "samoa-100m", "flow", "taxi")
]
"""Tables that the document shows: a dense one, and those where the pyramid gains least."""

SHOWN = (PAPER, PYRAMID, "pyramid:setting=fine", "laplace")
"""Methods of the paper's window that the document shows."""

GAIN = "pyramid, pure / quadtree, Gaussian"
"""Standard errors whose ratio the document shows."""


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a table of the document."""
    return f"<!-- bench:pyramid:{part} -->", f"<!-- /bench:pyramid:{part} -->"


def _power(cells: int) -> str:
    return f"2^{cells.bit_length() - 1}"


def _decimals(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}"


def _kanto(rows: Rows) -> Rows:
    by_method = {row["method"]: row for row in rows}
    lines = [
        {
            "": f"`{row['method']}`",
            **{_power(a): float(f"{e:.3g}") for a, e in zip(row["areas"], row["mae"], strict=True)},
            "output": round(row["output"]),
        }
        for row in rows
    ]
    ours, theirs = by_method[PYRAMID], by_method[PAPER]
    lines.append({"": "pyramid / topdown, as measured to 2^12", **_compared(ours, theirs)})
    for row in rows:
        forms = {
            _power(a): float(f"{e:.3g}")
            for a, e in zip(row["areas"], row["closed_form"], strict=True)
        }
        lines.append({"": f"closed-form RMSE of `{row['method']}`", **forms, "output": None})
    return lines


def _compared(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Compute MAE ratios up to 2^12 cells, closed-form ratios above."""
    ratios: dict[str, Any] = {}
    for i, cells in enumerate(ours["areas"]):
        name = "mae" if cells <= LARGEST_MEASURED else "closed_form"
        ratios[_power(cells)] = _decimals(ours[name][i] / theirs[name][i])
    return {**ratios, "output": _decimals(ours["output"] / theirs["output"])}


def _ratios(rows: Rows) -> Rows:
    """Build a line for each table and budget; in brackets where zeros would be closer."""
    lines = []
    for row in rows:
        # Larger blocks are few, so their measured ratios are left to closed forms.
        few = [i for i, cells in enumerate(row["areas"]) if cells <= LARGEST_MEASURED]
        largest = max(few, key=lambda i: row["ratio"][i])
        above = row["closed_ratio"][len(few) :]
        # Small domains have no large blocks; their columns stay empty.
        shown = {f"2^{2 * i}": "-" for i in range(7)}
        for i in few:
            figure = _decimals(row["ratio"][i])
            # Where publishing zeros is better, a ratio of two useless errors says little.
            faint = row["mae_of_zeros"][i] < row["mae"][PAPER][i]
            shown[_power(row["areas"][i])] = f"({figure})" if faint else figure
        lines.append(
            {
                "table": row["title"],
                "n": f"2^{row['bits']}",
                "epsilon": row["epsilon"],
                **{name: shown[name] for name in (f"2^{2 * i}" for i in range(7))},
                "largest": f"{row['ratio'][largest]:.3f} ± {row['ratio_se'][largest]:.3f}, "
                f"{_power(row['areas'][largest])}",
                "above 2^12": _decimals(max(above)) if above else "-",
                "output cells": _both_figures(row["output"], 0),
            }
        )
    return lines


def _large(rows: Rows) -> Rows:
    """Build a line for each table and budget, with errors."""
    lines = _ratios(rows)
    for line, row in zip(lines, rows, strict=True):
        for i in (0, 4, 8, 12):
            both = {spec: errors[i] for spec, errors in row["closed_form"].items()}
            line[f"RMSE {_power(row['areas'][i])}"] = _both_figures(both, 1)
    return lines


def _both_figures(both: dict[str, float], digits: int) -> str:
    """Format the pyramid's figure and the paper's."""
    return f"{both[PYRAMID]:,.{digits}f} / {both[PAPER]:,.{digits}f}"


def _gaussian(rows: Rows) -> Rows:
    return [
        {
            "measured / closed form": f"`{row['method']}`",
            **{
                _power(cells): f"{ratio:.3f} ± {error:.3f}"
                for cells, ratio, error in zip(
                    row["areas"], row["ratio"], row["ratio_se"], strict=True
                )
            },
        }
        for row in rows
    ]


def _planned(rows: Rows) -> Rows:
    """Compute how far off plans are: for sizes that are measured well enough, and for others."""
    deviations, others = [], []
    for row in rows:
        each = list(zip(row["areas"], row["ratio"], row["ratio_se"], strict=True))
        # A plan is only judged where its ratio is measured exactly enough.
        sure = [(abs(r - 1), e, cells) for cells, r, e in each if e < SURE]
        deviations.append(max(sure))
        others += [abs(r - 1) / e for _, r, e in each if e >= SURE]
    deviation, error, cells = max(deviations)
    return [
        {
            "plans": len(rows),
            "farthest off": f"{deviation:.2%} ± {error:.2%}, {_power(cells)}",
            "others, in standard errors": _decimals(max(others), 1),
        }
    ]


def _gains(rows: Rows) -> Rows:
    names = {
        "over_paper": "topdown, pure / quadtree, Gaussian",
        "over_pyramid": GAIN,
        "wide_over_quadtree": "16-ary, Gaussian / quadtree, Gaussian",
    }
    lines = []
    for row in rows:
        for name, title in names.items():
            values = row[name]
            middle = sorted(values)[len(values) // 2]
            lines.append(
                {
                    "standard error of": title,
                    "n": f"2^{row['bits']}",
                    "epsilon": row["epsilon"],
                    "cells": _decimals(values[0]),
                    "median size": _decimals(middle),
                    "smallest": _decimals(min(values)),
                    "largest": _decimals(max(values)),
                }
            )
    return lines


def _sizes(rows: Rows) -> Rows:
    measured = {
        _power(row["area"]): _decimals(row["ratio"])
        for row in rows
        if row["area"] <= LARGEST_MEASURED
    }
    closed = {_power(row["area"]): _decimals(row["closed_ratio"]) for row in rows}
    return [
        {"": "measured", **{name: measured.get(name, "-") for name in closed}},
        {"": "closed form", **closed},
    ]


def _domains(rows: Rows) -> Rows:
    """Build lines for every small domain, and some large ones."""
    shown = [row for row in rows if row["bits"] <= 10 or row["bits"] in (13, 18, 26, 37)]
    return [
        {
            "pyramid / topdown": "largest",
            **{f"2^{r['bits']}": f"{r['largest']:.2f}" for r in shown},
        },
        {"pyramid / topdown": "at blocks of", **{f"2^{r['bits']}": _power(r["at"]) for r in shown}},
    ]


LINES: dict[str, Callable[[Rows], Rows]] = {
    "kanto": _kanto,
    "sizes": _sizes,
    "domains": _domains,
    "ratios": _ratios,
    "large": _large,
    "gaussian": _gaussian,
    "gains": _gains,
    "planned": _planned,
}
"""Functions that build the lines of each part's table."""
