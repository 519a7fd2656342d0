"""The explanation of persons and households: of all tables together, from the index alone."""

import pytest

import geodp
from tests.command import geodp as run
from tests.features.households.test_publish import publish, sizes_on


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
