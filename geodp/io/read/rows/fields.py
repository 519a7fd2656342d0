"""Fields of rows as numbers: counts, coordinates, indices, labels and codes.

Every function takes a batch of one column, text or numbers, and raises CodeError at the first
value that it refuses. Rules say what kind of value was found, never the value.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import CodeError
from geodp.io.opening import texts_of
from geodp.io.read.rows.arrow import numbers_of_digits
from geodp.table.counts import MOST_PEOPLE, WHOLE, whole_counts

MARK = (
    "a count is blank or a mark instead of a number; if it means nobody, name it as missing "
    "(--missing, missing=), otherwise complete the data."
)
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
NAN = "nan"
"""How a value that means nobody is often written."""


def counts(
    column: pa.Array, *, missing: Sequence[str | float] = (), mark: str = MARK
) -> NDArray[np.int64]:
    """Return Counts of people: whole, not negative, below 2**60; int64[n].

    Parameters
    ----------
    column : string, integer, floating or decimal[n]
        Numbers may be written with a fraction of zeros or an exponent, not with separators. They
        are read digit by digit; floats from 2**53 on are refused, as they may have lost some.
    missing : sequence of str or number
        Values that count 0, as they are written or as numbers: -1 is -1.0 too. ``""`` stands for
        blanks, null and NaN; ``nan`` for NaN, in letters or as a float, and for null among
        numbers.
    mark : str
        The rule for a value without any digit that is not among them.

    Examples
    --------
    >>> counts(pa.array(["3", "12.0", "-1"]), missing=[-1])
    array([ 3, 12,  0])
    """
    plain = _plain(column, decimals=True)
    tokens = [str(token).strip() for token in missing]
    amounts = {amount for token in tokens if (amount := _amount(token)) is not None}
    if pa.types.is_string(plain.type):
        digits = any(isinstance(amount, Decimal) and amount >= 0 for amount in amounts)
        whole = None if digits else numbers_of_digits(plain)
        if whole is None:
            plain = _without(pc.fill_null(pc.utf8_trim_whitespace(plain), ""), tokens, amounts)
            whole = numbers_of_digits(plain)
        if whole is not None:
            return whole_counts(whole)
        numbers = pc.match_substring_regex(plain, _NUMBER)
        _require(plain, numbers, lambda text: _diagnose(text, mark))
        return _exact(plain)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind) and not amounts and not plain.null_count:
        return whole_counts(numbers_of(plain))
    nobody = pa.scalar(Decimal(0) if pa.types.is_decimal(plain.type) else 0, plain.type)
    absent = _holdable([amount for amount in amounts if isinstance(amount, Decimal)], kind)
    if absent:
        plain = pc.if_else(pc.is_in(plain, pa.array(absent, plain.type)), nobody, plain)
    if "" in tokens or NAN in amounts:
        plain = pc.fill_null(plain, nobody)
    _require(plain, pc.is_valid(plain), lambda _: mark)
    if pa.types.is_decimal(plain.type):
        return _exact(plain.cast(pa.string()))
    numbers = plain.to_numpy(zero_copy_only=False)
    if pa.types.is_floating(kind):
        numbers = numbers.astype(kind.to_pandas_dtype())  # how many digits it can have kept
    return whole_counts(numbers)


def fractions(
    column: pa.Array, *, missing: Sequence[str | float] = (), mark: str = MARK
) -> NDArray[np.float64]:
    """Return numbers that need not be whole, as :func:`counts` does: float64[n]."""
    plain = _plain(column)
    tokens = [str(token).strip() for token in missing]
    amounts = {amount for token in tokens if (amount := _amount(token)) is not None}
    if pa.types.is_string(plain.type):
        plain = _without(pc.fill_null(pc.utf8_trim_whitespace(plain), ""), tokens, amounts)
        numbers = pc.match_substring_regex(plain, _NUMBER)
        _require(plain, numbers, lambda text: _diagnose(text, mark))
        plain = plain.cast(pa.float64())
    plain = plain.cast(pa.float64())
    if "" in tokens or NAN in amounts:
        plain = pc.fill_null(plain, 0.0)
    _require(plain, pc.is_valid(plain), lambda _: mark)
    values: NDArray[np.float64] = plain.to_numpy(zero_copy_only=False).astype(
        np.float64, copy=False
    )
    for amount in amounts:
        if isinstance(amount, Decimal):
            values = np.where(values == float(amount), 0.0, values)
    return values


def decimal_points(column: pa.Array, decimal: str | None) -> pa.Array:
    """Return texts of numbers with a point for `decimal`, and nothing between thousands.

    Whatever is no such number, and every column that is no text, stays as it is. None: all do.

    >>> decimal_points(pa.array(["1.234,5", "1,5", "1.5"]), ",").to_pylist()
    ['1234.5', '1.5', '1.5']
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if decimal is None or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    other = re.escape("." if decimal == "," else ",")
    mark = re.escape(decimal)
    between = rf"[{other}'\u2019 \u00a0\u202f]"
    whole = rf"[0-9]{{1,3}}(?:{between}[0-9]{{3}})+|[0-9]+"
    coded = pc.utf8_trim_whitespace(column.cast(pa.string())).dictionary_encode()
    number = re.compile(rf"([+-]?)({whole})(?:{mark}([0-9]*))?")
    words = []
    for word in coded.dictionary.to_pylist():
        found = number.fullmatch(word)
        if found:
            digits = re.sub(between, "", found[2])
            word = found[1] + digits + (f".{found[3]}" if found[3] else "")
        words.append(word)
    return pa.array(words, pa.string()).take(coded.indices)


def _amount(text: str) -> Decimal | str | None:
    """Return what a text means as a number: its value, `NAN`, or None where it is no number."""
    if re.fullmatch(_NUMBER, text) or re.fullmatch(_INFINITE, text):
        with contextlib.suppress(InvalidOperation):  # an exponent of twenty digits
            return Decimal(text)
    return NAN if text.lower().lstrip("+-") == NAN else None


def _without(texts: pa.Array, tokens: Sequence[str], amounts: set[Decimal | str]) -> pa.Array:
    """Trimmed texts, with "0" for those that are among tokens, or mean a number that is."""
    if tokens:
        texts = pc.if_else(pc.is_in(texts, pa.array(tokens, pa.string())), "0", texts)
    if not amounts:
        return texts
    coded = texts.dictionary_encode()
    words = coded.dictionary.to_pylist()
    words = ["0" if _amount(word) in amounts else word for word in words]
    return pa.array(words, pa.string()).take(coded.indices)


def _holdable(amounts: Sequence[Decimal], kind: Any) -> list[Any]:
    """Those of some numbers that a column of a type can hold, as it holds them."""
    found: list[Any] = []
    for amount in amounts:
        # Beyond the type, or more digits than it has.
        with contextlib.suppress(pa.ArrowInvalid, OverflowError):
            if pa.types.is_integer(kind) and abs(amount) < 1 << 64 and amount == int(amount):
                found.append(pa.scalar(int(amount), kind).as_py())
            elif pa.types.is_decimal(kind) and amount.is_finite():
                found.append(pa.scalar(amount, kind).as_py())
            elif pa.types.is_floating(kind):
                found.append(float(kind.to_pandas_dtype()(float(amount))))
    return found


def _exact(texts: pa.Array) -> NDArray[np.int64]:
    """Return counts of numbers in digits, int64[n].

    Each is read once, however often it is there.
    """
    coded = texts.dictionary_encode()
    code = coded.indices.to_numpy()
    values = np.zeros(len(coded.dictionary), np.int64)
    good = np.zeros(values.size, np.bool_)
    for number, text in enumerate(coded.dictionary.to_pylist()):
        with contextlib.suppress(InvalidOperation):  # an exponent of twenty digits
            value = Decimal(text)
            # Its size comes first: all digits of 1e999999 need not be written out.
            if 0 <= value < MOST_PEOPLE and value == value.to_integral_value():
                values[number], good[number] = int(value), True
    if not good.all():
        raise CodeError(int(good[code].argmin()), WHOLE)
    return np.asarray(values[code], np.int64)


def coordinates(column: pa.Array) -> NDArray[np.float64]:
    """Coordinates: finite numbers with a decimal point; float64[n]."""
    plain = _plain(column)
    if pa.types.is_string(plain.type):
        plain = _floats(plain)
    _require(plain, pc.is_valid(plain), lambda _: "a coordinate is missing.")
    values: NDArray[np.float64] = numbers_of(plain).astype(np.float64, copy=False)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise CodeError(int(bad[0]), "a coordinate must be a finite number.")
    return values


def _floats(texts: pa.Array) -> pa.Array:
    """Numbers with a decimal point as floats; CodeError at the first text that is none."""
    with contextlib.suppress(pa.ArrowInvalid):  # it quotes the text
        found = texts.cast(pa.float64())
        if not found.null_count and pc.all(pc.is_finite(found), min_count=0).as_py():
            return found
    texts = pc.fill_null(pc.utf8_trim_whitespace(texts), "")
    _require(texts, pc.match_substring_regex(texts, _NUMBER), _coordinate_rule)
    return texts.cast(pa.float64())


def indices(column: pa.Array) -> NDArray[np.int64]:
    """Cell indices: whole numbers, possibly negative; int64[n]."""
    values = coordinates(column)
    bad = np.flatnonzero((values != np.floor(values)) | (np.abs(values) > 2**52))
    if bad.size:
        raise CodeError(int(bad[0]), "a cell index must be a whole number, counted from 0.")
    return values.astype(np.int64)


def labels(column: pa.Array, allowed: Sequence[str]) -> NDArray[np.int64]:
    """Positions of labels among those allowed; int64[n]."""
    plain = _plain(column)
    if not pa.types.is_string(plain.type):
        plain = plain.cast(pa.string())
    plain = pc.utf8_trim_whitespace(plain)
    found = pc.index_in(plain, pa.array([label.strip() for label in allowed], pa.string()))
    _require(
        plain,
        pc.is_valid(found),
        lambda _: f"the labels of the attribute are {', '.join(allowed)}; rename or add labels.",
    )
    positions: NDArray[np.int64] = found.to_numpy().astype(np.int64)
    return positions


def codes(column: pa.Array) -> NDArray[Any]:
    """Cell codes for :meth:`geodp.grid.grid.Lattice.parse`; int64[n] or str objects[n]."""
    plain = _plain(column)
    _require(plain, pc.is_valid(plain), lambda _: "a code is missing: drop the rows without one.")
    if not pa.types.is_string(plain.type):
        return numbers_of(plain)
    values = numbers_of_digits(plain, as_names=True)  # which parse faster
    if values is None:
        plain = pc.utf8_trim_whitespace(plain)
        values = numbers_of_digits(plain, as_names=True)
    return texts_of(plain) if values is None else values


def _plain(column: pa.Array, *, decimals: bool = False) -> pa.Array:
    """Return a column of text or of integers or floats, whatever it was stored as; NaN is null.

    ``decimals``: those of a fixed point stay as they are.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_integer(kind):
        return column
    if pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _text_of_bytes(column)
    if decimals and pa.types.is_decimal(kind):
        return column
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        return pc.if_else(pc.is_nan(column), None, column)
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    said = "nested values" if pa.types.is_nested(kind) else f"type {kind}"  # whose names are values
    raise CodeError(0, f"a column of {said} is neither numbers nor text.")


def numbers_of(column: pa.Array) -> NDArray[Any]:
    """Return integers or floats as they are, not to be written to; NaN for a null among them.

    By DLPack where none is missing: Arrow's own way imports pandas, where it is installed.
    """
    if len(column) and not column.null_count:
        return np.asarray(np.from_dlpack(column))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def as_text(column: pa.Array) -> pa.Array:
    """Return a column as it is written; CodeError for bytes that are no UTF-8."""
    kind = column.type
    return _plain(column) if pa.types.is_binary(kind) else column.cast(pa.string())


def _text_of_bytes(column: pa.Array) -> pa.Array:
    """Return bytes, as some programs write texts, as text."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        pass  # it quotes the bytes
    bad = next(i for i in range(len(column)) if not _is_text(column[i].as_py()))
    raise CodeError(bad, "the text is not UTF-8; write the column as text.")


def _is_text(value: bytes | None) -> bool:
    try:
        return isinstance((value or b"").decode("utf-8"), str)
    except UnicodeDecodeError:
        return False


def _require(column: pa.Array, valid: pa.Array, rule: Any) -> None:
    if not pc.all(valid, min_count=0).as_py():
        position = int(np.argmin(valid.to_numpy(zero_copy_only=False)))
        raise CodeError(position, rule(column[position].as_py()))


def _diagnose(text: str, mark: str) -> str:
    """Return what is wrong with a text that is no number, without saying the text."""
    if text.lower().lstrip("+-") in (NAN, "inf", "infinity"):
        return "a count must be a finite number; if it means nobody, name it (--missing, missing=)."
    if not any(letter.isdecimal() for letter in text):
        return mark
    if not text.isascii() and text.isdecimal():
        return "a count is written in ASCII digits; convert full-width digits (NFKC) first."
    if re.fullmatch(r"[+-]?\d{1,3}([,.' ]\d{3})+", text):
        return "a count has thousands separators; say which mark is the decimal's (--decimal)."
    if re.fullmatch(r"[+-]?\d+,\d*", text):
        return (
            "a count has a decimal comma; counts are whole numbers, and a mean is no count. For "
            "modelled counts name the mark and how to round (--decimal , --round nearest)."
        )
    return "a count must be a number in plain digits."


def _coordinate_rule(text: str) -> str:
    if not text:
        return "a coordinate is missing."
    if re.fullmatch(r"[+-]?\d+,\d*", text):
        return "a coordinate has a decimal comma; write a decimal point, or say so (--decimal ,)."
    return "a coordinate must be a number with a decimal point."
