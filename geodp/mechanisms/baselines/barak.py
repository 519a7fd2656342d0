"""Noise on Walsh-Hadamard coefficients, and the non-negative table that fits them best."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.tree import cells_of_box
from geodp.mechanisms.base import MAX_CELLS, Mechanism, Query, within
from geodp.mechanisms.measure import add_noise, release_vector, stage_query
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable, ReleasedTable

MAX_COEFFICIENTS = 1 << 16
"""Most coefficients: their number is the sensitivity, and for more of them the noise of a budget
below 1 is too wide to be drawn."""

MAX_ENTRIES = 1 << 22
"""Most coefficients times cells of the linear program: its matrix takes 50 MiB."""

MAX_WORK = 1 << 30
"""Most squared coefficients times cells of the linear program: about a minute at most."""

LARGEST_NUMBER = 1 << 30
"""Largest number in the linear program: above it the solver's tolerance of 1e-7 is below the
precision of float64."""


@dataclass(frozen=True, kw_only=True)
class Barak(Mechanism):
    """Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (2007): noisy marginals, made consistent.

    The k bits of a key are binary attributes. A marginal over some of them is a sum of
    Walsh-Hadamard coefficients ``sum_x (-1)**popcount(a & x) * count(x)``, those whose index a
    has no other bits set, and marginals share coefficients. Measured are the coefficients of
    all marginals of at most ``order`` bits; one person changes each by 1, so the sensitivity is
    their number. A linear program finds the table without negative values whose coefficients
    are nearest to the noisy ones in the largest difference. It may hold fractions; the rounding
    to whole numbers at the end of the paper is left out.

    On a map in Morton order the first bits are the coarse blocks, and marginals of two bits see
    no more than the halves of two blocks against each other: the map is a blurred one. That is
    what the method is, and all that its program can be solved for on more than 1024 keys; it is
    here for comparison. With all coefficients the table is determined by them, and its blocks
    have the errors of independent noise that is ``sqrt(n)`` times Laplace noise on n cells.

    Attributes
    ----------
    order : int
        Most bits of a marginal; 0: all, so that every coefficient is measured.
    nonnegative : bool
        Whether to solve the program. Otherwise the coefficients are transformed back, those not
        measured as 0, which is unbiased for every measured marginal where all keys are cells of
        the domain.
    """

    order: int = field(default=2, metadata=within(0))
    nonnegative: bool = True  # type: ignore[misc]  # a setting here, a constant elsewhere

    name: ClassVar[str] = "barak"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "noisy Walsh-Hadamard coefficients (Barak et al. 2007)"
    citation: ClassVar[str] = (
        "Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar: Privacy, Accuracy, and Consistency Too: "
        "A Holistic Solution to Contingency Table Release. PODS 2007."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Barak et al. (2007), section 3: one person changes every unnormalised coefficient "
        "by 1, so the L1 sensitivity is the number of measured coefficients; the linear program "
        "is post-processing",
    )

    @property
    def postprocessing(self) -> tuple[str, ...]:  # type: ignore[override]
        """The steps after the noise: the linear program or the transform."""
        blur = (
            "Coefficients that are not measured are not estimated: what the measured marginals "
            "leave open is chosen without looking at the data, so single cells are biased."
        )
        if self.nonnegative:
            return (
                "Non-negativity: a linear program chooses the table without negative values whose "
                "coefficients are nearest to the noisy ones; where people are few it is biased "
                "upwards, and where cells outnumber coefficients most cells become 0.",
                blur,
            )
        return (
            "None but the inverse transform: measured marginals are unbiased, on a domain that "
            "fills its keys. Elsewhere what the blurred table gives to keys outside the domain is "
            "dropped, and sums are biased downwards by it.",
            blur,
        )

    def coefficients(self, grid: Grid) -> int:
        """Count the measured coefficients."""
        if self.order == 0 or self.order >= grid.bits:
            return 1 << grid.bits
        return sum(comb(grid.bits, j) for j in range(self.order + 1))

    def unsupported(self, grid: Grid) -> str | None:
        """Reject grids with too many coefficients, or too large a linear program."""
        count = self.coefficients(grid)
        if 1 << grid.bits > MAX_CELLS or count > MAX_COEFFICIENTS:
            return Rule(
                "barak-too-many-keys",
                f"barak takes at most {MAX_CELLS:,} keys and {MAX_COEFFICIENTS:,} coefficients; "
                f"this grid has {1 << grid.bits:,} and {count:,}.",
            )
        cells = grid.size
        large = count * cells > MAX_ENTRIES or count * count * cells > MAX_WORK
        if self.nonnegative and large:
            return Rule(
                "barak-too-much-work",
                f"barak solves a linear program of up to {MAX_WORK:,} coefficients * coefficients "
                f"* cells (all coefficients of 1,024 cells, or marginals of 2 bits of 32,768) and "
                f"{MAX_ENTRIES:,} coefficients * cells; this grid has {count:,} coefficients and "
                f"{cells:,} cells. Choose fewer cells, a smaller order, or nonnegative=no.",
            )
        return None

    def sensitivity(self, grid: Grid) -> int:
        """Return the number of measured coefficients."""
        return self.coefficients(grid)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            f"a person counted once changes each of the {self.coefficients(grid)} measured "
            "coefficients by 1"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """Return the measured coefficients."""
        index = find_measured(grid.bits, self.order)
        sha256 = digest(index.astype("<i8"))
        return (stage_query(0, event.scale, "Walsh-Hadamard coefficients", index.size, sha256),)

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64] | None:
        """Compute the variances of the linear estimate; None if it is biased.

        That is so with the linear program, and if some coefficients are not measured.
        """
        if self.nonnegative or self.coefficients(grid) < 1 << grid.bits:
            return None
        sigma2 = DiscreteLaplace.of_scale(event.scale).variance
        full = linear_variances(grid.bits, 0, sigma2)
        # Cells of the full estimate are uncorrelated, so a block has what its cells have.
        return np.asarray(np.minimum(full, full[-1] * grid.size), np.float64)

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> NDArray[np.float64] | None:
        """Compute the variances of blocks, as for :meth:`variances`: cells are uncorrelated."""
        largest = self.variances(grid, event)
        return None if largest is None else largest[-1] * cells_of_box(grid, block, stride)

    def visited(self, released: ReleasedTable) -> int:
        """Coefficients that were measured."""
        return self.coefficients(released.grid)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Return the fitted table, or the linear estimate."""
        grid = table.grid
        index = find_measured(grid.bits, self.order)
        noisy = add_noise(transform(table.to_vector())[index], key, 0, event.scale)
        if not self.nonnegative:
            return release_vector(linear_estimate(noisy, index, grid.bits), grid, event)
        keys = np.arange(1 << grid.bits)
        # Only cells of the domain are variables of the program: the others are 0 for every table.
        cells = keys[grid.contains_keys(keys.astype(np.uint64))]
        fitted = np.zeros(1 << grid.bits)
        fitted[cells], _ = fit(noisy, index, cells, float(event.scale))
        return release_vector(fitted, grid, event)


def find_measured(bits: int, order: int) -> NDArray[np.int64]:
    """Return indices of the coefficients of all marginals of at most ``order`` bits; 0: of all.

    Examples
    --------
    >>> find_measured(3, 1)
    array([0, 1, 2, 4])
    """
    every = np.arange(1 << bits, dtype=np.int64)
    return every[np.bitwise_count(every) <= order] if order else every


def transform(values: NDArray[Any]) -> NDArray[Any]:
    """Compute unnormalised Walsh-Hadamard coefficients of ``2**k`` values, in the values' type.

    Coefficient a is ``sum_x (-1)**popcount(a & x) * values[x]``. Integers stay exact while the
    sum of all values fits int64.

    Examples
    --------
    >>> transform(np.array([5, 3, 1, 0]))
    array([9, 3, 7, 1])
    """
    out = values.copy()
    half = 1
    # The fast transform: sums and differences of pairs at distance 1, 2, 4 ..., exact on integers.
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return out


def linear_estimate(
    noisy: NDArray[np.int64], index: NDArray[np.int64], bits: int
) -> NDArray[np.float64]:
    """Values of all ``2**bits`` keys from coefficients, those not measured as 0."""
    every = np.zeros(1 << bits)
    every[index] = noisy
    return transform(every) / (1 << bits)


def linear_variances(bits: int, order: int, sigma2: float) -> NDArray[np.float64]:
    """Variances of the linear estimate's aligned blocks, where a coefficient has ``sigma2``.

    A block of ``2**(bits - i)`` keys depends on the coefficients of the first i bits alone, of
    which at most ``order`` are set: ``c`` of them, each with the factor ``2**-i``. So its
    variance is ``sigma2 * c / 4**i``; with all coefficients ``sigma2 / 2**i``.

    Returns
    -------
    float64[bits + 1]
        From the root to the cells.

    Examples
    --------
    >>> linear_variances(6, 0, 2 * 64**2)[::-2] ** 0.5
    array([11.3137085 , 22.627417  , 45.254834  , 90.50966799])
    """
    largest = order or bits
    counts = [sum(comb(i, j) for j in range(min(largest, i) + 1)) / 4.0**i for i in range(bits + 1)]
    return sigma2 * np.array(counts)


def fit(
    noisy: NDArray[np.int64], index: NDArray[np.int64], cells: NDArray[np.int64], scale: float
) -> tuple[NDArray[np.float64], float]:
    """Non-negative values of cells whose coefficients are nearest to the noisy ones.

    Minimises b under ``|sum_x (-1)**popcount(a & x) * value(x) - noisy(a)| <= b`` for all
    measured a and ``value >= 0``. Solved by the simplex method on numbers in units of the
    noise's scale, or of more where they are large, so its solution is a vertex: at most as many
    cells are above 0 as there are coefficients, and one more.

    Parameters
    ----------
    noisy, index : int64[c]
        Coefficients and their numbers.
    cells : int64[n]
        Keys that can hold somebody.
    scale : float

    Returns
    -------
    value : float64[n]
    b : float
        The largest difference left, in counts.

    Raises
    ------
    UsageError
        The solver gives up.
    """
    from scipy.optimize import linprog  # late: it is slow to import
    from scipy.sparse import csc_array, eye_array, hstack

    signs = 1.0 - 2.0 * (np.bitwise_count(index[:, None] & cells) & 1)
    c, n = signs.shape
    one, slack = csc_array(np.ones((c, 1))), eye_array(c, format="csc")
    # With slacks 0 <= u <= 2 b, the value's coefficients + u - b equal the noisy ones: the dense
    # matrix is stored once, instead of once for each direction of the inequality.
    equal = hstack([csc_array(signs), slack, -one], format="csc")
    below = hstack([csc_array((c, n)), slack, -2.0 * one], format="csc")
    cost = np.zeros(n + c + 1)
    cost[-1] = 1
    # In units of the noise, so that the solver's absolute tolerances are small against it.
    unit = max(scale, float(np.abs(noisy).max()) / LARGEST_NUMBER)
    for method in ("highs-ds", "highs-ipm"):
        solution = linprog(
            cost,
            A_ub=below,
            b_ub=np.zeros(c),
            A_eq=equal,
            b_eq=noisy / unit,
            method=method,
        )
        if solution.x is not None:
            value = np.maximum(solution.x[:n], 0) * unit
            return np.asarray(value, np.float64), float(solution.x[-1]) * unit
    raise UsageError(
        "The linear program of barak has no solution; choose nonnegative=no.",
        code="barak-no-solution",
    )


METHODS = (Barak(),)
