"""Texts of a page in one language, translated from :mod:`.english`."""

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
        Texts of the page itself, and of its scripts.
    page_of_units, script_of_units : mapping
        Texts that replace those where the map has units with outlines, not cells.
    card : mapping
        Texts of a page by the English sentences of cards that they replace.
    """

    page: Mapping[str, str]
    script: Mapping[str, str]
    page_of_units: Mapping[str, str]
    script_of_units: Mapping[str, str]
    card: Mapping[str, str]


@cache
def texts_of(language: str) -> Texts:
    """Load the texts of a language; UsageError for one that pages do not have."""
    groups = {
        "page": english.PAGE,
        "script": english.SCRIPT,
        "page_of_units": english.PAGE_OF_UNITS,
        "script_of_units": english.SCRIPT_OF_UNITS,
    }
    translated = {name: translate_texts(one, language, name) for name, one in groups.items()}
    return Texts(card=_translate_card(language), **translated)


def _translate_card(language: str) -> dict[str, str]:
    """Translate the sentences of cards; those without a translation are left out."""
    translated = {
        sentence: translate_text(text, language, "card") for sentence, text in english.CARD.items()
    }
    if language == LANGUAGES[0]:
        return translated
    # What stays out is quoted from the card as English, with lang="en" (parts.quote).
    return {one: text for one, text in translated.items() if text != english.CARD[one]}
