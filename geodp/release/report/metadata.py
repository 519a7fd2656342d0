"""Metadata of a release that only its publisher knows, for the record of a registry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import date
from typing import Any

from geodp.errors import UsageError


@dataclass(frozen=True)
class ReleaseMetadata:
    """Metadata of a release that its card does not have.

    Attributes
    ----------
    name, description, intended_use : str
        Name, description and intended use of the published data.
    curator, curator_type : str
        Who holds the confidential records, and what kind of organisation that is.
    region : str
        Whom or where the data are about.
    publication_date : str
        ``YYYY-MM-DD``.
    authors : tuple of str
        Authors of the registry record.
    slug : str
        Lower-case letters, digits and hyphens.
    sector : str
    """

    name: str
    curator: str
    curator_type: str
    region: str
    intended_use: str
    description: str
    publication_date: str
    authors: tuple[str, ...]
    slug: str
    sector: str = "Government"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            texts = value if field.name == "authors" else (value,)
            listed = isinstance(texts, tuple) and texts
            if not listed or not all(isinstance(text, str) and text.strip() for text in texts):
                kind = "a list of texts" if field.name == "authors" else "a text"
                raise UsageError(
                    f"{field.name} must be {kind} and not empty.", code="registry-field-kind"
                )
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.slug):
            raise UsageError(
                f"slug is {self.slug!r}, but must consist of lower-case letters and digits, "
                "joined by hyphens.",
                code="registry-slug",
            )
        try:
            # From Python 3.11 on, fromisoformat accepts 20260102 as well: compare with the text.
            exact = date.fromisoformat(self.publication_date).isoformat() == self.publication_date
        except ValueError:
            exact = False
        if not exact:
            raise UsageError(
                f"publication_date is {self.publication_date!r}, but must be a date, YYYY-MM-DD.",
                code="registry-date",
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ReleaseMetadata:
        """Check plain values, as read from TOML; UsageError names missing and unknown fields."""
        required = {field.name: field.default is MISSING for field in fields(cls)}
        missing = [name for name, needed in required.items() if needed and name not in values]
        if missing:
            raise UsageError(
                f"The release metadata lack the fields {', '.join(missing)}; add them.",
                code="registry-fields-missing",
            )
        unknown = sorted(set(values) - set(required))
        if unknown:
            raise UsageError(
                f"The release metadata have unknown fields: {', '.join(unknown)}; "
                f"allowed are {', '.join(required)}.",
                code="registry-fields-unknown",
            )
        # TOML has dates and lists of its own; the fields are a text and a tuple.
        arguments = dict(values)
        if isinstance(arguments["publication_date"], date):
            arguments["publication_date"] = arguments["publication_date"].isoformat()
        if isinstance(arguments["authors"], list):
            arguments["authors"] = tuple(arguments["authors"])
        return cls(**arguments)
