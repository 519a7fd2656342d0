"""Privacy losses by brute force: all that a method measures of two tables, and what they differ by.

A method measures whole numbers and adds noise. Of two tables the second is measured with the noise
that gives the very values of the first: then everything that depends on noisy values is the same,
and the loss is what the true numbers differ by, over the scales of their noise. Nothing is sampled.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np

import geodp
from geodp.mechanisms import measure
from geodp.mechanisms.baselines.filter import Filter
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.central.topdown import TopDown
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.law import LAPLACE
from geodp.privacy.terms import REPLACE
from geodp.table.measured import public_nodes, truth_of
from tests.laws.test_exact_loss import watched

KEY = NoiseKey(bytes(range(32)))
CHOICES = ("scores of intervals", "deviations of intervals")
"""What noise chooses the best of; nothing else of it is released."""


@dataclass(frozen=True)
class Measured:
    """Whole numbers, and the law of their noise."""

    stream: int
    law: tuple[str, Fraction]
    values: np.ndarray

    def loss(self, other: "Measured") -> Fraction:
        """Return the loss of all values together."""
        assert (self.stream, self.law) == (other.stream, other.law)
        assert self.values.shape == other.values.shape
        by = [abs(int(n)) for n in (self.values - other.values).flat if n]
        if self.law[0] != LAPLACE:
            return Fraction(sum(n * n for n in by), 2) / self.law[1]
        return sum(by) / self.law[1]


@dataclass
class Listener:
    """What stages measure, and the noisy values that they are to have."""

    seen: list[Measured] = field(default_factory=list)
    forced: list[np.ndarray] = field(default_factory=list)
    outputs: list[np.ndarray] = field(default_factory=list)

    def keep(self, stage, scale, values, result):
        """Keep true values, and return the noisy ones."""
        number = len(self.seen)
        self.seen.append(Measured(Stream.STAGE + stage, (LAPLACE, scale), values))
        if number < len(self.forced):
            assert self.forced[number].shape == result.shape
            result = self.forced[number].copy()
        self.outputs.append(result.copy())
        return result

    def add_noise(self, counts, key, stage, scale):
        return self.keep(stage, scale, counts.copy(), ADD(counts, key, stage, scale))

    def add_fractional_noise(self, counts, key, stage, scale, digits):
        result = FRACTIONAL(counts, key, stage, scale, digits)
        return self.keep(stage, scale * (1 << digits), counts * (1 << digits), result)

    def measure_deviations(self, parts, total, noise):
        values = parts.shape[1] * parts - total[:, None]
        return self.keep(noise[1], noise[2], values, DEVIATE(parts, total, noise))


NAMES = ("add_noise", "add_fractional_noise", "measure_deviations")
ADD, FRACTIONAL, DEVIATE = (getattr(measure, name) for name in NAMES)


@contextmanager
def measuring(forced=()) -> Iterator[Listener]:
    """Listen to all stages of methods."""
    listener = Listener(forced=[*forced])
    with ExitStack() as stack:
        for module, name in PLACES:
            stack.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, getattr(listener, name))
        yield listener


ALL_METHODS = [*geodp.METHODS.values()]
"""All methods, whose modules are imported thereby, whichever tests ran before."""

PLACES = [
    (module, name)
    for place, module in sorted(sys.modules.items())
    if place.startswith("geodp.mechanisms.")
    for name in NAMES
    if hasattr(module, name)
]
"""Where methods have the functions that add noise to whole numbers."""


class Losses:
    """Losses of neighbours of one table, by one method under one event."""

    def __init__(self, method, table, event):
        self.method, self.grid, self.event = method, table.grid, event
        self.table, self.outputs, grid = table, [], table.grid
        if isinstance(method, Parts):
            base = method.base(grid, event)
            self.of_map = Losses(base.method, method.first(table), base.event)
            self.first = base.method.release(self.of_map.table, base.event, KEY)
        self.what = {int(q.stream): q.what[0] for q in method.queries(grid, event)}
        self.listed = {(int(q.stream), q.noise) for q in method.queries(grid, event)}
        self.measured = self._measure(self.table)

    def _measure(self, table):
        method, grid, event = self.method, self.grid, self.event
        if isinstance(method, (Pyramid, TopDown)):
            levels = method.list_levels(grid, event)
            streams = [int(query.stream) for query in method.queries(grid, event)]
            nodes = zip(levels, public_nodes(grid, levels), strict=True)
            return [
                Measured(
                    streams[min(i, len(streams) - 1)],
                    level.noise,
                    truth_of(grid, level, node, table),
                )
                for i, (level, node) in enumerate(nodes)
            ]
        if isinstance(method, Filter):
            occupied = method.queries(grid, event)[0]
            return [Measured(int(occupied.stream), occupied.noise, table.to_vector())]
        if isinstance(method, Parts):
            with watched() as seen:
                method.refine_base(self.first, table, event, KEY)
            return [
                Measured(stream, law, np.asarray(values, np.int64))
                for (stream, _), (law, values) in sorted(seen.items(), key=lambda row: row[0])
            ]
        with measuring(self.outputs) as listener:
            method.release(table, event, KEY)
        self.outputs = listener.outputs
        return listener.seen

    def of(self, table) -> Fraction:
        """Return the loss between the table and a neighbour of it."""
        other, loss = self._measure(table), Fraction(0)
        assert len(other) == len(self.measured)
        intervals = []
        for one, two in zip(self.measured, other, strict=True):
            assert (one.stream, one.law) in self.listed, "measured, and not among the queries"
            what = self.what[one.stream]
            if what == CHOICES[0]:  # the best of noisy scores
                by = abs(one.values - two.values).max(initial=0)
                loss += 2 * int(by) / one.law[1]
            elif what == CHOICES[1]:  # the cheapest of all partitions into intervals
                intervals.append((two.values - one.values, one.law[1]))
            else:
                loss += one.loss(two)
        if intervals:
            loss += 2 * _partition([by for by, _ in intervals]) / intervals[0][1]
        if isinstance(self.method, Parts):
            loss += self.of_map.of(self.method.first(table))
        return loss


def _partition(by) -> int:
    """Return the most that the cost of a partition into intervals of 1, 2, 4 ... changes."""
    n, worst = by[0].size, 0
    for sign in (1, -1):
        best = [0] * (n + 1)
        for stop in range(1, n + 1):
            best[stop] = max(
                best[stop - (1 << i)] + sign * int(row[stop - (1 << i)])
                for i, row in enumerate(by)
                if (1 << i) <= stop
            )
        worst = max(worst, best[n])
    return worst


def table_of(grid, dense):
    """Return the table of counts by key: int64[keys]."""
    key = np.flatnonzero(dense)
    return geodp.CountTable.from_keys(grid, key.astype(np.uint64), dense[key])


def neighbours(dense, inside, kind, contribution, most):
    """Yield neighbours of counts by key: every way in which a person is there as often as allowed.

    ``most``: of the ways that are too many, so many are looked at, spread evenly.
    """
    cells = np.flatnonzero(inside).tolist()
    spread = [*combinations(cells, 1), *(combinations(cells, 2) if contribution == 2 else ())]
    added = [[(at, contribution // len(ats)) for at in ats] for ats in spread]
    if kind == REPLACE:
        gone = [one for one in added if all(dense[at] >= by for at, by in one)]
        total = len(gone) * len(added)
        for number in range(0, total, max(1, total // most)):
            one, two = gone[number // len(added)], added[number % len(added)]
            yield _changed(dense, [*((at, -by) for at, by in one), *two])
    else:
        for one in added[:: max(1, len(added) // most)]:
            yield _changed(dense, one)


def _changed(dense, way):
    other = dense.copy()
    for at, by in way:
        other[at] += by
    return other
