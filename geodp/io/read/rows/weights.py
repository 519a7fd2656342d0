"""Weights of a survey's records: each record counts as many, up to a public limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Self

import numpy as np
import pyarrow as pa

from geodp.errors import CodeError, Rule, UsageError, require_none
from geodp.io.read.rows.columns import RowPositions
from geodp.io.read.rows.decimals import LARGEST, MISSING, POINT_OR_THOUSANDS, exact_decimals
from geodp.io.read.rows.fields import decimal_points, find_missing
from geodp.io.read.rows.survey import Survey
from geodp.typing import IntArray

MAX_WEIGHT = 1 << 20
"""Largest weight that a record may have."""

LONGEST_FACT = 500
"""Most characters of the name of the totals that weights were raked to."""

WEIGHT_MISSING = Rule(
    "weight-missing",
    "a weight is missing: blank, NaN or written as unknown; to leave such records out, name what "
    "is written as missing (--missing '', missing=['']), or weigh them.",
)

WEIGHT_FORM = Rule(
    "weight-form",
    "a weight is no number in plain digits, without separators of thousands.",
)

WEIGHT_POINT = Rule(
    "weight-with-point",
    "a weight such as 1.234 is a fraction, if its point is a decimal point, or more than a "
    "thousand: name the decimal mark (--decimal . or --decimal ,; decimal=).",
)

NO_WEIGHT = Rule(
    "weight-not-positive",
    "a weight is below 0.5, and is rounded to nobody, while a record stands for somebody: drop "
    "records that stand for nobody, or scale weights so that they say for how many a record "
    "stands.",
)

WEIGHT_FACT = (
    "that every weight was a plain number of at least 0.5: other records are refused before "
    "anything is charged"
)
"""Public fact of weights that were read."""

RAKED = (
    "that weights were raked, so that they add up to totals of the same data, which are "
    "invariants: whoever knows these totals knows them without any noise, and the guarantee does "
    "not cover them: {}"
)
"""Public fact of weights that were calibrated on totals of the data itself."""

GIVEN = (
    "that weights are taken as given: one that was calibrated on other respondents depends on "
    "these, which the guarantee does not cover; weights above {:,} count as this"
)
"""The sentence on what is public of weights, and not protected."""


_GIVEN, _RAKED = (
    re.compile(re.escape(text).replace(field, group))
    for text, field, group in ((GIVEN, r"\{:,\}", "([0-9,]+)"), (RAKED, r"\{\}", "(.+)"))
)


def find_weights(facts: Iterable[str]) -> tuple[int | None, str | None]:
    """Find in the facts of a card the largest weight, and the totals that weights were raked to.

    None where records have no weights, and where these were not raked.

    Examples
    --------
    >>> find_weights((GIVEN.format(2000), RAKED.format("residents by age")))
    (2000, 'residents by age')
    """
    listed = [*facts]
    given, raked = (
        next((match[1] for one in listed if (match := form.fullmatch(one))), None)
        for form in (_GIVEN, _RAKED)
    )
    return None if given is None else int(given.replace(",", "")), raked


LEFT_OUT = (
    "that records were left out whose {} is a value that the operator named as missing, as they "
    "are not in the universe of the release"
)
"""Public fact of records without an amount or a weight, where these are named."""


def leave_out(
    rows: RowPositions,
    arrays: list[pa.Array],
    named: Mapping[int, str],
    missing: Sequence[str | float],
    survey: Survey,
    decimal: str | None,
) -> tuple[RowPositions, list[pa.Array]]:
    """Return rows and their columns without those whose amount or weight is missing.

    Parameters
    ----------
    rows, arrays
        A batch; ``arrays`` are its columns.
    named : mapping of int to str
        Columns of amounts and weights: their positions in ``arrays``, and names.
    missing : sequence of str or number
        As of :func:`geodp.io.read.rows.fields.counts`.
    survey : Survey
        Notes how many rows are left out.
    decimal : {".", ","}, optional
        Mark of numbers in texts. The columns stay as they are written: a mark that is replaced
        twice would be a separator of thousands.
    """
    if not missing:
        return rows, arrays
    absent = np.zeros(len(arrays[0]), np.bool_)
    for at, name in named.items():
        with rows.named(name):
            absent |= find_missing(decimal_points(arrays[at], decimal), missing)
    survey.add(rows.table.name, missing=int(absent.sum()))
    if not absent.any():
        return rows, arrays
    return rows.select(~absent), [array.filter(pa.array(~absent)) for array in arrays]


@dataclass(frozen=True)
class Weights:
    """Column of weights, and how they are bounded.

    Attributes
    ----------
    column : str
    largest : int
        Public, and chosen without the data: larger weights count as this.
    raked_to : str, optional
        Totals of the same data that the weights were calibrated on.
    """

    column: str
    largest: int
    raked_to: str | None = None

    @classmethod
    def of(cls, column: str | None, largest: int, raked_to: str | None) -> Self | None:
        """Check the arguments of a reader; None without weights, whose ``largest`` is 1.

        Raises UsageError for a bound without weights, or weights without a bound.
        """
        if raked_to is not None and column is None:
            raise UsageError(
                "Totals that weights were raked to (raked_to=, --raked-to) go with weights "
                "(weight=, --weight).",
                code="weights-raked-without",
            )
        if raked_to is not None and (
            not isinstance(raked_to, str)
            or not 0 < len(raked_to.strip()) <= LONGEST_FACT
            or not raked_to.isprintable()
        ):
            raise UsageError(
                "Say to which totals the weights (weight=, --weight) were raked in a sentence of "
                "at most 500 characters (raked_to=, --raked-to).",
                code="weights-raked-to",
            )
        if column is None and largest == 1:
            return None
        is_number = isinstance(largest, Integral) and not isinstance(largest, bool)
        whole = is_number and 1 < largest <= MAX_WEIGHT
        if column is None or not whole:
            raise UsageError(
                "Weights (weight=) need their largest value, a whole number above 1 (max_weight=): "
                "public and chosen without the data, as larger weights count as this.",
                code="weights-bound",
            )
        return cls(column, int(largest), raked_to)

    def count(self, rows: RowPositions, column: pa.Array, decimal: str | None = None) -> IntArray:
        """Return the weights of rows as whole numbers, not trimmed yet: int64[n].

        Weights far above the largest are cut to about its size. Raises InputError at the first
        weight that is missing, no plain number, or below 0.5.
        """
        with rows.named(self.column):
            return count_weights(column, self.largest, decimal)

    @property
    def facts(self) -> tuple[str, ...]:
        """Public facts of weights, for the card."""
        raked = () if self.raked_to is None else (RAKED.format(" ".join(self.raked_to.split())),)
        return (WEIGHT_FACT, *raked)


def count_weights(column: pa.Array, largest: int, decimal: str | None = None) -> IntArray:
    """Return the weights of a column as whole numbers, not trimmed yet: int64[n].

    Parameters
    ----------
    column : pyarrow.Array
    largest : int
        Weights far above it are cut to about its size.
    decimal : {".", ","}, optional

    Raises CodeError at the first weight that is missing, no plain number, or below 0.5.
    """
    try:
        values, exponent = exact_decimals(column, decimal)
    except CodeError as error:
        known = {MISSING.code: WEIGHT_MISSING, POINT_OR_THOUSANDS.code: WEIGHT_POINT}
        raise CodeError(error.position, known.get(error.code, WEIGHT_FORM)) from None
    one = 10**exponent
    # Compared without doubling, which might not fit; a half is rounded up to one.
    require_none(values < one - one // 2, NO_WEIGHT)
    if 2 * (largest + 2) * one > LARGEST:
        values = values.astype(object)
    values = np.minimum(values, (largest + 1) * one)
    return np.asarray((2 * values + one) // (2 * one), np.int64)
