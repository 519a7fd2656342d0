"""A sheet as SVG: the same words and boxes as the PNG, and the cells as a picture."""

import base64
import io
import xml.etree.ElementTree as ET

import numpy as np
from PIL import Image

from geodp.io.write.drawing.fonts import measure
from geodp.io.write.drawing.render import draw_svg
from geodp.io.write.drawing.sheet import Box, CellRaster, Line, Sheet, TextLine

WHITE, BLACK, RED, BLUE = (255, 255, 255), (0, 0, 0), (255, 0, 0), (0, 0, 255)
SVG = "{http://www.w3.org/2000/svg}"


def parsed(*items, title="<人口>"):
    drawn = draw_svg(Sheet(400, 300, WHITE, title, "a & b\n", "geodp 0", items))
    assert drawn == draw_svg(Sheet(400, 300, WHITE, title, "a & b\n", "geodp 0", items))
    return ET.fromstring(drawn)


def test_words_are_text_of_their_measured_width():
    words = [
        TextLine(4, 20, 'a < b & "ε"', 14.5, BLACK),
        TextLine(396, 50, "x", 20, RED, bold=True, at_end=True),
    ]
    root = parsed(*words)
    assert (root.get("width"), root.get("height")) == ("400", "300")
    assert root.find(f"{SVG}title").text == "<人口>"
    assert root.find(f"{SVG}desc").text.strip() == "a & b"
    for found, wanted in zip(root.findall(f"{SVG}text"), words, strict=True):
        assert found.text == wanted.text
        width = measure(wanted.text, wanted.size, bold=wanted.bold)
        assert abs(float(found.get("textLength")) - width) < 0.01
        assert found.get("text-anchor") == ("end" if wanted.at_end else "start")
        assert found.get("font-family") == "'DejaVu Sans', sans-serif"
        assert (float(found.get("x")), float(found.get("y"))) == (wanted.x, wanted.y)
    assert [t.get("fill") for t in root.findall(f"{SVG}text")] == ["#000000", "#ff0000"]


def test_boxes_and_their_lines():
    root = parsed(Box(1, 2, 10, 20, BLUE), Box(0, 0, 5, 5, None, RED))
    paper, filled, framed = root.findall(f"{SVG}rect")
    assert paper.get("fill") == "#ffffff"
    assert [filled.get(n) for n in ("x", "y", "width", "height")] == ["1", "2", "10", "20"]
    assert [framed.get(n) for n in ("x", "width", "fill", "stroke")] == [
        *("0.5", "4", "none", "#ff0000")
    ]


def test_cells_are_a_picture_behind_a_window():
    """The last row is cut by half, the first one where the cut is above."""
    number = np.array([[0, 1], [1, 0], [0, 0]], np.uint8)
    for above in (False, True):
        root = parsed(CellRaster(10, 20, 80, 50, number, (RED, BLUE), (2.5, 2), above))
        (window,) = root.findall(f"{SVG}svg")
        assert window.get("viewBox") == ("0 0.5 2 2.5" if above else "0 0 2 2.5")
        (image,) = window
        assert (image.get("width"), image.get("height")) == ("2", "3")
        data = image.get("{http://www.w3.org/1999/xlink}href").partition("base64,")[2]
        with Image.open(io.BytesIO(base64.b64decode(data))) as drawn:
            pixels = np.asarray(drawn.convert("RGB"))
        high, wide = pixels.shape[0] // 3, pixels.shape[1] // 2
        middle = pixels[high // 2 :: high, wide // 2 :: wide]
        assert np.array_equal(middle, np.array([RED, BLUE])[number])


def test_nothing_is_fetched_and_nothing_runs():
    text = draw_svg(Sheet(40, 30, WHITE, "a\x00\u202eb", "", "", ())).decode()
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "<script" not in text
    assert text.count("http") == 2  # names of XML


def test_words_have_a_rim_and_lines_a_width_where_they_are_asked_for():
    root = parsed(
        TextLine(4, 20, "a", 14, BLACK), TextLine(4, 50, "b", 14, BLACK, halo=RED),
        Line(((0, 0), (9, 9)), BLUE), Line(((0, 0), (9, 9)), BLUE, 3.5),
    )  # fmt: skip
    plain, rimmed = root.findall(f"{SVG}text")
    assert plain.get("stroke") is None
    assert (rimmed.get("stroke"), rimmed.get("paint-order")) == ("#ff0000", "stroke")
    assert [line.get("stroke-width") for line in root.findall(f"{SVG}polyline")] == [None, "3.5"]
