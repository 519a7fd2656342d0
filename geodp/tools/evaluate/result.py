"""Results of an evaluation: means over trials with their standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.privacy.loss import amounts_of
from geodp.privacy.terms import Terms
from geodp.reprs import one_line
from geodp.tools.evaluate.blocks import CLASS_NAMES, HOT_AREAS, HOT_COUNTS, Truth
from geodp.tools.evaluate.queries import Polygons, Queries

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
        try:
            # Optional, and slow to import.
            import pandas
        except ModuleNotFoundError:
            raise UsageError(
                "pandas is not installed: pip install pandas, or use to_dict().",
                code="library-missing",
            ) from None
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
