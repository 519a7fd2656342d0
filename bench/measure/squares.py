"""Coverage of the intervals of squares of cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import geodp
from geodp.grid.region import Region

SIDES, SQUARES = (1, 2, 4, 8, 16), 60
"""Cells on a side of squares, and the number of squares."""

PLACES = ("anywhere", "occupied")
"""Places of squares: anywhere, or with an occupied first cell."""


def hold_squares(release: geodp.Release, truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the share of squares whose 95 % interval holds their count.

    Parameters
    ----------
    release : Release
        A release on a grid with two axes.
    truth : int64[rows, columns]

    Returns
    -------
    float64[2, sides]
        By place, 0 to 1.
    """
    # The same squares for every release, so that methods are compared on equal terms.
    draw, occupied = np.random.default_rng(1), np.argwhere(truth > 0)
    held = np.zeros((len(PLACES), len(SIDES)))
    for s, side in enumerate(SIDES):
        anywhere = draw.integers(0, truth.shape[0] - side, (SQUARES, 2))
        corners_occupied = occupied[draw.integers(0, len(occupied), SQUARES)]
        for p, corners in enumerate(
            (anywhere, np.minimum(corners_occupied, truth.shape[0] - side))
        ):
            for row, col in corners.tolist():
                cells = [index.ravel() for index in np.mgrid[row : row + side, col : col + side]]
                estimate = release.estimate(Region.of_map(release.grid, *cells))
                true = truth[row : row + side, col : col + side].sum()
                held[p, s] += estimate.low <= true <= estimate.high
    return held / SQUARES
