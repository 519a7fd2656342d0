"""Header of a page: title, who is counted, where and when."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from geodp.accuracy.interval import Z
from geodp.grid.lattice import Lattice
from geodp.io.write.frame import cell_size
from geodp.io.write.map.look import LANGUAGES as CAPTIONS
from geodp.io.write.map.look import Language
from geodp.io.write.view import View
from geodp.release.report.html.markup import Html, Page, element, pairs
from geodp.release.report.html.outlines import lay_ground
from geodp.table.card import Card
from geodp.table.stated.domain import StatedPlace

About = Mapping[str, Any]
"""Metadata of the registry record, by its keys there; empty without a record."""


def name_counted(view: View, page: Page, language: Language) -> str:
    """Name who or what is counted, in the plural: people, trips, or the name of the count."""
    return page.get(f"who_{view.counted}") or CAPTIONS[language].name(view.counted)


def title_of(view: View, who: str, page: Page, about: About) -> str:
    """Return the publisher's title, or one made of who is counted, and in which cells."""
    metadata, grid = view.card.metadata, view.table.grid
    if metadata is not None and metadata.title is not None:
        return metadata.title
    if about:
        return str(about["name"])
    subject = f"{who[:1].upper()}{who[1:]}"
    places = grid.places
    if not places or view.card.domain.has_units:
        return page["title_areas"].format(who=subject, cells=grid.size)
    name = "title_pairs" if len(places) > 1 else "title_squares"
    size = {"rows": places[0].rows, "cols": places[0].cols}
    return page[name].format(who=subject, km=_write_side(places[0], page), **size)


def _write_side(place: Lattice, page: Page) -> str:
    """Describe the width of a cell; empty where it does not lie on the Earth."""
    if place.crs is None or place.transform is None:
        return ""
    width, height = (float(each) for each in cell_size(place))
    # Cells in degrees are not square on the ground: the side of a square of equal area.
    side = (width * height) ** 0.5
    if side < 1:
        return page["title_side"].format(side=f"{1000 * side:.3g} m")
    return page["title_side"].format(side=f"{side:.3g} km")


def write_header(
    view: View, unit: str, page: Page, about: About, title: str, total: str | None
) -> Html:
    """Write the header of the page."""
    card = view.card
    flag = [] if card.private else [element("p", page["not_private"], class_="alarm", role="alert")]
    metadata = card.metadata
    # The publisher's title may be in another language than the page; screen readers need its lang.
    language = metadata.language if metadata is not None and title == metadata.title else None
    return element(
        "header",
        element("h1", title, lang=language),
        *flag,
        element(
            "p",
            page["intro"].format(unit=unit, amount=_describe_amount(card, page)),
            class_="intro",
        ),
        pairs((page[f"fact_{name}"], what) for name, what in _facts(view, page, about, total)),
    )


def _describe_amount(card: Card, page: Page) -> str:
    """Describe the error of a single cell; empty where it is not known."""
    blocks = card.expected_error.blocks
    if not blocks or blocks[0].cells > 1:
        return ""
    error = write_figure(float(f"{blocks[0].standard_error:.2g}"))
    isolated = card.expected_error.isolated_cell
    if isolated is None:
        return page["intro_amount"].format(error=error)
    # 95 % of isolated cells are off by less: the bias and 1.96 standard deviations around it.
    spread = math.sqrt(max(isolated.rmse**2 - isolated.bias**2, 0))
    at_most = float(f"{abs(isolated.bias) + Z * spread:.1g}")
    return page["intro_alone"].format(error=error, alone=write_figure(at_most))


def write_figure(value: float) -> str:
    """Format a number with three significant digits and thousands separators.

    Examples
    --------
    >>> [write_figure(one) for one in (506.131, 1234.5, 31.1001, 0.25, 0)]
    ['506', '1,230', '31.1', '0.25', '0']
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def _facts(view: View, page: Page, about: About, total: str | None) -> list[tuple[str, str]]:
    """List where, when and by whom, as far as the release declares it."""
    metadata, facts = view.card.metadata, list[tuple[str, str]]()
    if metadata is not None and metadata.description is not None:
        facts.append(("what", element("span", metadata.description, lang=metadata.language)))
    if about:
        facts.append(("where", about["data_product_region"]))
    grid = view.table.grid
    lain = [] if grid.outlines is None else [lay_ground(grid.outlines.drawn)]
    for place in [*lain, *grid.places][:1]:
        if (where := write_bounds(place, page)) is not None:
            facts.append(("where", where))
    if total is not None:
        facts.append(("all", total))
    day = None if metadata is None else metadata.reference_date
    facts.append(("when", page["fact_no_date"] if day is None else write_days(day, page)))
    if about:
        facts.append(("published", write_days(about["publication_date"], page)))
    if metadata is not None and metadata.publisher is not None:
        facts.append(("publisher", element("span", metadata.publisher, lang=metadata.language)))
    return facts


def write_bounds(place: Lattice | StatedPlace, page: Page) -> str | None:
    """Format the bounds of a map in degrees; None without a CRS."""
    from pyproj import Transformer

    if place.crs is None or place.transform is None:
        return None
    move = Transformer.from_crs(str(place.crs), "OGC:CRS84", always_xy=True)
    # Projected edges are curves in degrees: points along them, not only the corners.
    west, south, east, north = move.transform_bounds(*place.bounds, densify_pts=21)
    edges = {"west": west, "east": east, "south": south, "north": north}
    return page["bounds"].format(
        **{
            name: write_degrees(edge, name in ("west", "east"), page)
            for name, edge in edges.items()
        }
    )


def write_degrees(value: float, is_longitude: bool, page: Page) -> str:
    """Format a longitude or a latitude to hundredths of a degree."""
    sides = ("degrees_east", "degrees_west") if is_longitude else ("degrees_north", "degrees_south")
    return page[sides[value < 0]].format(value=f"{abs(round(value, 2)):g}")


def write_days(text: str, page: Page) -> str:
    """Format a date (YYYY-MM-DD) or a period (two dates with a slash) in the page's language."""
    days = []
    for one in text.split("/"):
        year, month, day = (int(part) for part in one.split("-"))
        name = page["months"].split()[month - 1]
        days.append(page["date"].format(year=year, month=name, day=day))
    return page["period"].join(days)


def write_source(card: Card, page: Page, exact: bool) -> str:
    """Format the source that is copied with a sentence: publisher, date, and that noise was added.

    ``exact``: for a sentence on a public total, which has no noise; may be empty.
    """
    facts = list[str]()
    metadata = card.metadata
    if metadata is not None and metadata.publisher is not None:
        facts.append(metadata.publisher)
    if metadata is not None and metadata.reference_date is not None:
        facts.append(page["source_date"].format(date=write_days(metadata.reference_date, page)))
    if exact:
        # A fact ends with the mark that divides it from the next one.
        joined = page["source_fact"].format(fact="").join(facts)
        return page["source_exact"].format(facts=joined) if facts else ""
    texts = [page["source_fact"].format(fact=one) for one in facts]
    return page["source"].format(facts="".join(texts))


def write_release(card: Card, page: Page) -> str:
    """Name the release, for the small print."""
    return page["subtitle"].format(release_id=card.release_id, software=str(card.software))
