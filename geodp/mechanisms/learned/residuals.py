"""Residuals of a level's predictions as integers, so that their sums do not depend on the order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.learned import residuals as kernels

FEWEST = 60
"""Fewest members of a group of size classes; from fewer children nothing is learned."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """A histogram of the residuals of a level's predictions: post-processing of noisy counts.

    Attributes
    ----------
    bins : int64[42, 704]
        Numbers of residuals by the prediction's size class and by residual, in units of the noise's
        standard deviation: 32 bins per octave of 1 + |residual| on each side of 0.
    sums : int64[2, 2]
        Sizes of the residuals of this prediction and of equal shares, see :meth:`sizes`.
    """

    bins: NDArray[np.int64]
    sums: NDArray[np.int64]

    @classmethod
    def none(cls) -> Self:
        """Make an empty histogram."""
        shape = kernels.CLASSES, 2 * kernels.SIDE
        return cls(np.zeros(shape, np.int64), np.zeros((2, 2), np.int64))

    @classmethod
    def of(
        cls,
        measured: NDArray[np.float64],
        predicted: NDArray[np.float64],
        even: NDArray[np.float64],
        sd: float,
    ) -> Self:
        """Gather the residuals of children.

        Parameters
        ----------
        measured, predicted, even : float64[n]
            Noisy counts, their predictions, not below 0, and the equal shares used without these.
        sd : float
            Standard deviation of the noise, above 0.
        """
        residuals = cls.none()
        kernels.gather(measured, predicted, even, sd, residuals.bins, residuals.sums)
        return residuals

    def __add__(self, other: Residuals) -> Residuals:
        """Add two histograms; the order of several does not matter."""
        return Residuals(self.bins + other.bins, self.sums + other.sums)

    @property
    def members(self) -> int:
        """Number of children."""
        return int(self.bins.sum())

    @property
    def sizes(self) -> tuple[int, int]:
        """Sums of the residuals' sizes, for predictions and equal shares, in 1/256 deviations."""
        # As Python integers, which do not overflow.
        high, low = self.sums[:, 0].tolist(), self.sums[:, 1].tolist()
        return (high[0] << kernels.LOW_BITS) + low[0], (high[1] << kernels.LOW_BITS) + low[1]

    def explain(self, ratio: tuple[int, int]) -> bool:
        """Test whether predictions are closer than equal shares; compared in integers.

        Parameters
        ----------
        ratio : int, int
            Numerator and denominator of the largest accepted ratio of their residuals.
        """
        predicted, even = self.sizes
        return self.members >= FEWEST and predicted * ratio[1] <= even * ratio[0]

    def improve_on_even(self, ratio: tuple[int, int], noise: int) -> bool:
        """Test whether predictions are closer than equal shares, beyond the noise in both.

        Parameters
        ----------
        ratio : int, int
            Numerator and denominator of the largest accepted ratio of the excesses.
        noise : int
            Mean size of the noise, in 1/256 deviations.
        """
        predicted, even = (size - noise * self.members for size in self.sizes)
        return even > 0 and predicted * ratio[1] <= even * ratio[0]

    def group(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Merge neighbouring size classes until each group has 60 members.

        It starts with the largest class; a remainder at the lower end joins the last group.

        Returns
        -------
        row, bins : int64[42], int64[g, 704]
            Group of each class, and the residuals of each group; g is at least 1.
        """
        row, count = np.zeros(kernels.CLASSES, np.int64), self.bins.sum(axis=1)
        groups, held = 0, 0
        for k in range(kernels.CLASSES - 1, -1, -1):
            # A group is closed only if the remaining classes can fill another one.
            if held >= FEWEST and int(count[: k + 1].sum()) >= FEWEST:
                groups, held = groups + 1, 0
            row[k] = groups
            held += int(count[k])
        bins = np.zeros((groups + 1, self.bins.shape[1]), np.int64)
        np.add.at(bins, row, self.bins)
        return row, bins
