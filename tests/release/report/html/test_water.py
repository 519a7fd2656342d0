"""Water on a page's map: no tint where there is no land, only counts far above the noise."""

import re

import numpy as np
import pytest

import geodp
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.read.public.background import share_land
from geodp.io.write.frame import Frame
from geodp.io.write.map.look import KEPT, UNTOLD
from geodp.io.write.scale import DARK_IS_MANY
from geodp.release.report.html import english
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.frame import PAPER, WATER, fade
from geodp.release.report.html.surface import pack_surface
from tests.release.report.html.pages import NODE, PLACE, drive, page_of, publish, towns

BAY = geodp.Grid.regular((24, 32), crs="EPSG:4326", transform=(1 / 32, 0, 139.3, 0, -1 / 32, 35.7))
"""Around Tokyo Bay."""

DRIVER = """
const surface = new api.Surface(all.surface);
const level = surface.levels[given.level];
const found = surface.densities(level, given.times);
const cover = api.coverWater(surface, level, given.times, found);
const said = given.cells.map(([row, col]) => {
  const words = new api.Words("en", all.words, null);
  const view = { surface, level, projection: { isKnown: false } };
  view.cellAt = () => [row, col];
  view.picture = () => ({ ...found, cover });
  view.toMap = (at) => at;
  return Object.fromEntries(api.describe(view, words, "people", [col, row])).drawn;
});
return {
  said, cover: cover && Array.from(cover), levelShown: Array.from(found.levelShown),
  density: Array.from(found.density), landless: Array.from(found.landless),
};
"""


@pytest.fixture(scope="module")
def bay(tmp_path_factory):
    """A release of towns on land, and of a few people at sea."""
    land = share_land(BAY.places[0], 1)
    counts = np.where(land > 0, towns(24, 32), 0)
    assert (counts > 0).sum() > 50
    folder = tmp_path_factory.mktemp("bay") / "release"
    release, card = publish(folder, BAY, counts, method="pyramid:setting=R", epsilon="1/10")
    return release, page_of(release, card), land


def draw(page, times, level=0, cells=()):
    return drive(page, DRIVER, {"times": times, "level": level, "cells": [*cells]})


@NODE
def test_water_is_covered_but_where_a_count_is_far_above_the_noise(bay):
    release, page, land = bay
    count = release.table.to_dense().reshape(-1)
    land = land.reshape(-1)
    answer = draw(page, 1)
    cover, level_shown, landless = (
        np.array(answer[name]) for name in ("cover", "levelShown", "landless")
    )
    quiet = count <= 0
    assert np.array_equal(cover[quiet], 4 - land[quiet])
    at_sea = (count > 0) & (land == 0)
    assert at_sea.any()
    finest = level_shown == 0
    assert (cover[at_sea & finest] == 0).all()
    assert np.array_equal(cover[at_sea] == 4, ~(finest | (landless > 0))[at_sea])
    assert (cover[(count > 0) & (land > 0)] == 0).all()


@NODE
def test_as_released_only_what_is_none_is_covered(bay):
    release, page, land = bay
    count = release.table.to_dense().reshape(-1)
    cover = np.array(draw(page, 0)["cover"])
    assert (cover[count != 0] == 0).all()
    assert np.array_equal(cover[count == 0], 4 - land.reshape(-1)[count == 0])


@NODE
@pytest.mark.parametrize("level", [0, 1])
def test_means_are_over_land_and_finest_squares_over_all(bay, level):
    """Every square that is shown has the sum of its cells, and no cell is left out."""
    release, page, land = bay
    side = 2**level
    answer = draw(page, 0.5, level)
    density, level_shown = np.array(answer["density"]), np.array(answer["levelShown"])
    shape = 24 // side, side, 32 // side, side
    place = BAY.places[0]
    areas = Frame(place, 1, (1, 1), None).areas()
    area, ashore = (
        each.reshape(shape).sum(axis=(1, 3)).ravel() for each in (areas, areas * land / 4)
    )
    sums = release.table.to_dense().reshape(shape).sum(axis=(1, 3)).ravel()
    finest, mean = level_shown == level, (level_shown > level) & (np.array(answer["landless"]) == 0)
    assert finest.any()
    assert mean.any()
    np.testing.assert_allclose(density[finest], (sums / area)[finest], rtol=1e-9)
    row, col = np.divmod(np.arange(sums.size), 32 // side)
    top = level_shown.max()
    for above in range(level + 1, top + 1):
        node = (row * side // 2**above) * 32 + col * side // 2**above
        for one in np.unique(node[level_shown == above]):
            left = (node == one) & ((level_shown >= above) | (level_shown < 0))
            if mean[left].all():
                wanted = sums[left].sum() / ashore[left].sum()
                assert density[left] == pytest.approx(wanted)


@NODE
def test_the_readout_says_water(bay):
    release, page, land = bay
    count = release.table.to_dense()
    row, col = np.argwhere((land == 0) & (count <= 0))[0].tolist()
    assert draw(page, 1, cells=[[row, col]])["said"] == ["water"]
    inland = np.argwhere((land == 4) & (count > 100))[0].tolist()
    assert "per km²" in draw(page, 1, cells=[inland])["said"][0]


def test_land_is_drawn_outside_a_masked_domain(tmp_path):
    inside = np.arange(32) < np.full((24, 1), 30)
    masked = BAY.with_mask(
        mask_of_blocks(BAY, blocks_of_array(inside), "the office's list of land")
    )
    release, card = publish(tmp_path / "own", masked, np.where(inside, 9, 0))
    assert pack_surface(release.view())["land"] is None
    for name, place in (("inland", PLACE), ("nowhere", {})):
        release, card = publish(tmp_path / name, geodp.Grid.regular((21, 30), **place))
        assert pack_surface(release.view())["land"] is None
        text = page_of(release, card)
        assert WATER not in text.split('<div class="legend">')[1].split("</ul>")[0]
        assert english.PAGE["legend_shore"] not in text


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_legend_has_every_tint_of_the_map(bay, language):
    release, _, _ = bay
    page = page_of(release, release.card(), language)
    (legend,) = re.findall(r'<div class="legend">(.*?)</ul>', page, re.DOTALL)
    shown = {*re.findall(r'fill="(#\w{6})"', legend)}
    texts = texts_of(language).page
    for colour in DARK_IS_MANY:
        assert {*fade(colour)} <= shown
    assert {UNTOLD, PAPER, WATER} <= shown
    assert texts["legend_untold"] in legend
    assert texts["legend_water"] in legend
    assert texts["legend_shore"] in page


def test_pale_colours_are_those_that_the_script_mixes():
    first, pale = fade("#000000")
    assert first == "#000000"
    assert int(pale[1:3], 16) == round(255 * (1 - KEPT))


PINNED = """
const surface = new api.Surface(all.surface);
const words = new api.Words("en", all.words, null);
const projection = new api.Projection(all.surface.place, all.surface.projection);
const names = [[16, 12, "Bayside"]];
const view = { surface, level: surface.levels[0], projection, names: given.near ? names : [] };
return given.cells.map((cell) => {
  view.cellAt = () => cell;
  const { estimate } = surface.estimateSquare(view.level, cell);
  const found = api.pin(view, words, "people", cell);
  return { ...found, interval: words.interval(estimate), judged: api.judge(estimate, words) };
});
"""


@NODE
def test_a_chosen_square_in_water_is_named_so(bay):
    release, page, land = bay
    dense = release.table.to_dense()
    cells = np.argwhere((land == 0) & (dense == 0)).tolist()
    on_land = np.argwhere(land > 0).tolist()
    assert len(cells) > 20
    for one in drive(page, PINNED, {"cells": cells, "near": False}):
        assert one["text"] == english.SCRIPT["pin_water"]
        assert not one["isFit"]
        assert one["heading"].startswith("The square you chose, at 3")
    # A square is 2.83 km wide and 3.47 km high; the town is 30 km away at most.
    found = drive(page, PINNED, {"cells": on_land, "near": True})
    for (row, col), one in zip(on_land, found, strict=True):
        assert one["text"] != english.SCRIPT["pin_water"]
        far = np.hypot(2.83 * (col + 0.5 - 16), 3.47 * (row + 0.5 - 12))
        if abs(far - 30) > 0.5:
            assert one["heading"].endswith(" (near Bayside)") == (far < 30)


@NODE
def test_the_panel_rounds_an_interval_as_the_sentence_does(bay):
    _, page, land = bay
    found = drive(page, PINNED, {"cells": np.argwhere(land > 0).tolist(), "near": False})
    assert len({one["judged"]["sentence"] for one in found}) > 1
    for one in found:
        low, high = (f"{one['judged'][end]:,}" for end in ("low", "high"))
        assert one["interval"] == f"{low} to {high}"
        assert f"{high}" in one["text"]
