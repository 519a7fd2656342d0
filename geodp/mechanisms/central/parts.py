"""Attributes that add up: the map first, then its parts at areas where they have a signal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.parts import MapTree, MarginalNoise, Split, StepNoise
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import Joint, split_grid
from geodp.mechanisms.base import PUBLIC_DOMAIN, BaseUse, Mechanism, Plain, Query
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.parts.chain import PartsPass
from geodp.mechanisms.parts.counts import Shared, TrueParts
from geodp.mechanisms.parts.levels import SIGNAL, Schedule, steps_of
from geodp.mechanisms.parts.marginals import Marginal, list_marginals, normalise
from geodp.privacy.event import PURE, Guarantee, Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws
from geodp.table.counts import CountTable, coalesce
from geodp.table.released import ReleasedTable

MAX_PARTS = 1 << 12
"""Combinations of labels."""

MOST_OF_LAST = 1 << 6
"""Times of its weight."""

OF_THE_MAP = b"geodp map of a table of parts"
"""Label of the map's key, where the caller has none for it."""


@dataclass(frozen=True)
class Parts(Mechanism):
    """A map of totals, and their parts by sex, age ... that add up to it.

    The totals of all cells are released first, as pyramid releases them, with a part of the
    budget of their own. Then the parts (combinations of labels) of coarse areas are measured,
    down to the last level where a part expects two noise scales. From the root down, the parts
    of an area are shared out among the areas inside it: what is measured there, made as small as
    its noise asks for against the shares of the area above, is fitted to the released counts of
    the areas and to the parts above, and rounded so that both sums stay. Below the last measured
    level the shares of the area above hold. More than 64 parts are shared out in two steps:
    first groups of neighbouring labels, then the parts inside each group.

    Attributes
    ----------
    share : Fraction
        Of the budget, for the map of totals: above 0, below 1.
    last : int
        Times that the last level at which parts are measured has its weight, 1 to 64: more for
        parts of cells and small areas, at the expense of large ones.
    marginals : str
        Sums of parts that are measured by themselves as well, such as ``sex+sex*age``: each has as
        much of the budget as all parts of a step. Otherwise UsageError.
    """

    share: Fraction = Fraction(1, 2)
    last: int = 1
    marginals: str = ""

    name: ClassVar[str] = "parts"
    version: ClassVar[int] = 4
    title: ClassVar[str] = "a map of totals, and their parts that add up to it"
    citation: ClassVar[str] = (
        "geodp: its own method, defined and proved in the documentation of its class Parts; "
        "rounding along cycles: Gandhi, Khuller, Parthasarathy, Srinivasan: Dependent Rounding and "
        "its Applications to Approximation Algorithms. Journal of the ACM 53(3), 2006."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        variant=PURE,
        precondition=PUBLIC_DOMAIN,
        source="the map has its share of the budget, see pyramid; one person changes exactly one "
        "part of one node on each further level, by 1, and their shares are what is left. Which "
        "levels and nodes are looked at depends on the released map only (adaptive composition), "
        "and noises are independent; everything else is post-processing",
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
        if not 0 < self.share < 1:
            raise UsageError("parts:share is above 0 and below 1.", code="parts-share")
        if not 1 <= self.last <= MOST_OF_LAST:
            raise UsageError(f"parts:last is 1 to {MOST_OF_LAST}.", code="parts-last")
        object.__setattr__(self, "marginals", normalise(self.marginals))

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """Without marginals where there are none: such a release is what it always was."""
        found = super().settings
        return found if self.marginals else tuple(one for one in found if one[0] != "marginals")

    def unsupported(self, grid: Grid) -> str | None:
        """Any map that pyramid takes, with attributes at the end of the key."""
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
                f"{joint.parts:,}: choose fewer labels or attributes.",
            )
        if (refusal := Pyramid().unsupported(joint.map)) is not None:
            code = getattr(refusal, "code", "")
            return Rule(code, refusal.replace("pyramid", "parts"))
        try:
            _marginals(grid, self.marginals)
        except UsageError as error:
            return Rule(error.code, str(error))
        return None

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Why it is 1 for the map's share and for each level of the parts."""
        if found := _marginals(grid, self.marginals):
            joint = _joint(grid)
            names = ", one ".join(f"label of {one.name}" for one in found)
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
        """Return those of the map, and the parts of all levels, however many are measured."""
        base = self.base(grid, event)
        return *base.method.queries(base.grid, base.event), *self._queries_of_parts(grid, event)

    def _queries_of_parts(self, grid: Grid, event: Measurement) -> list[Query]:
        found, schedule = list[Query](), self.schedule(grid)
        asked: list[tuple[int, tuple[Plain, ...]]] = [
            (step.stream, step.words) for step in steps_of(_joint(grid))
        ]
        for one in _marginals(grid, self.marginals):
            asked.append((one.step.stream, ("labels of nodes of keys", one.name)))
        for stream, words in asked:
            for levels in range(1, len(schedule.strides) + 1):
                for i, law in enumerate(schedule.laws(event, levels)):
                    what = (*words, schedule.strides[i], levels)
                    found.append(Query(stream + i, law.identity, what))
        return found

    def declare(self, grid: Grid, event: Measurement) -> Draws:
        """Return the parts and their rounding; and with a key derived from it, the map."""
        base, levels = self.base(grid, event), len(self.schedule(grid).strides)
        own = [Draw(one.stream, one.noise) for one in self._queries_of_parts(grid, event)]
        for step in steps_of(_joint(grid)):
            own += [Draw(step.rounding + i, UNIFORM) for i in range(levels)]
        return Draws.of(own, {digest(OF_THE_MAP): base.method.declare(base.grid, base.event)})

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return that of a level of the map or of the parts."""
        joint = _joint(grid)
        own = self.event_of_map(joint, event)
        least = Pyramid().min_share(joint.map, own) * self.share_of_map(joint)
        return min(least, self.schedule(grid).min_share) if joint.parts > 1 else least

    def share_of_map(self, joint: Joint) -> Fraction:
        """Return the map's share of the budget: all of it where there are no parts."""
        return self.share if joint.parts > 1 else Fraction(1)

    def event_of_map(self, joint: Joint, event: Measurement) -> Measurement:
        """Return what the map spends: the same as if it were published by itself."""
        share, mechanism = self.share_of_map(joint), Pyramid().spec
        if event.rho is not None:
            rho = event.rho * share
            return replace(event, mechanism=mechanism, rho=rho, epsilon=None, delta=None)
        assert event.epsilon is not None
        return replace(event, mechanism=mechanism, epsilon=event.epsilon * share)

    def count_vectors(self, grid: Grid) -> int:
        """Return how many vectors share what the map leaves of the budget: steps and marginals."""
        return len(steps_of(_joint(grid))) + len(_marginals(grid, self.marginals))

    def schedule(self, grid: Grid) -> Schedule:
        """Return the levels at which parts can be measured, and the share of each vector."""
        joint = _joint(grid)
        levels = Pyramid(setting="official" if joint.map.areas.nested else "R").levels(joint.map)
        share = (1 - self.share) / max(self.count_vectors(grid), 1)
        return Schedule.of(levels, share, self.last)

    def list_signals(
        self, grid: Grid, event: Measurement, people: float | None
    ) -> list[dict[str, Any]] | None:
        """Return a row for every level of each step and marginal, the root's first."""
        joint = _joint(grid)
        found: list[dict[str, Any]] = []
        schedule, cells = self.schedule(grid), joint.map.size
        asked: list[tuple[str | None, int]] = [
            (None, min(step.groups * step.parts, joint.parts)) for step in steps_of(joint)
        ]
        asked += [(one.name, one.labels) for one in _marginals(grid, self.marginals)]
        for name, apart in asked:
            for i, stride in enumerate(schedule.strides):
                area = min(stride, cells)
                noise = event.width(schedule.shares(i + 1)[-1])
                expected = None if people is None else people * area / cells / apart
                found.append(
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
        return found or None

    def base(self, grid: Grid, event: Measurement) -> BaseUse:
        """Return the map of totals, as if it were released alone."""
        joint = _joint(grid)
        return BaseUse(joint.map, Pyramid(), self.event_of_map(joint, event))

    def first(self, table: CountTable) -> CountTable:
        """Return the counts of the map."""
        joint = _joint(table.grid)
        key, count = coalesce(table.key // np.uint64(joint.width), table.count)
        return CountTable.of_cells(joint.map, key, count, bound=table.bound)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Return both, the map with a key that is derived from that of the parts."""
        base = self.base(table.grid, event)
        own = key.derive(digest(OF_THE_MAP))
        try:
            drawn = base.method.release(self.first(table), base.event, own)
        finally:
            own.forget()
        return self.refine_base(drawn, table, event, key)

    def refine_base(
        self, first: ReleasedTable, table: CountTable, event: Measurement, key: NoiseKey
    ) -> ReleasedTable:
        """Share out the released map among the parts: O(parts * m+ * levels)."""
        joint = _joint(table.grid)
        truth = TrueParts(*joint.split(table.key), table.count)
        count = np.asarray(first.count, np.int64)
        shared = Shared(first.key, np.zeros(first.key.size, np.int64), count)
        for step in steps_of(joint):
            beside = () if step.number else _marginals(table.grid, self.marginals)
            chain = PartsPass(joint.map, self.schedule(table.grid), event, key, step, beside)
            shared = chain.run(truth, shared)
        return ReleasedTable(table.grid, joint.join(shared.cell, shared.part), shared.count, event)

    def split(self, released: ReleasedTable) -> Split | None:
        """Return the map's counts, and the noise of parts down to the last measured level.

        None of a single part, which is the map.
        """
        joint, event = _joint(released.grid), released.event
        if joint.parts == 1:
            return None
        assert isinstance(event, Measurement)
        schedule = self.schedule(released.grid)
        cell, part = joint.split(released.key)
        count = np.asarray(released.count, np.int64)
        whole = ReleasedTable(joint.map, *_add_up(cell, count), self.event_of_map(joint, event))
        tree, steps = MapTree.of(whole, schedule.strides), []
        for step in steps_of(joint):
            noise = []
            unit = part // step.inside // step.parts
            for group in range(step.groups):
                own = unit == group
                parts = step.last if group == step.groups - 1 else step.parts
                levels = schedule.list_nodes(*_add_up(cell[own], count[own]))
                known = schedule.count_known(event, parts, levels)
                noise.append(schedule.variances(event, known))
            steps.append(StepNoise(step.inside, step.parts, np.array(noise)))
        levels, beside = schedule.list_nodes(*_add_up(cell, count)), []
        for one in _marginals(released.grid, self.marginals):
            known = schedule.count_known(event, one.labels, levels)
            label = np.repeat(one.label, steps_of(joint)[0].inside)[: joint.parts]
            beside.append(MarginalNoise(label, schedule.variances(event, known)))
        return Split(joint, whole, tree, tuple(steps), tuple(beside))

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> NDArray[np.float64] | None:
        """Return the map's, of whole areas or cells with all of their parts."""
        joint = _joint(grid)
        if joint.parts == 1 or stride % joint.width:
            return None
        own = self.event_of_map(joint, event)
        return Pyramid().variances_of(joint.map, own, stride // joint.width, block)

    def visited(self, released: ReleasedTable) -> int:
        """Nodes of the map's tree with somebody in them, each with all of its parts."""
        joint = _joint(released.grid)
        cell, nodes = released.key // np.uint64(joint.width), 0
        for stride in self.schedule(released.grid).strides:
            own = cell // np.uint64(stride)
            nodes += int((own[1:] != own[:-1]).sum()) + min(own.size, 1)
        return nodes * joint.parts


def _add_up(
    cell: NDArray[np.uint64], count: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return cells, each once, and the sums of their counts; ``cell``: in order."""
    first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1])[: cell.size])
    return cell[first], np.add.reduceat(count, first) if first.size else count


@lru_cache(maxsize=8)
def _joint(grid: Grid) -> Joint:
    found = split_grid(grid)
    assert found is not None
    return found


@lru_cache(maxsize=8)
def _marginals(grid: Grid, text: str) -> tuple[Marginal, ...]:
    return list_marginals(grid, _joint(grid), text)


METHODS = (Parts(),)
