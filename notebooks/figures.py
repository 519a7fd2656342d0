"""Maps and curves of the notebooks, so that these can stay short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from IPython import get_ipython
from IPython.display import Image, Markdown
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from geodp.tools.evaluate.result import plot_errors

BLACK, ORANGE, SKY, GREEN = "#1a1a1a", "#e69f00", "#56b4e9", "#009e73"
BLUE, RED, PINK, GREY = "#0072b2", "#d55e00", "#cc79a7", "#8a8a8a"
"""The palette of Okabe and Ito, which colour-blind readers can tell apart."""

NEGATIVE = "#2fa4a0"
"""Of negative counts on maps."""

LOOKS = {
    "topdown": (BLUE, "o"),
    "pyramid": (GREEN, "s"),
    "laplace": (RED, "^"),
    "privelet": (ORANGE, "D"),
    "privelet-2d": (PINK, "v"),
    "agrid": (SKY, "P"),
    "ugrid": (BLACK, "X"),
    "dawa": (PINK, "*"),
    "mwem": (ORANGE, "p"),
    "uniform": (GREY, "d"),
    "hb": (PINK, "*"),
}
"""Colour and marker of methods; the marker tells them apart in print."""

CELL_ASPECT = 1 / (1.5 * np.cos(np.radians(36)))
"""Height over width of a half mesh around Tokyo, as seen on the Earth."""


def style() -> None:
    """Set fonts and resolution; figures keep the size that they ask for."""
    mpl.rcParams.update(
        {
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "font.size": 9.5,
            "axes.titlesize": 10.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#666666",
            "axes.grid": True,
            "grid.color": "#e4e4e4",
            "grid.linewidth": 0.7,
            "axes.axisbelow": True,
            "legend.frameon": False,
            "lines.linewidth": 1.7,
            "lines.markersize": 5,
        }
    )
    shell = get_ipython()
    if shell is not None:
        shell.run_line_magic("matplotlib", "inline")
        shell.run_line_magic("config", "InlineBackend.print_figure_kwargs = {'bbox_inches': None}")


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Markdown:
    """Return a table: the first column to the left, numbers to the right."""
    lines = ["| " + " | ".join(head) + " |", "|:--" + "|--:" * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return Markdown("\n".join(lines))


def coarser(dense: NDArray[Any], side: int) -> NDArray[Any]:
    """Return sums over squares of side x side cells."""
    rows, cols = dense.shape
    squares = dense.reshape(rows // side, side, cols // side, side)
    return squares.sum(axis=(1, 3))


def _shades() -> ListedColormap:
    # Few shades: easier to read off the bar, and small pictures.
    return ListedColormap(mpl.colormaps["magma"](np.linspace(0.2, 1, 24)))


def draw_map(
    ax: Axes, counts: NDArray[Any], limits: tuple[float, float], title: str = ""
) -> ScalarMappable:
    """Draw counts with logarithmic colours: black for 0, teal for negative ones; north is up."""
    norm = LogNorm(*limits, clip=True)
    shades = _shades()
    picture = shades(norm(np.maximum(counts, limits[0])))
    picture[counts == 0] = mpl.colors.to_rgba("black")
    picture[counts < 0] = mpl.colors.to_rgba(NEGATIVE)
    ax.imshow(picture, origin="lower", aspect=CELL_ASPECT, interpolation="nearest")
    ax.set(xticks=[], yticks=[], title=title)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    return ScalarMappable(norm, shades)


def map_figure(counts: NDArray[Any], label: str, kilometres: float) -> Figure:
    """Draw one large map with its colours and a scale bar; counts are sums of squares."""
    fig, ax = plt.subplots(figsize=(7.2, 6.75))
    colours = draw_map(ax, counts, (1, 20_000))
    bar = fig.colorbar(colours, ax=ax, location="bottom", shrink=0.45, aspect=32, pad=0.02)
    bar.set_label(f"{label} (black: 0)")
    bar.ax.xaxis.set_major_formatter("{x:,.0f}")
    bar.outline.set_visible(False)
    _scale_bar(ax, counts.shape, kilometres)
    return fig


def _scale_bar(ax: Axes, shape: tuple[int, ...], kilometres: float) -> None:
    length = 50 / kilometres
    x, y = shape[1] * 0.97, shape[0] * 0.04
    ax.plot([x - length, x], [y, y], color="white", linewidth=1.5)
    ax.text(x - length / 2, y * 1.35, "50 km", color="white", ha="center", fontsize=8.5)


def maps_figure(
    maps: Mapping[str, NDArray[Any]],
    notes: Sequence[str],
    label: str,
    *,
    rows: int = 1,
    top: float = 10_000,
) -> Figure:
    """Draw several maps in rows on the same colours up to ``top``, each with a note under it."""
    cols = -(-len(maps) // rows)
    height, width = next(iter(maps.values())).shape
    tall = 10 / cols * height / width * CELL_ASPECT + 0.6
    fig, axes = plt.subplots(rows, cols, figsize=(10, tall * rows + 0.75), squeeze=False)
    for ax, (title, counts), note in zip(axes.flat, maps.items(), notes, strict=True):
        colours = draw_map(ax, counts, (1, top), title)
        ax.set_xlabel(note, fontsize=9)
    bar = fig.colorbar(colours, ax=axes, location="bottom", shrink=0.35, aspect=34)
    bar.set_label(f"{label} (black: 0, teal: below 0)", fontsize=9)
    bar.ax.xaxis.set_major_formatter("{x:,.0f}")
    bar.outline.set_visible(False)
    return fig


def draw_errors(
    ax: Axes,
    areas: Sequence[int],
    methods: Mapping[str, Mapping[str, Any]],
    measure: str,
    *,
    closed: bool = True,
) -> None:
    """Draw errors against area on logarithmic axes, measured and, dashed, in closed form.

    Parameters
    ----------
    ax : Axes
    areas : sequence of int
    methods : mapping
        As in ``Evaluation.methods``.
    measure : {"mae", "rmse"}
    closed : bool
        Whether to draw closed forms (of the RMSE) where a method has one.
    """
    for name, figures in methods.items():
        colour, marker = LOOKS.get(name.partition(":")[0], (BLACK, "."))
        ax.plot(areas, figures[measure], color=colour, marker=marker, label=name)
        if closed and measure == "rmse" and figures["closed_form"] is not None:
            ax.plot(areas, figures["closed_form"], color=colour, linestyle="--", linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="cells of the area")
    ax.minorticks_off()
    ax.set_xticks(areas[::2], [f"{area:,}" for area in areas[::2]])
    ax.yaxis.set_major_formatter("{x:,.0f}")


def error_figure(evaluation: Any) -> Image:
    """Draw MAE and RMSE against area, as ``geodp evaluate --plot`` does."""
    file = BytesIO()
    with mpl.rc_context():
        mpl.rcdefaults()  # the package's own picture, not this notebook's style
        plot_errors(evaluation, file)
    return Image(file.getvalue(), width=1000)


def cut_figure(evaluation: Any, top: float) -> Figure:
    """Draw MAE and RMSE against area on a plain axis from 0 to ``top``; dashed: closed forms."""
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.3), sharey=True)
    for ax, measure in zip(axes, ("mae", "rmse"), strict=True):
        draw_errors(ax, evaluation.areas, evaluation.methods, measure)
        ax.set(yscale="linear", ylim=(0, top), title=measure.upper())
        ax.yaxis.set_major_formatter("{x:,.0f}")
    axes[0].set_ylabel(f"people; cut at {top:,.0f}")
    handles, names = axes[0].get_legend_handles_labels()
    handles.append(Line2D([], [], color="#555555", linestyle="--", linewidth=1))
    fig.legend(handles, [*names, "closed form"], loc="outside lower center", ncols=6)
    return fig


def panels_figure(evaluations: Mapping[str, Any], label: str) -> Figure:
    """Draw RMSE against area, an evaluation a panel, on the same axes; dashed: closed forms."""
    fig, axes = plt.subplots(1, len(evaluations), figsize=(10, 4.3), sharey=True)
    for ax, (title, found) in zip(axes, evaluations.items(), strict=True):
        draw_errors(ax, found.areas, found.methods, "rmse")
        ax.set_title(title)
    axes[0].set_ylabel(label.partition(":")[0].partition(",")[0])
    handles, names = axes[0].get_legend_handles_labels()
    handles.append(Line2D([], [], color="#555555", linestyle="--", linewidth=1))
    fig.legend(handles, [*names, "closed form"], loc="outside lower center", ncols=6)
    fig.suptitle(label, x=0.01, ha="left", fontsize=9.5, color="#555555")
    return fig


def questions_figure(errors: Mapping[tuple[str, str], float], label: str) -> Figure:
    """Draw one dot for every (question, method), a line a question."""
    questions = list(dict.fromkeys(question for question, _ in errors))
    fig, ax = plt.subplots(figsize=(8.6, 2.9))
    for (question, method), error in errors.items():
        colour, marker = LOOKS[method]
        name = method if question == questions[0] else None
        y = -questions.index(question)
        ax.plot(error, y, marker, color=colour, markersize=9, label=name)
        ax.annotate(
            f"{error:,.0f}", (error, y), (0, 9), textcoords="offset points", ha="center", fontsize=8
        )
    ax.set(xscale="log", xlabel=label, ylim=(0.6 - len(questions), 0.6))
    ax.set_yticks([-i for i in range(len(questions))], questions)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_formatter("")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    fig.legend(loc="outside upper right", ncols=3)
    return fig


def sizes_figure(sizes: Sequence[int], scaled: Mapping[str, Sequence[float]]) -> Figure:
    """Draw mean errors, as parts of all people, against the number of people."""
    fig, ax = plt.subplots(figsize=(8.6, 4.6))
    for method, errors in scaled.items():
        colour, marker = LOOKS[method]
        tree = method in ("laplace", "topdown", "pyramid")
        ax.plot(sizes, errors, color=colour, marker=marker, label=method, ls="-" if tree else "--")
    ax.set(xscale="log", yscale="log", xlabel="people on the map, ε = 0.1")
    ax.set_ylabel("mean error of a rectangle / all people")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:.4%}".rstrip("0%").rstrip(".") + " %")
    ax.minorticks_off()
    fig.legend(loc="outside right center")
    return fig


def areas_figure(
    areas: Sequence[int], curves: Mapping[str, Sequence[float]], truth: Sequence[float]
) -> Figure:
    """Draw errors of blocks against their cells; grey: what the blocks hold (root mean square)."""
    fig, ax = plt.subplots(figsize=(8.6, 4.6))
    ax.fill_between(areas, truth, color=GREY, alpha=0.18, linewidth=0, label="what blocks hold")
    colours = (RED, ORANGE, GREEN, BLUE, PINK, BLACK)
    marks = "^DsoPX"
    for (name, errors), colour, mark in zip(curves.items(), colours, marks, strict=False):
        ax.plot(areas, errors, color=colour, marker=mark, label=name)
    ax.set(xscale="log", yscale="log", xlabel="cells of the block", ylabel="RMSE in devices")
    ax.minorticks_off()
    ax.set_xticks(areas, [f"{area:,}" for area in areas])
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_ylim(bottom=min(min(errors) for errors in curves.values()) / 2)
    fig.legend(loc="outside right center")
    return fig


def isolated_figure(alone: NDArray[Any], among: NDArray[Any], bias: float) -> Figure:
    """Draw the errors of a cell by itself and of the same cell among its like."""
    fig, ax = plt.subplots(figsize=(8.6, 3.4))
    edges = np.arange(-1000, 601, 40)
    for error, colour, label in (
        (among, SKY, "among cells like it"),
        (alone, RED, "alone in an empty region"),
    ):
        weights = np.full(error.size, 100 / error.size)
        ax.hist(error, edges, weights=weights, color=colour, alpha=0.65, label=label)
    ax.axvline(0, color=BLACK, linewidth=1)
    ax.axvline(
        bias, color=RED, linestyle="--", linewidth=1.5, label=f"bias on the card: −{-bias:.0f}"
    )
    ax.set(xlabel="released less true count of a cell of 20,000 people", ylabel="% of draws")
    ax.legend(loc="upper left")
    return fig


def months_figure(sums: Mapping[str, Sequence[int]], label: str) -> Figure:
    """Draw sums by month; the first are true, and black."""
    fig, ax = plt.subplots(figsize=(7.2, 3.2))
    looks = [(BLACK, "o", "--"), (RED, "^", "-"), (ORANGE, "D", "-"), (GREEN, "s", "-")]
    for (name, values), (colour, marker, line) in zip(sums.items(), looks, strict=True):
        month = range(1, len(values) + 1)
        ax.plot(month, values, color=colour, marker=marker, linestyle=line, label=name)
    ax.set(title=label, xticks=range(1, 13), ylim=(0, None))
    ax.legend(fontsize=8.5)
    return fig
