"""Explain a release of amounts, or a series of them, from its public index alone."""

from __future__ import annotations

from geodp.errors import printable
from geodp.features.amounts.card import AmountsCard, StatedAmount, StatedAmountsPrior
from geodp.features.amounts.series.card import AmountsSeriesCard
from geodp.features.explain.card import explain_index
from geodp.features.explain.page import Explanation, Writer
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

    def write_promise() -> list[str]:
        guarantee = card.guarantee
        enforced = guarantee.assumptions[0].stated_by == "geodp"
        answers = "enforced" if enforced else "vouched"
        if card.amount.max_weight is not None:
            answers = f"weighed_{answers}"
        unit, contribution = page.unit(guarantee.unit), guarantee.contribution
        return [page.write(f"{names}_{answers}", unit=unit, contribution=contribution)]

    return explain_index(page, title, card, lambda: together, write_promise)


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
