"""A release of amounts: records, sums, means and classes of every area, under one guarantee."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from geodp import __version__
from geodp.accuracy.interval import Estimate
from geodp.errors import Rule, UsageError
from geodp.features.amounts.card import (
    AMOUNTS_SCHEMA,
    COUNT,
    AmountsCard,
    AmountsGuarantee,
    StatedAmount,
)
from geodp.features.amounts.estimates import (
    AmountEstimate,
    Classes,
    Ends,
    Interval,
    Margins,
    estimate_streams,
    narrow,
)
from geodp.features.amounts.files import StagedAmounts, stage_amounts
from geodp.features.amounts.methods import STREAMS_PROOF, CountOfAmounts, SumOfAmounts
from geodp.features.amounts.scale import Scale, exact, show_number
from geodp.features.amounts.streams import Design, ReleasedAmounts
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.folder.staged_release import check_publication
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.privacy.ledger import Charge
from geodp.release.card import state_budget
from geodp.release.preview import preview_release
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.reprs import one_line
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading
from geodp.table.stated.release import Software
from geodp.typing import FloatArray, IntArray, KeyArray

COUNTED = "One {} has at most {:,} of all records."
"""The assumption of the contribution, which is in records."""

CLIPPED = (
    "that amounts below {} and above {} count as these: their number and the sums beyond are in no "
    "file"
)
"""What is public of the clip."""

NO_CLASSES = Rule(
    "amounts-without-classes",
    "Quantiles and shares need classes, and this release has none: publish it with classes= "
    "(--classes).",
)

CLASSES_PROOF = (
    "one record is in one class, and so changes, on each level, one count of one class by 1; all "
    "classes have independent noise, each for the whole budget, and everything else is "
    "post-processing"
)
"""Why a release of classes holds what it promises."""

BOTH_PROOF = "sums and classes each have a part of the budget, which adds up. Sums: {}. Classes: {}"


@dataclass(frozen=True, eq=False)
class Amounts:
    """A release of amounts: its numbers agree in every area.

    Attributes
    ----------
    count : Release
        Records, with a card and errors of their own.
    sum : Release or None
        Sums of clipped amounts, in steps; None without sums.
    classes : tuple of ReleasedTable
        Records of every class; empty without classes.
    index : AmountsCard
        The amount, its clip and unit, the guarantee and the charge.
    """

    __repr__ = one_line

    count: Release = field(repr=False)
    sum: Release | None = field(repr=False)
    classes: tuple[ReleasedTable, ...] = field(repr=False)
    index: AmountsCard

    @classmethod
    def preview(
        cls,
        design: Design,
        grid: Grid,
        request: Request,
        facts: tuple[str, ...],
        reading: StatedReading | None,
    ) -> Self:
        """Make the release of no records, with cards and closed forms of the real one."""
        event, scale, method = design.whole, design.scale, design.method
        number = max(len(design.edges) - 1, 0)
        counting = CountOfAmounts.of(method, number, design.share)
        lower, upper = map(show_number, scale.clip)
        facts = (*facts, CLIPPED.format(lower, upper), describe_release(scale))
        if design.notches not in (0, scale.span):
            facts = (*facts, describe_notches(scale, design.notches))
        common = (request.terms.people, facts, reading, request.metadata)
        count = preview_release(grid, counting, replace(event, mechanism=counting.spec), *common)
        none = np.empty(0, np.int64)
        empty = (none.astype(np.uint64), none)
        total = None
        if design.of_sums is not None:
            adding = SumOfAmounts.of(method, scale.lower, scale.upper, design.share)
            table = ReleasedTable(grid, *empty, replace(event, mechanism=adding.spec))
            total = Release(table, reading=reading, public_facts=facts)
        classes: tuple[ReleasedTable, ...] = ()
        if design.of_classes is not None:
            classes = (ReleasedTable(grid, *empty, design.of_classes),) * number
        return cls(count, total, classes, state_index(design, facts))

    def with_drawn(self, drawn: ReleasedAmounts, charge: Charge | None) -> Self:
        """Return the release of what was drawn in place of nothing."""
        grid, facts = self.count.grid, (describe_identity(drawn),)
        make = ReleasedTable
        count = replace(
            self.count,
            table=make(grid, drawn.key, drawn.number, self.count.event),
            charge=charge,
            public_facts=(*self.count.public_facts, *facts),
            preview=self.count,
        )
        total = None
        if self.sum is not None:
            assert drawn.above is not None
            steps = drawn.number * self.scale.lower + drawn.above * self.notch
            some = steps != 0
            table = make(grid, drawn.key[some], steps[some], self.sum.event)
            total = replace(self.sum, table=table, charge=charge)
        classes = []
        for k, empty in enumerate(self.classes):
            assert drawn.classes is not None
            some = drawn.classes[:, k] > 0
            column = np.ascontiguousarray(drawn.classes[some, k])
            classes.append(make(grid, drawn.key[some], column, empty.event))
        index = replace(self.index, budget=state_budget(charge))
        return replace(self, count=count, sum=total, classes=tuple(classes), index=index)

    @cached_property
    def scale(self) -> Scale:
        """Clip, step and unit of the amounts."""
        one = self.index.amount
        return Scale.of((one.lower, one.upper), one.step, one.unit, one.name)

    @property
    def notch(self) -> int:
        """Steps of one notch, on which sums of cells are counted; 0 without sums."""
        notches = self.index.amount.notches
        return self.scale.span // notches if notches else 0

    @cached_property
    def edges(self) -> FloatArray:
        """Edges of classes, in units of the amount: float64[k + 1]; empty without classes."""
        return np.array([float(exact(one, "edges")) for one in self.index.amount.edges])

    @cached_property
    def streams(self) -> tuple[Release, Release]:
        """The two streams of amounts that records and sums imply, with their errors."""
        assert self.sum is not None
        assert self.index.amount.notches is not None
        key, number = self.count.table.key, np.asarray(self.count.table.count, np.int64)
        steps = np.asarray(self.sum.table.counts_at(key), np.int64)
        above = (steps - number * self.scale.lower) // self.notch
        below = number * self.index.amount.notches - above
        event = self._event_of(Fraction(self.index.amount.share or 1), self.index.amount.notches)
        return self._stream(key, above, event), self._stream(key, below, event)

    @cached_property
    def class_releases(self) -> list[Release]:
        """The records of every class, with their errors."""
        return [Release(table) for table in self.classes]

    def _stream(self, key: KeyArray, count: IntArray, event: Measurement) -> Release:
        some = count > 0
        return Release(ReleasedTable(self.count.grid, key[some], count[some], event))

    def _event_of(self, share: Fraction, notches: int) -> Measurement:
        """Return the event of one stream: with a share of the budget, in notches."""
        event = cast(Measurement, self.count.event)
        method = cast(CountOfAmounts, self.count.method).pyramid
        return stream_event(event, method, share, notches)

    def estimate(self, region: Any) -> AmountEstimate:
        """Estimate records, sum, mean and median of a region, with 95 % intervals.

        Parameters
        ----------
        region
            As for :meth:`geodp.Release.estimate`.

        Returns
        -------
        AmountEstimate
            Amounts are in units. What was not released is None, and so are a mean and a median of
            which nothing is known but the clip.
        """
        return self.estimate_all([region])[0]

    def estimate_all(self, regions: Iterable[Any]) -> list[AmountEstimate]:
        """Estimate many regions, in their order; each is as for :meth:`estimate`."""
        listed = [Region.of(self.count.grid, one) for one in regions]
        counts = self.count.estimate_all(listed)
        medians = None if not self.classes else self._classes_of(listed).quantile(0.5)
        if self.sum is None:
            return [
                AmountEstimate(one, median=self._known(medians, i)) for i, one in enumerate(counts)
            ]
        both = [one.estimate_all(listed) for one in self.streams]
        assert self.index.amount.notches is not None
        columns = [_columns(each, listed) for each in both]
        ends = estimate_streams(columns, self.scale, self.index.amount.notches)
        found = []
        for i, one in enumerate(counts):
            low, high = float(ends["count"][1][i]), float(ends["count"][2][i])
            clamped = both[0][i].clamped or both[1][i].clamped
            count = Estimate(one.count, one.standard_error, max(low, 0.0), high, clamped)
            total = Interval(*(float(part[i]) for part in ends["sum"]))
            mean = self._known(ends["mean"], i) if one.count > 0 else None
            found.append(AmountEstimate(count, total, mean, self._known(medians, i)))
        return found

    def quantile(self, region: Any, share: float) -> Interval | None:
        """Estimate a quantile of the amounts of a region, interpolated in its class.

        ``share``: of the records below it, such as 0.9. None where it may be any amount. Raises
        UsageError without classes.
        """
        self._require_classes()
        if not 0 < share < 1:
            raise UsageError(
                "A quantile has a share of the records above 0 and below 1.",
                code="amounts-quantile-share",
            )
        ends = self._classes_of([Region.of(self.count.grid, region)]).quantile(share)
        return self._known(ends, 0)

    def share_below(self, region: Any, line: float) -> Interval | None:
        """Estimate the share of a region's records below an amount, such as a poverty line.

        Interpolated where the line is no edge of classes. None where it may be any share. Raises
        UsageError without classes.
        """
        self._require_classes()
        ends = self._classes_of([Region.of(self.count.grid, region)]).share_below(line)
        value, low, high = (float(part[0]) for part in ends)
        return None if (low, high) == (0.0, 1.0) else Interval(value, low, high)

    def _require_classes(self) -> None:
        """Raise UsageError without classes."""
        if not self.classes:
            raise UsageError(NO_CLASSES)

    def _classes_of(self, regions: list[Region]) -> Classes:
        """Estimate the records of every class of regions."""
        rows = [_columns(one.estimate_all(regions), regions) for one in self.class_releases]
        return Classes(self.edges, Margins.of(rows))

    def _known(self, ends: Ends | None, at: int) -> Interval | None:
        """Return an interval, or None where it is all of the clip."""
        if ends is None:
            return None
        value, low, high = (float(part[at]) for part in ends)
        lower, upper = (float(end) for end in self.scale.clip)
        return None if (low, high) == (lower, upper) else Interval(value, low, high)

    def card(self) -> AmountsCard:
        """Return the public index, without files."""
        return self.index

    def write(
        self, path: str | Path, *, overwrite: bool = False, restricted: dict[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path, overwrite, restricted
            See :meth:`geodp.Release.write`. In ``path/public``, ``amounts.json`` is the index, a
            table has the numbers of all cells, and ``count`` is a complete release of records.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths of files and folders.

        Raises
        ------
        UsageError, OutputError
            See :meth:`geodp.Release.write`.
        """
        self.check_place(path, overwrite=overwrite)
        with stage_amounts(path, overwrite=overwrite) as place:
            return self.write_into(place, restricted or {})

    def check_place(self, path: str | Path, *, overwrite: bool) -> None:
        """Raise UsageError if the release could not be written to a folder."""
        check_publication(self.count.grid, path, name=COUNT, overwrite=overwrite)

    def write_into(self, place: StagedAmounts, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the release into a folder that was staged before the charge."""
        return place.write(self, restricted)


def _columns(estimates: list[Estimate], regions: list[Region]) -> Ends:
    """Return sums of one stream, and their lower and upper ends: float64[n] each."""
    rows = np.array(
        [(one.count, one.low, one.high, one.standard_error) for one in estimates], np.float64
    )
    count, low, high, error = rows.reshape(-1, 4).T
    single = np.array([region.key.size == 1 for region in regions])
    return narrow(count, low, high, error, single)


def stream_event(event: Measurement, method: Pyramid, share: Fraction, notches: int) -> Measurement:
    """Return the event of one stream, from that of everything together."""
    amounts = {
        name: value * share
        for name in ("epsilon", "rho")
        if (value := getattr(event, name)) is not None
    }
    # Of an approximate guarantee, a part of the budget is a part of its rho.
    if event.rho is not None and share < 1:
        amounts |= {"epsilon": None, "delta": None}
    return replace(
        event,
        mechanism=method.spec,
        contribution=event.contribution * notches,
        sensitivity=event.sensitivity * notches,
        **amounts,
    )


def state_index(design: Design, facts: tuple[str, ...]) -> AmountsCard:
    """State the amount, the guarantee and the constraints of a release that is not drawn yet."""
    event, scale = design.whole, design.scale
    lower, upper = map(show_number, scale.clip)
    amount = StatedAmount(
        name=scale.name,
        unit=scale.unit,
        lower=lower,
        upper=upper,
        step=show_number(scale.step),
        notches=design.notches or None,
        edges=tuple(show_number((scale.lower + edge) * scale.step) for edge in design.edges),
        share=str(design.share) if design.of_sums and design.of_classes else None,
    )
    return AmountsCard(
        schema=AMOUNTS_SCHEMA,
        software=Software("geodp", __version__),
        private=event.is_private,
        amount=amount,
        guarantee=state_guarantee(event, amount, facts),
        budget=None,
        constraints=list_constraints(amount),
    )


def state_guarantee(
    event: Measurement, amount: StatedAmount, facts: tuple[str, ...]
) -> AmountsGuarantee:
    """State the guarantee of all numbers together."""
    described = event.describe()
    names = [n + end for n in ("epsilon", "rho", "delta") for end in ("", "_decimal")]
    source = STREAMS_PROOF if amount.notches else CLASSES_PROOF
    if amount.share is not None:
        source = BOTH_PROOF.format(STREAMS_PROOF, CLASSES_PROOF)
    bound = replace(event.assumption, statement=COUNTED.format(event.unit, event.contribution))
    chosen = "The clip, the step and the edges of classes were chosen without looking at the data."
    return AmountsGuarantee(
        in_words=event.statement.replace("any result", "any result of these numbers together"),
        source=source,
        mechanism=event.mechanism,
        **{name: described[name] for name in names},
        spends=event.spends,
        neighbours=described["neighbours"],
        unit=event.unit,
        contribution=event.contribution,
        assumptions=(bound, Assumption("amounts", chosen, "operator")),
        not_protected=(*event.not_protected, *facts),
    )


def list_constraints(amount: StatedAmount) -> tuple[str, ...]:
    """List what holds in every cell, a sentence each."""
    listed = []
    if amount.notches:
        listed.append(f"The mean is from {amount.lower} to {amount.upper}, in {amount.unit}.")
    if amount.edges:
        listed.append("Records are the sum of the records of all classes.")
    if amount.share is not None:
        listed.append("The sum is between those of the lower and the upper edges of the classes.")
    return tuple(listed)


def describe_release(scale: Scale) -> str:
    """Describe, for the card of the records, the release that they are a part of."""
    return (
        f"that these are the records of a release of {scale.name} in {scale.unit}, and were "
        "charged once with it"
    )


def describe_notches(scale: Scale, notches: int) -> str:
    """Describe the rounding of sums of cells before the noise."""
    notch = show_number(scale.span // notches * scale.step)
    return (
        f"that the sum of a cell is rounded to a multiple of {notch} {scale.unit} before the "
        "noise, which is drawn on these: by at most half of that a cell, which the stated errors "
        "leave out"
    )


def describe_identity(drawn: ReleasedAmounts) -> str:
    """Describe, for the card of the records, the numbers of the release they belong to."""
    arrays = [drawn.key, drawn.number]
    arrays += [one for one in (drawn.above, drawn.classes) if one is not None]
    return f"that the numbers of its release have the digest {digest(*arrays).hex()}"
