"""Explain a release of persons and households from its public index alone."""

from __future__ import annotations

from functools import partial

from geodp.features.explain.card import budget_sentences, reach_of_budget, write_explanation
from geodp.features.explain.page import Explanation, Section, Writer
from geodp.features.explain.reach import BeliefShift
from geodp.features.explain.sections import (
    beliefs_section,
    factor_sentence,
    guess_section,
    households_section,
    open_section,
    where_section,
)
from geodp.features.households.card import OTHERS, HouseholdsCard, HouseholdsGuarantee
from geodp.privacy.neighbours import ADD_REMOVE


def explain_households(card: HouseholdsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("households_title")
    return write_explanation(page, title, card.private, partial(_sections, page, card))


def _sections(page: Writer, card: HouseholdsCard) -> tuple[Section, ...]:
    """Write the sections of the page."""
    guarantee = card.guarantee
    reach_of, unit = reach_of_budget(guarantee), page.unit(guarantee.unit)
    alone = reach_of(1)
    kind = "add" if guarantee.neighbours == ADD_REMOVE else "replace"
    rule = "households_epsilon" if guarantee.rho is None else "households_rho"
    return (
        _together_section(page, card),
        _promise_section(page, guarantee, alone, page.write(f"suppose_{kind}", unit=unit)),
        beliefs_section(page, alone, unit, kind),
        *([where_section(page, reach_of, unit)] if kind == "add" else ()),
        guess_section(page, alone, page.write(f"guess_{kind}", unit=unit)),
        # Where households are protected, they are what beliefs are about already.
        *([households_section(page, reach_of, rule)] if card.protects == "person" else ()),
        open_section(page, (), card.budget, unit),
    )


def _together_section(page: Writer, card: HouseholdsCard) -> Section:
    """Write what is released, and what always holds."""
    names = [one.name for one in card.tables]
    sentences = (
        page.write("together_possible", size=card.max_size),
        *([page.write("together_others")] if OTHERS in names else []),
        page.write(f"together_{card.protects}"),
        page.write("together_once"),
    )
    return Section(page.write("heading_together"), sentences)


def _promise_section(
    page: Writer, guarantee: HouseholdsGuarantee, reach: BeliefShift, suppose: str
) -> Section:
    """Write the guarantee, its measure and its conditions."""
    # Of households, records may be put together by geodp; of a person somebody else answers.
    enforced = guarantee.assumptions[0].stated_by == "geodp"
    answers = "enforced" if enforced else "vouched"
    sentences = (
        suppose,
        factor_sentence(page, reach),
        *budget_sentences(page, guarantee),
        page.write(f"counted_{guarantee.unit}_{answers}", contribution=guarantee.contribution),
        *([page.write("counted_single")] if guarantee.unit == "household" else []),
    )
    return Section(page.write("heading_promise"), sentences)
