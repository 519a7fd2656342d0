"""A page of one file: a map of means, and the numbers of regions, in units of the amount."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from geodp.features.amounts.page import COLOURS, UNKNOWN, write_page
from tests.command import geodp
from tests.features.amounts.made import publish

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


def test_a_region_of_which_nothing_is_known_is_told():
    page = write_page(publish(epsilon="1/100"), {"far": (15, 15, 16, 16)})
    assert "not told by the noise" in page


def test_the_command_prints_the_page(public):
    done = geodp("amounts", "page", public.parent, "--language", "ja")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("<!doctype html>")
    assert "地域別の" in done.stdout
