"""Appearance of a map: requested options, and the colours of light and dark paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from geodp.errors import UsageError
from geodp.io.read.public.background import QUARTERS
from geodp.io.write.drawing.fonts import find_families
from geodp.io.write.drawing.sheet import Colour, mix, parse_colours
from geodp.io.write.frame import LONG_SIDE
from geodp.io.write.map.captions import LANGUAGES, Captions, Language
from geodp.io.write.map.panel import Bounds
from geodp.io.write.qgis_style import BELOW, FEW
from geodp.io.write.scale import DARK_IS_MANY, LIGHT_IS_MANY

PALE = 0.65
"""Share of paper in the colours of a change that lies within its margin."""

UNTOLD = "#e9e5da"
"""Colour of counts not distinguishable from 0: neither on the scale nor that of the outside."""


@dataclass(frozen=True)
class Theme:
    """Colours of a page: the classes, zero, paper and ink."""

    paper: Colour
    ink: Colour
    soft: Colour
    line: Colour
    alarm: Colour
    outside: Colour
    below: Colour
    few: Colour
    untold: Colour
    shore: Colour
    classes: tuple[Colour, ...]

    @cached_property
    def colours(self) -> tuple[Colour, ...]:
        """Paper, outside, below 0, classes, and indistinguishable from 0 by quarters of land."""
        # The colour fades to paper with the share of water, so that shores look soft.
        water = [1 - quarter / QUARTERS for quarter in range(1, QUARTERS + 1)]
        untold = mix([self.untold], [self.paper], water)
        return self.paper, self.outside, self.below, *self.classes, *untold


def _theme(classes: tuple[str, ...], *others: str) -> Theme:
    paper, ink, soft, line, alarm, *tints = parse_colours(others)
    outside, below, few, untold, shore = tints
    shown = parse_colours(classes)
    return Theme(paper, ink, soft, line, alarm, outside, below, few, untold, shore, shown)


LIGHT = _theme(
    DARK_IS_MANY,
    *("#ffffff", "#1d1c1a", "#5a5855", "#b4b4b9", "#b80f2a", "#c9c9d0", BELOW, FEW),
    *(UNTOLD, "#8a8781"),
)
DARK = _theme(
    LIGHT_IS_MANY,
    *("#000000", "#e8e6e3", "#9a9894", "#3a3a3f", "#ff4d4d", "#17171a", "#0e4a4c", "#5c5418"),
    *("#33322f", "#7a7772"),
)

PAPER, OUTSIDE, NEGATIVE, CLASSES, UNTOLD_LAND = 0, 1, 2, 3, 3 + len(DARK_IS_MANY)
"""Positions in `Theme.colours`; the last is that of a quarter of land."""

SMALL_COUNT = UNTOLD_LAND + QUARTERS
"""Position of `Theme.few` after them, on maps of an office that shows small counts as ``<k``."""


@dataclass(frozen=True)
class Look:
    """Appearance of a map; all of it is public.

    Attributes
    ----------
    title : str or None
        Title, in place of the count's name.
    date, source, credit : str or None
        Texts printed under the map.
    unit : str or None
        What is counted, in place of the count's name or the unit of privacy.
    language : {"en", "ja"}
    bounds : (float, float, float, float) or None
        West, south, east and north of the map, in the grid's CRS.
    size : int
        Pixels up to which the longer side of the map is enlarged, by integer factors; a block of
        cells has at least one pixel.
    dark : bool
        Whether colours are light on black paper, not dark on white.
    fade : bool
        Whether counts within their 95 % margin are drawn as not distinguishable from 0.
    graticule : bool
        Whether lines of latitude and longitude lie over the map, with the CRS named under it.
    ground : bool
        Whether the shore and names of places lie over the map.
    flows : bool
        Whether origins and destinations are drawn as the largest flows between them, not as two
        maps.
    """

    title: str | None = None
    date: str | None = None
    source: str | None = None
    credit: str | None = None
    unit: str | None = None
    language: Language = "en"
    bounds: Bounds | None = None
    size: int = LONG_SIDE
    dark: bool = False
    fade: bool = True
    graticule: bool = False
    ground: bool = True
    flows: bool = True

    @cached_property
    def captions(self) -> Captions:
        """Captions of the language."""
        return LANGUAGES[self.language]

    @cached_property
    def theme(self) -> Theme:
        """Colours of the page."""
        return DARK if self.dark else LIGHT

    def require_fonts(self) -> None:
        """Raise UsageError if no font has the letters of the requested texts."""
        texts = [self.title, self.date, self.source, self.credit, self.unit]
        captions = self.captions
        texts += [
            captions.private,
            captions.isolated,
            captions.per_cell,
            captions.blocks,
            captions.floor,
        ]
        for text in texts:
            if text is not None and find_families(text) is None:
                raise UsageError(
                    "The map was not drawn, as no installed font has all letters of its words; "
                    "install one that has them, such as Noto Sans CJK.",
                    code="font-lacks-letters",
                )
