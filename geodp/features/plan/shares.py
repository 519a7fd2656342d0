"""Budgets of a pyramid's levels that suit the priorities of the user, from public information only.

The variance of an aligned block is a smooth function of the levels' shares of the budget, so the
best shares of a chain are found by a local search from a good start; chains are tried one after
another, and the neighbours of the best of them. Everything is public: grid, budget and objective.

Every level gets at least about 2 % of the budget. The formula alone would take it from levels that
others measure better; but the first pass prunes by every level's own noise, and a level of nearly
pure noise would prune occupied nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from geodp.accuracy.variance import from_below
from geodp.errors import require_library
from geodp.typing import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
"""Function from variances to a value and its gradient."""

PARTS = 10_000
"""Shares are integer multiples of 1 / PARTS."""

MIN_PARTS = 200
"""Minimal parts of a level; half of an equal share if there are more than 25 levels."""

WIDEST_STEP = 6
"""Maximal bits of a repeated level of a chain that is tried."""

LAST_STEP = 12
"""Maximal bits of any level: 4096 children."""

SHARP, DEAR = 60.0, 4.0
"""Sharpness and weight of the penalty for an exceeded bound, on the scale of a logarithm."""

Radices = tuple[int, ...]

Rows = tuple[FloatArray, FloatArray]
"""Matrix from the levels' variances to those of blocks or regions, and the fan-outs."""


@dataclass(frozen=True)
class LevelShares:
    """A chain and the shares of its levels.

    Attributes
    ----------
    steps : tuple of int
        Number of bits that each level splits, from the root on.
    parts : tuple of int
        Shares of the budget in parts of 10,000, the root's first.
    value : float
        Value of the objective.
    """

    steps: tuple[int, ...]
    parts: tuple[int, ...]
    value: float

    @property
    def spec(self) -> str:
        """Specification for ``publish``."""
        chain, shares = ("-".join(map(str, part)) for part in (self.steps, self.parts))
        return f"pyramid:chain={chain},shares={shares}"


def minimise_sum(
    steps: Sequence[int],
    weights: ArrayLike,
    *,
    gaussian: bool = False,
    radices: Radices | None = None,
) -> LevelShares:
    """Find the shares of a chain with the least weighted sum of variances.

    Parameters
    ----------
    steps : sequence of int
        Digits of a key that each level splits.
    weights : float64[digits + 1]
        Weights of blocks of keys that share i digits, at index i (on bits, of ``2**(bits - i)``
        keys); not negative, not all 0.
    gaussian : bool
    radices : tuple of int, optional
        Radices of the digits. Default: bits.
    """
    weight = np.asarray(weights, np.float64)

    def total(variance: FloatArray) -> tuple[float, FloatArray]:
        value = float(weight @ variance)
        return float(np.log(value)), weight / value

    rows = _blocks(tuple(steps), radices or (2,) * sum(steps))
    logs = _search(steps, total, gaussian, None, rows)
    return _round(steps, logs, lambda v: float(weight @ v), gaussian, rows)


def minimise_product(
    steps: Sequence[int],
    squares: FloatArray,
    weights: FloatArray,
    *,
    limits: FloatArray | None = None,
    gaussian: bool = False,
    radices: Radices | None = None,
) -> LevelShares:
    """Find the shares of a chain with the least weighted geometric mean of regions' errors.

    Parameters
    ----------
    steps : sequence of int
    squares : float64[groups, digits + 1]
        Mean over a group's regions of the sums of squared parts of the nodes whose keys share i
        digits, at index i: ``A`` of :mod:`geodp.accuracy.variance` for every possible level.
    weights : float64[groups]
        Weights, of sum 1.
    limits : float64[digits + 1], optional
        Standard errors, for a budget of 1, that blocks of keys that share i digits should not
        exceed; the logarithm of any excess is a penalty.
    gaussian : bool
    radices : tuple of int, optional
    """
    radix, n = radices or (2,) * sum(steps), len(weights)
    (regions, fanouts), (blocks, _) = (
        _levels(squares, tuple(steps), radix),
        _blocks(tuple(steps), radix),
    )
    log_limit = np.full(len(blocks), np.inf)
    if limits is not None:
        log_limit = 2 * np.log(np.asarray(limits, np.float64))

    def mean(variance: FloatArray) -> tuple[float, FloatArray]:
        variances, block = variance[:n], variance[n:]
        # A smooth penalty, so that the gradient exists at the limit; -500 keeps exp finite for
        # blocks without a limit.
        over = np.maximum((np.log(block) - log_limit) * (SHARP / 2), -500)
        value = weights @ np.log(variances) / 2 + DEAR / SHARP * np.logaddexp(0, over).sum()
        slope = DEAR / (1 + np.exp(-over)) / block / 2
        return float(value), np.concatenate([weights / variances / 2, slope])

    rows = np.vstack([regions, blocks]), fanouts
    logs = _search(steps, mean, gaussian, None, rows)
    return _round(steps, logs, lambda v: float(np.exp(mean(v)[0])), gaussian, rows)


def minimise_ratio(
    steps: Sequence[int],
    targets: ArrayLike,
    *,
    gaussian: bool = False,
    orders: Sequence[int] = (8, 64, 256),
    radices: Radices | None = None,
) -> LevelShares:
    """Find the shares of a chain with the least maximal ratio of a block's error to a target.

    Parameters
    ----------
    steps : sequence of int
    targets : float64[digits + 1]
        Standard errors for a budget of 1; infinity for blocks without a target.
    gaussian : bool
    orders : sequence of int
        Orders of norms that approximate the maximum, which is not smooth; each starts from the
        result of the one before.
    radices : tuple of int, optional

    Returns
    -------
    Shares
        ``value`` is the largest ratio: at most 1 if the chain dominates the targets. This holds for
        aligned blocks; the ratio of another set of cells can be larger.
    """
    wanted = np.asarray(targets, np.float64) ** 2

    def norm(variance: FloatArray, order: int) -> tuple[float, FloatArray]:
        ratio = variance / wanted
        top = ratio.max()
        # Divided by the largest ratio first, as powers of 256 would overflow.
        power = (ratio / top) ** (order - 1)
        inner = float(power @ (ratio / top))
        return float(np.log(top) + np.log(inner) / order) / 2, power / (wanted * 2 * top * inner)

    logs, rows = None, _blocks(tuple(steps), radices or (2,) * sum(steps))
    for order in orders:
        logs = _search(steps, partial(norm, order=order), gaussian, logs, rows)
    assert logs is not None
    return _round(steps, logs, lambda v: float(np.sqrt((v / wanted).max())), gaussian, rows)


def chains(bits: int) -> Iterator[tuple[int, ...]]:
    """Yield chains worth trying: equal steps, with one or two different ones above the cells.

    The remainder comes directly below the root, where blocks are few.
    """
    seen: set[tuple[int, ...]] = set()
    # A single level splits small grids at once, which no smaller step could express.
    if bits <= LAST_STEP:
        seen.add((bits,))
        yield (bits,)
    for size in range(1, min(WIDEST_STEP, bits) + 1):
        for last in range(min(LAST_STEP, bits) + 1):
            for before in sorted({0, last, size + 1} if last else {0}):
                below = tuple(step for step in (before, last) if step)
                rest = bits - sum(below)
                if rest < 0:
                    continue
                top = (rest % size,) if rest % size else ()
                chain = top + (size,) * (rest // size) + below
                if chain and chain not in seen:
                    seen.add(chain)
                    yield chain


def best_ratio(
    bits: int, targets: ArrayLike, *, gaussian: bool = False, radices: Radices | None = None
) -> LevelShares:
    """Return the chain, with its shares, that has the least maximal ratio of those tried."""
    find = partial(minimise_ratio, targets=targets, gaussian=gaussian, radices=radices)
    # A low order ranks chains well enough; only the best five are optimised to the end.
    quick = _try_all(bits, partial(find, orders=(8,)), radices)
    return min([find(shares.steps) for shares in quick[:5]] + quick[:1], key=lambda s: s.value)


def best_sum(
    bits: int, weights: ArrayLike, *, gaussian: bool = False, radices: Radices | None = None
) -> LevelShares:
    """Return the chain, with its shares, that has the least weighted sum of those tried."""
    find = partial(minimise_sum, weights=weights, gaussian=gaussian, radices=radices)
    return _try_all(bits, find, radices)[0]


def best_products(
    bits: int,
    squares: FloatArray,
    weights: FloatArray,
    *,
    gaussian: bool = False,
    radices: Radices | None = None,
) -> list[LevelShares]:
    """Return all tried chains with the shares of :func:`minimise_product`, the best first."""
    minimise = partial(minimise_product, squares=squares, weights=weights)
    return _try_all(bits, partial(minimise, gaussian=gaussian, radices=radices), radices)


def _try_all(
    digits: int, find: Callable[[tuple[int, ...]], LevelShares], radices: Radices | None
) -> list[LevelShares]:
    """Try the chains of :func:`chains` and neighbours of the best; return them, the best first."""
    radix = radices or (2,) * digits

    def fits(chain: tuple[int, ...]) -> bool:
        ends = [0, *accumulate(chain)]
        return all(prod(radix[a:b]) <= 1 << LAST_STEP for a, b in pairwise(ends))

    tried = {chain: find(chain) for chain in chains(digits) if fits(chain)}
    best = min(tried.values(), key=lambda shares: shares.value)
    while True:
        for chain in _neighbours(best.steps):
            if chain not in tried and fits(chain):
                tried[chain] = find(chain)
        better = min(tried.values(), key=lambda shares: shares.value)
        # Gains below 0.1 % do not justify another round, and may be inaccuracy of the optimiser.
        if better.value >= best.value * (1 - 1e-3):
            return sorted(tried.values(), key=lambda shares: shares.value)
        best = better


def _neighbours(chain: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield chains with two levels joined, or a digit moved from one to the next."""
    for i, (a, b) in enumerate(pairwise(chain)):
        for new in ((a + b,), (a - 1, b + 1), (a + 1, b - 1)):
            if min(new) > 0:
                yield (*chain[:i], *new, *chain[i + 2 :])


@lru_cache(maxsize=4096)
def _blocks(steps: tuple[int, ...], radices: Radices) -> Rows:
    """Return the matrix from the levels' variances to those of blocks, and the fan-outs.

    With A the sums of squared parts of :mod:`geodp.accuracy.variance`, one row for the block that
    shares each number of digits; it is ``r**2`` above the block and ``r`` below it, for a block of
    r nodes.
    """
    stride = _strides(radices)
    part = stride[:, None] / stride
    return _levels(np.where(part < 1, part**2, part), steps, radices)


def _strides(radices: Radices) -> FloatArray:
    return np.array([1.0, *accumulate(reversed(radices), lambda a, b: a * b)])[::-1]


def _levels(squares: FloatArray, steps: tuple[int, ...], radices: Radices) -> Rows:
    """Return the matrix for squared parts for every number of digits, float64[., digits + 1]."""
    stride, ends = _strides(radices), [0, *accumulate(steps)]
    squares = squares[:, ends]
    fanouts = stride[ends[:-1]] / stride[ends[1:]]
    squares[:, 1:] -= fanouts * squares[:, :-1].copy()
    return squares, fanouts


def _search(
    steps: Sequence[int],
    objective: Objective,
    gaussian: bool,
    start: FloatArray | None,
    rows: Rows,
) -> FloatArray:
    """Minimise the objective over logarithms of the levels' shares beyond the minimal share."""
    require_library("scipy", "A plan with wishes")
    from scipy.optimize import minimize  # slow to import

    if start is None:
        start = np.log(np.array([2.0, *steps]))
    matrix, fanouts = rows
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
        value, slope = objective((matrix * best).sum(axis=1))
        toll = (slope[:, None] * matrix).sum(axis=0).tolist()
        for i, fanout in enumerate(b):
            toll[i + 1] += toll[i] * fanout * (best[i] / (fanout * best[i + 1])) ** 2
            toll[i] *= (best[i] / variances[i]) ** 2
        # Chain rule through variance = order / share**order and the softmax of the shares.
        by_part = -free * order * np.array(variances) * np.array(toll) / share
        return value, part * (by_part - part @ by_part)

    # Not L-BFGS-B: its threads wait for each other on a busy machine, for matrices this small.
    result = minimize(value_and_slope, start, jac=True, method="BFGS", options={"gtol": 1e-4})
    return np.asarray(result.x, np.float64)


def _round(
    steps: Sequence[int],
    logs: FloatArray,
    value: Callable[[FloatArray], float],
    gaussian: bool,
    rows: Rows,
) -> LevelShares:
    """Round shares to integer parts that add up, each at least the minimum."""
    min_parts, free = (round(part * PARTS) for part in _min_share(logs.size))
    parts = min_parts + np.floor(_softmax(logs) * free).astype(int)
    # The rounding error goes to the largest share, where it is relatively smallest.
    parts[np.argmax(parts)] += PARTS - parts.sum()
    matrix, fanouts = rows
    share = parts / PARTS
    variances = 1 / share if gaussian else 2 / share**2
    best = from_below(tuple(int(b) for b in fanouts), tuple(variances.tolist()))
    return LevelShares(tuple(steps), tuple(parts.tolist()), value(matrix @ np.array(best)))


def _min_share(levels: int) -> tuple[float, float]:
    """Return the minimal share of a level, and the remainder when all levels have it."""
    min_share = min(MIN_PARTS, PARTS // (2 * levels)) / PARTS
    return min_share, 1 - levels * min_share


def _softmax(logs: FloatArray) -> FloatArray:
    part = np.exp(logs - logs.max())
    return np.asarray(part / part.sum(), np.float64)
