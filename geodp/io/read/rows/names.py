"""Names of columns and labels: which spellings are the same one, and which only look so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from fnmatch import translate
from functools import cache, lru_cache
from unicodedata import category, name, normalize

from geodp.errors import printable
from geodp.privacy.names import look_alike

MOST = 12
"""Names that a question lists."""

_WAVES = str.maketrans({"\u301c": "~", "\u223c": "~", "\u2225": "\u2016"})
"""Marks that two tables of CP932 turn into different characters: wave dashes, parallel lines."""

_DASHES = {"Pd": "-", "Cf": ""}
"""By category: what all dashes become, and marks that nobody sees."""

WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2212: 0x2D}
"""For :meth:`str.translate`: full-width ASCII, the ideographic space and the minus sign as ASCII.

Not all of NFKC, which would turn the mark of a footnote into a digit: 12 with a raised 2 into 122.
"""


def spell(text: str) -> str:
    """Return the one spelling of a label: composed, of one width, with plain dashes and spaces.

    Examples
    --------
    >>> spell(" ６５〜７４ ") == spell("65\uff5e74") == "65~74"
    True
    """
    plain = normalize("NFKC", text).translate(_WAVES)
    if not plain.isascii():
        plain = "".join(_DASHES.get(category(mark), mark) for mark in plain).replace("\u2212", "-")
    return " ".join(plain.split())


def fold(text: str) -> str:
    """Return what the name of a column has in common with its other spellings.

    Case and spaces do not count, beside what :func:`spell` makes one.

    Examples
    --------
    >>> fold("人口（総数）　男") == fold("人口(総数)男")
    True
    """
    return "".join(fold_case(text).split())


@lru_cache(4096)
def fold_case(text: str) -> str:
    """Return a name in small letters, beside what :func:`spell` makes one; its blanks stay.

    Examples
    --------
    >>> fold_case("ＧＲＤ_ID "), fold_case("人口（総数）　男")
    ('grd_id', '人口(総数) 男')
    """
    return spell(normalize("NFKC", spell(text).casefold()))


PLAIN = re.compile(r"[^*?[]*")
"""A pattern that is a name."""

SPELLINGS: tuple[Callable[[str], str], ...] = (str.strip, fold_case)
"""What names have in common that are one: the surest first."""


def match(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the names that the first alternative of a pattern meets which any does.

    Of one alternative the names in its very spelling, or else those that are it but for case,
    width and composition, as databases and exports change these.

    Examples
    --------
    >>> match("TOT_P", ["grd_id", "tot_p"]), match("TOT_P", ["tot_p", "TOT_P"])
    (['tot_p'], ['TOT_P'])
    """
    for one in pattern.split("|"):
        for form in SPELLINGS:
            meets = _compile(form(one))
            if found := [name for name in names if meets(form(name))]:
                return found
    return []


@cache
def _compile(pattern: str) -> Callable[[str], object]:
    """Return what tells whether a name meets a pattern; there are a few hundred."""
    return re.compile(translate(pattern)).match


def find_met(patterns: Iterable[str], names: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the patterns that names meet in their very spelling, and in any spelling.

    What :func:`match` finds of each, for many patterns at once.

    Examples
    --------
    >>> find_met({"TOT_P", "GRD_*"}, ["grd_id", "TOT_P"]) == ({"TOT_P"}, {"TOT_P", "GRD_*"})
    True
    """
    spelt, folded = {name.strip() for name in names}, {*map(fold_case, names)}
    exactly, anyhow = set(), set()
    for pattern in patterns:
        alternatives = pattern.split("|")
        if _are_met([*map(str.strip, alternatives)], spelt):
            exactly.add(pattern)
        elif _are_met([*map(fold_case, alternatives)], folded):
            anyhow.add(pattern)
    return exactly, exactly | anyhow


def _are_met(patterns: list[str], names: Set[str]) -> bool:
    """Whether any name meets any of some patterns of their form; most patterns are plain names."""
    if all(map(PLAIN.fullmatch, patterns)):
        return not names.isdisjoint(patterns)
    return any(any(map(_compile(one), names)) for one in patterns)


def list_names(names: Sequence[str], most: int = MOST) -> str:
    """Return names for a question, some of them where there are many.

    Examples
    --------
    >>> list_names([" men", "women"]), list_names("abcdefghijklmn")
    ('men, women', 'a, b, c, d, e, f, g, h, i, j, k, l and others')
    """
    shown = ", ".join(printable(one.strip()) for one in names[:most])
    return shown + (" and others" if len(names) > most else "")


def tell_apart(wanted: str, names: Sequence[str]) -> str:
    """Return a sentence on a name that looks like a wanted one and is another; empty for none.

    Examples
    --------
    >>> tell_apart("T01", ["n", "TO1"])  # doctest: +NORMALIZE_WHITESPACE
    "the column 'TO1' only looks like it: its character 2 is U+004F (LATIN CAPITAL LETTER O),
    not U+0030 (DIGIT ZERO); copy the name from the file."
    """
    alike = look_alike(wanted, [one for one in names if one.strip()])
    if alike is None:
        return ""
    own, other = normalize("NFC", alike.strip()), normalize("NFC", wanted.strip())
    pairs = zip(own + "\0", other + "\0", strict=False)
    at = next((i for i, (one, two) in enumerate(pairs) if one.casefold() != two.casefold()), None)
    if at is None or at >= len(own) or at >= len(other):
        return f"the column '{alike.strip()}' only looks like it; copy the name from the file."
    return (
        f"the column '{alike.strip()}' only looks like it: its character {at + 1} is "
        f"{_called(own[at])}, not {_called(other[at])}; copy the name from the file."
    )


def _called(mark: str) -> str:
    return f"U+{ord(mark):04X} ({name(mark, 'without a name')})"
