"""A page of one file: a map of means, and the numbers of regions, in units of the amount."""

import re
import xml.etree.ElementTree as ElementTree

import pyarrow as pa
import pytest

from geodp import Grid
from geodp.features.amounts.page import COLOURS, UNKNOWN, write_page
from tests.command import geodp
from tests.features.amounts.made import KEY, publish

REGIONS = {"west & south": (0, 0, 8, 8), "all": (0, 0, 16, 16)}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_page_shows_what_is_estimated(release, language):
    page = write_page(release, REGIONS, language)
    root = ElementTree.fromstring(re.sub(r"<!doctype html>|<meta[^>]*>|<br>", "", page))
    text = "".join(root.itertext())
    assert "10,000 yen" in text
    assert "west & south" in text
    assert "people" not in text
    one = release.estimate(REGIONS["all"])
    assert f"{one.count.count:,.6g}" in text
    for part in (one.mean, one.median):
        assert part is None or f"{part.value:,.6g}" in text
    figure = root.find(".//figure")
    squares = [] if figure is None else [*figure[0]]
    assert bool(squares) == (release.sum is not None)
    assert {one.get("fill") for one in squares} <= {*COLOURS, UNKNOWN}


def squares_of(page):
    """Places and colours of the map's squares."""
    return re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="\d[\d.]*" height="\d[\d.]*" fill', page
    )


@pytest.mark.parametrize("transform", [(1, 0, 0, 0, 1, 0), (1, 0, 0, 0, -1, 8)])
def test_north_is_up(transform):
    grid = Grid.regular((8, 8), crs="EPSG:3035", transform=transform)
    data = pa.table({"x": [0.5] * 2000, "y": [7.5] * 2000, "income": [300] * 2000})
    page = write_page(publish(data, grid=grid, epsilon=10), {})
    corners = [(float(x), float(y)) for x, y in squares_of(page)]
    assert (0, 0) in corners
    assert (0, 560) not in corners


def test_counts_below_the_limit_of_display_are_hidden():
    shape = {"metadata": {"display_below": 10}, "epsilon": 20, "key": KEY}
    data = pa.table({"x": [0.5] * 4 + [9.5] * 500, "y": [0.5] * 504, "income": [300] * 504})
    release = publish(data, **shape)
    assert 0 < release.estimate((0, 0, 1, 1)).count.count < 10
    page = write_page(release, {"few": (0, 0, 1, 1), "many": (9, 0, 10, 1)})
    few, many = re.findall(r"<tr><td>(.*?)</tr>", page)
    assert "&lt;10" in few
    assert len(re.findall(r"\d", few.replace("&lt;10", ""))) == 0
    assert "299.87" in many
    coloured = re.findall(r'fill="(#\w+)"/>', page.split("</svg>")[0])
    assert coloured.count(UNKNOWN) == len(coloured) - 1


def test_a_region_of_which_nothing_is_known_is_told():
    page = write_page(publish(epsilon="1/100"), {"far": (15, 15, 16, 16)})
    assert "not told by the noise" in page


def test_the_command_writes_the_page(public, tmp_path):
    output = tmp_path / "page.html"
    done = geodp("amounts", "report", public.parent, "--language", "ja", "--output", output)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{output}\n"
    page = output.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "地域別の" in page
    assert "一人ごとに保護する" in page
    assert "person" not in page
