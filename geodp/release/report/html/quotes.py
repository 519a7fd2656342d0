"""What a page and an embedded map say of places: a sentence to quote for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geodp.grid.pairs import ENDS
from geodp.release.report.html.markup import Html, Page, element, join
from geodp.release.report.html.places import WHOLE, Place, Rounded
from geodp.table.display import is_below

MOST_SHOWN = 10
"""Places of a list at first, and without a script."""


SORTS = ("sum", "sure", "name")
"""Orders of the list that a reader may choose."""


@dataclass(frozen=True)
class Quote:
    """What is said of a place.

    Attributes
    ----------
    place : str
        Its name, as a sentence has it.
    sentence : str
        Name of the sentence among the words of the page's script.
    rounded : Rounded
    within : float or None
        How far the count may be off, in percent of it; None where nothing can be said of it.
    box : tuple of int
    is_whole : bool
        Whether it is the whole domain.
    """

    place: str
    sentence: str
    rounded: Rounded
    within: float | None
    box: tuple[int, int, int, int]
    is_whole: bool

    def say(self, words: Page, who: str, below: int | None) -> str:
        """Return the sentence."""
        figures = {
            name: write_count(getattr(self.rounded, name)) for name in ("count", "low", "high")
        }
        percent = None if self.within is None else f"{self.within:,g}"
        said = {"place": self.place, "who": who, "below": below, "percent": percent, **figures}
        return words[self.sentence].format_map(said)


def quote_places(places: Sequence[Place], words: Page, below: int | None) -> list[Quote]:
    """Return what is said of places, in their order.

    ``words``: of the page's script. ``below``: counts above 0 and below it are not shown.
    """
    return [_quote(one, words, below) for one in places]


def _quote(place: Place, words: Page, below: int | None) -> Quote:
    found, rounded = place.estimate, Rounded.of(place.estimate)
    sentence, within = "quote", None
    if is_below(found.count, below):
        sentence = "quote_below"
    elif found.low == found.high:
        sentence = "quote_exact"
    elif rounded.low <= 0 or rounded.count <= 0:
        sentence = "quote_few"
    else:
        off = max(rounded.high - rounded.count, rounded.count - rounded.low)
        within = _round_up(100 * off / rounded.count)
    name = _name(place, words)
    return Quote(name, sentence, rounded, within, place.box, place.name == WHOLE)


def _name(place: Place, words: Page) -> str:
    """Return a place's name; of a square its code, if it has one, and where it lies."""
    name = _name_plainly(place, words)
    return words[f"place_{place.level}"].format(place=name) if place.level in ENDS else name


def _name_plainly(place: Place, words: Page) -> str:
    if place.name == WHOLE:
        return words["place_whole"]
    if place.middle is None:
        top, left, *_ = place.box
        if place.name and place.level:
            return words["place_region"].format(level=place.level, name=place.name)
        return place.name or words["place_cells"].format(row=top, col=left)
    lon, lat = place.middle
    where = words["at_degrees"].format(
        lat=f"{abs(lat):g}",
        lon=f"{abs(lon):g}",
        north=words["south" if lat < 0 else "north"],
        east=words["west" if lon < 0 else "east"],
    )
    return words["place_square"].format(code=f"{place.name} " if place.name else "", where=where)


def _round_up(percent: float) -> float:
    """Return two digits of a percentage, rounded up, and no more than tenths."""
    step = max(10 ** (math.floor(math.log10(percent)) - 1), 0.1)
    return float(f"{math.ceil(percent / step) * step:.6g}")


def write_count(count: float) -> str:
    """Return a count with its thousands.

    Examples
    --------
    >>> write_count(12300), write_count(0.5)
    ('12,300', '0.5')
    """
    return f"{count:,.0f}" if float(count).is_integer() else f"{count:,g}"


def state_quotes(quotes: Sequence[Quote], who: str) -> dict[str, Any]:
    """Return what the page's script lists, as plain values."""
    sentences = [*dict.fromkeys(one.sentence for one in quotes)]
    rows = [
        [
            one.place,
            sentences.index(one.sentence),
            *(one.rounded.count, one.rounded.low, one.rounded.high),
            one.within,
            *one.box,
        ]
        for one in quotes
    ]
    return {"who": who, "sentences": sentences, "rows": rows}


def draw_places(
    page: Page, words: Page, who: str, quotes: Sequence[Quote], below: int | None, named: bool
) -> Html:
    """Return the list of places with its search; ``named``: whether somebody gave their names."""
    if not quotes:
        return element("p", page["places_missing"])
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
    shown = (element("li", element("p", one.say(words, who, below))) for one in quotes[:MOST_SHOWN])
    help_ = [page["places_help"]] if named else [page["places_help"], page["places_squares"]]
    return join(
        [
            *(element("p", line) for line in help_),
            element("div", search, sort, id="places-tools", class_="tools", hidden=True),
            element("p", id="places-status", role="status", class_="small"),
            element("ul", *shown, id="places", class_="quotes"),
            element("p", element("button", page["more"], type="button", id="more", hidden=True)),
        ]
    )
