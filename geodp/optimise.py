"""Budgets of a pyramid that serve what the user says matters; nothing here sees any data.

The variance of an aligned block is a smooth function of the levels' shares of the budget, so the
best shares of a chain are found by a local search from a good start; chains are tried one after
another. Everything is public: grid, budget and wishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.variance import TreeVariance, from_below

Floats = NDArray[np.float64]

PARTS = 10_000
"""Shares are whole numbers of these parts."""

WIDEST_STEP = 6
"""Most bits that a level of a tried chain splits."""


@dataclass(frozen=True)
class Shares:
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


def block_variances(steps: Sequence[int], shares: ArrayLike, *, gaussian: bool = False) -> Floats:
    """Variance of aligned blocks of ``2**(bits - i)`` keys at index i, for a budget of 1.

    Multiply by the square of the noise scale that the whole budget would give one count: Laplace
    noise of scale ``1 / share`` has the variance ``2 / share**2``, Gaussian noise of a share of
    rho ``1 / share`` (times sigma squared).

    Parameters
    ----------
    steps : sequence of int
    shares : float64[levels] or float64[levels, n]
        The root's first; n alternatives at once.
    gaussian : bool

    Returns
    -------
    float64[bits + 1] or float64[bits + 1, n]

    Examples
    --------
    >>> block_variances([1], [0.5, 0.5]).round(3).tolist()
    [5.333, 5.333]
    """
    part = np.asarray(shares, np.float64)
    own = 1 / part if gaussian else 2 / part**2
    fanouts = tuple(1 << step for step in steps)
    return TreeVariance(fanouts, from_below(fanouts, tuple(own))).blocks()


def least_sum(steps: Sequence[int], weights: ArrayLike, *, gaussian: bool = False) -> Shares:
    """Shares of a chain with the least weighted sum of variances.

    Parameters
    ----------
    steps : sequence of int
    weights : float64[bits + 1]
        Of blocks of ``2**(bits - i)`` keys at index i; not negative, not all 0.
    gaussian : bool
    """
    weight = np.asarray(weights, np.float64)

    def total(variance: Floats) -> Floats:
        return np.asarray(weight @ variance, np.float64)

    return _best(steps, total, gaussian)


def least_ratio(
    steps: Sequence[int],
    targets: ArrayLike,
    *,
    gaussian: bool = False,
    orders: Sequence[int] = (8, 64, 256),
) -> Shares:
    """Shares of a chain with the least largest ratio of standard error to a target.

    Parameters
    ----------
    steps : sequence of int
    targets : float64[bits + 1]
        Standard errors for a budget of 1; infinity where it does not matter.
    gaussian : bool
    orders : sequence of int
        The maximum has kinks; it is approached by norms of these orders, each from the last
        one's end.

    Returns
    -------
    Shares
        ``value`` is the largest ratio: at most 1 where the chain dominates the targets.
    """
    wanted = np.asarray(targets, np.float64) ** 2

    def worst(variance: Floats, order: int = 0) -> Floats:
        ratio = variance / (wanted if variance.ndim == 1 else wanted[:, None])
        top = ratio.max(axis=0)
        sharp = ((ratio / top) ** order).sum(axis=0) ** (1 / order) if order else 1.0
        return np.asarray(np.sqrt(top * sharp), np.float64)

    found = None
    for order in orders:
        found = _search(steps, partial(worst, order=order), gaussian, found)
    assert found is not None
    return _rounded(steps, found, worst, gaussian)


def chains(bits: int) -> Iterator[tuple[int, ...]]:
    """Chains worth trying: equal steps, with one or two different ones above the cells.

    What is left over comes right below the root, where blocks are few.
    """
    seen: set[tuple[int, ...]] = {(bits,)}
    yield (bits,)
    for size in range(1, min(WIDEST_STEP, bits) + 1):
        for last in range(min(WIDEST_STEP, bits) + 1):
            for before in {0, last, size + 1} if last else {0}:
                below = tuple(step for step in (before, last) if step)
                rest = bits - sum(below)
                if rest < 0:
                    continue
                top = (rest % size,) if rest % size else ()
                chain = top + (size,) * (rest // size) + below
                if chain and chain not in seen:
                    seen.add(chain)
                    yield chain


def best_ratio(bits: int, targets: ArrayLike, *, gaussian: bool = False) -> Shares:
    """The chain of :func:`chains`, with its shares, that has the least largest ratio."""
    quick = [least_ratio(chain, targets, gaussian=gaussian, orders=(8,)) for chain in chains(bits)]
    quick.sort(key=lambda shares: shares.value)
    close = [least_ratio(shares.steps, targets, gaussian=gaussian) for shares in quick[:5]]
    return min([*close, quick[0]], key=lambda shares: shares.value)


def best_sum(bits: int, weights: ArrayLike, *, gaussian: bool = False) -> Shares:
    """The chain of :func:`chains`, with its shares, that has the least weighted sum."""
    found = [least_sum(chain, weights, gaussian=gaussian) for chain in chains(bits)]
    return min(found, key=lambda shares: shares.value)


def _best(steps: Sequence[int], objective: Callable[[Floats], Floats], gaussian: bool) -> Shares:
    return _rounded(steps, _search(steps, objective, gaussian, None), objective, gaussian)


def _search(
    steps: Sequence[int],
    objective: Callable[[Floats], Floats],
    gaussian: bool,
    start: Floats | None,
) -> Floats:
    """Logarithms of shares at the objective's minimum; it is convex in the shares."""
    from scipy.optimize import minimize

    if start is None:
        start = np.log(np.array([2.0, *steps]))

    tiny = 1e-7
    steps_aside = np.hstack([np.zeros((start.size, 1)), tiny * np.eye(start.size)])

    def value_and_slope(logs: Floats) -> tuple[float, Floats]:
        shares = np.exp(logs[:, None] - logs.max() + steps_aside)
        variances = block_variances(steps, shares / shares.sum(axis=0), gaussian=gaussian)
        values = np.log(objective(variances))
        return float(values[0]), (values[1:] - values[0]) / tiny

    bounds = [(-12.0, 4.0)] * start.size
    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x, np.float64)


def _rounded(
    steps: Sequence[int], logs: Floats, objective: Callable[[Floats], Floats], gaussian: bool
) -> Shares:
    """Shares in whole parts that add up to all parts, each at least one."""
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    parts = np.maximum(1, np.floor(shares * PARTS)).astype(int)
    parts[np.argmax(parts)] += PARTS - parts.sum()
    value = float(objective(block_variances(steps, parts / PARTS, gaussian=gaussian)))
    return Shares(tuple(steps), tuple(parts.tolist()), value)
