"""Flags: symbols that tables print beside a number, as ``7 p``, ``(7)``, ``12*`` or ``e 5``.

The operator lists them; they are removed, and the number is counted. A text in place of a number
(``..``, ``:``) or a bound (``<5``) is no flag but a missing value (``missing=``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import UsageError, printable
from geodp.grid.names import WIDE
from geodp.io.read.rows import fields

BRACKETS = ("()", "[]", "{}", "\u3014\u3015", "\u3010\u3011")
"""Flags that stand on both sides of a number."""

TIMES = {
    *("k", "tsd", "tsd.", "thousand", "thousands", "mio", "mio.", "mn", "million", "millions"),
    *("\u767e", "\u5343", "\u4e07", "\u842c", "\u5104", "\u5343\u4eba", "\u4e07\u4eba"),
}
"""Words that multiply the number beside them, in lower case; as flags they would be wrong."""

SEPARATORS = "+-.,'\u2019 \u00a0\u202f"
"""Characters that may be part of a number and so are no flag alone."""

_PLAIN = r"^\s*[0-9]*\s*$"
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
        odd = pc.invert(pc.fill_null(pc.match_substring_regex(texts, _PLAIN), True))
        coded = texts.filter(odd).dictionary_encode()
        entries, stays = coded.dictionary.to_pylist(), {*map(str.strip, unchanged)}
        occurrences = np.bincount(coded.indices.to_numpy(), minlength=len(entries))
        for at, entry in enumerate(entries):
            number, flags_found = self._part(entry.translate(WIDE).strip())
            if flags_found and entry.strip() not in stays:
                entries[at] = number
                numbers_flagged.update(dict.fromkeys(flags_found, int(occurrences[at])))
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
