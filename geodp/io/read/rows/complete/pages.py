"""Completeness of GeoJSON from services, which return pages and declare them as such."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete.error import incomplete

OF_ALL = ("numberMatched", "totalFeatures")
"""Members in which WFS and OGC API Features state the number of all matching features."""

PAGE = Rule(
    "pages-incomplete",
    "The file is one page of a larger result, as it declares itself ({}); fetch all pages, and "
    "put them into one file (ogr2ogr does both).",
)


def check_pages(name: str, document: Mapping[str, Any], features: int) -> None:
    """Refuse a GeoJSON document that declares itself incomplete.

    Parameters
    ----------
    document : mapping
        Top level of the document.
    features : int
        Number of its features.

    Raises
    ------
    InputError
        The document states another number of features, a higher total, a next page, or that a limit
        was exceeded.
    """
    returned = _feature_count(document.get("numberReturned"))
    if returned is not None and returned != features:
        raise incomplete(
            name,
            Rule(
                "geojson-features-differ", "The GeoJSON has another number of features than it says"
            ),
        )
    for member in OF_ALL:
        every = _feature_count(document.get(member))
        if every is not None and every > features:
            raise InputError(PAGE.format(member), file=name)
    links = document.get("links")
    if any(isinstance(link, dict) and link.get("rel") == "next" for link in links or ()):
        raise InputError(PAGE.format("a link to the next"), file=name)
    extras = document.get("properties")
    # ArcGIS writes the flag at the top level or among the properties.
    limits = [document, extras] if isinstance(extras, dict) else [document]
    if any(holder.get("exceededTransferLimit") is True for holder in limits):
        raise InputError(PAGE.format("exceededTransferLimit"), file=name)


def _feature_count(value: Any) -> int | None:
    """Return a number of features; None for other values, such as "unknown"."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
