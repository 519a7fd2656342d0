"""Measure all tables of a census on one tree, and fit them so that they agree.

The nodes of the map's pyramid are visited from the root to the cells. At each, the persons, the
households and the parts of all margins are measured. The parts of a margin add up to what it
divides, so that their sum measures that, too: measurements of one count are combined by their
variances, before anything is clamped. Then the persons are fitted from the top, the households, at
most as many, and the parts of each margin, given the counts that they add up to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from geodp import progress
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels import bounded_counts
from geodp.kernels.pyramid import shares
from geodp.kernels.pyramid.reweighting import reweight_all
from geodp.kinds.census.bounded_fit import NodeChildren, divide, fit_status
from geodp.kinds.census.margins import HOUSEHOLDS, PERSONS, Margin, Margins
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.parts.chain import Group, PartsPass
from geodp.mechanisms.parts.measuring import (
    Measured,
    PartCounts,
    PartNodes,
    Schedule,
    Step,
    TrueParts,
)
from geodp.mechanisms.trees.descent import variance_of
from geodp.mechanisms.trees.levels import LevelScheme
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, digest
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.measured import sums_of
from geodp.typing import FloatArray, IntArray, KeyArray

STREAM = b"geodp census stream 1"
"""Domain separation of the derivation of a table's key."""

FEW = 4
"""NodeChildren of a node when parts are fitted, if the digits of the map allow it."""

WHOLE = Step(0, 1, 1, 1, 1)
"""The step in which all parts of a margin are measured; their number is filled in."""


@dataclass(frozen=True)
class CensusStreams:
    """What is measured, and with which noise.

    Attributes
    ----------
    ground : Grid
        The map.
    margins : Margins
    method : Pyramid
        Its levels are those of all tables.
    event : Measurement
        Of all tables together.
    given : tuple of str
        Populations that were published before, and are not measured again.
    new : Fraction
        Share of the event's budget that the measured tables have.
    """

    ground: Grid
    margins: Margins
    method: Pyramid
    event: Measurement
    given: tuple[str, ...] = ()
    new: Fraction = Fraction(1)

    @property
    def measured(self) -> tuple[str, ...]:
        """Names of the tables that are measured, populations first."""
        return tuple(name for name in self.margins.tables if name not in self.given)

    @property
    def measured_event(self) -> Measurement:
        """The event of the measured tables together."""
        return self.event.part(self.new)

    def laws(self, table: str) -> tuple[Law, ...]:
        """Return the noise of a table's counts on every level, the root's first."""
        return self.method.descent(self.ground, self.event_of(table, self.method.spec).own).laws

    def event_of(self, table: str, mechanism: str) -> Measurement:
        """Return the event of a table: that of all together, with its share of the noise."""
        return replace(
            self.event,
            mechanism=mechanism,
            sensitivity=self.event.sensitivity * self.margins.changes(table),
            share=self.new * self.margins.share(table, self.given),
        )

    @cached_property
    def fanouts(self) -> tuple[int, ...]:
        """NodeChildren of a node of each level, with one root above all."""
        return (1, *self.schedule.fanouts)

    @cached_property
    def schedule(self) -> Schedule:
        """All levels, each of which is measured in every table."""
        levels = self.method.levels(self.ground, gaussian=self.event.rho is not None)
        return Schedule(levels.fanouts, levels.strides, Fraction(1))

    @cached_property
    def finer(self) -> Schedule:
        """All levels on which parts are fitted: few children each, as near places are alike."""
        fanouts, radices = list[int](), [*self.ground.order.radices]
        for fanout in self.schedule.fanouts:
            some, part = 1, list[int]()
            while some < fanout:
                digit = radices.pop(0)
                some *= digit
                if part and part[-1] * digit <= FEW:
                    part[-1] *= digit
                else:
                    part.append(digit)
            fanouts += part
        levels = LevelScheme(tuple(fanouts), ())
        return Schedule(levels.fanouts, levels.strides, Fraction(1))

    def fitted(self, table: str) -> Schedule:
        """Return the levels on which the parts of a margin are fitted."""
        return self.schedule if self.margins.path(table)[-1].max_size else self.finer

    def variances(self, table: str) -> FloatArray:
        """Return the variance of a table's measured counts by level, with sums of parts inside.

        Returns
        -------
        float64[levels]
        """
        variance = np.array([variance_of(law) for law in self.laws(table)])
        for one in self.margins.inside(table):
            # Of the part with the most parts: others are at most as uncertain.
            most = int(np.diff(self.margins.group_parts(one)).max())
            sums = most * self.variances(one.name)
            variance = variance * sums / (variance + sums)
        return variance

    @property
    def draws(self) -> Draws:
        """The draws of all tables, with the key of each."""
        derived = {}
        for table in self.measured:
            laws = self.laws(table)
            if table in self.margins.populations:
                draws = [Draw(Stream.PYRAMID + i, law.identity) for i, law in enumerate(laws)]
            else:
                draws = [Draw(WHOLE.stream + i, law.identity) for i, law in enumerate(laws)]
                levels = range(len(self.fitted(table).strides))
                draws += [Draw(WHOLE.rounding + i, UNIFORM) for i in levels]
            derived[name_key(table)] = Draws.of(draws)
        return Draws.of((), derived)


def name_key(table: str) -> bytes:
    """Return the digest that derives the key of a table."""
    return digest(STREAM, table.encode())


@dataclass(frozen=True, eq=False, repr=False)
class CensusTruth:
    """Confidential counts.

    Attributes
    ----------
    populations : mapping of str to CountTable
        On the map, without those that are given.
    parts : mapping of str to TrueParts
        Of every margin, on the cells of the map.
    given : mapping of str to ReleasedTable
        Populations that were published before.
    """

    populations: Mapping[str, CountTable]
    parts: Mapping[str, TrueParts]
    given: Mapping[str, ReleasedTable] = field(default_factory=dict)

    def sum_nodes(self, name: str, node: KeyArray, stride: int) -> IntArray:
        """Return the sums of a given population in nodes: int64[n]."""
        table = self.given[name]
        return sums_of(table.key, np.asarray(table.count, np.int64), node, stride)


@dataclass(frozen=True, eq=False)
class CensusLevel:
    """The nodes of a level that were measured: all children of the open nodes above.

    Attributes
    ----------
    node : uint64[n]
        In order.
    first : int64[m + 1]
        Where the children of each open node of the level above begin.
    uniform : mapping of str to float64[m]
        Random numbers in [0, 1) of these nodes, by population, for rounding.
    z : mapping of str to float64[n]
        Measured counts of populations, with the sums of their margins; later the estimates.
    variance : mapping of str to float64[n]
    """

    node: KeyArray
    first: IntArray
    uniform: Mapping[str, FloatArray]
    z: Mapping[str, FloatArray]
    variance: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Tree:
    """Everything that was measured.

    Attributes
    ----------
    levels : list of CensusLevel
        The root's first.
    opened : list of PartNodes
        Nodes of all levels that were found to have persons, by what was measured above them.
    parts : dict of str to list of Measured
        Of every margin that is not fitted yet, on the nodes of all levels.
    """

    levels: list[CensusLevel]
    opened: list[PartNodes]
    parts: dict[str, list[Measured]]

    @cached_property
    def children(self) -> list[NodeChildren]:
        """Which nodes belong together, and which are open, by level."""
        return [
            NodeChildren(level.first, level.node.searchsorted(opened.prefix))
            for level, opened in zip(self.levels, self.opened, strict=True)
        ]


NOBODY = TrueParts(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))
"""No counts of parts."""

Counts = tuple[KeyArray, IntArray]
"""Cells in order, and their counts above 0."""


def release_streams(
    streams: CensusStreams, truth: CensusTruth, key: NoiseKey
) -> dict[str, Counts | PartCounts]:
    """Measure and fit all tables: cells and counts, or cells, parts and counts, of each."""
    with ExitStack() as stack:
        keys = {
            table: stack.enter_context(key.derive(name_key(table))) for table in streams.measured
        }
        groups = {
            one.name: Group(
                _chain(streams, one, keys[one.name]),
                0,
                _renumber(truth.parts[one.name], streams.margins.list_parts(one.name)),
            )
            for one in streams.margins.margins
        }
        tree = _measure(streams, truth, keys, groups)
        # Nothing confidential is fitted, and its memory is free from here on.
        groups = {name: replace(one, truth=NOBODY) for name, one in groups.items()}
        truth = replace(truth, populations={}, parts={})
        return _fit(streams, truth, tree, groups)


def _chain(streams: CensusStreams, margin: Margin, key: NoiseKey) -> PartsPass:
    """Make the pass that measures all parts of a margin together."""
    parts = int(streams.margins.list_parts(margin.name).size)
    step = replace(WHOLE, parts=parts, last=parts)
    return PartsPass(streams.ground, streams.schedule, streams.event, key, step)


def _renumber(truth: TrueParts, parts: IntArray) -> TrueParts:
    """Replace the numbers of parts by their places among those that there are."""
    return TrueParts(truth.cell, np.searchsorted(parts, truth.part), truth.count)


def _measure(
    streams: CensusStreams,
    truth: CensusTruth,
    keys: Mapping[str, NoiseKey],
    groups: Mapping[str, Group],
) -> Tree:
    """Measure all tables from the root to the cells, below nodes that have persons."""
    laws = {table: streams.laws(table) for table in streams.measured}
    parts: dict[str, list[Measured]] = {name: [] for name in groups}
    levels, opened = list[CensusLevel](), list[PartNodes]()
    above, total = np.zeros(1, np.uint64), None
    for i, (fanout, stride) in enumerate(
        zip(streams.fanouts, streams.schedule.strides, strict=True)
    ):
        node = number_children(above, fanout)
        inside = overlaps(streams.ground, node, stride)
        node, number = node[inside], inside.reshape(-1, fanout).sum(axis=1)
        z, uniform = dict[str, FloatArray](), dict[str, FloatArray]()
        for name, table in truth.populations.items():
            noise = NodeNoise(keys[name], Stream.PYRAMID + i, laws[name][i])
            drawn, uniform[name] = noise.families(above, fanout)
            # Whole until the noise is in.
            noisy = sums_of(table.key, table.count, node, stride) + drawn[inside]
            z[name] = noisy.astype(np.float64)
        for name, group in groups.items():
            parts[name].append(group.measure_nodes(i, laws[name][i], node))
        variance = _combine_sums(streams, laws, i, z, {n: each[i] for n, each in parts.items()})
        first = np.append(0, np.cumsum(number))
        levels.append(CensusLevel(node, first, uniform, z, variance))
        if PERSONS in truth.given:
            count = truth.sum_nodes(PERSONS, node, stride)
        else:
            persons = levels[-1].z[PERSONS]
            count = _apportion(levels[-1], PERSONS, total, persons, _no_bound(node, total))
        opened.append(PartNodes(node[count > 0], count[count > 0]))
        above, total = opened[-1].prefix, opened[-1].count
    return Tree(levels, opened, parts)


def _combine_sums(
    streams: CensusStreams,
    laws: Mapping[str, tuple[Law, ...]],
    i: int,
    z: dict[str, FloatArray],
    parts: Mapping[str, Measured],
) -> dict[str, FloatArray]:
    """Improve counts of a level by the sums of the parts that divide them, the smallest first.

    Changes ``z``, and the estimates of ``parts``; returns variances of the populations.
    """
    margins = streams.margins
    variance = {name: np.full(one.size, variance_of(laws[name][i])) for name, one in z.items()}
    of = {name: one.z for name, one in parts.items()} | {n: one[:, None] for n, one in z.items()}
    spread = {name: one.variance for name, one in parts.items()} | variance
    for margin in reversed(margins.margins):
        if margin.of in streams.given:
            continue
        whole, ends = of[margin.of], margins.group_parts(margin)
        sums = np.add.reduceat(of[margin.name], ends[:-1], axis=1)
        noise = int(np.diff(ends).max()) * spread[margin.name]
        weight = noise / (noise + spread[margin.of])
        whole[:] = weight[:, None] * whole + (1 - weight)[:, None] * sums
        spread[margin.of][:] *= weight
    return variance


def _no_bound(node: KeyArray, total: IntArray | None) -> IntArray:
    """Return bounds that no node reaches."""
    most = np.int64(1) << 40 if total is None else total.max(initial=0)
    return np.full(node.size, most)


def _apportion(
    level: CensusLevel, name: str, total: IntArray | None, z: FloatArray, cap: IntArray
) -> IntArray:
    """Divide counts of the open nodes above among the nodes of a level: int64[n].

    ``total``: int64[m]; None at the root, whose count is rounded at random.
    """
    if total is None:
        return np.clip(np.floor(z + level.uniform[name]).astype(np.int64), 0, cap)
    count = np.empty(z.size, np.int64)
    bounded_counts.apportion(
        level.first, total, level.uniform[name], z, level.variance[name], cap, count
    )
    return count


def _fit(
    streams: CensusStreams, truth: CensusTruth, tree: Tree, groups: Mapping[str, Group]
) -> dict[str, Counts | PartCounts]:
    """Fit populations from the top, and then margins, given what they divide."""
    released: dict[str, Counts | PartCounts] = {}
    cells = tree.levels[-1].node
    if PERSONS in truth.given:
        persons = [
            truth.sum_nodes(PERSONS, level.node, stride)
            for level, stride in zip(tree.levels, streams.schedule.strides, strict=True)
        ]
    else:
        persons = _fit_persons(streams, tree)
    released[PERSONS] = _some(cells, persons[-1])
    if streams.margins.households:
        released[HOUSEHOLDS] = _some(cells, _fit_households(streams, tree, persons)[-1])
    margins = streams.margins.margins
    for number, margin in enumerate(margins, 1):
        schedule, group = streams.fitted(margin.name), groups[margin.name]
        # What was measured is much, and is needed once.
        levels = _combine_levels(streams, schedule, tree.parts.pop(margin.name))
        with progress.inside(margin.name, number, len(margins)):
            if margin.max_size:
                table = _fit_status(tree, group, levels, persons, margin.max_size)
            else:
                fitted = replace(group, chain=replace(group.chain, schedule=schedule))
                whole = released[margin.of]
                table = _fit_margin(fitted, streams.margins, margin, levels, whole)
        released[margin.name] = table
    return released


def _combine_levels(
    streams: CensusStreams, schedule: Schedule, measured: Sequence[Measured]
) -> list[Measured]:
    """Improve estimates by those below, and make the levels of a schedule that were not measured.

    ``measured``: on all levels of the streams, the root's first.
    """
    own = dict(zip(streams.schedule.strides, measured, strict=True))
    levels = list[Measured]()
    for i in range(len(schedule.strides) - 1, -1, -1):
        fanout = schedule.fanouts[i] if levels else 0
        below = levels[0] if levels else None
        levels.insert(0, _combine_below(own.get(schedule.strides[i]), below, fanout))
    return levels


def _combine_below(own: Measured | None, below: Measured | None, fanout: int) -> Measured:
    """Improve the estimates of measured nodes by those below, or make nodes of those below."""
    if below is None:
        assert own is not None  # as cells are measured
        return own
    above = below.node // np.uint64(fanout)
    # Noise may have left no node open, even where somebody is counted.
    starts = np.flatnonzero(np.append(True, above[1:] != above[:-1])[: above.size])
    sums, spread = np.add.reduceat(below.z, starts), np.add.reduceat(below.variance, starts)
    if own is None:
        return Measured(above[starts], sums, spread)
    at = own.at(above[starts])
    weight = spread / (spread + own.variance[at])
    own.z[at] = weight[:, None] * own.z[at] + (1 - weight)[:, None] * sums
    own.variance[at] *= weight
    return own


def _some(cells: KeyArray, count: IntArray) -> Counts:
    """Select the cells with counts above 0."""
    return cells[count > 0], count[count > 0]


def _combine_population(streams: CensusStreams, tree: Tree, name: str) -> None:
    """Improve the estimates of a population in open nodes by those of their children."""
    levels, measured = tree.levels, streams.variances(name).tolist()
    for i in range(len(levels) - 2, -1, -1):
        above, below, at = levels[i], levels[i + 1], tree.children[i].opened
        z, variance = above.z[name][at], above.variance[name][at]
        nothing, own = np.zeros(at.size), measured[i]
        bounded_counts.combine(
            below.first, below.z[name], below.variance[name], nothing, nothing, own, z, variance
        )
        above.z[name][at], above.variance[name][at] = z, variance


def _fit_persons(streams: CensusStreams, tree: Tree) -> list[IntArray]:
    """Fit whole counts of the persons to all nodes, as the pyramid does: int64[n], by level."""
    _combine_population(streams, tree, PERSONS)
    root, at = tree.levels[0], tree.children[0].opened
    cap = np.zeros(root.node.size, np.int64)
    cap[at] = _no_bound(root.node, None)[at]
    counts = [_apportion(root, PERSONS, None, root.z[PERSONS], cap)]
    for i in range(1, len(tree.levels)):
        level, opened = tree.levels[i], tree.children[i].opened
        z, variance, members = level.z[PERSONS], np.zeros(level.node.size), np.diff(level.first)
        variance[opened] = level.variance[PERSONS][opened]  # others were found to have nobody
        total, above_cells = counts[-1][tree.children[i - 1].opened], i < len(tree.levels) - 1
        reweight_all(z, variance, members, total, (streams.fanouts[i], above_cells))
        count = np.empty(z.size, np.int64)
        shares.share(z, variance, members, total, level.uniform[PERSONS], 0.0, count)
        counts.append(count)
    return counts


def _fit_households(
    streams: CensusStreams, tree: Tree, persons: Sequence[IntArray]
) -> list[IntArray]:
    """Fit whole counts of the households, at most the persons of each node: int64[n], by level."""
    _combine_population(streams, tree, HOUSEHOLDS)
    levels = tree.levels
    return divide(
        tree.children,
        [one.uniform[HOUSEHOLDS] for one in levels],
        [one.z[HOUSEHOLDS] for one in levels],
        [one.variance[HOUSEHOLDS] for one in levels],
        # Nodes that are not open have nobody.
        [(np.zeros_like(most), most) for most in persons],
    )


def _fit_margin(
    group: Group,
    margins: Margins,
    margin: Margin,
    measured: list[Measured],
    whole: Counts | PartCounts,
) -> PartCounts:
    """Fit the parts of a margin to the released counts that it divides."""
    if len(whole) == 2:
        return _fit_parts(group, measured, *whole)
    cell, part, count = whole
    divided, ends = margins.list_parts(margin.of), margins.group_parts(margin)
    parts = margins.list_parts(margin.name)
    results = list[PartCounts]()
    for number, of in enumerate(divided):
        some, columns = part == of, slice(ends[number], ends[number + 1])
        labels = int(ends[number + 1] - ends[number])
        step = Step(0, divided.size, labels, labels, 1)
        inner = Group(replace(group.chain, step=step), number, group.truth)
        found = _fit_parts(
            inner,
            [replace(each, z=each.z[:, columns]) for each in measured],
            *(cell[some], count[some]),
        )
        results.append((found[0], parts[columns][found[1]], found[2]))
    cell, part, count = (np.concatenate(arrays) for arrays in zip(*results, strict=True))
    order = np.lexsort((part, cell))
    return cell[order], part[order], count[order]


def _fit_parts(
    group: Group, measured: list[Measured], cell: KeyArray, count: IntArray
) -> PartCounts:
    """Fit parts to released counts of cells."""
    if not cell.size:
        return cell, count, count
    return group.fit(group.schedule.list_nodes(cell, count), measured, ())


def _fit_status(
    tree: Tree,
    group: Group,
    levels: Sequence[Measured],
    persons: Sequence[IntArray],
    max_size: int,
) -> PartCounts:
    """Fit households and persons outside to released persons, of all nodes by level."""
    above = [tree.levels[0].node, *(one.prefix for one in tree.opened[:-1])]
    number = levels[0].z.shape[1] - 1
    uniform = [group.draw_uniform(i, node, number) for i, node in enumerate(above)]
    table = fit_status(tree.children, uniform, levels, persons, max_size)
    at, part = np.nonzero(table)
    return tree.levels[-1].node[at], part.astype(np.int64), table[at, part]
