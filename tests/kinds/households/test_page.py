"""One page of a release: what it shows is what estimates say, in every language."""

import re

import numpy as np
import pytest

import geodp
from geodp.kinds.households.page import write_page
from geodp.privacy.key import NoiseKey
from geodp.release.report.html.general import MAX_LISTED
from geodp.release.report.html.places import Rounded
from geodp.release.report.html.quotes import write_count
from tests.kinds.households.test_publish import GRID, publish, sizes_on
from tests.kinds.pages import rows_of

MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.5"))


@pytest.mark.parametrize("protect", ["person", "household"])
def test_the_page_shows_what_estimates_say(protect):
    release = publish(by_size=sizes_on(MESH, scale=9), protect=protect)
    rows = rows_of(write_page(release))
    assert rows
    for name, row in rows.items():
        one = release.estimate([re.search("[0-9]{4,}", name)[0]])
        # The count is rounded to what its interval supports.
        shown = int(re.match("[0-9,]+", row[0])[0].replace(",", ""))
        assert abs(shown - one.persons.count) <= one.persons.high - one.persons.low
        if one.mean_size is not None:
            assert row[2].startswith(f"{one.mean_size.value:.2f}")
    named = write_page(release, "en", {"Shore <b>": ["533900"], "Hill": ["533911"]})
    assert {*rows_of(named)} == {"Shore <b>", "Hill"}


def test_what_cannot_be_told_is_said():
    homes = np.zeros((16, 16), int)
    homes[3, 3] = 1
    tables = [geodp.CountTable.from_dense(one, GRID) for one in (2 * homes, homes)]
    page = write_page(publish(*tables, epsilon="1/50"))
    assert "cannot be told from this release" in page


def test_few_are_shown_as_the_office_shows_them():
    release = publish(by_size=sizes_on(MESH, scale=9), metadata={"display_below": 100_000_000})
    rows = rows_of(write_page(release)).values()
    assert rows
    assert all("fewer than 100,000,000" in row[0] or row[0].startswith("0") for row in rows)
    assert all(row[2] == "–" for row in rows)


@pytest.mark.parametrize(
    ("language", "said"), [("en", "interval not shown"), ("ja", "区間は示しません")]
)
def test_ends_that_tell_of_few_households_are_hidden(language, said):
    given = {"by_size": sizes_on(MESH, scale=9), "key": NoiseKey(b"ends".ljust(32))}
    place = {"Shore": ["533900"]}
    one = publish(**given).estimate(place["Shore"]).persons
    for metadata, hidden in ((None, False), ({"display_below": one.count}, True)):
        page = write_page(publish(**given, metadata=metadata), language, place)
        shown = rows_of(page)["Shore"][0].replace("\N{NO-BREAK SPACE}", " ")
        assert (said in shown) == hidden
        assert not hidden or write_count(Rounded.of(one).low) not in shown


def test_counts_of_all_areas_are_listed_up_to_a_limit(monkeypatch):
    assert MAX_LISTED == 1000
    monkeypatch.setattr("geodp.release.report.html.general.MAX_LISTED", 3)
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
