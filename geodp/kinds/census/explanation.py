"""Explain the release of a census from its public index alone."""

from __future__ import annotations

from collections.abc import Iterator

from geodp.kinds.census.kind import CensusCard
from geodp.kinds.census.margins import HOUSEHOLDS, Margins
from geodp.privacy.terms import ADD_REMOVE
from geodp.tools.explain.card import explain_index
from geodp.tools.explain.page import Explanation, Writer


def explain_census(card: CensusCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page, guarantee = Writer(language), card.guarantee
    margins, unit = card.relations, page.unit(guarantee.unit)

    def write_together() -> Iterator[str]:
        tree = ", ".join(draw_branch(margins, one) for one in margins.populations)
        yield page.write("census_columns", number=len(card.columns), tree=tree)
        # The section that is named is of a person more or less.
        if guarantee.neighbours == ADD_REMOVE:
            yield page.write("census_parts", unit=unit)
        if any(margins.population(one.name) == HOUSEHOLDS for one in margins.margins):
            yield page.write("census_households")
        if card.contradictions == "fitted":
            yield page.write("census_fitted", unit=unit)

    return explain_index(
        page,
        page.write("census_title", unit=unit),
        card,
        lambda: [*write_together()],
        lambda: [page.write("census_vouched", unit=unit, contribution=guarantee.contribution)],
    )


def draw_branch(margins: Margins, table: str) -> str:
    """Write a table with all that divides it in brackets.

    >>> from geodp.kinds.census.margins import Margin
    >>> sex = Margin("sex", "persons", ("f", "m"))
    >>> draw_branch(Margins((sex, Margin("age", "sex", ("0-14", "15+")))), "persons")
    'persons (sex (age))'
    """
    inside = ", ".join(draw_branch(margins, one.name) for one in margins.inside(table))
    return f"{table} ({inside})" if inside else table
