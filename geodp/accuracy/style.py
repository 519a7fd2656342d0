"""Style of plots of errors: colours, markers, axes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import IO, Any

from geodp.errors import require_library

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
    *("#332288", "#999933", "#882255", "#117733", "#44AA99", "#CC6677"),
)
"""Colours by Okabe and Ito (2008), then Tol's muted ones, which colour-blind readers
distinguish.
"""

DASHES = ("-", "--", "-.", ":")
"""Styles of lines, so that curves differ without their colours, too."""

MARKERS = "osD^vPX<>hp"
"""Markers; their number and that of colours are coprime, so that pairs repeat very late."""


INK, FAINT = "#333333", "#E4E4E4"


def style_curve(number: int) -> dict[str, Any]:
    """Return the style of a curve with markers, by its number, as keywords of Matplotlib."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4.6,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "linewidth": 1.5,
        "zorder": 3,
    }


@contextmanager
def draw_figure(
    size: tuple[float, float], file: str | PathLike[str] | IO[bytes], form: str
) -> Iterator[Any]:
    """Yield an empty figure, and save it after the block."""
    require_library("matplotlib", "A plot", "plots")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings = {"font.family": "sans-serif", "font.size": 9, "svg.hashsalt": "geodp"}
    inked = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    with mpl.rc_context(settings | dict.fromkeys(inked, INK)):
        figure = Figure(figsize=size, dpi=150, facecolor="white")
        figure.set_layout_engine("none")  # whatever the caller's defaults are
        FigureCanvasAgg(figure)
        yield figure
        # Without the salt, dates and versions the same numbers give the same bytes, which tests
        # and releases compare.
        metadata = {"png": {"Software": "geodp"}, "pdf": {"CreationDate": None}}
        figure.savefig(file, format=form, metadata=metadata.get(form, {"Date": None}))


def style_axes(axes: Any, title: str, label: str) -> None:
    """Set powers of two on the x axis, plain numbers on the y axis, and a light grid."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"$2^{{{round(math.log2(x))}}}$"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.10g}"))
    quiet_axes(axes, title, label)


def quiet_axes(axes: Any, title: str, label: str) -> None:
    """Set a title on the left and the label of the x axis, and draw a light grid."""
    axes.set_xlabel(label)
    axes.set_title(title, fontsize=10, loc="left", color=INK)
    axes.grid(which="major", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0, labelsize=8.5)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color("#999999")
