"""The page of a release: what stands on it, in which languages, and what can never."""

import base64
import hashlib
import json
import re
import shutil
from dataclasses import replace
from html import escape, unescape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import geodp
from geodp.cli import geodp as command_line
from geodp.errors import UsageError
from geodp.grid.hierarchy import ENDS
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.release.report.html import (
    english,
    frame,
    markup,
    parts,
    quotes,
)
from geodp.release.report.html.page import SCRIPTS, STYLES
from geodp.release.report.html.surface import pack_surface
from geodp.release.report.translation import LANGUAGES
from geodp.table.card import LeftOut
from tests.refusals import refuses
from tests.release.report.html.pages import PLACE, data_of, page_of, publish, read, script_of
from tests.release.report.html.structure import Elements, find_faults

ASSETS = files("geodp.release.report.html") / "assets"
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028'\"&"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release that was charged to a ledger with another data set in it."""
    place = tmp_path_factory.mktemp("page")
    ledger = Ledger.create(place / "ledger.jsonl")
    for number, name in enumerate(("other people", "these people")):
        ledger.add_dataset(name, PureDP(2))
        publish(place / f"release{number}", ledger=ledger, dataset=name)
    return place / "release1"


@pytest.fixture(scope="module")
def page(folder):
    return page_of(*read(folder))


def test_a_page_is_well_formed_and_points_to_what_is_there(page):
    document = Elements(page)
    assert document.open == []
    ids = document.ids()
    assert len(set(ids)) == len(ids)
    for tag, attributes in document.elements:
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert {*attributes.get(name, "").split()} <= {*ids}, (tag, attributes)
        if attributes.get("href", "#").startswith("#") and "href" in attributes:
            assert attributes["href"][1:] in ids
    (link,) = [a["href"] for _, a in document.elements if a.get("class") == "skip"]
    assert link == "#content"
    landmarks = ["header", "nav", "main", "footer"]
    assert [tag for tag, _ in document.elements if tag in landmarks] == landmarks


@pytest.mark.parametrize(
    ("text", "other", "fault"),
    [
        ('<label for="search">', "<label>", "input"),
        ("<h3>Do</h3>", "<h4>Do</h4>", "h4 after h2"),
        ('id="map" tabindex="0"', 'id="map" tabindex="3"', "out of the order"),
        ('id="search"', 'id="sort"', "two elements are sort"),
        ('aria-label="On this page"', "", "nav {} has no name"),
    ],
)
def test_what_is_missing_is_noticed(page, text, other, fault):
    assert text in page
    assert any(fault in one for one in find_faults(page.replace(text, other, 1)))


def test_a_page_loads_nothing_and_runs_its_script_alone(page):
    document = Elements(page)
    assert not re.search(r"(?:src|href|action|data)=.?(?:https?:|//)", page)
    assert not [
        a for _, a in document.elements if "style" in a or any(n.startswith("on") for n in a)
    ]
    (policy,) = [
        a["content"]
        for _, a in document.elements
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for text, kind in ((script_of(page), "script-src"), (style, "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for word in ("fetch(", "XMLHttpRequest", "WebSocket", "eval(", "innerHTML", "import("):
        assert word not in script_of(page)


def test_files_that_were_left_out_are_named_with_the_reason(folder):
    _, card = read(folder)
    less = replace(card, left_out=(LeftOut("population.pdf", "no room"),))
    document = Elements(parts.files_section(english.PAGE, less))
    assert "population.pdf: no room" in "".join(document.text)
    assert english.PAGE["files_left"] in document.text


def test_an_enforced_bound_is_answered_by_the_tool(tmp_path):
    grid = geodp.Grid.regular((8, 8), **PLACE)
    table = geodp.CountTable.from_keys(grid, [1, 2], [50, 9], bound=ContributionBound(3, "geodp"))
    geodp.publish(table, epsilon=1).write(tmp_path / "out")
    text = " ".join(Elements(page_of(*read(tmp_path / "out"))).text)
    assert english.PAGE["answer_enforced"].format(bound=3) in text


def test_the_same_release_has_the_same_page_from_its_public_folder_alone(folder, page, tmp_path):
    assert page_of(*read(folder)) == page
    public = shutil.copytree(folder / "public", tmp_path / "public")
    assert page_of(*read(public)) == page


def test_a_page_has_what_the_card_says_and_nothing_of_other_data_sets(folder, page):
    text = " ".join(Elements(page).text)
    _, card = read(folder)
    for sentence in (
        card.release_id,
        "these people",
        card.budget.head,
        card.mechanism.citation,
        *(file.sha256 for file in card.files),
        *card.guarantee.not_protected,
        *card.post_processing,
    ):
        assert english.CARD.get(sentence, sentence) in text
    assert "other people" not in page
    restricted = json.loads((folder / "restricted" / "run.json").read_text())
    assert str(folder) not in page
    assert not [v for v in restricted.values() if isinstance(v, str) and len(v) > 12 and v in page]


@pytest.mark.parametrize(
    "terms",
    [
        {"method": "pyramid", "epsilon": None, "rho": "1/10"},
        {"method": "topdown", "key": None},
        {"method": "laplace"},
    ],
    ids=lambda terms: terms["method"],
)
def test_what_a_card_of_usual_methods_says_is_japanese_on_a_japanese_page(terms, tmp_path):
    """But for the names of methods and papers, and the laws of the noise."""
    release, card = publish(tmp_path / "release", **{"contribution": 1, **terms})
    page = page_of(release, card, "ja")
    left = [unescape(one) for one in re.findall(r'<span lang="en">(.*?)</span>', page)]
    names = (card.mechanism.title, card.mechanism.citation, card.mechanism.noise)
    assert [one for one in left if not one.startswith(names)] == []
    assert len(left) == 3
    text = page_of(release, card)
    for sentence in (*card.post_processing, *card.guarantee.not_protected):
        assert escape(english.CARD.get(sentence, sentence)) in text
        assert escape(sentence) not in page


def test_every_word_is_used_and_none_is_missing():
    scripts = "".join((ASSETS / f"{name}.js").read_text() for name in SCRIPTS)
    used = {*re.findall(r'text\("(\w+)"', scripts)} | {*re.findall(r'"(\w+)"', scripts)}
    terms = {f"term_{name}" for name in re.findall(r'\["(\w+)", ', scripts)}
    quoted = {*re.findall(r'"(\w+)"', Path(quotes.__file__).read_text(encoding="utf-8"))}
    quoted |= {f"place_{end}" for end in ENDS}
    quoted |= {f"{kind}_{where}" for kind in ("where", "area") for where in quotes.WHERES}
    assert {*english.SCRIPT} <= used | terms | quoted
    assert {*re.findall(r'say\("(\w+)"', scripts)} <= {*english.SCRIPT}


def test_a_page_in_japanese_says_its_language(folder):
    document = Elements(page_of(*read(folder), "ja"))
    assert dict(document.elements)["html"] == {"lang": "ja"}
    assert "信じてよいものだけを示す" in document.text
    with refuses(UsageError, "language-unknown"):
        page_of(*read(folder), "fr")


def test_hostile_labels_are_escaped(tmp_path):
    grid = geodp.Grid.regular((4, 4), **PLACE).with_attribute(HOSTILE, [HOSTILE, "b"])
    counts = np.full((4, 4, 2), 50)
    release, card = publish(tmp_path / "release", grid, counts, contribution=1, unit=HOSTILE[:24])
    page = page_of(release, card)
    document = Elements(page)
    assert document.open == []
    assert "img" not in {tag for tag, _ in document.elements}
    assert page.count("</script>") == 2
    assert data_of(page)["surface"]["attributes"][0]["attribute"] == HOSTILE
    assert HOSTILE in "".join(document.text)


def test_markup_escapes_what_is_no_markup():
    markup_text = markup.element("p", "<b>", markup.element("i", "&"), title='"', data_n=None)
    assert markup_text == '<p title="&quot;">&lt;b&gt;<i>&amp;</i></p>'
    assert markup.element("input", disabled=True, hidden=False) == "<input disabled>"
    assert "&lt;" in markup.table("<", ["<"], [["<"]])


def test_a_release_without_places_has_no_map(tmp_path):
    release, card = publish(tmp_path / "release", geodp.Grid.regular((40,)), np.arange(40) * 9)
    page = page_of(release, card)
    assert english.PAGE["no_map"] in "".join(Elements(page).text)
    assert "<script" not in page


def test_pairs_show_the_sums_of_either_end(tmp_path):
    grid = geodp.Grid.regular((4, 5)).pairs()
    counts = np.arange(400).reshape(grid.shape)
    release, _ = publish(tmp_path / "release", grid, counts, contribution=1)
    surface = pack_surface(release.view())
    assert len(surface["layers"]) == 2
    assert english.PAGE["no_pairs"].split(".")[0] in frame.draw_areas(english.PAGE, surface)


def test_what_is_not_private_says_so_first(tmp_path):
    table = geodp.CountTable.from_dense(np.full((8, 8), 9), geodp.Grid.regular((8, 8), **PLACE))
    key = geodp.NoiseKey(b"1" * 32)
    geodp.publish(table, epsilon=1, key=key, contribution=1).write(tmp_path / "release")
    release, card = read(tmp_path / "release")
    assert not card.private
    assert english.PAGE["not_private"] in page_of(release, card)
    assert "Yes:" in parts.hazards_section(english.PAGE, card, "person")


def luminance(colour):
    parts_ = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts_]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_texts_and_lines_have_enough_contrast():
    style = (ASSETS / "style.css").read_text(encoding="utf-8")
    embedded_style = (ASSETS / "embed.css").read_text(encoding="utf-8")
    for colour in re.findall(r"\bcolor: (#\w{6})", embedded_style):
        assert max(contrast(colour, ground) for ground in ("#ffffff", "#a40e26")) >= 4.5
    named = dict(re.findall(r"--(\w+): (#\w{6})", style))
    for name in ("ink", "soft", "mark"):
        assert contrast(named[name], "#ffffff") >= 4.5
    assert contrast("#ffffff", re.search(r"\.alarm \{[^}]*background: (#\w{6})", style)[1]) >= 4.5
    for line in (frame.COAST, frame.LINE):
        assert contrast(line, frame.PAPER) >= 3


def test_the_chart_has_a_point_for_every_block(folder):
    _, card = read(folder)
    drawn = parts.draw_errors(card.expected_error.blocks, english.PAGE)
    lines = re.findall(r'<polyline points="([^"]*)"', drawn)
    assert [len(line.split()) for line in lines] == [len(card.expected_error.blocks)] * 2
    assert parts.draw_errors(card.expected_error.blocks[:1], english.PAGE) == ""


def test_scripts_and_styles_are_short_files():
    for file in ASSETS.iterdir():
        lines = file.read_text(encoding="utf-8").splitlines()
        assert len(lines) < 400, file.name
        assert max(map(len, lines)) <= 110, file.name
    styles = {f"{name}.css" for name in (*STYLES, "embed", "periods", "columns")}
    assert {file.name for file in ASSETS.iterdir()} == {
        *styles,
        *(f"{n}.js" for n in (*SCRIPTS, "plain", "periods", "columns")),
    }
    assert {*LANGUAGES} == {"en", "ja"}


def test_the_command_writes_the_page(folder, page, tmp_path):
    def report(*options):
        return CliRunner().invoke(command_line, ["report", str(folder), *options])

    file = tmp_path / "page.html"
    assert report("--output", str(file)).output == f"{file}\n"
    assert file.read_text(encoding="utf-8") == page
    report("--output", str(file), "--language", "ja")
    assert 'lang="ja"' in file.read_text(encoding="utf-8")
    assert isinstance(report("--language", "ja").exception, UsageError)


def test_the_page_has_the_metadata_of_the_publisher(folder, tmp_path):
    metadata = {
        "title": "People <by> square",
        "licence": "CC BY 4.0",
        "reference_date": "2020-10-01",
    }
    release, card = publish(tmp_path / "release", metadata={**metadata, "language": "pt-BR"})
    document = Elements(page_of(release, card))
    assert {*metadata.values()} <= {*document.text}
    assert ("span", {"lang": "pt-BR"}) in document.elements
    assert english.PAGE["office_none"] in Elements(page_of(*read(folder))).text


def test_a_page_begins_with_what_where_and_when(tmp_path):
    metadata = {
        "title": "Workplaces",
        "description": "Jobs by square.",
        "publisher": "The Office",
        "reference_date": "2020-10-01/2021-03-31",
        "language": "en",
    }
    release, card = publish(tmp_path / "release", metadata=metadata, name="jobs")
    header, rest = page_of(release, card).split("</header>")
    assert '<h1 lang="en">Workplaces</h1>' in header
    for text in ("Jobs by square.", "1 October 2020 to 31 March 2021", "The Office", "° N to "):
        assert text in header
    assert " jobs were counted (95\u00a0% sure: between " in header
    assert card.release_id not in header
    assert card.release_id in rest.split("<footer")[1]
    header, _ = page_of(release, card, "ja").split("</header>")
    assert "2020年10月1日から2021年3月31日" in header


@pytest.mark.parametrize(
    ("name", "unit", "title"),
    [
        ("population", "person", "People, counted in 21 × 30 squares of about 1 km"),
        ("population", "household", "Households, counted in"),
        ("sales", "person", "Sales, counted in"),
    ],
)
def test_without_a_title_a_page_is_called_by_what_is_counted(name, unit, title, tmp_path):
    release, card = publish(tmp_path / "release", name=name, unit=unit)
    assert f"<h1>{title}" in page_of(release, card)


def test_the_error_of_larger_areas_is_explained_with_its_figures(folder):
    _, card = read(folder)
    first, last = card.expected_error.blocks[0], card.expected_error.blocks[-1]
    section = parts.errors_section(english.PAGE, card)
    figure = frame.write_figure(first.standard_error)
    assert f"is off by about {figure} as a rule, {last.cells:,} squares" in section
    dips = [
        (less, more)
        for less, more in pairwise(card.expected_error.blocks)
        if more.standard_error < less.standard_error
    ]
    assert ("can even be off by less" in section) == bool(dips)


def test_the_command_shows_the_record_and_writes_nothing_into_a_release(folder, tmp_path):
    def report(*options):
        return CliRunner().invoke(command_line, ["report", str(folder), *map(str, options)])

    about = tmp_path / "about.toml"
    about.write_text(
        'name = "People"\ncurator = "Office"\ncurator_type = "Agency"\nregion = "Here"\n'
        'intended_use = "Planning"\ndescription = "</pre>"\npublication_date = 2026-01-02\n'
        'authors = ["A. B."]\nslug = "people"\n'
    )
    record = json.loads(report("--json", "--about", about).output)
    report("--output", tmp_path / "page.html", "--about", about)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>People</h1>" in page
    assert all(f"<dd>{text}</dd>" in page for text in ("Here", "2 January 2026"))
    document = Elements(page)
    assert document.open == []
    assert json.loads(next(text for text in document.text if text.startswith("{\n"))) == record
    report("--output", tmp_path / "page.html")
    assert "url_slug" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert isinstance(report("--about", about).exception, UsageError)
    copied = tmp_path / "copied"
    shutil.copytree(folder / "public", copied)
    before = sorted(copied.rglob("*"))
    for place in (folder / "public" / "page.html", copied / "page.md"):
        refused = report("--output", place).exception
        assert isinstance(refused, UsageError)
        assert "sealed" in str(refused)
    assert sorted(copied.rglob("*")) == before
