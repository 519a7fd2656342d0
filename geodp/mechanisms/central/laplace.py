"""Independent noise on every cell: Laplace, geometric, and Laplace with negatives set to 0."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.grid.tree import cells_of_box
from geodp.mechanisms.base import Mechanism, Query
from geodp.mechanisms.measure import add_fractional_noise, add_noise, release_vector, stage_query
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable, ReleasedTable

FINEST_SCALE = 4096
"""Bound of the scale of real-valued noise, in steps of its lattice: these are as small as it
allows."""


@dataclass(frozen=True)
class Additive(Mechanism):
    """Independent noise of one law on every cell of the domain."""

    guarantee: ClassVar[Guarantee] = Guarantee(
        "Dwork, McSherry, Nissim, Smith (2006), proposition 1: the L1 sensitivity of the "
        "vector of all counts is 1",
    )

    postprocessing: ClassVar[tuple[str, ...]] = (
        "None: negative counts stay as they are, every value is unbiased, and a sum over many "
        "cells has the noise of all of them.",
    )

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64] | None:
        """Compute ``cells * variance``: the cells of a block have independent noise."""
        cells = np.minimum(2.0 ** np.arange(grid.bits, -1, -1), grid.size)
        return np.asarray(cells * self._of_cell(event), np.float64)

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> NDArray[np.float64] | None:
        """Compute ``cells * variance`` with the cells of the domain in each block."""
        if self.nonnegative:
            return None
        return np.asarray(cells_of_box(grid, block, stride) * self._of_cell(event), np.float64)

    def _of_cell(self, event: Measurement) -> float:
        step = self.step(event.scale)
        return DiscreteLaplace.of_scale(event.scale / step).variance * float(step) ** 2

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance | None:
        """Return a tree of one level: all keys are children of the root."""
        # Setting negatives to 0 makes the error depend on how many cells are empty.
        if self.nonnegative:
            return None
        cell = self._of_cell(event)
        n = prod(grid.order.radices)
        return TreeVariance((n,), (n * cell, cell))

    def digits(self, scale: Fraction) -> int:
        """Return the number of binary digits of the noise after the point."""
        return max(0, (FINEST_SCALE // max(1, round(scale))).bit_length() - 1)

    def step(self, scale: Fraction) -> Fraction:
        """Return the distance of neighbouring noise values in counts: a power of two, at most 1."""
        return Fraction(1, 1 << self.digits(scale))

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the counts of all keys, in steps of the lattice."""
        step = self.step(event.scale)
        return (stage_query(0, event.scale / step, "counts of keys", 1 << grid.bits, step),)

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the step of the lattice, as noise is drawn in multiples of it."""
        return self.step(event.scale)

    def noisy(self, table: CountTable, event: Measurement, key: NoiseKey) -> NDArray[np.float64]:
        """Add noise to the counts of all keys, in key order: float64[2**bits]."""
        digits = self.digits(event.scale)
        return add_fractional_noise(table.to_vector(), key, 0, event.scale, digits)


@dataclass(frozen=True)
class Laplace(Additive):
    """Dwork, McSherry, Nissim, Smith (2006): Laplace noise of scale 1/epsilon on every cell.

    The noise is drawn exactly on a lattice of steps of a power of two (1/256 of a count at
    epsilon 0.1), where it is discrete Laplace, so the guarantee does not hang on the rounding
    of floating-point noise (Mironov 2012).
    """

    name: ClassVar[str] = "laplace"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Laplace noise on every cell (Dwork et al. 2006)"
    citation: ClassVar[str] = (
        "Dwork, McSherry, Nissim, Smith: Calibrating Noise to Sensitivity in Private Data "
        "Analysis. TCC 2006."
    )
    noise: ClassVar[str] = "Laplace on a fine lattice of real numbers, sampled exactly"

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain with noise."""
        return release_vector(self.noisy(table, event, key), table.grid, event)


@dataclass(frozen=True)
class LaplaceNonnegative(Additive):
    """Laplace noise on every cell, negatives set to 0: biased upwards where nobody is."""

    name: ClassVar[str] = "laplace-nonnegative"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Laplace noise on every cell, negatives set to 0"
    citation: ClassVar[str] = Laplace.citation
    noise: ClassVar[str] = Laplace.noise
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Non-negativity: negative values become 0, which lifts an empty cell by half a noise "
        "scale on average, and a block of n empty cells by n times that.",
    )

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain whose noisy count is above 0."""
        values = np.maximum(self.noisy(table, event, key), 0)
        return release_vector(values, table.grid, event)

    def variances(self, grid: Grid, event: Measurement) -> None:
        """Return None: the error depends on how many cells are empty."""


@dataclass(frozen=True)
class Geometric(Additive):
    """Ghosh, Roughgarden, Sundararajan (2012): two-sided geometric noise on every cell."""

    name: ClassVar[str] = "geometric"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "geometric noise on every cell (Ghosh et al. 2012)"
    citation: ClassVar[str] = (
        "Ghosh, Roughgarden, Sundararajan: Universally Utility-Maximizing Privacy Mechanisms. "
        "SIAM Journal on Computing 41(6), 2012."
    )
    whole: ClassVar[bool] = True

    def digits(self, scale: Fraction) -> int:
        """Return 0: counts are integers."""
        return 0

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain with noise."""
        noisy = add_noise(table.to_vector(), key, 0, event.scale)
        return release_vector(noisy, table.grid, event)


METHODS = (Laplace(), LaplaceNonnegative(), Geometric())
