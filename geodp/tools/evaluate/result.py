"""Results of an evaluation: means over trials with their standard errors, and their figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.style import COLOURS, draw_figure, style_axes, style_curve
from geodp.errors import require_library
from geodp.privacy.loss import amounts_of
from geodp.privacy.terms import Terms
from geodp.reprs import one_line
from geodp.tools.evaluate.queries import (
    CLASS_NAMES,
    HOT_AREAS,
    HOT_COUNTS,
    Polygons,
    Queries,
    Truth,
)

NOTICE = (
    "CONFIDENTIAL: these errors were measured against the confidential counts and are not "
    "differentially private; do not publish them."
)


BY_AREA = (
    *("mae", "mae_se", "rmse", "rmse_se", "bias", "bias_se"),
    *("worst", "closed_form"),
)
"""Figures that exist for each size of block."""

MAX_PARTS = 10**6
"""Largest denominator of a budget that is shown as a ratio."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Errors of methods on one table, see :func:`geodp.evaluate`.

    Attributes
    ----------
    terms : Terms
        Terms of every release of every trial.
    trials : int
    areas : tuple of int
        Numbers of cells (keys) of the blocks: 1, 4, 16 ... and all.
    blocks : tuple of int
        Numbers of blocks that overlap the public domain, over which errors are averaged.
    cells : int
        Number of cells of the domain.
    methods : dict
        Figures of every method that ran, as in :meth:`to_dict`.
    refused : dict
        Reason, as one sentence, of every method that did not run.
    public : bool
        Whether the caller asserted that the table is public; otherwise this is confidential.
    queries : dict
        Released minus true sums of requested queries by method, float64[trials, q].
    """

    __repr__ = one_line

    terms: Terms
    trials: int
    areas: tuple[int, ...]
    blocks: tuple[int, ...]
    cells: int
    methods: dict[str, dict[str, Any]] = field(repr=False)
    refused: dict[str, str] = field(repr=False)
    public: bool = False
    queries: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    @property
    def budget(self) -> str:
        """Budget of every release of every trial, as text; long ratios as decimals only."""
        amounts = amounts_of(self.terms.loss).items()
        return ", ".join(f"{name} {_exact(n)}" for name, n in amounts if n is not None)

    @property
    def notice(self) -> str | None:
        """Notice that accompanies every copy of a confidential evaluation."""
        return None if self.public else NOTICE

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None for missing figures.

        Returns
        -------
        dict
            The budget is ``epsilon``, or ``rho`` with ``noise`` ``"gaussian"`` (and ``epsilon`` and
            ``delta`` if they were given): exact ratios as text.
            ``methods`` contains for every method, by area: ``mae``, ``rmse`` (of all blocks of all
            trials), ``bias`` (mean signed error), each with its standard error over trials
            (``mae_se`` ...; None for one trial), ``worst`` (the largest absolute error of a
            block, mean over trials) and ``closed_form`` (the theoretical RMSE, an upper bound).
            Then ``negative``, ``nonzero`` (cells), ``density``, ``total_variation``,
            ``visited``, ``seconds`` (of the mechanism only, without compiling and loading), all
            means over trials; ``classes`` by true count; ``hot_spots``: by cells of a block and by
            k, the fraction of the k most populous true blocks that are among the release's k most
            populous; ``rectangles``, ``polygons`` and ``queries`` if they were requested.
        """
        # First in the document, so that whoever opens the file sees it.
        head = {} if self.notice is None else {"notice": self.notice}
        amounts = amounts_of(self.terms.loss)
        return {
            **head,
            "confidential": not self.public,
            **{name: None if n is None else str(n) for name, n in amounts.items()},
            "noise": "gaussian" if self.terms.gaussian else "laplace",
            "neighbours": self.terms.neighbours,
            "contribution": self.terms.contribution,
            "trials": self.trials,
            "cells": self.cells,
            "areas": list(self.areas),
            "blocks": list(self.blocks),
            "methods": {spec: _plain(figures) for spec, figures in self.methods.items()},
            "refused": dict(self.refused),
        }

    def to_pandas(self) -> Any:
        """Return errors as a ``pandas.DataFrame``.

        With queries, a row for each method, query and trial: ``method``, ``query``, ``cells``,
        ``trial`` (from 1) and ``error`` (released minus true). Otherwise a row for each method and
        size of block: ``method``, ``cells``, ``blocks`` and the figures by area of
        :meth:`to_dict`; NaN if there is none. It is as confidential as the evaluation.

        Raises UsageError if pandas is not installed.
        """
        require_library("pandas", "to_pandas()", remedy="Or use to_dict().")
        # Optional, and slow to import.
        import pandas

        rows: dict[str, Any]
        frames = []
        for spec, figures in self.methods.items():
            if self.queries:
                names = figures["queries"]
                rows = {
                    "query": np.repeat([*names], self.trials),
                    "cells": np.repeat([one["cells"] for one in names.values()], self.trials),
                    "trial": np.tile(np.arange(1, self.trials + 1), len(names)),
                    "error": self.queries[spec].T.ravel(),
                }
            else:
                by_area = {name: figures[name] for name in BY_AREA if figures[name] is not None}
                rows = {"cells": self.areas, "blocks": self.blocks, **by_area}
            frames.append(pandas.DataFrame({"method": spec, **rows}))
        return pandas.concat(frames, ignore_index=True)


def summary(
    truth: Truth,
    trials: Sequence[dict[str, Any]],
    polygons: Polygons | None = None,
    queries: Queries | None = None,
) -> dict[str, Any]:
    """Summarise the figures of a method's trials.

    Parameters
    ----------
    truth : Truth
    trials : sequence of dict
        Figures of :meth:`Truth.errors` and of the regions.
    polygons : Polygons, optional
    queries : Queries, optional

    Returns
    -------
    dict
        See :meth:`Evaluation.to_dict`, but with arrays, and NaN for missing figures.
    """
    of = {name: np.array([trial[name] for trial in trials], np.float64) for name in trials[0]}
    figures: dict[str, Any] = _errors(of["absolute"], of["square"], of["signed"])
    figures["worst"] = of["worst"].mean(axis=0)
    for name in ("negative", "nonzero", "visited", "seconds", "total_variation"):
        figures[name] = float(of[name].mean())
    figures["density"] = figures["nonzero"] / truth.table.grid.size
    cells = truth.class_cells
    with np.errstate(invalid="ignore"):  # 0 / 0 where a class is empty
        absolute, square, signed = (
            of[f"class_{name}"].mean(axis=0) / cells for name in ("absolute", "square", "signed")
        )
    figures["classes"] = {
        name: {
            "cells": int(cells[i]),
            "mae": float(absolute[i]),
            "rmse": math.sqrt(square[i]),
            "bias": float(signed[i]),
        }
        for i, name in enumerate(CLASS_NAMES)
    }
    figures["hot_spots"] = {
        str(area): {
            str(k): float(of[name].mean()) for k in HOT_COUNTS if (name := f"hot_{area}_{k}") in of
        }
        for area in HOT_AREAS
        if area in truth.hot
    }
    if "rectangle_absolute" in of:
        figures["rectangles"] = _rectangles(of, truth.total)
    if polygons is not None:
        figures["polygons"] = _by_name(polygons, of["polygon"])
    if queries is not None:
        figures["queries"] = _by_name(queries, of["query"])
    return figures


def _by_name(
    regions: Polygons | Queries, error: NDArray[np.float64]
) -> dict[str, dict[str, float]]:
    """Return the errors of named regions from those of their sums, float64[trials, n].

    NaN without cells.
    """
    each = _errors(np.abs(error), error**2, error)
    # A region without cells has no error; 0 would look exact.
    nothing = dict.fromkeys(each, math.nan)
    return {
        name: {"cells": size, **({k: float(each[k][i]) for k in each} if size else nothing)}
        for i, (name, size) in enumerate(zip(regions.names, regions.cells.tolist(), strict=True))
    }


def _errors(
    absolute: NDArray[np.float64], square: NDArray[np.float64], signed: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return MAE, RMSE and bias, with standard errors, over the trials of float64[trials, ...].

    The RMSE is the root of the mean square over all trials; its standard error is that of the
    mean square by the delta method, divided by twice the RMSE.
    """
    rmse = np.sqrt(square.mean(axis=0))
    with np.errstate(invalid="ignore"):
        # Delta method: the error of sqrt(m) is that of m / (2 sqrt(m)); at 0 it is undefined.
        rmse_se = np.where(rmse > 0, _standard_error(square) / (2 * rmse), _standard_error(square))
    return {
        "mae": absolute.mean(axis=0),
        "mae_se": _standard_error(absolute),
        "rmse": rmse,
        "rmse_se": rmse_se,
        "bias": signed.mean(axis=0),
        "bias_se": _standard_error(signed),
    }


def _standard_error(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard error of the mean over the first axis; NaN for one value."""
    n = values.shape[0]
    if n < 2:
        return np.full(values.shape[1:], math.nan)
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(n))


def _exact(amount: Fraction) -> str:
    """Format a budget as a ratio and a decimal."""
    if amount.denominator == 1:
        return str(amount)
    decimal = f"{float(amount):.6g}"
    return decimal if amount.denominator > MAX_PARTS else f"{amount} = {decimal}"


def _rectangles(of: dict[str, NDArray[np.float64]], people: int) -> dict[str, Any]:
    """Return the errors of a workload of rectangles, also relative to all people.

    ``scaled`` is the mean absolute error divided by the true total; ``dpbench`` the scaled
    average per-query error of Hay et al. (2016): the L2 norm of the workload's errors, divided by
    the number of queries times the true total, mean over trials.
    """
    errors = _errors(of["rectangle_absolute"], of["rectangle_square"], of["rectangle_absolute"])
    # Errors relative to an empty table are undefined.
    scale = people if people else math.nan
    return {
        **{name: float(errors[name]) for name in ("mae", "mae_se", "rmse", "rmse_se")},
        "scaled": float(errors["mae"]) / scale,
        "dpbench": float(of["rectangle_norm"].mean()) / scale,
    }


def _plain(value: Any) -> Any:
    """Convert arrays to lists, numbers to Python's, and NaN to None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    # JSON has no NaN.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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
    bars = {"yerr": [np.nan_to_num(below), margin], "elinewidth": 1, "capsize": 2}
    axes.errorbar(area, error, label=spec, **bars, **style_curve(number))
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
        symbol = style_curve(number) | {"linestyle": "none", "zorder": 4}
        axes.plot([1.06], [y], transform=axes.transAxes, clip_on=False, **symbol)


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
