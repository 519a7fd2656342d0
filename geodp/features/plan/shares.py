"""Budgets of a pyramid that serve what the user says matters; nothing here sees any data.

The variance of an aligned block is a smooth function of the levels' shares of the budget, so the
best shares of a chain are found by a local search from a good start; chains are tried one after
another, and the neighbours of the best of them. Everything is public: grid, budget and wishes.

No level gets less than about 2 % of the budget. The formula would gladly take it from levels that
others measure better; but the first pass prunes by every level's own noise, and a level of nearly
pure noise would prune what is occupied.
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
"""The value of variances, and its slope in each of them."""

PARTS = 10_000
"""Shares are whole numbers of these parts."""

LEAST = 200
"""Fewest parts of a level; half of an equal share where there are more than 25 levels."""

WIDEST_STEP = 6
"""Most bits that a repeated level of a tried chain splits."""

LAST_STEP = 12
"""Most bits that any level splits: 4096 children."""

SHARP, DEAR = 60.0, 4.0
"""How suddenly, and how dearly, a bound that is exceeded counts beside the logarithm of a mean."""

Radices = tuple[int, ...]

Rows = tuple[FloatArray, FloatArray]
"""Matrix from the levels' variances to those of blocks or regions, and the fan-outs."""


@dataclass(frozen=True)
class LevelShares:
    """A chain and the shares of its levels.

    Attributes
    ----------
    steps : tuple of int
        Bits that each level splits, from the root on.
    parts : tuple of int
        Shares of the budget in parts of 10,000, the root's first.
    value : float
        The objective that was reached.
    """

    steps: tuple[int, ...]
    parts: tuple[int, ...]
    value: float

    @property
    def spec(self) -> str:
        """As ``publish`` takes it."""
        chain, shares = ("-".join(map(str, part)) for part in (self.steps, self.parts))
        return f"pyramid:chain={chain},shares={shares}"


def least_sum(
    steps: Sequence[int],
    weights: ArrayLike,
    *,
    gaussian: bool = False,
    radices: Radices | None = None,
) -> LevelShares:
    """Shares of a chain with the least weighted sum of variances.

    Parameters
    ----------
    steps : sequence of int
        Digits of a key that each level splits.
    weights : float64[digits + 1]
        Of blocks of keys that share i digits at index i (on bits, of ``2**(bits - i)`` keys); not
        negative, not all 0.
    gaussian : bool
    radices : tuple of int, optional
        Of the digits; default: bits.
    """
    weight = np.asarray(weights, np.float64)

    def total(variance: FloatArray) -> tuple[float, FloatArray]:
        value = float(weight @ variance)
        return float(np.log(value)), weight / value

    rows = _blocks(tuple(steps), radices or (2,) * sum(steps))
    logs = _search(steps, total, gaussian, None, rows)
    return _round(steps, logs, lambda v: float(weight @ v), gaussian, rows)


def least_product(
    steps: Sequence[int],
    squares: FloatArray,
    weights: FloatArray,
    *,
    most: FloatArray | None = None,
    gaussian: bool = False,
    radices: Radices | None = None,
) -> LevelShares:
    """Shares of a chain with the least weighted geometric mean of regions' standard errors.

    Parameters
    ----------
    steps : sequence of int
    squares : float64[groups, digits + 1]
        Mean over a group's regions of the sums of squared parts of the nodes whose keys share i
        digits, at index i: ``A`` of :mod:`geodp.accuracy.variance` for every level there could be.
    weights : float64[groups]
        Of sum 1.
    most : float64[digits + 1], optional
        Standard errors, for a budget of 1, that blocks of keys that share i digits should not
        exceed; what does adds its logarithm to the mean's, several times.
    gaussian : bool
    radices : tuple of int, optional
    """
    radix, n = radices or (2,) * sum(steps), len(weights)
    (regions, fanouts), (blocks, _) = (
        _levels(squares, tuple(steps), radix),
        _blocks(tuple(steps), radix),
    )
    log_limit = np.full(len(blocks), np.inf)
    if most is not None:
        log_limit = 2 * np.log(np.asarray(most, np.float64))

    def mean(variance: FloatArray) -> tuple[float, FloatArray]:
        own, block = variance[:n], variance[n:]
        over = np.maximum((np.log(block) - log_limit) * (SHARP / 2), -500)
        value = weights @ np.log(own) / 2 + DEAR / SHARP * np.logaddexp(0, over).sum()
        slope = DEAR / (1 + np.exp(-over)) / block / 2
        return float(value), np.concatenate([weights / own / 2, slope])

    rows = np.vstack([regions, blocks]), fanouts
    logs = _search(steps, mean, gaussian, None, rows)
    return _round(steps, logs, lambda v: float(np.exp(mean(v)[0])), gaussian, rows)


def least_ratio(
    steps: Sequence[int],
    targets: ArrayLike,
    *,
    gaussian: bool = False,
    orders: Sequence[int] = (8, 64, 256),
    radices: Radices | None = None,
) -> LevelShares:
    """Shares of a chain with the least largest ratio of an aligned block's error to a target.

    Parameters
    ----------
    steps : sequence of int
    targets : float64[digits + 1]
        Standard errors for a budget of 1; infinity where it does not matter.
    gaussian : bool
    orders : sequence of int
        The maximum has kinks; it is approached by norms of these orders, each from the last
        one's end.
    radices : tuple of int, optional

    Returns
    -------
    Shares
        ``value`` is the largest ratio: at most 1 where the chain dominates the targets, that is,
        for aligned blocks; the ratio of another set of cells can be larger.
    """
    wanted = np.asarray(targets, np.float64) ** 2

    def norm(variance: FloatArray, order: int) -> tuple[float, FloatArray]:
        ratio = variance / wanted
        top = ratio.max()
        power = (ratio / top) ** (order - 1)
        inner = float(power @ (ratio / top))
        return float(np.log(top) + np.log(inner) / order) / 2, power / (wanted * 2 * top * inner)

    found, rows = None, _blocks(tuple(steps), radices or (2,) * sum(steps))
    for order in orders:
        found = _search(steps, partial(norm, order=order), gaussian, found, rows)
    assert found is not None
    return _round(steps, found, lambda v: float(np.sqrt((v / wanted).max())), gaussian, rows)


def chains(bits: int) -> Iterator[tuple[int, ...]]:
    """Chains worth trying: equal steps, with one or two different ones above the cells.

    What is left over comes right below the root, where blocks are few.
    """
    seen: set[tuple[int, ...]] = set()
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
    """Return the chain, with its shares, that has the least largest ratio of those tried."""
    find = partial(least_ratio, targets=targets, gaussian=gaussian, radices=radices)
    quick = _try_all(bits, partial(find, orders=(8,)), radices)
    return min([find(shares.steps) for shares in quick[:5]] + quick[:1], key=lambda s: s.value)


def best_sum(
    bits: int, weights: ArrayLike, *, gaussian: bool = False, radices: Radices | None = None
) -> LevelShares:
    """Return the chain, with its shares, that has the least weighted sum of those tried."""
    find = partial(least_sum, weights=weights, gaussian=gaussian, radices=radices)
    return _try_all(bits, find, radices)[0]


def best_products(
    bits: int,
    squares: FloatArray,
    weights: FloatArray,
    *,
    gaussian: bool = False,
    radices: Radices | None = None,
) -> list[LevelShares]:
    """Return all tried chains with the shares of :func:`least_product`, the best first."""
    given = partial(least_product, squares=squares, weights=weights)
    return _try_all(bits, partial(given, gaussian=gaussian, radices=radices), radices)


def _try_all(
    digits: int, find: Callable[[tuple[int, ...]], LevelShares], radices: Radices | None
) -> list[LevelShares]:
    """All chains of :func:`chains` and the better neighbours of the best, the best first."""
    radix = radices or (2,) * digits

    def fits(chain: tuple[int, ...]) -> bool:
        ends = [0, *accumulate(chain)]
        return all(prod(radix[a:b]) <= 1 << LAST_STEP for a, b in pairwise(ends))

    found = {chain: find(chain) for chain in chains(digits) if fits(chain)}
    best = min(found.values(), key=lambda shares: shares.value)
    while True:
        for chain in _neighbours(best.steps):
            if chain not in found and fits(chain):
                found[chain] = find(chain)
        better = min(found.values(), key=lambda shares: shares.value)
        if better.value >= best.value * (1 - 1e-3):
            return sorted(found.values(), key=lambda shares: shares.value)
        best = better


def _neighbours(chain: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Chains with two levels joined, or a digit moved from one to the next."""
    for i, (a, b) in enumerate(pairwise(chain)):
        for new in ((a + b,), (a - 1, b + 1), (a + 1, b - 1)):
            if min(new) > 0:
                yield (*chain[:i], *new, *chain[i + 2 :])


@lru_cache(maxsize=4096)
def _blocks(steps: tuple[int, ...], radices: Radices) -> Rows:
    """Matrix from the levels' variances to those of blocks, and the fan-outs.

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
    """Return the same from squared parts for every number of digits: float64[., digits + 1]."""
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
    """Logarithms of what each level has beyond the least share, where the objective is least."""
    require_library("scipy", "A plan with wishes")
    from scipy.optimize import minimize  # slow to import

    if start is None:
        start = np.log(np.array([2.0, *steps]))
    matrix, fanouts = rows
    order = 1 if gaussian else 2
    least, free = _least(start.size)
    b = fanouts.tolist()

    def value_and_slope(logs: FloatArray) -> tuple[float, FloatArray]:
        part = _softmax(logs)
        share = least + free * part
        own = (order / share**order).tolist()
        best = own.copy()
        for i in range(len(b) - 1, -1, -1):
            below = b[i] * best[i + 1]
            best[i] = own[i] * below / (own[i] + below)
        value, slope = objective((matrix * best).sum(axis=1))
        toll = (slope[:, None] * matrix).sum(axis=0).tolist()
        for i, fanout in enumerate(b):
            toll[i + 1] += toll[i] * fanout * (best[i] / (fanout * best[i + 1])) ** 2
            toll[i] *= (best[i] / own[i]) ** 2
        by_part = -free * order * np.array(own) * np.array(toll) / share
        return value, part * (by_part - part @ by_part)

    # Not L-BFGS-B: its threads wait for each other on a busy machine, for matrices this small.
    found = minimize(value_and_slope, start, jac=True, method="BFGS", options={"gtol": 1e-4})
    return np.asarray(found.x, np.float64)


def _round(
    steps: Sequence[int],
    logs: FloatArray,
    value: Callable[[FloatArray], float],
    gaussian: bool,
    rows: Rows,
) -> LevelShares:
    """Shares in whole parts that add up to all parts, each at least the least."""
    least, free = (round(part * PARTS) for part in _least(logs.size))
    parts = least + np.floor(_softmax(logs) * free).astype(int)
    parts[np.argmax(parts)] += PARTS - parts.sum()
    matrix, fanouts = rows
    share = parts / PARTS
    own = 1 / share if gaussian else 2 / share**2
    best = from_below(tuple(int(b) for b in fanouts), tuple(own.tolist()))
    return LevelShares(tuple(steps), tuple(parts.tolist()), value(matrix @ np.array(best)))


def _least(levels: int) -> tuple[float, float]:
    """Return the least share of a level, and what is left of the budget when all have it."""
    least = min(LEAST, PARTS // (2 * levels)) / PARTS
    return least, 1 - levels * least


def _softmax(logs: FloatArray) -> FloatArray:
    part = np.exp(logs - logs.max())
    return np.asarray(part / part.sum(), np.float64)
