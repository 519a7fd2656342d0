"""Draw the power of a planned test."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import IO, Any

import numpy as np

from geodp.accuracy.style import COLOURS, draw_figure, quiet_axes
from geodp.features.compare.means import power, sample_size
from geodp.privacy.budget import Budget

DASHES = ("-", "--", "-.", ":")


def plot_power(
    difference: float,
    maximum: float,
    epsilons: Sequence[Budget | None],
    file: str | PathLike[str] | IO[bytes],
    form: str = "png",
    *,
    share: float | None = None,
    alpha: float = 0.05,
    sides: int = 2,
) -> None:
    """Draw the power of a test of two means over the devices of each group, a curve an epsilon.

    A dotted line is a power of 0.8. The axis of devices is logarithmic, and ends where the smallest
    epsilon reaches a power of 0.99.

    Parameters
    ----------
    difference, maximum, share, alpha, sides
        See :func:`~geodp.features.compare.means.sample_size`.
    epsilons : sequence of number, str or None
        Budgets of a device's bit, one a curve; None: without noise.
    file : path or binary stream
    form : {"png", "pdf", "svg"}

    Raises UsageError where Matplotlib is not installed.
    """
    options: dict[str, Any] = {"share": share, "alpha": alpha, "sides": sides}
    # The axis reaches from where the test hardly has any power to where it nearly always succeeds.
    sizes = [
        sample_size(difference, maximum, one, power=goal, **options)
        for one in epsilons
        for goal in (max(2 * alpha, 0.1), 0.99)
    ]
    devices = np.unique(np.geomspace(max(2, min(sizes)), max(sizes), 120).round().astype(int))
    with draw_figure((7.2, 4.4), file, form) as figure:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.08, right=0.97, top=0.84, bottom=0.13)
        for number, epsilon in enumerate(epsilons):
            values = [power(n, difference, maximum, epsilon, **options) for n in devices.tolist()]
            name = "without noise" if epsilon is None else f"epsilon {epsilon}"
            style = {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % 4]}
            axes.plot(devices, values, label=name, linewidth=1.5, **style)
        axes.axhline(0.8, linestyle=":", color="#777777", zorder=1)
        axes.set_xscale("log")
        axes.set_ylim(0, 1.02)
        quiet_axes(axes, "power", "devices of each group")
        axes.legend(loc="lower right", frameon=False, fontsize=8.5)
        means = (
            "whatever the means are" if share is None else f"first mean {share:g} of the maximum"
        )
        title = f"A difference of {difference:,g} of {maximum:,g}, {means}"
        figure.text(0.08, 0.93, title, fontsize=12, fontweight="bold")
