"""Sheets as files: PNG, with text drawn by Pillow, and SVG, in which text stays text."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from geodp.io.write.drawing.fonts import families, measure, open_face, split
from geodp.io.write.drawing.sheet import (
    HALO,
    Box,
    CellRaster,
    Colour,
    DrawnBox,
    Line,
    Patches,
    Sheet,
    TextLine,
    mix,
)

DPI = 100
"""Pixels per inch of a sheet that is not enlarged."""

HALF_INK = 127
"""Threshold of coverage, of 255, for a halo, which has hard edges."""

COLOURS = 256
"""Colours of a PNG with a palette: it is smaller than a full-colour one, and written faster."""


def draw_png(sheet: Sheet, dpi: int = DPI) -> bytes:
    """Draw a sheet as PNG; the same sheet and fonts give the same bytes.

    Parameters
    ----------
    sheet : Sheet
        Sheet of at most 200 colours; text that is not on plain paper has a halo.
    dpi : int
        Pixels per inch: at 200 everything has twice as many as at 100.
    """
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    scale, palette = dpi / DPI, _Palette.of(sheet)
    pixels = np.zeros((round(sheet.height * scale), round(sheet.width * scale)), np.uint8)
    for item in sheet.items:
        draw, _ = FORMS[type(item)]
        draw(pixels, item, scale, palette)
    image = Image.fromarray(pixels)
    image.putpalette(palette.flat())
    metadata = PngInfo()
    for name, text in (
        ("Title", sheet.title),
        ("Description", sheet.description),
        ("Software", sheet.software),
    ):
        metadata.add_text(name, text) if text.isascii() else metadata.add_itxt(name, text)
    file = io.BytesIO()
    image.save(file, "PNG", pnginfo=metadata, dpi=(dpi, dpi))
    return file.getvalue()


def read_png(path: Path) -> tuple[dict[str, str], NDArray[np.uint8]]:
    """Read the texts and the pixels of a PNG that may come from anybody.

    Raises ValueError for one that is larger than any sheet, or has several pictures.

    Returns
    -------
    dict of str to str
    uint8[rows, cols, 4]
        Red, green, blue and opacity.
    """
    from PIL import Image

    with path.open("rb") as file, Image.open(file, formats=["PNG"]) as image:
        if image.width * image.height > LARGEST or getattr(image, "n_frames", 1) > 1:
            raise ValueError("The picture is larger than any that geodp draws.")
        pixels = np.asarray(image.convert("RGBA"))
        # Texts behind the pixels are known once these are read.
        texts = {str(name): str(text) for name, text in image.info.items()}
        return texts, pixels


def draw_cells(item: CellRaster) -> bytes:
    """Draw cells alone as PNG, as large as on the sheet: viewers blur what they enlarge."""
    from PIL import Image

    rows, cols = (max(1, round(side)) for side in (item.height, item.width))
    # Whole repetitions keep the cells' edges sharp.
    times = max(1, rows // item.number.shape[0]), max(1, cols // item.number.shape[1])
    image = Image.fromarray(np.repeat(np.repeat(item.number, times[0], 0), times[1], 1))
    image.putpalette([part for colour in item.colours for part in colour])
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


LARGEST = 1 << 26
"""Pixels of a PNG that is read, at most."""


@dataclass(frozen=True)
class _Palette:
    """Numbers of colours: paper is 0, then fills, then shades of text from paper to ink."""

    paper: Colour
    plain: dict[Colour, int]
    inks: dict[Colour, int]
    steps: int

    @classmethod
    def of(cls, sheet: Sheet) -> _Palette:
        """Build the palette of a sheet."""
        filled: dict[Colour, None] = {sheet.paper: None}
        written: dict[Colour, None] = {}
        for item in sheet.items:
            if isinstance(item, TextLine):
                written[item.colour] = None
                if item.halo is not None:
                    filled[item.halo] = None
            elif isinstance(item, CellRaster):
                filled |= dict.fromkeys(item.colours)
            elif isinstance(item, Line):
                filled[item.colour] = None
            elif isinstance(item, Patches):
                filled |= dict.fromkeys((*item.colours, item.around))
                filled |= {} if item.line is None else {item.line: None}
            else:
                filled |= {colour: None for colour in (item.fill, item.line) if colour is not None}
        plain = {colour: number for number, colour in enumerate(filled)}
        # Text is smoothed by shades between paper and ink; they share the numbers that fills leave.
        steps = (COLOURS - len(plain)) // max(1, len(written))
        inks = {colour: len(plain) + number * steps for number, colour in enumerate(written)}
        return cls(sheet.paper, plain, inks, steps)

    def flat(self) -> list[int]:
        """Return red, green and blue of every colour in one list."""
        colours = [*self.plain]
        shares = [(n + 1) / self.steps for n in range(self.steps)]
        for colour in self.inks:
            colours += mix([self.paper], [colour], shares)
        return [part for colour in colours for part in colour]


def _patch(pixels: NDArray[np.uint8], item: Patches, scale: float, palette: _Palette) -> None:
    """Fill polygons where the centre of a pixel lies inside, and draw their borders."""
    from rasterio import Affine
    from rasterio.features import rasterize

    left, top, right, bottom = _edges(item, scale)
    visible = [
        (shape, palette.plain[item.colours[number]])
        for shape, number in zip(item.shapes, item.number.tolist(), strict=True)
        if not shape.is_empty
    ]
    options = {"out_shape": (bottom - top, right - left), "transform": Affine.scale(1 / scale)}
    around = palette.plain[item.around]
    filled = rasterize(visible, fill=around, dtype="uint8", **options) if visible else around
    pixels[top:bottom, left:right] = filled
    if item.line is not None and visible:
        borders = rasterize([(shape.boundary, 1) for shape, _ in visible], dtype="uint8", **options)
        pixels[top:bottom, left:right][borders > 0] = palette.plain[item.line]


def _edges(item: DrawnBox, scale: float) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom in integer pixels, at least one pixel apart."""
    left, top = round(item.x * scale), round(item.y * scale)
    right, bottom = round((item.x + item.width) * scale), round((item.y + item.height) * scale)
    return left, top, max(right, left + 1), max(bottom, top + 1)


def _enlarge(pixels: NDArray[np.uint8], item: CellRaster, scale: float, palette: _Palette) -> None:
    """Draw cells, each pixel by the cell at its centre."""
    left, top, right, bottom = _edges(item, scale)
    numbers = np.array([palette.plain[colour] for colour in item.colours], np.uint8)
    rows = (np.arange(bottom - top) + 0.5) * (item.shown[0] / (bottom - top)) + item.above
    cols = (np.arange(right - left) + 0.5) * (item.shown[1] / (right - left))
    wide = np.take(numbers[item.number], cols.astype(np.intp), axis=1)
    pixels[top:bottom, left:right] = np.take(wide, rows.astype(np.intp), axis=0)


def _fill(pixels: NDArray[np.uint8], item: Box, scale: float, palette: _Palette) -> None:
    left, top, right, bottom = _edges(item, scale)
    if item.fill is not None:
        pixels[top:bottom, left:right] = palette.plain[item.fill]
    if item.line is not None:
        line, wide = palette.plain[item.line], max(1, round(scale))
        pixels[top : top + wide, left:right] = pixels[bottom - wide : bottom, left:right] = line
        pixels[top:bottom, left : left + wide] = pixels[top:bottom, right - wide : right] = line


def _trace(pixels: NDArray[np.uint8], item: Line, scale: float, palette: _Palette) -> None:
    point = np.array(item.points) * scale
    wide = max(1, round(item.width * scale))
    # The line is centred for thick lines, and unshifted for those of one pixel.
    half = (wide - max(1, round(scale))) // 2
    for start, end in pairwise(point):
        steps = int(np.abs(end - start).max()) + 2
        x, y = np.linspace(start, end, steps).astype(np.intp).T
        for over in range(wide):
            for down in range(wide):
                pixels[y + down - half, x + over - half] = palette.plain[item.colour]


def _write(pixels: NDArray[np.uint8], item: TextLine, scale: float, palette: _Palette) -> None:
    from PIL import Image, ImageDraw

    parts = [(t, open_face(face, item.size * scale)) for t, face in split(item.text, item.bold)]
    widths = [font.getlength(text) for text, font in parts]
    margin = round(2 * item.size * scale)
    rim = 0 if item.halo is None else max(1, round(HALO * scale))
    left = round(item.x * scale - sum(widths) * item.at_end) - margin
    top = round(item.y * scale) - margin
    # Letters may extend beyond their advance widths, hence the margin.
    strip = Image.new("L", (round(sum(widths)) + 2 * margin, 2 * margin))
    draw, at = ImageDraw.Draw(strip), float(margin)
    around = Image.new("L", strip.size)
    draw_rim = ImageDraw.Draw(around)
    for (text, font), width in zip(parts, widths, strict=True):
        draw.text((at, margin), text, 255, font, "ls")
        if rim:
            draw_rim.text((at, margin), text, 255, font, "ls", stroke_width=rim)
        at += width
    ink = np.asarray(strip).astype(np.uint16) * palette.steps // 255
    # Indices below 0 would wrap around to the other side of the image.
    cut = max(0, -top), max(0, -left)
    place = pixels[top + cut[0] : top + ink.shape[0], left + cut[1] : left + ink.shape[1]]
    ink, rims = (
        each[cut[0] :, cut[1] :][: place.shape[0], : place.shape[1]]
        for each in (ink, np.asarray(around))
    )
    if item.halo is not None:
        place[rims > HALF_INK] = palette.plain[item.halo]
    place[ink > 0] = palette.inks[item.colour] + ink[ink > 0] - 1


FALLBACK = "sans-serif"
"""Font of viewers that have none of the fonts with which the text was measured."""


def draw_svg(sheet: Sheet) -> bytes:
    """Draw a sheet as SVG 1.1 in UTF-8, without scripts, style sheets or external references.

    Its size is that of the sheet at 96 pixels per inch, as in browsers. Every line of text
    has its measured width, whatever font the viewer uses. The same sheet gives the same bytes.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{sheet.width}" height="{sheet.height}" '
        f'viewBox="0 0 {sheet.width} {sheet.height}" role="img">',
        f"<title>{_text(sheet.title)}</title>",
        f"<desc>{_text(sheet.description)}</desc>",
        f"<metadata>{_text(sheet.software)}</metadata>",
        f'<rect width="100%" height="100%" fill="{_hex(sheet.paper)}"/>',
    ]
    lines += [FORMS[type(item)][1](item) for item in sheet.items]
    return "\n".join([*lines, "</svg>", ""]).encode()


def _text_line(item: TextLine) -> str:
    names = [repr(family.name) for family in families(item.text) or ()]
    # A viewer with another font stretches the text to the measured width, so that nothing overlaps.
    width = measure(item.text, item.size, bold=item.bold)
    attributes = {
        "x": _number(item.x),
        "y": _number(item.y),
        "font-family": ", ".join([*names, FALLBACK]),
        "font-size": _number(item.size),
        "font-weight": "bold" if item.bold else "normal",
        "fill": _hex(item.colour),
        "text-anchor": "end" if item.at_end else "start",
        "textLength": _number(width),
        "lengthAdjust": "spacingAndGlyphs",
    }
    if item.halo is not None:
        attributes |= {
            "stroke": _hex(item.halo),
            "stroke-width": _number(2 * HALO),
            "stroke-linejoin": "round",
            "paint-order": "stroke",
        }
    return f"<text {_attributes(attributes)}>{_text(item.text)}</text>"


def _box(item: Box) -> str:
    """Format a box; its line lies inside, as in pixel images."""
    # A line of one pixel is centred on the outline, so it is moved inside by half.
    inner = 0.5 if item.line is not None else 0.0
    attributes = {
        "x": _number(item.x + inner),
        "y": _number(item.y + inner),
        "width": _number(item.width - 2 * inner),
        "height": _number(item.height - 2 * inner),
        "fill": "none" if item.fill is None else _hex(item.fill),
    }
    if item.line is not None:
        attributes["stroke"] = _hex(item.line)
    return f"<rect {_attributes(attributes)}/>"


def _line(item: Line) -> str:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in item.points)
    attributes = {"points": points, "fill": "none", "stroke": _hex(item.colour)}
    if item.width != 1:
        attributes |= {"stroke-width": _number(item.width), "stroke-linejoin": "round"}
    return f"<polyline {_attributes(attributes)}/>"


def _patches(item: Patches) -> str:
    """Format a path for each colour; without borders it is widened a little, to leave no gaps."""
    elements = [_box(Box(item.x, item.y, item.width, item.height, item.around))]
    for colour, rings in item.rings():
        parts = (" L".join(f"{_number(x)} {_number(y)}" for x, y in ring[:-1]) for ring in rings)
        attributes = {
            "d": "".join(f"M{part}Z" for part in parts),
            "fill": _hex(colour),
            "fill-rule": "evenodd",
            "stroke": _hex(colour if item.line is None else item.line),
            "stroke-width": "0.3" if item.line is None else "0.5",
            "stroke-linejoin": "round",
        }
        elements.append(f"<path {_attributes(attributes)}/>")
    return "\n".join(elements)


def _cells(item: CellRaster) -> str:
    """Format a window whose unit is a cell, on a picture that may be larger than it."""
    rows, cols = item.number.shape
    window = {
        "x": _number(item.x),
        "y": _number(item.y),
        "width": _number(item.width),
        "height": _number(item.height),
        "viewBox": f"0 {item.above:.12g} {item.shown[1]:.12g} {item.shown[0]:.12g}",
        "preserveAspectRatio": "none",
        "overflow": "hidden",
    }
    image = {
        "width": f"{cols}",
        "height": f"{rows}",
        "preserveAspectRatio": "none",
        "image-rendering": "optimizeSpeed",
        # Browsers follow the style, older viewers the attribute; otherwise cells would be blurred.
        "style": "image-rendering:pixelated",
        "xlink:href": f"data:image/png;base64,{base64.b64encode(draw_cells(item)).decode()}",
    }
    return f"<svg {_attributes(window)}><image {_attributes(image)}/></svg>"


def _attributes(attributes: dict[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())


def _text(text: str) -> str:
    """Escape a text; control characters, which XML does not allow, become spaces."""
    return escape("".join(letter if letter.isprintable() else " " for letter in text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


FORMS: dict[type, tuple[Callable[..., None], Callable[..., str]]] = {
    TextLine: (_write, _text_line),
    Box: (_fill, _box),
    Line: (_trace, _line),
    Patches: (_patch, _patches),
    CellRaster: (_enlarge, _cells),
}
"""Functions that draw an element in pixels, and that write it in SVG."""
