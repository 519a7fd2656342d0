"""Translation of pages: the gettext catalogue ``pages``, one folder for each language.

The key of a text is the English sentence. Its context is its name in the code, so that one English
word can have two translations. ``packaging/catalogues.py`` compiles the catalogues, together with
those of the command line in ``geodp/cli/locale``.
"""

from __future__ import annotations

import gettext
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from geodp.errors import UsageError

DOMAIN = "pages"
"""Domain of gettext: the file name of the catalogues."""

LANGUAGES = ("en", "ja")
"""Languages of pages; the first is the language of the source texts."""


def require_language(language: str) -> None:
    """Raise UsageError for a language that pages do not have."""
    if language not in LANGUAGES:
        raise UsageError(
            f"language is {language!r}, but must be one of {', '.join(LANGUAGES)}.",
            code="language-unknown",
        )


def translate_text(text: str, language: str, context: str) -> str:
    """Translate a text; English is returned where there is no translation.

    Examples
    --------
    >>> translate_text("Files", "en", "page.heading_files")
    'Files'
    """
    require_language(language)
    # English is the key itself and has no catalogue.
    return text if language == LANGUAGES[0] else _open(language).pgettext(context, text)


def translate_texts(texts: Mapping[str, str], language: str, group: str) -> dict[str, str]:
    """Translate texts by name; the context of each is ``group.name``."""
    return {name: translate_text(text, language, f"{group}.{name}") for name, text in texts.items()}


@cache
def _open(language: str) -> gettext.GNUTranslations:
    """Open the compiled catalogue of a language; UsageError where it is not compiled."""
    folder = files("geodp") / "cli" / "locale"
    try:
        return gettext.translation(DOMAIN, str(folder), [language])
    except FileNotFoundError:
        raise UsageError(
            f"The texts of the language {language} are not compiled: in a source tree, run "
            "make catalogues.",
            code="language-not-compiled",
        ) from None
