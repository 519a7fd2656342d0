"""A page of one file: maps of means and medians, and the numbers of regions in their unit."""

import re
import xml.etree.ElementTree as ElementTree
from html import unescape

import pyarrow as pa
import pytest
import shapely

from geodp import Grid
from geodp import open as geodp_open
from geodp.io.write.geopackage import why_no_geopackage
from geodp.io.write.geotiff import why_no_bands
from geodp.kinds.amounts.english import FILES, describe_file
from geodp.kinds.amounts.page import write_page
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.quotes import round_interval
from tests.kinds.amounts.made import EDGES, KEY, publish, rows
from tests.kinds.pages import rows_of, text_of

REGIONS = {"west & south": (0, 0, 8, 8), "all": (0, 0, 16, 16)}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_page_shows_what_is_estimated(release, language):
    page = write_page(release, language, REGIONS)
    ElementTree.fromstring(re.sub(r"<!DOCTYPE html>|<meta[^>]*>|<br>", "", page))
    text = text_of(page)
    assert "10,000 yen" in text
    assert "west & south" in text
    assert len(rows_of(page)) == 2
    one = release.estimate(REGIONS["all"])
    numbers = rows_of(page)["all"]
    for part in (one.mean, one.median):
        assert part is None or any(round_interval(part)[0] in cell for cell in numbers)
    assert page.count("<image ") == (release.sum is not None) + bool(release.classes)
    assert ("ledger" if language == "en" else "台帳") in text
    cells = [cell for row in rows_of(page).values() for cell in row]
    # No English words stand between Japanese numbers.
    assert language == "en" or not any(re.search("[A-Za-z]", cell) for cell in cells)


def test_counts_below_the_limit_of_display_are_hidden():
    data = pa.table({"x": [0.5] * 4 + [9.5] * 500, "y": [0.5] * 504, "income": [300] * 504})
    release = publish(data, metadata={"display_below": 10}, epsilon=20, key=KEY)
    assert 0 < release.estimate((0, 0, 1, 1)).count.count < 10
    shown = rows_of(write_page(release, "en", {"few": (0, 0, 1, 1), "many": (9, 0, 10, 1)}))
    assert shown["few"] == ["fewer than 10", "–", "–"]
    assert re.match(r"[23]\d\d", shown["many"][2])


@pytest.mark.parametrize(
    ("language", "few", "none"),
    [("en", "fewer than 100", "0 (0 to fewer than 100)"), ("ja", "100 未満", "0（0～100 未満）")],
)
def test_ends_below_the_limit_of_display_are_hidden(language, few, none):
    data = pa.table({"x": [9.5] * 500, "y": [0.5] * 500, "income": [300] * 500})
    release = publish(data, metadata={"display_below": 100}, key=KEY)
    ends = {"none": (0, 15, 1, 16), "all": (0, 0, 16, 16)}
    one = release.estimate(ends["none"])
    assert one.count.count == 0 < one.count.high < 100
    assert one.sum.high > 0
    shown = rows_of(write_page(release, language, ends))
    count, total = (unescape(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in shown["none"][:2])
    assert count == none
    assert total in ("0 (interval not shown)", "0（区間は示しません）")
    # Without a limit, and of large counts, both are there.
    assert few not in shown["all"][0]
    assert "(" in shown["all"][1] or "（" in shown["all"][1]
    unlimited = publish(data, key=KEY)
    assert few not in str(rows_of(write_page(unlimited, language, ends))["none"])


def test_a_region_of_which_nothing_is_known_is_told():
    page = write_page(publish(epsilon="1/100"), "en", {"far": (15, 15, 16, 16)})
    assert "cannot be told from this release" in rows_of(page)["far"]


def publish_at(side, origin, turn=1):
    """Publish on cells of a side in metres in Europe, whose rows go north, or south."""
    grid = Grid.regular((16, 16), crs="EPSG:3035", transform=(side, 0, 4e6, 0, turn * side, origin))
    data = rows()
    for name, start in (("x", 4e6), ("y", 3e6)):
        place = pa.array(start + side * data[name].to_numpy())
        data = data.set_column(data.column_names.index(name), name, place)
    return publish(data, grid=grid)


def test_areas_are_listed_without_regions():
    found = rows_of(write_page(publish_at(1e5, 3e6)))
    assert len(found) > 4
    counts = [float(row[0].split(" (")[0].replace(",", "")) for row in found.values()]
    assert counts[0] == max(counts)


def test_polygons_partly_outside_the_map_are_told():
    release = publish_at(1000, 3_016_000, -1)
    half = shapely.box(4_008_000, 3_000_000, 4_024_000, 3_016_000)
    within = shapely.box(4_000_000, 3_000_000, 4_008_000, 3_016_000)
    outside = "half & more: 50.0 % of its area lies outside the map, and nothing there"
    for language, areas, said, unsaid in (
        ("en", {"half & more": half, "within": within}, (outside, "Areas listed: 2"), "within: "),
        ("ja", {"half": half}, ("half: 面積の 50.0 % は地図の外に", "1 地域を示します。"), "nan"),
        ("en", {"within": within}, ("One area is listed.",), "outside the map"),
    ):
        text = text_of(write_page(release, language, areas))
        assert all(one in text for one in said)
        assert unsaid not in text


@pytest.mark.parametrize(("classes", "columns"), [((), "means"), (EDGES, "both")])
def test_the_index_describes_the_columns(tmp_path, classes, columns):
    release = publish(classes=classes) if classes else publish()
    release.write(tmp_path / "out")
    index = geodp_open(tmp_path / "out").index
    told = {one.name: one.what for one in index.files}
    assert told["amounts.csv"] == describe_file(FILES, "table", index.amount)
    assert told["amounts.gpkg"] == describe_file(FILES, "outlines", index.amount)
    assert told["amounts.tif"] == describe_file(FILES, "raster", index.amount)
    listed = FILES[columns].format(name="income", unit="10,000 yen")
    assert all(listed in told[f"amounts.{ending}"] for ending in ("csv", "parquet", "gpkg"))


def test_what_is_left_out_and_why_is_in_japanese():
    release = publish()
    reasons = {
        why_no_bands(release.count.table, ["x"] * 64),
        why_no_geopackage(Grid.regular((4, 4))),
    }
    card = texts_of("ja").card
    assert None not in reasons
    assert all(not re.search("raster|grid", card[why]) for why in reasons)
