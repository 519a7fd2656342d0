"""Sheets as PDF, by the optional fpdf2: text stays text, cells are an embedded picture."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

from geodp.errors import UsageError
from geodp.io.write.drawing.fonts import Face
from geodp.io.write.drawing.lines import split
from geodp.io.write.drawing.png import DPI, draw_cells
from geodp.io.write.drawing.sheet import HALO, Box, CellRaster, Line, Patches, Sheet, TextLine

if TYPE_CHECKING:
    from fpdf import FPDF

NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)
"""Creation date of every PDF: one is required, and the same map must have the same bytes."""


def require_fpdf() -> None:
    """Raise UsageError if fpdf2, which is optional, is not installed."""
    if find_spec("fpdf") is None:
        raise UsageError(
            "A map as PDF needs fpdf2, which is not installed; "
            "install it by: pip install 'geodp[pdf]'",
            code="library-missing",
        )


def draw_pdf(sheet: Sheet) -> bytes:
    """Draw a sheet as PDF with embedded fonts; the same sheet and fonts give the same bytes.

    Raises UsageError if fpdf2 is not installed, and for letters that change form by their
    neighbours, which it cannot place.
    """
    require_fpdf()
    from fpdf import FPDF

    point = 72 / DPI
    pdf = FPDF(unit="pt", format=(sheet.width * point, sheet.height * point))
    pdf.set_creation_date(NO_DATE)
    pdf.set_title(sheet.title)
    pdf.set_subject(sheet.description)
    pdf.set_producer(sheet.software)
    pdf.set_auto_page_break(False)
    pdf.set_margin(0)
    pdf.add_page()
    _box(pdf, Box(0, 0, sheet.width, sheet.height, sheet.paper), point)
    for item in sheet.items:
        if isinstance(item, TextLine):
            _text_line(pdf, item, point)
        elif isinstance(item, Box):
            _box(pdf, item, point)
        elif isinstance(item, Line):
            pdf.set_draw_color(*item.colour)
            pdf.set_line_width(item.width * point)
            pdf.polyline([(x * point, y * point) for x, y in item.points])
        elif isinstance(item, Patches):
            _patches(pdf, item, point)
        else:
            _cells(pdf, item, point)
    return bytes(pdf.output())


def _box(pdf: FPDF, item: Box, point: float) -> None:
    """Draw a box; its line lies inside, as in pixel images."""
    inner = 0.5 if item.line is not None else 0.0
    if item.fill is not None:
        pdf.set_fill_color(*item.fill)
    if item.line is not None:
        pdf.set_draw_color(*item.line)
        pdf.set_line_width(point)
    left, top = item.x + inner, item.y + inner
    wide, high = item.width - 2 * inner, item.height - 2 * inner
    style = "F" * (item.fill is not None) + "D" * (item.line is not None)
    pdf.rect(left * point, top * point, wide * point, high * point, style)


def _patches(pdf: FPDF, item: Patches, point: float) -> None:
    """Draw one path for each colour, as in SVG."""
    from fpdf.drawing import DeviceRGB
    from fpdf.enums import IntersectionRule

    _box(pdf, Box(item.x, item.y, item.width, item.height, item.around), point)
    for colour, rings in item.rings():
        line = colour if item.line is None else item.line
        with pdf.new_path() as path:
            path.style.fill_color = DeviceRGB(*(part / 255 for part in colour))
            path.style.stroke_color = DeviceRGB(*(part / 255 for part in line))
            # Without borders, a hairline in the fill's colour closes the gaps that viewers leave at
            # edges.
            path.style.stroke_width = point * (0.3 if item.line is None else 0.5)
            path.style.intersection_rule = IntersectionRule.EVENODD
            for ring in rings:
                (x, y), *others = (ring[:-1] * point).tolist()
                path.move_to(x, y)
                for x, y in others:
                    path.line_to(x, y)
                path.close()


def _cells(pdf: FPDF, item: CellRaster, point: float) -> None:
    """Draw a picture of all cells behind a window that may be smaller."""
    rows, cols = item.number.shape
    high, wide = (
        side / shown for side, shown in zip((item.height, item.width), item.shown, strict=True)
    )
    with pdf.rect_clip(item.x * point, item.y * point, item.width * point, item.height * point):
        pdf.image(
            io.BytesIO(draw_cells(item)),
            item.x * point,
            (item.y - item.above * high) * point,
            cols * wide * point,
            rows * high * point,
        )


def _text_line(pdf: FPDF, item: TextLine, point: float) -> None:
    parts = [(text, _add(pdf, face)) for text, face in split(item.text, item.bold)]
    pdf.set_text_color(*item.colour)
    x = item.x * point
    widths = []
    for text, name in parts:
        pdf.set_font(name, size=item.size * point)
        widths.append(pdf.get_string_width(text))
    if item.at_end:
        x -= sum(widths)
    if item.halo is not None:
        # The halo is the same text as a wide stroke, drawn before the letters.
        with pdf.local_context():
            pdf.text_mode = "STROKE"
            pdf.set_draw_color(*item.halo)
            pdf.set_line_width(2 * HALO * point)
            _place(pdf, parts, widths, x, item, point)
    _place(pdf, parts, widths, x, item, point)


def _place(
    pdf: FPDF,
    parts: list[tuple[str, str]],
    widths: list[float],
    x: float,
    item: TextLine,
    point: float,
) -> None:
    """Write the runs of a line, each in its font."""
    for (text, name), width in zip(parts, widths, strict=True):
        pdf.set_font(name, size=item.size * point)
        pdf.text(x, item.y * point, text)
        x += width


def _add(pdf: FPDF, face: Face) -> str:
    """Embed a face once, and return its name in the file."""
    if face.shaped:
        raise UsageError(
            "A PDF cannot have letters that take forms from each other; choose SVG or PNG.",
            code="pdf-letters-joined",
        )
    name = f"{face.path}:{face.number}:{face.weight}".lower()
    if name not in pdf.fonts:
        weight = None if face.weight is None else {"wght": float(face.weight)}
        pdf.add_font(name, fname=face.path, variations=weight, collection_font_number=face.number)
    return name
