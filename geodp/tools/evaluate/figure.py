"""Plots of evaluations."""

from __future__ import annotations

import math
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from geodp.accuracy.style import COLOURS, MARKERS, draw_figure, style_axes
from geodp.privacy.loss import amounts_of

if TYPE_CHECKING:
    from geodp.tools.evaluate.result import Evaluation


def plot_errors(
    evaluation: Evaluation, file: str | PathLike[str] | IO[bytes], form: str = "png"
) -> None:
    """Draw the errors of blocks against their area, on logarithmic axes.

    Mean absolute errors on the left, root-mean-square errors on the right, as in figures 6 and 7
    of Terada et al. (2015). Bars are 95 % intervals over the trials; thin dashed lines are the
    closed forms of the RMSE. Errors of 0 have no place on the axes.

    Parameters
    ----------
    evaluation : Evaluation
    file : path or binary stream
    form : {"png", "pdf", "svg"}

    Raises UsageError if Matplotlib is not installed.
    """
    many = len(evaluation.methods)
    with draw_figure((10.5, max(4.4, 2.2 + 0.2 * many)), file, form) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        figure.subplots_adjust(left=0.075, right=0.83, top=0.84, bottom=0.155, wspace=0.06)
        for axes, measure, title in (
            (left, "mae", "Mean absolute error of a block, in counts"),
            (right, "rmse", "Root-mean-square error, in counts"),
        ):
            _frame(axes, evaluation, title)
            for number, (spec, figures) in enumerate(evaluation.methods.items()):
                _line(axes, evaluation, number, spec, figures, measure)
        _label(figure, right, evaluation)
        amounts = zip("ερδ", amounts_of(evaluation.terms.loss).values(), strict=True)
        budget = ", ".join(f"{s} = {float(n):.3g}" for s, n in amounts if n is not None)
        bars = "" if evaluation.trials == 1 else "; bars: 95 % intervals"
        dashes = any(row["closed_form"] is not None for row in evaluation.methods.values())
        figure.text(
            0.075,
            0.945,
            f"Error by area at {budget}",
            fontsize=12.5,
            fontweight="bold",
        )
        figure.text(
            0.985,
            0.949,
            f"trials: {evaluation.trials}{bars}{'; dashed: closed form' if dashes else ''}",
            ha="right",
            fontsize=8.5,
            color="#666666",
        )
        # Figures are copied into reports without their context.
        if evaluation.notice is not None:
            figure.text(0.075, 0.018, evaluation.notice, fontsize=7.5, color="#B00020")


def _frame(axes: Any, evaluation: Evaluation, title: str) -> None:
    """Set logarithmic axes, ticks at the areas, and a light grid."""
    from matplotlib.ticker import FixedLocator

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    step = -(-len(evaluation.areas) // 10)
    axes.xaxis.set_major_locator(FixedLocator(list(evaluation.areas[::step])))
    style_axes(axes, title, "area of a block, in cells")


def _line(
    axes: Any,
    evaluation: Evaluation,
    number: int,
    spec: str,
    figures: dict[str, Any],
    measure: str,
) -> None:
    colour = COLOURS[number % len(COLOURS)]
    area = np.array(evaluation.areas, float)
    error = np.where(figures[measure] > 0, figures[measure], np.nan)
    margin = 1.96 * np.nan_to_num(figures[f"{measure}_se"])
    below = np.minimum(margin, 0.9 * error)  # the axis has no 0
    axes.errorbar(
        area,
        error,
        yerr=[np.nan_to_num(below), margin],
        label=spec,
        color=colour,
        marker=MARKERS[number % len(MARKERS)],
        markersize=4.6,
        markeredgecolor="white",
        markeredgewidth=0.6,
        linewidth=1.5,
        elinewidth=1,
        capsize=2,
        zorder=3,
    )
    if measure == "rmse" and figures["closed_form"] is not None:
        closed = np.where(figures["closed_form"] > 0, figures["closed_form"], np.nan)
        axes.plot(area, closed, color=colour, linewidth=0.8, dashes=(5, 3), zorder=2)


def _label(figure: Any, axes: Any, evaluation: Evaluation) -> None:
    """Write the methods' names next to the ends of their lines, spread where they would overlap."""
    figure.canvas.draw()  # so that limits are known
    low, high = axes.get_ylim()
    span = math.log(high / low)
    ends = []
    for number, (spec, figures) in enumerate(evaluation.methods.items()):
        last = float(figures["rmse"][-1])
        at = math.log(last / low) / span if last > 0 else 0.0
        ends.append((at, number, spec))
    ends.sort()
    height = 0.155 / figure.get_figheight() / 0.685  # of a line, in parts of the axes
    wanted = _apart([at for at, _, _ in ends], height)
    for (at, number, spec), y in zip(ends, wanted, strict=True):
        colour = COLOURS[number % len(COLOURS)]
        axes.annotate(
            spec,
            xy=(evaluation.areas[-1], low * math.exp(at * span)),
            xytext=(1.075, y),
            xycoords="data",
            textcoords="axes fraction",
            va="center",
            color=colour,
            fontsize=9,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 8,
                "shrinkB": 4,
            },
        )
        axes.plot(
            [1.06],
            [y],
            MARKERS[number % len(MARKERS)],
            transform=axes.transAxes,
            clip_on=False,
            color=colour,
            markersize=4.6,
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=4,
        )


def _apart(places: list[float], distance: float) -> list[float]:
    """Move sorted positions as little as possible so that they are ``distance`` apart.

    Neighbours that would overlap form a group, spread evenly around the mean of their positions.

    Examples
    --------
    >>> _apart([0.5, 0.5, 0.9], 0.25)
    [0.375, 0.625, 0.9]
    """
    groups: list[list[float]] = []
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _top(groups[-2], distance) + distance > _bottom(
            groups[-1], distance
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_bottom(group, distance) + i * distance for group in groups for i in range(len(group))]


def _bottom(group: list[float], distance: float) -> float:
    return sum(group) / len(group) - distance * (len(group) - 1) / 2


def _top(group: list[float], distance: float) -> float:
    return _bottom(group, distance) + distance * (len(group) - 1)
