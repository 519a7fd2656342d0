"""A table that is written in any form and dialect reads back equal, or is refused by its row.

Hypothesis draws the form and how it is written; what is drawn always is a table by the rules of its
form. A fault of one cell is a row of ``FAULTS``, and a way to write a number one of ``NUMBERS``.
"""

import csv
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import InputError
from geodp.grid.grid import Grid
from tests.io.read.dialects import BOOKS, FORMS, MEMORY, PLAIN, RECORDS, TEXTS, Dialect, make
from tests.refusals import refuses

MESH = Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 139.05, 35.375))
SEXES = MESH.with_attribute("sex", ("f", "女"))
CODES = MESH.places[0].format(*np.indices((4, 5)).reshape(2, -1)).tolist()
NAMES = {
    "code": ["code", "CODE", " ｃｏｄｅ ", "cod\u200be"],
    "n": ["n", "N", "ｎ", " n"],
    "sex": ["sex", "Sex", "ＳＥＸ "],
}
"""Spellings of names of columns."""

MARKED = [
    (("Population",),),
    (("Population, 2020", "by cell"), ()),
    ((None, "people", "in 2020", "by an office"),),
    ((CODES[0], 1), (CODES[1], 2)),
]
"""Rows above a header, some of which look like rows of the table."""

BETWEEN = [[], [{"n": "persons"}], [{}, {"code": "Total", "n": 12}]]
BELOW = [[], [{}, {"code": "Source: an office"}, {"note": "* estimated"}], BETWEEN[-1][1:]]
"""Rows that are none of a table, by column."""

NUMBERS = {
    # How a number is written, and what the call says of it.
    "plain": (str, {}),
    "signs": ("+{}".format, {}),
    "zeros": ("00{}".format, {}),
    "blanks": (" {} ".format, {}),
    "point": ("{}.".format, {}),
    "fraction of nothing": ("{}.0".format, {}),
    "exponent": ("{}0e-1".format, {}),
    "full width": (lambda n: "".join(chr(ord(one) + 0xFEE0) for one in str(n)), {}),
    "commas": ("{:,}".format, {"decimal": "."}),
    "points": (lambda n: f"{n:,},0".replace(",", ".", f"{n:,}".count(",")), {"decimal": ","}),
    "narrow blanks": (lambda n: f"{n:,}".replace(",", "\u202f"), {"decimal": "."}),
    "flag": ("{} p".format, {"flags": ["p", "()"]}),
    "brackets": ("({})".format, {"flags": ["p", "()"]}),
    "dashes for nobody": (lambda n: str(n) if n else "–", {"missing": ["–"]}),
    "blanks for nobody": (lambda n: str(n) if n else "", {"missing": [""]}),
    "-1 for nobody": (lambda n: str(n) if n else "-1.0", {"missing": [-1]}),
    "NaN for nobody": (lambda n: str(n) if n else "NaN", {"missing": ["nan"]}),
    "a tenth more": ("{}.1".format, {"rounding": "nearest"}),
    # As numbers, where the form has some.
    "numbers": (int, {}),
    "floats": (float, {}),
    "decimals": (lambda n: Decimal(f"{n}.00"), {}),
    "nulls for nobody": (lambda n: n or None, {"missing": [""]}),
}

WRITTEN = {
    "plain": str,
    "blanks": " {} ".format,
    "fraction of nothing": "{}.0".format,
    "full width": NUMBERS["full width"][0],
    "numbers": int,
}
"""Spellings of codes."""


@st.composite
def dialects(draw, form, roles):
    """Draw how a form writes rows of columns of some roles, if it has rows of its own."""
    if form not in (*TEXTS, *BOOKS):
        return PLAIN
    above = draw(st.sampled_from([(), (), *MARKED]))
    between, below = (
        tuple(tuple(one.get(role) for role in roles) for one in draw(st.sampled_from(rows)))
        # A total is known by a word in the first column of a row of codes.
        for rows in ((BETWEEN, BELOW) if roles[0] == "code" else (BETWEEN[:-1], BELOW[:-1]))
    )
    marked = {"above": above, "between": between, "below": below}
    if form in BOOKS:
        return Dialect(**marked, blank=draw(st.sampled_from([0, 1])))
    return Dialect(
        **marked,
        delimiter=draw(st.sampled_from([",", ";", "\t", "|"])),
        encoding=draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
        end=draw(st.sampled_from(["\n", "\r\n"])),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        blank=draw(st.sampled_from([0, 0, 2])),
        says=form != "tsv" and draw(st.booleans()),
        ends=draw(st.booleans()),
    )


@st.composite
def tables(draw, forms=FORMS, numbers=tuple(NUMBERS)):
    """Draw a form, a dialect, columns, what the call says of them, and the counts by cell."""
    form, number = draw(st.sampled_from(forms)), draw(st.sampled_from(numbers))
    spell, more = NUMBERS[number]
    code = WRITTEN[draw(st.sampled_from([*WRITTEN]))]
    years = draw(st.sampled_from([[], ["2020", "2021"], [2020, 2021], ["2020.0", "2021"]]))
    roles = draw(st.permutations(["code", "n", "sex", "note", *["year"] * bool(years)]))
    dialect = draw(dialects(form, roles))
    notes = ["", "a, b; c", '5" pipe', 'a "b" c', "|\t", "東京"]
    if form in TEXTS and not (dialect.between or dialect.below):  # whose rows are named by lines
        notes += ["one\ntwo, three", "\n"]
    rows = st.tuples(
        *(st.integers(0, 10**6), st.sampled_from(["f", "女"])),
        *(st.sampled_from(notes), st.booleans()),
    )
    found = draw(st.dictionaries(st.sampled_from(CODES[:-1]), rows, min_size=1, max_size=6))
    found |= {CODES[-1]: (1234, "女", "", True)}  # somebody is counted in thousands
    counts, sexes, said, met = zip(*found.values(), strict=True)
    table = {
        "code": [code(one) for one in found],
        "n": [spell(one) for one in counts],
        "sex": sexes,
        "note": said,
        "year": [years[not one] for one in met] if years else [],
    }
    columns = {draw(st.sampled_from(NAMES.get(role, [role]))): table[role] for role in roles}
    call = {**more, **dialect.options(len(found)), "where": {"year": 2020} if years else {}}
    wanted = {
        (one, sex): count
        for one, (count, sex, _, there) in found.items()
        if count and (there or not years)
    }
    return form, dialect, columns, call, wanted


def read(form, dialect, columns, call):
    """Read columns in a form and dialect: the counts by cell and label."""
    with tempfile.TemporaryDirectory() as folder:
        source = make(form, columns, Path(folder), dialect)
        found = geodp.read_table(
            source, grid=SEXES, code="code", value="n", columns={"sex": "sex"}, **call
        )
    row, col, sex = SEXES.decode(found.key)
    codes = MESH.places[0].format(row, col).tolist()
    labels = [SEXES.attributes[0].labels[one] for one in sex]
    return dict(zip(zip(codes, labels, strict=True), found.count.tolist(), strict=True))


@settings(max_examples=60)
@given(tables())
def test_a_table_in_any_form_and_dialect_reads_back_equal(written):
    form, dialect, columns, call, wanted = written
    assert read(form, dialect, columns, call) == wanted


COUNTS = [5, 7, 9]
TWICE = [CODES[0], CODES[1], CODES[0]]
FAR = [*CODES[:2], "624100001"]
LARGE = [2**53 + 1, 7, 9]
DAYS = [date(2020, 1, day) for day in COUNTS]
CONTENTS = {
    # Codes, counts, what the call says, and the counts by cell or the rules that refuse it.
    "none": (pa.array([], pa.string()), pa.array([], pa.int64()), {}, []),
    "small": (CODES[:3], pa.array(COUNTS, pa.int8()), {}, COUNTS),
    "unsigned": (CODES[:3], pa.array(COUNTS, pa.uint16()), {}, COUNTS),
    "categories": (pa.array(CODES[:3]).dictionary_encode(), COUNTS, {}, COUNTS),
    "coded numbers": (CODES[:3], pa.array(COUNTS).dictionary_encode(), {}, COUNTS),
    "large": (CODES[:3], LARGE, {}, "count-beyond-mankind"),
    "a cell twice": (TWICE, COUNTS, {}, "cell-repeated-in-rows"),
    "a cell twice, added up": (TWICE, COUNTS, {"duplicates": "sum"}, [14, 7]),
    "a cell outside": (FAR, COUNTS, {}, "cell-outside-domain"),
    "a cell outside, dropped": (FAR, COUNTS, {"outside": "drop"}, [5, 7]),
    "dates": (CODES[:3], DAYS, {}, "|column-kind"),
    "truths": (CODES[:3], [True, False, True], {}, "count-is-mark|column-kind"),
}
LOST = {
    **{("jsonl", "none"): "file-empty", ("geojson", "none"): "column-unknown"},
    **{(form, "large"): "workbook-digits-lost" for form in BOOKS},
}
"""What a form cannot hold, and the rule that refuses it."""


@pytest.mark.parametrize("form", ["csv", *BOOKS, *RECORDS, *MEMORY])
@pytest.mark.parametrize("content", CONTENTS)
def test_a_content_is_the_same_table_in_every_form_or_refused(content, form, tmp_path):
    codes, counts, call, wanted = CONTENTS[content]
    wanted = LOST.get((form, content), wanted)
    source = make(form, {"code": codes, "n": counts}, tmp_path)
    if isinstance(wanted, str):
        with refuses(InputError, wanted):
            geodp.read_table(source, grid=MESH, code="code", value="n", **call)
        return
    found = geodp.read_table(source, grid=MESH, code="code", value="n", **call)
    read = MESH.places[0].format(*MESH.decode(found.key)).tolist()
    assert dict(zip(read, found.count.tolist(), strict=True)) == dict(
        zip(CODES[: len(wanted)], wanted, strict=True)
    )


FAULTS = {
    # The column, the rule that refuses a cell, and cells.
    ("n", "count-is-error"): ["#REF!", "#N/A", "#DIV/0!", "#name?", "Err:502"],
    ("n", "count-flagged"): [
        *("7 p", "7p", "7*", "[7]", "p 7", "*7", "7†", "7²", "7人", "'7", "7 persons", "7\u200b1"),
    ],
    ("n", "count-in-brackets"): ["(7)", "(1234)"],
    ("n", "count-underscore"): ["1_000", "1_2"],
    ("n", "count-hidden"): [
        *("<5", "≤ 5", ">100", "5-9", "5–9", "1 to 4", "0..4", "10+", "5 or less", "less than 5"),
        *("5未満", "1～4", "100以上"),
    ],
    ("n", "count-percentage"): ["50%", "50 %", "5‰"],
    ("n", "count-money"): ["€7", "7 EUR", "$7", "7円", "¥7"],
    ("n", ""): ["0x1F", "0X10", "2020-01-05", "1/5/2020", "12:30", "12,34,567"],
    ("n", "count-thousands-mark"): [
        *("1,234", "1,234.0", "1 234", "1'234", "1.234.567", "１，２３４"),
    ],
    ("n", "count-decimal-comma"): ["1,5", "1,50", "1234,5"],
    ("n", "count-is-mark"): [
        *("", "..", "c", "x", "-", "–", "n.a.", "NA", "NULL", "true", "七", ".", None),
    ],
    ("n", "count-not-finite"): ["NaN", "nan", "inf", "-Infinity"],
    ("n", "count-rounded"): ["1.23E+05", "1.2e2", "5.33946e+08"],
    ("n", "count-with-point"): ["1.234", "12.345"],
    ("n", "count-fraction"): ["1.5", "0.25", "1.2345", 2.5, Decimal("1.50")],
    ("n", "count-negative"): ["-1", "-9999", "-1.5", -3],
    ("n", "count-too-large"): ["9999999999999999999", "1e30", str(2**60)],
    ("code", "code-missing"): ["", "NA", None],
    ("code", "jis-code-form"): ["539946113", "533946005"],
    ("code", "jis-code-not-digits"): ["ABC", "5339ａ0001"],
    ("code", "jis-code-length"): ["53394611", "5339"],
    ("code", "codes-rounded-by-spreadsheet"): ["5.33940E+08"],
    ("code", "code-decimal"): ["533900001.5", 533900001.5],
    ("code", "cell-outside-domain"): ["003946113", "543946113"],
    ("sex", "label-not-of-attribute"): ["x", "", "F", "男", None],
}


@pytest.mark.parametrize("fault", FAULTS, ids=" ".join)
@settings(max_examples=6)
@given(data=st.data())
def test_one_bad_cell_is_refused_by_its_row_in_any_form_and_dialect(fault, data):
    (role, rule), cell = fault, data.draw(st.sampled_from(FAULTS[fault]))
    form, dialect, columns, call, _ = data.draw(tables(numbers=["plain"]))
    name = next(one for one in columns if one in NAMES[role])
    cells = [*columns[name]]
    # The first row tells rows of the table from notes around it.
    first = bool(dialect.between or dialect.below)
    place = data.draw(st.integers(first, len(cells) - 1))
    cells[place] = cell
    kind = {float: float, int: int, Decimal: Decimal}.get(type(cell), str)
    cells = [None if one is None else kind(one) for one in cells]
    with pytest.raises(InputError) as refused:
        read(form, dialect, {**columns, name: cells}, {**call, "where": {}})
    assert refused.value.code == rule
    row = place + 1
    if form in (*TEXTS, *BOOKS):
        row = dialect.row(place) + sum(note.count("\n") for note in columns["note"][:place])
    assert refused.value.row == row
    assert "1234" not in str(refused.value)
