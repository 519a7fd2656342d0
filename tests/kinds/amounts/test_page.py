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
from geodp.release.report.html.quotes import round_interval
from geodp.release.report.html.texts import texts_of
from tests.command import geodp
from tests.kinds.amounts.made import EDGES, KEY, publish, rows

REGIONS = {"west & south": (0, 0, 8, 8), "all": (0, 0, 16, 16)}


def text_of(page):
    """Return the words of a page, without styles."""
    body = re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", body)).replace("\N{NO-BREAK SPACE}", " ")


def rows_of(page):
    """Return the words of the rows of the table of places, by the place."""
    table = page.split('id="part-places"')[1].split("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return {unescape(name): numbers for name, *numbers in cells[1:]}


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
    quantities = (release.sum is not None) + bool(release.classes)
    assert page.count("<image ") == quantities
    words = ("ε" if "e" in language else "イプシロン", "ledger" if language == "en" else "台帳")
    assert words[1] in text


def test_a_japanese_page_has_no_english_words_between_numbers(release):
    page = write_page(release, "ja", REGIONS)
    cells = [cell for row in rows_of(page).values() for cell in row]
    assert cells
    assert not any(re.search("[A-Za-z]", cell) for cell in cells)
    counts = [row[0] for row in rows_of(page).values()]
    assert not any("." in one for one in counts)


def test_counts_below_the_limit_of_display_are_hidden():
    shape = {"metadata": {"display_below": 10}, "epsilon": 20, "key": KEY}
    data = pa.table({"x": [0.5] * 4 + [9.5] * 500, "y": [0.5] * 504, "income": [300] * 504})
    release = publish(data, **shape)
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


@pytest.mark.parametrize(
    ("language", "where"),
    [("en", "The files contain the released numbers."), ("ja", "公開値はファイルにあります。")],
)
def test_the_rule_of_display_says_where_the_numbers_are(language, where):
    page = write_page(publish(metadata={"display_below": 10}), language, REGIONS)
    assert where in text_of(page)
    assert "page's source" not in text_of(page)
    assert "<script" not in page


def test_a_region_of_which_nothing_is_known_is_told():
    page = write_page(publish(epsilon="1/100"), "en", {"far": (15, 15, 16, 16)})
    assert "cannot be told from this release" in rows_of(page)["far"]


def test_areas_are_listed_without_regions():
    grid = Grid.regular((16, 16), crs="EPSG:3035", transform=(1e5, 0, 4e6, 0, 1e5, 3e6))
    data = rows()
    for name, start in (("x", 4e6), ("y", 3e6)):
        place = pa.array(start + 1e5 * data[name].to_numpy())
        data = data.set_column(data.column_names.index(name), name, place)
    found = rows_of(write_page(publish(data, grid=grid)))
    assert len(found) > 4
    counts = [float(row[0].split(" (")[0].replace(",", "")) for row in found.values()]
    assert counts[0] == max(counts)


def test_files_are_listed_once_they_are_written(public, release):
    assert 'id="part-files"' not in write_page(release, places=REGIONS)
    page = text_of(write_page(geodp_open(public), "en", REGIONS))
    for name in ("amounts.csv", "amounts.gpkg", "amounts.tif"):
        assert name in page


def test_polygons_partly_outside_the_map_are_told():
    transform = (1000, 0, 4_000_000, 0, -1000, 3_016_000)
    grid = Grid.regular((16, 16), crs="EPSG:3035", transform=transform)
    data = rows()
    for name, start in (("x", 4e6), ("y", 3e6)):
        place = pa.array(start + 1e3 * data[name].to_numpy())
        data = data.set_column(data.column_names.index(name), name, place)
    release = publish(data, grid=grid)
    half = shapely.box(4_008_000, 3_000_000, 4_024_000, 3_016_000)
    within = shapely.box(4_000_000, 3_000_000, 4_008_000, 3_016_000)
    both = {"half & more": half, "within": within}
    text = text_of(write_page(release, "en", both))
    assert "half & more: 50.0 % of its area lies outside the map, and nothing there" in text
    assert "within: " not in text
    assert "2 areas are listed." in text
    text = text_of(write_page(release, "ja", {"half": half}))
    assert "half: 面積の 50.0 % は地図の外にあり" in text
    assert "1 地域を示します。" in text
    text = text_of(write_page(release, "en", {"within": within}))
    assert "One area is listed." in text
    assert "outside the map" not in text


def test_a_japanese_page_describes_the_files_in_japanese(public, release):
    page = write_page(geodp_open(public), "ja", REGIONS)
    files = page.split('id="part-files"')[1].split("</section>")[0]
    table = files.split("</table>")[0]
    for name in ("amounts.csv", "amounts.csvt", "amounts.parquet"):
        assert name in table
    assert 'lang="en"' not in files
    assert "of every cell" not in files
    assert "types of the CSV" not in files
    amount = release.index.amount
    assert f"{amount.name}の" in table
    assert f"（単位は{amount.unit}）" in table


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


def test_only_an_english_title_begins_with_a_capital(release):
    name = release.index.amount.name
    assert f"<h1>{name.capitalize()} by area" in write_page(release, places=REGIONS).replace(
        "\u00a0", " "
    )
    page = write_page(release, "ja", REGIONS)
    assert f"<h1>地域別の{name}</h1>" in page


def test_the_command_writes_the_page(tmp_path):
    publish(classes=EDGES).write(tmp_path / "out")
    output = tmp_path / "page.html"
    done = geodp("report", tmp_path / "out", "--language", "ja", "--output", output)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{output}\n"
    page = output.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "地域別の" in page
    assert "一人について" in page
    assert "one person" not in text_of(page)
