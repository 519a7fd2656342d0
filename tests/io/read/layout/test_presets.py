"""Presets are data: those of the package, and those of users."""

import re
from datetime import date
from pathlib import Path

import pytest

import geodp
from geodp.cli.commands.publish import publish
from geodp.errors import UsageError
from geodp.io.read.layout.presets import (
    FIELDS,
    OF_ATTRIBUTES,
    OF_COLUMNS,
    Preset,
    SeveralLayoutsError,
    choose_fitting,
    find_fitting,
    find_layout,
    find_preset,
    presets,
)
from geodp.io.read.layout.propose import OF_PLACES
from geodp.io.read.rows.names import find_matching_patterns, match
from tests.refusals import refuses

OFFICIAL = Path(geodp.__file__).parent / "io/read/layout/official"

DOCUMENT = Path(__file__).parents[4] / "docs" / "inputs.md"
LAYOUTS = DOCUMENT.parent / "measured" / "official.md"

OFFICE = """
title = "Our register"
columns = ["CELL", "PERSONS_*"]
[options]
code = "CELL"
value = "PERSONS_TOTAL|PERSONS_ALL"
[grids]
10 = "jis:quarter"
"""


def test_every_preset_names_options_and_its_source():
    flags = {opt for one in publish.params for opt in one.opts}
    from geodp.cli.readers import reader_options

    flags |= {opt for one in reader_options() for opt in one.opts}
    assert {*OF_PLACES[:3]} < {*OF_COLUMNS}
    for one in presets():
        assert one.title
        assert one.source.startswith("https://")
        assert one.publisher or one.refused, one.name
        assert not one.date or date.fromisoformat(one.date).isoformat() == one.date
        assert bool(one.columns) != bool(one.files)
        assert {f"--{name}" for name in one.options} <= flags, one.name
        assert not (one.refused and one.options)
    names = [one.name for one in presets()]
    assert names == sorted(names)
    assert {"estat", "zensus2011", "zensus2022", "census2021", "statpop", "cbs", "lodes"} < {*names}


@pytest.mark.parametrize("spell", [str.lower, str.upper], ids=["lower", "upper"])
def test_other_capitals_fit_the_same_layout_or_both_censuses_of_germany(spell):
    for one in presets():
        columns = [pattern.split("|")[0].replace("*", "100m") for pattern in one.columns]
        found = find_fitting(Path("x.csv"), [spell(name) for name in columns])
        assert (one in found) is not bool(one.files)
        if len(found) > 1:
            assert {other.name[:6] for other in found} == {"zensus"}
            assert len({other.name[:10] for other in found}) > 1


def test_the_very_spelling_comes_before_another():
    upper = ["GITTER_ID_1km", "x_mp_1km", "y_mp_1km", "Einwohner"]
    mixed = ["Gitter_ID_1km", *upper[1:]]
    assert [find_layout(names).name for names in (upper, mixed)] == ["zensus2022", "zensus2011"]
    neither = [name.lower() for name in upper]
    assert find_layout(neither) is None
    with refuses(SeveralLayoutsError, "presets-several-fit: zensus2011, zensus2022"):
        choose_fitting(Path("x.csv"), neither)


def test_presets_of_the_package_are_what_their_check_makes_of_them():
    for name, text in ((one.stem, one.read_text("utf-8")) for one in OFFICIAL.glob("*.toml")):
        assert Preset.of(name, text) == find_preset(name)


def test_a_preset_of_ones_own_is_a_file(tmp_path):
    path = tmp_path / "office.toml"
    path.write_text(OFFICE)
    found = find_preset(str(path))
    assert (found.name, found.title) == ("office", "Our register")
    assert match("PERSONS_TOTAL|PERSONS_ALL", ["CELL", " PERSONS_ALL"]) == [" PERSONS_ALL"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("title = ", "preset-not-toml"),
        ("tilte = 'x'", "preset-key-unknown: 'tilte'.*title, source"),
        ("options = 3", r"preset-value-kind: \boptions\b.*\btable\b"),
        ("columns = 'x'", r"preset-value-kind: \bcolumns\b.*\blist\b"),
        ("without = 'x'", r"preset-value-kind: \bwithout\b.*\blist\b"),
        ("attributes = {sex = 1}", r"preset-value-kind: \battributes\b.*\blist\b"),
        ("attributes = ['sex']", "preset-not-a-table"),
        ("attributes = [{name = 's', columns = ['M', 'F'], a = 1}]", "preset-key-unknown: 'a'"),
        ("attributes = [{name = 's', columns = 'M'}]", r"preset-value-kind: \bcolumns\b.*\blist\b"),
        ("attributes = [{name = 's', columns = ['M', 1]}]", "preset-entry-not-text: columns"),
        ("attributes = [{name = 's'}]", "preset-key-missing: columns"),
        ("attributes = [{columns = ['M', 'F']}]", "preset-key-missing: name"),
        ("attributes = [{name = 's', columns = ['M']}]", "preset-columns-fewer-than-two"),
        ("attributes = [{name = 's', columns = ['M', 'M']}]", "preset-attribute-columns"),
        (
            "attributes = [{name = 's', columns = ['M', 'F'], labels = ['m']}]",
            "preset-labels-of-columns",
        ),
        (
            "attributes = [{name = 's', columns = ['M', 'F'], labels = ['m', 'm']}]",
            "preset-attribute-columns",
        ),
        ("attributes = [{name = 'a*b', columns = ['M', 'F']}]", "preset-labels-of-names"),
        (
            "attributes = [{name = 'a*a', columns = ['M', 'F'], labels = [['m', 'f'], ['x']]}]",
            "preset-attribute-columns",
        ),
        (
            "attributes = [{name = 'a*b', columns = ['M', 'F'], labels = ['m', 'f']}]",
            "preset-labels",
        ),
        (
            "attributes = [{name = 'a*b', columns = ['M', 'F'], labels = [['m', 'f']]}]",
            "preset-labels-of-names",
        ),
        ("attributes = [{name = 's=', columns = ['M', 'F']}]", "preset-attribute-name"),
        ("[grids]\n10 = 'jis:quater'", "preset-grid: '10':"),
        ("columns = [1]", "preset-entry-not-text: columns"),
        ("asks = [['a']]", "preset-entry-not-text: asks"),
        ("[grids]\n8 = {a = 1}", "preset-entry-not-text: grids"),
        ("[options]\ncode = {a = 1}", "preset-option-not-text: code"),
        ("[options]\nvalue = ['n']", "preset-option-not-text: value"),
    ],
)
def test_what_is_no_preset_is_refused(text, rule):
    with refuses(UsageError, rule):
        Preset.of("x", text)


def test_an_unknown_preset_is_refused_with_the_names(tmp_path):
    with refuses(UsageError, "preset-unknown: abs-g01, .*zensus2022"):
        find_preset("zensus")
    with refuses(UsageError, "preset-not-utf8: cannot be read"):
        find_preset(str(tmp_path / "a.toml"))


def test_the_document_has_every_field_of_a_preset():
    text = DOCUMENT.read_text(encoding="utf-8").partition("| field | is | states |")[2]
    told = re.findall(r"^\| `(?:\[+)?([a-z]+)(?:\]+)?` \|", text, re.MULTILINE)
    assert told[: len(FIELDS)] == [*FIELDS]
    (row,) = [line for line in text.splitlines() if line.startswith("| `[[attributes]]`")]
    assert all(f"`{name}`" in row for name in OF_ATTRIBUTES)


def test_the_document_tells_of_every_preset_what_is_known_of_it():
    text = LAYOUTS.read_text(encoding="utf-8").partition("| preset | whose files |")[2]
    told = re.findall(r"^\| `([a-z0-9-]+)` \|.+\| (.+) \|$", text, re.MULTILINE)[: len(presets())]
    assert [name for name, _ in told] == [one.name for one in presets()]
    words = ("a file", "names", "described", "as the tables")
    assert all(known.startswith(words) for _, known in told)


def test_a_file_with_a_column_of_another_layout_is_none_of_a_preset_without_it():
    found = Preset.of("x", 'columns = ["CELL"]\nwithout = ["MEAN_*", "SHARE"]')
    for columns, fits in (
        (["CELL", "PERSONS"], True),
        (["CELL", "Mean_Age"], False),
        (["A"], False),
    ):
        assert found.fits(*find_matching_patterns(["CELL", "MEAN_*", "SHARE"], columns)) is fits
