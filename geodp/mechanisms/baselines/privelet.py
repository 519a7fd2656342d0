"""Privelet: noise on wavelet coefficients, along the key order or along every axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.grid.order import Order
from geodp.mechanisms.base import Mechanism, Query
from geodp.mechanisms.measure import add_noise, release_vector, stage_query
from geodp.mechanisms.trees.least_squares import (
    TreeMechanism,
    axis_bits,
    block_variances,
    depths,
    inside,
)
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable, ReleasedTable

LINEAR = (
    "None but the inverse transform: every value and every sum is unbiased, negative counts stay "
    "as they are, and every area's count is the sum of its cells.",
)


@dataclass(frozen=True)
class Privelet(TreeMechanism):
    """Xiao, Wang, Gehrke (2011): noise on the Haar wavelet of the counts in key order.

    Measured are the total and, at every node of the binary tree over the keys, left half minus
    right half. The paper divides a coefficient of a node of w cells by w and gives it noise of
    1/w of the scale; on these undivided integers that is one scale for all. The paper's
    sensitivity ``2 (1 + k)`` is for neighbours that differ in one replaced person; adding or
    removing one has ``1 + k``.
    """

    name: ClassVar[str] = "privelet"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Haar wavelet in key order with noise (Xiao et al. 2011)"
    citation: ClassVar[str] = (
        "Xiao, Wang, Gehrke: Differential Privacy via Wavelet Transforms. IEEE Transactions on "
        "Knowledge and Data Engineering 23(8), 2011."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Xiao et al. (2011), lemma 2 (generalised sensitivity of the Haar transform): one "
        "person changes the total by 1 and one difference on each of the k levels by 1, so the "
        "L1 sensitivity is 1 + k",
    )
    postprocessing: ClassVar[tuple[str, ...]] = LINEAR

    def sensitivity(self, grid: Grid) -> int:
        """Return ``1 + k`` on ``2**k`` keys."""
        return 1 + grid.bits

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the total by 1, and one difference of two halves by 1 "
            f"on each of the {grid.bits} levels"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List all coefficients."""
        return (stage_query(0, event.scale, "Haar coefficients of keys", 1 << grid.bits),)

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64] | None:
        """Compute ``sigma**2 / 3 * (1 + 2 / q**2)`` for a block of ``1/q`` of all keys.

        If keys lie outside the domain, blocks at its edge are computed one by one.
        """
        sigma2 = DiscreteLaplace.of_scale(event.scale).variance
        return sigma2 * haar_variances(grid.bits, inside(grid))

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Return the tree of halves, with variance ``sigma**2 / 2`` each."""
        return haar_tree(grid.bits, DiscreteLaplace.of_scale(event.scale).variance)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain, as a real number."""
        noisy = add_noise(forward(table.to_vector()), key, 0, event.scale)
        return release_vector(inverse(noisy), table.grid, event)


@dataclass(frozen=True)
class PriveletAxes(Mechanism):
    """Xiao, Wang, Gehrke (2011): the standard decomposition, one transform along every axis.

    The integer Haar transform along one axis after the other, each padded to a power of two.
    A coefficient belongs to one node (or the total) per axis, and all get noise of one scale.
    """

    name: ClassVar[str] = "privelet-2d"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Haar wavelet along every axis with noise (Xiao et al. 2011)"
    citation: ClassVar[str] = Privelet.citation
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Xiao et al. (2011), theorem 2 (generalised sensitivity of the multi-dimensional "
        "transform): one person changes 1 + k coefficients by 1 along an axis of 2**k cells, and "
        "their products in all, so the L1 sensitivity is the product of 1 + k over the axes",
    )
    postprocessing: ClassVar[tuple[str, ...]] = LINEAR

    def unsupported(self, grid: Grid) -> str | None:
        """Reject orders of other digits than bits, and domains that are too large."""
        return grid.order.why_no_halves(self.name) or super().unsupported(grid)

    def sensitivity(self, grid: Grid) -> int:
        """Return the product of ``1 + bits`` over the axes."""
        return prod(1 + bits for bits in axis_bits(grid))

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        factors = " x ".join(str(1 + bits) for bits in axis_bits(grid))
        return (
            "a person counted once changes one total and one difference a level along every axis, "
            f"so {factors} coefficients by 1 each"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List all coefficients."""
        sizes = tuple(1 << bits for bits in axis_bits(grid))
        return (stage_query(0, event.scale, "Haar coefficients of axes", sizes),)

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64]:
        """Compute the product over the axes of ``(1 + 2 / q**2) / 3``, times ``sigma**2``.

        A block of keys is a box with ``1/q`` of an axis. On a grid that does not fill its keys,
        blocks at the edges are computed one by one; with a mask, all blocks are.
        """
        sigma2 = DiscreteLaplace.of_scale(event.scale).variance
        if not grid.domain.is_box:
            return sigma2 * _masked_variances(grid)
        factors = []
        for size, bits in zip(grid.shape, axis_bits(grid), strict=True):
            held = None if size == 1 << bits else np.arange(1 << bits) < size
            factors.append(haar_variances(bits, held))
        return sigma2 * np.array(
            [prod(f[depth] for f, depth in zip(factors, d, strict=True)) for d in depths(grid)]
        )

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain, as a real number."""
        order = table.grid.order
        values = order_to_box(table.to_vector(), order, axis_bits(table.grid))
        coefficients = along_every_axis(forward, values)
        noisy = add_noise(coefficients, key, 0, event.scale)
        values = along_every_axis(inverse, noisy)
        return release_vector(box_to_order(values, order), table.grid, event)


def _bit_axes(order: Order) -> tuple[int, ...]:
    """Sort the positions of a binary order's bits by axis, then from the most significant."""
    return tuple(sorted(range(len(order.axes)), key=lambda place: order.axes[place]))


def order_to_box(
    vector: NDArray[np.int64], order: Order, bits: tuple[int, ...]
) -> NDArray[np.int64]:
    """Arrange the values of all keys as an array with ``2**bits`` cells along each axis.

    Examples
    --------
    >>> order_to_box(np.arange(8), Order.morton((2, 4)), (1, 2))
    array([[0, 1, 4, 5],
           [2, 3, 6, 7]])
    """
    digits = vector.reshape((2,) * len(order.axes))
    return digits.transpose(_bit_axes(order)).reshape([1 << n for n in bits])


def box_to_order(box: NDArray[np.float64], order: Order) -> NDArray[np.float64]:
    """Invert :func:`order_to_box`."""
    digits = box.reshape((2,) * len(order.axes))
    return digits.transpose(np.argsort(_bit_axes(order))).reshape(-1)


def forward(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the unnormalised integer Haar transform along the first axis, of ``2**k`` cells.

    Returns
    -------
    int64, of the same shape
        Along that axis the total, then the differences left - right of all nodes from the root
        down, in the order of :func:`geodp.kernels.tree.forward_dense`.

    Examples
    --------
    >>> forward(np.array([5, 0, 0, 2]))
    array([ 7,  3,  5, -2])
    """
    coefficients, sums = np.empty(values.shape, np.int64), values
    while (half := len(sums) // 2) > 0:
        left, right = sums[::2], sums[1::2]
        np.subtract(left, right, out=coefficients[half : 2 * half])
        sums = left + right
    coefficients[0] = sums[0]
    return coefficients


def inverse(coefficients: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Invert :func:`forward` in floating point; exact while values fit 53 bits.

    Examples
    --------
    >>> inverse(np.array([8, 3, 5, -2]))
    array([5.25, 0.25, 0.25, 2.25])
    """
    sums = coefficients[:1].astype(np.float64)
    while (n := len(sums)) < len(coefficients):
        details = coefficients[n : 2 * n]
        halves = np.empty((2 * n, *sums.shape[1:]))
        np.add(sums, details, out=halves[::2])
        np.subtract(sums, details, out=halves[1::2])
        halves *= 0.5
        sums = halves
    return sums


def along_every_axis(transform: Callable[[Any], Any], values: Any) -> Any:
    """Apply a transform of the first axis to every axis; their order stays the same."""
    for _ in range(values.ndim):
        values = np.ascontiguousarray(np.moveaxis(transform(values), 0, -1))
    return values


def haar_variances(bits: int, domain: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """Compute the largest variances of blocks of a line, in the noise's variance: float64[bits +
    1].

    The index is the number of halvings.
    """
    variances = block_variances(haar_tree(bits, 1.0), bits, domain)
    assert variances is not None  # all nodes have powers of two of cells
    return variances


def haar_tree(bits: int, sigma2: float) -> TreeVariance:
    """Return a tree whose half is half of its parent plus or minus half of a noisy difference."""
    return TreeVariance((2,) * bits, (sigma2, *[sigma2 / 2] * bits))


def _masked_variances(grid: Grid) -> NDArray[np.float64]:
    """Compute the variances of PriveletAxes for any domain, in units of the noise's variance."""
    # In a sum over a set of cells, the weight of the coefficient of nodes of w cells per axis is
    # the set's own coefficient over the product of the w. Transforms within the blocks of a level
    # give all coefficients of their sets at once; above it, a block acts as a single cell.
    held = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64)).astype(np.int64)
    values = order_to_box(held, grid.order, axis_bits(grid)).astype(np.float64)
    shape = values.shape
    done = [0] * len(shape)
    largest = []
    for axis in (None, *grid.order.axes[::-1]):
        if axis is not None:
            line = np.moveaxis(values, axis, 0)
            step = 1 << done[axis]
            left, right = line[:: 2 * step].copy(), line[step :: 2 * step].copy()
            line[:: 2 * step], line[step :: 2 * step] = left + right, left - right
            done[axis] += 1
        squares: Any = values**2
        for a, n in enumerate(shape):
            size = 1 << done[a]
            at = np.arange(size)
            weight = 1.0 / (2 * np.maximum(at & -at, 1)) ** 2  # nodes inside a block, by place
            weight[0] = 1 / n**2 + sum(1 / width**2 for width in _doublings(2 * size, n))
            squares = np.moveaxis(squares, a, -1)
            squares = squares.reshape(*squares.shape[:-1], n // size, size) @ weight
            squares = np.moveaxis(squares, -1, a)
        largest.append(float(squares.max()))
    return np.array(largest[::-1])


def _doublings(first: int, last: int) -> list[int]:
    """Return ``first``, twice that, and so on up to ``last``."""
    return [first << i for i in range((last // first).bit_length())] if first <= last else []


METHODS = (Privelet(), PriveletAxes())
