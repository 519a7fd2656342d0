"""Explain a selection from its public card alone."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Literal

from geodp.errors import printable
from geodp.kinds.selection.card import Code, QuestionInfo, SelectionCard, SelectionGuarantee
from geodp.privacy.terms import ADD_REMOVE
from geodp.tools.explain.bayes import reach_of_pure
from geodp.tools.explain.card import write_explanation
from geodp.tools.explain.page import (
    Explanation,
    Section,
    Writer,
    beliefs_section,
    bound_sentence,
    factor_sentence,
    guess_section,
    households_section,
    open_section,
    where_section,
)

SHOWN = 20
"""Largest number of answers that the page lists."""


def explain_selection(card: SelectionCard, language: str) -> Explanation:
    """Explain a selection in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = _write_question(page, "title", card.question)
    return write_explanation(page, title, card.private, partial(_selection_sections, page, card))


def _selection_sections(page: Writer, card: SelectionCard) -> tuple[Section, ...]:
    """Write the sections of a selection's page."""
    guarantee = card.guarantee
    reach_of = partial(reach_of_pure, float(Fraction(guarantee.epsilon)))
    single_reach, unit = reach_of(1), page.unit(guarantee.unit)
    kind = "add" if guarantee.neighbours == ADD_REMOVE else "replace"
    return (
        _answer_section(page, card),
        _guarantee_section(
            page,
            guarantee,
            factor_sentence(page, single_reach),
            page.write(f"suppose_{kind}", unit=unit),
        ),
        beliefs_section(page, single_reach, unit, kind),
        *([where_section(page, reach_of, unit)] if kind == "add" else ()),
        guess_section(page, single_reach, page.write(f"guess_{kind}", unit=unit)),
        households_section(page, reach_of, "households_epsilon"),
        open_section(page, guarantee.not_protected, card.budget, unit, "open_counts"),
    )


def _answer_section(page: Writer, card: SelectionCard) -> Section:
    """Write the question, the answer, and how sure it is.

    A candidate whose utility is ``ln 2 / rate`` behind the best accepts half as often as the best,
    which always does, or weighs half as much: it is at most half as likely.
    """
    question = card.question
    sentences = [
        _write_question(page, "asked", question),
        page.write("selection_named", candidates=question.candidates, chosen=question.chosen),
        page.write("selection_lot"),
        page.write(f"near_{question.name}", behind=math.log(2) / Fraction(card.guarantee.rate)),
    ]
    if card.false_hot_spots is not None:
        sentences.append(page.write("selection_empty", below=card.false_hot_spots.count))
    # A page lists some of up to 65,536 answers; the card has all.
    shown = card.chosen[:SHOWN]
    sentences.append(
        page.write("selection_all" if len(shown) == question.chosen else "selection_some")
    )
    header = tuple(dict.fromkeys(name for candidate in shown for name in candidate))
    rows = tuple(
        tuple(_escape_cell(candidate.get(name, "")) for name in header) for candidate in shown
    )
    # Of cells; others are names of attributes.
    cells = {name: page.write(f"answer_{name}") for name in ("code", "row", "col")}
    titles = tuple(cells.get(name, _escape_cell(name)) for name in header)
    return Section(page.write("heading_answer"), tuple(sentences), titles, rows)


def _write_question(page: Writer, form: Literal["title", "asked"], question: QuestionInfo) -> str:
    """Write the question with its settings, as a title or as a sentence."""
    name = "areas" if question.name == "top" and question.level is not None else question.name
    settings = {"level": question.level, "axis": question.axis, "q": question.q}
    given = {key: str(one) for key, one in settings.items() if one is not None}
    return page.write(f"{form}_{name}", **given)


def _escape_cell(value: Code) -> str:
    """Escape a value for a cell of a table, as a card may come from anybody."""
    return printable(str(value)).replace("|", "\\|")


def _guarantee_section(
    page: Writer, guarantee: SelectionGuarantee, factor: str, suppose: str
) -> Section:
    """Write the guarantee, its measure and its precondition."""
    sentences = (
        suppose,
        factor,
        page.write("named_epsilon", epsilon=guarantee.epsilon),
        bound_sentence(page, guarantee, page.unit(guarantee.unit)),
    )
    return Section(page.write("heading_promise"), sentences)
