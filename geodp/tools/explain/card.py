"""Explain a release from its public card alone.

The sections are in :mod:`geodp.tools.explain.page`, the sentences in
:mod:`geodp.tools.explain.english` and ``japanese``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from geodp.errors import VerificationError
from geodp.io.folder.kinds import PublicCard, kind_of
from geodp.privacy.terms import ADD_REMOVE
from geodp.table.card import Card
from geodp.table.display import shorten_amount
from geodp.table.index import IndexCard
from geodp.table.stated.error import StatedError
from geodp.table.stated.release import StatedGuarantee
from geodp.tools.explain.bayes import BeliefShift, reach_of_concentrated, reach_of_pure
from geodp.tools.explain.page import (
    Explanation,
    ReachOf,
    Section,
    Writer,
    beliefs_section,
    bound_sentence,
    factor_sentence,
    guess_section,
    households_section,
    not_private_sections,
    open_section,
    where_section,
    write_number,
)

RARE = 1e-6
"""Default delta of beliefs under a zero-concentrated guarantee whose card states none."""


def explain(card: PublicCard, language: str = "en") -> Explanation:
    """Explain to people what a release means.

    Parameters
    ----------
    card : Card or another card
        The card of a release of any kind, such as a selection; nothing else is read.
    language : {"en", "ja"}

    Raises
    ------
    UsageError
        For another language.
    VerificationError
        For a card whose guarantee has neither epsilon nor rho, or whose numbers are impossible, and
        for a kind of release without an explanation.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((4, 4), 9), geodp.Grid.regular((4, 4)))
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> geodp.explain.explain(release.card()).sections[0].heading
    'What is promised'
    """
    if not isinstance(card, Card):
        explained: Explanation = kind_of(card).explain(card, language)
        return explained
    page = Writer(language)
    title = page.write("title", release_id=card.release_id, name=card.name)
    return write_explanation(page, title, card.private, partial(_release_sections, page, card))


def explain_people(card: Card, language: str = "en") -> tuple[Section, ...]:
    """Write the sections of :func:`explain` on the people who were counted, without errors.

    For pages that show errors and what is not protected in their own way.
    """
    page = Writer(language)
    return write_explanation(page, "", card.private, partial(_people_sections, page, card)).sections


def write_explanation(
    page: Writer, title: str, private: bool, make_sections: Callable[[], tuple[Section, ...]]
) -> Explanation:
    """Assemble the page of a release, or a warning if the release is not private.

    Raises VerificationError if numbers of the card contradict each other.
    """
    # An untrusted card may have numbers of the right type for which a formula has no value.
    try:
        sections = make_sections() if private else not_private_sections(page)
    except (ArithmeticError, ValueError):
        raise VerificationError(
            "The numbers of the card contradict each other.", code="card-numbers-contradict"
        ) from None
    return Explanation(page.language, title, (*sections, page.write_glossary()), page.figures)


def _release_sections(page: Writer, card: Card) -> tuple[Section, ...]:
    """Write all sections for a release of counts."""
    unit = page.unit(card.guarantee.unit)
    return (
        *_people_sections(page, card),
        _errors_section(page, card.expected_error),
        open_section(page, card.guarantee.not_protected, card.budget, unit),
    )


def explain_index(
    page: Writer,
    title: str,
    card: IndexCard,
    together: Callable[[], Sequence[str]],
    promise: Callable[[], Sequence[str]],
    *,
    households: bool = True,
) -> Explanation:
    """Explain a release of several tables, or of several periods, from its index alone.

    Parameters
    ----------
    page : Writer
    title : str
    card : IndexCard
    together, promise : callable
        Write what is released together, and how often who is protected may be counted.
    households : bool
        Whether to explain what the guarantee means for households of several people.

    Raises VerificationError if numbers of the card contradict each other.
    """

    def write_sections() -> tuple[Section, ...]:
        guarantee = card.guarantee
        unit, kind = page.unit(guarantee.unit), _name_change(guarantee)
        told = Section(page.write("heading_together"), (*together(), page.write("together_once")))
        sentences = (
            page.write(f"suppose_{kind}", unit=unit),
            factor_sentence(page, reach_of_budget(guarantee)(1)),
            *budget_sentences(page, guarantee),
            *promise(),
        )
        return (
            told,
            Section(page.write("heading_promise"), sentences),
            *_belief_sections(page, guarantee, kind, households=households),
            open_section(page, (), card.budget, unit),
        )

    return write_explanation(page, title, card.private, write_sections)


def explain_tables(card: Any, language: str) -> Explanation:
    """Explain a release of several tables from its index alone; errors are those of `explain`."""
    page, guarantee = Writer(language), card.guarantee
    names = ", ".join(one.name for one in card.tables)
    figures = {"unit": page.unit(guarantee.unit), "contribution": guarantee.contribution}
    title = page.write("tables_title", unit=figures["unit"])
    return explain_index(
        page,
        title,
        card,
        lambda: [page.write("tables_are", number=len(card.tables), names=names)],
        lambda: [page.write("tables_bound", **figures)],
    )


def explain_series(card: Any, language: str) -> Explanation:
    """Explain a series of any kind from its index alone; errors are those of `explain`.

    ``card``: an index with ``times`` of periods, and ``person``: who may be in how many of them.
    """
    page, guarantee = Writer(language), card.guarantee

    def write_promise() -> list[str]:
        figures = {"unit": page.unit(guarantee.unit), "contribution": guarantee.contribution}
        return [page.write("series_bound", **figures)]

    title = page.write("series_title", unit=page.unit(card.guarantee.unit), **name_ends(card))
    return explain_index(page, title, card, lambda: [series_sentence(page, card)], write_promise)


def series_sentence(page: Writer, card: Any) -> str:
    """Write of which periods a series is, and in how many of them one unit may be."""
    figures: dict[str, float | str] = {"number": len(card.times), **name_ends(card)}
    return page.write(f"series_{card.person}", unit=page.unit(card.guarantee.unit), **figures)


def name_ends(card: Any) -> dict[str, str]:
    """Name the first and the last period of a series."""
    first, last = (card.times[0], card.times[-1]) if card.times else ("-", "-")
    return {"first": first, "last": last}


def _name_change(guarantee: Any) -> str:
    """Name how neighbours differ, as names of sentences do."""
    return "add" if guarantee.neighbours == ADD_REMOVE else "replace"


def _belief_sections(
    page: Writer, guarantee: Any, kind: str, *, households: bool = True
) -> tuple[Section, ...]:
    """Write the sections on what can be learned of one unit, and of a household."""
    reach_of, unit = reach_of_budget(guarantee), page.unit(guarantee.unit)
    reach = reach_of(1)
    rule = "households_epsilon" if guarantee.rho is None else "households_rho"
    return (
        beliefs_section(page, reach, unit, kind),
        *([where_section(page, reach_of, unit)] if kind == "add" else ()),
        guess_section(page, reach, page.write(f"guess_{kind}", unit=unit)),
        *([households_section(page, reach_of, rule)] if households else ()),
    )


def _people_sections(page: Writer, card: Card) -> tuple[Section, ...]:
    """Write the sections on the people who were counted."""
    guarantee = card.guarantee
    loss, unit = reach_of_budget(guarantee)(1), page.unit(guarantee.unit)
    # Kinds name sentences: a device's report is compared with one from another place.
    kind = "local" if _is_local(guarantee) else _name_change(guarantee)
    return (
        _promise_section(page, guarantee, loss, page.write(f"suppose_{kind}", unit=unit)),
        *_belief_sections(page, guarantee, kind),
        _subtraction_section(page, card, unit),
    )


def _is_local(guarantee: StatedGuarantee) -> bool:
    """Return whether devices added their own noise."""
    return guarantee.variant.startswith("local ")


def reach_of_budget(guarantee: Any) -> ReachOf:
    """Return the function from a number of dependent people to how far beliefs move."""
    if guarantee.rho is not None:
        # Zero-concentrated privacy bounds beliefs only up to some delta, so there is always one.
        delta = RARE if guarantee.delta is None else float(Fraction(guarantee.delta))
        return partial(reach_of_concentrated, float(Fraction(guarantee.rho)), delta)
    if guarantee.epsilon is None:
        raise VerificationError(
            "The card states neither epsilon nor rho.", code="card-without-loss"
        )
    return partial(reach_of_pure, float(Fraction(guarantee.epsilon)))


def _promise_section(
    page: Writer, guarantee: StatedGuarantee, reach: BeliefShift, suppose: str
) -> Section:
    """Write the section on the guarantee, its measure and its conditions."""
    sentences = [suppose, factor_sentence(page, reach), *budget_sentences(page, guarantee)]
    if guarantee.share is not None:
        sentences.append(page.write("depends"))
    unit = page.unit(guarantee.unit)
    if _is_local(guarantee):
        sentences.append(page.write("trust_local", unit=unit))
        sentences.append(page.write("period_local", unit=unit, contribution=guarantee.contribution))
    else:
        sentences.append(bound_sentence(page, guarantee, unit))
    return Section(page.write("heading_promise"), tuple(sentences))


def budget_sentences(page: Writer, guarantee: Any) -> list[str]:
    """Write what the budget of a release is called."""
    if guarantee.rho is None:
        return [page.write("named_epsilon", epsilon=str(guarantee.epsilon))]
    sentences = [page.write("named_rho", rho=shorten_amount(Fraction(guarantee.rho)))]
    if guarantee.epsilon is not None:
        amounts = {"epsilon": guarantee.epsilon, "delta": str(guarantee.delta)}
        sentences.append(page.write("named_delta", **amounts))
    return sentences


def _subtraction_section(page: Writer, card: Card, unit: str) -> Section:
    """Write the section on the difference of two sums that differ by one person."""
    guarantee, blocks = card.guarantee, card.expected_error.blocks
    sentences = [page.write("subtract_exact", unit=unit), page.write("subtract_noise")]
    error, name = guarantee.noise_scale_decimal, "subtract_width"
    # The error of a cell is known best; without a closed form, the width of one noise bounds it.
    if blocks:
        error, name = blocks[0].standard_error, "subtract_cell"
    elif guarantee.noise_sigma2 is not None:
        error = math.sqrt(Fraction(guarantee.noise_sigma2))
    if error is not None:
        contribution = guarantee.contribution
        sentences.append(page.write(name, unit=unit, error=error, contribution=contribution))
        sentences.append(page.write("subtract_ratio", unit=unit, ratio=error / contribution))
    sentences.append(page.write("subtract_bound"))
    return Section(page.write("heading_subtract"), tuple(sentences))


def _errors_section(page: Writer, error: StatedError) -> Section:
    """Write the section on errors: of blocks, of isolated cells, and the smallest useful block."""
    heading = page.write("heading_errors")
    if error.blocks is None:
        return Section(heading, (page.write("errors_unknown"),))
    sentences = [page.write("errors_table")]
    # The card states in words where the closed form holds; only this one word is relied on.
    if error.holds and "clamped" in error.holds:
        sentences.append(page.write("errors_clamped"))
    if (cell := error.isolated_cell) is not None:
        sentences += [
            page.write("lone_cell", bias=abs(cell.bias)),
            page.write("lone_error", rmse=cell.rmse),
        ]
    if (block := error.isolated_block) is not None:
        sentences.append(page.write("lone_block", cells=block.cells, bias=abs(block.bias)))
    sentences.append(_limit_sentence(page, error))
    rows = tuple((write_number(b.cells), write_number(b.standard_error)) for b in error.blocks)
    head = page.write("column_cells"), page.write("column_error")
    return Section(heading, tuple(sentences), head, rows)


def _limit_sentence(page: Writer, error: StatedError) -> str:
    if error.floor is None:
        return page.write("limit_unknown")
    if error.floor.cells == 1:
        return page.write("limit_cell", people=error.floor.people)
    if error.floor.cells is None:
        return page.write("limit_none", people=error.floor.people)
    return page.write("limit", people=error.floor.people, cells=error.floor.cells)
