"""MWEM: repeatedly measure the query with the largest error, and update multiplicative weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.kernels import baselines
from geodp.mechanisms.base import Mechanism, Query, within
from geodp.mechanisms.measure import add_noise, release_vector, stage_query
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable, ReleasedTable


@dataclass(frozen=True)
class Mwem(Mechanism):
    """Hardt, Ligett, McSherry (2012), MWEM: multiplicative weights, exponential mechanism.

    The estimate starts uniform. Every round selects, privately, the query that the estimate gets
    most wrong, measures it with noise, and corrects the estimate by multiplicative weights over
    all measurements so far, ``passes`` times in turn (the paper's improvement in its section on
    implementation). The queries are the aligned intervals of ``2**j`` keys, which are blocks of
    the map in Morton order: the nodes of the binary tree over the keys, but for the root and for
    nodes of which only one half lies in the domain. A query is measured once at most, so there
    are no more rounds than queries.

    The estimate is constant between the edges of the measured blocks, at most
    ``2 rounds + 1`` pieces, and the weights are updated on those: the same numbers as cell by
    cell.

    *Selection.* The score of a query is ``|true - rounded estimate|``, a whole number that one
    person changes by at most 1. The query of the highest score with exact discrete Laplace noise
    of scale 2 / (the round's budget for it) is taken, ties to the lower node: report-noisy-max in
    the place of the paper's exponential mechanism, with the same guarantee.

    The paper takes the number of people as public; here a share of the budget buys a noisy
    number. What is left is divided evenly over the rounds, and half and half within each.

    Parameters
    ----------
    rounds : int
        At least 1; otherwise UsageError.
    share : Fraction
        Share of the budget for the number of people: above 0, below 1.
    passes : int
        At least 1.
    average : bool
        Release the mean of the estimates after every round (the paper's theorem) instead of the
        last one (usually better).
    """

    rounds: int = field(default=10, metadata=within(1))
    share: Fraction = field(default=Fraction(1, 20), metadata=within(0, 1, strictly=True))
    passes: int = field(default=100, metadata=within(1))
    average: bool = False

    max_cells: ClassVar[int] = 1 << 20

    name: ClassVar[str] = "mwem"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "multiplicative weights on the worst blocks (Hardt et al. 2012)"
    citation: ClassVar[str] = (
        "Hardt, Ligett, McSherry: A Simple and Practical Algorithm for Differentially Private "
        "Data Release. NIPS 2012."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Hardt, Ligett, McSherry (2012), theorem 2.1: one person changes every score and "
        "every measured count by at most 1; the shares of the total, of the selections and of the "
        "measurements add up to epsilon",
    )
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Multiplicative weights: the estimate is even inside each block that was not selected, and "
        "only approximates the noisy counts of those that were; biased towards evenness.",
        "Non-negativity: no cell is below 0, and a total below 1 becomes 1.",
    )

    def shares(self, queries: int) -> tuple[Fraction, list[tuple[Fraction, Fraction]]]:
        """Return the shares of the total, and of every round's selection and measurement."""
        rounds = min(self.rounds, queries)
        if not rounds:
            return Fraction(1), []
        half = (1 - self.share) / (2 * rounds)
        return self.share, [(half, half)] * rounds

    def scales(
        self, queries: int, event: Measurement
    ) -> tuple[Fraction, list[tuple[Fraction, Fraction]]]:
        """Return the noise scales of the total, and of every round's scores and measurement."""
        total, rounds = self.shares(queries)
        each = [(2 * event.scale / select, event.scale / measure) for select, measure in rounds]
        return event.scale / total, each

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the total, and for every round the scores of intervals and one interval's count."""
        total, rounds = self.scales(int(intervals(grid)[1].sum()), event)
        queries = [stage_query(0, total, "total")]
        for number, (select, measure) in enumerate(rounds):
            queries += [
                stage_query(1 + 2 * number, select, "scores of intervals", 1 << grid.bits),
                stage_query(2 + 2 * number, measure, "the interval selected"),
            ]
        return tuple(queries)

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the smallest share: of the total, a measurement, or half that of a selection."""
        of_total, of_rounds = self.shares(2 * grid.size)
        return min(
            [of_total, *(part for select, measure in of_rounds for part in (select / 2, measure))]
        )

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the total, every score and every measured count by at "
            "most 1; each of them has its own share of the budget"
        )

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release all cells of the domain."""
        grid = table.grid
        cells, query = intervals(grid)
        n = cells.size // 2
        of_total, of_rounds = self.scales(int(query.sum()), event)
        people = add_noise(table.count.sum(keepdims=True), key, 0, of_total)[0]
        estimate = BlockDensity(cells[n:], float(max(people, 1)))
        truth = sums(table.to_vector())
        mean = np.zeros(n)
        for number, (select, measure) in enumerate(of_rounds):
            # Ties at one half are rounded down: otherwise the last bits of a floating-point sum
            # would decide, and releases would differ between machines.
            guess = np.rint(sums(estimate.density()) - 2.0**-20).astype(np.int64)
            score = add_noise(np.abs(truth - guess), key, 1 + 2 * number, select)
            # argmax takes the first of equal scores, which is the lower node: a fixed order of
            # ties.
            node = int(np.where(query, score, np.iinfo(np.int64).min).argmax())
            query[node] = False
            noisy = add_noise(truth[node : node + 1], key, 2 + 2 * number, measure)
            estimate.learn(node, float(noisy[0]), self.passes)
            if self.average:
                mean += estimate.density() / len(of_rounds)
        values = mean if self.average and of_rounds else estimate.density()
        return release_vector(values, grid, event)


def intervals(grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the cells of the domain under every node, and which nodes are queries.

    See :func:`nodes`.
    """
    cells, query = nodes(grid)
    # The first candidate contains the entire domain, whose sum is measured as the total.
    query[np.flatnonzero(query)[:1]] = False
    return cells, query


def nodes(grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the binary tree over the keys: node i has the children 2 i and 2 i + 1, the root is 1.

    Returns
    -------
    cells : int64[2 n]
        Cells of the domain under every node; entry 0 is not used.
    candidate : bool[2 n]
        Cells of the domain, and nodes with cells in both halves: every set of cells once.
    """
    n = 1 << grid.bits
    cells = np.zeros(2 * n, np.int64)
    cells[n:] = 1 if grid.size == n else grid.contains_keys(np.arange(n, dtype=np.uint64))
    candidate = cells > 0
    for level in range(grid.bits - 1, -1, -1):
        children = cells[2 << level : 4 << level].reshape(-1, 2)
        cells[1 << level : 2 << level] = children.sum(axis=1)
        candidate[1 << level : 2 << level] = (children > 0).all(axis=1)
    return cells, candidate


class BlockDensity:
    """A density that is constant between the edges of the measured blocks.

    Parameters
    ----------
    inside : int64[n]
        1 for keys of the domain, 0 for the others.
    total : float
        Sum of all cells, above 0.
    """

    def __init__(self, inside: NDArray[np.int64], total: float) -> None:
        self.inside = inside
        self.total = total
        self.before = np.append(0, np.cumsum(inside))
        self.edge = np.array([0, inside.size])
        self.height = np.zeros(1)
        self.first: list[int] = []
        self.last: list[int] = []
        self.target: list[float] = []

    def learn(self, node: int, measured: float, passes: int) -> None:
        """Add a measurement of a tree's node, and update the weights by all measurements."""
        width = self.inside.size >> (node.bit_length() - 1)
        start = node * width - self.inside.size
        self.first.append(start)
        self.last.append(start + width)
        self.target.append(measured)
        edge = np.union1d(self.edge, [start, start + width])
        # New edges divide pieces, which keep their density.
        self.height = self.height[np.searchsorted(self.edge, edge[:-1], side="right") - 1]
        self.edge = edge
        baselines.update_density(
            np.searchsorted(edge, self.first),
            np.searchsorted(edge, self.last),
            np.array(self.target),
            np.diff(self.before[edge]).astype(np.float64),
            self.total,
            passes,
            self.height,
        )

    def density(self) -> NDArray[np.float64]:
        """Compute the estimate of every key: float64[n], 0 outside the domain."""
        mass = np.exp(np.minimum(self.height, 0))
        mass *= self.total / (mass @ np.diff(self.before[self.edge]))
        return np.repeat(mass, np.diff(self.edge)) * self.inside


def sums(leaves: NDArray[Any]) -> NDArray[Any]:
    """Sum all nodes of the binary tree over ``n = 2**k`` leaves: 2 n entries; entry 0 is unused."""
    n = leaves.size
    tree = np.zeros(2 * n, leaves.dtype)
    tree[n:] = leaves
    while n > 1:
        n //= 2
        tree[n : 2 * n] = tree[2 * n : 4 * n].reshape(-1, 2).sum(axis=1)
    return tree


METHODS = (Mwem(),)
