"""Places by name on a page: their sums, the sentence to quote, the search, and who they are of."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from shapely import Point, box

import geodp
from geodp.accuracy.interval import Estimate
from geodp.cli import geodp as command_line
from geodp.cli.figures import list_estimates
from geodp.errors import CodeError, UsageError
from geodp.io.read.public.polygons import Circle
from geodp.release.report.html import english, places, quotes
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.frame import write_source
from geodp.release.report.html.page import name_domain
from geodp.release.report.translation import LANGUAGES
from tests.refusals import refuses
from tests.release.report.html.pages import NODE, PLACE, data_of, drive, page_of, publish, towns

MESH = geodp.Grid.mesh("inspire:1km", bounds=(4300000, 3275000, 4330000, 3296000))


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    counts = towns(21, 30)
    return publish(tmp_path_factory.mktemp("mesh") / "release", MESH, counts)


@pytest.mark.parametrize(
    ("count", "low", "high", "limit", "said"),
    [
        (0, 0, 8.5, 10, ("0", "0", "<10")),
        (0, -3, 8.5, 10, ("0", "0", "<10")),
        (20, 4.5, 35.5, 10, ("20", "<10", "40")),
        (20, 10.0, 30.0, 10, ("20", "10", "30")),
        (20, 4.5, 35.5, None, ("20", "0", "40")),
    ],
)
def test_ends_of_intervals_below_the_limit_are_hidden_as_in_printed_tables(
    count, low, high, limit, said
):
    one = Estimate(count, low, high, 1.0, clamped=False)
    fields = quotes.write_ends(one, places.Rounded.of(one), {"below": "<{limit}"}, limit)
    assert tuple(fields.values()) == said
    (row,) = list_estimates("town", {"count": one}, limit)
    printed = row.cells("")[2].split(" to ")
    assert [one.startswith("<") for one in printed] == [one.startswith("<") for one in said[1:]]


def by_name(release, public_list=None):
    return {one.name: one for one in places.list_places(release.view(), public_list)}


def test_squares_of_the_code_system_have_the_estimates_of_their_codes(mesh):
    release, _ = mesh
    listed = by_name(release)
    total = listed.pop(places.ENTIRE_DOMAIN)
    assert total.estimate == release.estimate(tuple(release.grid.places[0].bounds))
    assert total.box == (0, 0, 21, 30)
    assert len(listed) > 4
    for code, place in listed.items():
        assert place.estimate == release.estimate(code), code
        assert place.level == "inspire:10km"
        assert 9.4 < place.middle[0] < 10.2, "longitude first"
        assert 52.4 < place.middle[1] < 52.8
    ends = [places.Rounded.of(one.estimate) for one in places.list_places(release.view())][1:]
    order = [(one.low, one.high) for one in ends]
    assert order == sorted(order, reverse=True)


def test_squares_without_codes_cover_the_domain_once(tmp_path):
    grid = geodp.Grid.regular((64, 40), **PLACE).with_attribute("sex", ["f", "m"])
    counts = np.random.default_rng(3).integers(0, 90, (64, 40, 2))
    release, _ = publish(tmp_path / "release", grid, counts)
    listed = places.list_places(release.view())
    sums = np.zeros((64, 40), np.int64)
    for one in listed[1:]:
        top, left, bottom, right = one.box
        sums[top:bottom, left:right] += 1
        east, north = 4_300_000 + 1000 * left, 3_300_000 - 1000 * top
        bounds = (east, north - 1000 * (bottom - top), east + 1000 * (right - left), north)
        assert one.estimate == release.estimate(bounds)
    assert (sums == 1).all()
    assert sum(one.estimate.count for one in listed[1:]) == listed[0].estimate.count
    assert len(listed) - 1 < places.MAX_SQUARES


def test_regions_of_a_table_are_listed_on_every_level(tmp_path):
    cells = np.indices((8, 8)).reshape(2, -1)
    table = {
        "prefecture": [f"{c // 4:02}" for c in cells[1]],
        "city": [f"{r // 4}{c // 4}" for r, c in cells.T],
    }
    hierarchy = geodp.Hierarchy.of_cells(cells, table, "an example")
    grid = geodp.Grid.regular((8, 8), **PLACE).with_hierarchy(hierarchy)
    release, _ = publish(tmp_path / "release", grid, np.arange(64).reshape(8, 8) * 9)
    listed = by_name(release)
    assert {*listed} == {places.ENTIRE_DOMAIN, "00", "01", "10", "11"} | {"00", "01"}
    levels = [(one.level, one.name) for one in places.list_places(release.view())[1:]]
    assert len(levels) == 6
    assert ("city", "11") in levels
    regions = places.list_places(release.view())[1:]
    assert all(one.overlaps for one in regions), "a prefecture has the cells of its cities"
    assert all(one.border is not None for one in regions)
    names = [one.place for one in quotes.quote_places([*listed.values()], english.SCRIPT, None)]
    assert "city 11" in names
    for one in places.list_places(release.view())[1:]:
        if one.name in ("10", "11"):  # codes of one level alone
            assert one.estimate == release.estimate(one.name)


def test_a_public_list_replaces_the_squares(mesh):
    release, _ = mesh
    west, south, east, north = release.grid.places[0].bounds
    half = box(west, south, (west + east) / 2, north)
    codes = sorted(name for name in by_name(release) if name != places.ENTIRE_DOMAIN)[:2]
    public_list = {"West": half, "Two": codes, "Far": box(0, 0, 1, 1), "No": ["1kmN2000E2000"]}
    listed = by_name(release, public_list)
    assert {*listed} == {places.ENTIRE_DOMAIN, "West", "Two"}
    assert listed["West"].estimate == release.estimate(half)
    assert listed["Two"].estimate == release.estimate(codes)
    with refuses(CodeError, "code-unknown"):
        places.list_places(release.view(), {"Wrong": ["no code"]})


@pytest.mark.parametrize(
    ("count", "low", "high", "rounded"),
    [
        (12345, 12223.0, 12467.0, (12300, 12200, 12500)),
        (7, -40.5, 61.2, (10, 0, 70)),
        (-9, -60.0, 42.0, (0, 0, 50)),
        (512, 512.0, 512.0, (512, 512, 512)),
        (0, 0.0, 0.4, (0, 0, 1)),
    ],
)
def test_rounding_goes_outwards(count, low, high, rounded):
    rounded_estimate = places.Rounded.of(Estimate(count, low, high, 1.0, clamped=False))
    assert (rounded_estimate.count, rounded_estimate.low, rounded_estimate.high) == rounded
    assert rounded_estimate.low <= max(low, 0)
    assert rounded_estimate.high >= high


def place(count, low, high, name="Here"):
    estimate = Estimate(count, low, high, 1.0, clamped=False)
    return places.Place(name, "", (0, 0, 1, 1), None, estimate)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_kind_of_place_has_its_sentence(language):
    texts = texts_of(language).script
    listed = [
        place(12345, 12223.0, 12467.0),
        place(7, -40.5, 61.2),
        place(512, 512.0, 512.0),
        place(7, 3.0, 11.0),
    ]
    chosen = quotes.quote_places(listed, texts, 10)
    sentences = [one.format_sentence(texts, "people", 10) for one in chosen]
    assert [one.sentence for one in chosen] == [
        "quote",
        "quote_below",
        "quote_exact",
        "quote_below",
    ]
    assert all("Here" in text and "people" in text for text in sentences)
    assert all(text in sentences[0] for text in ("12,300", "12,200", "12,500", "1.7"))
    assert "7" not in sentences[1]
    few = quotes.quote_places(listed, texts, None)[1]
    assert (few.sentence, few.within) == ("quote_few", None)
    assert "70" in few.format_sentence(texts, "people", None)


@pytest.mark.parametrize(
    ("place_", "begins"),
    [
        ({"km": 3.0}, "Within 3 km of the centre of Here, about 12,300 people"),
        ({"is_part": True}, "In the part of Here that lies on this map, about"),
        ({"km": 2.5, "is_part": True}, "Within 2.5 km of the centre of Here, but only in the part"),
    ],
)
def test_a_sentence_says_what_a_place_is(place_, begins):
    (one,) = quotes.quote_places(
        [replace(place(12345, 12223.0, 12467.0), **place_)], english.SCRIPT, None
    )
    assert one.format_sentence(english.SCRIPT, "people", None).startswith(begins)


@pytest.mark.parametrize(
    ("estimate", "sentence", "beginning"),
    [
        ((600, -20.0, 1231.0), "quote_few", "at most 1,300 people were counted (95 % sure); the"),
        ((600, 130.0, 1070.0), "quote_unsure", "about 600 people were counted, but this number is"),
        ((44_912_234, 44_911_700.0, 44_912_768.0), "quote_near", "and 44,912,800)."),
        ((100_000, 99_901.0, 100_100.0), "quote_near", "between 99,900 and 100,100)."),
        ((100_000, 99_801.0, 100_100.0), "quote", "within 0.2 %)."),
    ],
)
def test_uncertain_estimates_have_no_percentage(estimate, sentence, beginning):
    (one,) = quotes.quote_places([place(*estimate)], english.SCRIPT, None)
    text = one.format_sentence(english.SCRIPT, "people", None)
    assert (one.sentence, "perhaps none" in text) == (sentence, False)
    assert beginning in text


@NODE
def test_the_script_judges_an_estimate_as_the_page_does(mesh):
    release, card = mesh
    random = np.random.default_rng(7)
    middle = np.rint(10 ** random.uniform(0, 7, 300))
    half = 10 ** random.uniform(-1, 5, 300)
    estimates = [
        {"count": c, "low": max(c - h, 0.0), "high": c + 2 * h}
        for c, h in zip(middle.tolist(), half.tolist(), strict=True)
    ]
    driver = """
    const words = new api.Words("en", all.words, null);
    return given.map((one) => {
      const judged = { ...api.judge(one, words), place: "Here" };
      return api.quote(words, "people", judged);
    });
    """
    listed = drive(page_of(release, card), driver, estimates)
    quoted = quotes.quote_places([place(**one) for one in estimates], english.SCRIPT, None)
    assert listed == [one.format_sentence(english.SCRIPT, "people", None) for one in quoted]
    assert {one.sentence for one in quoted} == {
        "quote",
        "quote_near",
        "quote_unsure",
        "quote_few",
    }


def test_circles_have_their_radius_and_cut_places_are_parts(mesh):
    release, _ = mesh
    west, south, east, north = release.grid.places[0].bounds
    public_list = {
        "Inner": Circle(Point(4_315_000, 3_285_000).buffer(3000), 3.0),
        "Near": Circle(Point(4_317_000, 3_285_000).buffer(3000), 3.0),
        "Edge": Circle(Point(west + 500, 3_285_000).buffer(3000), 3.0),
        "Corner": Circle(Point(west, south).buffer(3000), 3.0),
        "Box": box(west, south, west + 5000, north),
        "Half": box(east - 5000, south, east + 5000, north),
        "Codes": ["1kmN3280E4310"],
    }
    listed = by_name(release, public_list)
    assert "Corner" not in listed, "three quarters of it lie outside the map"
    page = page_of(*mesh, places=public_list)
    assert english.PAGE["places_left_out"].format(n=1) in page
    del public_list["Corner"]
    assert "left out, because" not in page_of(*mesh, places=public_list)
    assert [listed[name].km for name in public_list] == [3.0, 3.0, 3.0, None, None, None]
    parts = [listed[name].is_part for name in public_list]
    assert parts == [False, False, True, False, True, False]
    shared = [listed[name].overlaps for name in public_list]
    assert shared == [True, True, True, True, False, False]
    assert listed["Box"].border.tolist()[0] == 2, "a line at its top and one at its bottom"
    assert (english.PAGE["places_overlap"] in page_of(*mesh, places=public_list)) is True
    del public_list["Near"], public_list["Edge"]
    assert english.PAGE["places_overlap"] not in page_of(*mesh, places=public_list)


def test_the_largest_squares_have_the_estimates_of_their_cells(mesh):
    release, _ = mesh
    listed = places.list_largest(release.view())
    assert len(listed) == places.MAX_LARGEST
    counts = np.sort(release.table.count)[::-1]
    assert [one.estimate.count for one in listed] == counts[: len(listed)].tolist()
    for one in listed:
        assert one.estimate == release.estimate(one.name)
    assert "Squares with the most people" in page_of(*mesh)


SEARCH = """
const list = Object.create(api.Places.prototype);
list.all = given.names.map((place, i) => ({ place, low: i, high: i }));
const found = list.find(given.search, "sum").map(({ place }) => place);
return [found, list.isNamed];
"""


@NODE
def test_the_search_has_the_name_itself_first(mesh):
    names = ["Oshima", "Toshima", "Oshimacho", "Great Oshima", "Oshima (Tokyo)", "Ueno"]
    page = page_of(*mesh)
    listed, is_named = drive(page, SEARCH, {"names": names, "search": "oshima"})
    assert listed == ["Oshima (Tokyo)", "Oshima", "Oshimacho", "Great Oshima", "Toshima"]
    assert is_named
    assert drive(page, SEARCH, {"names": names[1:2], "search": "Ōshima"}) == [["Toshima"], False]
    hyphens = ["Yokohama-Nishi (Kanagawa)", "Nishi-Yokohama", "Yokohama"]
    for search in ("yokohama nishi", "Yokohamanishi", "YOKOHAMA\u2010NISHI"):
        assert drive(page, SEARCH, {"names": hyphens, "search": search}) == [hyphens[:1], True]
    (first, *_), _ = drive(page, SEARCH, {"names": hyphens, "search": "yokohama"})
    assert first == "Yokohama"


MOVED = """
const view = { projection: new api.Projection(all.surface.place, all.surface.projection) };
return given.map((ring) => {
  try {
    return api.Areas.prototype.moveAll.call({ view }, [{ name: null, rings: [ring] }]).length;
  } catch (error) {
    return error.message;
  }
});
"""


@NODE
def test_swapped_coordinates_are_reported(mesh):
    rings = [
        [[9.6, 52.5], [9.8, 52.5], [9.8, 52.6]],
        [[52.5, 9.6], [52.5, 9.8], [52.6, 9.8]],
        [[0, 0], [1, 0], [1, 1]],
    ]
    assert drive(page_of(*mesh), MOVED, rings) == [1, "swapped", "off_map"]


LIST = """
const words = new api.Words("en", all.words, all.surface.below);
const list = Object.create(api.Places.prototype);
Object.assign(list, { words, who: all.who, all: api.readPlaces(all.places) });
return list.find(given.search, given.sort).map((one) => [one.place, list.quote(one)]);
"""


@NODE
def test_the_script_finds_sorts_and_quotes_as_the_page_does(mesh):
    release, card = mesh
    page = page_of(release, card)
    texts = {**english.SCRIPT, **name_domain(release.view(), english.PAGE)}
    assert texts["place_whole"].startswith("the whole area of this map (52.")
    quoted = quotes.quote_places(places.list_places(release.view()), texts, None)
    expected = [[one.place, one.format_sentence(texts, "people", None)] for one in quoted]
    assert drive(page, LIST, {"search": "", "sort": "sum"}) == expected
    sure = drive(page, LIST, {"search": "", "sort": "sure"})
    within = {one.place: one.within for one in quoted}
    order = [within[name] for name, _ in sure]
    percentages = [one for one in order if one is not None]
    assert percentages == sorted(percentages)
    assert order[: len(percentages)] == percentages
    name = expected[3][0]
    assert drive(page, LIST, {"search": name.upper(), "sort": "name"}) == [expected[3]]
    assert drive(page, LIST, {"search": "nowhere", "sort": "name"}) == []


OVERLAPS = """
const rows = api.readPlaces(all.places).filter((one) => given.includes(one.place));
const at = (name) => rows.find((one) => one.place === name);
return given.map((one) => given.map((other) => api.overlaps(at(one), at(other), false)));
"""


@NODE
def test_places_that_share_squares_overlap(mesh):
    release, card = mesh
    west, south, east, north = release.grid.places[0].bounds
    corner = Point(west + 8000, south + 8000)
    public_list = {
        "Ring": corner.buffer(7000).difference(corner.buffer(4000)),
        "Hole": corner.buffer(2500),
        "Across": box(west, south + 7000, east, south + 9000),
        "Far": box(east - 5000, south, east, north),
    }
    page = page_of(release, card, places=public_list)
    assert drive(page, OVERLAPS, [*public_list]) == [
        [True, False, True, False],
        [False, True, True, False],
        [True, True, True, True],
        [False, False, True, True],
    ]


@pytest.mark.parametrize(
    ("metadata", "exact", "source"),
    [
        (None, False, "(with random noise added to protect people)"),
        (None, True, ""),
        (
            {"publisher": "An office", "reference_date": "2020-10-01"},
            False,
            "(An office; counts of 1 October 2020; with random noise added to protect people)",
        ),
        (
            {"publisher": "An office", "reference_date": "2020-10-01"},
            True,
            "(An office; counts of 1 October 2020)",
        ),
    ],
)
def test_a_copied_sentence_has_its_source(tmp_path, metadata, exact, source):
    _, card = publish(tmp_path / "release", counts=towns(21, 30), metadata=metadata)
    assert write_source(card, english.PAGE, exact) == source


def test_a_page_lists_ten_places_without_a_script(mesh):
    page = page_of(*mesh)
    listed = page.split('<ul id="places"')[1].split("</ul>")[0]
    assert listed.count("<li>") == min(10, len(places.list_places(mesh[0].view())))
    assert english.PAGE["places_squares"] in page
    assert len(data_of(page)["places"]["rows"]) == len(places.list_places(mesh[0].view()))
    named = page_of(*mesh, places={"Old town": box(4300000, 3275000, 4310000, 3296000)})
    assert "In Old town, " in named
    assert english.PAGE["places_squares"] not in named


def test_squares_of_either_end_of_pairs_have_the_error_of_their_sums(tmp_path):
    grid = geodp.Grid.regular((6, 5), **PLACE).pairs()
    counts = np.random.default_rng(2).integers(0, 50, grid.shape)
    release, card = publish(tmp_path / "release", grid, counts, method="laplace", epsilon=5)
    total, *listed = places.list_places(release.view())
    assert total.name == places.ENTIRE_DOMAIN
    assert total.estimate.count == release.table.count.sum()
    sums = np.zeros((2, 6, 5))
    index = release.grid.decode(release.table.key)
    for end in (0, 1):
        np.add.at(sums[end], tuple(index[2 * end : 2 * end + 2]), release.table.count)
    assert len(listed) == 60
    near = 0
    for one in listed:
        end = ("origin", "destination").index(one.level)
        top, left, _, _ = one.box
        assert abs(one.estimate.count - sums[end, top, left]) <= 0.5
        near += one.estimate.low <= counts.sum(axis=(2, 3) if end == 0 else (0, 1))[top, left]
    assert near > 50
    assert "as the origin, about " in page_of(release, card)


def test_sums_of_ends_of_pairs_that_a_clamp_moves_are_not_quoted(tmp_path):
    grid = geodp.Grid.regular((6, 5), **PLACE).pairs()
    release, card = publish(tmp_path / "release", grid, np.ones(grid.shape, np.int64))
    assert {one.name for one in places.list_places(release.view())} <= {places.ENTIRE_DOMAIN}
    assert english.PAGE["places_missing"] in page_of(release, card)
    with refuses(UsageError, "list-needs-one-map"):
        places.list_places(release.view(), {"A": ["1"]})


def test_a_release_without_errors_of_areas_has_no_list(tmp_path):
    release, card = publish(tmp_path / "release", epsilon=1, method="agrid")
    assert places.list_places(release.view()) == []
    page = page_of(release, card)
    assert english.PAGE["places_missing"] in page
    assert data_of(page)["places"] is None


def test_the_command_reads_a_list_and_refuses_what_does_not_fit(tmp_path):
    folder = tmp_path / "release"
    publish(folder, MESH, towns(21, 30))
    west, south, east, north = MESH.places[0].bounds
    shape = box(west, south, east, north).__geo_interface__
    areas = {
        "type": "FeatureCollection",
        "crs": {"type": "name", "properties": {"name": "EPSG:3035"}},
        "features": [{"type": "Feature", "geometry": shape, "properties": {"name": "All of it"}}],
    }
    file = tmp_path / "areas.geojson"
    file.write_text(json.dumps(areas))

    def report(*options):
        return CliRunner().invoke(command_line, ["report", str(folder), *map(str, options)])

    page = tmp_path / "page.html"
    report("--output", page, "--places", file)
    assert "In All of it, " in page.read_text(encoding="utf-8")
    for options, code in (
        (("--places", file), "option-of-pages"),
        (("--embed", "--output", "card.md"), "option-of-pages"),
        (("--output", page, "--place-name", "x"), "option-needs-option"),
        (("--output", page, "--embed", "--about", file), "option-excludes-option"),
        (("--output", page, "--from", "a"), "option-of-other-kind"),
    ):
        with refuses(UsageError, code):
            raise report(*options).exception


def test_squares_of_a_side_are_areas_of_codes_where_there_are_some():
    official = places.list_regions(MESH, side=10)
    assert {one.level for one in official} == {"inspire:10km"}
    squares = places.list_regions(MESH, side=7)
    assert {one.level for one in squares} == {""}
    assert len(squares) == 3 * 5
    assert sum(one.region.cells for one in squares) == MESH.size
