"""Released counts, sums and classes of amounts, and what follows from them in any region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, cast

import numpy as np

from geodp.accuracy.interval import LAPLACE_Z, USUAL, WORST_CASE, Interval, Tops
from geodp.accuracy.interval_arithmetic import Bounds, Figures
from geodp.advice import takes
from geodp.errors import Rule, UsageError
from geodp.grid.region import Labels, Region
from geodp.kinds.amounts.estimates import (
    ROUNDED,
    SUM_Z,
    AmountClasses,
    AmountEstimate,
    Ends,
    SumMargins,
    estimate_streams,
)
from geodp.kinds.amounts.kind import (
    COUNT,
    IDENTITY,
    MEAN,
    MEDIAN,
    SUM,
    AmountsCard,
)
from geodp.kinds.amounts.methods import CountOfAmounts, stream_event
from geodp.kinds.amounts.scale import Scale, exact
from geodp.kinds.amounts.streams import ReleasedAmounts
from geodp.privacy.event import Measurement
from geodp.release.cutting import NumbersOf
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

OFF = 0.05
"""Part of cells whose whole counts may be off where 95 % intervals hold nothing else."""

HALFWAY = 0.5
"""How far ends of a stream as small as its noise are from usual to worst-case ones."""

NO_CLASSES = Rule(
    "amounts-without-classes",
    "Quantiles and shares need classes, and this release has none: publish it with classes= "
    "(--classes).",
)


ALONE = Rule(
    "amounts-sum-alone",
    "A sum is estimated beside its records, which say how far it may be off: "
    "release.estimate(region).sum.",
)


class CountRelease(Release):
    """Counts of records, whatever a record is."""

    @property
    def name(self) -> str:
        """Default name of the counts, in columns and files."""
        return COUNT


class SumRelease(Release):
    """Sums of amounts in steps, which are no people."""

    @property
    def name(self) -> str:
        """Default name of the sums, in columns and files."""
        return SUM

    def intervals(self, tops: Tops | None = None) -> None:
        """Return None: the tables of the release have the intervals, by records and sums."""

    def estimate(self, *region: Any, **options: Any) -> NoReturn:
        """Raise UsageError: one number has one interval, that of :meth:`Amounts.estimate`."""
        raise UsageError(ALONE)

    def estimate_all(self, *regions: Any, **options: Any) -> NoReturn:
        """Raise UsageError, as :meth:`estimate` does."""
        raise UsageError(ALONE)


@dataclass(frozen=True, eq=False)
class AmountNumbers:
    """Released counts, sums and classes of amounts, which agree in every area.

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

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities that were released."""
        means = () if self.sum is None else (SUM, MEAN)
        return (COUNT, *means, *((MEDIAN,) if self.classes else ()))

    @property
    def sums_of_cells(self) -> dict[str, NumbersOf]:
        """Released records of cells, and the sums of their amounts in units."""
        found: dict[str, NumbersOf] = {COUNT: self.count.table.counts_at}
        if (of_cells := self.sum) is not None:
            found[SUM] = lambda key: of_cells.table.counts_at(key) * self.scale.value(1)
        return found

    @property
    def ratios(self) -> dict[str, tuple[str, str]]:
        """The mean, of the sum and the records."""
        return {} if self.sum is None else {MEAN: (SUM, COUNT)}

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
    def identity(self) -> str:
        """Fact on the card of the records that names the release, by its sums and classes."""
        facts = self.count.card().guarantee.not_protected
        return next(fact for fact in facts if fact.startswith(IDENTITY))

    @cached_property
    def drawn(self) -> ReleasedAmounts:
        """The numbers of all cells, as they were drawn."""
        key, number = self.count.table.key, np.asarray(self.count.table.count, np.int64)
        above = None
        if self.sum is not None:
            steps = np.asarray(self.sum.table.counts_at(key), np.int64)
            above = (steps - number * self.scale.lower) // self.notch
        classes = [np.asarray(one.counts_at(key), np.int64) for one in self.classes]
        return ReleasedAmounts(key, number, above, np.stack(classes) if classes else None)

    @cached_property
    def streams(self) -> tuple[Release, Release]:
        """The two streams of amounts that records and sums imply, with their errors."""
        key, above = self.drawn.key, self.drawn.above
        assert above is not None
        assert self.index.amount.notches is not None
        below = self.drawn.number * self.index.amount.notches - above
        event = self._event_of(Fraction(self.index.amount.share or 1), self.index.amount.notches)
        return self._stream(key, above, event), self._stream(key, below, event)

    @cached_property
    def records(self) -> Release:
        """The records with their closed forms; those in files are rounded."""
        return Release(self.count.table)

    @cached_property
    def class_releases(self) -> list[Release]:
        """The records of every class, with their errors."""
        return [Release(table) for table in self.classes]

    def _stream(self, key: KeyArray, count: IntArray, event: Measurement) -> Release:
        some = count > 0
        table = ReleasedTable(self.count.grid, key[some], count[some], event)
        return Release(table)

    def _event_of(self, share: Fraction, notches: int) -> Measurement:
        """Return the event of one stream: with a share of the budget, in notches."""
        event = cast(Measurement, self.count.event)
        method = cast(CountOfAmounts, self.count.method).pyramid
        return stream_event(event, method, share, notches)

    def estimate_all(
        self,
        regions: Iterable[Any],
        labels: Labels | None = None,
        *,
        interval: str = USUAL,
        quantiles: Sequence[float] = (),
        below: Sequence[float] = (),
    ) -> list[AmountEstimate]:
        """Estimate many regions, in their order; each is as for :meth:`estimate`.

        Parameters
        ----------
        regions, labels
            Each as for :meth:`geodp.Release.estimate`.
        interval : str
            ``"usual"``, or ``"worst-case"``: bounds of all numbers that assume nothing of the map,
            as for :meth:`geodp.Release.estimate`.
        quantiles : sequence of float
            Shares of the records, above 0 and below 1, whose quantiles are estimated, too.
        below : sequence of float
            Amounts, such as a poverty line, below which the share of the records is estimated, too.
        """
        self._check(quantiles, below)
        listed = [Region.of(self.count.grid, one, labels) for one in regions]
        counts = self.records.estimate_all(listed, interval=interval)
        rows = [(one.count, one.low, one.high) for one in counts]
        count = np.array(rows, np.float64).reshape(-1, 3).T
        both, in_classes = self._both(listed, interval), self._in_classes(listed, interval)
        if both is not None and interval == WORST_CASE:
            both = both.reach(count[2])
        ends = self._ends((count[0], count[1], count[2]), both, in_classes)
        found = []
        for i, one in enumerate(counts):
            total = mean = None
            if self.sum is not None:
                total = Interval(*(float(part[i]) for part in ends[SUM]))
                mean = self._known(ends[MEAN], i) if one.count > 0 else None
            found.append(AmountEstimate(one, total, mean, self._known(ends.get(MEDIAN), i)))
        if in_classes is None or not (quantiles or below):
            return found
        classes = AmountClasses(self.edges, in_classes)
        of_quantiles = {share: classes.quantile(share) for share in quantiles}
        of_lines = {line: classes.share_below(line) for line in below}
        return [
            replace(
                one,
                quantiles={share: self._known(ends, i) for share, ends in of_quantiles.items()},
                below={line: _known_share(ends, i) for line, ends in of_lines.items()},
            )
            for i, one in enumerate(found)
        ]

    @takes(estimate_all, without=("regions",))
    def estimate(self, region: Any, labels: Labels | None = None, **how: Any) -> AmountEstimate:
        """Estimate records, sum, mean and median of a region, with 95 % intervals.

        Parameters
        ----------
        region, labels
            As for :meth:`geodp.Release.estimate`.

        Returns
        -------
        AmountEstimate
            Amounts are in units. What was not released is None, and so are a mean and a median of
            which nothing is known but the clip.

        Raises
        ------
        UsageError
            Quantiles or shares of a release without classes, or outside their ranges.
        """
        return self.estimate_all([region], labels, **how)[0]

    def list_figures(self, regions: Iterable[Any], **options: Any) -> list[Figures]:
        """Return the quantities of many regions by their names; ``options``: of `estimate_all`.

        Quantiles and shares that were asked for are named "quantile 0.9" and "below 150".
        """
        return [
            {
                **{name: getattr(one, name) for name in self.quantities},
                **{f"quantile {share:g}": found for share, found in one.quantiles.items()},
                **{f"below {line:g}": found for line, found in one.below.items()},
            }
            for one in self.estimate_all(regions, **options)
        ]

    def columns(self, key: KeyArray) -> dict[str, Ends]:
        """Estimate sum, mean and median of cells, as :meth:`estimate` does: float64[n] each.

        Where an interval is all of the clip, nothing is known of a mean or a median.
        """
        count = None if self.sum is None else _cells(self.records, key)
        return self._ends(count, self._both(key), self._in_classes(key))

    def noise_of(self, regions: list[Region]) -> dict[str, Ends]:
        """Estimate records, sum, mean and median with intervals of the noise alone.

        Those of :meth:`estimate` are wider where the clamp at 0 may have moved something.
        """
        count = margins_of([self.records], regions).noise().combine([1])
        margins = self._both(regions), self._in_classes(regions)
        both, classes = (None if one is None else one.noise() for one in margins)
        return {COUNT: count} | self._ends(count, both, classes)

    @property
    def _counts_persons(self) -> bool:
        """Whether records are persons who were published before."""
        return bool(cast(CountOfAmounts, self.count.method).given)

    def _both(self, places: list[Region] | KeyArray, interval: str = USUAL) -> SumMargins | None:
        """Return both streams of regions or cells in records, with margins; None without sums."""
        if self.sum is None:
            return None
        notches = self.index.amount.notches or 1
        return margins_of(self.streams, places, notches, rounded=True, interval=interval)

    def _in_classes(
        self, places: list[Region] | KeyArray, interval: str = USUAL
    ) -> SumMargins | None:
        """Return the records of every class of regions or cells; None without classes."""
        if not self.classes:
            return None
        return margins_of(self.class_releases, places, interval=interval)

    def _ends(
        self, count: Ends | None, both: SumMargins | None, classes: SumMargins | None
    ) -> dict[str, Ends]:
        """Estimate sum, mean and median of regions or cells.

        Parameters
        ----------
        count : (float64[n], float64[n], float64[n]) or None
            Records, and the ends of their intervals; needed for sums alone.
        both : SumMargins or None
            Of both streams, in records; None without sums.
        classes : SumMargins or None
            Of the records of every class; None without classes.
        """
        found: dict[str, Ends] = {}
        if both is not None:
            assert count is not None
            found |= estimate_streams(both, self.scale, count, known=self._counts_persons)
        if classes is not None:
            found[MEDIAN] = AmountClasses(self.edges, classes).quantile(0.5)
        return found

    def quantile(
        self,
        region: Any,
        share: float,
        labels: Labels | None = None,
        *,
        interval: str = USUAL,
    ) -> Interval | None:
        """Estimate a quantile of the amounts of a region, interpolated in its class.

        ``share``: of the records below it, such as 0.9. ``interval``: as for :meth:`estimate`. None
        where it may be any amount. Raises UsageError without classes.
        """
        found = self.estimate(region, labels, interval=interval, quantiles=(share,))
        return found.quantiles[share]

    def share_below(
        self,
        region: Any,
        line: float,
        labels: Labels | None = None,
        *,
        interval: str = USUAL,
    ) -> Interval | None:
        """Estimate the share of a region's records below an amount, such as a poverty line.

        Interpolated where the line is no edge of classes. ``interval``: as for :meth:`estimate`.
        None where it may be any share. Raises UsageError without classes.
        """
        return self.estimate(region, labels, interval=interval, below=(line,)).below[line]

    def _check(self, quantiles: Sequence[float], below: Sequence[float]) -> None:
        """Raise UsageError for quantiles or lines outside their ranges, or without classes."""
        if quantiles or below:
            self._require_classes()
        if not all(0 < share < 1 for share in quantiles):
            raise UsageError(
                "A quantile has a share of the records above 0 and below 1.",
                code="amounts-quantile-share",
            )
        if not all(np.isfinite(line) for line in below):
            raise UsageError("A line is an amount: a finite number.", code="amounts-line-form")
        lower, upper = self.scale.clip
        if not all(lower < line < upper for line in below):
            amount = self.index.amount
            raise UsageError(
                f"A line lies between the ends of the clip, {amount.lower} and {amount.upper}: "
                "amounts beyond them count as these, and where they lie is not released.",
                code="amounts-line-beyond",
            )

    def _require_classes(self) -> None:
        """Raise UsageError without classes."""
        if not self.classes:
            raise UsageError(NO_CLASSES)

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


def _known_share(ends: Ends, at: int) -> Interval | None:
    """Return the interval of a share, or None where it may be any."""
    value, low, high = (float(part[at]) for part in ends)
    return None if (low, high) == (0.0, 1.0) else Interval(value, low, high)


def margins_of(
    releases: Sequence[Release],
    places: list[Region] | KeyArray,
    unit: int = 1,
    *,
    rounded: bool = False,
    interval: str = USUAL,
) -> SumMargins:
    """Return streams or classes of regions, or of cells, with their margins.

    Parameters
    ----------
    releases : sequence of Release
        Independent of each other.
    places : list of Region, or uint64[n]
        Regions, or keys of cells.
    unit : int
        Counts of one record.
    rounded : bool
        Whether records were made whole after the streams, which all of them share.
    interval : str
        Of regions: see :meth:`geodp.Release.estimate`. Cells have usual ones.
    """
    rows, noise = [], []
    for one in releases:
        if isinstance(places, list):
            ends, half = _regions(one, places, interval, is_stream=rounded)
        else:
            ends, half = _cells(one, places), LAPLACE_Z * one.standard_error(1)
        if not rounded:
            ends = _reach_whole(ends, len(releases) * one.standard_error(1) ** 2)
        rows.append(tuple(part / unit for part in ends))
        noise.append(np.broadcast_to(half / unit, ends[0].shape))
    rest = ROUNDED / np.sqrt(len(releases)) if rounded else 0.0
    return SumMargins.split([(a, b, c) for a, b, c in rows], noise, rest)


def _reach_whole(ends: Ends, off: float) -> Ends:
    """Return ends that are at least one record away, where some class of a cell may be off by one.

    ``off``: part of the cells of which one is, about: counts are whole, and so are their errors.
    """
    if off <= OFF:
        return ends
    count, low, high = ends
    return count, np.minimum(low, np.maximum(count - 1, 0.0)), np.maximum(high, count + 1)


def _regions(
    one: Release, regions: list[Region], interval: str, *, is_stream: bool
) -> tuple[Ends, FloatArray]:
    """Return sums of one stream over regions, and half the intervals of the noise.

    A stream has few records where few live, and the clamp takes most of them: usual ends of one as
    small as its noise lie halfway between those of counts and worst-case ones, on a logarithmic
    scale, and those of one of n times its noise are an nth as far from those of counts, which alone
    hold 86 % of sums of 50 to 499 records at epsilon 1/10 (docs/measured/amounts.md). A class has
    fewer still, and worst-case ends.
    """
    usual, worst = (
        Bounds.of(one.estimate_all(regions, interval=each)) for each in (USUAL, WORST_CASE)
    )
    single = np.array([region.key.size == 1 for region in regions], np.bool_)
    noise = np.where(single, LAPLACE_Z * one.standard_error(1), SUM_Z * usual.error)
    if interval == WORST_CASE:
        return (worst.count, worst.low, worst.high), noise
    # Of cells, the tables have the ends of counts, and the noise of a cell inside the domain.
    down = np.where(single, usual.count - usual.low, usual.count - worst.low)
    up = np.where(single, usual.high - usual.count, worst.high - usual.count)
    if is_stream:
        part = HALFWAY * usual.error / np.maximum(usual.count, usual.error)
        down = down**part * (usual.count - usual.low) ** (1 - part)
        up = up**part * (usual.high - usual.count) ** (1 - part)
    return (usual.count, usual.count - down, usual.count + up), noise


def _cells(one: Release, key: KeyArray) -> Ends:
    """Return counts of cells of a stream, and the ends of their intervals: float64[n] each."""
    intervals = one.intervals()
    assert intervals is not None  # as a pyramid has closed forms
    return (one.table.counts_at(key).astype(np.float64), *intervals.of(key))
