"""Elements of a drawing, in pixels from the upper left corner: one list for all formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.outlines import rings_of
from geodp.typing import FloatArray

Colour = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""


def parse_colours(texts: Iterable[str]) -> tuple[Colour, ...]:
    """Parse the colours of texts ``#rrggbb``."""
    return tuple((red, green, blue) for red, green, blue in (bytes.fromhex(t[1:]) for t in texts))


def mix(
    colours: Sequence[Colour], papers: Sequence[Colour], shares: Sequence[float]
) -> tuple[Colour, ...]:
    """Mix colours with papers in shares of paper from 0 to 1; a single value applies to all.

    Examples
    --------
    >>> mix([(0, 100, 255)], [(255, 255, 255)], [0.25, 0.5])
    ((64, 139, 255), (128, 178, 255))
    """
    first, second = np.array(colours), np.array(papers)
    # Rounded once at the end, so that equal shares give equal colours on all platforms.
    mixed = np.rint(first + (second - first) * np.array(shares)[:, np.newaxis]).astype(int)
    return tuple((red, green, blue) for red, green, blue in mixed.tolist())


HALO = 2.0
"""Width of a rim around letters, in pixels."""


@dataclass(frozen=True)
class TextLine:
    """One line of text.

    Attributes
    ----------
    x, y : float
        Beginning of its baseline, or its end if ``at_end``.
    text : str
        Text for which `families` has fonts.
    size : float
        Size of the font, in pixels.
    colour : Colour
    bold, at_end : bool
    halo : Colour, optional
        Colour of a rim around the letters, where they are not on plain paper.
    """

    x: float
    y: float
    text: str
    size: float
    colour: Colour
    bold: bool = False
    at_end: bool = False
    halo: Colour | None = None


@dataclass(frozen=True)
class DrawnBox:
    """An element that fills a box.

    Attributes
    ----------
    x, y : float
        Upper left corner.
    width, height : float
    """

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Box(DrawnBox):
    """A filled box, with or without a line of one pixel around it."""

    fill: Colour | None
    line: Colour | None = None


@dataclass(frozen=True)
class Line:
    """A line through two points or more.

    Attributes
    ----------
    points : tuple of (float, float)
    colour : Colour
    width : float
        Width in pixels.
    """

    points: tuple[tuple[float, float], ...]
    colour: Colour = (0x8C, 0x8C, 0x93)
    width: float = 1.0


@dataclass(frozen=True, eq=False)
class CellRaster(DrawnBox):
    """A raster of few colours, each of its cells a box.

    Attributes
    ----------
    number : uint8[rows, cols]
        Numbers of colours; row 0 on top.
    colours : tuple of Colour
    shown : (float, float)
        Rows and columns that fill the height and the width: the last ones of ``number`` may be cut.
    cut_above : bool
        Whether the first row is cut, not the last.
    """

    number: NDArray[np.uint8]
    colours: tuple[Colour, ...]
    shown: tuple[float, float]
    cut_above: bool = False

    @property
    def above(self) -> float:
        """Rows that are cut off on top."""
        # The last row or column of blocks may be cut at the edge of the map.
        return self.number.shape[0] - self.shown[0] if self.cut_above else 0.0


@dataclass(frozen=True, eq=False)
class Patches(DrawnBox):
    """Polygons of few colours on a ground, with or without lines of one pixel between them.

    Attributes
    ----------
    shapes : object[n]
        Polygons and multipolygons of shapely, in pixels from ``x`` and ``y``, y downwards.
    number : uint8[n]
        Numbers of colours.
    colours : tuple of Colour
    around : Colour
        Colour outside all polygons.
    line : Colour or None
    """

    shapes: NDArray[Any]
    number: NDArray[np.uint8]
    colours: tuple[Colour, ...]
    around: Colour
    line: Colour | None = None

    def rings(self) -> Iterator[tuple[Colour, list[FloatArray]]]:
        """Yield each colour in use, and the rings float64[k, 2] of all polygons of this colour."""
        for number in np.unique(self.number).tolist():
            # One path for all polygons of a colour keeps files small.
            rings = rings_of(self.shapes[self.number == number])
            if rings:
                yield self.colours[number], [ring + np.array([self.x, self.y]) for ring in rings]


@dataclass(frozen=True, eq=False)
class Sheet:
    """A page.

    Attributes
    ----------
    width, height : int
        Size in pixels, 100 per inch.
    paper : Colour
    title, description, software : str
        Metadata of the file.
    items : tuple
        Later ones lie above earlier ones.
    """

    width: int
    height: int
    paper: Colour
    title: str
    description: str
    software: str
    items: tuple[TextLine | Box | Line | CellRaster | Patches, ...]
