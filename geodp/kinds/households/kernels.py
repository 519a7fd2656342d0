"""Two passes over a tree whose nodes have known upper bounds: estimates, then whole counts.

Nodes of a level lie one after the other, and ``first[i]`` to ``first[i + 1]`` are the children of
node i on the level below. Whatever a child that is not listed was measured with, it gets nothing.
"""

from __future__ import annotations

import numpy as np

from geodp.kernels.jit import bare, bare_inline
from geodp.typing import FloatArray, IntArray

HALVINGS = 80
"""Most bisections of the multiplier: after about 60 a double has no number beside it to try."""


@bare
def combine(
    first: IntArray,
    z_below: FloatArray,
    variance_below: FloatArray,
    closed: FloatArray,
    closed_variance: FloatArray,
    noise_variance: float,
    z: FloatArray,
    variance: FloatArray,
) -> None:
    """Compute the best linear estimates of nodes from their measurements and their children's.

    Parameters
    ----------
    first : int64[n + 1]
    z_below, variance_below : float64[first[n]]
        Estimates of the listed children, and their variances, above 0.
    closed, closed_variance : float64[n]
        Sums of the measurements of each node's other children, and their variances.
    noise_variance : float
        Variance of a node's own measurement, above 0.
    z, variance : float64[n]
        The nodes' measurements, overwritten with the estimates; and the variances of these.
    """
    # Inverse-variance weights: Hay et al. (2010), theorem 3.
    for node in range(z.size):
        below, spread = closed[node], closed_variance[node]
        for j in range(first[node], first[node + 1]):
            below += z_below[j]
            spread += variance_below[j]
        weight = spread / (spread + noise_variance)
        z[node] = weight * z[node] + (1 - weight) * below
        variance[node] = weight * noise_variance


@bare_inline
def clip(value: float, cap: float) -> float:
    """Return the nearest number from 0 to ``cap``."""
    return min(max(value, 0.0), cap)


@bare_inline
def find_multiplier(
    z: FloatArray, variance: FloatArray, cap: IntArray, children: tuple[int, int], goal: float
) -> float:
    """Find t, so that the sum of ``clip(z + t * variance, cap)`` is the goal, between its ends.

    The sum grows with t, from 0 to the sum of all caps, so that t is found by bisection.
    """
    low, high = np.inf, -np.inf
    for j in range(children[0], children[1]):
        low = min(low, -z[j] / variance[j])
        high = max(high, (cap[j] - z[j]) / variance[j])
    for _ in range(HALVINGS):
        middle, total = 0.5 * (low + high), 0.0
        # Two neighbouring doubles have no number between them: nothing would change any more.
        if (middle <= low) | (middle >= high):
            break
        for j in range(children[0], children[1]):
            total += clip(z[j] + middle * variance[j], float(cap[j]))
        if total < goal:
            low = middle
        else:
            high = middle
    return high


@bare
def apportion(
    first: IntArray,
    total: IntArray,
    uniform: FloatArray,
    z: FloatArray,
    variance: FloatArray,
    cap: IntArray,
    count: IntArray,
) -> None:
    """Divide whole counts of nodes among their children, none below 0 or above its cap.

    The real numbers nearest to the estimates, in units of their variances, are rounded
    systematically with one uniform number of the node, so that the rounding is unbiased.

    Parameters
    ----------
    first : int64[n + 1]
    total : int64[n]
        Counts of the nodes, at most the sum of their children's caps.
    uniform : float64[n]
        In [0, 1).
    z, variance, cap : float64[k], float64[k], int64[k]
        Estimates of the children, their variances, above 0, and their largest counts.
    count : int64[k], overwritten
        Counts of the children: they add up to those of the nodes.
    """
    for node in range(total.size):
        start, stop, goal = first[node], first[node + 1], total[node]
        room = np.int64(0)
        for j in range(start, stop):
            room += cap[j]
        t = find_multiplier(z, variance, cap, (start, stop), float(goal))
        reached, given = uniform[node], np.int64(0)
        for j in range(start, stop):
            room -= cap[j]
            reached += clip(z[j] + t * variance[j], float(cap[j]))
            # Bounds hold whatever the last digits of floating-point sums are: what is left must
            # fit the later children, and no child gets more than its cap.
            part = min(max(np.int64(np.floor(reached)) - given, goal - given - room), cap[j])
            part = max(min(part, goal - given), np.int64(0))
            count[j] = part
            given += part
