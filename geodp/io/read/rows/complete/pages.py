"""GeoJSON from services, which give a part at a time and say so beside the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete.error import incomplete

OF_ALL = ("numberMatched", "totalFeatures")
"""How WFS and OGC API Features call the number of all features that were asked for."""

PAGE = Rule(
    "pages-incomplete",
    "The file is one page of what a service has, as it says itself ({}); fetch all pages, and put "
    "them into one file (ogr2ogr does both).",
)


def check_pages(name: str, document: Mapping[str, Any], features: int) -> None:
    """Refuse a GeoJSON document that says that it lacks features.

    Parameters
    ----------
    document : mapping
        Its top level.
    features : int
        Those that it has.

    Raises
    ------
    InputError
        It states another number of features than it has, a number of all that is higher, a next
        page, or that a limit was exceeded.
    """
    returned = _whole(document.get("numberReturned"))
    if returned is not None and returned != features:
        raise incomplete(
            name,
            Rule(
                "geojson-features-differ", "The GeoJSON has another number of features than it says"
            ),
        )
    for member in OF_ALL:
        every = _whole(document.get(member))
        if every is not None and every > features:
            raise InputError(PAGE.format(member), file=name)
    links = document.get("links")
    if any(isinstance(one, dict) and one.get("rel") == "next" for one in links or ()):
        raise InputError(PAGE.format("a link to the next"), file=name)
    extras = document.get("properties")
    limits = [document, extras] if isinstance(extras, dict) else [document]
    if any(one.get("exceededTransferLimit") is True for one in limits):
        raise InputError(PAGE.format("exceededTransferLimit"), file=name)


def _whole(value: Any) -> int | None:
    """Return a number of features; None for what is none, such as \"unknown\"."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
