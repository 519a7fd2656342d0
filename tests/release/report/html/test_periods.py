"""The page of a series: a slider over maps of all times, and curves of places."""

import json
import re

import numpy as np
import pytest

import geodp
from geodp.io.write.map.look import LANGUAGES
from geodp.release.report.html.periods import write_periods
from geodp.tools.explain.card import explain_series
from tests.release.report.html.browsers import browser_of, run_cases
from tests.release.report.html.structure import find_faults

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, 35.25))
TIMES = ("2024-01", "2024-02", "2024-03")


def write(folder, language="en", **stated):
    """Return a series of three months, and its page."""
    counts = np.random.default_rng(3).integers(0, 900, GRID.shape)
    months = [geodp.CountTable.from_dense(counts + 40 * month, GRID) for month in range(3)]
    options = {"epsilon": 1, "contribution": 1, "noise": "laplace", "smooth": "none"}
    series = geodp.publish_series(months, times=TIMES, person="all", **options, **stated)
    series.write(folder)
    opened = geodp.open(folder)
    explained = explain_series(opened.card(), language)
    return opened, write_periods(opened, explained, "person", language)


def data_of(page):
    """Return the values that the page has for its script."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_whole_small_and_named_by_its_times(language, tmp_path):
    _, page = write(tmp_path / "out", language)
    assert find_faults(page) == []
    title = {"en": "People, January 2024 to March 2024", "ja": "人（2024年1月～2024年3月）"}
    assert f"<h1>{title[language]}</h1>" in page
    assert page.count("<image ") == len(TIMES)
    assert len(page.encode()) < 100_000


def test_every_curve_holds_the_released_numbers(tmp_path):
    """Rounded outwards, as everywhere on pages."""
    opened, page = write(tmp_path / "out")
    data = data_of(page)
    assert data["times"] == [*TIMES]
    at = next(n for n, name in enumerate(data["places"]) if "5239" in name)
    code = re.search(r"5239[0-9]*", data["places"][at])[0]
    for (numbers,), one in zip(data["numbers"][at], opened.estimate(code).values(), strict=True):
        value, low, high = numbers
        assert low <= one.low <= one.high <= high
        assert abs(value - one.count) <= (one.high - one.low) / 2
    change = opened.changes(code, since="first")[TIMES[0], TIMES[-1]]["count"]
    value, low, high = data["changes"][at][0]
    assert low <= change.low <= change.high <= high


def test_counts_below_the_limit_are_not_in_the_page(tmp_path):
    _, page = write(tmp_path / "out", metadata={"display_below": 10**9})
    data = data_of(page)
    assert {one for place in data["numbers"] for time in place for one in time} == {"<"}
    assert all(one is None for place in data["changes"] for one in place)
    assert data["few"] == "fewer than 1,000,000,000"


LOOK = """
async function look({ document, Event, innerWidth }) {
  const set = (id, value, name) => {
    document.getElementById(id).value = value;
    document.getElementById(id).dispatchEvent(new Event(name));
  };
  set("time", 0, "input");
  set("place", 1, "change");
  const images = [...document.querySelectorAll("figure image")];
  return {
    shown: images.map((one) => !one.hasAttribute("hidden")),
    label: document.getElementById("shown").textContent,
    points: document.querySelectorAll("#curve circle").length,
    listed: document.querySelectorAll("#listed dd").length,
    picked: document.querySelectorAll(".picked").length,
    wide: document.documentElement.scrollWidth <= innerWidth,
  };
}
"""


@pytest.mark.skipif(browser_of("chromium") is None, reason="the page is looked at by chromium")
def test_the_slider_and_the_list_show_what_they_name(tmp_path):
    _, page = write(tmp_path / "out")
    cases = [{"page": "a.html", "width": width} for width in (390, 1280)]
    found = run_cases("chromium", {"a.html": page}, cases, LOOK, tmp_path)
    assert (
        found
        == [
            {
                "shown": [True, False, False],
                "label": "January 2024",
                "points": 3,
                "listed": 3,
                "picked": 1,
                "wide": True,
            }
        ]
        * 2
    )
