"""Counts as a call says how they are written: flags beside them, missing values, units, rounding.

The operator lists them; they are removed, and the number is counted. A text in place of a number
(``..``, ``:``) or a bound (``<5``) is no flag but a missing value (``missing=``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, UsageError, printable, require_none
from geodp.grid.names import WIDE
from geodp.io.read.rows import fields
from geodp.io.read.rows.arrow import decode
from geodp.io.read.rows.selecting import parse_number
from geodp.privacy.key import NoiseKey, Stream, blocks
from geodp.table.stored import FRACTION, exact

BRACKETS = ("()", "[]", "{}", "\u3014\u3015", "\u3010\u3011")
"""Flags that stand on both sides of a number."""

TIMES = {
    *("k", "tsd", "tsd.", "thousand", "thousands", "mio", "mio.", "mn", "million", "millions"),
    *("\u767e", "\u5343", "\u4e07", "\u842c", "\u5104", "\u5343\u4eba", "\u4e07\u4eba"),
}
"""Words that multiply the number beside them, in lower case; as flags they would be wrong."""

SEPARATORS = "+-.,'\u2019 \u00a0\u202f"
"""Characters that may be part of a number and so are no flag alone."""

_DIGITS = r"^\s*[0-9]*\s*$"
_NUMBER = re.compile(r"[+-]?[.]?[0-9](.*[0-9.,])?")


@dataclass(frozen=True)
class Flags:
    """Symbols that may stand before or after a number, also several of them.

    Attributes
    ----------
    marks : tuple of str
        Symbols of any width; ``()`` encloses the number. Case matters.
    """

    marks: tuple[str, ...] = ()

    @classmethod
    def of(cls, flags: Sequence[str]) -> Flags:
        """Check and normalise flags; UsageError for symbols that would change the number.

        >>> Flags.of(["p", "()"]).drop(pa.array(["7 p", "(8)", "p 9", "7 q"]))[0].to_pylist()
        ['7', '8', '9', '7 q']
        """
        symbols = dict.fromkeys(symbol.translate(WIDE).strip() for symbol in flags)
        for symbol in symbols:
            if not is_flag(symbol):
                raise UsageError(
                    f"'{printable(symbol)}' is not a flag beside a number (--flags, flags=). "
                    "Flags are symbols such as p, e, * or (); characters that belong to a "
                    "number, multiply or bound it, or make it an amount are not. A suppressed "
                    "value, such as <5 or .., may be named as missing (--missing, missing=).",
                    code="flag-unknown",
                )
        return cls(tuple(symbols))

    def drop(
        self, column: pa.Array, unchanged: Sequence[str] = ()
    ) -> tuple[pa.Array, Counter[str]]:
        """Remove the flags beside numbers; return the column and how many numbers have each.

        Texts that are not numbers with these flags, and columns that are not text, stay unchanged.

        Parameters
        ----------
        column : array[n]
        unchanged : sequence of str
            Texts that stay as they are, such as those that mean a missing value.
        """
        numbers_flagged: Counter[str] = Counter()
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        # Numeric columns have no flags, as their cells hold nothing but a number.
        if not self.marks or pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return column, numbers_flagged
        if pa.types.is_decimal(kind) or pa.types.is_null(kind):
            return column, numbers_flagged
        texts = fields.as_text(column)
        # Only cells that are not plain digits are looked at, usually a small part of a column.
        odd = pc.invert(pc.fill_null(pc.match_substring_regex(texts, _DIGITS), True))
        coded = texts.filter(odd).dictionary_encode()
        entries, stays = coded.dictionary.to_pylist(), {*map(str.strip, unchanged)}
        occurrences = np.bincount(coded.indices.to_numpy(), minlength=len(entries))
        for at, entry in enumerate(entries):
            number, flags = self._part(entry.translate(WIDE).strip())
            if flags and entry.strip() not in stays:
                entries[at] = number
                numbers_flagged.update(dict.fromkeys(flags, int(occurrences[at])))
        if not numbers_flagged:
            return column, numbers_flagged
        plain = pa.array(entries, pa.string()).take(coded.indices)
        return pc.replace_with_mask(texts, odd, plain), numbers_flagged

    def _part(self, text: str) -> tuple[str, list[str]]:
        """Split a text into its number and its flags, each once; no flags if it is not such."""
        number, flags = text, list[str]()
        # Flags may be nested, as in "(7 p)": strip one at a time until nothing changes.
        while True:
            for flag in self._longest:
                rest = _without(flag, number)
                if flag not in flags and rest is not None:
                    number = rest
                    flags.append(flag)
                    break
            else:
                return (number, flags) if _NUMBER.fullmatch(number) else (text, [])

    @cached_property
    def _longest(self) -> list[str]:
        """Flags, longest first, as one may be a part of another."""
        return sorted(self.marks, key=len, reverse=True)


NO_FLAGS = Flags()


def _without(flag: str, text: str) -> str | None:
    """Return a text without a flag at one end, or brackets at both; None if it has none."""
    if flag in BRACKETS:
        inner = len(text) > 2 and text.startswith(flag[0]) and text.endswith(flag[1])
        return text[1:-1].strip() if inner else None
    if text.endswith(flag):
        return text.removesuffix(flag).strip()
    return text.removeprefix(flag).strip() if text.startswith(flag) else None


def is_flag(symbol: str) -> bool:
    """Whether a symbol next to a number leaves its value unchanged."""
    if symbol in BRACKETS:
        return True
    if not symbol.strip(SEPARATORS) or any(map(str.isdecimal, symbol)) or symbol.lower() in TIMES:
        return False
    # Whatever already has a meaning beside a number, such as a currency, a percent sign or a bound,
    # is diagnosed as that and cannot be declared a flag.
    ways = (f"5{symbol}", f"5 {symbol}", f"{symbol}5", f"{symbol} 5")
    return all(fields.diagnose(text, fields.COUNT_IS_SYMBOL) == fields.FLAGGED for text in ways)


Rounding: TypeAlias = Literal["nearest", "stochastic"]

_PLAIN = re.compile(r"[+-]?[0-9]{1,18}([.][0-9]{0,20})?")
"""Form of the numbers that are divided by the one that stands for one person."""

Rounder = Callable[[NDArray[np.int64], NDArray[np.float64]], NDArray[np.int64]]
"""Function from cell indices int64[d, n] and values float64[n] to whole numbers int64[n]."""


NO_COUNT = Rule(
    "count-form",
    "a count must be finite, not negative, and below 2**53; if a number stands for a missing "
    "value, name it as missing (--missing, missing=).",
)


def rounder(rounding: Rounding, secret: NoiseKey | None) -> Rounder:
    """Return a function that rounds the values of cells to whole numbers.

    Stochastic rounding goes up with the fraction as the probability, by a number that depends only
    on the secret and the cell. For a fixed number, a value that changes by at most 1 is rounded to
    one that changes by at most 1, so that a bound on values is one on counts. The function raises
    CodeError at the first value that is negative, not finite or not below 2**53.
    """
    fresh = secret or NoiseKey.generate()

    def apply(index: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.int64]:
        with np.errstate(invalid="ignore"):
            require_none(~((values >= 0) & (values < 2**53)), NO_COUNT)
        if rounding == "nearest":
            return np.rint(values).astype(np.int64)
        floor = np.floor(values)
        # A float64 has 53 binary digits: compared with 53 random bits, the probability is exact,
        # or within 2**-54 for values below 1.
        drawn = blocks(fresh, Stream.ROUNDING, _number(index))[0] >> np.uint64(11)
        up = drawn < np.rint((values - floor) * 2.0**53).astype(np.uint64)
        return np.asarray(floor.astype(np.int64) + up, np.int64)

    return apply


def _number(index: NDArray[Any]) -> NDArray[np.uint64]:
    """Hash cells to uint64[n]; a collision correlates the rounding of two cells and no more."""
    number = np.zeros(index.shape[1], np.uint64)
    for axis in index:
        number = number * np.uint64(0x9E3779B97F4A7C15) + axis.astype(np.uint64)
    return number


def divide(column: pa.Array, unit: Fraction) -> pa.Array:
    """Return plain numbers divided by the one that stands for one person, as texts.

    Other texts stay as they are. Raises CodeError at the first number that is no multiple of it.

    Examples
    --------
    >>> divide(pa.array(["1.5", "-", "2"]), Fraction(1, 1000)).to_pylist()
    ['1500', '-', '2000']
    """
    coded = pc.utf8_trim_whitespace(fields.as_text(column)).dictionary_encode()
    entries = coded.dictionary.to_pylist()
    for number, text in enumerate(entries):
        if _PLAIN.fullmatch(text) is None:
            continue
        people = Fraction(text) / unit
        if people.denominator != 1:
            position = int(pc.index(coded.indices, number).as_py())
            raise CodeError(position, FRACTION)
        entries[number] = str(people)
    return pa.array(entries, pa.string()).take(coded.indices)


MANKIND = 9_000_000_000
"""More than all people: many tables write 9999999999 for an unknown number."""

BEYOND_MANKIND = Rule(
    "count-beyond-mankind",
    "a count is above 9,000,000,000, more than all people: if it stands for an unknown number, "
    "name it (--missing 9999999999, missing=[9999999999]), and otherwise correct it.",
)


@dataclass(frozen=True)
class CountParser:
    """Options by which a column of values becomes counts, as in readers.

    ``symbol_rule`` is the rule for a value without any digit; ``unit`` is the number that stands
    for one person, 1 where it is None.
    """

    missing: Sequence[str | float] = ()
    decimal: str | None = None
    rounding: Rounding | None = None
    secret: NoiseKey | None = None
    symbol_rule: str = fields.COUNT_IS_SYMBOL
    flags: Flags = NO_FLAGS
    unit: float | None = None

    @cached_property
    def _round(self) -> Callable[[NDArray[np.int64], NDArray[np.float64]], NDArray[np.int64]]:
        assert self.rounding is not None
        return rounder(self.rounding, self.secret)

    def drop_flags(self, column: pa.Array) -> tuple[pa.Array, Counter[str]]:
        """Remove the flags beside numbers; return the column and how many numbers have each."""
        return self.flags.drop(column, [str(value) for value in self.missing])

    def numbers(self, column: pa.Array) -> NDArray[Any]:
        """Return the numbers of a column: int64[n], or float64[n] if they are rounded later.

        Raises CodeError at the first value that is no number.
        """
        column = fields.decimal_points(column, self.decimal)
        if self.rounding is not None:
            values = fields.fractions(column, missing=self.missing, symbol_rule=self.symbol_rule)
            return values if self.unit is None else values / self.unit
        if self.unit is None or self.unit == 1:
            return fields.counts(
                column,
                missing=self.missing,
                symbol_rule=self.symbol_rule,
                point=self.decimal is not None,
            )
        absent = fields.find_missing(column, self.missing)
        present = pc.if_else(pa.array(absent), "0", fields.as_text(column))
        return fields.counts(divide(present, exact(self.unit)), symbol_rule=self.symbol_rule)

    def counts(self, numbers: NDArray[Any], index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts int64[n] of numbers in cells int64[d, n]; CodeError as above."""
        counts = numbers if self.rounding is None else self._round(index, numbers)
        require_none(counts >= MANKIND, BEYOND_MANKIND)
        return counts

    def count_missing(self, column: pa.Array, numbers: NDArray[Any]) -> int:
        """Return how many values of a column with these numbers were named as missing."""
        # Missing values count as 0, so only zeros can be missing; a zero written as a number is
        # not.
        zero = numbers == 0
        if not self.missing or not zero.any():
            return 0
        plain = decode(fields.decimal_points(column.filter(pa.array(zero)), self.decimal))
        texts = pc.utf8_trim_whitespace(fields.as_text(plain))
        occurrences = pc.value_counts(texts).to_pylist()
        return sum(
            entry["counts"] for entry in occurrences if parse_number(entry["values"] or "") != 0
        )
