"""Plots of plans."""

from __future__ import annotations

import math
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from geodp.accuracy.style import COLOURS, MARKERS, draw_figure, require_matplotlib, style_axes

if TYPE_CHECKING:
    from geodp.tools.plan.api import Comparison

WRAP = 26
"""Maximal characters of a line of the legend."""


def plot_plans(
    comparison: Comparison, file: str | PathLike[str] | IO[bytes], form: str = "png"
) -> None:
    """Draw planned standard errors of blocks against their size, on logarithmic axes.

    If the number of people was estimated, a dotted line shows the people expected in a block: to
    the left of its intersection with an error, a release carries no more signal than zeros would.

    Parameters
    ----------
    comparison : Comparison
    file : path or binary stream
    form : {"png", "pdf", "svg"}

    Raises UsageError if Matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.ticker import LogLocator

    main = comparison.plans[0]
    with draw_figure((8.6, 4.8), file, form) as figure:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.09, right=0.7, top=0.86, bottom=0.12)
        errors = []
        for number, one in enumerate(comparison.plans):
            blocks = [(b.cells, b.standard_error) for b in one.blocks if b.standard_error]
            errors += [error for _, error in blocks]
            axes.plot(
                [cells for cells, _ in blocks],
                [error for _, error in blocks],
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
                markersize=4.6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                linewidth=1.5,
                label=_fold(one.name) if blocks else f"{_fold(one.name)}\n(no closed form)",
                zorder=3,
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        low, high = (end(errors, default=1.0) for end in (min, max))
        axes.set_ylim(low / 1.5, high * 1.5)
        # Ticks at 1, 2 and 5, as powers of ten alone would be too few.
        if high < 100 * low:
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        each = (main.people or 0) / main.grid.size
        if 0 < each < high * 1.5:
            ends = [1, main.grid.size]
            people = [each * n for n in ends]
            axes.plot(ends, people, ":", color="#777777", label="people expected", zorder=2)
        _frame(axes, [block.cells for block in main.blocks])
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=8.5)
        symbols = {"ε": main.event.epsilon, "ρ": main.event.rho, "δ": main.event.delta}
        budget = ", ".join(f"{s} = {float(n):.3g}" for s, n in symbols.items() if n is not None)
        title = f"Planned error by area at {budget}"
        figure.text(0.09, 0.93, title, fontsize=12.5, fontweight="bold")


def _frame(axes: Any, sizes: list[int]) -> None:
    """Set ticks at powers of two and a light grid."""
    from matplotlib.ticker import FixedLocator, NullLocator

    top = math.log2(max(sizes, default=1))
    step = max(1, math.ceil(top / 12))
    axes.xaxis.set_major_locator(FixedLocator([2.0**i for i in range(0, int(top) + 1, step)]))
    style_axes(axes, "Standard error of a block, in counts", "size of a block, in cells")
    axes.yaxis.set_minor_locator(NullLocator())


def _fold(name: str) -> str:
    """Wrap a method's name after commas, colons and hyphens.

    Examples
    --------
    >>> print(_fold("pyramid:chain=2-4-4-4-4,shares=2-2-4-4-4-4"))
    pyramid:chain=2-4-4-4-4,
      shares=2-2-4-4-4-4
    """
    lines, line = [], ""
    for part in name.replace(",", ",\0").replace("-", "-\0").split("\0"):
        if line and (len(line) + len(part) > WRAP or line.endswith(",")):
            lines.append(line)
            line = "  "
        line += part
    return "\n".join([*lines, line])
