"""What the largest weight of a survey takes of a region, by a public total of its people."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from geodp.errors import UsageError
from geodp.features.amounts.estimates import AmountEstimate, Interval


@dataclass(frozen=True)
class Trimming:
    """What trimmed weights leave out of a region.

    Attributes
    ----------
    lost : Interval
        Share of the public total that the released records lack, from 0 to 1: of trimmed weights,
        and of whatever else the survey leaves out.
    mean : Interval or None
        The mean where all that is lost is like the rest, and an interval that holds the mean of
        all, of amounts within the clip, whatever those of the lost are. None without a mean.
    """

    lost: Interval
    mean: Interval | None


def estimate_trimming(one: AmountEstimate, people: float, clip: tuple[float, float]) -> Trimming:
    """Estimate what trimming leaves out, from an estimate and a public total; costs no budget.

    ``clip``: its ends, in units of the amount. Raises UsageError for a total that is not above 0,
    or below the lower end of the released records.
    """
    if isinstance(people, bool | np.bool_) or not (isfinite(people) and people > 0):
        raise UsageError(
            "The public total of people is a finite number above 0.", code="amounts-total-form"
        )
    count = one.count
    if count.low > people:
        raise UsageError(
            "The public total of people is below the released records: is it in thousands, or of "
            "another area?",
            code="amounts-total-below",
        )
    value, low, high = (
        float(min(max(1 - n / people, 0.0), 1.0)) for n in (count.count, count.high, count.low)
    )
    mean = None
    if one.mean is not None:
        lower, upper = clip
        mean = Interval(
            one.mean.value,
            (1 - high) * one.mean.low + high * lower,
            (1 - high) * one.mean.high + high * upper,
        )
    return Trimming(Interval(value, low, high), mean)
