"""Figures of menus of epsilons from which devices choose in secret."""

from __future__ import annotations

import math
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from geodp.accuracy.style import COLOURS, INK, draw_figure, quiet_axes
from geodp.errors import UsageError
from geodp.literature.blending import ESTIMATORS

if TYPE_CHECKING:
    from geodp.literature.blending import Blend

MAX_DEVICES = 10_000
"""Largest number of devices whose estimators a figure simulates."""

DOTS = 21
"""Number of shares of a value at which estimators are simulated."""

TRIALS = 2_000
"""Trials of each simulated error."""

HALF = 0.5
"""Share of a value whose estimates have the largest errors."""

WIDEST = 0.6
"""Largest root mean square error that is drawn: beyond it, a share is not known at all."""

DASHES = ("-", "--", "-.", ":")


def plot_menu(
    menu: Blend,
    file: str | PathLike[str] | IO[bytes],
    form: str = "png",
    *,
    devices: int = 100,
    reports: int = 6,
) -> None:
    """Draw what a menu protects, what repeated reports reveal, and what hiding labels is worth.

    Above, left: the indicator of each label and the epsilon of the mixture by the share of the
    first label (the other labels keep their proportions); a dotted line is the menu's actual share.
    Right: the epsilon of 1 to `reports` reports of a device that keeps its label, next to as many
    times that of one. Below: errors of an estimated share where labels are hidden, and where they
    are known and protect as much by the indicator (:meth:`Blend.as_disclosed`). Left: the root of
    the mean square error of all estimators, simulated, by the share of devices with the value.
    Right: by the share of the first label, half of the devices having the value, while the
    protection stays that of the menu (:meth:`Blend.at_constant_protection`); a dot is the menu.

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
    with draw_figure((9.6, 7.8), file, form) as figure:
        above, below = figure.subplots(2, 2)
        figure.subplots_adjust(left=0.06, right=0.98, top=0.86, bottom=0.07)
        figure.subplots_adjust(wspace=0.16, hspace=0.34)
        _draw_shares(above[0], menu)
        _draw_reports(above[1], menu, reports)
        _draw_errors(below[0], menu, devices)
        _draw_constant(below[1], menu, devices)
        truths, shares, known = (
            ", ".join(f"{float(one):.3g}" for one in each)
            for each in (menu.keep, menu.shares, menu.as_disclosed().keep)
        )
        title = f"Truth told with probability {truths} by {shares} of the devices"
        figure.text(0.06, 0.955, title, fontsize=12, fontweight="bold")
        figure.text(0.06, 0.925, f"Known labels of the same indicators tell it with {known}")


def _draw_shares(axes: Any, menu: Blend) -> None:
    """Draw indicator and mixture by the share of the first label."""
    shares, varied = _vary(menu, 197)
    menus = [menu.with_shares(one) for one in varied]
    for label, keep in enumerate(menu.keep.tolist()):
        values = [one.pbp[label] for one in menus]
        name = f"indicator of {keep:.3g}"
        axes.plot(shares, values, color=COLOURS[label % len(COLOURS)], linewidth=1.5, label=name)
    mixture = [one.mixture for one in menus]
    axes.plot(shares, mixture, color=INK, linestyle="--", linewidth=1.5, label="mixture, epsilon")
    axes.axvline(float(menu.shares[0]), linestyle=":", color="#777777")
    _frame(axes, "Indicator (no guarantee) and mixture", "share of the first label")


def _vary(menu: Blend, number: int) -> tuple[list[float], list[list[float]]]:
    """Return shares of the first label, and the shares of all; others keep their proportions."""
    # The ends are left out: at a share of 0 or 1 a label has no devices, and no indicator.
    shares = np.linspace(0.01, 0.99, number).tolist()
    rest = np.array([float(share) for share in menu.shares[1:]])
    rest /= rest.sum()
    return shares, [[first, *((1 - first) * rest).tolist()] for first in shares]


def _draw_errors(axes: Any, menu: Blend, devices: int) -> None:
    """Draw the root mean square error of every estimator by the share of the value."""
    shares = np.linspace(0, 1, DOTS)
    rows = [menu.compare_estimators(share, devices, TRIALS) for share in shares.tolist()]
    for name in ESTIMATORS:
        axes.plot(shares, [math.sqrt(one[name].mean) for one in rows], **_style(name))
    _limit(axes)
    title = f"Error of a share of {devices:,} devices, at equal indicators"
    _frame(axes, title, "share that has the value")


def _draw_constant(axes: Any, menu: Blend, devices: int) -> None:
    """Draw the root mean square error by the share of the first label at constant protection."""
    known, first = menu.as_disclosed(), float(menu.shares[0])
    shares, menus = _vary(menu, 99)
    hidden = [menu.at_constant_protection(one).hidden_variance(HALF, devices) for one in menus]
    axes.plot(shares, np.sqrt(hidden), **_style("hidden"))
    axes.plot(first, math.sqrt(menu.hidden_variance(HALF, devices)), "o", color=COLOURS[0])
    others = [known.with_shares(one) for one in menus]
    for name in ("likelihood", "inverse-variance"):
        variances = [one.disclosed_variance(HALF, devices, name) for one in others]
        axes.plot(shares, np.sqrt(variances), **_style(name))
    # Before the rule of the source, whose errors in small groups would hide all others.
    _limit(axes)
    name, few, roots = "min-rule", list[float](), list[float]()
    for share, one in zip(*_vary(menu, DOTS), strict=True):
        # Where a label has no devices, it has no estimate.
        if min(one) * devices >= 1:
            rule = known.with_shares(one).mean_square_errors(HALF, devices, TRIALS, 0, [name])
            few.append(share)
            roots.append(math.sqrt(rule[name].mean))
    axes.plot(few, roots, **_style(name))
    _frame(axes, "Error of a half, at constant indicators", "share of the first label")


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


def _style(estimator: str) -> dict[str, Any]:
    """Return the label and the line of an estimator."""
    row = ESTIMATORS.index(estimator)
    label = "labels hidden" if row == 0 else f"known, {estimator.replace('-', ' ')}"
    return {"color": COLOURS[row], "linestyle": DASHES[row], "linewidth": 1.5, "label": label}


def _limit(axes: Any) -> None:
    """Limit the axis of errors to those that say something of a share."""
    axes.set_ylim(0, min(axes.get_ylim()[1], WIDEST))


def _frame(axes: Any, title: str, label: str) -> None:
    """Set a title, a quiet grid and a legend."""
    quiet_axes(axes, title, label)
    axes.legend(frameon=False, fontsize=8.5)
