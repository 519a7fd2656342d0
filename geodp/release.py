"""A release: what was published, under which guarantee, with which expected error."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import __version__
from geodp.accounting import Event
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.io.publication import write_publication
from geodp.io.staging import SCHEMA
from geodp.ledger import Charge
from geodp.mechanisms import Mechanism, mechanism
from geodp.randomness import NOISE_FORMAT
from geodp.region import Labels, Region
from geodp.table import ReleasedTable
from geodp.tree import overlaps
from geodp.variance import MOST_CHILDREN, TreeVariance


@dataclass(frozen=True)
class Estimate:
    """A released sum over a region and its expected error.

    Attributes
    ----------
    count : int or float
        Sum of the released counts.
    standard_error : float
        Closed form, where nothing is clamped.
    low, high : float
        The 95 % interval: 1.96 standard errors to both sides, not below 0 where counts cannot be,
        and further up where the clamp has touched the region, see :meth:`Release.estimate`.
    clamped : bool
        Whether a cell or node next to it was released as 0.
    """

    count: int | float
    standard_error: float
    low: float
    high: float
    clamped: bool


@dataclass(frozen=True, eq=False)
class Release:
    """A released table and all that may be said about it in public.

    Attributes
    ----------
    table : ReleasedTable
    charge : Charge, optional
        What was charged to a ledger for it.
    """

    table: ReleasedTable
    charge: Charge | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.table, ReleasedTable):
            raise UsageError("A Release holds a released table; geodp.publish makes one.")

    @property
    def grid(self) -> Grid:
        """The public grid."""
        return self.table.grid

    @property
    def event(self) -> Event:
        """Mechanism, epsilon, neighbours and sensitivity."""
        return self.table.event

    @property
    def method(self) -> Mechanism:
        """The mechanism, with its settings."""
        return mechanism(self.event.mechanism)

    def estimate(self, region: Any, labels: Labels | None = None) -> Estimate:
        """The released sum over a region, its standard error and a 95 % interval.

        Of a method that clamps at 0, the interval reaches further up where a part of a node that
        the region cuts was released as 0: people pulled out of the region by the clamp. The
        reach is bias plus 1.96 root-mean-square errors of an isolated cell (``isolated_cell``),
        where the method states them. It is then conservative for most regions. Where no node
        that the region cuts has an empty part, no clamp has moved its sum.

        Parameters
        ----------
        region, labels
            As for :meth:`geodp.region.Region.of`.

        Raises
        ------
        UsageError
            No such region, or a method without a closed form for it.
        """
        cells = Region.of(self.grid, region, labels)
        error = self._region_error(cells)
        here = np.isin(self.table.key, cells.key, assume_unique=True)
        count: int | float = self.table.count[here].sum().item()
        low, high = count - 1.96 * error, count + 1.96 * error
        clamped = False
        if self.method.nonnegative:
            clamped = self._clamped(cells.key)
            alone = self.method.isolated_cell(self.grid, self.event)
            if clamped and alone is not None:
                spread = max(alone["rmse"] ** 2 - alone["bias"] ** 2, 0.0) ** 0.5
                high = max(high, count - alone["bias"] + 1.96 * spread)
            low = max(low, 0.0)
        return Estimate(count, error, low, high, clamped)

    def _tree(self) -> TreeVariance:
        tree = self.method.tree_variance(self.grid, self.event)
        if tree is None:
            raise UsageError(
                f"{self.event.mechanism} has no closed form of the error of any region: its "
                "error depends on the data, or it does not work on a tree of keys."
            )
        return tree

    def _region_error(self, region: Region) -> float:
        grid = self.grid if self.method.skips_outside else None
        return float(np.sqrt(max(self._tree().region(region.key, grid), 0.0)))

    def _clamped(self, key: NDArray[np.uint64]) -> bool:
        """Whether a node that is partly in a set of keys has a child released as 0."""
        stride = 1
        for fanout in reversed(self._tree().fanouts):
            node, size = np.unique(key // np.uint64(stride * fanout), return_counts=True)
            cut = node[size < stride * fanout]
            for start in range(0, cut.size, max(1, MOST_CHILDREN // fanout)):
                some = cut[start : start + max(1, MOST_CHILDREN // fanout), None]
                child = some * np.uint64(fanout) + np.arange(fanout, dtype=np.uint64)
                child = child.reshape(-1)[overlaps(self.grid, child.reshape(-1), stride)]
                first = np.searchsorted(self.table.key, child * np.uint64(stride))
                after = np.append(self.table.key, np.uint64(2**64 - 1))[first]
                if (after >= (child + np.uint64(1)) * np.uint64(stride)).any():
                    return True
            stride *= fanout
        return False

    def standard_error(self, cells: Any = 1) -> Any:
        """Closed-form standard error of the sum of an aligned block of cells, or of a region.

        It depends on public parameters only. For a method that clamps at 0 it holds where no count
        on the way is clamped, that is, where blocks are well above the noise. Empty cells among
        empty cells have a smaller error; an isolated occupied cell has a larger one, see
        ``isolated_cell`` in the card. On a domain with edges or a mask it is the largest of all
        such blocks.

        Parameters
        ----------
        cells : int, array of int or region
            A region is a :class:`geodp.region.Region`, a shapely polygon in the grid's CRS, or
            codes of official areas: its error is that of its own cells, parents' shared noise
            included. A number is that of the cells of a block, consecutive in key order; a power
            of 4 is a square of a map. For a number that is no power of 2: a run from the beginning
            of a block, and the sum of the standard errors of its blocks, which is an upper bound.

        Returns
        -------
        float or float64 array
            In counts.

        Raises
        ------
        UsageError
            A block that the grid does not have, or a method whose error depends on the data.
        """
        named = isinstance(cells, str) or (
            isinstance(cells, list | tuple) and cells and isinstance(cells[0], str)
        )
        if named or isinstance(cells, Region) or hasattr(cells, "geom_type"):
            return self._region_error(Region.of(self.grid, cells))
        errors = self._block_errors()
        if errors is None:
            raise UsageError(
                f"{self.event.mechanism} has no closed form of its standard error: the error "
                "depends on the data."
            )
        sizes = np.asarray(cells)
        n = 1 << self.grid.bits

        def error(size: int) -> float:
            if not 1 <= size <= n:
                raise UsageError(f"A block of this grid has 1 to {n} cells.")
            return float(sum(e for shift, e in enumerate(errors) if size >> shift & 1))

        if sizes.dtype.kind not in "iu":
            raise UsageError(f"A block of this grid has 1 to {n} cells.")
        found = np.array([error(int(size)) for size in sizes.flat])
        return found.reshape(sizes.shape) if sizes.ndim else float(found[0])

    def expected_error(self) -> list[dict[str, float]]:
        """Standard error and 95 % margin of aligned blocks of 1, 4, 16 ... cells, and of all.

        Empty for a method whose error depends on the data.
        """
        errors = self._block_errors()
        if errors is None:
            return []
        return [
            {
                "cells": 1 << shift,
                "standard_error": float(f"{errors[shift]:.6g}"),
                "margin_95": float(f"{1.96 * errors[shift]:.6g}"),
            }
            for shift in sorted({*range(0, self.grid.bits, 2), self.grid.bits})
        ]

    def _block_errors(self) -> list[float] | None:
        """Standard error of a block of ``2**i`` keys at index i; None without a closed form."""
        variances = self.method.variances(self.grid, self.event)
        return None if variances is None else [float(e) for e in np.sqrt(variances)[::-1]]

    def card(self) -> dict[str, Any]:
        """The public card, as plain values: all of ``release.json`` but the list of files.

        ``mechanism.whole`` and ``mechanism.nonnegative`` say what the counts can be: int64 or
        float64, above 0 or merely not 0. Where the error depends on the data,
        ``expected_error.blocks`` and ``.holds`` are null, ``.meaning`` says so, and the files have
        no standard errors. ``expected_error.isolated_cell`` is null for methods without such a
        figure.
        """
        method = self.method
        kind = "whole numbers" if method.whole else "real numbers"
        sign = "none negative" if method.nonnegative else "negative ones among them"
        return {
            "schema": SCHEMA,
            "software": {"name": "geodp", "version": __version__},
            "private": self.event.is_private,
            "guarantee": {
                "in_words": self.event.words,
                "variant": self.event.variant,
                "precondition": method.guarantee.precondition,
                "source": method.guarantee.source,
                "sensitivity_counts": method.sensitivity_words(self.grid),
                "not_protected": [
                    "the domain, the grid and every value of this card: public by construction",
                    "other releases about the same people: their budgets add to this one",
                    "groups: k people together are protected with k times epsilon"
                    if self.event.rho is None
                    else "groups: k people together are protected with k squared times rho",
                    *self._kept_key(),
                ],
                **self.event.describe(),
            },
            "budget": None if self.charge is None else self.charge.describe(),
            "domain": self.grid.describe(),
            "mechanism": {
                "name": method.name,
                "title": method.title,
                "citation": method.citation,
                "spec": method.spec,
                "settings": {f.name: _plain(getattr(method, f.name)) for f in fields(method)},
                "noise": method.noise
                if self.event.rho is None
                else "discrete Gaussian on integers, sampled exactly",
                "noise_format": NOISE_FORMAT,
                "values": f"{kind}, {sign}",
                "whole": method.whole,
                "nonnegative": method.nonnegative,
            },
            "expected_error": self._error(),
            "post_processing": list(method.postprocessing),
        }

    def _error(self) -> dict[str, Any]:
        """What is known of the error before looking at any data."""
        method = self.method
        blocks, alone = self.expected_error(), method.isolated_cell(self.grid, self.event)
        if not blocks:
            holds = None
            meaning = (
                "no closed form: the error of this method depends on the data, so there are no "
                "standard errors here or in the files; post_processing says what is done to the "
                "noisy values"
            )
        else:
            holds = "where nothing is clamped" if method.nonnegative else "wherever it lies"
            meaning = (
                f"closed form for an aligned block of cells {holds}; independent of the data; "
                "margin_95 = 1.96 standard errors"
            )
            if alone is not None:
                holds += "; isolated cells are pulled down"
        about = "a populous cell in an empty region, which the clamp pulls down"
        return {
            "meaning": meaning,
            "holds": holds,
            "blocks": blocks or None,
            "isolated_cell": None if alone is None else {"meaning": about, **alone},
        }

    def _kept_key(self) -> list[str]:
        if self.event.key_origin == "entropy":
            return []
        return [
            "whether two releases with the same kept key and parameters come from exactly the same "
            "input: they are then identical, so use a new key for every new state of the data"
        ]

    def write(
        self,
        path: str | Path,
        *,
        name: str = "population",
        overwrite: bool = False,
        restricted: dict[str, Any] | None = None,
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path : path
            A folder that does not exist yet or is empty; with ``overwrite`` an earlier release.
        name : str
            Of the count: column, layer and file name.
        overwrite : bool
            Replace an earlier release; it stays until the new one is complete.
        restricted : dict, optional
            For the operator only, kept in ``restricted/run.json``.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths written.

        Raises
        ------
        UsageError
            The folder exists, holds something else than a release, or the name is no file name.
        OutputError
            The disk is full or the folder cannot be written; nothing is left behind.
        """
        card = self.card()
        blocks = card["expected_error"]["blocks"]
        return write_publication(
            self.table,
            card,
            path,
            name=name,
            standard_error=None if blocks is None else blocks[0]["standard_error"],
            overwrite=overwrite,
            restricted=restricted or {},
        )


def _plain(setting: Any) -> bool | int | str:
    """A setting as JSON has it; a fraction as text, which is exact."""
    return setting if isinstance(setting, bool | int) else str(setting)
