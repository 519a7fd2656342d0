"""Descriptions of grids: geodp's own files, and what is refused of others."""

import json
import os
from fractions import Fraction

import pytest

from geodp.errors import InputError, UsageError
from geodp.grid.codes import code_system
from geodp.grid.codes.description import (
    GridDescription,
    described_names,
    find_description,
    parse_description,
    read_description,
)
from geodp.grid.codes.pattern_grid import check_examples
from geodp.io.verify.verify_release import Spelling
from tests.refusals import refuses

OWN = """
name = "office"
crs = "EPSG:25832"
sizes = { 250m = 250, 1km = 1000 }
extent = [400000, 5450000, 600000, 5750000]
codes = "G{east/10:5}-{north/10:6}"
examples = { "G47500-554025" = [475000, 5540250] }
"""


def own(tmp_path, text=OWN, name="office.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", described_names())
def test_geodps_own_have_examples_that_are_where_they_say(name):
    found = find_description(name)
    assert found.name == name
    assert found.examples
    assert found.title
    assert found.source
    check_examples(found, name)
    assert json.loads(json.dumps(found.describe())) == found.describe()
    again = GridDescription.of(found.describe(), "a card")
    for label, _ in found.sizes:
        system = code_system(f"{name}:{label.lower()}")
        stated = code_system(system.name, found.describe())
        assert (stated.extent, stated.origin, stated.areas) == (
            system.extent,
            system.origin,
            system.areas,
        )
    assert again.describe() == found.describe()


def test_a_file_is_a_grid_by_its_path(tmp_path):
    path = own(tmp_path)
    small, large = (code_system(f"file:{path}:{size}") for size in ("250m", "1KM"))
    assert (small.name, large.name) == ("office:250m", "office:1km")
    assert small.areas == (("office:1km", 4), ("office:250m", 1))
    with refuses(UsageError, r"own-grid-size-missing: office\.toml:250m"):
        code_system(f"file:{path}")
    with refuses(UsageError, "grid-size-unknown: office:250m, office:1km"):
        code_system(f"file:{path}:2km")
    assert small.definition == large.definition
    path.unlink()
    assert code_system("office:250m", small.definition).parse(["G47500-554025"])[0].size == 1
    with refuses(UsageError, "definition-of-other-grid"):
        code_system("others:250m", small.definition)


def test_a_standard_is_not_stated_and_all_else_is():
    assert code_system("inspire:1km").definition is None
    assert code_system("jis:half").definition is None
    assert code_system("ibge:1km").definition["crs"].startswith("+proj=aea")


def test_numbers_are_exact(tmp_path):
    text = """
name = "degrees"
crs = "EPSG:4326"
sizes = { "30s" = "1/120", "1min" = "1/60", quarter = 0.25 }
extent = [-0.1, 0, 10.5, 20]
origin = [0, 0]
codes = "{NS}{row:5}{EW}{col:5}"
"""
    found = read_description(own(tmp_path, text))
    assert dict(found.sizes)["quarter"] == Fraction(1, 4)
    assert found.extent[0] == Fraction(-1, 10)
    system = code_system(f"file:{own(tmp_path, text)}:30s")
    assert system.step == (Fraction(1, 120), Fraction(1, 120))
    assert str(system.format(*system.locate([-0.05], [0.0]))[0]) == "N00000W00006"


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('name = "office"', "", "description-key-missing"),
        ('name = "office"', 'name = "Office 1"', "description-name"),
        ('name = "office"', 'name = "cbs"', "description-name-taken"),
        ('name = "office"', 'name = "jis"', "description-name-taken"),
        ('name = "office"', "name = 3", r"description-value-wrong: \bname\b.*\btext\b"),
        ("sizes =", "size =", "description-key-unknown"),
        ("sizes = { 250m = 250, 1km = 1000 }", "sizes = {}", "description-sizes"),
        ("250m = 250", "250m = -250", "description-sizes"),
        ("250m = 250", "250m = true", "description-sizes"),
        ("250m = 250", "250m = nan", "description-not-toml"),
        ("250m = 250", '"250 m" = 250', "description-size-labels"),
        ("250m = 250", "1KM = 250", "description-size-labels"),
        ("600000, 5750000]", "600000]", r"description-numbers: \b4\b"),
        ("[400000, 5450000, 600000", "[600000, 5450000, 400000", "description-extent"),
        ("5750000]", '"x"]', r"description-numbers: \b4\b"),
        ("5750000]", "57500000]", "pattern-too-few-digits"),
        ("EPSG:25832", "EPSG:99999", r"description-crs: \bunknown\b"),
        ("EPSG:25832", "+init=/etc/passwd", r"description-crs: \bfiles\b"),
        ("G{east/10:5}", "G{east/100:5}", "pattern-not-whole: 250m"),
        ("G{east/10:5}", "G{west:5}", "pattern-field-unknown"),
        ("G{east/10:5}", "{country}{east/10:5}", "pattern-begins-with-country"),
        ('"G{east/10:5}-{north/10:6}"', "[]", "description-codes-not-spellings"),
        ('"G{east/10:5}-{north/10:6}"', "[3]", "description-entry-not-text"),
        ('"G{east/10:5}-{north/10:6}"', "{ 250m = '{east}N{north}' }", "description-codes-missing"),
        ("G47500-554025", "G47500+554025", "example-is-no-code"),
        ("[475000, 5540250]", "[475000, 5540000]", "example-elsewhere: 475000 5540250"),
        ("[475000, 5540250]", "[475000]", "description-numbers: examples"),
        ("examples", 'areas = ["5km"]\nexamples', "description-areas"),
        ("[400000, 5450000", "[400000, 5450000, [", "description-not-toml"),
        ("examples", 'letters = "A"\nexamples', r"description-value-wrong: \bletters\b.*\btable\b"),
    ],
)
def test_an_error_names_file_key_and_what_is_allowed(tmp_path, old, new, rule):
    assert old in OWN
    path = own(tmp_path, OWN.replace(old, new))
    with refuses(UsageError, rule) as caught:
        code_system(f"file:{path}:250m")
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("letters", "rule"),
    [
        ('East = { side = 1, rows = ["AB"] }', "description-letters-name"),
        ('east = { side = 1, rows = ["AB"] }', "description-letters-name"),
        ('a = "AB"', "description-letters-square: letters.a"),
        ('a = { rows = ["AB"] }', "description-letters-square"),
        ('a = { side = 0, rows = ["AB"] }', "description-letters-square"),
        ('a = { side = 1, rows = "AB" }', "description-letters-square"),
        ('a = { side = 1, rows = ["A"] }', "description-letters-square"),
        ('a = { side = 1, rows = ["A1"] }', "description-letters-square"),
        ('a = { side = 1, rows = ["AB", "CA"] }', "description-letters-square"),
        ('a = { side = 1, rows = ["AB", "C"] }', "description-letters-square"),
        ('a = { side = 1, row = ["AB"] }', "description-letters-square"),
    ],
)
def test_an_error_in_letters_does_so_too(tmp_path, letters, rule):
    with refuses(UsageError, rule):
        code_system(f"file:{own(tmp_path, f'{OWN}letters = {{ {letters} }}')}:250m")


def test_spellings_that_are_read_as_each_other_are_refused(tmp_path):
    two = 'codes = ["{east/10:5}{north/10:6}", "{north/10:6}{east/10:5}"]'
    text = OWN.replace('codes = "G{east/10:5}-{north/10:6}"', two).split("examples")[0]
    with refuses(UsageError, "pattern-read-otherwise"):
        code_system(f"file:{own(tmp_path, text)}:250m")


def test_what_is_no_file_is_refused(tmp_path):
    with refuses(InputError, "description-unreadable"):
        code_system(f"file:{tmp_path / 'none.toml'}")
    (tmp_path / "folder.toml").mkdir()
    with refuses(InputError, "description-not-toml-file"):
        code_system(f"file:{tmp_path / 'folder.toml'}")
    (tmp_path / "bytes.toml").write_bytes(b"name = \xff")
    with refuses(InputError, "description-unreadable: cannot be read"):
        code_system(f"file:{tmp_path / 'bytes.toml'}")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.toml")
        with refuses(InputError, "description-not-toml-file"):
            code_system(f"file:{tmp_path / 'pipe.toml'}")
    with refuses(UsageError, "own-grid-form"):
        code_system("file:grid.csv")


def test_a_card_that_somebody_changed_is_refused():
    stated = code_system("ssb:1km").definition
    for key, value in (
        ("codes", {"1km": ["x"]}),
        ("codes", {label: ["x" * 300 + "{north}E{east}"] for label in stated["sizes"]}),
        ("sizes", {"1km": "0"}),
        ("sizes", {"1km": "1e999999999"}),
        ("sizes", {f"s{n}": str(n) for n in range(1, 100)}),
        ("extent", "x"),
        ("extent", ["1e99999999", "0", "1", "1"]),
        ("crs", "EPSG:" + "1" * 10_000),
    ):
        with pytest.raises(UsageError):
            code_system("ssb:1km", {**stated, key: value})
        if key in ("sizes", "extent"):
            with pytest.raises((ValueError, LookupError)):
                Spelling({**stated, key: value}, "1km")
    assert parse_description(OWN, "here").name == "office"
