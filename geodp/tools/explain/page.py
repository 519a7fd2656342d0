"""Write pages of sentences in one language, filled with figures, and the notice of a withdrawal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from string import Formatter
from typing import Any

from geodp.errors import printable
from geodp.release.report.translation import (
    LANGUAGES,
    require_language,
    translate_text,
    translate_texts,
)
from geodp.reprs import one_line
from geodp.table.withdrawal import Notice
from geodp.tools.explain import english


@dataclass(frozen=True)
class ExplainTexts:
    """Texts of a language.

    Attributes
    ----------
    sentences : mapping
        By name.
    terms : mapping
        Meanings of terms.
    units : mapping
        One unit of privacy, by how a card names it.
    other_unit : str
        Any other unit, with ``{unit}`` in it.
    """

    sentences: Mapping[str, str]
    terms: Mapping[str, str]
    units: Mapping[str, str]
    other_unit: str


@cache
def texts_of(language: str) -> ExplainTexts:
    """Return the texts of a language; UsageError for one that explanations do not have."""
    # A term that a language has no word for would be found in sentences that are quoted from cards.
    terms = {
        translate_text(term, language, "term"): translate_text(meaning, language, "meaning")
        for term, meaning in english.TERMS.items()
        if language == LANGUAGES[0] or translate_text(term, language, "term") != term
    }
    return ExplainTexts(
        translate_texts(english.SENTENCES, language, "sentence"),
        terms,
        {name: translate_text(one, language, "unit") for name, one in english.UNITS.items()},
        translate_text(english.ONE, language, "unit.other"),
    )


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, sentences, and possibly a table.

    Attributes
    ----------
    heading : str
    sentences : tuple of str
    head : tuple of str
        Titles of the columns; empty without a table.
    rows : tuple of tuples of str
    """

    __repr__ = one_line

    heading: str
    sentences: tuple[str, ...]
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Explanation:
    """The explanation of a public document, for people.

    Attributes
    ----------
    language : {"en", "ja"}
    title : str
    sections : tuple of Section
    figures : mapping
        All figures of the sentences by name, unrounded.
    """

    __repr__ = one_line

    language: str
    title: str
    sections: tuple[Section, ...]
    figures: Mapping[str, float | str]

    def to_text(self) -> str:
        """Format the page as Markdown, with one sentence per line."""
        lines = [f"# {self.title}"]
        for section in self.sections:
            lines += ["", f"## {section.heading}", "", *section.sentences]
            if section.head:
                table = [section.head, ("--:",) * len(section.head), *section.rows]
                lines += ["", *(f"| {' | '.join(row)} |" for row in table)]
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Convert the page to plain values."""
        return {
            "language": self.language,
            "title": self.title,
            "sections": [
                {
                    "heading": section.heading,
                    "sentences": list(section.sentences),
                    "table": [list(row) for row in (section.head, *section.rows) if row],
                }
                for section in self.sections
            ],
            "figures": dict(self.figures),
        }


class _Figures(Formatter):
    """Format numbers and shares for readers: three digits, without exponents."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format a field by its kind: ``n`` a number, ``p`` a share in percent, otherwise text."""
        if format_spec == "n":
            return write_number(float(value))
        if format_spec == "p":
            return f"{write_number(100 * float(value))} %"
        # Names and units come from the card, which may be anybody's: no control characters.
        return printable(str(value))


@dataclass
class Writer:
    """Writes sentences of one language and collects their figures.

    Attributes
    ----------
    language : {"en", "ja"}
        Any other raises UsageError.
    figures : dict
        Figures of all sentences so far.
    written : list of str
        All sentences so far, for the glossary.
    """

    language: str
    figures: dict[str, float | str] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        require_language(self.language)

    @property
    def texts(self) -> ExplainTexts:
        """The sentences and terms of the language."""
        return texts_of(self.language)

    def write(self, name: str, /, **figures: float | str) -> str:
        """Fill a sentence with its figures and return it."""
        self.figures |= figures
        text = _Figures().vformat(self.texts.sentences[name], (), figures)
        self.written.append(text)
        return text

    def unit(self, unit: str) -> str:
        """Return the term for one unit of privacy."""
        word = self.texts.units.get(unit)
        return word or self.texts.other_unit.format(unit=printable(unit))

    def write_glossary(self) -> Section:
        """Write the meanings of all terms on the page, and of the terms that these meanings use."""
        # Repeated until no meaning uses a further term.
        text, meanings = "\n".join(self.written), dict[str, str]()
        while more := {
            t: m for t, m in self.texts.terms.items() if t in text and t not in meanings
        }:
            meanings |= more
            text = "\n".join(more.values())
        heading = self.write("heading_words")
        sentences = [self.write("word", term=t, meaning=meanings[t]) for t in sorted(meanings)]
        # Terms and meanings pass through `write`, but are no figures of the page.
        for name in ("term", "meaning"):
            self.figures.pop(name, None)
        return Section(heading, tuple(sentences))


def write_number(value: float) -> str:
    """Format a number: three digits, all digits before the point, or a power of ten.

    Examples
    --------
    >>> [write_number(x) for x in (2.7183, 12345.6, 0.000123, 1e-30, 0)]
    ['2.72', '12,346', '0.000123', '10^-30', '0']
    """
    # Digits of very large and very small numbers would fill the line and tell nothing.
    if value and not -7 < (power := math.log10(abs(value))) < 15:
        return f"10^{power:.0f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def add_notice(explanation: Explanation, notice: Notice | None) -> Explanation:
    """Add the notice that lies beside a release, as the first section; nothing without one."""
    if notice is None:
        return explanation
    page, stated = Writer(explanation.language), notice.withdrawal
    heading = page.write("heading_withdrawn")
    if stated is None:
        sentences = [page.write("withdrawn_unreadable")]
    else:
        sentences = [
            page.write("withdrawn", withdrawn=stated.date),
            page.write("withdrawn_reason", reason=stated.reason),
        ]
        if stated.use is not None:
            sentences.append(page.write("withdrawn_use", use=stated.use))
    sections = (Section(heading, tuple(sentences)), *explanation.sections)
    return replace(explanation, sections=sections, figures={**page.figures, **explanation.figures})
