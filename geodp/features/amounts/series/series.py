"""A series of amounts: a release for every period, under one guarantee with one charge."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from geodp import __version__
from geodp.errors import UsageError, printable
from geodp.features.amounts.amounts import Amounts, state_guarantee
from geodp.features.amounts.card import COUNT, AmountsCard, StatedAmount, StatedAmountsPrior
from geodp.features.amounts.comparison import AmountDifference
from geodp.features.amounts.declaring import AnyPrior
from geodp.features.amounts.estimates import AmountEstimate
from geodp.features.amounts.formats.reading import open_amounts
from geodp.features.amounts.series.card import (
    PERIOD_FACT,
    AmountsSeriesCard,
    AmountsSeriesGuarantee,
)
from geodp.features.amounts.series.files import StagedAmountsSeries
from geodp.grid.region import Labels
from geodp.io.folder.staged_release import check_publication
from geodp.io.verify.index import read_index
from geodp.io.verify.readback import explain_errors
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.release.opening import require_unwritten
from geodp.release.periods import Periods
from geodp.release.sharing import Person
from geodp.reprs import one_line
from geodp.table.stated.release import Software

COUNTED_EACH = "One {} has at most {:,} of the records of each period."
"""The assumption of the contribution, which is in records of a period."""

WEIGHED_EACH = "The records of one {} in each period have weights of at most {:,} together."
"""The assumption of the contribution where records have weights."""

IN_ONE = "One {} is in one period only."
"""The assumption of a series in which each period has a larger part of the budget."""

SERIES_PROOF = (
    "at most {} of the {} periods differ between neighbours, each has 1/{} of the budget, and the "
    "noise of all periods is independent. Of one period, with all of its part: {}"
)
"""Why a series holds what it promises."""


@dataclass(frozen=True, eq=False)
class AmountsSeries:
    """Releases of amounts in chronological order, on one scale and one grid.

    Attributes
    ----------
    periods : Periods
        Their times.
    releases : tuple of Amounts
        One for each period, with its part of the budget. ``series[2]`` and ``series["2020"]`` are
        single ones, and ``series[1:]`` a tuple of some.
    index : AmountsSeriesCard
        What all periods share, the guarantee of all together, and the charge.
    """

    __repr__ = one_line

    periods: Periods
    releases: tuple[Amounts, ...]
    index: AmountsSeriesCard

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[Amounts]:
        return iter(self.releases)

    def __getitem__(self, at: Any) -> Any:
        """Return the release of a period, by its number from 0 or its time.

        Raises UsageError for a time that is no period.
        """
        if not isinstance(at, str):
            return self.releases[at]
        if at not in self.periods.names:
            raise UsageError(
                f"There is no period {printable(at[:40])} in this series of amounts: its periods "
                f"are {', '.join(self.periods.names)}.",
                code="amounts-period-unknown",
            )
        return self.releases[self.periods.names.index(at)]

    def estimate(
        self,
        region: Any,
        labels: Labels | None = None,
        *,
        quantiles: Sequence[float] = (),
        below: Sequence[float] = (),
        prior: AnyPrior | None = None,
    ) -> dict[str, AmountEstimate]:
        """Estimate records, sum, mean and median of a region in every period.

        Parameters
        ----------
        region, labels, quantiles, below, prior
            As for :meth:`geodp.amounts.Amounts.estimate`.

        Returns
        -------
        dict of str to AmountEstimate
            By time, in chronological order. Errors of different periods are independent.

        Raises
        ------
        UsageError
            As for :meth:`geodp.amounts.Amounts.estimate`.
        """
        options: dict[str, Any] = {"quantiles": quantiles, "below": below, "prior": prior}
        found = [one.estimate(region, labels, **options) for one in self.releases]
        return dict(zip(self.periods.names, found, strict=True))

    def compare(
        self,
        region: Any,
        labels: Labels | None = None,
        *,
        times: tuple[str, str] | None = None,
    ) -> AmountDifference:
        """Estimate by how much a region differs between two periods, the later less the earlier.

        Parameters
        ----------
        region, labels
            As for :meth:`geodp.amounts.Amounts.estimate`.
        times : (str, str), optional
            The two periods; default: the first and the last one.

        Returns
        -------
        AmountDifference
            With 95 % intervals: the errors of two periods are independent.

        Raises
        ------
        UsageError
            A time that is no period, the same one twice, or not two of them.
        """
        first, *more = times or (self.periods.names[0], self.periods.names[-1])
        if isinstance(times, str) or len(more) != 1:
            raise UsageError(
                'A series is compared at two of its times: times=("2015", "2020").',
                code="amounts-series-two-times",
            )
        (last,) = more
        changed: AmountDifference = self[first].compare(
            region, region, (labels, labels), release=self[last]
        )
        return changed

    def card(self) -> AmountsSeriesCard:
        """Return the public index, without periods."""
        return self.index

    def write(
        self, path: str | Path, *, overwrite: bool = False, restricted: dict[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path, overwrite, restricted
            See :meth:`geodp.Release.write`. In ``path/public`` every period has a folder, named by
            its time, with a complete release of amounts; ``amounts-series.json`` is the index.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths of files and of periods.

        Raises
        ------
        UsageError, OutputError
            See :meth:`geodp.Release.write`.
        """
        require_unwritten([one.count for one in self.releases])
        check_publication(self.releases[0].count.grid, path, name=COUNT, overwrite=overwrite)
        with StagedAmountsSeries.stage(path, overwrite=overwrite) as place:
            return self.write_into(place, restricted or {})

    def write_into(
        self, place: StagedAmountsSeries, restricted: dict[str, Any]
    ) -> dict[str, list[str]]:
        """Write the series into a folder that was staged before the charge."""
        named = dict(zip(self.periods.names, self.releases, strict=True))
        return place.write(named, self.index, restricted)


def open_series(folder: Path, card: AmountsSeriesCard) -> AmountsSeries:
    """Open a series from its public folder."""
    times = [one.time for one in card.periods]
    releases = []
    for time in times:
        with explain_errors(folder / time):
            index = read_index(folder, f"{time}/{AmountsCard.file}", AmountsCard.from_json)
        releases.append(open_amounts(folder / time, index))
    return AmountsSeries(Periods.of(times), tuple(releases), card)


def state_series(
    periods: Periods,
    amount: StatedAmount,
    promise: AmountsSeriesGuarantee,
    prior: StatedAmountsPrior | None,
    *,
    private: bool,
) -> AmountsSeriesCard:
    """State what all periods share, of a series that is not drawn yet."""
    return AmountsSeriesCard(
        schema="geodp-amounts-series-1",
        software=Software("geodp", __version__),
        private=private,
        step=periods.step,
        amount=amount,
        guarantee=promise,
        budget=None,
        prior=prior,
    )


def state_series_guarantee(
    total: Measurement,
    amount: StatedAmount,
    facts: tuple[str, ...],
    prior: StatedAmountsPrior | None,
    *,
    person: Person,
    periods: int,
    changed: int,
    each_spends: str,
) -> AmountsSeriesGuarantee:
    """State the guarantee of all periods together.

    Parameters
    ----------
    total : Measurement
        Event of all periods together.
    amount : StatedAmount
    facts : tuple of str
        Public facts about the input of all periods.
    prior : StatedAmountsPrior or None
        Of every period.
    person : {"all", "one"}
    periods, changed : int
        Number of periods, and of those that differ between neighbours.
    each_spends : str
        Budget of one period.
    """
    promise = state_guarantee(total, amount, facts, prior)
    bound, *others = promise.assumptions
    counted = COUNTED_EACH if amount.max_weight is None else WEIGHED_EACH
    assumed = [replace(bound, statement=counted.format(total.unit, total.contribution)), *others]
    if person == "one":
        assumed.append(Assumption("series", IN_ONE.format(total.unit), "operator"))
    stated = {one.name: getattr(promise, one.name) for one in fields(promise)} | {
        "in_words": _state_together(total.statement),
        "source": SERIES_PROOF.format(changed, periods, changed, promise.source),
        "assumptions": tuple(assumed),
    }
    return AmountsSeriesGuarantee(**stated, person=person, changed=changed, each_spends=each_spends)


def _state_together(statement: str) -> str:
    """Say of all periods what an event's sentence says of one release."""
    # A person may be counted as often as it says in each period.
    counted = re.sub(r"( is counted .+)\.$", r"\1 in each period.", statement)
    return counted.replace("any result", "any result of these releases together")


def describe_period(time: str, times: Sequence[str], promise: AmountsSeriesGuarantee) -> str:
    """Describe, for the cards of a period, the series that it is a part of."""
    # A period may be passed on alone: its cards must show that the budget covers others, too.
    where = "every period" if promise.person == "all" else "one period only"
    return PERIOD_FACT.format(
        time=time,
        number=len(times),
        first=times[0],
        last=times[-1],
        unit=promise.unit,
        where=where,
        spends=promise.spends,
    )


def name_period(empty: Amounts, fact: str) -> Amounts:
    """Return the release of no records of a period, whose cards name it and its series."""
    promise = empty.index.guarantee
    told = replace(promise, not_protected=(*promise.not_protected, fact))

    def add_fact(release: Any) -> Any:
        return replace(release, public_facts=(*release.public_facts, fact))

    return replace(
        empty,
        count=add_fact(empty.count),
        sum=None if empty.sum is None else add_fact(empty.sum),
        index=replace(empty.index, guarantee=told),
    )
