"""The texts of a page in one language, from those in English."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from geodp.release.report.html import english
from geodp.release.report.translation import LANGUAGES, translate_text, translate_texts


@dataclass(frozen=True)
class Texts:
    """Texts of a language by their names.

    Attributes
    ----------
    page, script : mapping
        What stands on a page, and what its scripts say.
    page_of_units, script_of_units : mapping
        What is said otherwise where the map has units with outlines, not cells.
    card : mapping
        By sentences of cards, which are English: how a page says them.
    """

    page: Mapping[str, str]
    script: Mapping[str, str]
    page_of_units: Mapping[str, str]
    script_of_units: Mapping[str, str]
    card: Mapping[str, str]


@cache
def texts_of(language: str) -> Texts:
    """Return the texts of a language; UsageError for one that pages do not have."""
    groups = {
        "page": english.PAGE,
        "script": english.SCRIPT,
        "page_of_units": english.PAGE_OF_UNITS,
        "script_of_units": english.SCRIPT_OF_UNITS,
    }
    found = {name: translate_texts(one, language, name) for name, one in groups.items()}
    return Texts(card=_translate_card(language), **found)


def _translate_card(language: str) -> dict[str, str]:
    """Return sentences of cards as a page says them, but for those that it cannot translate."""
    found = {
        sentence: translate_text(text, language, "card") for sentence, text in english.CARD.items()
    }
    if language == LANGUAGES[0]:
        return found
    return {one: text for one, text in found.items() if text != english.CARD[one]}
