"""What is believed of a file stands in its source, with who says it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp

KANTO = geodp.Grid.mesh("jis:half", bounds=(138.0, 35.0, 141.2, 37.1333333333))
CODES = ("533946112", "533946113")


def _facts(path, **options):
    table = geodp.read_table(path, grid=KANTO, code="code", value="n", **options)
    (source,) = table.reading.sources
    return {fact.field: (fact.value, fact.known_by) for fact in source.facts}


@pytest.mark.parametrize("encoding", [None, "cp932"])
def test_a_text_tells_its_encoding_and_its_delimiter_and_who_says_them(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_text("code;n;町\n" + "".join(f"{code};5;区\n" for code in CODES), encoding="cp932")
    facts = _facts(path, encoding=encoding, delimiter=";")
    assert facts["encoding"] == ("cp932", "values" if encoding is None else "operator")
    assert facts["delimiter"] == (";", "operator")
    assert facts["format"] == ("delimited text", "values")


def test_parquet_tells_its_records_and_the_types_of_its_columns(tmp_path):
    pq.write_table(pa.table({"code": CODES, "n": pa.array([1, 2], pa.int16())}), tmp_path / "a.pq")
    facts = _facts(tmp_path / "a.pq")
    assert facts["records declared"] == ("2", "file")
    assert facts["type of column n"] == ("int16", "file")
    assert facts["type of column code"] == ("string", "file")


def test_a_table_in_memory_says_that_it_is_one():
    assert _facts(pa.table({"code": CODES, "n": [1, 2]}))["format"][0] == "table in memory"
