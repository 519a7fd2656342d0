"""Explain a release of amounts, or a series of them, from its public index alone."""

from __future__ import annotations

from functools import partial

from geodp.errors import printable
from geodp.features.amounts.card import AmountsCard, StatedAmount, StatedAmountsPrior
from geodp.features.amounts.series.card import AmountsSeriesCard
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
from geodp.table.index import find_period


def explain_amounts(card: AmountsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("amounts_title", name=card.amount.name)
    together = [*_describe_amounts(page, card.amount), *_describe_prior(page, card.prior)]
    if (period := find_period(card.guarantee.not_protected)) is not None:
        named = {"time": period.time, "first": period.first, "last": period.last}
        together.insert(0, page.write("amounts_period", number=int(period.number), **named))
    return _write(page, title, card, together, "amounts")


def explain_series(card: AmountsSeriesCard, language: str) -> Explanation:
    """Explain a series in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("amounts_series_title", name=card.amount.name)
    told = page.write(
        f"amounts_series_{card.guarantee.person}",
        unit=page.unit(card.guarantee.unit),
        number=len(card.periods),
        first=card.periods[0].time if card.periods else "-",
        last=card.periods[-1].time if card.periods else "-",
    )
    together = [told, *_describe_amounts(page, card.amount)]
    if card.prior is not None:
        # Whether it was used is known of each period.
        together.append(page.write("amounts_series_prior", source=printable(card.prior.source)))
    return _write(page, title, card, together, "amounts_series")


def _write(
    page: Writer,
    title: str,
    card: AmountsCard | AmountsSeriesCard,
    together: list[str],
    names: str,
) -> Explanation:
    """Write the page of a release or a series.

    ``together``: what is released; ``names``: how names of sentences on the contribution begin.
    """
    listed = (*together, page.write("together_once"))
    section = Section(page.write("heading_together"), listed)
    sections = partial(_sections, page, card, section, names)
    return write_explanation(page, title, card.private, sections)


def _sections(
    page: Writer, card: AmountsCard | AmountsSeriesCard, together: Section, names: str
) -> tuple[Section, ...]:
    """Write the sections of the page."""
    guarantee = card.guarantee
    reach_of, unit = reach_of_budget(guarantee), page.unit(guarantee.unit)
    alone = reach_of(1)
    kind = "add" if guarantee.neighbours == ADD_REMOVE else "replace"
    enforced = guarantee.assumptions[0].stated_by == "geodp"
    answers = "enforced" if enforced else "vouched"
    if card.amount.max_weight is not None:
        answers = f"weighed_{answers}"
    promise = (
        page.write(f"suppose_{kind}", unit=unit),
        factor_sentence(page, alone),
        *budget_sentences(page, guarantee),
        page.write(
            f"{names}_{answers}",
            unit=unit,
            contribution=guarantee.contribution,
        ),
    )
    rule = "households_epsilon" if guarantee.rho is None else "households_rho"
    return (
        together,
        Section(page.write("heading_promise"), promise),
        beliefs_section(page, alone, unit, kind),
        *([where_section(page, reach_of, unit)] if kind == "add" else ()),
        guess_section(page, alone, page.write(f"guess_{kind}", unit=unit)),
        households_section(page, reach_of, rule),
        open_section(page, (), card.budget, unit),
    )


def _describe_amounts(page: Writer, amount: StatedAmount) -> list[str]:
    """Write what is released, and between which ends amounts count."""
    ends = {"lower": amount.lower, "upper": amount.upper, "measure": amount.unit}
    sentences = [page.write("amounts_clipped", **ends)]
    if amount.notches:
        sentences.insert(0, page.write("amounts_means", name=amount.name))
    if amount.edges:
        sentences.append(page.write("amounts_classes", name=amount.name))
    if amount.max_weight is not None:
        sentences.append(page.write("amounts_weights", largest=amount.max_weight))
    return sentences


def _describe_prior(page: Writer, prior: StatedAmountsPrior | None) -> list[str]:
    """Write which prior was used, if any."""
    if prior is None:
        return []
    used = "amounts_prior" if prior.is_used else "amounts_prior_unused"
    return [page.write(used, source=printable(prior.source))]
