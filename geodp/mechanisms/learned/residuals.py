"""Residuals of a level's predictions as whole numbers, which add up in any order to the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.learned import residuals as kernels

FEWEST = 60
"""Members of a group of size classes at least; of fewer children nothing is learned."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """What is seen of a level's predictions: post-processing of noisy counts.

    Attributes
    ----------
    bins : int64[42, 704]
        Residuals by the prediction's size class and by their own size, in units of the noise's
        standard deviation: 32 bins an octave of 1 + |residual| on either side of 0.
    sums : int64[2, 2]
        Sizes of the residuals, of this prediction and of an even one, see :meth:`sizes`.
    """

    bins: NDArray[np.int64]
    sums: NDArray[np.int64]

    @classmethod
    def none(cls) -> Self:
        """Return those of no child."""
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
            Counts with noise, what is predicted, not below 0, and what would be said without.
        sd : float
            Standard deviation of the noise, above 0.
        """
        found = cls.none()
        kernels.gather(measured, predicted, even, sd, found.bins, found.sums)
        return found

    def __add__(self, other: Residuals) -> Residuals:
        """Return those of both: of parts in any order the same as of the whole."""
        return Residuals(self.bins + other.bins, self.sums + other.sums)

    @property
    def members(self) -> int:
        """Return how many children were seen."""
        return int(self.bins.sum())

    @property
    def sizes(self) -> tuple[int, int]:
        """Sums of the residuals' sizes, predicted and even, in 256ths of a standard deviation."""
        high, low = self.sums[:, 0].tolist(), self.sums[:, 1].tolist()
        return (high[0] << kernels.LOW_BITS) + low[0], (high[1] << kernels.LOW_BITS) + low[1]

    def explain(self, most: tuple[int, int]) -> bool:
        """Whether the predictions are nearer than even ones, compared in whole numbers.

        Parameters
        ----------
        most : int, int
            Numerator and denominator: their sizes add up to at most so much of the others'.
        """
        predicted, even = self.sizes
        return self.members >= FEWEST and predicted * most[1] <= even * most[0]

    def group(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Put neighbouring size classes together until each group has 60 members.

        From the largest class down; what is left at the lower end joins the last group.

        Returns
        -------
        row, bins : int64[42], int64[g, 704]
            Group of each class, and the residuals of each group; g is at least 1.
        """
        row, count = np.zeros(kernels.CLASSES, np.int64), self.bins.sum(axis=1)
        groups, held = 0, 0
        for k in range(kernels.CLASSES - 1, -1, -1):
            if held >= FEWEST and int(count[: k + 1].sum()) >= FEWEST:
                groups, held = groups + 1, 0
            row[k] = groups
            held += int(count[k])
        bins = np.zeros((groups + 1, self.bins.shape[1]), np.int64)
        np.add.at(bins, row, self.bins)
        return row, bins
