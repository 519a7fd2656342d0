"""One page of a release: what it shows is what estimates say, in every language, and no script."""

import functools
import math
import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.region import Region
from geodp.io.write.drawing.sheet import Line, TextLine
from geodp.io.write.map.look import Look
from geodp.kinds.flows.flows import draw_map
from geodp.kinds.flows.page import (
    MOST_PLACES,
    choose_side,
    describe_files,
    find_places,
    write_page,
)
from geodp.kinds.flows.picture import is_believed
from geodp.privacy.key import NoiseKey
from geodp.release.folder_map import draw_folder
from geodp.release.report.html.english import texts_of
from tests.kinds.flows.forms import make
from tests.kinds.flows.test_publish import GRID, publish, trips_on
from tests.refusals import refuses

MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.3333333333"))


@pytest.fixture(scope="module")
def release():
    return publish(trips_on(MESH, number=200_000))


@pytest.fixture(scope="module")
def page_in(release):
    """Pages of the release by language, each written once."""
    return functools.cache(lambda language: write_page(release, language))


def everywhere(release):
    """Return the region of all zones."""
    grid = release.origins.grid
    return Region(grid, np.sort(grid.domain.keys_of_ranks(np.arange(grid.size))))


class Reader(HTMLParser):
    """Rows of tables, lines of maps, and whether all elements are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.rows, self.tags, self.sources, self.lines = [], [], set(), [], 0
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href")]
        self.lines += tag == "path" and "marker-end" in dict(attributes)
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & {*self.open} and self.rows:
            self.rows[-1].append(data)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_page_shows_what_estimates_say(release, page_in, language):
    page = page_in(language)
    read = Reader(page)
    assert f'lang="{language}"' in page
    assert {"script", "img"}.isdisjoint(read.tags)
    assert all(one.startswith(("#", "data:image/png;base64,")) for one in read.sources)
    flows = [row for row in read.rows if len(row) == 3 and re.search("5[0-9]{6}", row[0])]
    assert flows
    assert read.lines >= len(flows)
    codes = [[re.search("[0-9]{7}", one)[0] for one in row[:2]] for row in flows]
    estimates = release.estimate_all(codes)
    for row, one in zip(flows, estimates, strict=True):
        shown = [int(n.replace(",", "")) for n in re.findall("[0-9,]+", row[2])]
        assert shown == [one.count, math.floor(one.low), math.ceil(one.high)]


def test_a_chosen_place_is_shown_in_the_chosen_direction(release, page_in):
    code = "52397061"
    out = write_page(release, origin=code)
    both = write_page(release, origin="523970", destination="523970")
    for page, into in ((out, False), (both, True)):
        assert "Trips out of it" in page
        assert ("Trips into it" in page) is into
    assert f"{code}: " in out
    assert both.count("<details") == 1
    assert Reader(out).lines < Reader(page_in("en")).lines
    with refuses(geodp.errors.CodeError, "area-outside-domain"):
        write_page(release, destination="533945")


def test_a_list_of_places_is_shown_by_its_names(release):
    places = {"Shore <b>": ["523970"], "Hill": ["523971"]}
    page = write_page(release, "en", places)
    assert {*places} <= {part for row in Reader(page).rows for part in row}
    assert page == write_page(release, "en", places)
    many = {str(n): ["523970"] for n in range(MOST_PLACES + 1)}
    with refuses(UsageError, "flows-places-many"):
        write_page(release, "en", many)


def test_trips_between_places_are_sums_of_the_flows(release):
    found = find_places(release, None, texts_of("en").script)
    assert found.listed == len(found.names)
    assert found.trips.sum() == release.flows.table.count.sum()
    for place in range(3):
        assert found.trips[place].sum() == found.out[place]


def test_all_trips_of_a_place_are_told_as_estimate_tells_them(release, page_in):
    found = find_places(release, None, texts_of("en").script)
    every = everywhere(release)
    ends = [(found.regions[0], every), (every, found.regions[0])]
    out, into = release.estimate_all(ends)
    page = page_in("en")
    summary = re.search("<summary>(.*?)</summary>", page)[1]
    shown = [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", summary.split(": ", 1)[1])]
    for one, told in ((out, shown[:3]), (into, shown[3:6])):
        assert told == [one.count, math.floor(one.low), math.ceil(one.high)]


def test_all_trips_of_a_place_are_those_of_the_maps_of_ends(release):
    every, place = everywhere(release), Region.of(release.origins.grid, "52397061")
    for ends, pair in ((release.origins, (place, every)), (release.destinations, (every, place))):
        assert release.estimate(*pair) == ends.estimate(place)


def test_what_noise_may_have_made_is_counted_and_not_listed():
    few = publish(trips_on(MESH, number=2000), key=geodp.NoiseKey(bytes(32)), epsilon=2)
    page = write_page(few)
    assert Reader(page).lines == 0
    assert "No line is drawn" in page
    found = find_places(few, None, texts_of("en").script)
    every = everywhere(few)
    ends = [pair for one in found.regions[:40] for pair in ((one, every), (every, one))]
    estimates = few.estimate_all(ends)
    sure = sorted({at // 2 for at, one in enumerate(estimates) if is_believed(one, None)})
    assert len(sure) < 40
    listed = [part.split(": ", 1)[0] for part in re.findall("<summary>(.*?)</summary>", page)]
    assert listed == [found.names[at] for at in sure]
    assert f"Places not listed: {found.listed - len(sure):,}." in page
    # Places whose trips are known are on the map, also without a line.
    assert page.split("Flows of a place</h2>")[0].count('<use href="#ground"') == 1
    texts = [one.text for one in draw_map(few, Look()).items if isinstance(one, TextLine)]
    assert any("What this map can answer" in text for text in texts)


def test_a_picture_has_lines_where_flows_are_known_and_a_table_of_pairs_has_that_one(
    release, tmp_path
):
    items = draw_map(release, Look(ground=False)).items
    # A line of a flow has many points, those of its head and of the legend have two.
    assert sum(isinstance(one, Line) and len(one.points) > 2 for one in items) > 9
    release.write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    whole = draw_folder(public, Look())
    assert whole == draw_folder(public / "flows", Look()) == (public / "flows.png").read_bytes()
    assert not (public / "flows" / "flows.png").exists()


def test_lists_are_in_the_order_of_what_is_shown(page_in):
    page = page_in("en")
    listed = 0
    for part in page.split("<details")[1:]:
        for one in part.split("<table")[1:]:
            shown = re.findall(r"<td>([0-9,]+) \(([0-9,]+) to ([0-9,]+)\)", one)
            counts = [[int(n.replace(",", "")) for n in row] for row in shown]
            # The last row may be of trips within the place.
            numbered = counts[:-1]
            assert numbered == sorted(numbered, key=lambda row: -row[0])
            assert all(count >= (high - low - 2) / 2 for count, low, high in counts)
            listed += len(counts)
    assert listed > 8


def test_a_flow_is_believed_from_its_margin_on():
    estimate = geodp.Estimate(10, 0.0, 20.0, 5.0, clamped=False)
    assert is_believed(estimate, None)
    assert not is_believed(estimate, 11)
    assert not is_believed(geodp.Estimate(9, 0.0, 20.0, 5.0, clamped=False), None)


def small_trips(number=400):
    """Trips of persons with weights, between the zones of a small map."""
    draw = np.random.default_rng(0)
    names = ("oy", "ox", "dy", "dx")
    return pa.table(
        {name: draw.integers(0, 4, number) for name in names}
        | {"id": [f"p{at % 100}" for at in range(number)], "w": [1, 3] * (number // 2)}
    )


PERSONS = {"person": "id", "trips": 2}


@pytest.mark.parametrize(
    ("more", "english", "japanese"),
    [
        (PERSONS, "that are counted is 2 at most", "数える移動は最大 2 回"),
        (
            {**PERSONS, "weight": "w", "max_weight": 5},
            "trips of one person count as 10 at most",
            "合わせて最大 10 回として数え",
        ),
        (
            {"value": "w", "contribution": 7, "duplicates": "sum"},
            "The office answers for it that one person made 7 of these trips at most.",
            "移動がこのうち最大 7 回であることは、公表者が保証します",
        ),
    ],
)
def test_the_page_says_who_bounds_the_trips_and_how(more, english, japanese):
    ends = {"origin": ("oy", "ox"), "destination": ("dy", "dx")}
    grid = geodp.Grid.regular((4, 4))
    made = geodp.flows.publish(small_trips(), grid=grid, **ends, epsilon=20, **more)
    by_weight = ("by their weights", "ウェイトの数だけ数えて、全部で")
    for language, said, weighed in zip(("en", "ja"), (english, japanese), by_weight, strict=True):
        page = write_page(made, language)
        assert said in page
        assert (weighed in page) is ("weight" in more)


def test_a_map_that_lies_nowhere_has_a_page_too(shared):
    """A zone without a code is chosen by its row and column."""
    made = make(shared, "square")
    page = write_page(made, origin="3_4")
    assert "for each zone" in page
    assert "3_4: " in page
    with refuses(CodeError, "cell-name-form"):
        write_page(made, origin="3")


def test_ends_below_the_limit_of_display_are_hidden():
    table, key = trips_on(MESH, number=20_000), NoiseKey(b"ends".ljust(32))
    made = publish(table, key=key, metadata={"display_below": 2})
    one = made.estimate(everywhere(made), everywhere(made))
    assert 0 < one.low < one.count
    limited = publish(table, key=key, metadata={"display_below": one.count})
    for language, few in (("en", "counted (fewer than {} to "), ("ja", "（{} 未満～")):
        few = few.format(f"{one.count:,}")
        for release, hidden in ((made, False), (limited, True)):
            page = write_page(release, language).replace("\N{NO-BREAK SPACE}", " ")
            assert (few in page) == hidden
        assert "source contain" not in page


@pytest.mark.parametrize(
    ("grid", "side"),
    [(GRID, 2), (MESH, 5), (geodp.Grid.regular((5, 11)), 1), (geodp.Grid.regular((300, 2)), 4)],
)
def test_squares_are_areas_of_codes_or_few(grid, side):
    assert choose_side(grid) == side


def test_without_any_trip_there_is_a_sentence():
    empty = geodp.CountTable.from_keys(GRID.pairs(), np.empty(0, np.uint64), np.empty(0, np.int64))
    page = write_page(publish(empty, epsilon=1000, allow_empty=True))
    assert "No trips are released" in page


def test_files_are_described_in_the_language_of_the_page(release, shared):
    opened = geodp.open(shared.write(release))
    for language in ("en", "ja"):
        texts = describe_files(opened, language)
        # What every kind of release has is described with its own formats.
        own = {
            one.what for one in opened.index.files if one.name not in ("flows.csvt", "flows.qml")
        }
        assert own <= {*texts}
        page = write_page(opened, language)
        for english, level in zip(texts, opened.index.guarantee.levels, strict=False):
            assert f"{level.side} by {level.side} zones" in english
            assert texts[english] in page
            assert (english in page) is (language == "en")
