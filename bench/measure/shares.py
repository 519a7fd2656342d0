"""Levels of a pyramid, and the shares of the budget that suit families of regions.

The error of an aligned block is a smooth function of the levels' shares of the budget, so the best
shares of given levels are found by a local search from a good start.

Every level gets at least about 2 % of the budget. The formula alone would take it from levels that
others measure better; but the first pass prunes by every level's own noise, and a level of nearly
pure noise would prune occupied nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Self

import numpy as np
from scipy.optimize import minimize

from geodp.typing import FloatArray

PARTS = 10_000
"""Shares are integer multiples of 1 / PARTS."""

MIN_PARTS = 200
"""Minimal parts of a level; half of an equal share if there are more than 25 levels."""

SHARP, DEAR = 60.0, 4.0
"""Sharpness and weight of the penalty for an exceeded bound, on the scale of a logarithm."""

Rows = tuple[FloatArray, FloatArray]
"""Matrix from the levels' variances to those of blocks or regions, and the fan-outs."""


@dataclass(frozen=True)
class Levels:
    """Levels of a pyramid and their shares.

    Attributes
    ----------
    steps : tuple of int
        Number of bits that each level splits, from the root on.
    parts : tuple of int
        Shares of the budget in parts of 10,000, the root's first.
    """

    steps: tuple[int, ...]
    parts: tuple[int, ...]

    @property
    def spec(self) -> str:
        """Specification for ``publish``."""
        chain, shares = ("-".join(map(str, part)) for part in (self.steps, self.parts))
        return f"pyramid:chain={chain},shares={shares}"

    @classmethod
    def of(cls, steps: Sequence[int], weights: Sequence[float]) -> Self:
        """Round weights to integer parts, none below the minimum."""
        levels = len(weights)
        min_parts = min(MIN_PARTS, PARTS // (2 * levels))
        share = np.array(weights, np.float64) / float(sum(weights))
        parts = np.maximum(np.rint(share * PARTS).astype(int), min_parts)
        # The rounding error goes to the largest share, where it is relatively smallest.
        parts[np.argmax(parts)] += PARTS - parts.sum()
        return cls(tuple(steps), tuple(parts.tolist()))


def minimise_product(
    steps: Sequence[int],
    squares: FloatArray,
    weights: FloatArray,
    limits: FloatArray,
    *,
    gaussian: bool = False,
) -> Levels:
    """Find the shares of levels with the least weighted geometric mean of regions' errors.

    Parameters
    ----------
    steps : sequence of int
        Bits of a key that each level splits.
    squares : float64[groups, bits + 1]
        Mean over a group's regions of the sums of squared parts of the nodes whose keys share i
        bits, at index i: ``A`` of :mod:`geodp.accuracy.variance` for every possible level.
    weights : float64[groups]
        Weights, of sum 1.
    limits : float64[bits + 1]
        Standard errors, for a budget of 1, that blocks of keys that share i bits should not
        exceed; the logarithm of any excess is a penalty.
    gaussian : bool
    """
    n, steps = len(weights), tuple(steps)
    (regions, fanouts), (blocks, _) = _levels(squares, steps), _blocks(steps)
    log_limit = 2 * np.log(limits)

    def mean(variance: FloatArray) -> tuple[float, FloatArray]:
        variances, block = variance[:n], variance[n:]
        # A smooth penalty, so that the gradient exists at the limit; -500 keeps exp finite for
        # blocks without a limit.
        over = np.maximum((np.log(block) - log_limit) * (SHARP / 2), -500)
        value = weights @ np.log(variances) / 2 + DEAR / SHARP * np.logaddexp(0, over).sum()
        slope = DEAR / (1 + np.exp(-over)) / block / 2
        return float(value), np.concatenate([weights / variances / 2, slope])

    matrix = np.vstack([regions, blocks])
    start = np.log(np.array([2.0, *steps]))
    # Variance 1 / share for Gaussian noise, whose rho adds up, and 2 / share**2 for Laplace noise.
    order = 1 if gaussian else 2
    min_share, free = _min_share(start.size)
    b = fanouts.tolist()

    def value_and_slope(logs: FloatArray) -> tuple[float, FloatArray]:
        part = _softmax(logs)
        share = min_share + free * part
        variances = (order / share**order).tolist()
        best = variances.copy()
        # Bottom-up as in `geodp.accuracy.variance.from_below`; the loop after the objective
        # propagates its gradient back through the same steps.
        for i in range(len(b) - 1, -1, -1):
            below = b[i] * best[i + 1]
            best[i] = variances[i] * below / (variances[i] + below)
        value, slope = mean((matrix * best).sum(axis=1))
        toll = (slope[:, None] * matrix).sum(axis=0).tolist()
        for i, fanout in enumerate(b):
            toll[i + 1] += toll[i] * fanout * (best[i] / (fanout * best[i + 1])) ** 2
            toll[i] *= (best[i] / variances[i]) ** 2
        # Chain rule through variance = order / share**order and the softmax of the shares.
        by_part = -free * order * np.array(variances) * np.array(toll) / share
        return value, part * (by_part - part @ by_part)

    # Not L-BFGS-B: its threads wait for each other on a busy machine, for matrices this small.
    result = minimize(value_and_slope, start, jac=True, method="BFGS", options={"gtol": 1e-4})
    min_parts, rest = (round(part * PARTS) for part in (min_share, free))
    parts = min_parts + np.floor(_softmax(result.x) * rest).astype(int)
    # The rounding error goes to the largest share, where it is relatively smallest.
    parts[np.argmax(parts)] += PARTS - parts.sum()
    return Levels(steps, tuple(parts.tolist()))


@lru_cache(maxsize=4096)
def _blocks(steps: tuple[int, ...]) -> Rows:
    """Return the matrix from the levels' variances to those of blocks, and the fan-outs.

    With A the sums of squared parts of :mod:`geodp.accuracy.variance`, one row for the block that
    shares each number of bits; it is ``r**2`` above the block and ``r`` below it, for a block of
    r nodes.
    """
    stride = 2.0 ** np.arange(sum(steps), -1, -1)
    part = stride[:, None] / stride
    return _levels(np.where(part < 1, part**2, part), steps)


def _levels(squares: FloatArray, steps: tuple[int, ...]) -> Rows:
    """Return the matrix for squared parts for every number of bits, float64[., bits + 1]."""
    squares = squares[:, [0, *accumulate(steps)]]
    fanouts = 2.0 ** np.array(steps)
    squares[:, 1:] -= fanouts * squares[:, :-1].copy()
    return squares, fanouts


def _min_share(levels: int) -> tuple[float, float]:
    """Return the minimal share of a level, and the remainder when all levels have it."""
    min_share = min(MIN_PARTS, PARTS // (2 * levels)) / PARTS
    return min_share, 1 - levels * min_share


def _softmax(logs: FloatArray) -> FloatArray:
    part = np.exp(logs - logs.max())
    return np.asarray(part / part.sum(), np.float64)
