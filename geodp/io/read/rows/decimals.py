"""Exact decimals of columns: amounts, and weights, by which a record counts as many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import CodeError, InputError, Rule, UsageError, printable, require_none
from geodp.grid.markers import is_placeholder
from geodp.io.read.rows.amount_titles import find_unit
from geodp.io.read.rows.arrow import decode, map_values
from geodp.io.read.rows.columns import InputTable, RowPositions, find_column
from geodp.io.read.rows.fields import LOST, as_text, decimal_points, find_missing, narrow
from geodp.io.read.rows.survey import Survey
from geodp.typing import IntArray

PLACES = 20
"""Most digits after the decimal point of an amount."""

LARGEST = 1 << 62
"""Beyond this, whole numbers are computed in Python."""

PLAIN = rf"^[+-]?[0-9]{{1,18}}(\.[0-9]{{0,{PLACES}}})?$"

MISSING = Rule(
    "amount-missing",
    "an amount is missing: blank, NaN or written as unknown, and no amount stands for an unknown "
    "one; to leave such records out, name what is written as missing (--missing '' for blanks, "
    "missing=['']).",
)

MONEY = Rule(
    "amount-with-currency",
    "an amount has a currency or a unit beside it that is not the unit of the amount: write plain "
    "numbers, all in the one unit that unit_of_amount (--unit-of-amount) names, as two currencies "
    "do not add up.",
)

THOUSANDS = Rule(
    "amount-thousands",
    "an amount has separators of thousands, or a decimal comma: write it with digits and a decimal "
    "point only, or name the decimal mark (--decimal, decimal=).",
)

POINT_OR_THOUSANDS = Rule(
    "amount-with-point",
    "an amount such as 1.234 is a fraction, if its point is a decimal point, or more than a "
    "thousand: name the decimal mark (--decimal . or --decimal ,; decimal=).",
)

UNDERSCORE = Rule(
    "amount-underscore", "an amount has underscores between its digits; write digits alone."
)

BRACKETS = Rule(
    "amount-in-brackets",
    "an amount is in brackets, which may mark a negative or an uncertain number; write negative "
    "ones with a minus sign, and others without brackets.",
)

ROUNDED = Rule(
    "amount-rounded",
    "an amount was rounded to few digits (1.23E+05), as spreadsheets show numbers; export the "
    "original column with all digits.",
)

NO_NUMBER = Rule(
    "amount-not-number",
    "an amount is no number in plain digits, with at most 18 before and 20 after the decimal "
    "point.",
)

_GROUPED = re.compile(
    r"[+-]?[0-9]{1,3}([,.' \u2019\u00a0\u202f][0-9]{3})+([.,][0-9]*)?|[+-]?[0-9]*,[0-9]+"
)
_EXPONENT = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?[eE][+-]?0*[0-9]{1,2}")
_POINT_OR_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$"
_DIGITS = re.compile(r"[0-9]")


def exact_decimals(column: pa.Array, decimal: str | None) -> tuple[Any, int]:
    """Return the numbers of a column as whole multiples of a power of ten, and its exponent.

    Parameters
    ----------
    column : pyarrow.Array
        Numbers, or texts in plain digits.
    decimal : {".", ","}, optional
        See :class:`geodp.io.read.reader.Reader`.

    Returns
    -------
    int64[n] or object[n], int
        Python's whole numbers where int64 would not hold them.

    Raises CodeError at the first value that is missing or no plain number.
    """
    column = decode(column)
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_temporal(kind) or pa.types.is_nested(kind):
        raise CodeError(0, NO_NUMBER)
    require_none(column.is_null().to_numpy(zero_copy_only=False), MISSING)
    if pa.types.is_integer(kind):
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        if values.dtype == np.uint64 and (values > np.uint64(2**62)).any():
            values = np.minimum(values, np.uint64(2**62))
        return np.clip(values.astype(np.int64), -(10**18), 10**18), 0
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    column = narrow(column) if is_text else column
    texts = pc.utf8_trim_whitespace(as_text(decimal_points(column, decimal)))
    if pa.types.is_decimal(kind):
        # Zeros at the end are of the column's type, and not of the amount.
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1")
    if decimal is None and is_text:
        # Asked and not guessed, as of counts: the operator names the mark.
        either = pc.match_substring_regex(texts, _POINT_OR_THOUSANDS)
        require_none(either.to_numpy(zero_copy_only=False), POINT_OR_THOUSANDS)
    plain = pc.match_substring_regex(texts, PLAIN)
    if not pc.all(plain, min_count=0).as_py():
        # Numbers may be written with an exponent, which their decimal expansion has not.
        if pa.types.is_floating(kind):
            return _digits_of(_expand_floats(column, texts, plain))
        texts = map_values(texts, _expand)
        plain = pc.match_substring_regex(texts, PLAIN)
        bad = plain.to_numpy(zero_copy_only=False).argmin()
        if not plain[bad].as_py():
            raise CodeError(int(bad), diagnose(str(texts[bad].as_py())))
    return _digits_of(texts)


def _expand(text: str) -> str:
    """Write a number with an exponent of at most two digits in decimals; another text as it is."""
    is_number = _EXPONENT.fullmatch(text) and not re.fullmatch(LOST, text)
    return f"{Decimal(text):f}" if is_number else text


def _expand_floats(column: pa.Array, texts: pa.Array, plain: pa.Array) -> pa.Array:
    """Write floats in decimals, rounded to the digits that are read; CodeError for NaN."""
    numbers = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    finite = np.isfinite(numbers)
    if not finite.all():
        bad = int(finite.argmin())
        raise CodeError(bad, MISSING if np.isnan(numbers[bad]) else NO_NUMBER)
    at = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    rows = texts.to_pylist()
    for i in at:
        # An amount beyond all clips is cut to the largest that is read.
        rows[i] = f"{min(max(numbers[i], -1e17), 1e17):.{PLACES}f}"
    return pa.array(rows, pa.string())


def _digits_of(texts: pa.Array) -> tuple[Any, int]:
    """Convert plain decimals to whole numbers and the number of their decimal places."""
    point = pc.find_substring(texts, ".")
    after = pc.subtract(pc.subtract(pc.utf8_length(texts), point), 1)
    places = pc.max(pc.if_else(pc.less(point, 0), 0, after)).as_py() or 0
    numbers = texts.cast(pa.decimal128(38, places))
    # Of a decimal in 16 bytes, the lower 8 hold any number of at most 18 digits; longer ones, with
    # many decimal places, are computed in Python.
    words = np.frombuffer(numbers.buffers()[1], "<i8").reshape(-1, 2)
    words = words[numbers.offset : numbers.offset + len(numbers)]
    low, high = words[:, 0], words[:, 1]
    if (high == low >> 63).all() and (np.abs(low) <= 10**18).all():
        return low.astype(np.int64), places
    exact = [int(one.as_py().scaleb(places)) for one in numbers]
    return np.array(exact, object), places


def diagnose(text: str) -> Rule:
    """Return the rule that a text breaks which is no plain decimal; it never quotes the text."""
    low = text.lower()
    if not text or is_placeholder(text):
        return MISSING
    if _GROUPED.fullmatch(text):
        return THOUSANDS
    if re.fullmatch(r"[+-]?[0-9]+(_[0-9]+)+(\.[0-9]*)?", text):
        return UNDERSCORE
    if re.fullmatch(r"\([0-9][0-9.,]*\)", text):
        return BRACKETS
    if re.fullmatch(LOST, text):
        return ROUNDED
    if _DIGITS.search(text) and not re.fullmatch(r"[0-9.+-]+(e[+-]?[0-9]+)?", low):
        return MONEY
    return NO_NUMBER


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

WEIGHT_MULTIPLE = Rule(
    "weight-in-multiples",
    "Column {column}: by a title its weights are of a multiple of what a record stands for "
    "({written}), so that records would count too little: multiply them, or correct the title.",
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
        is_valid = is_number and 1 < largest <= MAX_WEIGHT
        if column is None or not is_valid:
            raise UsageError(
                "Weights (weight=) need their largest value, a whole number above 1 (max_weight=): "
                "public and chosen without the data, as larger weights count as this.",
                code="weights-bound",
            )
        return cls(column, int(largest), raked_to)

    def watch(self, tables: Iterable[InputTable]) -> Iterator[InputTable]:
        """Yield tables; InputError for one whose title says that weights are in multiples."""
        for table in tables:
            unit = find_unit(table, find_column(table, self.column))
            if unit.is_multiple:
                written = printable(unit.written)
                rule = WEIGHT_MULTIPLE.format(column=printable(self.column), written=written)
                raise InputError(rule, file=table.name)
            yield table

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
        rules = {MISSING.code: WEIGHT_MISSING, POINT_OR_THOUSANDS.code: WEIGHT_POINT}
        raise CodeError(error.position, rules.get(error.code, WEIGHT_FORM)) from None
    one = 10**exponent
    # Compared without doubling, which might not fit; a half is rounded up to one.
    require_none(values < one - one // 2, NO_WEIGHT)
    if 2 * (largest + 2) * one > LARGEST:
        values = values.astype(object)
    values = np.minimum(values, (largest + 1) * one)
    return np.asarray((2 * values + one) // (2 * one), np.int64)
