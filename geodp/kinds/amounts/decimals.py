"""Exact amounts of columns, counted on a step and clipped."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from geodp.errors import Rule, UsageError, printable, require_none
from geodp.io.read.rows.amount_titles import TitleUnit, read_title, read_unit
from geodp.io.read.rows.arrow import map_values
from geodp.io.read.rows.decimals import LARGEST, exact_decimals
from geodp.io.read.rows.fields import as_text
from geodp.kinds.amounts.scale import Scale
from geodp.typing import IntArray

NEGATIVE = Rule(
    "amount-negative",
    "an amount is below 0, and the lower end of the clip is 0: choose a lower end below 0 if there "
    "are losses or debts, or drop such records.",
)


_MARKED = re.compile(
    r"(?P<before>[^0-9+-]*?)[ \u00a0\u202f]*"
    r"(?P<number>[+-]?[0-9](?:[0-9.,' \u2019\u00a0\u202f]*[0-9])?(?:e0)?)"
    r"[ \u00a0\u202f]*(?P<after>[^0-9]*)"
)
"""Amounts with a mark before or behind them."""


def drop_marks(column: pa.Array, unit: str) -> pa.Array:
    """Remove the currency beside amounts where it is that of their unit, as in ``300 €``.

    Workbooks show numbers so in cells with a format of currency. Other texts, and columns that are
    not text, stay as they are, and are refused or read as such.

    Parameters
    ----------
    column : pyarrow.Array
    unit : str
        Unit of the amount, as the operator states it.

    Examples
    --------
    >>> drop_marks(pa.array(["300 €", "$5", "7"]), "EUR").to_pylist()
    ['300', '$5', '7']
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    stated = read_unit(unit)
    if not stated.currencies or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column

    def drop(text: str) -> str:
        match = _MARKED.fullmatch(text.strip())
        mark = "" if match is None else (match["before"] + match["after"]).strip()
        if match is None or not mark:
            return text
        found = read_title(f"({mark})")
        same = found.currencies and not found.differs_from(stated)
        return match["number"] if same else text

    return map_values(as_text(column), drop)


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
    if scale.lower == 0:
        require_none(values < 0, NEGATIVE)
    if 2 * most * step.denominator + step.numerator > LARGEST:
        values = values.astype(object)
    values = np.clip(values, -most, most)
    top, bottom = 2 * values * step.denominator + step.numerator, 2 * step.numerator
    return np.asarray(top // bottom, np.int64) - scale.lower


OTHER_UNIT = Rule(
    "amounts-unit-of-title",
    "Column {name}: a title says that amounts are in {said}, and unit_of_amount (--unit-of-amount) "
    "says {stated}. State the unit of the numbers as they are written, such as '{suggested}' "
    "(--unit-of-amount '{suggested}', unit_of_amount=), with the clip in this unit; or correct the "
    "title, if it is wrong.",
)


def require_unit(scale: Scale, titled: TitleUnit) -> None:
    """Raise UsageError where titles say another unit of the amounts than the operator.

    Examples
    --------
    >>> from geodp.io.read.rows.amount_titles import read_title
    >>> require_unit(Scale.of((0, 10), 1, "1,000 EUR", "income"), read_title("income (Tsd. EUR)"))
    """
    stated = read_unit(scale.unit)
    if not titled.differs_from(stated):
        return
    codes = [one for one in (titled.currencies, stated.currencies) if len(one) == 1]
    unit = min(codes[0]) if codes else titled.written if titled.currencies else scale.unit
    factor = "" if titled.factor in (None, 1) else f"{int(titled.factor or 1):,} "
    raise UsageError(
        OTHER_UNIT.format(
            name=printable(scale.name),
            said=printable(titled.written),
            stated=printable(scale.unit),
            suggested=printable(f"{factor}{unit}"),
        )
    )
