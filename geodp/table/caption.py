"""What a field of the card is called where people and other programs read it.

A field that has a caption is shown by whatever shows its part of the card: the privacy card in
Markdown, the page in every language, the registry's record, NetCDF files and items of STAC.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal

CAPTION = "caption"
"""Under which a caption stands in the metadata of a dataclass's field."""


@dataclass(frozen=True)
class Caption:
    """What a field is called.

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
        """Return it in a language of pages."""
        return self.en if language == "en" else self.ja

    @property
    def heading(self) -> str:
        """The English one as the first words of a line."""
        return f"{self.en[:1].upper()}{self.en[1:]}"


def caption(en: str, ja: str, *, cf: str = "", stac: str = "") -> dict[str, Caption]:
    """Return the metadata of a dataclass's field that is shown, whose names these are."""
    return {CAPTION: Caption(en, ja, cf, stac)}


def list_captioned(stated: Any) -> Iterator[tuple[str, Caption, Any]]:
    """Yield name, caption and value of the fields of a part of the card that are shown and stated.

    ``stated``: None states nothing.
    """
    for one in () if stated is None else fields(stated):
        value = getattr(stated, one.name)
        if CAPTION in one.metadata and value is not None:
            yield one.name, one.metadata[CAPTION], value
