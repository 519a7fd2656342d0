"""A sheet as PNG: every kind of item, at every scale."""

import io

import numpy as np
import pytest
from PIL import Image

from geodp.io.write.drawing.render import draw_png
from geodp.io.write.drawing.sheet import Box, CellRaster, Line, Sheet, TextLine

WHITE, BLACK, RED, BLUE = (255, 255, 255), (0, 0, 0), (255, 0, 0), (0, 0, 255)


def sheet(*items, size=(40, 30), title="人口"):
    return Sheet(*size, WHITE, title, "what", "geodp 0", items)


def drawn(page, dpi=100):
    with Image.open(io.BytesIO(draw_png(page, dpi))) as image:
        return np.asarray(image.convert("RGB")), image.info


@pytest.mark.parametrize("dpi", [50, 100, 250])
def test_boxes_and_cells_lie_where_they_are_put(dpi):
    number = np.array([[0, 1], [1, 0]], np.uint8)
    page = sheet(
        Box(0, 0, 10, 6, BLUE),
        Box(0, 10, 10, 10, RED, BLACK),
        CellRaster(20, 10, 20, 20, number, (RED, BLUE), (2, 2)),
    )
    pixels, info = drawn(page, dpi)
    scale = dpi / 100
    assert pixels.shape == (30 * scale, 40 * scale, 3)
    at = {(5, 3): BLUE, (15, 3): WHITE, (0, 15): BLACK, (5, 15): RED, (5, 8): WHITE}
    at |= {(22, 12): RED, (38, 12): BLUE, (22, 28): BLUE, (38, 28): RED}
    for (x, y), colour in at.items():
        assert tuple(pixels[int(y * scale), int(x * scale)]) == colour, (x, y)
    assert info["Title"] == "人口"
    assert info["Software"] == "geodp 0"
    assert info["dpi"] == pytest.approx((dpi, dpi), rel=1e-3)


@pytest.mark.parametrize("above", [False, True])
def test_the_last_row_of_cells_may_be_cut(above):
    """Two and a half of three rows are shown: the first or the last is half as high."""
    number = np.array([[0], [1], [2]], np.uint8)
    page = sheet(
        CellRaster(0, 0, 40, 25, number, (RED, BLUE, BLACK), (2.5, 1), above), size=(40, 25)
    )
    pixels, _ = drawn(page)
    heights = [(pixels == colour).all(axis=-1)[:, 0].sum() for colour in (RED, BLUE, BLACK)]
    assert heights == ([5, 10, 10] if above else [10, 10, 5])


def test_words_stand_on_their_line_and_end_where_they_shall():
    page = sheet(TextLine(4, 20, "Il", 20, BLACK), TextLine(96, 50, "Il", 20, RED, True, True))
    page = sheet(*page.items, size=(100, 60))
    pixels, _ = drawn(page)
    rows, cols = np.nonzero((pixels[:30] < 128).all(axis=-1))
    assert (rows.min(), rows.max()) == pytest.approx((5, 19), abs=1)
    assert 4 <= cols.min() <= 8
    red = (pixels[..., 0] > 200) & (pixels[..., 1] < 128)
    rows, cols = np.nonzero(red)
    assert rows.max() == pytest.approx(49, abs=1)
    assert 90 <= cols.max() <= 96


def test_words_that_leave_the_sheet_are_cut():
    for x, y in ((-20, 2), (30, 40), (39, -1)):
        drawn(sheet(TextLine(x, y, "population", 20, BLACK)))


def test_words_over_colours_have_a_rim():
    plain, rimmed = (
        drawn(
            sheet(
                Box(0, 0, 90, 30, BLUE), TextLine(10, 20, "HH", 14, BLACK, halo=halo), size=(90, 30)
            )
        )[0]
        for halo in (None, WHITE)
    )
    letters = (rimmed == BLACK).all(axis=2)
    assert letters.any()
    around = np.zeros_like(letters)
    around[:, 2:] |= letters[:, :-2]
    around[:, :-2] |= letters[:, 2:]
    assert not (rimmed == BLUE).all(axis=2)[around].any()
    assert (plain == BLUE).all(axis=2)[around].any()
    assert (rimmed[0] == BLUE).all()


@pytest.mark.parametrize("dpi", [100, 300])
def test_a_line_is_as_wide_as_it_says_and_lies_around_its_points(dpi):
    lines = Line(((5, 15), (35, 15)), RED, 6), Line(((5, 4), (35, 4)), BLUE)
    pixels, _ = drawn(sheet(*lines), dpi)
    column = pixels[:, 20 * dpi // 100]
    red = np.flatnonzero((column == RED).all(axis=1))
    assert red.size == 6 * dpi // 100
    assert red.mean() == pytest.approx(15 * dpi / 100, abs=1.5)
    assert (column == BLUE).all(axis=1).sum() == dpi // 100
