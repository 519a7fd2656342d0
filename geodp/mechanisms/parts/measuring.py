"""The measurements of parts: on which levels, of which marginals, and their counts.

A level has a share of the budget, and parts are measured as far down as they have a signal. Their
counts have three classes: confidential, measured with noise, and released.

A marginal of parts, such as one sex or one age, is measured separately: it has its own share of the
budget, and noisy counts at the areas where its labels have a signal, which are smaller than those
where single parts have one. Its estimates combine its measurements with the sums of measured parts,
weighted by inverse variances. The estimated parts of an area are then scaled until they add up to
the marginal's estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import Joint
from geodp.kernels import part_tables as kernels
from geodp.mechanisms.trees.descent import variance_of
from geodp.privacy.event import Measurement
from geodp.privacy.key import Stream
from geodp.privacy.noise.law import Law
from geodp.typing import FloatArray, IntArray

WEIGHTS = (40, 25, 16, 10, 6)
"""Weights of the measured levels from the last one up; the last weight is repeated."""

SIGNAL = 2
"""Expected count of a part, in noise scales, from which on a level is measured."""


MAX_STEP_PARTS = 1 << 6
"""Most parts that are apportioned together: the rounding has words of 64 bits for them."""

STREAMS = 1 << 6
"""Number of streams reserved for a step: one for each level."""


@dataclass(frozen=True)
class Step:
    """Parts that are apportioned together: all parts, groups, or the parts inside each group.

    Attributes
    ----------
    number : int
        0 or 1; marginals have larger ones.
    groups : int
        Number of groups from the previous step; 1: there was none.
    parts : int
        Parts of each group.
    last : int
        Parts of the last group, which may have fewer.
    inside : int
        Parts of the next step inside each of these.
    """

    number: int
    groups: int
    parts: int
    last: int
    inside: int

    @property
    def stream(self) -> int:
        """Stream of the noise on its first level."""
        return Stream.PARTS + STREAMS * self.number

    @property
    def rounding(self) -> int:
        """Stream of the rounding on its first level."""
        return Stream.PARTS_ROUNDING + STREAMS * self.number

    @property
    def description(self) -> tuple[str, int, int, int]:
        """Description of the counts, for queries."""
        return "parts of nodes of keys", self.groups, self.parts, self.inside


def steps_of(joint: Joint) -> tuple[Step, ...]:
    """Return the steps in which a grid's parts are apportioned; none for a single part.

    More parts than fit into one step form groups of neighbouring ones first: those that differ in
    the last attributes only, if these have a suitable number of labels; otherwise runs that contain
    some labels of the next attribute completely.
    """
    if joint.parts == 1:
        return ()
    if joint.parts <= MAX_STEP_PARTS:
        return (Step(0, 1, joint.parts, joint.parts, 1),)
    fewest, unit = -(-joint.parts // MAX_STEP_PARTS), 1
    inside = 0
    for size in accumulate(reversed(joint.labels), lambda a, b: a * b):
        if fewest <= size <= MAX_STEP_PARTS:
            inside = size
            break
        unit = size if size < fewest else unit
    inside = inside or -(-fewest // unit) * unit
    inside = inside if inside <= MAX_STEP_PARTS else fewest
    groups = -(-joint.parts // inside)
    last = joint.parts - (groups - 1) * inside
    return Step(0, 1, groups, groups, inside), Step(1, groups, inside, last, 1)


@dataclass(frozen=True, eq=False)
class PartNodes:
    """The occupied nodes of a level in the map's release.

    Attributes
    ----------
    prefix : uint64[n]
        Strictly increasing.
    count : int64[n]
        Above 0.
    """

    prefix: NDArray[np.uint64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, cell: NDArray[np.uint64], count: NDArray[np.int64], stride: int) -> Self:
        """Sum cells, in key order, over nodes of ``stride`` keys."""
        node = cell // np.uint64(stride)
        first = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]])[: node.size])
        sums = np.add.reduceat(count, first) if first.size else count[:0]
        return cls(node[first], sums)


@dataclass(frozen=True)
class Schedule:
    """The levels that can be measured, and their shares of the budget.

    Attributes
    ----------
    fanouts, strides : tuple of int
        Children and keys of the nodes of all levels from the root to the cells, see
        :class:`geodp.mechanisms.trees.levels.LevelScheme`.
    share : Fraction
        Share of the budget for all levels together.
    last : int
        Factor of the last measured level's weight; a larger one favours small areas.
    """

    fanouts: tuple[int, ...]
    strides: tuple[int, ...]
    share: Fraction
    last: int = 1

    def shares(self, levels: int) -> tuple[Fraction, ...]:
        """Return the shares of the budget if ``levels`` are measured; they add up to ``share``."""
        last, *above = (*WEIGHTS, *WEIGHTS[-1:] * levels)[:levels]
        weights = [*reversed(above), last * self.last]
        return tuple(self.share * Fraction(weight, sum(weights)) for weight in weights)

    def laws(self, event: Measurement, levels: int) -> tuple[Law, ...]:
        """Return the noise of every level if ``levels`` are measured."""
        return tuple(event.law(share) for share in self.shares(levels))

    def count_measured(self, event: Measurement, parts: int, expected: list[float]) -> int:
        """Count the levels that are measured: those with a signal, and always the root.

        Parameters
        ----------
        event : Measurement
        parts : int
        expected : list of float
            Average people of a node of each level, in all parts: by the map's release, or by a
            public guess.
        """
        # The budget is divided by the number of levels, so every number is tried, the largest
        # first. Only released counts are read: the choice is post-processing of the map.
        for levels in range(len(self.strides), 1, -1):
            width = event.width(self.shares(levels)[-1])
            if expected[levels - 1] >= SIGNAL * width * parts:
                return levels
        return 1

    def count_levels(self, event: Measurement, parts: int, levels: list[PartNodes]) -> int:
        """Count the levels that are measured, from released counts; 0 if these are empty."""
        if not levels[0].count.size:
            return 0
        return self.count_measured(event, parts, [float(nodes.count.mean()) for nodes in levels])

    def list_nodes(self, cell: NDArray[np.uint64], count: NDArray[np.int64]) -> list[PartNodes]:
        """List the occupied nodes of all levels, from released cells and counts."""
        return [PartNodes.of(cell, count, stride) for stride in self.strides]

    def variances(self, event: Measurement, levels: int) -> NDArray[np.float64]:
        """Return the variances of the noise of all levels if ``levels`` are measured: float64[h].

        They are infinite for levels that are not measured.
        """
        variances = np.full(len(self.strides), np.inf)
        variances[:levels] = (
            [variance_of(law) for law in self.laws(event, levels)] if levels else []
        )
        return variances

    @property
    def min_share(self) -> Fraction:
        """Smallest share of the budget that a level can have."""
        return min(self.shares(len(self.strides)))


PartCounts = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]
"""Cells, parts and counts."""


@dataclass(frozen=True, eq=False, repr=False)
class TrueParts:
    """Confidential counts of parts of cells.

    Attributes
    ----------
    cell : uint64[m]
        In order.
    part, count : int64[m]
    """

    cell: NDArray[np.uint64]
    part: NDArray[np.int64]
    count: NDArray[np.int64]

    def __repr__(self) -> str:
        return "Truth(confidential)"

    def of_group(self, group: int, step: Step) -> TrueParts:
        """Select the parts of one of a step's groups, numbered inside the group."""
        if step.groups == step.inside == 1:
            return self
        part = self.part // step.inside
        # Parts are numbered group by group, so an integer division gives the group.
        some = part // step.parts == group
        return TrueParts(self.cell[some], part[some] - group * step.parts, self.count[some])

    def tally(self, node: NDArray[np.uint64], stride: int, parts: int) -> NDArray[np.int64]:
        """Sum counts by node, in key order, and by part: int64[n, parts]."""
        # Integers: noise is added to exact sums, see docs/decisions/0002.
        sums = np.zeros((node.size, parts), np.int64)
        kernels.tally(node, np.uint64(stride), self.cell, self.part, self.count, sums)
        return sums


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """Noisy parts of a level's nodes, and the estimates from them.

    Attributes
    ----------
    node : uint64[n]
        In order; all children of open nodes, except those outside the domain.
    z : float64[n, parts]
        Noisy counts; later the best estimates from these and from the measurements below.
    variance : float64[n]
        Variance of z, the same for every part.
    """

    node: NDArray[np.uint64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]

    def at(self, node: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the positions of nodes that are among these."""
        return np.searchsorted(self.node, node)


@dataclass(frozen=True, eq=False)
class Shared:
    """Released counts of parts of cells, above 0.

    Attributes
    ----------
    cell : uint64[n]
        In order.
    part, count : int64[n]
    """

    cell: NDArray[np.uint64]
    part: NDArray[np.int64]
    count: NDArray[np.int64]


MAX_MARGINALS = 16
"""Most marginals of a release."""

MAX_NODES = 1 << 14
"""Nodes of a level from which its differences are learned, about."""

HALVINGS = 12
"""Halvings of a factor's range, on a scale of powers."""


def compare_sizes(people: FloatArray, parent: IntArray) -> FloatArray:
    """Compare areas with those beside them: people times what the size exceeds the mean by.

    Parameters
    ----------
    people : float64[n]
        Above 0.
    parent : int64[n]
        The area above each, from 0 on.

    Returns
    -------
    float64[n]
        Sizes are binary logarithms of people, means are weighted by people: sums over the areas
        inside an area are 0.
    """
    # Straight lines between powers of two: logarithms differ in the last digit between machines.
    fraction, exponent = np.frexp(people)
    size = exponent + 2 * fraction
    mean = np.bincount(parent, people * size) / np.bincount(parent, people)
    return np.asarray(people * (size - mean[parent]), np.float64)


def fit_line(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Fit a line through the origin by weighted least squares, and return its values: float64[n].

    ``weight``: not below 0.
    """
    # One after the other: the order of a floating-point sum must not depend on the processor.
    square, product = np.cumsum(weight * x * x)[-1], np.cumsum(weight * x * y)[-1]
    return x * (product / square) if square else np.zeros(x.size)


def learn_factor(squared: FloatArray, noise: FloatArray, differ: FloatArray) -> float:
    """Learn how much places differ from the areas above, as a factor of what is expected.

    It is the factor under which the measured deviations are most likely, if they are normal.

    Parameters
    ----------
    squared : float64[n]
        Squared deviations of measurements from predictions.
    noise : float64[n]
        Variances of the measurements, above 0.
    differ : float64[n]
        Expected squared deviations of the true counts, for a factor of 1.
    """
    # Some nodes, evenly: thousands tell the factor to a few per cent.
    step = slice(None, None, -(-squared.size // MAX_NODES) or 1)
    squared, noise, differ = squared[step], noise[step], differ[step]
    low, high = 2.0**-8, 2.0**9
    for _ in range(HALVINGS):
        # Products and roots are the same on every machine, unlike powers.
        factor = math.sqrt(low * high)
        expected = factor * differ
        every = expected + noise
        # One after the other: the order of a floating-point sum must not depend on the processor.
        gain = np.cumsum(expected / every * (squared / every - 1))
        if gain.size and gain[-1] > 0:
            low = factor
        else:
            high = factor
    return math.sqrt(low * high)


ROUNDS = 4
"""Rounds of scaling to all marginals in turn: a fixed number, so that all machines agree."""

FIRST_STEP = 2
"""Number of the first marginal's step; the steps of the parts have the numbers before it."""

Number = TypeVar("Number", np.int64, np.float64)


def normalise(text: str) -> str:
    """Write marginals as ``sex+age+sex*age``, the form of settings; commas may stand for plus
    signs.

    Raises UsageError for one that is empty or repeated.
    """
    names = [[name.strip() for name in one.split("*")] for one in text.replace(",", "+").split("+")]
    if text and not all(all(one) for one in names):
        raise UsageError(
            "parts:marginals lists attributes, such as sex,age or sex*age,nationality.",
            code="marginals-form",
        )
    sets = [frozenset(one) for one in names]
    if len(set(sets)) < len(sets) or any(len(set(one)) < len(one) for one in names):
        raise UsageError(
            "parts:marginals must name each marginal once, and each attribute once in a marginal.",
            code="marginals-repeated",
        )
    if len(names) > MAX_MARGINALS:
        raise UsageError(
            f"parts:marginals may list at most {MAX_MARGINALS} marginals.",
            code="marginals-too-many",
        )
    return "+".join("*".join(one) for one in names)


@dataclass(frozen=True, eq=False)
class Marginal:
    """Sums of the parts of the first step.

    Attributes
    ----------
    name : str
        Its attributes in the order of the grid, such as ``sex*age``.
    number : int
        Its number among all marginals.
    labels : int
    label : int64[parts]
        Label of every part.
    """

    name: str
    number: int
    labels: int
    label: IntArray = field(repr=False)

    @property
    def each(self) -> int:
        """Number of parts of a label."""
        return self.label.size // self.labels

    @property
    def step(self) -> Step:
        """The marginal as a step, which determines its streams of noise."""
        return Step(FIRST_STEP + self.number, 1, self.labels, self.labels, 1)

    def add_up(self, table: NDArray[Number]) -> NDArray[Number]:
        """Sum a table [n, parts] by label, in the table's type: [n, labels]."""
        sums = np.zeros((table.shape[0], self.labels), table.dtype)
        # One after the other: the order of a floating-point sum must not depend on the processor.
        for part, label in enumerate(self.label):
            sums[:, label] += table[:, part]
        return sums

    def improve(self, measured: Sequence[Measured], parts: Sequence[Measured]) -> None:
        """Improve its estimates by sums of the parts' estimates, on levels that have both."""
        # A marginal's label sums `each` parts, so the variance of that sum is `each` times a
        # part's.
        for mine, theirs in zip(measured, parts, strict=False):
            spread = self.each * theirs.variance
            weight = spread / (spread + mine.variance)
            mine.z[:] = weight[:, None] * mine.z + (1 - weight)[:, None] * self.add_up(theirs.z)
            mine.variance[:] *= weight


def list_marginals(grid: Grid, joint: Joint, text: str) -> tuple[Marginal, ...]:
    """List the marginals of a grid, without trivial ones: of a single label, or equal to the parts.

    Raises UsageError for an unknown attribute, and for a marginal that is not a sum of the parts of
    the first step.
    """
    names = [attribute.name for attribute in grid.attributes]
    marginals: list[Marginal] = []
    for names_text in text.split("+") if text else ():
        for name in names_text.split("*"):
            if name not in names:
                raise UsageError(
                    f"A marginal is over attributes of the grid ({', '.join(names) or 'none'}), "
                    f"and {name} is not one.",
                    code="marginal-attribute-unknown",
                )
        axes = sorted(names.index(name) for name in names_text.split("*"))
        sizes = [joint.labels[axis] for axis in axes]
        index = np.unravel_index(np.arange(joint.parts), joint.labels)
        label = np.ravel_multi_index([index[axis] for axis in axes], sizes)
        inside = steps_of(joint)[0].inside if joint.parts > 1 else 1
        first = np.asarray(label[::inside], np.int64)
        if (np.repeat(first, inside)[: label.size] != label).any():
            raise UsageError(
                f"More than 64 parts are apportioned in two steps, and a marginal over "
                f"{names_text} is not a sum of the groups of the first step: list its attributes "
                "before the others when you make the grid.",
                code="marginal-not-nested",
            )
        labels = int(np.prod(sizes))
        # A marginal with a single label is the total, and one with all labels is the parts: both
        # are measured anyway.
        if 1 < labels < first.size:
            name = "*".join(names[axis] for axis in axes)
            marginals.append(Marginal(name, len(marginals), labels, first))
    return tuple(marginals)


Goals = list[tuple[Marginal, FloatArray]]
"""Marginals, and target counts of their labels."""


def shift(z: FloatArray, total: float, goals: Goals) -> FloatArray:
    """Shift estimates of parts evenly, so that they add up to a total and to its marginals.

    ``z``: float64[parts]; ``goals``: float64[1, labels] each.
    """
    for marginal, goal in goals * ROUNDS:
        held = marginal.add_up(z[None])[0]
        lacks = goal[0] + (total - np.cumsum(goal[0])[-1]) / marginal.labels - held
        z = z + (lacks / marginal.each)[marginal.label]
    return z


def fit_rows(wanted: FloatArray, people: IntArray) -> FloatArray:
    """Scale the rows of a table to given sums; rows of zeros stay zero: float64[n, parts]."""
    sums = np.cumsum(wanted, axis=1)[:, -1:]
    by = np.divide(people[:, None], sums, out=np.zeros_like(sums), where=sums > 0)
    return wanted * by


def scale(wanted: FloatArray, people: IntArray, goals: Goals) -> FloatArray:
    """Scale the estimated parts of nodes to marginals: float64[n, parts].

    Parameters
    ----------
    wanted : float64[n, parts]
        Not negative; empty labels stay empty.
    people : int64[n]
        Counts of the nodes, above 0.
    goals : Goals
        float64[n, labels] each, not negative.
    """
    for marginal, goal in goals * ROUNDS:
        targets, held = fit_rows(goal, people), marginal.add_up(wanted)
        # Where a label's parts are all 0 there is nothing to scale; the row's total corrects it.
        some = (held > 0) & (targets.sum(axis=1, keepdims=True) > 0)
        by = np.divide(targets, held, out=np.ones_like(goal), where=some)
        wanted = wanted * by[:, marginal.label]
    return wanted
