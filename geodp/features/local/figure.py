"""Figures of menus of epsilons from which devices choose in secret."""

from __future__ import annotations

import math
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from geodp.accuracy.style import COLOURS, INK, draw_figure, quiet_axes
from geodp.errors import UsageError
from geodp.features.local.blending import ESTIMATORS

if TYPE_CHECKING:
    from geodp.features.local.blending import Blend

MAX_DEVICES = 10_000
"""Largest number of devices whose estimators a figure simulates."""

DOTS = 21
"""Number of shares of a value at which estimators are simulated."""

DASHES = ("-", "--", "-.", ":")


def plot_menu(
    menu: Blend,
    file: str | PathLike[str] | IO[bytes],
    form: str = "png",
    *,
    devices: int = 100,
    reports: int = 6,
) -> None:
    """Draw what a menu protects, how well a share is estimated, and what repeated reports reveal.

    Left: the indicator of each label and the epsilon of the mixture by the share of the first label
    (the other labels keep their proportions); a dotted line is the menu's actual share. Middle: the
    root of the mean square error of all estimators, simulated, by the share of devices with the
    value. Right: the epsilon of 1 to `reports` reports of a device that keeps its label, next to as
    many times that of one.

    Parameters
    ----------
    menu : Blend
    file : path or binary stream
    form : {"png", "pdf", "svg"}
    devices : int
        Number of devices in the simulation: from 2 to 10,000.
    reports : int
        Largest number of reports of one device.

    Raises UsageError where Matplotlib is not installed, or for a menu of one label.
    """
    if len(menu.shares) < 2:
        raise UsageError(
            "A figure compares labels; give a menu of at least two.", code="picture-of-one-label"
        )
    if not 2 <= devices <= MAX_DEVICES:
        raise UsageError(
            f"A figure simulates from 2 to {MAX_DEVICES:,} devices.", code="picture-devices-range"
        )
    with draw_figure((11.4, 3.9), file, form) as figure:
        axes = figure.subplots(1, 3)
        figure.subplots_adjust(left=0.05, right=0.985, top=0.78, bottom=0.14, wspace=0.22)
        _draw_shares(axes[0], menu)
        _draw_errors(axes[1], menu, devices)
        _draw_reports(axes[2], menu, reports)
        labels = ", ".join(
            f"{float(keep):.3g} ({float(share):.3g} of the devices)"
            for keep, share in zip(menu.keep, menu.shares, strict=True)
        )
        title = f"Truth told with probability {labels}"
        figure.text(0.05, 0.92, title, fontsize=12, fontweight="bold")


def _draw_shares(axes: Any, menu: Blend) -> None:
    """Draw indicator and mixture by the share of the first label."""
    menu_shares = np.array([float(share) for share in menu.shares])
    # The ends are left out: at a share of 0 or 1 a label has no devices, and no indicator.
    shares = np.linspace(0.01, 0.99, 197)
    rest = menu_shares[1:] / menu_shares[1:].sum()
    menus = [menu.with_shares([first, *((1 - first) * rest)]) for first in shares.tolist()]
    for label, keep in enumerate(menu.keep.tolist()):
        values = [one.pbp[label] for one in menus]
        name = f"indicator of {keep:.3g}"
        axes.plot(shares, values, color=COLOURS[label % len(COLOURS)], linewidth=1.5, label=name)
    mixture = [one.mixture for one in menus]
    axes.plot(shares, mixture, color=INK, linestyle="--", linewidth=1.5, label="mixture, epsilon")
    axes.axvline(menu_shares[0], linestyle=":", color="#777777")
    _frame(axes, "Indicator (no guarantee) and mixture", "share of the first label")


def _draw_errors(axes: Any, menu: Blend, devices: int) -> None:
    """Draw the root mean square error of every estimator by the share of the value."""
    shares = np.linspace(0, 1, DOTS)
    errors = [menu.mean_square_errors(share, devices, trials=2_000) for share in shares.tolist()]
    for row, name in enumerate(ESTIMATORS):
        roots = [math.sqrt(one[name].mean) for one in errors]
        style = {"color": COLOURS[row], "linestyle": DASHES[row], "linewidth": 1.5}
        axes.plot(shares, roots, label=name.replace("-", " "), **style)
    axes.set_ylim(bottom=0)
    _frame(axes, f"Error of an estimated share, {devices:,} devices", "share that has the value")


def _draw_reports(axes: Any, menu: Blend, reports: int) -> None:
    """Draw the epsilon of several reports, next to as many times that of one."""
    from matplotlib.ticker import MaxNLocator

    times = np.arange(1, reports + 1)
    rows = {
        "label kept": [menu.repeated(number) for number in times.tolist()],
        "as many times one report": (menu.mixture * times).tolist(),
        "weakest label, known": (max(menu.ldp) * times).tolist(),
    }
    for row, (name, values) in enumerate(rows.items()):
        # Infinite epsilons have no line; the text names them.
        if all(map(math.isfinite, values)):
            style = {"color": COLOURS[row], "linestyle": DASHES[row], "linewidth": 1.5}
            axes.plot(times, values, label=name, **style)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    _frame(axes, "Epsilon for who never learns a label", "reports of a device")


def _frame(axes: Any, title: str, label: str) -> None:
    """Set a title, a quiet grid and a legend."""
    quiet_axes(axes, title, label)
    axes.legend(frameon=False, fontsize=8.5)
