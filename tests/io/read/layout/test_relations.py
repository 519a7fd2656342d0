"""Relations of columns: parts follow from nested and overlapping columns, or are refused."""

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.io.read.layout.presets import Preset, presets
from geodp.io.read.layout.relations import MarginLayout, TableLayout
from tests.refusals import refuses

NESTED = """
[table]
persons = "T"
households = "H"
[[table.margins]]
name = "sex"
columns = ["M", "F"]
[[table.margins]]
name = "age"
of = "sex"
labels = ["0-14", "15-64", "65+"]
rest = "not stated"
[table.margins.columns]
YOUNG = "0-14"
YOUNG_M = "M: 0-14"
FROM15 = "15-64..65+"
FROM15_M = "M: 15-64, 65+"
OLD_M = "M: 65+"
OLD_F = "F: 65+"
[[table.margins]]
name = "private"
of = "households"
columns = ["P"]
rest = "others"
[[table.margins]]
name = "size"
of = "private"
within = "P"
elsewhere = "not private"
columns = ["P1", "P2"]
"""

RELATED = [one for one in presets() if one.related is not None]


def find(text, columns):
    """Find the relations of a preset in a file with these columns."""
    return Preset.of("x", text).related.find(columns)


def spread(relations, draw):
    """Draw parts of every margin, and what columns of it add up to: [cells, parts], [cells, n]."""
    for margin in relations.margins:
        parts = draw.integers(0, 9, (20, len(margin.parts)))
        yield margin, parts, parts @ margin.sums.T


@pytest.mark.parametrize("preset", RELATED, ids=lambda one: one.name)
def test_the_parts_of_every_layout_follow_from_its_columns(preset):
    """Drawn parts come back from their columns, and any column that is wrong is found out."""
    layout, draw = preset.related, np.random.default_rng(0)
    layout.check()
    names = [one.split("|")[0].replace("*", " ").replace("?", "0") for one in columns_of(layout)]
    relations = layout.find(names)
    assert {one.layout.name for one in relations.margins} == {one.name for one in layout.margins}
    for margin, parts, columns in spread(relations, draw):
        assert (columns @ margin.solution.T == parts).all()
        assert len(relations.draw()) <= 60
        if len(columns.T) > len(parts.T):
            columns[:, draw.integers(len(columns.T))] += 1
            solved = columns @ margin.solution.T
            assert not (solved @ margin.sums.T == columns).all()


def columns_of(layout):
    """List all patterns of columns."""
    populations = [one for one in (layout.persons, layout.households) if one]
    return [*populations, *(name for one in layout.margins for name in one.columns)]


def test_nested_columns_are_sums_of_parts_and_others_are_left_out():
    columns = ["T", "H", "M", "F", "YOUNG", "YOUNG_M", "FROM15", "FROM15_M", "OLD_M", "OLD_F"]
    found = find(NESTED, [*columns, "P", "P1"])
    assert [one.layout.name for one in found.margins] == ["sex", "age", "private"]
    age = found.margins[1]  # sizes have no column of two
    assert age.parts == tuple((s, a) for s in "MF" for a in ("0-14", "15-64", "65+"))
    assert age.columns["FROM15"] == age.parts[1:3] + age.parts[4:]
    # Young women are the young less the young men.
    assert age.solution[3].tolist() == [1, -1, 0, 0, 0, 0]
    assert found.draw()[:4] == [
        "T",
        "  sex: M, F",
        "    age: 0-14, 15-64, 65+ | not stated",
        "        = YOUNG, YOUNG_M, FROM15, FROM15_M, OLD_M, OLD_F",
    ]
    size = find(NESTED, [*columns, "P", "P1", "P2"]).margins[-1]
    assert size.parts == (("P", "P1"), ("P", "P2"))
    assert find(NESTED, ["M", "F"]) is None


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('persons = "T"', "", "relations-persons"),
        ('of = "sex"', 'of = "race"', "relations-of-unknown"),
        ('OLD_F = "F: 65+"', "", "relations-part-without-column: .*age.*F 15-64"),
        ('"M: 65+"', '"M: 66+"', "relations-label-unknown: .*66"),
        ('"M: 65+"', '"X: 65+"', "relations-label-unknown: .*X"),
        (
            'columns = ["M", "F"]',
            'columns = ["M", "F"]\nlabels = ["m"]',
            "relations-columns-of-parts",
        ),
        ('within = "P"', 'within = "Q"', "relations-within"),
        ('rest = "others"', 'rest = "P"', "relations-labels"),
        ('rest = "others"', "rest = 1", "relations-type"),
        ('rest = "others"', 'rset = "others"', "relations-key-unknown: .*rset"),
    ],
)
def test_what_relates_nothing_is_refused_where_the_preset_is_made(old, new, rule):
    with refuses(UsageError, rule):
        Preset.of("x", NESTED.replace(old, new))


def test_columns_that_a_call_names_must_be_there():
    layout = TableLayout("T", "", (MarginLayout.of_part("E mp"),), chosen=True)
    assert layout.find(["T", "E mp"]).margins[0].layout.all_labels == ("E mp", "not E mp")
    with refuses(UsageError, "relations-column-missing: .*e_mp.*E mp"):
        layout.find(["T"])
    with refuses(UsageError, "census-rest-unknown"):
        layout.with_rests({"sex": "?"})
