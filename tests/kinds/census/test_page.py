"""The page of a census: what is on it in both languages, and what a reader picks in a browser."""

import json
import re
from html import unescape

import pytest

from geodp.kinds.census.page import write_page
from tests.kinds.census.test_pairs import boxes, publish
from tests.kinds.pages import text_of
from tests.release.report.html.browsers import browser_of, run_cases

PICK = """
async function look(window, one) {
  const { document } = window;
  const choose = (id, text) => {
    const select = document.getElementById(id);
    select.value = [...select.options].find((option) => option.textContent === text).value;
    select.dispatchEvent(new window.Event("change"));
  };
  const image = () => document.querySelector("figure.map image").getAttribute("href");
  const before = image();
  choose("column", "old women");
  choose("whole", "women");
  const changed = image() !== before;
  const wholes = [...document.getElementById("whole").options].length;
  const legend = document.querySelector("figure.map p").textContent;
  const [row] = document.querySelector("#listed tbody").rows;
  const listed = [...row.cells].map((cell) => cell.textContent);
  document.querySelector('[data-column="0"]').click();
  return {
    wholes,
    legend,
    listed,
    changed,
    column: document.getElementById("column").selectedOptions[0].textContent,
    tree: document.querySelector('[data-number="0"]').textContent,
    errors: document.getElementById("errors").rows.length,
    wide: document.documentElement.scrollWidth,
  };
}
"""


@pytest.fixture(scope="module")
def census(shared):
    return shared.make("census of pairs", publish)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page)[1])


def test_it_has_all_columns_in_both_languages(census):
    english, japanese = write_page(census), write_page(census, "ja")
    for page in (english, japanese):
        said = text_of(page)
        assert all(name in said for name in census.quantities)
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert len(page.encode()) < 3_000_000
    assert "What may be believed" in text_of(english)
    assert "どこまで信じてよいか" in text_of(japanese)
    assert write_page(census) == english


def test_its_numbers_are_those_of_the_release(census):
    data = data_of(write_page(census))
    assert data["columns"] == [*census.quantities]
    whole, women = data["numbers"][0], census.quantities.index("women")
    one = census.estimate(boxes(32)[0])["women"]
    assert whole[women][1] <= one.value <= whole[women][2]
    pairs = [tuple(data["columns"][at] for at in pair) for pair in data["shares"]]
    # Shares of a column are those in what holds it, the smallest first; and persons in a home.
    assert [of for part, of in pairs if part == "old women"] == ["old", "women", "all"]
    assert ("all", "homes") in pairs
    at = len(data["columns"]) + pairs.index(("women", "all"))
    value, low, high = whole[at]
    assert low <= value <= high
    assert abs(value - 50) < 2


def test_what_is_below_the_limit_of_display_is_not_listed(shared):
    limit = 500
    census = shared.make("census below", publish, metadata={"display_below": limit})
    data = data_of(write_page(census))
    for numbers in data["numbers"]:
        for one in numbers[: len(data["columns"])]:
            assert one == "<" or one[0] == 0 or one[0] >= limit or one[1] is None


@pytest.mark.law
@pytest.mark.timeout(600)
def test_a_reader_picks_a_column_and_a_share(census, tmp_path):
    if browser_of("chromium") is None:
        pytest.skip("the page is looked at by chromium")
    pages = {
        one: re.sub(
            r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", write_page(census, one)
        )
        for one in ("en", "ja")
    }
    cases = [{"page": page, "width": width} for page in pages for width in (390, 1280)]
    for case, found in zip(cases, run_cases("chromium", pages, cases, PICK, tmp_path), strict=True):
        assert found["changed"]
        assert found["wholes"] == 4
        assert "old women" in found["legend"]
        assert len(found["listed"]) == 2
        assert found["column"] == "all"
        assert re.match(r"[\d,]+", unescape(found["tree"]))
        assert found["errors"] >= 2
        assert found["wide"] <= case["width"], case
