"""Both passes over the children of nodes, which predictions have a say in, family by family."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, kernel
from geodp.kernels.learned.residuals import bring_nearer, note
from geodp.kernels.pyramid.shares import share_family
from geodp.kernels.pyramid.spare import spare

LEAST_FACTOR = 1e-4
"""Of a variance that is left: a child that is predicted exactly still gives way to its siblings."""

Tables = tuple[float, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]
"""Unit of the residuals, rows by size class, and the tables: see
:func:`geodp.kernels.learned.residuals.shrink`; no rows: nothing was learned."""

Prior = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The prior's people in children, and in nodes."""

Room = tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.int64]]
"""float64[3, f], uint64[f] and int64[f] for the children of a node, overwritten."""


@kernel
def gather_children(
    z: NDArray[np.float64],
    inside: NDArray[np.bool_],
    total: NDArray[np.int64],
    prior: Prior,
    sd: float,
    bins: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add the residuals of the children of nodes to a histogram.

    Parameters
    ----------
    z : float64[n * fanout]
        Counts with noise.
    inside : bool[n * fanout] or bool[0]
        Which hold a cell of the domain; none: all.
    total : int64[n]
        What the nodes have: predicted are shares of it, as the prior's are, or even ones.
    prior : float64[n * fanout], float64[n]
    sd : float
        Standard deviation of the noise.
    bins, sums
        Added to, see :func:`geodp.kernels.learned.residuals.gather`.
    """
    share, whole = prior
    fanout, every, unit = z.size // max(total.size, 1), inside.size == 0, 1 / sd
    for n in range(total.size):
        first, cells = np.uint64(n * fanout), fanout
        if not every:
            cells = 0
            for j in range(fanout):
                cells += inside[first + np.uint64(j)]
            cells = max(cells, 1)
        scale, even = total[n] / whole[n], total[n] / cells
        for j in range(fanout):
            i = first + np.uint64(j)
            if every or inside[i]:
                note(z[i], (scale * share[i], even), unit, bins, sums)


@bare_inline
def _predict(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    share: NDArray[np.float64],
    scale: float,
    tables: Tables,
) -> None:
    """Bring estimates nearer to what a node's people, by the prior, predict of its children."""
    sd, row, keep, factor = tables
    for j in range(z.size):
        i = np.uint64(j)
        z[i], left = bring_nearer(z[i], scale * share[i], sd, row, (keep, factor))
        variance[i] *= max(left, LEAST_FACTOR)


@bare
def open_children(
    nodes: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]],
    z: NDArray[np.float64],
    inside: NDArray[np.bool_],
    prior: Prior,
    tables: Tables,
    known: tuple[float, float],
    room: Room,
    found: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint64], NDArray[np.int64]],
) -> int:
    """Share out what nodes have among their children, and list those above 0: they are open.

    Parameters
    ----------
    nodes : uint64[n], int64[n], float64[n]
        Their numbers, what they have, and a number in [0, 1) of each.
    z : float64[n * fanout], changed
        The children's counts with noise; afterwards the first are those of the open ones.
    inside : bool[n * fanout] or bool[0]
        Which hold a cell of the domain; none: all.
    prior : float64[n * fanout], float64[n]
        As with ``z``; neither is looked at where nothing was learned.
    tables : Tables
    known : float, float
        Variance of a count; children below the last are dropped.
    room : Room
    found : int64[n], float64[2, n], uint64[n * fanout], int64[n * fanout], written
        Open children of each node; sums of the closed ones' counts and variances; the open
        children's numbers, and what they have.

    Returns
    -------
    int
        How many are open.
    """
    above, total, uniform = nodes
    (share, whole), (own, least) = prior, known
    members, closed, prefix, count = found
    family, at, out = room
    better, variance = family[0], family[1]
    fanout, every, learned = out.size, inside.size == 0, tables[2].shape[0] > 0
    some = np.uint64(0)
    for n in range(total.size):
        first = np.uint64(n * fanout)
        for j in range(fanout):
            i = first + np.uint64(j)
            better[j], variance[j] = z[i], own if every or inside[i] else 0.0
        if learned:
            after = first + np.uint64(fanout)
            _predict(better, variance, share[first:after], total[n] / whole[n], tables)
        children = np.uint64(0), np.uint64(fanout)
        share_family(better, variance, children, (total[n], uniform[n], least), at, out)
        below, spread, before = 0.0, 0.0, some
        for j in range(fanout):
            i = first + np.uint64(j)
            if out[j] > 0:
                prefix[some], count[some] = above[n] * np.uint64(fanout) + np.uint64(j), out[j]
                z[some] = z[i]
                if learned:
                    share[some] = share[i]
                some += np.uint64(1)
            elif every or inside[i]:
                below += z[i]
                spread += own
        members[n], closed[0, n], closed[1, n] = some - before, below, spread
    return int(some)


@bare
def share_again(
    nodes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    prior: Prior,
    tables: Tables,
    known: tuple[float, bool],
    room: Room,
    count: NDArray[np.int64],
) -> None:
    """Share out what nodes have in the end among their open children.

    Parameters
    ----------
    nodes : int64[n], int64[n], float64[n]
        Open children of each, what they have, and a number in [0, 1) of each.
    z : float64[k]
        The children's estimates.
    variance : float64[k] or float64[1]
        The same, or that of all of them.
    prior : float64[k], float64[n]
    tables : Tables
    known : float, bool
        Children below the first are dropped; whether they are above the cells, see
        :func:`geodp.kernels.pyramid.spare.spare`.
    room : Room
    count : int64[k], written
    """
    members, total, uniform = nodes
    (share, whole), (least, firm) = prior, known
    family, at, out = room
    learned, step = tables[2].shape[0] > 0, np.uint64(1 if variance.size > 1 else 0)
    after = np.uint64(0)
    for n in range(total.size):
        first, some = after, members[n]
        after += np.uint64(some)
        better, spread, scratch = family[0, :some], family[1, :some], family[2, :some]
        for j in range(some):
            i = first + np.uint64(j)
            better[j], spread[j] = z[i], variance[i * step]
        if learned:
            _predict(better, spread, share[first:after], total[n] / whole[n], tables)
        children = np.uint64(0), np.uint64(some)
        spare(better, spread, children, (total[n], out.size, firm), scratch, at)
        own = total[n], uniform[n], least
        share_family(better, spread, children, own, at, out)
        for j in range(some):
            count[first + np.uint64(j)] = out[j]
