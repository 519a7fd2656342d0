"""No letter of a name vanishes from the map without a word."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib.font_manager as manager
import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.image import imread

from geodp.errors import LettersWarning
from geodp.io.write import fonts, picture
from tests.io.write.test_writers import KANTO, released

NAME = "人口_2020"
NOBODYS = "\U00013000\U00013001"
"""Hieroglyphs: a test's own font has them, and no other that is likely to be installed."""


def font(path, family, letters, *, blank=False):
    """A font of filled boxes, or of nothing."""
    pen = TTGlyphPen(None)
    if not blank:
        pen.moveTo((50, 0))
        for corner in ((50, 700), (450, 700), (450, 0)):
            pen.lineTo(corner)
        pen.closePath()
    glyphs = {letter: f"u{ord(letter):X}" for letter in letters}
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", *glyphs.values()])
    builder.setupCharacterMap({ord(letter): name for letter, name in glyphs.items()})
    builder.setupGlyf(dict.fromkeys((".notdef", *glyphs.values()), pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", *glyphs.values()), (500, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": family, "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, usWeightClass=400)
    builder.setupPost()
    builder.save(path)
    return str(path)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Matplotlib's own fonts, whatever this machine has, and nothing remembered."""
    own = [f for f in manager.fontManager.ttflist if "mpl-data" in f.fname]
    monkeypatch.setattr(manager.fontManager, "ttflist", own)
    monkeypatch.setattr(manager, "findSystemFonts", list)
    fonts.families.cache_clear()
    yield
    fonts.families.cache_clear()


def drawn(path, name):
    release = released(KANTO)
    picture.write_png(release.table, path, name=name, card=release.card())
    return imread(path)[..., :3]


@pytest.mark.parametrize("text", ["population", "Bevölkerung", "население", "πληθυσμός", "ε"])
def test_letters_of_the_own_font_need_no_other(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fonts.families(text) == (fonts.OWN,)


@pytest.mark.parametrize("text", [NAME, "서울", "ก", NOBODYS])
def test_letters_that_no_font_has_are_told_in_a_sentence(text):
    with pytest.warns(LettersWarning) as caught:
        assert fonts.families(text) is None
    (said,) = (str(warning.message) for warning in caught)
    assert text in said
    assert "install one" in said
    assert "geodp map" in said


def test_an_installed_font_is_found_and_drawn(tmp_path):
    with pytest.warns(LettersWarning):
        without = drawn(tmp_path / "without.png", NOBODYS)
    fonts.families.cache_clear()
    manager.fontManager.addfont(font(tmp_path / "f.ttf", "Test Hieroglyphs", NOBODYS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fonts.families(NOBODYS) == (fonts.OWN, "Test Hieroglyphs")
        found = drawn(tmp_path / "found.png", NOBODYS)
    assert found.shape == without.shape
    # In the title two boxes of 17 points: wider than half, and white.
    head = found[20:55, 36:70].min(axis=2)
    assert (head > 0.8).mean() > 0.2
    assert not np.array_equal(found[:80], without[:80])


def test_a_font_that_came_after_the_list_was_made_is_found(tmp_path, monkeypatch):
    path = font(tmp_path / "f.ttf", "Test Late", NOBODYS)
    monkeypatch.setattr(manager, "findSystemFonts", lambda: [path, str(tmp_path / "gone.ttf")])
    assert fonts.families(NOBODYS) == (fonts.OWN, "Test Late")


@pytest.mark.parametrize(
    ("family", "letters", "blank"),
    [
        ("Test Half", NOBODYS[:1], False),
        ("Test Blank", NOBODYS, True),
        ("Last Resort High-Efficiency", NOBODYS, False),
        (".LastResort", NOBODYS, False),
    ],
)
def test_half_blank_and_last_resort_fonts_are_none(tmp_path, family, letters, blank):
    manager.fontManager.addfont(font(tmp_path / "f.ttf", family, letters, blank=blank))
    with pytest.warns(LettersWarning):
        assert fonts.families(NOBODYS) is None


def test_japanese_forms_come_first(tmp_path):
    for family in ("A Chinese Font", "IPAexGothic", "Noto Sans CJK JP"):
        manager.fontManager.addfont(font(tmp_path / f"{family}.ttf", family, "人口"))
    assert fonts.families(NAME) == (fonts.OWN, "Noto Sans CJK JP")


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("a" * 40, "a" * 40),
        ("a" * 41, "a" * 39 + "…"),
        ("人" * 20, "人" * 20),
        ("人" * 21, "人" * 19 + "…"),
        ("a" + "人" * 20, "a" + "人" * 19 + "…"),
        ("", ""),
    ],
)
def test_wide_letters_count_twice(name, cut):
    assert picture._shorten(name) == cut


def test_the_card_says_that_the_name_is_not_on_the_map(tmp_path):
    with pytest.warns(LettersWarning):
        released(KANTO).write(tmp_path / "out", name=NOBODYS)
    card = (tmp_path / "out" / "public" / "release.json").read_text(encoding="utf-8")
    assert "without words for which no font was there" in card


def test_the_command_line_says_it_once_and_plainly(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y,n\n0,0,3\n1,0,5\n")
    call = ["publish", path, "--grid", "regular:1x2", "--x", "x", "--y", "y", "--value", "n"]
    call += ["--anchor", "index", "--epsilon", "1", "--name", NOBODYS, "--output", tmp_path / "o"]
    for arguments in (call, ["map", tmp_path / "o", "--output", tmp_path / "again.png"]):
        done = subprocess.run(
            [sys.executable, "-m", "geodp", *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONUTF8": "1"},
        )
        assert done.returncode == 0, done.stderr
        notes = [line for line in done.stderr.splitlines() if NOBODYS in line]
        assert len(notes) == 1
        assert notes[0].startswith("Note: No installed font has all letters of")
        assert "fonts.py" not in done.stderr
    assert Path(tmp_path / "again.png").exists()
