"""No letter of a name vanishes from the map without a word."""

import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from PIL import Image

from geodp.errors import LettersWarning
from geodp.io.write.drawing import fonts
from geodp.io.write.picture import draw_map
from tests.io.write.test_writers import KANTO, released

NAME = "人口_2020"
NOBODYS = "\U00013000\U00013001"
"""Hieroglyphs: a test's own font has them, and no other that is likely to be installed."""


def glyph(height):
    """A filled box, or nothing."""
    pen = TTGlyphPen(None)
    if height:
        pen.moveTo((50, 0))
        for corner in ((50, height), (450, height), (450, 0)):
            pen.lineTo(corner)
        pen.closePath()
    return pen.glyph()


def font(path, family, letters, *, blank=False, style="Regular"):
    """A font of filled boxes, or of nothing; for letters that it lacks, of low boxes."""
    glyphs = {letter: f"u{ord(letter):X}" for letter in letters}
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", *glyphs.values()])
    builder.setupCharacterMap({ord(letter): name for letter, name in glyphs.items()})
    drawn = dict.fromkeys(glyphs.values(), glyph(0 if blank else 700))
    builder.setupGlyf({".notdef": glyph(300), **drawn})
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", *glyphs.values()), (500, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": family, "styleName": style})
    builder.setupOS2(sTypoAscender=800, usWeightClass=400)
    builder.setupPost()
    builder.save(path)


def forget():
    """As a new process would look."""
    fonts.families.cache_clear()
    fonts.find_families.cache_clear()


FOLDERS = fonts._folders


@pytest.mark.parametrize(
    ("system", "wanted"),
    [
        ("linux", ["/home/a/.fonts", "/data/fonts", "/usr/local/share/fonts", "/usr/share/fonts"]),
        ("darwin", ["/home/a/Library/Fonts", "/Library/Fonts", "/System/Library/Fonts"]),
        ("win32", ["D:/Windows/Fonts", "/home/a/AppData/Local/Microsoft/Windows/Fonts"]),
    ],
)
def test_fonts_are_looked_for_where_the_system_keeps_them(monkeypatch, system, wanted):
    monkeypatch.setattr(fonts.sys, "platform", system)
    monkeypatch.setenv("HOME", "/home/a")
    monkeypatch.setenv("WINDIR", "D:/Windows")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    for name in ("XDG_DATA_DIRS", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert [folder.as_posix() for folder in FOLDERS()] == wanted


def test_fonts_in_folders_of_folders_are_found_in_a_fixed_order(installed):
    (installed / "b" / "c").mkdir(parents=True)
    for name in ("z.TTF", "b/c/a.otf", "b/x.ttc", "b/no.txt"):
        (installed / name).touch()
    found = [Path(path).relative_to(installed).as_posix() for path in fonts.font_files()]
    assert found == ["b/c/a.otf", "b/x.ttc", "z.TTF"]


@pytest.fixture(autouse=True)
def installed(monkeypatch, tmp_path):
    """A folder of fonts, empty at first, whatever this machine has, and nothing remembered."""
    folder = tmp_path / "installed"
    folder.mkdir()
    monkeypatch.setattr(fonts, "_folders", lambda: [folder])
    forget()
    yield folder
    forget()


def drawn(name):
    drawn = draw_map(released(KANTO).view(name))
    with Image.open(io.BytesIO(drawn)) as image:
        return np.asarray(image.convert("L")) / 255


def names(text):
    return tuple(family.name for family in fonts.families(text))


@pytest.mark.parametrize("text", ["population", "Bevölkerung", "население", "πληθυσμός", "ε × km²"])
def test_letters_of_the_own_font_need_no_other(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fonts.families(text) == (fonts.BUNDLED,)


@pytest.mark.parametrize("text", [NAME, "서울", "ก", "سكان", NOBODYS])
def test_letters_that_no_font_has_are_told_in_a_sentence(text):
    with pytest.warns(LettersWarning) as caught:
        assert fonts.families(text) is None
    (said,) = (str(warning.message) for warning in caught)
    assert text in said
    assert "install" in said
    assert "geodp map" in said


def test_an_installed_font_is_found_and_drawn(installed):
    with pytest.warns(LettersWarning):
        without = drawn(NOBODYS)
    forget()
    font(installed / "f.ttf", "Test Hieroglyphs", NOBODYS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names(NOBODYS) == ("DejaVu Sans", "Test Hieroglyphs")
        found = drawn(NOBODYS)
    assert found.shape[1] == without.shape[1]
    # In the title two boxes of 23 pixels: wider than half, and dark.
    assert (found[20:55, 36:62] < 0.2).mean() > 0.2
    assert not np.array_equal(found[:80], without[:80])


def test_letters_in_other_forms_beside_each_other_are_drawn_by_one_font(installed, monkeypatch):
    text = "ab\u0628\u0627"
    font(installed / "f.ttf", "Test Arabic", text[2:])
    with pytest.warns(LettersWarning, match=r"install one|FriBiDi"):
        assert fonts.families(text) is None
    forget()
    font(installed / "g.ttf", "Test Both", text)
    monkeypatch.setattr(fonts, "can_shape", lambda: True)
    assert names(text) == ("Test Both",)
    assert fonts.split(text, False) == [(text, fonts.families(text)[0].normal)]
    assert fonts.families(text)[0].normal.shaped
    monkeypatch.setattr(fonts, "can_shape", lambda: False)
    forget()
    with pytest.warns(LettersWarning, match="FriBiDi"):
        assert fonts.families(text) is None


def test_a_text_is_split_by_who_draws_its_letters(installed):
    font(installed / "f.ttf", "Test Hieroglyphs", NOBODYS)
    runs = fonts.split(f"a{NOBODYS} b", True)
    assert [text for text, _ in runs] == ["a", NOBODYS, " b"]
    assert runs[0][1] == runs[2][1] == fonts.BUNDLED.bold
    whole = fonts.measure(f"a{NOBODYS} b", 20, bold=True)
    assert whole == sum(fonts.open_face(face, 20).getlength(text) for text, face in runs)


def test_weights_are_those_of_the_family(installed):
    for style in ("Black", "Regular", "Bold", "Bold Italic"):
        font(installed / f"{style}.ttf", "Test Weights", NOBODYS, style=style)
    family = fonts.families(NOBODYS)[-1]
    assert family.normal.path.endswith("Regular.ttf")
    assert family.bold.path.endswith("/Bold.ttf")


def test_a_broken_font_is_none(installed):
    (installed / "broken.ttf").write_bytes(b"no font")
    (installed / "empty.otf").touch()
    with pytest.warns(LettersWarning):
        assert fonts.families(NOBODYS) is None


@pytest.mark.parametrize(
    ("family", "letters", "blank"),
    [
        ("Test Half", NOBODYS[:1], False),
        ("Test Blank", NOBODYS, True),
        ("Last Resort High-Efficiency", NOBODYS, False),
        (".LastResort", NOBODYS, False),
    ],
)
def test_half_blank_and_last_resort_fonts_are_none(installed, family, letters, blank):
    font(installed / "f.ttf", family, letters, blank=blank)
    with pytest.warns(LettersWarning):
        assert fonts.families(NOBODYS) is None


def test_japanese_forms_come_first(installed):
    for family in ("A Chinese Font", "IPAexGothic", "Noto Sans CJK JP"):
        font(installed / f"{family}.ttf", family, "人口")
    assert names(NAME) == ("DejaVu Sans", "Noto Sans CJK JP")


def test_the_card_says_that_the_name_is_not_on_the_map(tmp_path):
    with pytest.warns(LettersWarning):
        released(KANTO).write(tmp_path / "out", name=NOBODYS)
    card = (tmp_path / "out" / "public" / "release.json").read_text(encoding="utf-8")
    assert "without words for which no font was there" in card


@pytest.mark.law
def test_the_command_line_says_it_once_and_plainly(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y,n\n0,0,3\n1,0,5\n")
    call = ["publish", path, "--grid", "regular:1x2", "--x", "x", "--y", "y", "--value", "n"]
    call += ["--anchor", "index", "--epsilon", "1", "--contribution", "1", "--name", NOBODYS]
    call += ["--output", tmp_path / "o"]
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
