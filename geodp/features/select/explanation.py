"""What a selection means, from its public card alone."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from geodp.errors import printable
from geodp.features.explain.card import write_explanation
from geodp.features.explain.page import Explanation, Section, Writer
from geodp.features.explain.reach import reach_of_pure
from geodp.features.explain.sections import (
    beliefs_section,
    bound_sentence,
    factor_sentence,
    guess_section,
    households_section,
    open_section,
)
from geodp.features.select.card import Code, SelectionCard, StatedPromise, StatedQuestion
from geodp.privacy.neighbours import ADD_REMOVE

SHOWN = 20
"""Answers that the page lists, at most."""


def explain_selection(card: SelectionCard, language: str) -> Explanation:
    """Return what a selection means, for people; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("selection_title", release_id=card.release_id)
    return write_explanation(page, title, card.private, partial(_selection_sections, page, card))


def _selection_sections(page: Writer, card: SelectionCard) -> tuple[Section, ...]:
    """Return the page of a selection."""
    said = card.guarantee
    reach_of = partial(reach_of_pure, float(Fraction(said.epsilon)))
    alone, unit = reach_of(1), page.unit(said.unit)
    kind = "add" if said.neighbours == ADD_REMOVE else "replace"
    return (
        _tell_answer(page, card),
        _promise_section(
            page, said, factor_sentence(page, alone), page.write(f"suppose_{kind}", unit=unit)
        ),
        beliefs_section(page, alone, unit, kind),
        guess_section(page, alone, page.write(f"guess_{kind}", unit=unit)),
        households_section(page, reach_of, "households_epsilon"),
        open_section(page, said.not_protected, card.budget, unit, "open_counts"),
    )


def _tell_answer(page: Writer, card: SelectionCard) -> Section:
    """Return what was asked, what was chosen, and how sure that is.

    A candidate whose utility is ``ln 2 / rate`` behind the best accepts half as often as the best,
    which always does, or weighs half as much: it is at most half as likely.
    """
    asked = card.question
    sentences = [
        _say_question(page, asked),
        page.write("selection_named", candidates=asked.candidates, chosen=asked.chosen),
        page.write("selection_lot"),
        page.write(f"near_{asked.name}", behind=math.log(2) / Fraction(card.guarantee.rate)),
    ]
    if card.false_hot_spots is not None:
        sentences.append(page.write("selection_empty", below=card.false_hot_spots.count))
    shown = card.chosen[:SHOWN]
    sentences.append(
        page.write("selection_all" if len(shown) == asked.chosen else "selection_some")
    )
    head = tuple(dict.fromkeys(name for one in shown for name in one))
    rows = tuple(tuple(_write_cell(one.get(name, "")) for name in head) for one in shown)
    return Section(
        page.write("heading_answer"), tuple(sentences), tuple(map(_write_cell, head)), rows
    )


def _say_question(page: Writer, asked: StatedQuestion) -> str:
    """Return the question with its settings."""
    if asked.name == "top" and asked.level is not None:
        return page.write("asked_areas", level=asked.level)
    if asked.name == "level":
        return page.write("asked_level", next_epsilon=str(asked.next_epsilon))
    if asked.name == "quantile":
        return page.write("asked_quantile", axis=str(asked.axis), q=str(asked.q))
    return page.write(f"asked_{asked.name}")


def _write_cell(value: Code) -> str:
    """Return a stranger's word for a column of a table."""
    return printable(str(value)).replace("|", "\\|")


def _promise_section(page: Writer, said: StatedPromise, factor: str, suppose: str) -> Section:
    """Return the guarantee, its measure and what it needs."""
    sentences = (
        suppose,
        factor,
        page.write("named_epsilon", epsilon=said.epsilon),
        bound_sentence(page, said, page.unit(said.unit)),
    )
    return Section(page.write("heading_promise"), sentences)
