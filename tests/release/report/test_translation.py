"""Texts of pages in other languages: each is translated, with its figures, and compiled."""

import gettext
from importlib.resources import files
from string import Formatter

import pytest
from babel.messages.pofile import read_po

from geodp.errors import UsageError
from geodp.kinds.amounts import english as of_amounts
from geodp.kinds.census import english as of_census
from geodp.kinds.flows import english as of_flows
from geodp.kinds.households import english as of_households
from geodp.release.report.html import english, general, periods
from geodp.release.report.html.english import texts_of
from geodp.release.report.translation import (
    DOMAIN,
    LANGUAGES,
    require_language,
    translate_text,
    translate_texts,
)
from geodp.tools.explain import english as explanation
from tests.refusals import refuses

OTHERS = LANGUAGES[1:]
FOLDER = files("geodp") / "cli" / "locale"
GROUPS = {
    "page": english.PAGE,
    "script": english.SCRIPT,
    "page_of_units": english.PAGE_OF_UNITS,
    "script_of_units": english.SCRIPT_OF_UNITS,
    "sentence": explanation.SENTENCES,
    "flows": of_flows.PAGE,
    "flows_files": of_flows.FILES,
    "flows_durations": of_flows.DURATIONS,
    "amounts": of_amounts.PAGE,
    "amounts_files": of_amounts.FILES,
    "households": of_households.PAGE,
    "census": of_census.PAGE,
    "general": general.PAGE,
    "periods": periods.PAGE,
}
UNUSED_TERM = ("contribution", "the most that one person adds to the sum of all counts")
"""A term that Japanese sentences do not use."""


def texts():
    """Return all texts by their context and English."""
    keys = {(f"{group}.{name}", text) for group, all_ in GROUPS.items()
             for name, text in all_.items() if text}  # fmt: skip
    keys |= {("card", text) for text in english.CARD.values()}
    keys |= {("term", term) for term in explanation.TERMS}
    keys |= {("meaning", meaning) for meaning in explanation.TERMS.values()}
    keys |= {("unit", one) for one in explanation.UNITS.values()}
    return keys | {("unit.other", explanation.ONE)}


def catalogue(language):
    source = FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"
    with source.open("rb") as file:
        return {(one.context, one.id): one.string for one in read_po(file) if one.id}


def fields(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name} - {"unit"}


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_is_translated_and_none_is_left_over(language):
    entries = catalogue(language)
    assert {*entries} == {one for one in texts() if one[1] not in UNUSED_TERM}
    assert all(entries.values())


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_figures_of_the_text(language):
    for (context, text), translated in catalogue(language).items():
        assert fields(text) == fields(translated), context


@pytest.mark.parametrize("language", OTHERS)
def test_the_compiled_texts_are_those_of_the_source(language):
    compiled = gettext.translation(DOMAIN, str(FOLDER), [language])
    entries = catalogue(language)
    assert {one: compiled.pgettext(*one) for one in entries} == entries, "say: make catalogues"


def test_what_has_no_translation_stays_english():
    assert translate_text("A new text", OTHERS[0], "page.new") == "A new text"
    assert translate_texts({"a": "A new text"}, LANGUAGES[0], "page") == {"a": "A new text"}
    assert texts_of(LANGUAGES[0]).page == english.PAGE


def test_a_language_without_texts_is_refused(tmp_path, monkeypatch):
    with refuses(UsageError, "language-unknown"):
        require_language("fr")
    monkeypatch.setattr("geodp.release.report.translation.LANGUAGES", ("en", "fr"))
    with refuses(UsageError, "language-not-compiled"):
        translate_text("Files", "fr", "page.heading_files")
