"""Attributes that add up: the map first, then its parts at areas where they have a signal.

The map is a release of :mod:`geodp.mechanisms.central.pyramid`; the parts are measured and
apportioned by :mod:`geodp.mechanisms.parts.chain`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.part_errors import MapTree, MarginalNoise, Split, StepNoise
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import Joint, split_grid
from geodp.mechanisms.base import BaseUse, Mechanism, Plain, Query, within
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.parts.chain import PartsPass
from geodp.mechanisms.parts.measuring import (
    SIGNAL,
    Marginal,
    Schedule,
    Shared,
    TrueParts,
    list_marginals,
    normalise,
    steps_of,
)
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws
from geodp.table.counts import CountTable, ReleasedTable, coalesce

MAX_PARTS = 1 << 12
"""Most combinations of labels."""

MAX_LAST = 1 << 6
"""Largest factor of the last level's weight."""

OF_THE_MAP = b"geodp map of a table of parts"
"""Label from which the map's key is derived, if the caller does not supply the map."""


@dataclass(frozen=True)
class Parts(Mechanism):
    """A map of totals, and their parts by sex, age ... that add up to it.

    The totals of all cells are released first, by pyramid, with a separate share of the budget.
    Then the parts (combinations of labels) of coarse areas are measured, down to the last level on
    which the expected count of a part is at least two noise scales. From the root down, the parts
    of an area are apportioned to the areas inside it: the measurements there, moved by equal
    amounts until they add up to the released counts of the areas, and shrunk towards a prediction
    as far as their noise exceeds how much places differ, are fitted to these counts and to the
    parts above, and rounded so that both are kept. The prediction is the shares of the area above,
    moved along a line in the logarithm of people that is fitted to the level: small places differ
    from towns in the same direction, and what shrinking took from each of them would add up.
    Below the last measured level the shares of the area above are used. More than 64 parts are
    apportioned in two steps: first groups of neighbouring labels, then the parts inside each group.

    Attributes
    ----------
    share : Fraction
        Share of the budget for the map of totals: above 0, below 1; otherwise UsageError.
    last : int
        Factor of the weight of the last measured level, 1 to 64: a larger one favours parts of
        cells and small areas at the expense of large ones.
    marginals : str
        Sums of parts that are measured separately as well, such as ``sex+sex*age``: each has as
        much of the budget as all parts of a step.
    """

    share: Fraction = field(default=Fraction(1, 2), metadata=within(0, 1, strictly=True))
    last: int = field(default=1, metadata=within(1, MAX_LAST))
    marginals: str = ""

    name: ClassVar[str] = "parts"
    version: ClassVar[int] = 8
    title: ClassVar[str] = "a map of totals, and their parts that add up to it"
    citation: ClassVar[str] = (
        "geodp: its own method, defined and proved in the documentation of its class Parts; "
        "rounding along cycles: Gandhi, Khuller, Parthasarathy, Srinivasan: Dependent Rounding and "
        "its Applications to Approximation Algorithms. Journal of the ACM 53(3), 2006."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "the map has its share of the budget, see pyramid; one person changes exactly one "
        "part of one node on each further level, by 1, and their shares are what is left. Which "
        "levels and nodes are measured depends only on the released map (adaptive composition), "
        "and the noise of nodes is independent; everything else is post-processing",
    )
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Additivity: parts add up to the counts of the map, of every area and of every cell, and "
        "cells to areas in every part; sums of labels, such as one sex, therefore agree too.",
        "Prediction: below the last measured level every cell has the shares of the area that "
        "holds it, so that parts differ less from cell to cell than people do.",
        "Non-negativity: no count is below 0; a part's total is not biased by it where it is well "
        "above its noise.",
        "Whole numbers: tables of areas times parts are rounded along cycles with random coins of "
        "their node; unbiased.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # One spelling for equal marginals: settings are part of a release's identity.
        object.__setattr__(self, "marginals", normalise(self.marginals))

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """Names and values of all settings; ``marginals`` only if there are any.

        So releases without marginals keep the identity that they had before the setting existed.
        """
        settings = super().settings
        return (
            settings if self.marginals else tuple(one for one in settings if one[0] != "marginals")
        )

    def unsupported(self, grid: Grid) -> str | None:
        """Reject grids without attributes at the end of the key, or whose map pyramid rejects."""
        joint = split_grid(grid)
        if joint is None:
            return Rule(
                "parts-needs-attributes-below",
                "parts needs attributes below the cells of the map (--attribute-order below, which "
                "is the default).",
            )
        if joint.parts > MAX_PARTS:
            return Rule(
                "parts-too-many-combinations",
                f"parts shares out at most {MAX_PARTS:,} combinations of labels; this grid has "
                f"{joint.parts:,}. Choose fewer or broader labels (--labels, labels=), or publish "
                "attributes apart, each with a budget of its own.",
            )
        # The map is released by pyramid, so its limits are limits here, under the name of this
        # method.
        if (refusal := Pyramid().unsupported(joint.map)) is not None:
            code = getattr(refusal, "code", "")
            return Rule(code, refusal.replace("pyramid", "parts"))
        try:
            _marginals(grid, self.marginals)
        except UsageError as error:
            return Rule(error.code, str(error))
        return None

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity of 1 for the map and for each level of the parts."""
        if marginals := _marginals(grid, self.marginals):
            joint = _joint(grid)
            names = ", one ".join(f"label of {one.name}" for one in marginals)
            steps = " (one group, and one part in it)" if len(steps_of(joint)) > 1 else ""
            return (
                f"a person counted once changes the map, which has {self.share} of the budget, and "
                f"by 1, on each further level that is measured, one part{steps} and one {names}; "
                f"each of these {self.count_vectors(grid)} has {self.schedule(grid).share} of the "
                "budget, for all of its levels"
            )
        return (
            f"a person counted once changes the map, which has {self.share} of the budget, and by "
            "1 one part on each further level that is measured; their shares add up to the rest"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the queries of the map, and the parts of all levels that can be measured."""
        base = self.base(grid, event)
        return *base.method.queries(base.grid, base.event), *self._queries_of_parts(grid, event)

    def _queries_of_parts(self, grid: Grid, event: Measurement) -> list[Query]:
        queries, schedule = list[Query](), self.schedule(grid)
        vectors: list[tuple[int, tuple[Plain, ...]]] = [
            (step.stream, step.description) for step in steps_of(_joint(grid))
        ]
        for one in _marginals(grid, self.marginals):
            vectors.append((one.step.stream, ("labels of nodes of keys", one.name)))
        for stream, description in vectors:
            # The number of measured levels depends on the released map, so every possible number is
            # declared, with its own shares and noise.
            for levels in range(1, len(schedule.strides) + 1):
                for i, law in enumerate(schedule.laws(event, levels)):
                    what = (*description, schedule.strides[i], levels)
                    queries.append(Query(stream + i, law.identity, what))
        return queries

    def declare(self, grid: Grid, event: Measurement) -> Draws:
        """Declare the draws of the parts and their rounding, and, for a derived key, the map's."""
        base, levels = self.base(grid, event), len(self.schedule(grid).strides)
        draws = [Draw(one.stream, one.noise) for one in self._queries_of_parts(grid, event)]
        # Rounding draws uniform numbers, which are not measurements but must be declared too: the
        # key refuses undeclared draws.
        for step in steps_of(_joint(grid)):
            draws += [Draw(step.rounding + i, UNIFORM) for i in range(levels)]
        return Draws.of(draws, {digest(OF_THE_MAP): base.method.declare(base.grid, base.event)})

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the smallest share of a level of the map or of the parts."""
        joint = _joint(grid)
        map_event = self.event_of_map(joint, event)
        smallest = Pyramid().min_share(joint.map, map_event) * self.share_of_map(joint)
        return min(smallest, self.schedule(grid).min_share) if joint.parts > 1 else smallest

    def share_of_map(self, joint: Joint) -> Fraction:
        """Return the map's share of the budget: all of it where there are no parts."""
        # A single part is the map itself, and nothing else is measured.
        return self.share if joint.parts > 1 else Fraction(1)

    def event_of_map(self, joint: Joint, event: Measurement) -> Measurement:
        """Return the privacy event of the map, the same as if it were published alone."""
        share, mechanism = self.share_of_map(joint), Pyramid().spec
        if event.rho is not None:
            rho = event.rho * share
            return replace(event, mechanism=mechanism, rho=rho, epsilon=None, delta=None)
        assert event.epsilon is not None
        return replace(event, mechanism=mechanism, epsilon=event.epsilon * share)

    def count_vectors(self, grid: Grid) -> int:
        """Count the vectors that divide the rest of the budget: steps and marginals."""
        return len(steps_of(_joint(grid))) + len(_marginals(grid, self.marginals))

    def schedule(self, grid: Grid) -> Schedule:
        """Return the levels at which parts can be measured, and the share of each vector."""
        joint = _joint(grid)
        levels = Pyramid(setting="official" if joint.map.areas.nested else "R").levels(joint.map)
        # What the map leaves of the budget is divided equally among the vectors, which are measured
        # on the same people.
        share = (1 - self.share) / max(self.count_vectors(grid), 1)
        return Schedule(levels.fanouts, levels.strides, share, self.last)

    def list_signals(
        self, grid: Grid, event: Measurement, people: float | None
    ) -> list[dict[str, Any]] | None:
        """List a row for every level of each step and marginal, the root's first."""
        joint = _joint(grid)
        rows: list[dict[str, Any]] = []
        schedule, cells = self.schedule(grid), joint.map.size
        vectors: list[tuple[str | None, int]] = [
            (None, min(step.groups * step.parts, joint.parts)) for step in steps_of(joint)
        ]
        vectors += [(one.name, one.labels) for one in _marginals(grid, self.marginals)]
        for name, apart in vectors:
            for i, stride in enumerate(schedule.strides):
                # A level's stride may exceed the padded map: an area has no more cells than the
                # map.
                area = min(stride, cells)
                noise = event.width(schedule.shares(i + 1)[-1])
                expected = None if people is None else people * area / cells / apart
                rows.append(
                    {
                        "marginal": name,
                        "parts": apart,
                        "cells": area,
                        "noise": noise,
                        "least": SIGNAL * noise,
                        "expected": expected,
                        "signal": None if expected is None else expected >= SIGNAL * noise,
                    }
                )
        return rows or None

    def base(self, grid: Grid, event: Measurement) -> BaseUse:
        """Return the release of the map of totals, as if it were published alone."""
        joint = _joint(grid)
        return BaseUse(joint.map, Pyramid(), self.event_of_map(joint, event))

    def first(self, table: CountTable) -> CountTable:
        """Return the counts of the map."""
        joint = _joint(table.grid)
        key, count = coalesce(table.key // np.uint64(joint.width), table.count)
        return CountTable.of_cells(joint.map, key, count, bound=table.bound)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release both, the map with a key that is derived from that of the parts."""
        base = self.base(table.grid, event)
        # The derived key is erased even if the map's release fails.
        with key.derive(digest(OF_THE_MAP)) as map_key:
            drawn = base.method.release(self.first(table), base.event, map_key)
        return self.refine_base(drawn, table, event, key)

    def refine_base(
        self, first: ReleasedTable, table: CountTable, event: Measurement, key: NoiseKey
    ) -> ReleasedTable:
        """Apportion the released map to the parts: O(parts * m+ * levels)."""
        joint = _joint(table.grid)
        truth = TrueParts(*joint.split(table.key), table.count)
        count = np.asarray(first.count, np.int64)
        shared = Shared(first.key, np.zeros(first.key.size, np.int64), count)
        for step in steps_of(joint):
            marginals = () if step.number else _marginals(table.grid, self.marginals)
            chain = PartsPass(joint.map, self.schedule(table.grid), event, key, step, marginals)
            shared = chain.run(truth, shared)
        return ReleasedTable(table.grid, joint.join(shared.cell, shared.part), shared.count, event)

    def split(self, released: ReleasedTable) -> Split | None:
        """Return the map's counts, and the noise of parts down to the last measured level.

        None for a single part, which is the map.
        """
        joint, event = _joint(released.grid), released.event
        if joint.parts == 1:
            return None
        assert isinstance(event, Measurement)
        schedule = self.schedule(released.grid)
        cell, part = joint.split(released.key)
        count = np.asarray(released.count, np.int64)
        map_release = ReleasedTable(
            joint.map, *_add_up(cell, count), self.event_of_map(joint, event)
        )
        # The noise of every group of parts depends on its own released counts, which decide how
        # many of its levels were measured.
        tree, steps = MapTree.of(map_release, schedule.strides), []
        for step in steps_of(joint):
            noise = []
            unit = part // step.inside // step.parts
            for group in range(step.groups):
                of_group = unit == group
                parts = step.last if group == step.groups - 1 else step.parts
                levels = schedule.list_nodes(*_add_up(cell[of_group], count[of_group]))
                measured = schedule.count_levels(event, parts, levels)
                noise.append(schedule.variances(event, measured))
            steps.append(StepNoise(step.inside, step.parts, np.array(noise)))
        levels, marginals = schedule.list_nodes(*_add_up(cell, count)), []
        for one in _marginals(released.grid, self.marginals):
            measured = schedule.count_levels(event, one.labels, levels)
            label = np.repeat(one.label, steps_of(joint)[0].inside)[: joint.parts]
            marginals.append(MarginalNoise(label, schedule.variances(event, measured)))
        return Split(joint, map_release, tree, tuple(steps), tuple(marginals))

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> NDArray[np.float64] | None:
        """Return the map's variances, for blocks of cells with all of their parts."""
        joint = _joint(grid)
        if joint.parts == 1 or stride % joint.width:
            return None
        map_event = self.event_of_map(joint, event)
        return Pyramid().variances_of(joint.map, map_event, stride // joint.width, block)

    def visited(self, released: ReleasedTable) -> int:
        """Count the occupied nodes of the map's tree, each with all of its parts."""
        joint = _joint(released.grid)
        cell, nodes = released.key // np.uint64(joint.width), 0
        for stride in self.schedule(released.grid).strides:
            node = cell // np.uint64(stride)
            nodes += int((node[1:] != node[:-1]).sum()) + min(node.size, 1)
        return nodes * joint.parts


def _add_up(
    cell: NDArray[np.uint64], count: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Sum the counts of equal cells; ``cell`` is in order."""
    first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1])[: cell.size])
    return cell[first], np.add.reduceat(count, first) if first.size else count


@lru_cache(maxsize=8)
def _joint(grid: Grid) -> Joint:
    joint = split_grid(grid)
    assert joint is not None
    return joint


@lru_cache(maxsize=8)
def _marginals(grid: Grid, text: str) -> tuple[Marginal, ...]:
    return list_marginals(grid, _joint(grid), text)


METHODS = (Parts(),)
