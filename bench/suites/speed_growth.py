"""Growth of time: with cells, occupied cells, budget, threads and parts; exponents and a plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.inputs import synthetic
from bench.measure import cost
from bench.measure.refinement import METHODS, Refinement
from bench.suites.speed_parts import Rows, Sizes
from geodp.accuracy.style import COLOURS, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(10))
THREADS = (1, 2)
PARTS = (1, 4, 16, 64, 256)

MIDDLE = 37
"""Bits of n where other things vary."""

FITTED = {"output_bits": "m+ log2 n", "visited": "visited"}
"""Columns that time is fitted against, and their names."""


def measure(sizes: Sizes) -> Rows:
    """Measure a row for every method and setting; each setting varies one thing."""
    largest, middle = max(sizes.occupied), MIDDLE
    rows = []
    for bits in sizes.bits:
        for occupied in sizes.occupied:
            # In denser maps clustered draws would repeat nearly all cells, and take very long.
            if 4 * occupied <= 1 << bits:
                rows += _rows("n", bits, occupied, Fraction(1), [(1, 0)], sizes)
    for epsilon in EPSILONS:
        rows += _rows("epsilon", middle, largest, epsilon, [(1, 0)], sizes)
    ways = [(threads, 0) for threads in THREADS]
    rows += _rows("threads", middle, largest, Fraction(1), ways, sizes)
    rows += _rows("parts", middle, largest, Fraction(1), [(2, parts) for parts in PARTS], sizes)
    return rows


def _rows(
    what: str,
    bits: int,
    occupied: int,
    epsilon: Fraction,
    ways: list[tuple[int, int]],
    sizes: Sizes,
) -> Rows:
    """Run both methods on one table in several ways, in alternating rounds."""
    table = synthetic.clustered(bits, occupied)
    calls: dict[str, Callable[[], Any]] = {}
    for method in METHODS:
        refinement = Refinement(method, table, epsilon)
        for threads, parts in ways:
            calls[f"{method} {threads} {parts}"] = partial(refinement.run, threads, parts)
    fastest, results = cost.best(calls, sizes.rounds, sizes.patience / 3)
    rows: Rows = []
    for name, (key, _, visited) in results.items():
        method, *way = name.split()
        row = {"varied": what, "method": method, "bits": bits, "occupied": occupied}
        way_of = {"epsilon": float(epsilon), "threads": int(way[0]), "parts": int(way[1])}
        size = {"output": int(key.size), "output_bits": int(key.size) * bits}
        rows.append({**row, **way_of, **size, "visited": int(visited), "seconds": fastest[name]})
    return rows


def exponents(rows: Rows) -> Rows:
    """Compute slopes of log time, by least squares over all serial rows at epsilon 1."""
    slopes = []
    for method in METHODS:
        method_rows = [row for row in rows if row["method"] == method and row["varied"] == "n"]
        row: dict[str, Any] = {"method": method, "rows": len(method_rows)}
        for column, name in FITTED.items():
            row[f"time / {name}"] = slope(method_rows, column, "seconds")
        row["visited / m+ log2 n"] = slope(method_rows, "output_bits", "visited")
        slopes.append(row)
    return slopes


def slope(rows: Rows, x: str, y: str) -> float:
    """Fit a slope by least squares on logarithms."""
    across, up = (np.log([float(row[column]) for row in rows]) for column in (x, y))
    return float(np.polyfit(across, up, 1)[0])


@contextmanager
def figure_of(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """Yield a figure in the documents' style, and write it as a PNG afterwards."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings = {"font.family": "sans-serif", "font.size": 9}
    settings |= dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    with mpl.rc_context(settings):
        figure = Figure(figsize=size, dpi=150, facecolor="white")
        # Positions are given in the code, so that figures change only with the data.
        figure.set_layout_engine("none")
        FigureCanvasAgg(figure)
        yield figure
        figure.savefig(path, format="png", metadata={"Software": "geodp"})


def draw_memory(rows: Rows, path: Path) -> None:
    """Draw peak memory beyond the table's against output cells, with lines of constant bytes."""
    with figure_of(path, (6.4, 4.2)) as figure:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.11, right=0.94, top=0.88, bottom=0.13)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for number, method in enumerate(METHODS):
            for kind, face in (("clustered", COLOURS[number]), ("isolated", "white")):
                mine = [r for r in rows if (r["method"], r["table"]) == (method, kind)]
                x = [row["output"] for row in mine]
                y = [(row["peak_bytes"] - 16 * row["occupied"]) / 1e6 for row in mine]
                axes.plot(
                    x,
                    y,
                    f"{'os'[number]}-",
                    color=COLOURS[number],
                    markerfacecolor=face,
                    markersize=4.6,
                    linewidth=1,
                    label=f"{method}, {kind}",
                )
        ends = np.array([min(row["output"] for row in rows), max(row["output"] for row in rows)])
        for each in (16, 40):
            axes.plot(ends, each * ends / 1e6, "--", color="#777777", linewidth=1, zorder=1)
            axes.annotate(
                f"{each} bytes",
                (ends[1], each * ends[1] / 1e6),
                (5, -3),
                textcoords="offset points",
                color="#555555",
                fontsize=8.5,
            )
        _dressed(axes, "output cells")
        axes.set_ylabel("MB beyond the table")
        axes.legend(loc="upper left", frameon=False)
        figure.text(0.11, 0.93, "Peak memory", fontsize=12.5, fontweight="bold")


def draw(rows: Rows, path: Path) -> None:
    """Draw time against work with fitted lines; then the effect of each setting. A PNG."""
    with figure_of(path, (10.5, 6.8)) as figure:
        above, below = figure.subplots(2, 3)
        figure.subplots_adjust(
            left=0.065, right=0.985, top=0.9, bottom=0.075, wspace=0.2, hspace=0.28
        )
        grown = [row for row in rows if row["varied"] == "n"]
        middle = [row for row in grown if row["bits"] == MIDDLE]
        _work(above[0], grown, "output_bits", "m+ · log₂ n")
        _work(above[1], grown, "visited", "nodes visited")
        _lines(above[2], middle, "occupied", f"occupied cells of n = 2$^{{{MIDDLE}}}$")
        _lines(below[0], _varied(rows, "epsilon"), "epsilon", "epsilon")
        _lines(below[1], _varied(rows, "threads"), "threads", "threads")
        _lines(below[2], _varied(rows, "parts"), "parts", "parts, on 2 threads")
        below[1].set_xticks(list(THREADS), [str(threads) for threads in THREADS])
        for axes in below:
            # From 0 on, so that heights can be compared.
            axes.set_ylim(0, 1.12 * max(axes.get_ylim()))
        figure.text(
            0.065,
            0.955,
            "Seconds of a refinement",
            fontsize=12.5,
            fontweight="bold",
        )
        figure.legend(
            *above[2].get_legend_handles_labels(),
            loc="upper right",
            bbox_to_anchor=(0.99, 0.99),
            ncols=2,
            frameon=False,
        )


def _varied(rows: Rows, what: str) -> Rows:
    return [row for row in rows if row["varied"] == what]


def _dressed(axes: Any, label: str) -> None:
    axes.set_xlabel(label)
    axes.xaxis.set_minor_formatter("")
    axes.yaxis.set_minor_formatter("")
    axes.grid(which="major", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0, labelsize=8.5)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color("#999999")


def _work(axes: Any, rows: Rows, column: str, label: str) -> None:
    """Draw every table as a dot, and the fitted line with its exponent."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    for number, method in enumerate(METHODS):
        mine = [row for row in rows if row["method"] == method]
        x, y = (np.array([row[name] for row in mine], float) for name in (column, "seconds"))
        axes.plot(x, y, "os"[number], color=COLOURS[number], markersize=4.2)
        # A line on logarithms is a power law.
        power, level = np.polyfit(np.log(x), np.log(y), 1)
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, np.exp(level) * ends**power, color=COLOURS[number], linewidth=1)
        axes.annotate(
            f"{method}: exponent {power:.2f}",
            (0.04, 0.92 - 0.09 * number),
            xycoords="axes fraction",
            color=COLOURS[number],
            fontsize=8.5,
        )
    _dressed(axes, label)


def _lines(axes: Any, rows: Rows, column: str, label: str) -> None:
    axes.set_xscale("linear" if column == "threads" else "log")
    axes.set_yscale("log" if column == "occupied" else "linear")
    for number, method in enumerate(METHODS):
        mine = [row for row in rows if row["method"] == method]
        x, y = ([row[name] for row in mine] for name in (column, "seconds"))
        axes.plot(x, y, f"{'os'[number]}-", color=COLOURS[number], markersize=4.2, label=method)
    _dressed(axes, label)
