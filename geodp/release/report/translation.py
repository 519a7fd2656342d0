"""Texts of pages in other languages: gettext's catalogue ``pages``, one folder a language.

A text's key is the English sentence, and its context the name that the code has for it, so that one
English word can have two translations. ``packaging/catalogues.py`` compiles the catalogues, as
those of the command line beside them in ``geodp/cli/locale``.
"""

from __future__ import annotations

import gettext
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from geodp.errors import UsageError

DOMAIN = "pages"
"""Name of the catalogues."""

LANGUAGES = ("en", "ja")
"""Languages of pages; the first is that of the code."""


def require_language(language: str) -> None:
    """Raise UsageError for a language that pages do not have."""
    if language not in LANGUAGES:
        raise UsageError(f"language is one of {', '.join(LANGUAGES)}.", code="language-unknown")


def translate_text(text: str, language: str, context: str) -> str:
    """Return a text in a language; in English where it has no translation.

    Examples
    --------
    >>> translate_text("Files", "en", "page.heading_files")
    'Files'
    """
    require_language(language)
    return text if language == LANGUAGES[0] else _open(language).pgettext(context, text)


def translate_texts(texts: Mapping[str, str], language: str, group: str) -> dict[str, str]:
    """Return texts by their names in a language; the context of each is the group and its name."""
    return {name: translate_text(text, language, f"{group}.{name}") for name, text in texts.items()}


@cache
def _open(language: str) -> gettext.GNUTranslations:
    """Return the compiled catalogue of a language; UsageError where nobody has compiled it."""
    folder = files("geodp") / "cli" / "locale"
    try:
        return gettext.translation(DOMAIN, str(folder), [language])
    except FileNotFoundError:
        raise UsageError(
            f"The texts of the language {language} are not compiled: in a source tree, run "
            "make catalogues.",
            code="language-not-compiled",
        ) from None
