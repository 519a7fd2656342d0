"""A figure of the time of commands: a bar for each input, divided by phase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.measure.phases import END, INTERVALS, MECHANISM, READ, REST, ROWS, START, TRIAL
from bench.suites.speed_growth import figure_of
from geodp.accuracy.style import INK

PARTS = {
    "start and end": ((START, END), "#9aa5b1"),
    "read": ((READ,), "#4c78a8"),
    "mechanism": ((MECHANISM, TRIAL), "#e45756"),
    "rows, intervals": ((ROWS, INTERVALS), "#f2a154"),
    "CSV": (("CSV",), "#d9c94a"),
    "Parquet": (("Parquet",), "#8cbf6a"),
    "GeoPackage": (("GeoPackage",), "#4f9d7e"),
    "GeoTIFF": (("GeoTIFF",), "#7a6fae"),
    "map": (("map",), "#b88fc0"),
    "card, ledger": ((REST,), "#c9c2b8"),
}
"""Segments of a bar: phases, and a colour."""

MIN_SHARE = 0.06
"""Smallest share of a bar that has space for its number."""


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw the share of each part of `geodp publish`: a PNG."""
    inputs = list(dict.fromkeys(row["input"] for row in result["phases"]))
    with figure_of(path, (8.4, 0.62 * len(inputs) + 1.5)) as figure:
        axes = figure.subplots()
        below = 0.8 / (0.62 * len(inputs) + 1.5)
        figure.subplots_adjust(left=0.2, right=0.985, top=1 - below * 0.5, bottom=below)
        for number, name in enumerate(inputs):
            mine = {r["phase"]: r["cpu_seconds"] for r in result["phases"] if r["input"] == name}
            total, start = sum(mine.values()), 0.0
            for label, (phases, colour) in PARTS.items():
                share = sum(mine[phase] for phase in phases) / total
                axes.barh(
                    -number,
                    share,
                    left=start,
                    color=colour,
                    height=0.62,
                    label=label if number == 0 else None,
                    edgecolor="white",
                    linewidth=0.8,
                )
                if share >= MIN_SHARE:
                    middle, took = start + share / 2, f"{share * total:.2g}"
                    axes.text(middle, -number, took, ha="center", va="center", fontsize=8)
                start += share
        totals = [
            sum(r["cpu_seconds"] for r in result["phases"] if r["input"] == name) for name in inputs
        ]
        labels = [f"{name}\n{total:.3g} s" for name, total in zip(inputs, totals, strict=True)]
        axes.set_yticks([-number for number in range(len(inputs))], labels)
        # Shares and not seconds, as inputs differ by orders of magnitude.
        axes.set_xlim(0, 1)
        axes.set_xticks([])
        for side in axes.spines.values():
            side.set_visible(False)
        axes.tick_params(length=0)
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.4, 0.0), ncols=5, frameon=False, fontsize=8.5
        )
        title = "geodp publish: seconds of processor time by phase"
        figure.text(0.02, 1 - below * 0.32, title, fontsize=11.5, fontweight="bold", color=INK)
