"""Names of columns and labels: which spellings are equal, and which only look alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from fnmatch import translate
from functools import cache, lru_cache
from unicodedata import category, name, normalize

from geodp.errors import printable
from geodp.privacy.samples import look_alike

MAX_NAMES = 12
"""Number of names that a message lists."""

_WAVES = str.maketrans({"\u301c": "~", "\u223c": "~", "\u2225": "\u2016", "\u2212": "-"})
"""Characters that the mappings of CP932 decode differently: wave dashes, parallel lines, minus."""

_DASHES = {"Pd": "-", "Cf": ""}
"""Replacement by Unicode category: all dashes become one, invisible characters vanish."""


def spell(text: str) -> str:
    """Normalise a label: composed, of one width, with plain dashes and single spaces.

    Examples
    --------
    >>> spell(" ６５〜７４ ") == spell("65\uff5e74") == "65~74"
    True
    """
    plain = normalize("NFKC", text).translate(_WAVES)
    if not plain.isascii():
        plain = "".join(_DASHES.get(category(character), character) for character in plain)
    return " ".join(plain.split())


def fold(text: str) -> str:
    """Normalise the name of a column so that all of its spellings become equal.

    Case and spaces are ignored, besides the differences that :func:`spell` removes.

    Examples
    --------
    >>> fold("人口（総数）　男") == fold("人口(総数)男")
    True
    """
    return "".join(fold_case(text).split())


@lru_cache(4096)
def fold_case(text: str) -> str:
    """Normalise a name as :func:`spell` does and fold its case; blanks stay.

    Examples
    --------
    >>> fold_case("ＧＲＤ_ID "), fold_case("人口（総数）　男")
    ('grd_id', '人口(総数) 男')
    """
    # Case folding may undo the composition, so the text is normalised before and after.
    return spell(normalize("NFKC", spell(text).casefold()))


PLAIN = re.compile(r"[^*?[]*")
"""Pattern without wildcards: a plain name."""

SPELLINGS: tuple[Callable[[str], str], ...] = (str.strip, fold_case)
"""Normal forms under which names are compared, the strictest first."""


def match(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the names that match the first alternative of a pattern that matches any.

    For each alternative, exact matches come first, then those that differ only in case, width and
    composition, as databases and exports change these.

    Examples
    --------
    >>> match("TOT_P", ["grd_id", "tot_p"]), match("TOT_P", ["tot_p", "TOT_P"])
    (['tot_p'], ['TOT_P'])
    """
    # Exact before folded, so that a file with both "n" and "N" is not ambiguous.
    for alternative in pattern.split("|"):
        for form in SPELLINGS:
            is_match = _compile(form(alternative))
            if matches := [name for name in names if is_match(form(name))]:
                return matches
    return []


@cache
def _compile(pattern: str) -> Callable[[str], object]:
    """Return a matcher of a pattern; cached, as there are a few hundred patterns."""
    return re.compile(translate(pattern)).match


def find_matching_patterns(
    patterns: Iterable[str], names: Sequence[str]
) -> tuple[set[str], set[str]]:
    """Return the patterns that names match exactly, and those that they match in any spelling.

    This is :func:`match` for many patterns at once.

    Examples
    --------
    >>> exact, spelt = find_matching_patterns({"TOT_P", "GRD_*"}, ["grd_id", "TOT_P"])
    >>> exact, sorted(spelt)
    ({'TOT_P'}, ['GRD_*', 'TOT_P'])
    """
    spelt, folded = {name.strip() for name in names}, {*map(fold_case, names)}
    exactly, anyhow = set(), set()
    for pattern in patterns:
        alternatives = pattern.split("|")
        if _any_matches([*map(str.strip, alternatives)], spelt):
            exactly.add(pattern)
        elif _any_matches([*map(fold_case, alternatives)], folded):
            anyhow.add(pattern)
    return exactly, exactly | anyhow


def _any_matches(patterns: list[str], names: Set[str]) -> bool:
    """Whether any name matches any of some patterns in the same normal form."""
    # Most patterns are plain names: a set lookup instead of a regular expression for each.
    if all(map(PLAIN.fullmatch, patterns)):
        return not names.isdisjoint(patterns)
    return any(any(map(_compile(pattern), names)) for pattern in patterns)


def list_names(names: Sequence[str], limit: int = MAX_NAMES) -> str:
    """List names for a message, shortened if there are many.

    Examples
    --------
    >>> list_names([" men", "women"]), list_names("abcdefghijklmn")
    ('men, women', 'a, b, c, d, e, f, g, h, i, j, k, l and others')
    """
    shown = ", ".join(printable(name.strip()) for name in names[:limit])
    return shown + (" and others" if len(names) > limit else "")


def describe_lookalike(wanted: str, names: Sequence[str]) -> str:
    """Explain a name that looks like a wanted one but is another; empty without one.

    Examples
    --------
    >>> describe_lookalike("T01", ["n", "TO1"])  # doctest: +NORMALIZE_WHITESPACE
    "the column 'TO1' only looks like it: its character 2 is U+004F (LATIN CAPITAL LETTER O),
    not U+0030 (DIGIT ZERO); copy the name from the file."
    """
    alike = look_alike(wanted, [candidate for candidate in names if candidate.strip()])
    if alike is None:
        return ""
    ours, theirs = normalize("NFC", alike.strip()), normalize("NFC", wanted.strip())
    pairs = zip(ours + "\0", theirs + "\0", strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a.casefold() != b.casefold()), None)
    if at is None or at >= len(ours) or at >= len(theirs):
        return f"the column '{alike.strip()}' only looks like it; copy the name from the file."
    return (
        f"the column '{alike.strip()}' only looks like it: its character {at + 1} is "
        f"{_describe_character(ours[at])}, not {_describe_character(theirs[at])}; copy the name "
        "from the file."
    )


def _describe_character(character: str) -> str:
    """Return a character's code point and Unicode name."""
    return f"U+{ord(character):04X} ({name(character, 'without a name')})"
