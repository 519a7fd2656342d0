"""A release: what was published, under which guarantee, with which expected error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp import __version__
from geodp.accounting import Event
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.io.publication import write_publication
from geodp.io.staging import SCHEMA
from geodp.ledger import Charge
from geodp.mechanisms import mechanism
from geodp.randomness import NOISE_FORMAT
from geodp.table import ReleasedTable


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

    def standard_error(self, cells: ArrayLike = 1) -> Any:
        """Closed-form standard error of the sum of an aligned block of cells.

        It depends on public parameters only, and holds where no count on the way is clamped at 0,
        that is, where blocks are well above the noise. Empty cells among empty cells have a smaller
        error; an isolated occupied cell has a larger one, see ``isolated_cell`` in the card. On a
        domain with edges or a mask it is the largest of all such blocks.

        Parameters
        ----------
        cells : int or array of int
            Cells of the block, consecutive in key order; a power of 4 is a square of a map. For a
            number that is no power of 2: a run from the beginning of a block, and the sum of the
            standard errors of its blocks, which is an upper bound.

        Returns
        -------
        float or float64 array
            In counts.
        """
        variances = mechanism(self.event.mechanism).variances(self.grid, self.event)
        errors = np.sqrt(variances)[::-1].tolist()
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
        """Standard error and 95 % margin of aligned blocks of 1, 4, 16 ... cells, and of all."""
        sizes = sorted(
            {1 << shift for shift in range(0, self.grid.bits, 2)} | {1 << self.grid.bits}
        )
        errors: NDArray[np.float64] = self.standard_error(sizes)
        return [
            {
                "cells": int(size),
                "standard_error": float(f"{error:.6g}"),
                "margin_95": float(f"{1.96 * error:.6g}"),
            }
            for size, error in zip(sizes, errors, strict=True)
        ]

    def card(self) -> dict[str, Any]:
        """The public card, as plain values: all of ``release.json`` but the list of files."""
        method = mechanism(self.event.mechanism)
        return {
            "schema": SCHEMA,
            "software": {"name": "geodp", "version": __version__},
            "private": self.event.is_private,
            "guarantee": {
                "in_words": self.event.words,
                "variant": method.guarantee.variant,
                "precondition": method.guarantee.precondition,
                "source": method.guarantee.source,
                "sensitivity_counts": method.sensitivity_words(self.grid),
                "not_protected": [
                    "the domain, the grid and every value of this card: public by construction",
                    "other releases about the same people: their budgets add to this one",
                    "groups: k people together are protected with k times epsilon",
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
                "noise": "discrete Laplace on integers, sampled exactly",
                "noise_format": NOISE_FORMAT,
            },
            "expected_error": {
                "meaning": "closed form for an aligned block of cells where nothing is clamped; "
                "independent of the data; margin_95 = 1.96 standard errors",
                "blocks": self.expected_error(),
                "isolated_cell": {
                    "meaning": "a populous cell in an empty region, which the clamp pulls down",
                    **method.isolated_cell(self.grid, self.event),
                },
            },
            "post_processing": list(method.postprocessing),
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
        return write_publication(
            self.table,
            self.card(),
            path,
            name=name,
            standard_error=self.standard_error(1),
            overwrite=overwrite,
            restricted=restricted or {},
        )
