"""Exact amounts of columns, counted on a step and clipped."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from geodp.errors import CodeError, Rule
from geodp.features.amounts.scale import Scale
from geodp.io.read.rows.decimals import LARGEST, exact_decimals
from geodp.typing import IntArray

NEGATIVE = Rule(
    "amount-negative",
    "an amount is below 0, and the lower end of the clip is 0: choose a lower end below 0 if there "
    "are losses or debts, or drop such records.",
)


def count_steps(column: pa.Array, scale: Scale, decimal: str | None = None) -> IntArray:
    """Return the amounts of a column less the lower end of the clip, in steps: int64[n].

    Amounts are read exactly and counted to the nearest step. They are not clipped yet: below 0 and
    above the span are amounts beyond the clip, the largest of which are cut to about its size.

    Parameters
    ----------
    column : pyarrow.Array
        Numbers, or texts in plain digits.
    scale : Scale
    decimal : {".", ","}, optional
        See :class:`geodp.io.read.reader.Reader`.

    Raises CodeError at the first amount that is missing, no plain number, or negative while the
    lower end of the clip is 0.
    """
    values, exponent = exact_decimals(column, decimal)
    step = scale.step * 10**exponent
    # Amounts far beyond the clip are cut first, so that doubling them stays within int64.
    most = int(max(abs(scale.lower), abs(scale.upper)) * step) + int(step) + 1
    if scale.lower == 0 and (values < 0).any():
        raise CodeError(int((values < 0).argmax()), NEGATIVE)
    if 2 * most * step.denominator + step.numerator > LARGEST:
        values = values.astype(object)
    values = np.clip(values, -most, most)
    top, bottom = 2 * values * step.denominator + step.numerator, 2 * step.numerator
    return np.asarray(top // bottom, np.int64) - scale.lower
