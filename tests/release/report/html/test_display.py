"""What a page says of small counts, by its own script: its readout, its table, its colours."""

import numpy as np
import pytest

from geodp.io.write.qgis_style import FEW
from geodp.release.report.html.frame import PAPER
from tests.release.report.html.pages import NODE, data_of, drive, page_of, publish, read, towns

LIMIT = 60

FULL, WHITE = ([*bytes.fromhex(colour[1:])] for colour in (FEW, PAPER))

DRIVER = """
const surface = new api.Surface(all.surface);
const parse = (colour) => colour.match(/\\w\\w/g).map((each) => parseInt(each, 16));
const named = Object.entries(all.look.colours);
const parsed = named.map(([name, one]) => [name, name === "classes" ? one.map(parse) : parse(one)]);
const look = { ...all.look, colours: Object.fromEntries(parsed) };
const words = new api.Words(given.language, all.words, all.surface.below);
const view = Object.assign(Object.create(api.MapView.prototype), {
  surface, look, pictures: new Map(), level: surface.levels[given.level], times: given.times,
  scale: 50, projection: { isKnown: false }, paint: () => null, names: [],
});
const { density, count, levelShown } = view.picture(view.level);
const colours = Array.from(density, (each, i) => (
  view.colour(each, count[i], levelShown[i], view.level)
));
const found = given.cells.map(([row, col]) => {
  const cell = [[row, col]];
  const at = [col + 0.5, row + 0.5];
  const asked = { words, who: "people", view: { surface }, isPart: () => false };
  surface.cellsInside = () => cell;
  const { text, facts } = api.Areas.prototype.describe.call(asked, { place: "x", rings: [] });
  const said = Object.fromEntries(api.describe(view, words, "people", at));
  const square = surface.squareOf(view.level, row, col);
  const pinned = api.pin(view, words, "people", at);
  const drawn = { drawn: count[square], colour: colours[square], levelShown: levelShown[square] };
  return { said, text, facts, pinned: pinned.text, ...drawn };
});
return found;
"""


@pytest.fixture(scope="module", params=["pyramid:setting=R", "hay"])
def pages(request, tmp_path_factory):
    """A release with a limit of display and without, and its pages by language and limit."""
    folder = tmp_path_factory.mktemp("pages")
    pages_by_limit = {}
    for limit in (None, LIMIT):
        metadata = None if limit is None else {"display_below": limit}
        place = folder / str(limit)
        publish(place, counts=towns(21, 30) // 2, method=request.param, metadata=metadata)
        release, card = read(place)
        for language in ("en", "ja"):
            pages_by_limit[language, limit] = release, page_of(release, card, language)
    return pages_by_limit


def look_up(page, language, cells, level=0, times=0):
    argument = {"language": language, "cells": cells, "level": level, "times": times}
    return drive(page, DRIVER, argument, data_of(page))


@NODE
@pytest.mark.parametrize(("language", "few"), [("en", "<60"), ("ja", "60未満")])
def test_readout_and_table_show_no_count_below_the_limit(pages, language, few):
    release, page = pages[language, LIMIT]
    cells = [[row, col] for row in range(21) for col in range(30)]
    dense = release.table.to_dense()
    hidden = (dense > 0) & (dense < LIMIT)
    assert hidden.sum() > 20
    assert (dense >= LIMIT).sum() > 20
    for (row, col), shown in zip(cells, look_up(page, language, cells), strict=True):
        readout = shown["said"]
        assert (shown["colour"] == FULL) == hidden[row, col]
        if hidden[row, col]:
            assert (readout["count"], readout["ends"]) == (few, "–")
            assert readout["drawn"].startswith((f"a number {few}; ", f"数 {few}、"))
            assert shown["facts"] == ""
            for text in (shown["text"], shown["pinned"]):
                assert "the publisher's rule" in text or "公表者の表示の規則" in text
        else:
            assert float(readout["count"].replace(",", "")) == pytest.approx(
                dense[row, col], abs=0.51
            )
            assert few not in readout["drawn"]
            assert shown["facts"]


@NODE
def test_squares_of_many_cells_are_small_by_their_sums(pages):
    _, page = pages["en", LIMIT]
    cells = [[row, col] for row in range(0, 21, 2) for col in range(0, 30, 2)]
    for shown in look_up(page, "en", cells, level=1):
        hidden = 0 < shown["drawn"] < LIMIT
        assert ("<60" in shown["said"]["drawn"]) == hidden
        assert (shown["colour"] == FULL) == hidden


@NODE
def test_small_counts_of_larger_squares_are_paler(pages):
    _, page = pages["en", LIMIT]
    cells = [[row, col] for row in range(21) for col in range(30)]
    few = [one for one in look_up(page, "en", cells, times=1) if 0 < one["drawn"] < LIMIT]
    finest, larger = ([one for one in few if (one["levelShown"] > 0) == up] for up in (False, True))
    assert larger
    for one in finest:
        assert one["colour"] == FULL
    for one in larger:
        assert all(a < b < c for a, b, c in zip(FULL, one["colour"], WHITE, strict=True))


@NODE
def test_without_a_limit_every_count_is_shown(pages):
    release, page = pages["en", None]
    dense = release.table.to_dense()
    cells = np.argwhere((dense > 0) & (dense < LIMIT)).tolist()
    for (row, col), shown in zip(cells, look_up(page, "en", cells), strict=True):
        assert float(shown["said"]["count"]) == pytest.approx(dense[row, col], abs=0.51)
        assert shown["said"]["ends"] != "–"
        assert shown["colour"] != FULL


def test_the_page_names_the_class_and_what_the_rule_is_not(pages):
    for language, few, rule in (
        ("en", "counts above 0: &lt;60", "source contain the released numbers"),
        ("ja", "数が0を超え60未満", "この規則は保護ではなく"),
    ):
        page = pages[language, LIMIT][1]
        assert page.count(few) == 1
        assert page.count(rule) == 1
        assert page.count(f'fill="{FEW}"') == 1
        plain = pages[language, None][1]
        assert rule not in plain
        assert few not in plain
        assert f'fill="{FEW}"' not in plain
