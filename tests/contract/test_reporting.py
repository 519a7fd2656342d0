"""Reports, pages, maps, exports and statistics of a release of every kind."""

import json
import sqlite3
import xml.etree.ElementTree as ET

import pandas
from PIL import Image

from tests.contract.desk import require
from tests.contract.using import require_words
from tests.release.report.html.structure import Elements, find_faults


def test_pages_are_whole_and_in_their_language(pages):
    for language, page in pages.items():
        assert find_faults(page) == []
        (html,) = (one for tag, one in Elements(page).elements if tag == "html")
        assert html["lang"] == language
        # Names of places on a map of Japan are in Japanese in every language.
        require_words(" ".join(Elements(page).text), language)


def test_report_describes_a_release_as_text(released):
    done = require(released.run("report", "out"))
    require_words(done.stdout, "en")
    assert "## Guarantee" in done.stdout


def test_report_prints_the_card_for_programs(released):
    assert json.loads(require(released.run("report", "out", "--json")).stdout) == released.index()


def test_map_draws_the_release(released, tmp_path):
    """In Japanese it needs a font with its letters, or says so."""
    for name in ("map.png", "map.svg"):
        done = released.run("map", "out", "--output", tmp_path / name)
        assert done.returncode == 0, done.stderr
    done = released.run("map", "out", "--language", "ja", "--output", tmp_path / "ja.svg")
    assert done.returncode == 0 or "no installed font" in done.stderr, done.stderr
    with Image.open(tmp_path / "map.png") as picture:
        picture.verify()
    assert ET.parse(tmp_path / "map.svg").getroot().tag.endswith("svg")


def test_export_writes_the_release_in_other_formats(released, tmp_path):
    done = released.run(
        "export", "out", "--to", "gpkg,parquet,csv:excel", "--output", tmp_path / "x"
    )
    assert done.returncode == 0, done.stderr
    found = sorted((tmp_path / "x").rglob("*.parquet"))
    assert found
    for columns in found:
        rows = len(pandas.read_parquet(columns))
        assert rows > 0
        assert len(pandas.read_csv(columns.with_suffix(".excel.csv"))) == rows
        with sqlite3.connect(columns.with_suffix(".gpkg")) as base:
            (name,) = base.execute("SELECT table_name FROM gpkg_contents").fetchone()
            assert base.execute(f'SELECT count(*) FROM "{name}"').fetchone() == (rows,)
        base.close()


def test_a_small_map_is_embedded(released):
    """It loads nothing, runs nothing, and has at most 100 kB."""
    require(released.run("report", "out", "--embed", "--output", "map.html"))
    text = (released.folder / "map.html").read_text(encoding="utf-8")
    assert len(text.encode()) <= 100_000
    assert "data:image/png" in text
    assert "<script" not in text


def test_statistics_are_computed(released):
    done = released.run("statistics", "out")
    assert done.returncode == 0, done.stderr
    document = json.loads(require(released.run("statistics", "out", "--json")).stdout)
    assert document
