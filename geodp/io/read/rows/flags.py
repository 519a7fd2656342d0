"""Flags: marks that tables print beside a number, as ``7 p``, ``(7)``, ``12*`` or ``e 5``.

The operator states which there are; they are taken away, and the number is counted. What stands for
a number (``..``, ``:``) or bounds one (``<5``) is no flag: it is missing (``missing=``).
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
from geodp.io.read.rows import fields
from geodp.io.read.rows.names import WIDE

BRACKETS = ("()", "[]", "{}", "\u3014\u3015", "\u3010\u3011")
"""Flags that stand on both sides of a number."""

TIMES = {
    *("k", "tsd", "tsd.", "thousand", "thousands", "mio", "mio.", "mn", "million", "millions"),
    *("\u767e", "\u5343", "\u4e07", "\u842c", "\u5104", "\u5343\u4eba", "\u4e07\u4eba"),
}
"""Marks by which a number is multiplied, in small letters."""

SEPARATORS = "+-.,'\u2019 \u00a0\u202f"
"""What alone may be a part of a number."""

_PLAIN = r"^\s*[0-9]*\s*$"
_NUMBER = re.compile(r"[+-]?[.]?[0-9](.*[0-9.,])?")


@dataclass(frozen=True)
class Flags:
    """Marks that may stand beside numbers, before or behind them, several of them too.

    Attributes
    ----------
    marks : tuple of str
        In full width or not; ``()`` stands round the number. The case of letters counts.
    """

    marks: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Sequence[str]) -> Flags:
        """Return flags; UsageError for marks with which a number would be another, or none.

        >>> Flags.of(["p", "()"]).drop(pa.array(["7 p", "(8)", "p 9", "7 q"]))[0].to_pylist()
        ['7', '8', '9', '7 q']
        """
        marks = dict.fromkeys(mark.translate(WIDE).strip() for mark in given)
        for mark in marks:
            if not is_flag(mark):
                raise UsageError(
                    f"'{printable(mark)}' is no flag beside a number (--flags, flags=): flags are "
                    "marks such as p, e, * or (). What is a part of a number, multiplies or bounds "
                    "it, or makes it an amount is none; a value that is hidden, such as <5 or .., "
                    "may be named as missing (--missing, missing=).",
                    code="flag-unknown",
                )
        return cls(tuple(marks))

    def drop(self, column: pa.Array, kept: Sequence[str] = ()) -> tuple[pa.Array, Counter[str]]:
        """Return a column without the flags beside its numbers, and how many have each.

        Whatever is no number with such flags stays as it is, and so does what is no text.

        Parameters
        ----------
        column : array[n]
        kept : sequence of str
            Texts that stay as they are written.
        """
        found: Counter[str] = Counter()
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not self.marks or pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return column, found
        if pa.types.is_decimal(kind) or pa.types.is_null(kind):
            return column, found
        texts = fields.as_text(column)
        odd = pc.invert(pc.fill_null(pc.match_substring_regex(texts, _PLAIN), True))
        coded = texts.filter(odd).dictionary_encode()
        words, stays = coded.dictionary.to_pylist(), {*map(str.strip, kept)}
        numbers = np.bincount(coded.indices.to_numpy(), minlength=len(words))
        for at, word in enumerate(words):
            number, marks = self._part(word.translate(WIDE).strip())
            if marks and word.strip() not in stays:
                words[at] = number
                found.update(dict.fromkeys(marks, int(numbers[at])))
        if not found:
            return column, found
        plain = pa.array(words, pa.string()).take(coded.indices)
        return pc.replace_with_mask(texts, odd, plain), found

    def _part(self, text: str) -> tuple[str, list[str]]:
        """Return the number of a text and the flags beside it, each once; none if it is no such."""
        number, marks = text, list[str]()
        while True:
            for mark in self._longest:
                rest = _without(mark, number)
                if mark not in marks and rest is not None:
                    number = rest
                    marks.append(mark)
                    break
            else:
                return (number, marks) if _NUMBER.fullmatch(number) else (text, [])

    @cached_property
    def _longest(self) -> list[str]:
        """The marks, the longest first, as one may be a part of another."""
        return sorted(self.marks, key=len, reverse=True)


NO_FLAGS = Flags()


def _without(mark: str, text: str) -> str | None:
    """Return a text without a mark at its end or its start, or brackets at both; None: none is."""
    if mark in BRACKETS:
        inner = len(text) > 2 and text.startswith(mark[0]) and text.endswith(mark[1])
        return text[1:-1].strip() if inner else None
    if text.endswith(mark):
        return text.removesuffix(mark).strip()
    return text.removeprefix(mark).strip() if text.startswith(mark) else None


def is_flag(mark: str) -> bool:
    """Whether a mark leaves the number beside it what it is."""
    if mark in BRACKETS:
        return True
    if not mark.strip(SEPARATORS) or any(map(str.isdecimal, mark)) or mark.lower() in TIMES:
        return False
    ways = (f"5{mark}", f"5 {mark}", f"{mark}5", f"{mark} 5")
    return all(fields.diagnose(text, fields.MARK) == fields.FLAGGED for text in ways)
