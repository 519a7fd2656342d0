"""Figures of audits."""

from __future__ import annotations

from os import PathLike
from typing import IO

from geodp.accuracy.style import COLOURS, MARKERS, draw_figure, quiet_axes
from geodp.features.audit.curve import Curve


def plot_curve(curve: Curve, file: str | PathLike[str] | IO[bytes], form: str = "png") -> None:
    """Draw delta against epsilon on a logarithmic axis: the exact one, and the bound of Li et al.

    A dotted line is ``rate**k``, which no epsilon can go below.

    Parameters
    ----------
    curve : Curve
    file : path or binary stream
    form : {"png", "pdf", "svg"}

    Raises UsageError where Matplotlib is not installed.
    """
    epsilons = [float(point.epsilon) for point in curve.points]
    lowest = float(curve.rate) ** curve.k
    with draw_figure((7.2, 4.4), file, form) as figure:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.11, right=0.96, top=0.84, bottom=0.13)
        rows = (("exact", "exact"), ("li", "bound of Li, Qardaji and Su"))
        for number, (name, label) in enumerate(rows):
            axes.plot(
                epsilons,
                [float(getattr(point, name)) for point in curve.points],
                color=COLOURS[number],
                marker=MARKERS[number],
                markersize=4.6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                linewidth=1.5,
                label=label,
                zorder=3,
            )
        axes.axhline(
            lowest, linestyle=":", color="#777777", label="all of k people drawn", zorder=2
        )
        axes.set_yscale("log")
        quiet_axes(axes, "delta", "epsilon")
        axes.legend(loc="upper right", frameon=False, fontsize=8.5)
        title = f"Sampled with rate {float(curve.rate):.6g}, counts below {curve.k} suppressed"
        figure.text(0.11, 0.93, title, fontsize=12, fontweight="bold")
