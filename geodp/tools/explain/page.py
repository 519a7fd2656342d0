"""Write pages of sentences in one language, filled with figures, and the sections that releases,
selections and audits share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from string import Formatter
from typing import Any, Protocol

from geodp.errors import printable
from geodp.release.report.translation import (
    LANGUAGES,
    require_language,
    translate_text,
    translate_texts,
)
from geodp.reprs import one_line
from geodp.table.card import Notice
from geodp.table.display import shorten_amount
from geodp.table.stated.release import ApproximateLoss, ConcentratedLoss, StatedCharge, StatedLoss
from geodp.tools.explain import english
from geodp.tools.explain.bayes import BeliefShift, shift_belief


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


PRIORS = (0.01, 0.1, 0.5)
"""Prior probabilities in the table of beliefs."""

HALF = 0.5
"""Probability of either of two equally likely cases."""

SIZES = (2, 4)
"""Sizes of households in the table."""

OPEN = {
    "the domain, the grid": "open_domain",
    "other releases about": "open_releases",
    "groups: ": "open_groups",
    "that this table depends on noisy counts": "open_depends",
    "whether two releases with": "open_key",
    "whether two selections with": "open_key",
    "that at least one row": "open_row",
    "that the contribution allows": "open_sums",
    "taking part": "open_part",
    "further reports": "open_reports",
    "how a report came": "open_network",
}
"""Beginnings of a card's lines on what is not protected, and the sentence for each; other lines are
quoted."""

ReachOf = Callable[[int], BeliefShift]
"""Function from a number of dependent people to how far beliefs about them move."""


class Bound(Protocol):
    """The bound of a contribution, as a card states it."""

    @property
    def contribution(self) -> int:
        """The most that one unit adds to the sum of all counts."""

    @property
    def enforced(self) -> bool:
        """Whether geodp enforced the bound."""

    @property
    def layout(self) -> str:
        """Name and title of the layout that states the bound; empty if none does."""


def bound_sentence(page: Writer, bound: Bound, unit: str) -> str:
    """Write the sentence on how often a unit is counted at most, and who vouches for it."""
    figures: dict[str, float | str] = {"unit": unit, "contribution": bound.contribution}
    # Who vouches for the bound: geodp, the layout of an official table, or else the office.
    if bound.enforced:
        return page.write("bound_enforced", **figures)
    if bound.layout:
        return page.write("bound_layout", **figures, layout=printable(bound.layout))
    return page.write("bound_vouched", **figures)


def factor_sentence(page: Writer, reach: BeliefShift) -> str:
    """Write the sentence on how much more likely any outcome becomes."""
    # Beyond exp(700) a float overflows; no reader tells the difference.
    factor = math.exp(min(reach.shift, 700.0))
    if reach.chance:
        return page.write("factor_but", factor=factor, one_in=1 / reach.chance)
    return page.write("factor", factor=factor)


def beliefs_section(page: Writer, reach: BeliefShift, unit: str, kind: str) -> Section:
    """Write the section on how far a belief about one unit moves.

    If a unit is added or removed (kind ``"add"``), it is the belief that the unit was counted; for
    beliefs about its place see :func:`where_section`.
    """
    undecided = shift_belief(HALF, reach.shift)
    sentences = [
        page.write("beliefs_add" if kind == "add" else "beliefs_any", unit=unit),
        page.write("beliefs_half", half=HALF, least=undecided.least, most=undecided.most),
        page.write("beliefs_table"),
    ]
    if reach.chance:
        sentences.append(page.write("beliefs_but", one_in=1 / reach.chance))
    if kind != "add":
        sentences.append(page.write("beliefs_where", unit=unit))
    sentences += [page.write("beliefs_independent"), page.write("rounded")]
    return Section(page.write("heading_beliefs"), tuple(sentences), *_tabulate(page, reach))


def where_section(page: Writer, reach_of: ReachOf, unit: str) -> Section:
    """Write how far a belief about the place of one unit moves that is known to be counted.

    If a unit is added or removed, a different place of a counted unit is one removed and one added,
    so that a belief about the place moves like one about two dependent units.
    """
    reach = reach_of(2)
    undecided = shift_belief(HALF, reach.shift)
    figures = {"half": HALF, "where_least": undecided.least, "where_most": undecided.most}
    sentences = [page.write("where", unit=unit), page.write("where_half", **figures)]
    if reach.chance:
        sentences.append(page.write("where_but", where_one_in=1 / reach.chance))
    heading = page.write("heading_where", unit=unit)
    return Section(heading, tuple(sentences), *_tabulate(page, reach))


def _tabulate(
    page: Writer, reach: BeliefShift
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Make the header and the rows of chances before and afterwards."""
    rows = tuple(
        tuple(_percent(chance) for chance in shift_belief(prior, reach.shift)) for prior in PRIORS
    )
    return tuple(page.write(f"column_{name}") for name in ("before", "least", "most")), rows


def guess_section(page: Writer, reach: BeliefShift, question: str) -> Section:
    """Write the section on the best guess; ``question`` is what is guessed."""
    sentences = (
        question,
        page.write("guess_right", right=(1 + reach.advantage) / 2, half=HALF),
        page.write("guess_advantage", advantage=reach.advantage),
    )
    return Section(page.write("heading_guess"), sentences)


def households_section(page: Writer, reach_of: ReachOf, rule: str) -> Section:
    """Write the section on dependent people; ``rule`` names the sentence on what adds up."""
    head = tuple(page.write(f"column_{name}") for name in ("people", "before", "most"))
    rows = tuple(
        (
            write_number(size),
            _percent(prior),
            _percent(shift_belief(prior, reach_of(size).shift).most),
        )
        for size in (1, *SIZES)
        for prior in PRIORS[1:2]
    )
    sentences = page.write("households"), page.write(rule)
    return Section(page.write("heading_households"), sentences, head, rows)


def open_section(
    page: Writer, lines: Sequence[str], charge: StatedCharge | None, unit: str, *extras: str
) -> Section:
    """Write the section on what is not protected, by the lines of a card, and on the budget.

    ``extras`` names sentences that hold whatever the card states.
    """
    # The card is English; known lines are replaced by sentences of the page's language.
    sentences = [page.write(name) for name in ("open_town", "open_others", *extras)]
    for line in lines:
        names = [name for begins, name in OPEN.items() if line.startswith(begins)]
        quoted = {} if names else {"quoted": line}
        sentences.append(page.write(*(names or ["open_quoted"]), unit=unit, **quoted))
    sentences.append(_budget_sentence(page, charge))
    # Several lines of a card may map to one sentence.
    return Section(page.write("heading_open"), tuple(dict.fromkeys(sentences)))


def _budget_sentence(page: Writer, charge: StatedCharge | None) -> str:
    """Write the sentence on what the data set's releases have charged so far."""
    if charge is None:
        return page.write("spent_unknown")
    spent, cap = _write_loss(page, charge.spent), _write_loss(page, charge.cap)
    return page.write("spent", earlier=charge.earlier_releases, spent=spent, cap=cap)


def _write_loss(page: Writer, loss: StatedLoss) -> str:
    """Write the measures of a loss; a rho that is a long ratio, as a decimal."""
    if isinstance(loss, ConcentratedLoss):
        return page.write("loss_rho", rho=shorten_amount(Fraction(loss.rho)))
    if isinstance(loss, ApproximateLoss):
        return page.write("loss_delta", epsilon=loss.epsilon, delta=loss.delta)
    return page.write("loss_epsilon", epsilon=loss.epsilon)


def not_private_sections(page: Writer) -> tuple[Section, ...]:
    """Write the only section of a release that is not private."""
    sentences = page.write("not_private"), page.write("nothing_holds")
    return (Section(page.write("heading_promise"), sentences),)


def _percent(chance: float) -> str:
    return f"{write_number(100 * chance)} %"
