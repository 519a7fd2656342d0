"""Declare the prior of a release of amounts: the shape that every stream is expected to have.

A prior enters without noise, so that it is public by declaration of the operator, or a release that
was charged itself. Only the ratios of its counts matter: by how much the children of a node of a
stream differ from them is learned from the noisy values of that stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kinds.amounts.kind import IDENTITY, Shape, StatedAmountsPrior, StatedStreamPrior
from geodp.kinds.amounts.numbers import AmountNumbers, SumRelease
from geodp.kinds.amounts.scale import exact
from geodp.kinds.amounts.streams import AmountDesign
from geodp.privacy.key import digest
from geodp.release.inputs import choose_prior, describe_charge
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import RULES, Prior
from geodp.table.stated.release import StatedPrior
from geodp.typing import FloatArray

MEANING = (
    "every stream of amounts is expected to be divided among the children of a node as the prior's "
    "shares say: as the same stream of an earlier release of amounts, or as the records of a map, "
    "with which children are expected to have the mean of their node. How far such shares can be "
    "trusted was learned from the noisy values of each stream, so that it costs no budget. Changes "
    "against the prior are attenuated, and so are differences between means nearby that it does "
    "not know. Comparing this release with its prior understates what has changed"
)
"""The sentence of the index on what a prior means."""


@dataclass(frozen=True, eq=False)
class AmountsPrior:
    """Expected shapes of the streams of a release.

    Attributes
    ----------
    source : str
        Where it was published, in the words of the operator, who vouches that it is public; or
        which charged release it is.
    streams : tuple of Prior
        Of every stream, in the order of :meth:`geodp.kinds.amounts.streams.AmountDesign.streams`.
    shapes : tuple of {"amounts", "records"}
        Whether each is that of the same stream of an earlier release, or of a map of records.
    identity : str or None
        Digest that names the earlier release of amounts.
    """

    __repr__ = one_line

    source: str
    streams: tuple[Prior, ...] = field(repr=False)
    shapes: tuple[Shape, ...]
    identity: str | None = None

    @cached_property
    def sha256(self) -> str:
        """Digest of the cells of all streams, for the operator."""
        parts = [bytes.fromhex(one.sha256) for one in self.streams]
        return digest(b"geodp amounts prior 1", *parts).hex()

    def state(self) -> StatedAmountsPrior:
        """State the prior before anything is drawn."""
        streams = [
            StatedStreamPrior(shape, one.finest)
            for shape, one in zip(self.shapes, self.streams, strict=True)
        ]
        return StatedAmountsPrior(self.source, RULES, MEANING, tuple(streams), self.identity)


def state_learned(
    stated: StatedAmountsPrior | None, learned: Sequence[StatedPrior]
) -> StatedAmountsPrior | None:
    """State how far the noisy values of every stream show that a prior can be trusted."""
    if stated is None or not learned:
        return stated
    streams = tuple(
        replace(one, levels=known.levels, attenuation=known.attenuation)
        for one, known in zip(stated.streams, learned, strict=True)
    )
    return replace(stated, streams=streams)


KIND = Rule(
    "amounts-prior-kind",
    "A prior of amounts is a public map of people or records (a CountTable, a Release or a Prior), "
    "or an earlier release of amounts.",
)

LARGEST = 2.0**50
"""Largest sum of a shape."""

AnyPrior: TypeAlias = AmountNumbers | CountTable | Release | Prior
"""Sources of a prior."""


def declare_prior(
    records: CountTable, design: AmountDesign, prior: AnyPrior | None, source: str | None
) -> AmountsPrior | None:
    """Make the prior of a release; None without one.

    Parameters
    ----------
    records : CountTable
        The table that is released, whose grid the prior has, or a coarser one.
    design : AmountDesign
    prior : AmountNumbers, CountTable, Release, Prior or None
    source : str or None
        Where it was published.

    Raises
    ------
    UsageError
        An object that is no prior; a prior on another grid, or of amounts in another unit; and one
        that is neither declared public by a source nor was charged to a ledger.
    """
    if isinstance(prior, AmountNumbers):
        return _of_amounts(records.grid, design, prior, source)
    # Sums in steps are a release, too, but no map of records.
    if isinstance(prior, SumRelease) or not isinstance(prior, CountTable | Release | Prior | None):
        raise UsageError(KIND)
    known = choose_prior(records, prior, source)
    if known is None:
        return None
    shape: Shape = "records"
    number = design.number
    return AmountsPrior(known.source, (known,) * number, (shape,) * number)


def _of_amounts(
    grid: Grid, design: AmountDesign, release: AmountNumbers, source: str | None
) -> AmountsPrior:
    """Take the streams of an earlier release, and its records for those that it has not."""
    if release.scale.unit != design.scale.unit:
        raise UsageError(
            "The prior has amounts in another unit than this release, so that its sums say nothing "
            "about these: take its map of records as the prior, which is its folder count "
            "(release.count).",
            code="amounts-prior-unit",
        )
    known = source or describe_charge(release.index.budget)
    records = Prior.of(grid, release.count.table, known)
    found: list[tuple[Prior, Shape]] = []
    if design.of_sums is not None:
        found += _of_sums(design, release, records)
    found += _of_classes(design, release, records)
    streams, shapes = zip(*found, strict=True)
    return AmountsPrior(records.source, streams, shapes, release.identity.removeprefix(IDENTITY))


def _of_sums(
    design: AmountDesign, release: AmountNumbers, records: Prior
) -> list[tuple[Prior, Shape]]:
    """Return the shapes of the sums above the lower and below the upper end of this release."""
    if release.sum is None:
        return [(records, "records")] * 2
    scale, table = design.scale, release.count.table
    # Only ratios matter, so that floating point and rounding to a notch cost nothing; the clip may
    # be another than that of the prior.
    number = table.count.astype(np.float64)
    steps = release.sum.table.counts_at(table.key).astype(np.float64)
    total = steps * float(release.scale.step / scale.step)
    notch = scale.span // design.notches
    both = (total - scale.lower * number) / notch, (scale.upper * number - total) / notch
    return [_shape(table, one, records) for one in both]


def _of_classes(
    design: AmountDesign, release: AmountNumbers, records: Prior
) -> list[tuple[Prior, Shape]]:
    """Return the shapes of all classes, where the prior has the same."""
    scale, number = design.scale, max(len(design.edges) - 1, 0)
    edges = [(scale.lower + edge) * scale.step for edge in design.edges]
    if not release.classes or [exact(one, "edges") for one in release.index.amount.edges] != edges:
        return [(records, "records")] * number
    return [_shape(one, one.count.astype(np.float64), records) for one in release.classes]


def _shape(table: ReleasedTable, count: FloatArray, records: Prior) -> tuple[Prior, Shape]:
    """Return the shape of a stream, or that of records where the prior has nothing of it."""
    positive = np.maximum(count, 0.0)
    # Only ratios matter, and whole numbers hold no larger sums.
    whole = np.rint(positive * min(1.0, LARGEST / max(float(positive.sum()), 1.0))).astype(np.int64)
    some = np.flatnonzero(whole)
    if not some.size:
        return records, "records"
    cells = ReleasedTable(table.grid, table.key[some], whole[some], table.event)
    return Prior.of(records.grid, cells, records.source), "amounts"
