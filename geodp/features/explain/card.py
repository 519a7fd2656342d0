"""What a release means, from its public card alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from geodp.errors import VerificationError
from geodp.features.explain.page import Explanation, Section, Writer, write_number
from geodp.features.explain.reach import BeliefShift, reach_of_concentrated, reach_of_pure
from geodp.features.explain.sections import (
    ReachOf,
    beliefs_section,
    bound_sentence,
    factor_sentence,
    guess_section,
    households_section,
    not_private_sections,
    open_section,
    where_section,
)
from geodp.io.folder.kinds import PublicCard, kind_of
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.table.card import Card
from geodp.table.stated.error import StatedError
from geodp.table.stated.release import StatedGuarantee

RARE = 1e-6
"""The chance that beliefs may move further, where a zero-concentrated guarantee names no delta."""


def explain(card: PublicCard, language: str = "en") -> Explanation:
    """Return what a release means, for people.

    Parameters
    ----------
    card : Card or another card
        Of a written release of any kind, such as a selection; nothing else is read.
    language : {"en", "ja"}

    Raises
    ------
    UsageError
        Another language.
    VerificationError
        A card with a guarantee that has neither epsilon nor rho, or with numbers that cannot be; a
        kind of release that nobody explains.

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
    title = page.say("title", release_id=card.release_id, name=card.name)
    return write_explanation(page, title, card.private, partial(_tell_release, page, card))


def explain_people(card: Card, language: str = "en") -> tuple[Section, ...]:
    """Return the part of :func:`explain` that is about those who were counted: no errors of sums.

    A page that shows errors and hazards itself has these sections.
    """
    page = Writer(language)
    return write_explanation(page, "", card.private, partial(_tell_people, page, card)).sections


def write_explanation(
    page: Writer, title: str, private: bool, tell: Callable[[], tuple[Section, ...]]
) -> Explanation:
    """Return the page of a release: its sections, or of one that is not private why there are none.

    Raises VerificationError where numbers of the card contradict each other.
    """
    try:
        sections = tell() if private else not_private_sections(page)
    except (ArithmeticError, ValueError):
        raise VerificationError(
            "The numbers of the card contradict each other.", code="card-numbers-contradict"
        ) from None
    return Explanation(page.language, title, (*sections, page.list_words()), page.figures)


def _tell_release(page: Writer, card: Card) -> tuple[Section, ...]:
    """Return the page of a release of counts."""
    unit = page.unit(card.guarantee.unit)
    return (
        *_tell_people(page, card),
        _tell_errors(page, card.expected_error),
        open_section(page, card.guarantee.not_protected, card.budget, unit),
    )


def _tell_people(page: Writer, card: Card) -> tuple[Section, ...]:
    """Return what a release of counts means for those who were counted."""
    said = card.guarantee
    reach_of, unit = _reach_of(said), page.unit(said.unit)
    alone = reach_of(1)
    kind = "add" if said.neighbours == ADD_REMOVE else "replace"
    kind = "local" if _is_local(said) else kind
    return (
        _tell_promise(page, said, alone, page.say(f"suppose_{kind}", unit=unit)),
        beliefs_section(page, alone, unit, kind),
        *([where_section(page, reach_of, unit)] if kind == "add" else ()),
        guess_section(page, alone, page.say(f"guess_{kind}", unit=unit)),
        households_section(
            page, reach_of, "households_epsilon" if said.rho is None else "households_rho"
        ),
        _tell_subtraction(page, card, unit),
    )


def _is_local(said: StatedGuarantee) -> bool:
    """Return whether devices made their own noise."""
    return said.variant.startswith("local ")


def _reach_of(said: StatedGuarantee) -> ReachOf:
    """Return how far beliefs move, by the number of people who are alike."""
    if said.rho is not None:
        delta = RARE if said.delta is None else float(Fraction(said.delta))
        return partial(reach_of_concentrated, float(Fraction(said.rho)), delta)
    if said.epsilon is None:
        raise VerificationError(
            "The card states neither epsilon nor rho.", code="card-without-loss"
        )
    return partial(reach_of_pure, float(Fraction(said.epsilon)))


def _tell_promise(page: Writer, said: StatedGuarantee, reach: BeliefShift, suppose: str) -> Section:
    """Return the guarantee, its measure and what it needs."""
    sentences = [suppose, factor_sentence(page, reach)]
    if said.rho is None:
        sentences.append(page.say("named_epsilon", epsilon=str(said.epsilon)))
    else:
        sentences.append(page.say("named_rho", rho=str(said.rho)))
        if said.epsilon is not None:
            amounts = {"epsilon": said.epsilon, "delta": str(said.delta)}
            sentences.append(page.say("named_delta", **amounts))
    unit = page.unit(said.unit)
    if _is_local(said):
        sentences.append(page.say("trust_local", unit=unit))
        sentences.append(page.say("period_local", unit=unit, contribution=said.contribution))
    else:
        sentences.append(bound_sentence(page, said, unit))
    return Section(page.say("heading_promise"), tuple(sentences))


def _tell_subtraction(page: Writer, card: Card, unit: str) -> Section:
    """Return what becomes of the difference of two sums."""
    said, blocks = card.guarantee, card.expected_error.blocks
    sentences = [page.say("subtract_exact", unit=unit), page.say("subtract_noise")]
    error, name = said.noise_scale_decimal, "subtract_width"
    if blocks:
        error, name = blocks[0].standard_error, "subtract_cell"
    elif said.noise_sigma2 is not None:
        error = math.sqrt(Fraction(said.noise_sigma2))
    if error is not None:
        most = said.contribution
        sentences.append(page.say(name, unit=unit, error=error, contribution=most))
        sentences.append(page.say("subtract_ratio", unit=unit, ratio=error / most))
    sentences.append(page.say("subtract_bound"))
    return Section(page.say("heading_subtract"), tuple(sentences))


def _tell_errors(page: Writer, error: StatedError) -> Section:
    """Return errors of blocks, what lone cells lose, and the smallest useful block."""
    heading = page.say("heading_errors")
    if error.blocks is None:
        return Section(heading, (page.say("errors_unknown"),))
    sentences = [page.say("errors_table")]
    if error.holds and "clamped" in error.holds:
        sentences.append(page.say("errors_clamped"))
    if (cell := error.isolated_cell) is not None:
        sentences += [
            page.say("lone_cell", bias=abs(cell.bias)),
            page.say("lone_error", rmse=cell.rmse),
        ]
    if (block := error.isolated_block) is not None:
        sentences.append(page.say("lone_block", cells=block.cells, bias=abs(block.bias)))
    sentences.append(_say_limit(page, error))
    rows = tuple((write_number(b.cells), write_number(b.standard_error)) for b in error.blocks)
    head = page.say("column_cells"), page.say("column_error")
    return Section(heading, tuple(sentences), head, rows)


def _say_limit(page: Writer, error: StatedError) -> str:
    if error.floor is None:
        return page.say("limit_unknown")
    if error.floor.cells == 1:
        return page.say("limit_cell", people=error.floor.people)
    if error.floor.cells is None:
        return page.say("limit_none", people=error.floor.people)
    return page.say("limit", people=error.floor.people, cells=error.floor.cells)
