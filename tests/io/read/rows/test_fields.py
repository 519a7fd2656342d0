"""Fields are read digit by digit, and what is wrong with one is said without quoting it."""

import zipfile
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import geodp
from geodp import cli
from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.codes import JISMesh
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.units import grid_of_units
from geodp.io import opening
from geodp.io.read.rows import fields, input_files
from geodp.io.read.rows.count_parser import CountParser
from geodp.io.read.table import read_table
from geodp.io.verify import readback, verify
from tests.io.files import chain
from tests.io.read.dialects import zipped
from tests.io.write.test_writers import released
from tests.refusals import refuses

ODD = 2**53 + 1
"""No float64 is this number."""


@pytest.mark.parametrize(
    ("column", "missing", "expected"),
    [
        ([f"{ODD}.0", "1"], [], [ODD, 1]),
        ([f"{ODD}", "-1"], [-1], [ODD, 0]),
        ([f"+{ODD}", "1e3"], [], [ODD, 1000]),
        ([f" {ODD}", ".0"], [], [ODD, 0]),
        (["1152921504606846975.000", "-0"], [], [2**60 - 1, 0]),
        (["9007199254740993e0", "90071992547409930e-1"], [], [ODD, ODD]),
        (pa.array([ODD, -200]), ["-200.0"], [ODD, 0]),
        (pa.array([ODD, 2**53]), [str(2**53)], [ODD, 0]),
        (pa.array([ODD, None], pa.uint64()), ["", -1], [ODD, 0]),
        (pa.array([Decimal(f"{ODD}.00"), Decimal(5)], pa.decimal128(30, 2)), [5], [ODD, 0]),
        (pa.array([Decimal("-2.00"), None], pa.decimal128(3, 2)), [-2, ""], [0, 0]),
        (pa.array([Decimal(12300), Decimal(100)], pa.decimal128(5, -2)), [100], [12300, 0]),
        (pa.array([2.0**53 - 1, -200.0]), [-200], [2**53 - 1, 0]),
    ],
)
def test_counts_keep_all_digits(column, missing, expected):
    found = fields.counts(pa.array(column), missing=missing)
    assert (found.dtype, found.tolist()) == (np.int64, expected)


@pytest.mark.parametrize("kind", [pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256])
@pytest.mark.parametrize("coded", [False, True])
def test_decimals_of_hundreds_are_read_as_the_numbers_that_they_are(kind, coded):
    """Arrow writes them as 1.23E+4, in which no reader of plain digits would know them."""
    column = pa.array([Decimal(12300), Decimal(0), Decimal(100)], kind(5, -2))
    if coded:
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), column)
    numbers = [12300, 0, 100]
    assert fields.as_text(column).to_pylist() == ["12300", "0", "100"]
    assert fields.counts(column).tolist() == numbers
    assert fields.fractions(column).tolist() == numbers
    assert fields.codes(column).tolist() == numbers
    assert fields.coordinates(column).tolist() == numbers
    assert fields.labels(column, ["100", "0", "12300"]).tolist() == [2, 1, 0]


def test_decimals_with_more_digits_than_arrow_has_are_refused():
    column = pa.array([Decimal("1e71")], pa.decimal256(7, -70))
    with refuses(CodeError, "decimal-too-long"):
        fields.as_text(column)


@pytest.mark.parametrize(
    "column",
    [
        *(
            ["1", "1152921504606846976.0"],
            ["1", "1e999999999"],
            ["1", "1e999999999999999999999999"],
        ),
        *(["1", "9007199254740993.5"], ["1", "-1.0"], pa.array([1.0, 2.0**53])),
        *(pa.array(np.array([1, 2**24], np.float32)), pa.array([1, 2**63 + 1], pa.uint64())),
        pa.array([Decimal("1.00"), Decimal("1.50")]),
    ],
)
def test_counts_that_are_none_are_refused_with_their_place(column):
    with pytest.raises(CodeError) as caught:
        fields.counts(pa.array(column))
    assert caught.value.position == 1
    said = str(caught.value)
    for known in ("2**60", "float64", "float32"):
        said = said.replace(known, "")
    assert not any(mark.isdigit() for mark in said)


def texts(*values):
    """A column of texts, which may be no UTF-8."""
    return pa.array(values, pa.binary()).view(pa.string())


@pytest.mark.parametrize("column", ["code", "sex", "n", "where"])
@pytest.mark.parametrize("coded", [False, True])
def test_texts_that_are_no_text_are_not_quoted(tmp_path, column, coded):
    secret = b"5339461\xff3"
    rows = 1000
    columns = {"code": b"533946113", "sex": b"f", "n": b"1", "where": b"yes"}
    arrays = {name: [value] * rows for name, value in columns.items()}
    arrays["code"] = [str(533946000 + i).encode() for i in range(rows)]
    arrays[column][700] = secret
    path = tmp_path / "in.parquet"
    found = {name: texts(*values) for name, values in arrays.items()}
    if coded:
        found = {name: array.dictionary_encode() for name, array in found.items()}
    pq.write_table(pa.table(found), path)
    grid = geodp.Grid.mesh("jis:half").with_attribute("sex", ["f", "m"])
    with pytest.raises(InputError) as caught:
        read_table(
            path, grid=grid, value="n", code="code", columns={"sex": "sex"}, where={"where": "yes"}
        )
    assert "not UTF-8" in str(caught.value)
    assert caught.value.row == 701
    for link in chain(caught.value):
        assert "5339461" not in f"{link} {link!r} {link.args}"


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_codes_that_a_file_numbers_are_those_of_one_that_spells_them(tmp_path, kind, monkeypatch):
    """Each is parsed once, and a row with a bad one is still named."""
    parsed = []
    parse = JISMesh.parse
    monkeypatch.setattr(JISMesh, "parse", lambda self, c: parsed.append(len(c)) or parse(self, c))
    asked = {"grid": "jis:half", "value": "n", "code": "code", "duplicates": "sum"}

    def read(codes, numbered=True):
        given = {"code": pa.array(map(str, codes)).cast(kind), "n": [1] * len(codes)}
        pq.write_table(pa.table(given), tmp_path / "in.parquet", use_dictionary=numbered)
        return read_table(tmp_path / "in.parquet", **asked)

    codes = [533946113 + i % 2 for i in range(1000)]
    one, other = read(codes), read(codes, numbered=False)
    assert parsed == [2, 2]
    assert one.key.tolist() == other.key.tolist()
    assert one.count.tolist() == other.count.tolist() == [500, 500]
    codes[700] = 533946119
    with pytest.raises(InputError) as caught:
        read(codes)
    assert caught.value.row == 701


ROWS = "code,n\n533946113,1\n"


@pytest.mark.parametrize("members", [1, 60])
def test_an_archive_is_opened_as_often_whatever_it_holds(tmp_path, monkeypatch, members):
    """Once to see whether a member must be unpacked, and once to read."""
    opened = []

    class Counted(zipfile.ZipFile):
        def __init__(self, *arguments, **options):
            opened.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(input_files.zipfile, "ZipFile", Counted)
    path = tmp_path / "in.zip"
    zipped(path, {f"{n}.csv": ROWS for n in range(members)})
    opened.clear()
    table = read_table(path, grid="jis:half", value="n", code="code", duplicates="sum")
    assert table.count.tolist() == [members]
    assert len(opened) == 2


def test_names_in_an_archive_do_not_steer_the_terminal(tmp_path):
    name = "\x1b[2J\x1b]0;gone\x07\u202egone.csv"
    path = zipped(tmp_path / "in.zip", {name: "code,n\n533946113,x\n"})
    with pytest.raises(InputError) as caught:
        read_table(path, grid="jis:half", value="n", code="code")
    assert caught.value.file == f"{path} (\\x1b[2J\\x1b]0;gone\\x07\\u202egone.csv)"
    done = CliRunner().invoke(cli.geodp, ["inspect", str(path)])
    assert not {"\x1b", "\x07", "\u202e"} & {*done.output}


def test_a_table_keeps_its_own_arrays():
    grid = geodp.Grid.regular((2, 2))
    key, count = np.array([0, 3], np.uint64), np.array([5, 6])
    table = geodp.CountTable(grid, key, count)
    key[0], count[0] = 1, 7
    assert (table.key.tolist(), table.count.tolist()) == ([0, 3], [5, 6])
    assert not table.key.flags.writeable
    assert table.key.base is None or not table.key.base.flags.writeable or table.key.base is not key


@pytest.mark.parametrize("index", [[[1.7], [0]], [[1.0], [0]], [["1"], ["0"]], [[True], [False]]])
def test_indices_are_integers(index):
    grid = geodp.Grid.regular((2, 2))
    with refuses(UsageError, "indices-not-whole"):
        geodp.CountTable.from_index(grid, index, [3])
    assert geodp.CountTable.from_index(grid, [[1], [0]], [3]).to_dense()[1, 0] == 3
    assert geodp.CountTable.from_index(grid, [[], []], []).key.size == 0


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_labels_are_no_formulas(text):
    grid = geodp.Grid.regular((2, 2))
    with refuses(UsageError, "name-is-formula"):
        grid.with_attribute("sex", ["f", text])
    with refuses(UsageError, "name-is-formula"):
        grid.with_attribute(text, ["f", "m"])
    with refuses(UsageError, "name-is-formula"):
        Hierarchy.of_cells([[0], [0]], {text: ["a"]}, "a test")
    with refuses(CodeError, "name-is-formula") as caught:
        Hierarchy.of_cells([[0, 0], [0, 1]], {"town": ["a", text]}, "a test")
    assert caught.value.position == 1
    assert grid.with_attribute("age", ["0-14", "65+", "a=b"]).attributes[0].labels[1] == "65+"


class Short:
    """A column of texts for which Arrow has no memory: it quotes the one that it stopped at."""

    def validate(self, *, full):
        assert full

    def to_numpy(self, **options):
        raise pa.ArrowException("Unknown error: Wrapping 533946113 failed")


def test_short_memory_is_no_damaged_file_and_quotes_nothing(tmp_path, monkeypatch, capsys):
    def short(*arguments):
        raise pa.ArrowMemoryError("no memory for 533946113")

    with pytest.raises(MemoryError):
        input_files.guard("file", short)
    with pytest.raises(MemoryError) as caught:
        opening.texts_of(Short())
    assert all("533946113" not in repr(link) for link in chain(caught.value))
    released(geodp.Grid.regular((2, 2))).write(tmp_path / "out")
    monkeypatch.setattr(readback, "counts_of", short)
    for ask in (verify.verify, readback.read_release_table):
        with pytest.raises(MemoryError):
            ask(tmp_path / "out")
    assert cli._explain(pa.ArrowMemoryError("no memory for 533946113"), 0) == 1
    said = capsys.readouterr().err
    assert said.startswith("Error: there is not enough memory")
    assert "533946113" not in said


def test_a_tab_that_the_shell_did_not_make_is_refused_with_how_to_write_it(tmp_path):
    (tmp_path / "in.csv").write_text("code\tn\n53394611\t5\n")
    given = {"grid": "jis:basic", "value": "n", "code": "code"}
    with refuses(UsageError, "delimiter-form"):
        read_table(tmp_path / "in.csv", delimiter="\\t", **given)
    assert read_table(tmp_path / "in.csv", **given).count.tolist() == [5]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.int32(), pa.string()])
def test_rows_of_one_code_count_as_many_as_they_are(tmp_path, kind):
    """Whether codes are added up before they are looked at changes nothing that is told."""
    codes = [53394611, 53394612, 47000000, 53394611, 53394611, 47000000]
    given = {"code": pa.array(map(str, codes)).cast(kind), "n": [1, 2, 3, 4, 0, 6]}
    found = []
    for numbered in (True, False):
        path = tmp_path / f"{numbered}.parquet"
        pq.write_table(pa.table(given), path, use_dictionary=numbered)
        grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
        asked = {"grid": grid, "value": "n", "code": "code", "outside": "drop"}
        found.append(read_table(path, **asked, duplicates="sum"))
    for table in found:
        (file,) = table.reading.sources
        assert table.count.tolist() == [5, 2]
        assert (file.rows, file.inside, file.outside) == (6, 4, 2)
        assert (file.people, file.people_outside) == (7, 9)
    with refuses(InputError, "cell-outside-domain") as caught:
        read_table(path, **{**asked, "outside": "error"}, duplicates="sum")
    assert caught.value.row == 3


@pytest.mark.parametrize("text", ["1.23E+05", "1.2e2", "5.33946e+08"])
def test_a_fraction_that_was_rounded_before_is_refused(text):
    with refuses(CodeError, "count-rounded") as caught:
        fields.fractions(pa.array(["1.25", text]))
    assert caught.value.position == 1
    assert fields.fractions(pa.array(["1.25E+01", "1.2345E2", "5e-1"])).tolist() == [
        12.5,
        123.45,
        0.5,
    ]


WHOLE_CODES = [533946113, 533946114]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(20, 0)])
@pytest.mark.parametrize("coded", [False, True])
def test_whole_codes_are_read_in_every_type(kind, coded):
    """A code that is missing somewhere makes floats of all of them in pandas."""
    codes = pa.array(WHOLE_CODES).cast(kind)
    table = pa.table({"code": codes.dictionary_encode() if coded else codes, "n": [12, 7]})
    assert read_table(table, grid="jis:half", code="code", value="n").count.tolist() == [12, 7]


@pytest.mark.parametrize(
    ("codes", "rule", "row"),
    [
        (pa.array([533946113.0, None]), "code-missing", 2),
        (pa.array([533946113.0, np.nan]), "code-missing", 2),
        (pa.array([533946113.5, 533946114]), "code-decimal", 1),
        (pa.array(np.array(WHOLE_CODES, np.float32)), "code-rounded", 1),
        (pa.array([533946113, 2.0**60]), "code-rounded", 2),
    ],
    ids=str,
)
def test_codes_that_lost_something_are_refused(codes, rule, row):
    with refuses(InputError, rule) as caught:
        read_table(pa.table({"code": codes, "n": [12, 7]}), grid="jis:half", code="code", value="n")
    assert caught.value.row == row


TOWNS = {
    places: grid_of_units({"town": places}, "a test") for places in (("01100", "13101"), ("1100",))
}
"""Units by their codes."""


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint8(), pa.float64(), pa.decimal128(20, 0)])
@pytest.mark.parametrize("coded", [False, True])
def test_codes_that_may_begin_with_0_are_no_numbers(kind, coded):
    """The zoom that is named, or that the length of the others tells, would be another place."""
    codes = pa.array([213, 201]).cast(kind)
    rows = pa.table({"code": codes.dictionary_encode() if coded else codes, "n": [12, 7]})
    for grid in ("quadkey:3", "quadkey:4", TOWNS["01100", "13101"]):
        with refuses(InputError, "zeros-lost"):
            read_table(rows, grid=grid, code="code", value="n")


@pytest.mark.parametrize(
    ("codes", "grid"),
    [
        *((texts, "quadkey:4") for texts in (["0213", "1201"], ["1213", "1201"], ["0213", "0201"])),
        (["01100", "13101"], TOWNS["01100", "13101"]),
        (pa.array([1100.0]), TOWNS["1100",]),
        ([1100], TOWNS["1100",]),
    ],
)
def test_codes_as_texts_have_their_own_length(codes, grid):
    rows = pa.table({"code": codes, "n": [5] * len(codes)})
    asked = {"code": "code", "value": "n"}
    assert read_table(rows, grid=grid, **asked).count.tolist() == [5] * len(codes)
    if isinstance(grid, str):
        for zoom in (3, 5):
            with refuses(InputError, "quadkey-form"):
                read_table(rows, grid=f"quadkey:{zoom}", **asked)


LOST = [
    pa.array(np.array([2**24 + 2, 7], np.float32)),
    pa.array([2.0**53 + 2, 7]),
    pa.array(np.array([2050, 7], np.float16)),
]


@pytest.mark.parametrize("column", LOST, ids=lambda column: str(column.type))
def test_counts_that_may_have_lost_digits_are_refused(column):
    rows = pa.table({"code": WHOLE_CODES, "n": column})
    with refuses(InputError, "digits-lost") as caught:
        read_table(rows, grid="jis:half", code="code", value="n")
    assert caught.value.row == 1


@pytest.mark.parametrize("text", ["1.000", " 12.000 ", "+999.000"])
def test_a_count_that_is_one_or_a_thousand_is_asked_about(text):
    """Its mark may be a decimal point, or separate thousands, and a count of 1 would be no sum."""
    with refuses(CodeError, "count-with-point") as refused:
        fields.counts(pa.array(["7", text]))
    assert refused.value.position == 1
    number = int(text.split(".")[0])
    assert fields.counts(pa.array(["7", text]), point=True).tolist() == [7, number]
    assert CountParser(decimal=",").numbers(pa.array([text])).tolist() == [1000 * number]
    assert CountParser(decimal=".").numbers(pa.array([text])).tolist() == [number]


@pytest.mark.parametrize("text", ["1.000", "-1.000", "1,0", "1,000", "1.5"])
def test_an_index_with_a_mark_is_no_whole_number_for_sure(text):
    assert fields.indices(pa.array(["2", " 3 ", "4.0"])).tolist() == [2, 3, 4]
    with refuses(CodeError, "cell-index-not-whole") as refused:
        fields.indices(pa.array(["2", text]))
    assert refused.value.position == 1
