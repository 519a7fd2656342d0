"""Exact decimals of columns: amounts and weights, as whole multiples of a power of ten."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import CodeError, Rule, require_none
from geodp.grid.markers import is_placeholder
from geodp.io.read.rows.arrow import decode
from geodp.io.read.rows.fields import as_text, decimal_points

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

FULL_WIDTH = Rule(
    "amount-full-width",
    "an amount has digits other than 0 to 9, such as full-width ones; convert them (Unicode NFKC).",
)

NO_NUMBER = Rule(
    "amount-not-number",
    "an amount is no number in plain digits, with at most 18 before and 20 after the decimal "
    "point.",
)

_GROUPED = re.compile(
    r"[+-]?[0-9]{1,3}([,.' \u2019\u00a0\u202f][0-9]{3})+([.,][0-9]*)?|[+-]?[0-9]*,[0-9]+"
)
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
    texts = pc.utf8_trim_whitespace(as_text(decimal_points(column, decimal)))
    if pa.types.is_decimal(kind):
        # Zeros at the end are of the column's type, and not of the amount.
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1")
    if decimal is None and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        # Asked and not guessed, as of counts: the operator names the mark.
        either = pc.match_substring_regex(texts, _POINT_OR_THOUSANDS)
        require_none(either.to_numpy(zero_copy_only=False), POINT_OR_THOUSANDS)
    # Workbooks mark the decimals of their numbers so.
    texts = pc.replace_substring_regex(texts, r"^([+-]?[0-9]+\.?[0-9]*)e0$", r"\1")
    plain = pc.match_substring_regex(texts, PLAIN)
    if not pc.all(plain, min_count=0).as_py():
        # Floats may be written with an exponent, which their decimal expansion has not.
        if not pa.types.is_floating(kind):
            bad = int(np.argmin(plain.to_numpy(zero_copy_only=False)))
            raise CodeError(bad, diagnose(str(texts[bad].as_py())))
        texts = _expand(column, texts, plain)
    return _digits_of(texts)


def _expand(column: pa.Array, texts: pa.Array, plain: pa.Array) -> pa.Array:
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
    if not text.isascii() and any(one.isdecimal() and not one.isascii() for one in text):
        return FULL_WIDTH
    if _DIGITS.search(text) and not re.fullmatch(r"[0-9.+-]+(e[+-]?[0-9]+)?", low):
        return MONEY
    return NO_NUMBER
