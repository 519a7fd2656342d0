"""What the readers say of contributions, and that a first row of data is never shown."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import InputError, UsageError
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.rows.span import is_name
from geodp.io.read.table import read_mesh, read_table
from tests.io.read.test_readers import BODY, CODES, COLUMNS, LABELS, WINDOW, official
from tests.refusals import refuses

TOTAL, MALE, FEMALE = "人口（総数）", "人口（総数）　男", "人口（総数）　女"


@pytest.mark.parametrize("values", [[TOTAL, MALE], [MALE, TOTAL, FEMALE], [MALE, FEMALE]])
def test_several_columns_have_no_bound(values: list[str], tmp_path: Path) -> None:
    path = official(tmp_path, [COLUMNS, LABELS, *BODY])
    table = read_mesh(path, grid="jis:half", value=values, by="a", suppressed="zero")
    assert table.bound is None


def test_pairs_have_no_bound(tmp_path: Path) -> None:
    path = official(tmp_path, ["o,d,n", f"{CODES[0]},{CODES[1]},5"])
    columns = {"origin": "o", "destination": "d"}
    assert read_table(path, grid=WINDOW.pairs(), value="n", columns=columns).bound is None


@pytest.mark.parametrize("primary", ["5339", 5339])
def test_one_primary_mesh(primary: Any, tmp_path: Path) -> None:
    path = official(tmp_path, [COLUMNS, LABELS, *BODY])
    assert read_mesh(path, grid="jis:half", value="T001", primary=primary).grid == WINDOW


def test_integers_are_filtered_exactly(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    big = 2**53
    days = pa.array([big, big + 1, big + 1])
    pq.write_table(pa.table({"code": CODES, "n": [1, 2, 4], "day": days}), path)
    call: dict[str, Any] = {"grid": "jis:half", "code": "code", "value": "n"}
    for wanted, total in ((big, 1), (str(big + 1), 6), ("1.5", 0), (2**70, 0), ("1e99999999", 0)):
        assert read_table(path, where={"day": wanted}, **call).count.sum() == total
    with refuses(UsageError, "where-needs-number"):
        read_table(path, where={"day": "nan"}, **call)


@pytest.mark.parametrize(
    "row",
    [
        "Tanaka,Tokyo,female",
        "Tanaka,2020-01-05 10:11,female",
        "Tanaka,1kmN2599E4695,female",
        "Tanaka,POINT (139.7 35.6),female",
        "Tanaka,<b>,female",
        "Tanaka,35.681236,female",
    ],
)
def test_a_first_row_of_data_is_not_shown(row: str, tmp_path: Path) -> None:
    path = official(tmp_path, [row, row])
    with pytest.raises(InputError) as caught:
        read_table(path, grid="jis:half", code="cell", value="n")
    assert "Tanaka" not in str(caught.value)
    if row != "Tanaka,Tokyo,female":  # all of it could be names
        assert inspect(path)["tables"][0]["columns"] is None


def test_a_row_of_labels_needs_a_key(tmp_path: Path) -> None:
    path = official(tmp_path, ["id,a,b", ",Tanaka,female"])
    assert "Tanaka" not in str(inspect(path))


def test_names() -> None:
    assert all(
        map(is_name, ["KEY_CODE", "", "T001141001", "性別", "age 10-14", "_id", "Gitter_ID_1km"])
    )
    assert not any(map(is_name, ["53394611", "1kmN2E4", "DE_1kmN2E4", "a 10:11", "[x]", "-1"]))


@pytest.mark.parametrize("above", ["", "\n", "\r\n\r\n", "\r\r\n", "\r\n\r\r\n", "\n\r\r\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_no_row_is_skipped_with_blank_lines_above(above: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = ("code,n", f"{CODES[0]},5", f"{CODES[1]},7")
    path.write_bytes((above + "".join(line + end for line in lines)).encode())
    table = read_table(path, grid=WINDOW, code="code", value="n")
    assert table.count.tolist() == [5, 7]


def test_a_blank_line_that_ends_in_CR_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"\rcode,n\n{CODES[0]},5\n{CODES[1]},7\n".encode())
    with refuses(InputError, "line-ends-mac"):
        read_table(path, grid=WINDOW, code="code", value="n")
