"""Sentences on places, to be quoted from a page or an embedded map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp.accuracy.interval import Estimate, Interval
from geodp.grid.hierarchy import ENDS
from geodp.release.report.html.markup import Html, Page, bind, element, join, pack_integers
from geodp.release.report.html.places import (
    ENTIRE_DOMAIN,
    UNIT,
    NamedRegion,
    Place,
    Rounded,
)
from geodp.table.display import is_below
from geodp.typing import IntArray

MAX_SHOWN = 10
"""Places shown at first, and without a script."""

SORTS = ("sum", "sure", "name")
"""Orders of the list that a reader may choose."""

PRECISE = 0.1
"""Error in percent of the count up to which the sentence has no percentage: the ends say more."""

VAGUE = 50.0
"""Error in percent of the count above which the sentence calls the count unsure."""

WHERES = ("in", "part", "near", "near_part")
"""Beginnings of sentences: in a place or near it, all of it or its part on the map."""


@dataclass(frozen=True)
class Quote:
    """Sentence on a place.

    Attributes
    ----------
    place : str
        Name of the place in the sentence.
    where : str
        One of `WHERES`.
    km : float or None
        Radius of a circle, in kilometres.
    sentence : str
        Name of the sentence among the texts of the page's script.
    rounded : Rounded
    within : float or None
        Error in percent of the count; None where no percentage can be given.
    box : tuple of int
    is_entire_domain : bool
        Whether it is the entire domain.
    overlaps : bool
        Whether it shares cells with another place of the list.
    border : int64[n] or None
    """

    place: str
    where: str
    km: float | None
    sentence: str
    rounded: Rounded
    within: float | None
    box: tuple[int, int, int, int]
    is_entire_domain: bool = False
    overlaps: bool = False
    border: IntArray | None = None

    def format_sentence(self, texts: Page, who: str, below: int | None) -> str:
        """Format the sentence; ``who``: who is counted, ``below``: the display limit or None."""
        figures = {
            name: write_count(getattr(self.rounded, name)) for name in ("count", "low", "high")
        }
        percent = None if self.within is None else write_percent(self.within)
        km = None if self.km is None else f"{self.km:g}"
        where = texts[f"where_{self.where}"].format(place=self.place, km=km)
        fields = {"where": where, "who": who, "below": below, "percent": percent, **figures}
        return texts[self.sentence].format_map(fields)


def quote_places(places: Sequence[Place], texts: Page, below: int | None) -> list[Quote]:
    """Choose the sentences on places, in their order.

    ``texts``: of the page's script. ``below``: counts above 0 and below it are not shown.
    """
    return [_quote(one, texts, below) for one in places]


def _quote(place: Place, texts: Page, below: int | None) -> Quote:
    estimate, rounded = place.estimate, Rounded.of(place.estimate)
    sentence, within = "quote", None
    if is_below(estimate.count, below):
        sentence = "quote_below"
    elif estimate.low == estimate.high:
        sentence = "quote_exact"
    # A percentage of a number that may be 0 says nothing, however it is worked out.
    elif rounded.low <= 0 or rounded.count <= 0:
        sentence = "quote_few"
    else:
        off = max(rounded.high - rounded.count, rounded.count - rounded.low)
        within = _round_up(100 * off / rounded.count)
        sentence = "quote" if within <= VAGUE else "quote_unsure"
        if within <= PRECISE:
            sentence = "quote_near"
    # The order of WHERES: circles begin with "near", places cut by the map with "part".
    where = WHERES[(0 if place.km is None else 2) + place.is_part]
    return Quote(
        name_place(place, texts), where, place.km, sentence, rounded, within, place.box,
        place.name == ENTIRE_DOMAIN, place.overlaps, place.border,
    )  # fmt: skip


def name_place(place: Place | NamedRegion, texts: Page) -> str:
    """Format a place's name; of a square its code, if it has one, and its middle."""
    name = _name_plainly(place, texts)
    return texts[f"place_{place.level}"].format(place=name) if place.level in ENDS else name


def _name_plainly(place: Place | NamedRegion, texts: Page) -> str:
    if place.name == ENTIRE_DOMAIN:
        return texts["place_whole"]
    # Squares have a middle; units, regions and places of a list have a name instead.
    if place.middle is None:
        top, left, *_ = place.box
        if place.level == UNIT:
            return texts["place_unit"].format(name=place.name)
        if place.name and place.level:
            return texts["place_region"].format(level=place.level, name=place.name)
        return place.name or texts["place_cells"].format(row=top, col=left)
    lon, lat = place.middle
    where = texts["at_degrees"].format(
        lat=f"{abs(lat):g}",
        lon=f"{abs(lon):g}",
        north=texts["south" if lat < 0 else "north"],
        east=texts["west" if lon < 0 else "east"],
    )
    return texts["place_square"].format(code=f"{place.name} " if place.name else "", where=where)


def _round_up(percent: float) -> float:
    """Round a percentage up to two significant digits.

    Examples
    --------
    >>> _round_up(1.602), _round_up(0.00133)
    (1.7, 0.0014)
    """
    # The tolerance keeps exact values such as 1.7, which floating point may put just above.
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return float(f"{math.ceil(percent / step - 1e-9) * step:.6g}")


def write_percent(percent: float) -> str:
    """Format a percentage with all its digits.

    Examples
    --------
    >>> write_percent(1.7), write_percent(0.0000014), write_percent(20.0)
    ('1.7', '0.0000014', '20')
    """
    return f"{percent:.15f}".rstrip("0").rstrip(".")


def write_count(count: float) -> str:
    """Format a count with thousands separators.

    Examples
    --------
    >>> write_count(12300), write_count(0.5)
    ('12,300', '0.5')
    """
    return f"{count:,.0f}" if float(count).is_integer() else f"{count:,g}"


def write_ends(
    estimate: Estimate, rounded: Rounded, page: Page, limit: int | None
) -> dict[str, str]:
    """Write a rounded count and the ends of its interval, as the fields of a page's texts.

    As in printed tables, see :class:`geodp.cli.figures.Row`, ends above 0 and below the
    display limit are not shown.

    Parameters
    ----------
    estimate : Estimate
        Estimate whose count is not below the limit.
    rounded : Rounded
        The same, as it is shown.
    page : mapping
        Texts of the page, of which ``below`` stands for an end below the limit.
    limit : int or None
        The display limit.

    Returns
    -------
    dict of str to str
        ``count``, ``low`` and ``high``.
    """
    fields = {name: write_count(getattr(rounded, name)) for name in ("count", "low", "high")}
    for name in ("low", "high"):
        if limit is not None and is_below(getattr(estimate, name), limit):
            fields[name] = page["below"].format(limit=f"{limit:,}")
    return fields


def round_interval(one: Interval) -> tuple[str, str, str]:
    """Write a number and its interval to the first digit of half of it, the ends outwards.

    Examples
    --------
    >>> round_interval(Interval(299.8716, 281.2, 318.9))
    ('300', '280', '320')
    >>> round_interval(Interval(0.2981, 0.2899, 0.3061))
    ('0.298', '0.289', '0.307')
    """
    half = (one.high - one.low) / 2
    places = -math.floor(math.log10(half)) if half > 0 else 6
    scale = 10.0**places
    ends = math.floor(one.low * scale) / scale, math.ceil(one.high * scale) / scale
    value, low, high = (
        f"{number:,.{max(places, 0)}f}" for number in (round(one.value, places), *ends)
    )
    return value, low, high


def pack_quotes(quotes: Sequence[Quote]) -> dict[str, Any]:
    """Pack the rows of the page's list for its script, as plain values and packed arrays."""
    # Sentences and beginnings are numbers in the rows: a list may have 20,000 of them.
    sentences = [*dict.fromkeys(one.sentence for one in quotes)]
    rows = [
        [
            one.place,
            WHERES.index(one.where),
            one.km,
            sentences.index(one.sentence),
            *(one.rounded.count, one.rounded.low, one.rounded.high),
            one.within,
            *one.box,
        ]
        for one in quotes
    ]
    # A size of 0 tells the script to draw the box of the place instead.
    sizes = [0 if one.border is None else one.border.size for one in quotes]
    traced = [one.border for one in quotes if one.border is not None]
    borders = None
    if traced:
        lines = np.concatenate(traced)
        borders = {"sizes": pack_integers(np.array(sizes)), "lines": pack_integers(lines)}
    return {"wheres": [*WHERES], "sentences": sentences, "rows": rows, "borders": borders}


def draw_places(
    page: Page,
    texts: Page,
    who: str,
    quotes: Sequence[Quote],
    largest: Sequence[Quote],
    below: int | None,
    named: bool,
    left_out: int = 0,
) -> Html:
    """Draw the list of places with its search, and the cells with the largest counts.

    ``named``: whether the places have names, from a list or a table. ``left_out``: number of
    places of the list that lie mostly outside the map.
    """
    best = _draw_largest(page, texts, who, largest, below)
    if not quotes:
        return join([element("p", page["places_missing"]), *best])
    search = element(
        "p",
        element("label", page["search"], for_="search"),
        element("input", id="search", type="search", autocomplete="off"),
    )
    options = (element("option", page[f"sort_{name}"], value=name) for name in SORTS)
    sort = element(
        "p",
        element("label", page["sort"], for_="sort"),
        element("select", *options, id="sort"),
    )
    shown = _list_quotes(quotes[:MAX_SHOWN], texts, who, below)
    notes = [page["places_help"]]
    notes += [] if named else [page["places_squares"]]
    notes += [page["places_overlap"]] if any(one.overlaps for one in quotes) else []
    notes += [page["places_left_out"].format(n=left_out)] if left_out else []
    chosen = element(
        "div",
        element("p", id="compared", role="status", class_="said"),
        element("p", element("button", page["copy"], type="button", id="copy-compared"),
                element("button", page["compare_clear"], type="button", id="clear-compared"),
                class_="buttons"),
        id="comparing", hidden=True,
    )  # fmt: skip
    return join(
        [
            *(element("p", line) for line in notes),
            element("div", search, sort, id="places-tools", class_="search", hidden=True),
            element("p", id="places-status", role="status", class_="small"),
            chosen,
            element("ul", *shown, id="places", class_="quotes"),
            element("p", element("button", page["more"], type="button", id="more", hidden=True)),
            *best,
        ]
    )


def _list_quotes(quotes: Sequence[Quote], texts: Page, who: str, below: int | None) -> list[Html]:
    """Write the sentences on places as items of a list."""
    sentences = (bind(one.format_sentence(texts, who, below)) for one in quotes)
    return [element("li", element("p", one)) for one in sentences]


def _draw_largest(
    page: Page, texts: Page, who: str, largest: Sequence[Quote], below: int | None
) -> list[Html]:
    """Draw the list of the cells with the largest counts, or nothing where it is empty."""
    if not largest:
        return []
    items = _list_quotes(largest, texts, who, below)
    return [
        element("h3", page["largest"].format(who=who)),
        element("p", page["largest_help"]),
        element("ul", *items, id="largest", class_="quotes"),
        element("p", id="largest-status", role="status", class_="small"),
    ]
