"""The page of a map: every word has its place, whatever its length and the map's size."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import geodp
from geodp.errors import LettersWarning, UsageError
from geodp.io.read.public.land import cut_to_land
from geodp.io.write.drawing import fonts
from geodp.io.write.drawing.fonts import measure
from geodp.io.write.drawing.sheet import Box, CellRaster, Line, TextLine
from geodp.io.write.map import look as looks
from geodp.io.write.map import page
from geodp.io.write.map.look import Look
from geodp.io.write.map.page import compose
from geodp.io.write.map.panel import SURE, Panel
from geodp.io.write.view import View
from tests.grids import half, masked
from tests.io.write.test_writers import KANTO, released
from tests.refusals import refuses

LONG = "Resident population by sex and age group on 1 January, all municipalities " * 3
GRIDS = {
    "square": geodp.Grid.regular((8, 8), crs="EPSG:3035", transform=(1e3, 0, 0, 0, 1e3, 0)),
    "wide": geodp.Grid.regular((1, 300)),
    "high": geodp.Grid.regular((300, 1)),
    "one cell": geodp.Grid.regular((1, 1)),
    "pairs": geodp.Grid.regular((6, 4)).pairs(),
    "mask": masked(geodp.Grid.regular((8, 8)), half((8, 8), 3)),
}


def sheet_of(grid, look=None, name="population", **terms):
    release = released(grid)
    if terms:
        table = geodp.CountTable.from_dense(np.full(grid.shape, 9), grid)
        release = geodp.publish(table, epsilon=1, contribution=1, **terms)
    return compose(release.view(name), look or Look())


def words_of(sheet):
    return [item.text for item in sheet.items if isinstance(item, TextLine)]


def box_of(item):
    """Left, top, right, bottom of an item."""
    if isinstance(item, TextLine):
        width = measure(item.text, item.size, bold=item.bold)
        left = item.x - width if item.at_end else item.x
        return left, item.y - 0.75 * item.size, left + width, item.y + 0.25 * item.size
    return item.x, item.y, item.x + item.width, item.y + item.height


def are_apart(one, other):
    beside = one[2] <= other[0] or other[2] <= one[0]
    return beside or one[3] <= other[1] or other[3] <= one[1]


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("title", [None, LONG, "W" * 300])
def test_no_words_overlap_or_leave_the_page(name, title):
    look = Look(title=title, source=LONG, credit="A. B.", date="2020", unit=LONG)
    sheet = sheet_of(GRIDS[name], look, name="jobs" if title is None else "x" * 120)
    boxes = [box_of(item) for item in sheet.items if isinstance(item, TextLine)]
    maps = [box_of(item) for item in sheet.items if isinstance(item, CellRaster)]
    for left, top, right, bottom in boxes + maps:
        assert left >= page.EDGE - 1
        assert right <= sheet.width - page.EDGE + 1
        assert top >= 0
        assert bottom <= sheet.height
    for number, one in enumerate(boxes):
        for other in boxes[:number] + maps:
            assert are_apart(one, other)


def test_the_scale_bar_is_as_long_as_it_says_and_has_two_ends():
    sheet = sheet_of(GRIDS["square"])
    (drawn,) = (item for item in sheet.items if isinstance(item, CellRaster))
    (length,) = (text.removesuffix(" km") for text in words_of(sheet) if text.endswith(" km"))
    ink = [i for i in sheet.items if isinstance(i, Box) and i.fill == looks.LIGHT.ink]
    (bar,) = (box for box in ink if box.width > box.height)
    assert bar.width / drawn.width == pytest.approx(float(length) / 8)
    ends = sorted((box_of(box)[0], box_of(box)[2]) for box in ink if box is not bar)
    assert (ends[0][0], ends[-1][1]) == (bar.x, bar.x + bar.width)
    assert len(ends) == 2


def test_what_is_no_private_release_is_told_in_red():
    sheet = sheet_of(KANTO)
    (flag,) = (item for item in sheet.items if getattr(item, "text", "") == "NOT PRIVATE")
    assert flag.colour == looks.LIGHT.alarm
    table = geodp.CountTable.from_dense(np.full((8, 8), 9), geodp.Grid.regular((8, 8)))
    release = geodp.publish(table, epsilon=1, contribution=1)
    words = words_of(compose(release.view(), Look()))
    assert "NOT PRIVATE" not in words
    assert any(text.startswith("Differentially private release") for text in words)


def test_colours_do_not_depend_on_the_data():
    release = released(KANTO)
    few, many = (
        geodp.ReleasedTable(KANTO, release.table.key, release.table.count * most, release.event)
        for most in (1, 1000)
    )
    views = [replace(release.view(), table=table) for table in (few, many)]
    sheets = [compose(view, Look()) for view in views]
    legends = [[i for i in s.items if isinstance(i, TextLine | Box)] for s in sheets]
    assert legends[0] == legends[1]
    panels = [page.Panel.of(view, 0) for view in views]
    numbers = [page.number_colours(panel, fade=False) for panel in panels]
    same = panels[0].value == panels[1].value
    assert same.any()
    assert np.array_equal(numbers[0][same], numbers[1][same])


def test_what_lies_within_its_margin_cannot_be_told_from_none_and_the_legend_says_so():
    release = released(KANTO)
    sheet = sheet_of(KANTO)
    (cells,) = (item for item in sheet.items if isinstance(item, CellRaster))
    panel = page.Panel.of(release.view(), 0)
    untold = (cells.number >= looks.UNTOLD_LAND)[::-1]
    assert np.array_equal(untold, ~panel.believed & (panel.land > 0))
    assert 0 < untold.sum() < untold.size
    margin = math.ceil(panel.least)
    assert f"fewer than {margin:,}: cannot be told from none" in words_of(sheet)
    plain = sheet_of(KANTO, Look(fade=False))
    (cells,) = (item for item in plain.items if isinstance(item, CellRaster))
    assert cells.number.max() < looks.UNTOLD_LAND
    assert not [text for text in words_of(plain) if "cannot be told" in text]
    # Classes of which all lie within the margin are not in the legend.
    density = panel.margin / float(panel.frame.areas().max())
    first = int(page.classify(np.array([density]))[0])
    filled = {item.fill for item in sheet.items if isinstance(item, Box)}
    shown = [colour in filled for colour in looks.LIGHT.classes]
    assert shown == [number >= first for number in range(len(shown))]
    assert first > 0


SEA = geodp.Grid.regular((8, 8), crs="EPSG:4326", transform=(0.1, 0, 139.3, 0, -0.1, 35.7))
"""Around Tokyo Bay."""

BAY = geodp.Grid.mesh("jis:basic", bounds=(139.25, 34.5, 140.75, 35.75))


def at_sea(counts, fade=True, method="laplace", grid=SEA, **look):
    """The colours of a map's cells, how much of them is land, and its words."""
    table = geodp.CountTable.from_dense(counts, grid)
    terms = {"epsilon": 10**4, "key": geodp.NoiseKey(bytes(32)), "method": method}
    release = geodp.publish(table, contribution=5_000, allow_empty=True, **terms)
    card = replace(release.card(), name="population")
    view = View(release.table, card)
    sheet = compose(view, Look(fade=fade, **look))
    (cells,) = (item for item in sheet.items if isinstance(item, CellRaster))
    return cells.number, Panel.of(view, 0), words_of(sheet)


def test_water_has_no_tint_and_the_shore_is_in_proportion():
    number, panel, words = at_sea(np.zeros((8, 8), int))
    counts = panel.value * panel.frame.areas()
    quiet = ~panel.believed & (counts <= 0)
    assert {0, 4} < {*panel.land.ravel().tolist()}
    assert np.array_equal(number[quiet] == looks.PAPER, panel.land[quiet] == 0)
    for quarter in range(1, 5):
        some = quiet & (panel.land == quarter)
        assert (number[some] == looks.UNTOLD_LAND + quarter - 1).all()
    assert {"water", "paler at the shore, by the share of land"} <= {*words}
    assert any(word.startswith("Land, shore and places: Natural Earth") for word in words)


def test_at_sea_a_count_is_drawn_where_it_is_far_above_the_noise():
    counts = np.zeros((8, 8), int)
    _, panel, _ = at_sea(counts)
    far, near = np.argwhere(panel.land == 0)[:2]
    counts[*far], counts[*near] = 10**6, 2 * panel.margin
    number, panel, _ = at_sea(counts)
    assert looks.CLASSES <= number[*far] < looks.UNTOLD_LAND
    assert panel.value[*near] > 0
    sea = (panel.land == 0) & (panel.value * panel.frame.areas() < SURE * panel.margin)
    assert (number[sea] == looks.PAPER).all()


def test_an_offices_own_domain_is_land_and_one_of_land_by_name_is_not():
    own = masked(SEA, np.ones((8, 8), bool) & (np.arange(8) < 7))
    _, panel, words = at_sea(np.where(own.domain.to_dense(), 9, 0), grid=own)
    assert panel.land is None
    assert "water" not in words
    named = cut_to_land(BAY, "land:japan:20km")
    _, panel, words = at_sea(np.zeros(BAY.shape, int), grid=named)
    assert panel.land.min() == 0
    assert "water" in words


def test_the_shore_and_names_lie_on_the_map_and_can_be_left_out():
    sheet = sheet_of(SEA)
    (drawn,) = (item for item in sheet.items if isinstance(item, CellRaster))
    left, top, right, bottom = box_of(drawn)
    named = [item for item in sheet.items if isinstance(item, TextLine) and item.halo is not None]
    lines = [item for item in sheet.items if isinstance(item, Line)]
    assert named
    boxes = [box_of(item) for item in named]
    for number, one in enumerate(boxes):
        assert left <= one[0] < one[2] <= right
        assert top <= one[1] < one[3] <= bottom
        for other in boxes[:number]:
            assert are_apart(one, other)
    assert lines
    for x, y in (point for line in lines for point in line.points):
        assert left <= x <= right
        assert top <= y <= bottom
    bare = sheet_of(SEA, Look(ground=False))
    assert not [i for i in bare.items if isinstance(i, Line) or getattr(i, "halo", None)]
    nowhere = sheet_of(GRIDS["wide"])
    assert not [i for i in nowhere.items if isinstance(i, Line) or getattr(i, "halo", None)]


@pytest.mark.usefixtures("japanese_font")
def test_names_of_places_are_in_the_maps_language():
    names = {
        language: {i.text for i in sheet_of(SEA, Look(language=language)).items
                   if isinstance(i, TextLine) and i.halo is not None}
        for language in ("en", "ja")
    }  # fmt: skip
    assert "Tokyo" in names["en"]
    assert "東京" in names["ja"]


@pytest.fixture
def no_fonts(monkeypatch):
    monkeypatch.setattr(fonts, "_folders", list)
    for found in (fonts.families, fonts.find_families):
        found.cache_clear()
    yield
    for found in (fonts.families, fonts.find_families):
        found.cache_clear()


@pytest.mark.parametrize("look", [Look(title="人口"), Look(source="統計局"), Look(language="ja")])
def test_asked_words_without_a_font_are_refused(no_fonts, look):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LettersWarning)  # the map leaves nothing out
        with refuses(UsageError, "font-lacks-letters"):
            sheet_of(KANTO, look)


def test_a_name_without_a_font_is_left_out_of_title_and_legend(no_fonts):
    with pytest.warns(LettersWarning):
        words = words_of(sheet_of(KANTO, name="人口"))
    assert words[0] == "Counts by place"
    assert "counts per km²" in words


def test_words_that_no_font_has_together_stand_apart(monkeypatch):
    found = page.find_families
    monkeypatch.setattr(page, "find_families", lambda t: None if "jobs " in t else found(t))
    sheet = sheet_of(KANTO, Look(source="jobs here"), name="jobs")
    words = words_of(sheet)
    assert "counts per km²" in words
    assert words[words.index("Source:") + 1] == "jobs here"


def small_counts(limit, method="laplace", grid=GRIDS["square"]):
    """A release of 0 to 63 people in a cell, of an office with a limit of display."""
    table = geodp.CountTable.from_dense(np.arange(grid.size).reshape(grid.shape), grid)
    said = None if limit is None else {"display_below": limit}
    terms = {"epsilon": 1, "contribution": 1, "key": geodp.NoiseKey(bytes(32)), "metadata": said}
    release = geodp.publish(table, method=method, **terms)
    return release.view()


@pytest.mark.parametrize("method", ["laplace", "pyramid"])
@pytest.mark.parametrize("dark", [False, True])
def test_small_counts_are_a_class_of_their_own_in_the_picture(method, dark):
    view = small_counts(40, method)
    table = view.table
    look = Look(dark=dark)
    (drawn,) = (i for i in compose(view, look).items if isinstance(i, CellRaster))
    count = np.zeros(64)
    count[table.grid.decode(table.key)[0] * 8 + table.grid.decode(table.key)[1]] = table.count
    few = (count > 0) & (count < 40)
    assert np.array_equal(drawn.number[::-1].reshape(-1) == looks.SMALL_COUNT, few)
    assert few.sum() > 20
    assert drawn.colours[looks.SMALL_COUNT] == look.theme.few
    assert look.theme.colours.count(look.theme.few) == 1
    plain = small_counts(None, method)
    (before,) = (i for i in compose(plain, look).items if isinstance(i, CellRaster))
    shown = drawn.number.reshape(-1) != looks.SMALL_COUNT
    assert np.array_equal(drawn.number.reshape(-1)[shown], before.number.reshape(-1)[shown])
    assert before.colours == look.theme.colours


@pytest.mark.usefixtures("japanese_font")
def test_small_counts_are_named_in_the_legend_and_no_class_below_them_is():
    assert [w for w in words_of(compose(small_counts(40), Look())) if "<" in w] == ["count <40"]
    assert "数が40未満" in words_of(compose(small_counts(40), Look(language="ja")))
    unknown = geodp.Grid.regular((8, 8))
    for grid in (unknown, GRIDS["square"]):  # a count of a cell, and of a square kilometre
        words = words_of(compose(small_counts(40, grid=grid), Look(fade=False)))
        legend = words[words.index(next(w for w in words if " per " in w)) :]
        numbers = [int(w.replace(",", "")) for w in legend if w.replace(",", "").isdigit()]
        assert numbers[:-1] == [100, 300, 1000, 3000, 10000]
        assert numbers[-1] == 0
    before = words_of(compose(small_counts(None), Look()))
    assert {"10", "30", "100"} <= {*before}
    assert not [w for w in before if "<" in w]
    assert "10" in words_of(compose(small_counts(2), Look()))


def test_a_pixel_of_many_cells_is_small_by_its_sum():
    grid = geodp.Grid.regular((4096, 4))
    table = geodp.CountTable.from_index(
        grid, np.array([[0, 1, 9], [0, 0, 0]]), np.array([30, 30, 30])
    )
    terms = {"epsilon": 10**6, "contribution": 1, "method": "laplace"}
    release = geodp.publish(table, metadata={"display_below": 40}, **terms)
    panel = Panel.of(release.view(), 0)
    assert panel.frame.block > 1
    counts = (panel.value * panel.frame.areas()).ravel()
    assert np.array_equal(panel.few.ravel(), (counts > 0) & (counts < 40))
    assert panel.few.any()
    assert (counts >= 40).any()
