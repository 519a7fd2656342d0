"""Records, sums and classes of amounts from streams that one record changes by one span, or by one.

Of a clipped amount x the streams are u = sum(x - L) and v = sum(U - x): one record adds exactly
U - L to the two together, however high or low its amount is. Together they have the sensitivity
of one table with a contribution of U - L, and each is measured with the whole budget
(docs/proofs/amounts.md). Both are released by the pyramid, each with a key of its own. Then
n = (u + v) / (U - L), and the mean L + (U - L) u / (u + v) is within the clip in every area.

Of classes with public edges, one record is in one: their maps, too, have the sensitivity of one
table together, and each has the whole budget where classes alone are released. Sums and classes
together share the budget: records are then those of the streams of sums, and are divided among the
classes in every cell. In cells of few records classes are mostly noise, cut at 0: whatever they
added to records or sums would be a bias that no interval knows of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.kernels.key_lists import find
from geodp.kinds.amounts.given import RelatedPersons, fit_related
from geodp.kinds.amounts.kernels import LEAST, divide, merge, settle
from geodp.kinds.amounts.scale import Scale
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, digest
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws
from geodp.privacy.noise.exact_draws import draw_one_below
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.table.stated.release import StatedPrior
from geodp.typing import IntArray, KeyArray

ABOVE = digest(b"geodp amounts stream 1", b"above the lower end")
"""Derives the key of the noise of u from that of the release."""

BELOW = digest(b"geodp amounts stream 1", b"below the upper end")
"""Derives the key of the noise of v."""

WHOLE = digest(b"geodp amounts stream 1", b"whole records")
"""Derives the key that rounds records."""

MOST = 1 << 50
"""Most steps of all records together, from 0 and from the ends of the clip: floating-point
estimates and tables hold such numbers exactly."""

NOISES = 64
"""By so many scales, or standard deviations, of its noise the number of all records is hardly ever
off: less often than once in 2**90 releases."""


DENSE = 8
"""Keys for each listed one up to which a table of all keys is faster than a sort."""


@dataclass(frozen=True)
class AmountAxes:
    """The public axes that records of amounts are counted on.

    Attributes
    ----------
    scale : Scale
    edges : tuple of int
        Of classes, in steps above the lower end.
    grid : Grid
    max_weight : int
        Largest weight of a record; 1 without weights.
    """

    scale: Scale
    edges: tuple[int, ...]
    grid: Grid
    max_weight: int = 1


@dataclass(frozen=True, eq=False)
class AmountTable:
    """Confidential records of amounts by cell.

    Attributes
    ----------
    records : CountTable
        Number of records, with how they were read and what bounds a person's.
    above : int64[m]
        Sums of (x - L) of the cells of records, in steps.
    scale : Scale
    facts : tuple of str
        Public facts about how amounts were read.
    edges : tuple of int
        Edges of classes, in steps above the lower end; empty without classes.
    classes : tuple of CountTable
        Records of every class.
    beyond : mapping of str to int
        How many records were below and above the clip: for the operator only.
    max_weight : int
        Largest weight of a record, which counts as so many; 1 without weights.
    """

    records: CountTable = field(repr=False)
    above: IntArray = field(repr=False)
    scale: Scale
    facts: tuple[str, ...] = ()
    edges: tuple[int, ...] = ()
    classes: tuple[CountTable, ...] = field(default=(), repr=False)
    beyond: Mapping[str, int] = field(default_factory=dict, repr=False)
    max_weight: int = 1

    def __post_init__(self) -> None:
        if self.above.shape != self.records.count.shape:
            raise UsageError(
                "A sum of amounts goes with every cell that has records.",
                code="amounts-sums-of-cells",
            )
        self.scale.require_room(int(self.records.count.sum()), MOST)

    @property
    def axes(self) -> AmountAxes:
        """Grid and scale of the records."""
        return AmountAxes(self.scale, self.edges, self.records.grid, self.max_weight)

    def streams(self, notches: int) -> list[CountTable]:
        """Return u and v, counted on so many notches of the span.

        The sum u of a cell is rounded to a multiple of the notch, and v is what is missing to the
        span of each record: one record more changes u by a whole number of notches from 0 to all
        of the span, and v by the others.
        """
        notch, grid = self.scale.span // notches, self.records.grid
        u = self.above if notch == 1 else (self.above + notch // 2) // notch
        v = self.records.count * notches
        v -= u
        return [CountTable.of_cells(grid, *list_positive(self.records.key, one)) for one in (u, v)]


def list_positive(key: KeyArray, *values: IntArray) -> list[Any]:
    """List the cells whose first value is above 0: keys and values, not copied if all are."""
    some = np.flatnonzero(values[0] > 0)
    # Positions are taken faster than a mask.
    return [one if some.size == key.size else one[some] for one in (key, *values)]


@dataclass(frozen=True, eq=False)
class ReleasedAmounts:
    """Released records of cells, in key order, and what is known of their amounts.

    Attributes
    ----------
    key : uint64[m]
    number : int64[m]
        Records, above 0.
    above : int64[m] or None
        Sums of (x - L), in notches, from 0 to ``notches * number``; None without sums.
    classes : int64[k, m] or None
        Records of each class, which add up to ``number``; None without classes.
    learned : tuple of StatedPrior
        How far the prior of every stream can be trusted; empty without a prior.
    """

    key: KeyArray
    number: IntArray
    above: IntArray | None = None
    classes: IntArray | None = None
    learned: tuple[StatedPrior, ...] = ()


class AmountStream(NamedTuple):
    """One of the streams of a release.

    Attributes
    ----------
    counts : CountTable
    event : Measurement
    label : bytes
        Digest that derives its key.
    """

    counts: CountTable
    event: Measurement
    label: bytes


@dataclass(frozen=True)
class AmountDesign:
    """Streams that are measured of amounts, and their parts of the budget.

    Attributes
    ----------
    scale : Scale
    method : Pyramid
        Of every stream.
    whole : Measurement
        Event of everything together, as cards state it: its contribution is in records.
    of_sums : Measurement or None
        Event of both streams of sums, in notches; None without sums.
    of_classes : Measurement or None
        Event of every class; None without classes.
    notches : int
        Of the span; 0 without sums.
    edges : tuple of int
        Of classes, in steps above the lower end; empty without classes.
    share : Fraction
        Part of the budget for sums.
    max_weight : int
        Largest weight of a record; 1 without weights.
    related : RelatedPersons or None
        The persons of an earlier release that records agree with; the event of everything is then
        of both.
    """

    scale: Scale
    method: Pyramid
    whole: Measurement
    of_sums: Measurement | None
    of_classes: Measurement | None
    notches: int
    edges: tuple[int, ...]
    share: Fraction
    max_weight: int = 1
    related: RelatedPersons | None = None

    @property
    def measured(self) -> Measurement:
        """Event of what is measured, which is charged."""
        return self.whole if self.related is None else self.whole.part(self.share)

    @property
    def divides(self) -> bool:
        """Whether sums have a part of the budget, beside classes or a given release."""
        return self.related is not None or bool(self.of_sums and self.of_classes)

    @property
    def number(self) -> int:
        """Number of streams."""
        return 2 * (self.of_sums is not None) + max(len(self.edges) - 1, 0)

    def declare(self, grid: Grid) -> Draws:
        """Declare all draws, each with the key of its stream."""
        derived = {}
        if self.of_sums is not None:
            each = self.method.declare(grid, self.of_sums)
            derived = {ABOVE: each, BELOW: each}
            derived[WHOLE] = Draws.of([Draw(Stream.ROUNDING, UNIFORM)])
        if self.of_classes is not None:
            each = self.method.declare(grid, self.of_classes)
            derived |= {key_of_class(k): each for k in range(len(self.edges) - 1)}
        return Draws.of((), derived)

    def streams(self, table: AmountTable) -> list[AmountStream]:
        """Return everything that is measured."""
        listed = []
        if self.of_sums is not None:
            for one, label in zip(table.streams(self.notches), (ABOVE, BELOW), strict=True):
                listed.append(AmountStream(one, self.of_sums, label))
        if self.of_classes is not None:
            for k, one in enumerate(table.classes):
                listed.append(AmountStream(one, self.of_classes, key_of_class(k)))
        return listed


def key_of_class(number: int) -> bytes:
    """Return the digest that derives the key of the noise of a class."""
    return digest(b"geodp amounts stream 1", b"class", str(number).encode())


def release_streams(
    streams: Sequence[AmountStream],
    design: AmountDesign,
    key: NoiseKey,
    priors: Sequence[Prior] = (),
) -> ReleasedAmounts:
    """Release the streams of a design.

    Parameters
    ----------
    streams : sequence of AmountStream
    design : AmountDesign
    key : NoiseKey
        From which all keys are derived.
    priors : sequence of Prior
        Of every stream; empty without a prior.
    """
    released, learned, offset = [], [], 0
    for number, (counts, event, label) in enumerate(streams):
        with key.derive(label) as own:
            if priors:
                made, stated = design.method.release_informed(counts, event, own, priors[number])
                released.append(made)
                learned.append(stated)
            else:
                released.append(design.method.release(counts, event, own))
    if design.of_sums is not None:
        with key.derive(WHOLE) as own:
            offset = draw_one_below(design.notches, own, Stream.ROUNDING)
    persons = [] if design.related is None else [design.related.given.release.table]
    cells, each = align([*released, *persons])
    each = each[: len(released)]
    sums = 0 if design.of_sums is None else 2
    fitted = fit(cells, each[:sums], each[sums:], design, offset)
    return replace(fitted, learned=tuple(learned))


def merge_keys(keys: Sequence[KeyArray]) -> KeyArray:
    """Return the keys of which any of several increasing arrays has one: uint64[m], increasing."""
    end = max((int(one[-1]) + 1 for one in keys if one.size), default=0)
    if end <= DENSE * sum(one.size for one in keys):
        present = np.zeros(end, np.bool_)
        for one in keys:
            present[one] = True
        return np.flatnonzero(present).astype(np.uint64)
    # Sorting by merging takes runs that are sorted as they are, unlike a table of hashes.
    every = np.sort(np.concatenate(keys), kind="stable")
    found: KeyArray = every[np.append(True, every[1:] != every[:-1])[: every.size]]
    return found


def align(released: Sequence[ReleasedTable]) -> tuple[KeyArray, IntArray]:
    """Return the cells of several released tables together, and the counts of each.

    Returns
    -------
    uint64[m], increasing; int64[tables, m]
        A table that does not list a cell has 0 there.
    """
    keys = [one.key for one in released]
    counts = [np.asarray(one.count, np.int64) for one in released]
    if len(keys) == 2:
        room = keys[0].size + keys[1].size
        cells, each = np.empty(room, np.uint64), np.empty((2, room), np.int64)
        size = merge(keys[0], counts[0], keys[1], counts[1], cells, each)
        return cells[:size], each[:, :size]
    cells, place = merge_keys(keys), None
    each = np.zeros((len(keys), cells.size), np.int64)
    if cells.size and int(cells[-1]) < DENSE * sum(one.size for one in keys):
        place = np.empty(int(cells[-1]) + 1, np.int64)
        place[cells] = np.arange(cells.size)
    for row, key, count in zip(each, keys, counts, strict=True):
        row[find(cells, key) if place is None else place[key]] = count
    return cells, each


def fit(
    key: KeyArray, sums: IntArray, classes: IntArray, design: AmountDesign, offset: int
) -> ReleasedAmounts:
    """Make whole records, sums and classes of released streams, which agree in every cell.

    Records are those of the streams of sums, where there are any; otherwise those of all classes.

    Parameters
    ----------
    key : uint64[cells]
        Cells of which any stream has something.
    sums, classes : int64[2, cells] or int64[0, cells], int64[k, cells] or int64[0, cells]
        The streams of sums, in notches, which are overwritten; and the records of every class.
    design : AmountDesign
    offset : int
        Uniform on 0 to ``notches - 1``.
    """
    if not len(sums):
        return ReleasedAmounts(key, classes.sum(axis=0), None, classes)
    measured = sums.copy() if design.related is not None else sums
    number, total = sums
    settle(number, total, design.notches, offset, number, total)
    if design.related is not None:
        number, total = fit_related(key, measured, number, design.related, design.notches)
    given = np.empty_like(classes)
    if len(classes):
        near = np.maximum(classes.mean(axis=1), LEAST)
        divide(classes, number, near, np.zeros(len(classes)), given)
    key, counted, total, *listed = list_positive(key, number, total, *given)
    return ReleasedAmounts(key, counted, total, np.stack(listed) if listed else None)
