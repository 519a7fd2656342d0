"""How tables of records and of sums are made, as their cards state it, with closed forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.kinds.census.methods import GivenNoise
from geodp.mechanisms import find_method
from geodp.mechanisms.base import Method
from geodp.mechanisms.central.pyramid import OfPyramid, Pyramid
from geodp.privacy.event import Guarantee, Measurement

CITATION = "geodp: its own method, defined and proved in docs/proofs/amounts.md."

STREAMS_PROOF = (
    "one record of amount x adds x - L to the stream above the lower end L and U - x to the stream "
    "below the upper end U, together exactly U - L, on each level to one node; both streams have "
    "independent noise, each for {}, and everything else is post-processing"
)
"""Why a release of sums and means holds what it promises."""

RECORDS_PROOF = (
    "one record adds exactly the span of the clip to both streams of sums together, and one to one "
    "class, on each level to one node; sums and classes have independent noise, each for its part "
    "of the budget, which is the whole where there are no others, and everything else is "
    "post-processing; a record that has a weight counts as so many"
)
"""Why the records of a release hold what they promise, whatever is released with them."""

ROUNDING = 1 / 3
"""Variance of the rounding of records of a block, in records squared: they are off by less than
one, and taken as uniform, which bounds the variance. Half an interval is then one record or more
wherever the noise is smaller than that."""

PRECONDITION = (
    "the records of no person count more together than the contribution says, and the domain, the "
    "clip and the step were chosen without looking at the data; the clip and the edges of classes "
    "may come from a selection with a charge of its own"
)


@dataclass(frozen=True)
class OfStreams(OfPyramid):
    """A table of two streams that a pyramid measures, each with the whole budget.

    Attributes
    ----------
    setting, chain, shares
        Those of the pyramid of both streams.
    """

    setting: str = "auto"
    chain: str = ""
    shares: str = ""

    version: ClassVar[int] = 1
    citation: ClassVar[str] = CITATION
    guarantee: ClassVar[Guarantee] = Guarantee(RECORDS_PROOF, precondition=PRECONDITION)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        listed = self.list_shares(grid, event)
        return (
            "a record adds to one node of each level: to the two streams of sums together exactly "
            "the span of the clip, and one to one class, as far as these are released, and as many "
            "times as its weight says, if it has one; the levels, from the total to the cells, "
            f"have these shares of the budget: {listed}"
        )


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


@lru_cache(maxsize=8)
def _scale(
    pyramid: Pyramid,
    grid: Grid,
    event: Measurement,
    factors: tuple[float, float],
    rounding: float = 0.0,
) -> TreeVariance:
    """Return the tree of a sum of streams, of which many closed forms are made."""
    return pyramid.tree_variance(grid, event).scaled(*factors).with_noise(rounding)


@dataclass(frozen=True)
class CountOfAmounts(OfStreams):
    """Records, as the sum of both streams divided by the span of the clip; else of all classes.

    Attributes
    ----------
    classes : int
        Number of classes; 0 without classes.
    share : Fraction
        Part of the budget for sums.
    notches : int
        Of the span, in which the streams of sums are measured; 1 without sums.
    given : str
        Of records that are persons who were published before, what
        :meth:`geodp.kinds.census.methods.GivenNoise.write` has written; empty: measured ones.
    """

    classes: int = 0
    share: Fraction = Fraction(1)
    notches: int = 1
    given: str = ""

    name: ClassVar[str] = "count-of-amounts"
    title: ClassVar[str] = (
        "records of amounts, from the streams of their amounts, or from all classes"
    )
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Additivity: every area's count is exactly the sum of its cells.",
    )

    @classmethod
    def of(
        cls, pyramid: Pyramid, classes: int, share: Fraction, notches: int, given: str = ""
    ) -> CountOfAmounts:
        """Make the method of records of streams that a pyramid measures."""
        return cls(pyramid.setting, pyramid.chain, pyramid.shares, classes, share, notches, given)

    def list_postprocessing(self) -> tuple[str, ...]:
        """List the steps after the noise with these settings, a sentence each."""
        steps = []
        if self.given:
            steps.append(
                "Records are the persons of an earlier release, which are kept as they are."
            )
        elif self.share > 0:
            steps.append(
                "Records are the sum of both streams of amounts, divided by the span of the clip, "
                "rounded systematically along the line of keys with one random number of the "
                "release; unbiased, and a block is off by less than 1."
            )
            if self.classes:
                steps.append("These records are divided among the classes.")
        else:
            steps.append("Records are the sum of the records of all classes.")
        return (*steps, *self.postprocessing)

    @property
    def _summed(self) -> tuple[int, Fraction]:
        """Number of the streams that add up to records, and their part of the budget."""
        return (2, self.share) if self.share > 0 else (self.classes, 1 - self.share)

    def _stream(self, event: Measurement) -> Measurement:
        """Return the event of one of these streams: its noise is that of its notches."""
        _, share = self._summed
        return stream_event(event, self.pyramid, share, self.notches)

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Return the tree of the levels, in records: variances of all streams add up.

        Records of streams of sums are rounded to whole ones, which adds to them.
        """
        if self.given:
            before, own = self._before(event)
            found = before.tree_variance(grid, own)
            assert found is not None  # as a given release has closed forms
            return found
        number, unit = self._summed[0], float(self.notches)
        factors, rounding = (number / unit**2, number / unit**4), ROUNDING * (self.share > 0)
        return _scale(self.pyramid, grid, self._stream(event), factors, rounding)

    def _before(self, event: Measurement) -> tuple[Method[Measurement], Measurement]:
        """Return the method and the event of persons who were published before."""
        own = GivenNoise.read(self.given).event(event)
        return find_method(own.mechanism), own

    def isolated_cell(self, grid: Grid, event: Measurement) -> dict[str, float] | None:
        """Bound bias and root-mean-square error of an isolated cell, in counts."""
        if self.given:
            before, own = self._before(event)
            return before.isolated_cell(grid, own)
        cell, factor = self.pyramid.isolated_cell(grid, self._stream(event)), self._bound
        return {name: factor * value for name, value in cell.items()}

    def clamp_losses(self, grid: Grid, event: Measurement) -> list[tuple[float, float]] | None:
        """Bound the clamp's loss: what a node's occupied children lose to empty siblings."""
        if self.given:
            before, own = self._before(event)
            return before.clamp_losses(grid, own)
        losses, factor = self.pyramid.clamp_losses(grid, self._stream(event)), self._bound
        return [(factor * mean, factor * sd) for mean, sd in losses]

    @property
    def _bound(self) -> float:
        """Records in the unit of a stream's losses, which add up over all streams."""
        return self._summed[0] / self.notches


@dataclass(frozen=True)
class SumOfAmounts(OfStreams):
    """Sums of amounts between two ends, in steps.

    Attributes
    ----------
    lower, upper : int
        Ends of the clip, in steps.
    share : Fraction
        Part of the budget for sums.
    notches : int
        Of the span, in which both streams are measured.
    """

    lower: int = 0
    upper: int = 1
    share: Fraction = Fraction(1)
    notches: int = 1

    name: ClassVar[str] = "sum-of-amounts"
    title: ClassVar[str] = "sums of clipped amounts, from both streams of the amounts"
    nonnegative: ClassVar[bool] = False
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Within the clip: the mean of every cell, and so of every area, is within the clip.",
        "Additivity: every area's sum is exactly the sum of its cells.",
    )

    @classmethod
    def of(
        cls, pyramid: Pyramid, lower: int, upper: int, share: Fraction, notches: int
    ) -> SumOfAmounts:
        """Make the method of sums of two streams that a pyramid measures."""
        return cls(pyramid.setting, pyramid.chain, pyramid.shares, lower, upper, share, notches)

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Return the tree of the levels, in steps: the sum is U u + L v, in spans."""
        lower, upper = (float(end) / self.notches for end in (self.lower, self.upper))
        stream = stream_event(event, self.pyramid, self.share, self.notches)
        return _scale(self.pyramid, grid, stream, (lower**2 + upper**2, lower**4 + upper**4))


PROTOCOLS = {one.name: one for one in (CountOfAmounts(), SumOfAmounts())}
"""Both methods by their names in cards, with default settings; the core finds them here."""
