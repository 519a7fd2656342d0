"""Explain a release of amounts from its public index alone."""

from __future__ import annotations

from functools import partial

from geodp.errors import printable
from geodp.features.amounts.card import AmountsCard
from geodp.features.explain.card import budget_sentences, reach_of_budget, write_explanation
from geodp.features.explain.page import Explanation, Section, Writer
from geodp.features.explain.sections import (
    beliefs_section,
    factor_sentence,
    guess_section,
    households_section,
    open_section,
    where_section,
)
from geodp.privacy.neighbours import ADD_REMOVE


def explain_amounts(card: AmountsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("amounts_title", name=card.amount.name)
    return write_explanation(page, title, card.private, partial(_sections, page, card))


def _sections(page: Writer, card: AmountsCard) -> tuple[Section, ...]:
    """Write the sections of the page."""
    guarantee = card.guarantee
    reach_of, unit = reach_of_budget(guarantee), page.unit(guarantee.unit)
    alone = reach_of(1)
    kind = "add" if guarantee.neighbours == ADD_REMOVE else "replace"
    enforced = guarantee.assumptions[0].stated_by == "geodp"
    answers = "enforced" if enforced else "vouched"
    promise = (
        page.write(f"suppose_{kind}", unit=unit),
        factor_sentence(page, alone),
        *budget_sentences(page, guarantee),
        page.write(
            f"amounts_{answers if card.amount.max_weight is None else 'weighed'}",
            unit=unit,
            contribution=guarantee.contribution,
        ),
    )
    rule = "households_epsilon" if guarantee.rho is None else "households_rho"
    return (
        _together_section(page, card),
        Section(page.write("heading_promise"), promise),
        beliefs_section(page, alone, unit, kind),
        *([where_section(page, reach_of, unit)] if kind == "add" else ()),
        guess_section(page, alone, page.write(f"guess_{kind}", unit=unit)),
        households_section(page, reach_of, rule),
        open_section(page, (), card.budget, unit),
    )


def _together_section(page: Writer, card: AmountsCard) -> Section:
    """Write what is released, and between which ends amounts count."""
    amount = card.amount
    ends = {"lower": amount.lower, "upper": amount.upper, "measure": amount.unit}
    sentences = [page.write("amounts_clipped", **ends)]
    if amount.notches:
        sentences.insert(0, page.write("amounts_means", name=amount.name))
    if amount.edges:
        sentences.append(page.write("amounts_classes", name=amount.name))
    if amount.max_weight is not None:
        sentences.append(page.write("amounts_weights", largest=amount.max_weight))
    if card.prior is not None:
        used = "amounts_prior" if card.prior.is_used else "amounts_prior_unused"
        sentences.append(page.write(used, source=printable(card.prior.source)))
    sentences.append(page.write("together_once"))
    return Section(page.write("heading_together"), tuple(sentences))
