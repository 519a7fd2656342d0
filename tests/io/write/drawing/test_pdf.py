"""A sheet as PDF: its words are text in embedded fonts, its cells a picture."""

import re
import zlib

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.io.write.drawing import fonts, pdf
from geodp.io.write.drawing.pdf import draw_pdf
from geodp.io.write.drawing.sheet import Box, CellRaster, Line, Sheet, TextLine
from tests.refusals import refuses

WHITE, BLACK, RED, BLUE = (255, 255, 255), (0, 0, 0), (255, 0, 0), (0, 0, 255)


def drawn(*items):
    return draw_pdf(Sheet(400, 300, WHITE, "人口", "what", "geodp 0", items))


def streams(data):
    """All streams of the file, uncompressed where they are compressed."""
    for found in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            yield zlib.decompress(found[1])
        except zlib.error:
            yield found[1]


def test_the_same_sheet_gives_the_same_bytes_and_an_inch_has_a_hundred_pixels():
    items = [TextLine(4, 20, "ε = 1", 14.5, BLACK), Box(0, 0, 5, 5, RED, BLACK)]
    data = drawn(*items)
    assert data == drawn(*items)
    assert data.startswith(b"%PDF")
    assert b"/MediaBox [0 0 288 216]" in re.sub(rb"(\d)\.00\b", rb"\1", data)


def test_words_stand_on_their_line_with_their_fonts_in_the_file():
    data = drawn(TextLine(100, 50, "Il", 20, RED, bold=True), TextLine(4, 90, "ε", 20, BLACK))
    page = next(s for s in streams(data) if b" Tf" in s).decode("latin-1")
    assert data.count(b"/FontFile2") == 2
    at = [tuple(map(float, m)) for m in re.findall(r"BT ([\d.]+) ([\d.]+) Td", page)]
    assert at == [pytest.approx((72, 216 - 36)), pytest.approx((2.88, 216 - 64.8))]
    assert "1 0 0 rg" in page


def test_cells_are_a_picture_behind_a_window():
    number = np.array([[0, 1], [1, 0], [0, 0]], np.uint8)
    page = drawn(CellRaster(100, 100, 100, 50, number, (RED, BLUE), (2.5, 2), cut_above=True))
    text = next(s for s in streams(page) if b" Do" in s).decode("latin-1")
    window = re.search(r"([\d.]+) ([\d.]+) ([\d.]+) (-?[\d.]+) re W n", text)
    assert [abs(float(n)) for n in window.groups()] == pytest.approx([72, 108, 72, 36])
    image = re.search(r"([\d.]+) 0 0 ([\d.]+) ([\d.]+) ([\d.]+) cm", text)
    assert [float(n) for n in image.groups()] == pytest.approx([72, 43.2, 72, 108])


def test_what_a_pdf_cannot_have_is_said(monkeypatch):
    shaped = fonts.Face(fonts.BUNDLED.normal.path, shaped=True)
    monkeypatch.setattr(pdf, "split", lambda text, bold: [(text, shaped)])
    with refuses(UsageError, "pdf-letters-joined"):
        drawn(TextLine(4, 20, "x", 14, BLACK))
    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    with refuses(UsageError, r"library-missing: geodp\[pdf\]"):
        drawn()


def test_words_have_a_rim_and_lines_a_width_where_they_are_asked_for():
    plain = b"".join(streams(drawn(TextLine(4, 20, "a", 14, BLACK), Line(((0, 0), (9, 9)), BLUE))))
    asked = b"".join(
        streams(drawn(TextLine(4, 20, "a", 14, BLACK, halo=RED), Line(((0, 0), (9, 9)), BLUE, 5)))
    )
    assert b"1 Tr" not in plain
    assert b"1 Tr" in asked
    assert b"3.60 w" in asked
