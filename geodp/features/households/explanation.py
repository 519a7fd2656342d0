"""Explain a release of persons and households from its public index alone."""

from __future__ import annotations

from geodp.features.explain.card import explain_index
from geodp.features.explain.page import Explanation, Writer
from geodp.features.households.card import OTHERS, HouseholdsCard


def explain_households(card: HouseholdsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page, guarantee = Writer(language), card.guarantee

    def write_together() -> list[str]:
        names = [one.name for one in card.tables]
        return [
            page.write("together_possible", size=card.max_size),
            *([page.write("together_others")] if OTHERS in names else []),
            page.write(f"together_{card.protects}"),
        ]

    def write_promise() -> list[str]:
        # Of households, records may be put together by geodp; of a person somebody else answers.
        enforced = guarantee.assumptions[0].stated_by == "geodp"
        counted = f"counted_{guarantee.unit}_{'enforced' if enforced else 'vouched'}"
        return [
            page.write(counted, contribution=guarantee.contribution),
            *([page.write("counted_single")] if guarantee.unit == "household" else []),
        ]

    # Where households are protected, they are what beliefs are about already.
    households, title = card.protects == "person", page.write("households_title")
    return explain_index(page, title, card, write_together, write_promise, households=households)
