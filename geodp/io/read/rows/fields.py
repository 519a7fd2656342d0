"""Fields of rows as numbers: counts, coordinates, indices, labels and codes.

Every function takes a batch of one column, text or numbers, and raises CodeError at the first
value that it refuses. Rules name the kind of the value and never quote it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, require_none
from geodp.grid.markers import is_formula_error, is_placeholder
from geodp.grid.names import WIDE
from geodp.io.numbers import numbers_of
from geodp.io.opening import texts_of
from geodp.io.read.rows.arrow import decode, is_ascii, map_values, numbers_of_digits
from geodp.io.read.rows.names import read_label, spell
from geodp.table.counts import COUNT_FORM, MAX_PEOPLE, as_counts

COUNT_IS_SYMBOL = Rule(
    "count-is-mark",
    "a count is blank or a symbol instead of a number; if it means zero, name it as missing "
    "(--missing, missing=), otherwise complete the data. If units or totals follow the header, "
    "or notes follow the table, name its first row (--first-row, first_row=) or its last row "
    "(--last-row, last_row=).",
)
BROKEN = Rule(
    "value-line-break",
    "the value holds a line break; a quote in front of it may not be closed, so that rows vanish "
    "inside a field: close it, or write the value in one line.",
)
ERROR = Rule(
    "count-is-error",
    "a count is an error of a formula, such as #N/A or #DIV/0!; correct it where the table was "
    "made, or name it as missing (--missing, missing=) if it should count as zero.",
)
SHORT = Rule(
    "count-rounded",
    "a count was rounded to few digits (1.23E+05), as spreadsheets show numbers; export the "
    "original column with all digits.",
)
LARGE = Rule(
    "count-too-large",
    "A number this large is no count of people; check the column (--value, value=).",
)
NO_LABEL = (
    "write the relevant part, such as the hour from 0 to 23, into a column of its own, or "
    "publish one table for each time as a series (geodp publish-series)."
)
FRACTION = Rule(
    "count-fraction",
    "Counts are whole numbers; to round modelled, fractional counts, choose how (--round "
    "nearest, --round stochastic; rounding=).",
)
POINT = Rule(
    "count-with-point",
    "If its points separate thousands, name the comma as the decimal mark (--decimal ,); if they "
    "are decimal points, name the point (--decimal .), and of modelled, fractional counts how to "
    "round (--round nearest, rounding=).",
)
NEGATIVE = Rule(
    "count-negative",
    "If a negative number stands for a missing value, name it as missing (--missing, missing=); "
    "it then counts as zero.",
)
HIDDEN = Rule(
    "count-hidden",
    "a count is a range or a bound, such as below 5 or 5 to 9, of a suppressed value; complete "
    "the data, or name it as missing (--missing, missing=) if it should count as zero.",
)
FLAGGED = Rule(
    "count-flagged",
    "a count has a flag beside its number, such as a mark for provisional, estimated or "
    "footnoted values, a unit or brackets; to count its number, name the flag (--flags p,e; "
    "flags=), otherwise move flags to a column of their own.",
)
THOUSANDS = Rule(
    "count-thousands-mark",
    "a count has thousands separators; name the decimal mark (--decimal, decimal=), and the "
    "other mark, blanks and apostrophes separate thousands.",
)
DECIMAL = Rule(
    "count-decimal-comma",
    "a count has a decimal comma, but counts are whole numbers. For modelled, fractional counts "
    "name the mark and how to round (--decimal , --round nearest).",
)
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_THOUSANDTHS = r"[+-]?[0-9]{1,3}(\.[0-9]{3})+"
_ONE_OR_THOUSAND = r"^[+]?[1-9][0-9]{0,2}\.000$"
# A spreadsheet shows 123,456 as 1.23E+05: the exponent exceeds the number of decimals, so the
# digits between are unknown and a count from it would be silently wrong.
LOST = "|".join(
    rf"^[+-]?[0-9]+[.][0-9]{{{places}}}[eE][+]?0*([{places + 1}-9]|[1-9][0-9]+)$"
    for places in range(1, 9)
)
"""Few decimals and an exponent that moves the point beyond them: digits were rounded away."""

_INFINITE = r"(?i)^[+-]?inf(inity)?$"
MISSING = Rule(
    "coordinate-missing", "a coordinate is missing; drop the rows without one, or complete them."
)
MAX_DIGITS = 76
"""Most digits of a decimal of Arrow."""

NAN = "nan"
"""A common way to write a missing value."""


def counts(
    column: pa.Array,
    *,
    missing: Sequence[str | float] = (),
    symbol_rule: str = COUNT_IS_SYMBOL,
    point: bool = False,
) -> NDArray[np.int64]:
    """Return counts of people: integers from 0 to 2**60 - 1, as int64[n].

    Parameters
    ----------
    column : string, integer, floating or decimal[n]
        Numbers may be written with a fraction of zeros or an exponent, not with separators. They
        are read digit by digit; floats from 2**53 on are refused, as they may have lost some.
    missing : sequence of str or number
        Values that count as 0, by their text or as numbers: -1 also matches -1.0. ``""`` stands for
        blanks, null and NaN; ``nan`` for NaN, in letters or as a float, and for null among
        numbers.
    symbol_rule : str
        The rule for a value without any digit that is not among them.
    point : bool
        Whether the point was named as the decimal mark: in texts 1.000 is a thousand otherwise, or
        one, and refused.

    Examples
    --------
    >>> counts(pa.array(["3", "12.0", "-1"]), missing=[-1])
    array([ 3, 12,  0])
    """
    plain = _plain(column, decimals=True)
    tokens, amounts = _named(missing)
    if pa.types.is_string(plain.type):
        # Plain digits are the common case and take the kernel's fast path. A non-negative missing
        # number, such as 9999, must first be replaced by 0, so it forbids that path.
        digits = any(isinstance(amount, Decimal) and amount >= 0 for amount in amounts)
        integers = None if digits else numbers_of_digits(plain)
        if integers is None:
            plain = _without(_trim(plain), tokens, amounts)
            integers = numbers_of_digits(plain)
        if integers is not None:
            return _as_counts(integers)
        numbers = pc.match_substring_regex(plain, _NUMBER)
        _require(plain, numbers, lambda text: diagnose(text, symbol_rule))
        _require(plain, pc.invert(pc.match_substring_regex(plain, LOST)), SHORT)
        if not point:
            is_number = pc.match_substring_regex(plain, _ONE_OR_THOUSAND)
            rule = Rule(POINT.code, f"{COUNT_FORM} {POINT}")
            _require(plain, pc.invert(is_number), rule)
        return _exact(plain)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind) and not amounts and not plain.null_count:
        return _as_counts(numbers_of(plain))
    zero = pa.scalar(Decimal(0) if pa.types.is_decimal(plain.type) else 0, plain.type)
    # Compare in the column's own type: 0.1 as float32 is another number than as float64.
    absent = _representable([amount for amount in amounts if isinstance(amount, Decimal)], kind)
    if absent:
        plain = pc.if_else(pc.is_in(plain, pa.array(absent, plain.type)), zero, plain)
    if "" in tokens or NAN in amounts:
        plain = pc.fill_null(plain, zero)
    _require(plain, pc.is_valid(plain), symbol_rule)
    if pa.types.is_decimal(plain.type):
        return _exact(plain.cast(pa.string()))
    numbers = plain.to_numpy(zero_copy_only=False)
    if pa.types.is_floating(kind):
        # The type limits the number of exact digits.
        numbers = numbers.astype(kind.to_pandas_dtype())
    return _as_counts(numbers)


def _as_counts(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers as counts int64[n]; a CodeError for a negative one also says what to do."""
    # Raised outside the handler, so that the first error is not the context of the second.
    try:
        return as_counts(numbers)
    except CodeError as error:
        position, rule = error.position, error.rule
    # One rule covers negative, too large and fractional numbers; the remedy depends on which it is.
    if rule == COUNT_FORM:
        value = numbers[position]
        more = NEGATIVE if value < 0 else LARGE if value >= MAX_PEOPLE else FRACTION
        rule = Rule(more.code, f"{rule} {more}")
    raise CodeError(position, rule)


def fractions(
    column: pa.Array, *, missing: Sequence[str | float] = (), symbol_rule: str = COUNT_IS_SYMBOL
) -> NDArray[np.float64]:
    """Return numbers that need not be whole, as :func:`counts` does: float64[n]."""
    plain = _plain(column)
    tokens, amounts = _named(missing)
    if pa.types.is_string(plain.type):
        plain = _without(_trim(plain), tokens, amounts)
        numbers = pc.match_substring_regex(plain, _NUMBER)
        _require(plain, numbers, lambda text: diagnose(text, symbol_rule))
        _require(plain, pc.invert(pc.match_substring_regex(plain, LOST)), SHORT)
    plain = plain.cast(pa.float64())
    if "" in tokens or NAN in amounts:
        plain = pc.fill_null(plain, 0.0)
    _require(plain, pc.is_valid(plain), symbol_rule)
    values: NDArray[np.float64] = plain.to_numpy(zero_copy_only=False).astype(
        np.float64, copy=False
    )
    for amount in amounts:
        if isinstance(amount, Decimal):
            values = np.where(values == float(amount), 0.0, values)
    return values


def find_missing(column: pa.Array, missing: Sequence[str | float]) -> NDArray[np.bool_]:
    """Return where a column has values that were named as missing: bool[n].

    They are compared as :func:`counts` does. Columns of other types have none, and raise CodeError
    where there is any that is named.
    """
    if not missing:
        return np.zeros(len(column), np.bool_)
    plain = _plain(column, decimals=True)
    tokens, amounts = _named(missing)
    if pa.types.is_string(plain.type):
        texts = _trim(plain)
        coded = texts.dictionary_encode()
        entries = coded.dictionary.to_pylist()
        named = [entry in tokens or _amount(entry) in amounts for entry in entries]
        return np.asarray(np.array(named, np.bool_)[coded.indices.to_numpy()], np.bool_)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    numbers = [amount for amount in amounts if isinstance(amount, Decimal)]
    absent = pa.array(_representable(numbers, kind), plain.type)
    is_missing = pc.is_in(plain, absent)
    if "" in tokens or NAN in amounts:
        is_missing = pc.or_(is_missing, pc.is_null(plain))
    return np.asarray(is_missing.to_numpy(zero_copy_only=False), np.bool_)


def decimal_points(column: pa.Array, decimal: str | None, thousands: bool = True) -> pa.Array:
    """Replace the decimal mark of numbers by a point and drop their thousands separators.

    Other texts and columns that are not text stay unchanged; with ``decimal=None``, all do.

    Parameters
    ----------
    column : array[n]
    decimal : {".", ","}, optional
    thousands : bool
        Whether the other mark, blanks and apostrophes may separate thousands, as in counts. In
        coordinates they may not: three digits after a mark could be decimals as well.

    Raises CodeError at the first number with a point that does not separate thousands, where the
    decimal mark is a comma.

    >>> decimal_points(pa.array(["1.234,5", "1,5", "1.234"]), ",").to_pylist()
    ['1234.5', '1.5', '1234']
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if decimal is None or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    texts = pc.utf8_trim_whitespace(narrow(column.cast(pa.string())))
    point = re.escape(decimal)
    between = rf"[{re.escape('.' if decimal == ',' else ',')}'\u2019 \u00a0\u202f]"
    grouped = rf"[0-9]{{1,3}}(?:({between})[0-9]{{3}}(?:\3[0-9]{{3}})*)"
    integer = rf"{grouped}|[0-9]+" if thousands else "[0-9]+"
    number = re.compile(rf"([+-]?)({integer})(?:{point}([0-9]*))?")
    # Work on the distinct texts: columns of counts repeat a few thousand values.
    coded, wrong = texts.dictionary_encode(), []
    entries = coded.dictionary.to_pylist()
    for position, entry in enumerate(entries):
        if match := number.fullmatch(entry):
            first, digits, *_, rest = match.groups()
            digits = re.sub("[^0-9]", "", digits)
            entries[position] = first + digits + (f".{rest}" if rest else "")
        elif decimal == "," and "." in entry and re.fullmatch(_NUMBER, entry):
            wrong.append(position)
    if wrong:
        first_wrong = pc.is_in(coded.indices, pa.array(wrong, coded.indices.type))
        _require(texts, pc.invert(pc.fill_null(first_wrong, False)), _other_separator(thousands))
    return pa.array(entries, pa.string()).take(coded.indices)


def _other_separator(thousands: bool) -> str:
    """Return the rule for a number whose point contradicts a decimal comma."""
    if thousands:
        return Rule(
            "count-point-other-mark",
            "a count has a point that separates no thousands, and the decimal mark is a comma "
            "(--decimal ,); write all numbers with one mark.",
        )
    return Rule(
        "coordinate-with-point",
        "a coordinate has a point, and the decimal mark is a comma (--decimal ,), which holds for "
        "counts and coordinates; nothing separates thousands in coordinates. Write them with "
        "commas, or counts without a mark and leave the option out.",
    )


def _amount(text: str) -> Decimal | str | None:
    """Return the value of a numeric text, `NAN` for one that says so, None for any other."""
    # Decimal compares 1, 1.0 and 1e0 as equal without rounding, unlike float beyond 2**53.
    if re.fullmatch(_NUMBER, text) or re.fullmatch(_INFINITE, text):
        with contextlib.suppress(InvalidOperation):  # an exponent of twenty digits
            return Decimal(text)
    return NAN if text.lower().lstrip("+-") == NAN else None


def _named(missing: Sequence[str | float]) -> tuple[list[str], set[Decimal | str]]:
    """Return the texts that mean nobody, and the amounts that some of them write."""
    tokens = [str(token).strip() for token in missing]
    return tokens, {amount for token in tokens if (amount := _amount(token)) is not None}


def _without(texts: pa.Array, tokens: Sequence[str], amounts: set[Decimal | str]) -> pa.Array:
    """Replace the missing values among trimmed texts by "0": by their text or their number."""
    if tokens:
        texts = pc.if_else(pc.is_in(texts, pa.array(tokens, pa.string())), "0", texts)
    if not amounts:
        return texts
    return map_values(texts, lambda text: "0" if _amount(text) in amounts else text)


def _representable(amounts: Sequence[Decimal], kind: Any) -> list[Any]:
    """Return the amounts that a column of a type can hold, as values of that type."""
    values: list[Any] = []
    for amount in amounts:
        # Beyond the type, or more digits than it has.
        with contextlib.suppress(pa.ArrowInvalid, OverflowError):
            if pa.types.is_integer(kind) and abs(amount) < 1 << 64 and amount == int(amount):
                values.append(pa.scalar(int(amount), kind).as_py())
            elif pa.types.is_decimal(kind) and amount.is_finite():
                values.append(pa.scalar(amount, kind).as_py())
            elif pa.types.is_floating(kind):
                values.append(float(kind.to_pandas_dtype()(float(amount))))
    return values


def _exact(texts: pa.Array) -> NDArray[np.int64]:
    """Return decimal texts as counts int64[n] without a detour over floats.

    Each distinct text is parsed once.
    """
    # Decimal keeps all digits; a float would round numbers of 16 digits or more.
    coded = texts.dictionary_encode()
    code = coded.indices.to_numpy()
    values = np.zeros(len(coded.dictionary), np.int64)
    good = np.zeros(values.size, np.bool_)
    for number, text in enumerate(coded.dictionary.to_pylist()):
        with contextlib.suppress(InvalidOperation):  # an exponent of twenty digits
            value = Decimal(text)
            # Its size comes first: all digits of 1e999999 need not be written out.
            if 0 <= value < MAX_PEOPLE and value == value.to_integral_value():
                values[number], good[number] = int(value), True
    if not good.all():
        position = int(good[code].argmin())
        text = texts[position].as_py()
        more = NEGATIVE if text.startswith("-") else FRACTION
        if re.fullmatch(_THOUSANDTHS, text):
            more = POINT
        elif re.fullmatch(r"[+]?([0-9]{19,}[.]?0*|[0-9.]+[eE][+]?[0-9]{2,})", text):
            more = LARGE
        raise CodeError(position, f"{COUNT_FORM} {more}", code=more.code)
    return np.asarray(values[code], np.int64)


INDEX_FORM = Rule(
    "cell-index-not-whole",
    "a cell index must be a whole number, counted from 0, without a mark of decimals or thousands.",
)


def coordinates(column: pa.Array) -> NDArray[np.float64]:
    """Return coordinates as finite numbers, float64[n]; texts need a decimal point."""
    plain = _plain(column)
    if pa.types.is_string(plain.type):
        plain = _floats(plain)
    _require(plain, pc.is_valid(plain), MISSING)
    values: NDArray[np.float64] = numbers_of(plain).astype(np.float64, copy=False)
    # An infinite coordinate would be cast to an arbitrary cell index.
    rule = Rule("coordinate-missing", "a coordinate must be a finite number; drop such rows.")
    require_none(~np.isfinite(values), rule)
    return values


def _floats(texts: pa.Array) -> pa.Array:
    """Return texts of numbers as floats; CodeError at the first that is no number."""
    # Arrow's message quotes the value, which is confidential: it is suppressed, and the row is
    # located again below without it.
    with contextlib.suppress(pa.ArrowInvalid):  # it quotes the text
        numbers = texts.cast(pa.float64())
        if not numbers.null_count and pc.all(pc.is_finite(numbers), min_count=0).as_py():
            return numbers
    texts = _trim(texts)
    _require(texts, pc.match_substring_regex(texts, _NUMBER), _coordinate_rule)
    return texts.cast(pa.float64())


def indices(column: pa.Array) -> NDArray[np.int64]:
    """Return cell indices: whole numbers, possibly negative; int64[n]."""
    plain = _plain(column)
    if pa.types.is_string(plain.type):
        # 1.000 may be one or a thousand.
        texts = _trim(plain)
        marked = pc.match_substring_regex(texts, f",|^({_THOUSANDTHS})$")
        _require(texts, pc.invert(marked), INDEX_FORM)
    values = coordinates(plain)
    require_none((values != np.floor(values)) | (np.abs(values) > 2**52), INDEX_FORM)
    return values.astype(np.int64)


def labels(column: pa.Array, allowed: Sequence[str]) -> NDArray[np.int64]:
    """Return the positions of labels among those allowed; int64[n].

    Numbers that are stored as such are labels that mean the same number: 1 is "01". Texts are
    labels as they are written, in another spelling, or as
    :func:`geodp.io.read.rows.names.read_label` reads them.
    """
    plain, matched = _match_labels(column, allowed)
    rule = Rule(
        "label-not-of-attribute",
        f"the labels of the attribute are {', '.join(allowed)}; rename or add labels, and leave "
        "rows of totals or without a label out (--where, where=).",
    )
    _require(plain, pc.is_valid(matched), rule)
    positions: NDArray[np.int64] = matched.to_numpy().astype(np.int64)
    return positions


def find_labels(column: pa.Array, allowed: Sequence[str]) -> NDArray[np.int32]:
    """Return the positions of labels as :func:`labels` does; their number for any other value.

    Returns
    -------
    int32[n]
    """
    _, matched = _match_labels(column, allowed)
    positions = pc.fill_null(matched, len(allowed)).to_numpy(zero_copy_only=False)
    return np.asarray(positions, np.int32)


def _match_labels(column: pa.Array, allowed: Sequence[str]) -> tuple[pa.Array, pa.Array]:
    """Return texts or numbers, and their positions among labels: int32[n], null where unknown."""
    plain = _plain(column)
    candidates = [label.strip() for label in allowed]
    # A column stored as numbers has lost leading zeros, so "01" has to match 1.
    if not pa.types.is_string(plain.type):
        plain, candidates = plain.cast(pa.string()), _numerals(candidates)
    plain = pc.utf8_trim_whitespace(plain)
    matched = pc.index_in(plain, pa.array(candidates, pa.string()))
    if matched.null_count and (
        spellings := _spellings(plain.filter(pc.is_null(matched)), candidates)
    ):
        keys = pa.array([*spellings], pa.string())
        numbers = pa.array([*spellings.values()], pa.int32())
        matched = pc.coalesce(matched, numbers.take(pc.index_in(plain, keys)))
    return plain, matched


def _spellings(texts: pa.Array, candidates: Sequence[str]) -> dict[str, int]:
    """Map texts that spell a label differently to the position of that label."""
    spelt = [spell(label) for label in candidates]
    numbers = {label: i for i, label in enumerate(spelt) if spelt.count(label) == 1}
    read = read_label(candidates)
    matches = {}
    for text in texts.unique().drop_null().to_pylist():
        spelling = spell(text)
        matches[text] = numbers.get(spelling, numbers.get(read(spelling)))
    # A spelling that several labels share is left out: which of them is meant is unknown.
    return {text: number for text, number in matches.items() if number is not None}


def _numerals(labels: Sequence[str]) -> list[str]:
    """Return labels as a numeric column would write them: without leading zeros.

    Labels stay as they are if two of them would become the same number.
    """
    digits = re.compile("[0-9]+")
    plain = [str(int(label)) if digits.fullmatch(label) else label for label in labels]
    return plain if len({*plain}) == len(plain) else [*labels]


def codes(column: pa.Array, *, as_text: bool = False) -> NDArray[Any]:
    """Return cell codes for :meth:`geodp.grid.grid.Lattice.parse`: numbers[n] or str objects[n].

    Parameters
    ----------
    column : array[n]
        Numbers stay as they are stored. Floats keep their width, from which the parser of the code
        derives whether digits may have been lost.
    as_text : bool
        Whether texts of digits stay texts, for systems whose codes may begin with 0.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_decimal(kind):  # as databases store numbers of 64 bits without a sign
        column = _integer_decimals(column.cast(kind))
        kind = column.type
    plain = _plain(column)
    rule = Rule("code-missing", "a code is missing: drop the rows without one.")
    _require(plain, pc.is_valid(plain), rule)
    if pa.types.is_floating(kind):
        return numbers_of(plain).astype(kind.to_pandas_dtype())
    if not pa.types.is_string(plain.type):
        return numbers_of(plain)
    # Only texts without leading zeros become numbers: "0012" and "12" are different codes.
    values = None if as_text else numbers_of_digits(plain, as_names=True)  # which parse faster
    if values is None:
        plain = pc.utf8_trim_whitespace(narrow(plain))
        if not as_text:  # pandas writes integers as 1.0 if a column has blanks
            plain = pc.replace_substring_regex(plain, r"^([0-9]+)[.]0+$", r"\1")
            values = numbers_of_digits(plain, as_names=True)
    return texts_of(plain) if values is None else values


def _integer_decimals(column: pa.Array) -> pa.Array:
    """Cast whole decimals of 64 bits to integers; return other columns unchanged."""
    for kind in (pa.int64(), pa.uint64()):
        with contextlib.suppress(pa.ArrowInvalid):  # it quotes the number
            return column.cast(kind)
    return column


def _trim(texts: pa.Array) -> pa.Array:
    """Return texts in narrow characters without blanks around them; missing ones are empty."""
    return pc.fill_null(pc.utf8_trim_whitespace(narrow(texts)), "")


def narrow(texts: pa.Array) -> pa.Array:
    """Convert full-width ASCII, as Japanese keyboards write it, to plain ASCII."""
    # One look at the largest byte saves the translation for nearly every file.
    if is_ascii(texts):
        return texts
    return map_values(texts, lambda text: text.translate(WIDE))


def _plain(column: pa.Array, *, decimals: bool = False) -> pa.Array:
    """Return a column as text, integers or floats, whatever it is stored as; NaN becomes null.

    ``decimals``: whether fixed-point decimals stay as they are.
    """
    column = decode(column)
    kind = column.type
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
    # The type of a nested column is not shown: names of its fields may be values.
    described = "nested values" if pa.types.is_nested(kind) else f"type {kind}"
    remedy = f"; {NO_LABEL}" if pa.types.is_temporal(kind) else "."
    raise CodeError(
        0, f"a column of {described} is neither numbers nor text{remedy}", code="column-kind"
    )


def as_text(column: pa.Array) -> pa.Array:
    """Return a column as text, numbers in plain digits; CodeError for bytes that are not UTF-8."""
    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_decimal(kind.value_type):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_decimal(kind) and kind.scale < 0:
        column = expand_decimals(column)
    return _plain(column) if pa.types.is_binary(kind) else column.cast(pa.string())


def expand_decimals(column: pa.Array) -> pa.Array:
    """Return decimals that are multiples of a power of ten as whole ones; Arrow writes 1E+2.

    Raises CodeError where a number of this type may have more digits than Arrow has.
    """
    kind = column.type
    digits = kind.precision - kind.scale
    if digits > MAX_DIGITS:
        raise CodeError(
            0,
            f"a decimal of this type may have {digits} digits, more than {MAX_DIGITS}: write the "
            "column as text or as integers.",
            code="decimal-too-long",
        )
    return column.cast(pa.decimal256(digits, 0))


def _text_of_bytes(column: pa.Array) -> pa.Array:
    """Decode bytes, as which some programs write texts, as UTF-8."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        pass  # it quotes the bytes
    # Arrow does not say which row failed; each is tried until the bad one is found.
    bad = next(i for i in range(len(column)) if not _is_text(column[i].as_py()))
    raise CodeError(
        bad,
        "the text is not UTF-8; write the column as text. Geometries are no codes: name the column "
        "of these.",
        code="column-not-utf8",
    )


def _is_text(value: bytes | None) -> bool:
    try:
        return isinstance((value or b"").decode("utf-8"), str)
    except UnicodeDecodeError:
        return False


def _require(column: pa.Array, valid: pa.Array, rule: str | Callable[[str], str]) -> None:
    """Raise CodeError at the first value that is not valid, with the rule, or that of the value."""
    if not pc.all(valid, min_count=0).as_py():
        position = int(np.argmin(valid.to_numpy(zero_copy_only=False)))
        raise CodeError(position, rule if isinstance(rule, str) else rule(column[position].as_py()))


_MONEY = "$\u00a2-\u00a5\u20a0-\u20c0"
_DASH = "[-\u2010-\u2015\u2212~\u301c\u2026]"
_KINDS = (
    (r"0x[0-9a-f]+", "a count is hexadecimal; write it in decimal digits."),
    (
        r"[0-9]+(_[0-9]+)+",
        Rule(
            "count-underscore",
            "a count has underscores between its digits; write digits alone.",
        ),
    ),
    (
        r"\([0-9]+\)",
        Rule(
            "count-in-brackets",
            "a count is in brackets, which mark provisional or uncertain numbers, or negative "
            "ones; to count the number, name the mark (--flags '()', flags=['()']); no count is "
            "negative.",
        ),
    ),
    (
        r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}.*|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{4}.*|.*:.*",
        "a count looks like a date or a time; check the column (--value, value=).",
    ),
    (r"[+-]?[0-9]{1,3}([,.' \u2019\u00a0\u202f][0-9]{3})+([,.][0-9]*)?", THOUSANDS),
    (
        r"[+-]?[0-9]{1,2}(,[0-9]{2})*,[0-9]{3}([.][0-9]*)?",
        "a count has separators that are not between thousands; write it without them.",
    ),
    (r"[+-]?[0-9]*,[0-9]*(e[+-]?[0-9]+)?", DECIMAL),
    (r"[<>\u2264\u2265\u2248~].*|(less|more|fewer|under|below|over|up to|bis) .*", HIDDEN),
    (rf"[0-9 ]+({_DASH}|[.][.]+| to | bis )[0-9 ]*|[0-9]+ ?([+]|or (less|more|fewer))", HIDDEN),
    (r".*(以上|以下|未満).*", HIDDEN),
    (
        r".*[%\u2030]",
        Rule(
            "count-percentage",
            "a count is a percentage, which is no number of people; choose the column of counts "
            "(--value, value=).",
        ),
    ),
    (
        rf"[{_MONEY}].*|.*([{_MONEY}\u5186\u5143\uc6d0]|eur|usd|jpy|gbp|chf|kr|kč|zł)",
        Rule(
            "count-money",
            "a count is an amount of money, which is no number of people; choose the column of "
            "counts "
            "(--value, value=).",
        ),
    ),
)
"""Patterns of lower-case texts that are no plain number, and the rule that each breaks."""


def diagnose(text: str, symbol_rule: str) -> str:
    """Return the rule that a non-numeric text breaks; the rule never quotes the text."""
    if "\n" in text or "\r" in text:
        return BROKEN
    if text.lower().lstrip("+-") in (NAN, "inf", "infinity"):
        return Rule(
            "count-not-finite",
            "a count must be a finite number; if it means zero, name it as missing (--missing, "
            "missing=).",
        )
    if is_formula_error(text):
        return ERROR
    if not any(letter.isdecimal() for letter in text):
        return symbol_rule
    # The first pattern that fits decides: dates come before numbers with separators.
    for pattern, rule in _KINDS:
        if re.fullmatch(pattern, text.lower()):
            return rule
    if re.search("[0-9]", text) and not re.search(r"[\0-\x1f]", text):
        return FLAGGED
    return Rule("count-not-plain-digits", "a count must be a number in plain digits.")


def _coordinate_rule(text: str) -> str:
    if not text:
        return MISSING
    if is_formula_error(text):
        return Rule(
            "coordinate-is-error",
            "a coordinate is an error of a formula; correct it, or drop the rows without one.",
        )
    if "\n" in text or "\r" in text:
        return BROKEN
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]*", text):
        return Rule(
            "coordinate-decimal-comma",
            "a coordinate has a decimal comma; write a decimal point, or say so (--decimal ,).",
        )
    if re.fullmatch(r"[+-]?[0-9]{1,3}([,.' \u2019\u00a0\u202f][0-9]{3})+([,.][0-9]*)?", text):
        return Rule(
            "coordinate-thousands-mark",
            "a coordinate has thousands separators; write it without them.",
        )
    if text.lower().lstrip("+-") in (NAN, "inf", "infinity") or is_placeholder(text):
        return MISSING
    if re.search("[\u00b0'\"NSEW\u2032\u2033]", text):
        return Rule(
            "coordinate-degrees-minutes",
            "a coordinate is written in degrees, minutes or with a letter; write decimal degrees, "
            "negative in the south and west.",
        )
    if not any(map(str.isdecimal, text)):
        return Rule(
            "coordinate-is-mark",
            "a coordinate is a symbol instead of a number; drop the rows without one.",
        )
    return Rule(
        "coordinate-not-plain-digits",
        "a coordinate must be a number with a decimal point; write it in plain digits.",
    )
