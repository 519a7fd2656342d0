"""A new field of the card is one line: the example of docs/how-to is shown everywhere."""

import json
from pathlib import Path

import pytest

from tests.house.recipes import copy_project, example, run

pytestmark = pytest.mark.law

ABOUT = """
name = "a"
curator = "b"
curator_type = "c"
region = "d"
intended_use = "e"
description = "f"
publication_date = "2025-04-01"
authors = ["x"]
slug = "a"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with the field and no other change, and a release that states it."""
    copy = tmp_path_factory.mktemp("project")
    copy_project(copy)
    (line,) = example("Add a field of the card", "text").splitlines()
    file = copy / "geodp/table/card.py"
    before, mark, after = file.read_text(encoding="utf-8").partition("    licence: ")
    file.write_text(f"{before}    {line}\n{mark}{after}", encoding="utf-8")
    at = [(4_000_500 + 1000 * x, 3_000_500 + 1000 * y) for x in range(8) for y in range(8)]
    rows = [f"{x},{y},{number}" for number, (x, y) in enumerate(at)]
    (copy / "people.csv").write_text("\n".join(["x,y,n", *rows, ""]), encoding="utf-8")
    (copy / "office.toml").write_text('embargo = "in May"\nreference_date = "2025-04-01"\n')
    (copy / "about.toml").write_text(ABOUT)
    bounds = (4_000_000, 3_000_000, 4_008_000, 3_008_000)
    place = ("--grid", "inspire:1km", "--bounds", *bounds)
    table = ("--x", "x", "--y", "y", "--value", "n", "--contribution", "1")
    office = ("--metadata", "office.toml", "--formats", "netcdf,stac", "--output", "out")
    run(copy, "publish", "people.csv", *place, *table, "--epsilon", "1", *office)
    return copy


def test_it_is_on_the_card_and_verified(project):
    card = json.loads((project / "out/public/release.json").read_text(encoding="utf-8"))
    assert card["metadata"]["embargo"] == "in May"
    run(project, "verify", "out")


def test_documents_show_it(project):
    assert "- Not before: in May\n" in run(project, "report", "out")
    record = run(project, "report", "out", "--json", "--about", "about.toml")
    assert "Not before: in May." in record
    for language, words in (("en", "not before"), ("ja", "公開開始日")):
        run(project, "report", "out", "--output", "page.html", "--language", language)
        page = (project / "page.html").read_text(encoding="utf-8")
        assert f"<dt>{words}</dt><dd><span>in May</span></dd>" in page


def test_files_repeat_it(project):
    item = json.loads(Path(project, "out/formats/population.stac.json").read_text("utf-8"))
    assert item["properties"]["geodp:embargo"] == "in May"
    assert b"geodp_embargo" in Path(project, "out/formats/population.nc").read_bytes()
