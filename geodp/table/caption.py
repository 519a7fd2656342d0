"""Captions of a card's fields, for people and for other programs.

A field with a caption is shown by everything that shows its part of the card: the privacy card in
Markdown, the page in every language, the registry's record, NetCDF files and items of STAC.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal

CAPTION = "caption"
"""Key of the caption in the metadata of a dataclass's field."""


@dataclass(frozen=True)
class Caption:
    """Names of a field.

    Attributes
    ----------
    en, ja : str
        In English and in Japanese, as in the middle of a sentence.
    cf, stac : str
        In the conventions of CF and of STAC; empty: they have no name for it, and it stands under
        that of geodp.
    """

    en: str
    ja: str
    cf: str = ""
    stac: str = ""

    def in_language(self, language: Literal["en", "ja"]) -> str:
        """Return the caption in a language of pages."""
        return self.en if language == "en" else self.ja

    @property
    def heading(self) -> str:
        """The English caption with an initial capital."""
        return f"{self.en[:1].upper()}{self.en[1:]}"


def caption(en: str, ja: str, *, cf: str = "", stac: str = "") -> dict[str, Caption]:
    """Return field metadata with a caption, so that the field is shown."""
    # Next to the field itself: a new field of the card needs no change in any writer.
    return {CAPTION: Caption(en, ja, cf, stac)}


def list_captioned(part: Any) -> Iterator[tuple[str, Caption, Any]]:
    """Yield name, caption and value of the captioned fields of a part of the card.

    Fields that are None are left out; a part that is None has no fields.
    """
    for one in () if part is None else fields(part):
        value = getattr(part, one.name)
        if CAPTION in one.metadata and value is not None:
            yield one.name, one.metadata[CAPTION], value
