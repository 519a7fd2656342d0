"""One page of a release: what it shows is what estimates say, in every language, and no script."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import geodp
from geodp.kinds.households.page import MAX_LISTED, write_page
from geodp.privacy.key import NoiseKey
from geodp.release.report.html.places import Rounded
from geodp.release.report.html.quotes import write_count
from tests.command import geodp as run
from tests.kinds.households.test_publish import GRID, publish, sizes_on

MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.5"))


class Reader(HTMLParser):
    """Rows of tables, and whether all elements are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.rows, self.tags, self.sources = [], [], set(), []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th") and self.rows:
            self.rows[-1].append(data)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("protect", ["person", "household"])
def test_the_page_shows_what_estimates_say(language, protect):
    release = publish(by_size=sizes_on(MESH, scale=9), protect=protect)
    page = write_page(release, language)
    read = Reader(page)
    assert f'lang="{language}"' in page
    assert {"script", "img"}.isdisjoint(read.tags)
    assert all(one.startswith(("#", "data:image/png;base64,")) for one in read.sources)
    sizes = [row for row in read.rows if len(row) == 4 and re.search("5[0-9]{3}", row[0])]
    assert sizes
    for row in sizes:
        code = re.search("[0-9]{4,}", row[0])[0]
        one = release.estimate([code])
        # The count is rounded to what its interval supports.
        shown = int(re.match("[0-9,]+", row[1])[0].replace(",", ""))
        assert abs(shown - one.persons.count) <= one.persons.high - one.persons.low
        if one.mean_size is not None:
            assert row[3].startswith(f"{one.mean_size.value:.2f}")


def test_a_list_of_places_is_shown_by_its_names():
    release = publish(by_size=sizes_on(MESH, scale=9))
    page = write_page(release, "en", {"Shore <b>": ["533900"], "Hill": ["533911"]})
    names = [row[0] for row in Reader(page).rows]
    assert {"Shore <b>", "Hill"} <= {*names}
    assert page == write_page(release, "en", {"Shore <b>": ["533900"], "Hill": ["533911"]})


def test_what_cannot_be_told_is_said():
    homes = np.zeros((16, 16), int)
    homes[3, 3] = 1
    tables = [geodp.CountTable.from_dense(one, GRID) for one in (2 * homes, homes)]
    page = write_page(publish(*tables, epsilon="1/50"))
    assert "cannot be told from this release" in page


def test_few_are_shown_as_the_office_shows_them():
    release = publish(by_size=sizes_on(MESH, scale=9), metadata={"display_below": 100_000_000})
    rows = [row for row in Reader(write_page(release)).rows if len(row) == 4][1:]
    assert rows
    assert all("fewer than 100,000,000" in row[1] or row[1].startswith("0") for row in rows)
    assert all(row[3] == "–" for row in rows)


@pytest.mark.parametrize(("language", "few"), [("en", "fewer than {}"), ("ja", "{} 未満")])
def test_ends_below_the_limit_of_display_are_hidden(language, few):
    given = {"by_size": sizes_on(MESH, scale=9), "key": NoiseKey(b"ends".ljust(32))}
    place = {"Shore": ["533900"]}
    one = publish(**given).estimate(place["Shore"]).persons
    assert 0 < one.low < one.count
    few = few.format(f"{one.count:,}")
    for metadata, hidden in ((None, False), ({"display_below": one.count}, True)):
        page = write_page(publish(**given, metadata=metadata), language, place)
        (row,) = (row for row in Reader(page).rows if row[0] == "Shore")
        # Households are fewer, and their interval and that of persons tell each other's size.
        assert (few in row[2].replace("\N{NO-BREAK SPACE}", " ")) == hidden
        assert (write_count(Rounded.of(one).low) in row[1]) != hidden


def test_counts_of_all_areas_are_listed_up_to_a_limit(monkeypatch):
    assert MAX_LISTED == 1000
    monkeypatch.setattr("geodp.kinds.households.page.MAX_LISTED", 3)
    page = write_page(publish(by_size=sizes_on(MESH, scale=9)))
    assert "The 3 areas with the most persons are listed" in page
    assert write_count(3) == "3"


def sentences(card, language="en"):
    page = geodp.explain.explain(card, language)
    return page, " ".join(one for section in page.sections for one in section.sentences)


@pytest.mark.parametrize("protect", ["person", "household"])
@pytest.mark.parametrize("amounts", [{"epsilon": 1}, {"epsilon": None, "rho": "1/2"}], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
def test_it_says_what_is_promised_in_every_language(protect, amounts, neighbours):
    card = publish(by_size=sizes_on(), protect=protect, neighbours=neighbours, **amounts).card()
    page, text = sentences(card)
    assert "persons at most 7 for each household" in text
    assert ("A whole household is protected" in text) == (protect == "household")
    assert "sum of all counts" not in text
    assert ("each person is in one household" in text) == (protect == "household")
    headings = [section.heading for section in page.sections]
    assert headings[:2] == ["What is released together", "What is promised"]
    # A household of several people matters where one person is protected.
    assert ("Households" in headings) == (protect == "person")
    japanese, translated = sentences(card, "ja")
    assert "世帯" in japanese.title
    assert translated.count("7") >= 1


def test_a_release_with_a_fixed_key_promises_nothing():
    card = publish(key=geodp.NoiseKey(bytes(32))).card()
    page, text = sentences(card)
    assert len(page.sections) == 2
    assert "persons at most" not in text


def test_the_command_explains_the_folder(public):
    done = run("explain", public.parent)
    assert done.returncode == 0, done.stderr
    assert "What persons and households together reveal" in done.stdout
