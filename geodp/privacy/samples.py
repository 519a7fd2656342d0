"""Names of data sets and samples, and the records behind a release: all, or a secret sample.

A new name must use one script, as in Unicode Technical Standard 39 ("highly restrictive": Latin
together with Japanese, Chinese or Korean counts as one), and must not look like a name in use.
Existing names are looked up exactly as written, whatever later Unicode tables say about them.

Scripts and their extensions are those of fontTools, look-alikes the table of Unicode's
``confusables.txt`` in confusable-homoglyphs. Both are imported only where a name is new or unknown.

The guarantee of a sampled table with suppressed counts (:mod:`geodp.audit`) rests on the sample's
secrecy. It adds to the losses of releases from all records or from fresh samples, and to no loss of
a release from the same sample.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from geodp.errors import UsageError

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python calls printable but that are invisible."""

_INVISIBLE_MARK = re.compile("(?<=[ij])\u0307|([\u0300-\u036f])(?=\\1)")
"""Invisible combining marks (UTS 39, 5.4): a dot on an i or j, and a repeated mark."""

_DASH = re.compile("[-\u2010-\u2015\u2212\u2500\u2501\uff0d]")


def require_label(text: str, what: str) -> None:
    """Raise UsageError unless a text is one short line of printable characters."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > 200:
        raise UsageError(f"{what} must be 1 to 200 printable characters.", code="name-length")


def canonical_name(name: str, whose: str = "data set") -> str:
    """Return the one form of a name: composed (NFC), blanks single and inside only.

    Examples
    --------
    >>> canonical_name(" census  2020 ")
    'census 2020'
    """
    require_label(name, f"The name of a {whose}")
    if _INVISIBLE.search(name):
        raise UsageError(
            f"The name of a {whose} must not contain invisible characters.",
            code="name-unseen-characters",
        )
    return unicodedata.normalize("NFC", " ".join(name.split()))


def require_one_script(name: str, whose: str = "data set") -> None:
    r"""Refuse a new name that mixes scripts, or has no letter and no digit.

    Characters of all scripts, such as digits and punctuation, are free.

    Examples
    --------
    >>> require_one_script("国勢調査 census")
    >>> require_one_script("\N{CYRILLIC SMALL LETTER ES}ensus")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    geodp.errors.UsageError: ... mixes letters of the scripts Cyrillic and Latin, so that ...
    """
    # Such names have an empty skeleton, so any two of them would look alike.
    if not any(unicodedata.category(letter)[0] in "LN" for letter in name):
        raise UsageError(
            f"The name of a {whose} must have a letter or a digit.", code="name-without-letters"
        )
    scripts = [script for letter in name if (script := _writing_systems(letter))]
    others = [script for script in scripts if "Latn" not in script]
    # One script that all letters share is enough, as letters such as kana belong to several
    # systems.
    if not scripts or frozenset.intersection(*scripts):
        return
    if not others or frozenset(_CJK).intersection(*others):
        return
    from fontTools import unicodedata as tables

    codes = {code for letter in name for code in tables.script_extension(letter)}
    names = sorted(tables.script_name(code) for code in codes - _ANY)
    raise UsageError(
        f"The name of a {whose} mixes letters of the scripts {', '.join(names[:-1])} and "
        f"{names[-1]}, so that it could be taken for another; write it in one (Latin beside "
        "Japanese, Chinese or Korean is one, too).",
        code="name-mixes-scripts",
    )


_ANY = frozenset({"Zyyy", "Zinh"})
"""Codes of characters that all scripts have, and of those that take the script before them."""

_JAPANESE, _CHINESE, _KOREAN = _CJK = ("Jpan", "Hanb", "Kore")
_SYSTEMS = {
    "Hani": {_JAPANESE, _CHINESE, _KOREAN},
    "Hira": {_JAPANESE},
    "Kana": {_JAPANESE},
    "Bopo": {_CHINESE},
    "Hang": {_KOREAN},
}
"""Writing systems of several scripts (UTS 39, 5.1)."""


def _writing_systems(letter: str) -> frozenset[str]:
    """Return the scripts and writing systems of a character; none if it is of all."""
    from fontTools import unicodedata as tables

    codes = tables.script_extension(letter)
    if codes & _ANY:
        return frozenset()
    return frozenset(codes.union(*(_SYSTEMS.get(code, set()) for code in codes)))


def look_alike(name: str, others: Iterable[str]) -> str | None:
    """Return the first of other names that could be taken for a name.

    What differs in case, width, blanks, dashes, points and other punctuation, or in letters and
    digits that look alike, could be.

    Examples
    --------
    >>> look_alike("Census 202l.", ["panel", "census-2021"])
    'census-2021'
    """
    # Two names look alike if any reading of one equals any reading of the other.
    forms = _lookalike_forms(name)
    return next((other for other in others if forms & _lookalike_forms(other)), None)


def _lookalike_forms(name: str) -> set[str]:
    """Return the lookalike forms of a name: as written and in lower case, each read in two ways.

    Punctuation is read as the letters that it looks like (a dash as the long vowel of Kana, a bar
    as an l), and left out.
    """
    # Digits of other scripts are read as numbers; some look like points, which are left out.
    digits = "".join(
        letter if (value := unicodedata.decimal(letter, None)) is None else str(value)
        for letter in unicodedata.normalize("NFKC", name)
    )
    small = unicodedata.normalize("NFKC", digits.casefold())
    read = (_DASH.sub("\u2014", text) for text in (small, digits))
    bare = ("".join(_visible(text)) for text in (small, digits))
    return {_prototype(text).casefold() for text in (*read, *bare)}


def _prototype(text: str) -> str:
    """Return the skeleton of UTS 39, section 4, without what is neither letter nor digit."""
    from confusable_homoglyphs.confusables import confusables_data as table

    def target(letter: str) -> str:
        # The table lists the letters that look like a target at the target, and the target at each
        # of them, where it stands alone.
        alike = [row["c"] for row in table.get(letter, ())]
        if len(alike) != 1:
            return letter
        if len(table[alike[0]]) > 1:
            return str(alike[0])
        return str(max(letter, alike[0], key=lambda form: (len(form), form)))

    decomposed = unicodedata.normalize("NFD", text)
    # A letter may look like several, and those like others.
    # Two passes, since the table is not transitive.
    targets = map(target, "".join(map(target, decomposed)))
    return unicodedata.normalize(
        "NFD", "".join(_visible(_INVISIBLE_MARK.sub("", "".join(targets))))
    )


def _visible(text: str) -> Iterator[str]:
    """Yield the letters, marks and digits of a text."""
    return (letter for letter in text if unicodedata.category(letter)[0] in "LMN")


def skeleton(name: str) -> str:
    """Return a form that is equal for names that differ only in case, width, blanks or dashes.

    Examples
    --------
    >>> skeleton("Ｃｅｎｓｕｓ") == skeleton("census")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    dashed = ("-" if unicodedata.category(letter) == "Pd" else letter for letter in folded)
    return "".join("".join(dashed).split())


ALL, FRESH, SAME = RECORDS = ("all", "fresh-sample", "same-sample")
"""Records that a release can be made from, as its charge declares them."""


@dataclass(frozen=True, slots=True)
class SecretSample:
    """A sample of a data set's records, on whose secrecy the guarantee of a table made of it rests.

    By charging one you vouch that it is fresh: that nothing else charged to the data set was made
    from it, and that it depends on no earlier release.

    Attributes
    ----------
    name : str
        Name of the sample; the rules for names of data sets apply.
    """

    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", canonical_name(self.name, "sample"))


Records = str | SecretSample | None
"""One of ``RECORDS``, a secret sample, or undeclared."""


def follow_samples(dataset: str, samples: tuple[str, ...], records: Records) -> tuple[str, ...]:
    """Return the secret samples after a release; UsageError where its loss would not add up.

    The sampled table's guarantee relies on the secrecy of the sample. A release from the same
    sample reveals a little of it, which costs more than the sum of both losses.

    Parameters
    ----------
    dataset : str
    samples : tuple of str
        Names of the samples of which a table was charged to the data set.
    records : one of ``RECORDS``, SecretSample or None
        What the release was made from.
    """
    if isinstance(records, SecretSample):
        # Not the lookalike test: this one runs again on old entries, and must not change with
        # Unicode.
        if skeleton(records.name) in map(skeleton, samples):
            raise UsageError(
                f"A table of the sample {records.name} is charged to {dataset} already, and "
                "losses of two tables of one sample do not add up; draw a fresh sample.",
                code="sample-charged-already",
            )
        return (*samples, records.name)
    if records == SAME:
        raise UsageError(
            "A release from the same sample as an earlier table reveals who was sampled, which "
            "that table's guarantee keeps secret: the losses do not add up. Make it from all "
            "records, or from a fresh sample.",
            code="sample-tells-who",
        )
    if records not in (None, ALL, FRESH):
        raise UsageError(f"records must be one of: {', '.join(RECORDS)}.", code="records-unknown")
    if records is None and samples:
        raise UsageError(
            f"A table of a secret sample is charged to {dataset}; state what this release is "
            f"made from: --records {'|'.join(RECORDS)}, records=.",
            code="records-undeclared",
        )
    return samples


def require_new_sample(records: Records, samples: tuple[str, ...]) -> None:
    """Raise UsageError for a new secret sample whose name looks like an earlier one's."""
    if not isinstance(records, SecretSample):
        return
    require_one_script(records.name, "sample")
    if (near := look_alike(records.name, samples)) is not None:
        raise UsageError(
            f"The name of the sample {records.name} reads like {near}, of which a table is charged "
            "already, and losses of two tables of one sample do not add up; choose a name that "
            "differs in more than punctuation or letters that look alike.",
            code="sample-looks-alike",
        )


def write_records(records: Records) -> dict[str, str]:
    """Return the columns of a charge's entry that describe the records of its release.

    Examples
    --------
    >>> write_records("all"), write_records(SecretSample("autumn 2020")), write_records(None)
    ({'records': 'all'}, {'sample': 'autumn 2020'}, {})
    """
    if isinstance(records, SecretSample):
        return {"sample": records.name}
    return {} if records is None else {"records": records}


def read_records(columns: dict[str, Any]) -> Records:
    """Read the records back from the columns of :func:`write_records`."""
    return SecretSample(columns["sample"]) if "sample" in columns else columns.get("records")
