"""How the tables of a census are made, as their cards state it, and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import inf, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.closed_form import IrregularTree
from geodp.accuracy.interval import LAPLACE_Z, Z
from geodp.accuracy.part_errors import MapTree, Split, StepNoise
from geodp.accuracy.variance import TreeVariance, fourths_from_below, from_below
from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from geodp.kinds.census.margins import PERSONS, Margins
from geodp.kinds.census.streams import CensusStreams
from geodp.mechanisms import find_method
from geodp.mechanisms.central.pyramid import OfPyramid
from geodp.privacy.event import Guarantee, Measurement
from geodp.table.counts import ReleasedTable, coalesce
from geodp.typing import FloatArray

PROOF = (
    "one person changes, on each level, one count of the persons and one part of each of their "
    "margins by 1, and, where households are counted, either their number and one part of each of "
    "their margins by 1, or two parts of each of these; every table has noise of its own, so that "
    "either costs the budget at most, and everything else is post-processing"
)
"""Why a release holds what it promises."""


@dataclass(frozen=True)
class GivenNoise:
    """What the errors of a population follow from that was published before.

    Attributes
    ----------
    mechanism : str
        Its method with its settings.
    amount : Fraction
        Its epsilon or rho.
    sensitivity : int
    share : Fraction
        Of the budget that its own noise has.
    """

    mechanism: str
    amount: Fraction
    sensitivity: int
    share: Fraction

    @classmethod
    def of(cls, event: Measurement) -> GivenNoise:
        """Take it from the event of the population."""
        amount = event.epsilon if event.rho is None else event.rho
        assert amount is not None
        return cls(event.mechanism, amount, event.sensitivity, event.share)

    def event(self, other: Measurement) -> Measurement:
        """Return an event with this noise, in all else like another."""
        epsilon, rho = (self.amount, None) if other.rho is None else (None, self.amount)
        return replace(
            other,
            mechanism=self.mechanism,
            epsilon=epsilon,
            rho=rho,
            sensitivity=self.sensitivity,
            share=self.share,
        )

    def write(self) -> str:
        """Write it as the setting of a method, which has no commas."""
        parts = (self.mechanism.replace(",", "&"), self.amount, self.sensitivity, self.share)
        return "@".join(map(str, parts))

    @classmethod
    def read(cls, text: str) -> GivenNoise:
        """Read what :meth:`write` has written."""
        mechanism, amount, sensitivity, share = text.split("@")
        return cls(mechanism.replace("&", ","), Fraction(amount), int(sensitivity), Fraction(share))


@dataclass(frozen=True)
class CensusTable(OfPyramid):
    """A table of several that are measured on one tree and fitted together.

    Attributes
    ----------
    setting, chain, shares
        Those of the pyramid of all tables.
    tables : str
        All tables, as :meth:`geodp.kinds.census.margins.Margins.write` has them.
    table : str
        Name of this one.
    given : str
        Of persons that were published before, what :meth:`GivenNoise.write` has written.
    new : Fraction
        Share of the stated budget that the tables have which were not published before.
    """

    setting: str = "auto"
    chain: str = ""
    shares: str = ""
    tables: str = PERSONS
    table: str = PERSONS
    given: str = ""
    new: Fraction = Fraction(1)

    name: ClassVar[str] = "census-table"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "a table of a census, whose tables are measured and fitted together"
    citation: ClassVar[str] = "geodp: its own method, defined and proved in docs/proofs/census.md."
    guarantee: ClassVar[Guarantee] = Guarantee(PROOF)
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Combination: the parts of a margin add up to what it divides, so that their sum measures "
        "that, too; all measurements of one count are combined by their variances before anything "
        "is clamped.",
        "Non-negativity: populations are fitted from the total down, children below 0 become 0 and "
        "their siblings are lowered by as much. An isolated occupied cell is lowered by it, and "
        "what it loses goes to the cells around it.",
        "Relations: the parts of every margin are fitted to the released counts that they divide, "
        "so that they add up to these in every cell and every area. Persons outside households are "
        "fitted first, and then households, so that each has from one person to its largest size.",
        "Whole numbers: counts are rounded at random so that all sums are kept; unbiased.",
    )

    @classmethod
    def of(cls, streams: CensusStreams, table: str, given: GivenNoise | None = None) -> CensusTable:
        """Make the method of a table."""
        pyramid = streams.method
        return cls(
            pyramid.setting,
            pyramid.chain,
            pyramid.shares,
            streams.margins.write(),
            table,
            "" if given is None else given.write(),
            streams.new,
        )

    @cached_property
    def margins(self) -> Margins:
        """The margins of the tables, whose labels are numbers."""
        return Margins.read(self.tables)

    @property
    def published(self) -> tuple[str, ...]:
        """Populations that were published before."""
        return (PERSONS,) if self.given else ()

    def unsupported(self, grid: Grid) -> str | None:
        """Explain in one sentence why a grid cannot be taken; None: it can."""
        joint = split_grid(grid)
        if joint is None:
            return Rule(
                "census-needs-attributes-below",
                "The margins of a census lie below the cells of the map (--attribute-order below).",
            )
        return self.pyramid.unsupported(joint.map)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        joint = split_grid(grid)
        listed = "" if joint is None else self.list_shares(joint.map, event)
        share = self.new * self.margins.share(self.table, self.published)
        number = self.margins.changes(self.table)
        counts = "one count" if number == 1 else "two counts"
        return (
            f"a person counted once changes {counts} of this table by 1 on each level; its own "
            f"noise has {share} of the budget, and of that the levels, "
            f"from the total to the cells, have these shares: {listed}"
        )

    def streams(self, ground: Grid, event: Measurement) -> CensusStreams:
        """Return the streams that are measured together, from the event of this table."""
        number = self.margins.changes(self.table)
        whole = replace(event, sensitivity=event.sensitivity // number, share=Fraction(1))
        return CensusStreams(ground, self.margins, self.pyramid, whole, self.published, self.new)

    def _is_map(self) -> bool:
        return self.table in self.margins.populations

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance | None:
        """Return the tree of a population's estimates; None for a margin, which has parts."""
        return self.count_variance(grid, event) if self._is_map() else None

    def count_variance(self, ground: Grid, event: Measurement) -> TreeVariance:
        """Return the tree of estimates of one count of this table, of all that measures it."""
        return _make_tree(self, ground, event)

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64] | None:
        """Compute the variance of aligned blocks of a population where nothing is clamped."""
        tree = self.tree_variance(grid, event)
        return tree.largest(grid) if tree is not None and grid.order.is_binary else None

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> NDArray[np.float64] | None:
        """Return the variances of blocks of cells; of a margin with all of its parts."""
        if self._is_map():
            return super().variances_of(grid, event, stride, block)
        joint = split_grid(grid)
        if joint is None or stride % joint.width:
            return None
        own = self._whole_event(self.streams(joint.map, event))
        method = find_method(own.mechanism)
        return method.variances_of(joint.map, own, stride // joint.width, block)

    def _whole_event(self, streams: CensusStreams) -> Measurement:
        """Return the event of the population that this table counts."""
        name = self.margins.population(self.table)
        if name in streams.given:
            return GivenNoise.read(self.given).event(streams.event)
        return streams.event_of(name, replace(self, table=name).spec)

    def isolated_cell(self, grid: Grid, event: Measurement) -> dict[str, float] | None:
        """Bound bias and root-mean-square error of an isolated cell by those of its table alone."""
        return self.pyramid.isolated_cell(grid, event) if self._is_map() else None

    def clamp_losses(self, grid: Grid, event: Measurement) -> list[tuple[float, float]] | None:
        """Bound the clamp's loss by that of a table that is measured alone."""
        return self.pyramid.clamp_losses(grid, event) if self._is_map() else None

    def split(self, released: ReleasedTable) -> Split | None:
        """Return the population's counts, and the noise of the parts; None for a population."""
        if self._is_map():
            return None
        joint, event = split_grid(released.grid), released.event
        assert joint is not None  # as the grid is supported
        assert isinstance(event, Measurement)
        streams = self.streams(joint.map, event)
        cell, _ = joint.split(released.key)
        counts = coalesce(cell, np.asarray(released.count, np.int64))
        map_release = ReleasedTable(joint.map, *counts, self._whole_event(streams))
        fitted = streams.fitted(self.table)
        tree = MapTree.of(map_release, fitted.strides)
        path = self.margins.path(self.table)
        noise = dict[str, FloatArray]()
        for name in (one.name for one in path):
            own = dict(zip(streams.schedule.strides, streams.variances(name).tolist(), strict=True))
            measured = tuple(own.get(stride, inf) for stride in fitted.strides)
            noise[name] = np.array(from_below(fitted.fanouts, measured))
        # Measured on all levels: the errors of parts are those of noise.
        tails = Z if event.is_normal else LAPLACE_Z
        return Split(
            joint,
            map_release,
            tree,
            self.list_steps(noise),
            tails=(tails, tails),
            # Household status keeps its measurements: what they lack of T is divided evenly.
            shrunk=not path[-1].max_size,
        )

    def list_steps(self, variances: Mapping[str, FloatArray]) -> tuple[StepNoise, ...]:
        """List how the parts of this table are divided, with variances of counts by margin."""
        path, steps = self.margins.path(self.table), list[StepNoise]()
        sizes = [len(one.labels) for one in path]
        for depth, margin in enumerate(path):
            # Some parts there are not: those outside of the label that a margin divides.
            counts = np.zeros(prod(sizes[:depth]), np.int64)
            counts[self.margins.list_parts(margin.of)] = np.diff(self.margins.group_parts(margin))
            noise = np.tile(variances[margin.name], (counts.size, 1))
            steps.append(StepNoise(prod(sizes[depth + 1 :]), sizes[depth], noise, counts))
        return tuple(steps)

    def visited(self, released: ReleasedTable) -> int:
        """Count the nodes that were certainly measured, each with all of its parts."""
        joint = split_grid(released.grid)
        assert joint is not None  # as the grid is supported
        cell, _ = joint.split(released.key)
        on_map = ReleasedTable(
            joint.map, *coalesce(cell, np.asarray(released.count, np.int64)), released.event
        )
        return self.pyramid.visited(on_map) * joint.parts


@lru_cache(maxsize=8)
def _make_tree(method: CensusTable, grid: Grid, event: Measurement) -> TreeVariance:
    """Make the tree of the estimates of a count; ``grid``: the map."""
    streams = method.streams(grid, event)
    fanouts = streams.schedule.fanouts
    measured = tuple(streams.variances(method.table).tolist())
    best = from_below(fanouts, measured)
    # Sums of several noises have shorter tails than one: those of one are a bound.
    fourths = fourths_from_below(fanouts, measured, best) if event.rho is None else ()
    return IrregularTree(fanouts, best, fourths, (), measured)


PROTOCOLS = {CensusTable.name: CensusTable()}
"""The method by its name in cards, with default settings; the core finds it here."""
