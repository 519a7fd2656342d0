"""Fields with captions: what is declared once is shown by everything that shows the card."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

import geodp
from geodp.io.write.export.netcdf import NetCDF
from geodp.io.write.export.stac import Stac
from geodp.release.report.html.page import write_page
from geodp.release.report.markdown import markdown
from geodp.release.report.registry import ReleaseMetadata, registry_record
from geodp.table.card import StatedMetadata
from geodp.table.plain import CAPTION, list_captioned
from geodp.table.stated.release import StatedGuarantee, StatedMechanism
from geodp.tools.explain.card import explain
from tests.release.report.test_markdown import ABOUT

PLACE = {"crs": "EPSG:3035", "transform": (1000, 0, 4_300_000, 0, -1000, 3_300_000)}
OFFICE = {
    "title": "People by square",
    "description": "Counted at home",
    "publisher": "Office of Somewhere",
    "contact": "office@example.org",
    "licence": "CC BY 4.0",
    "source": "Census of 2020",
    "reference_date": "2020-10-01",
    "language": "en",
    "supersedes": "0123456789abcdef",
}


@pytest.fixture(scope="module")
def view():
    table = geodp.CountTable.from_dense(np.full((8, 8), 9), geodp.Grid.regular((8, 8), **PLACE))
    view = geodp.publish(table, epsilon=1, contribution=1, metadata=OFFICE).view()
    return replace(view, card=replace(view.card, release_id="0" * 16))


def test_every_text_of_an_office_has_a_caption_but_the_rule_of_display():
    named = {one.name for one in fields(StatedMetadata) if CAPTION in one.metadata}
    assert named == {*OFFICE} == {one.name for one in fields(StatedMetadata)} - {"display_below"}


@pytest.mark.parametrize("part", [StatedMetadata, StatedMechanism, StatedGuarantee])
def test_captions_are_there_in_every_language(part):
    found = [one.metadata[CAPTION] for one in fields(part) if CAPTION in one.metadata]
    assert found
    for one in found:
        assert one.in_language("en").isascii()
        assert not one.in_language("ja").isascii()


def test_what_is_not_stated_is_not_listed():
    assert [*list_captioned(None)] == []
    assert [name for name, _, _ in list_captioned(StatedMetadata(contact="a"))] == ["contact"]


def test_documents_show_every_text(view):
    told, unit = explain(view.card, "en").sections, view.card.guarantee.unit
    pages = {language: write_page(view, told, unit, language) for language in ("en", "ja")}
    record = json.dumps(registry_record(view.card, ReleaseMetadata.of(ABOUT)))
    card = markdown(view.card)
    for name, one, text in list_captioned(view.card.metadata):
        assert text == OFFICE[name]
        assert f"- {one.heading}: {text}\n" in card
        assert f"{one.heading}: {text}." in record
        for language, page in pages.items():
            assert f"<dt>{one.in_language(language)}</dt>" in page
            assert text in page
    assert f"Released values: {view.card.mechanism.values}." in card
    assert "<dt>公表する値</dt>" in pages["ja"]


def test_files_repeat_every_text_under_the_names_of_their_conventions(view, tmp_path):
    from scipy.io import netcdf_file

    Stac().write(view, tmp_path / "x.json")
    item = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["properties"]
    NetCDF().write(view, tmp_path / "x.nc")
    with netcdf_file(tmp_path / "x.nc", mmap=False) as file:
        for name, one, text in list_captioned(view.card.metadata):
            if name != "reference_date":
                assert item[one.stac or f"geodp:{name}"] == text
            assert getattr(file, one.cf or f"geodp_{name}") == text.encode()
        assert (file.summary, file.institution) == (b"Counted at home", b"Office of Somewhere")
    assert (item["title"], item["license"]) == ("People by square", "CC BY 4.0")
    assert item["datetime"] == "2020-10-01T00:00:00Z"
