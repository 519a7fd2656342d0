"""The readers give back what was written, whatever the layout, encoding and packing."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.table import read_mesh, read_table
from geodp.table.counts import CountTable
from tests.io.read.dialects import same
from tests.refusals import refuses

WINDOW = Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))
CODES = ["533946113", "533946114", "533900001"]
LABELS = ",,,,　人口（総数）,　人口（総数）　男,　人口（総数）　女"
COLUMNS = "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001,T002,T003"
BODY = [f"{CODES[0]},1,,{CODES[1]},30,10,20", f"{CODES[1]},2,{CODES[0]},,5,*,*"]
BODY += [f"{CODES[2]},0,,,7,7,-"]
TOTAL, MALE, FEMALE = "人口（総数）", "人口（総数）　男", "人口（総数）　女"


def counts(table: CountTable) -> dict[str, int | tuple[int, ...]]:
    """Counts by code, over the attributes' labels."""
    dense, grid = table.to_dense(), table.grid
    row, col = np.nonzero(dense.any(axis=2) if dense.ndim > 2 else dense)
    codes = grid.places[0].format(row, col).tolist()
    return dict(zip(codes, dense[row, col].tolist(), strict=True))


def official(folder: Path, lines: list[str], encoding: str = "cp932", name: str = "t.txt") -> Path:
    path = folder / name
    path.write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return path


@pytest.mark.parametrize(
    ("encoding", "value"),
    [
        *(("cp932", value) for value in (TOTAL, f"　{TOTAL}", "人口(総数)", "T001", "t001")),
        *((encoding, TOTAL) for encoding in ("utf-8", "utf-8-sig")),
    ],
)
def test_the_official_layout(encoding, value, tmp_path):
    path = official(tmp_path, [COLUMNS, LABELS, *BODY], encoding)
    expected = {CODES[0]: 30, CODES[1]: 5, CODES[2]: 7}
    assert counts(read_mesh(path, grid=WINDOW, value=value)) == expected


def test_repeated_header_rows_of_joined_files(tmp_path):
    """Labels under names that are there once are left out; names may begin another table."""
    path = official(tmp_path, [COLUMNS, LABELS, BODY[0], LABELS, BODY[1], BODY[2]])
    assert read_mesh(path, grid="jis:half", value="T001").count.sum() == 42
    for other in (COLUMNS, COLUMNS.replace("T001", "T009")):
        path = official(tmp_path, [COLUMNS, LABELS, *BODY, other, LABELS, BODY[2]])
        with refuses(InputError, "header-repeated: row 6: "):
            read_mesh(path, grid="jis:half", value="T001")
        with refuses(InputError, "header-repeated: row 6: "):
            inspect(path)


@pytest.mark.parametrize("text", [f"{COLUMNS}\r\n{LABELS}", f"{COLUMNS}\r\n{LABELS}\r\n"])
def test_a_header_alone_is_an_empty_table(text, tmp_path):
    (tmp_path / "t.txt").write_bytes(text.encode("cp932"))
    table = read_mesh(tmp_path / "t.txt", grid="jis:half", value="T001")
    assert (table.key.size, table.grid.size) == (0, 6240 * 5120)


def test_several_values_become_an_attribute(tmp_path):
    path = official(tmp_path, [COLUMNS, LABELS, *BODY])
    values = [MALE, FEMALE]
    table = read_mesh(path, grid=WINDOW, value=values, by="sex", suppressed="zero")
    assert table.grid.attributes[0].labels == tuple(values)
    assert table.bound is None
    assert counts(table) == {CODES[0]: [10, 20], CODES[2]: [7, 0]}
    own = WINDOW.with_attribute("sex", ["m", "f"])
    for pairs in (values[::-1], values):
        paired = dict(zip(("f", "m"), pairs, strict=True))
        again = read_mesh(path, grid=own, value=paired, suppressed="zero")
        assert (counts(again) == counts(table)) == (pairs == values[::-1])
    for several in ([TOTAL, MALE], [MALE, TOTAL, FEMALE]):
        assert read_mesh(path, grid=WINDOW, value=several, by="a", suppressed="zero").bound is None


def test_domains_are_public(tmp_path):
    """The rows never shape the grid; a crop drops what is outside."""
    path = official(tmp_path, [COLUMNS, LABELS, *BODY, "644142881,0,,,9,4,5"])
    one = read_mesh(path, grid="jis:half", value="T001", bounds=(139, 35 + 1 / 3, 140, 36))
    assert (one.grid, one.count.sum()) == (WINDOW, 42)
    for primary in ("5339", 5339):
        assert read_mesh(path, grid="jis:half", value="T001", primary=primary).grid == WINDOW
    two = read_mesh(path, grid="jis:half", value="T001", primary=["5339", 6441])
    assert two.grid.size == 2 * 160 * 160
    assert two.grid.mask.source == "primary meshes 5339 6441 (JIS X 0410)"
    assert two.count.sum() == 51
    both = read_mesh(path, grid="jis:half", value="T001", primary=[5339, 5340, 5340])
    assert both.grid.mask is None
    assert both.grid.shape == (160, 320)


CENTRES = Grid.regular((6, 8), crs="EPSG:3035", transform=(250, 0, 4e6, 0, 250, 3e6))
SOUTHWARDS = Grid.regular((6, 8), crs="EPSG:3035", transform=(250, 0, 4e6, 0, -250, 3.0015e6))
MESH = Grid.mesh("jis:eighth", bounds=(139, 35, 139 + 8 / 640, 35 + 6 / 960))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    grid=st.sampled_from([CENTRES, SOUTHWARDS, MESH]),
    anchor=st.sampled_from(["centre", "corner", "index"]),
    kind=st.sampled_from([",", "parquet"]),
    cells=st.dictionaries(st.integers(0, 47), st.integers(0, 10**9)),
)
def test_coordinates_give_the_cell(grid, anchor, kind, cells, tmp_path):
    row, col = np.divmod(np.array(list(cells), np.int64), 8)
    edge_x, edge_y = grid.places[0].edges()
    if anchor == "index":
        x, y = col, row
    elif anchor == "corner":
        x, y = edge_x[col], np.minimum(edge_y[row], edge_y[row + 1])
    else:
        x, y = (edge_x[col] + edge_x[col + 1]) / 2, (edge_y[row] + edge_y[row + 1]) / 2
    n = np.array(list(cells.values()), np.int64)
    path = tmp_path / "t"
    if kind == "parquet":
        pq.write_table(pa.table({"X": x, "Y": y, "N": n}), path)
    else:
        lines = [f"{a:.7f},{b:.7f},{c}" for a, b, c in zip(x, y, n, strict=True)]
        path.write_text("\n".join(["X,Y,N", *lines]))
    table = read_table(path, grid=grid, value="n", x="x", y="y", anchor=anchor)
    expected = np.zeros((6, 8), np.int64)
    expected[row, col] = n
    np.testing.assert_array_equal(table.to_dense(), expected)


def test_integers_are_filtered_exactly(tmp_path):
    big = 2**53
    table = pa.table({"code": CODES, "n": [1, 2, 4], "day": [big, big + 1, big + 1]})
    call = {"grid": "jis:half", "code": "code", "value": "n"}
    for wanted, total in ((big, 1), (str(big + 1), 6), ("1.5", 0), (2**70, 0), ("1e99999999", 0)):
        assert read_table(table, where={"day": wanted}, **call).count.sum() == total
    with refuses(UsageError, "where-needs-number"):
        read_table(table, where={"day": "nan"}, **call)


@pytest.mark.parametrize(
    "row",
    [
        *("Tanaka,Tokyo,female", "Tanaka,2020-01-05 10:11,female", "Tanaka,1kmN2599E4695,female"),
        *("Tanaka,POINT (139.7 35.6),female", "Tanaka,<b>,female", "Tanaka,35.681236,female"),
    ],
)
def test_a_first_row_of_data_is_not_shown(row, tmp_path):
    path = official(tmp_path, [row, row])
    with pytest.raises(InputError) as caught:
        read_table(path, grid="jis:half", code="cell", value="n")
    assert "Tanaka" not in str(caught.value)
    if row != "Tanaka,Tokyo,female":  # all of it could be names
        assert inspect(path)["tables"][0]["columns"] is None


@pytest.mark.parametrize("text", ["\t\n53394611\t5\n", ";;\n53394611;5;1\n"])
def test_a_first_row_without_a_name_is_said_to_be_no_header(text, tmp_path):
    (tmp_path / "in.csv").write_text(text)
    with refuses(InputError, "column-unknown|header-names-nothing") as caught:
        read_table(tmp_path / "in.csv", grid="jis:basic", value="n", code="code")
    assert "53394611" not in str(caught.value)


def test_a_row_of_labels_needs_a_key(tmp_path):
    path = official(tmp_path, ["id,a,b", ",Tanaka,female"])
    assert "Tanaka" not in str(inspect(path))


@pytest.mark.parametrize("above", ["", "\n", "\r\n\r\n", "\r\r\n", "\r\n\r\r\n", "\n\r\r\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_no_row_is_skipped_with_blank_lines_above(above, end, tmp_path):
    path = tmp_path / "a.csv"
    lines = ("code,n", f"{CODES[0]},5", f"{CODES[1]},7")
    path.write_bytes((above + "".join(line + end for line in lines)).encode())
    table = read_table(path, grid=WINDOW, code="code", value="n")
    assert table.count.tolist() == [5, 7]


def test_a_blank_line_that_ends_in_CR_alone_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(f"\rcode,n\n{CODES[0]},5\n{CODES[1]},7\n".encode())
    with refuses(InputError, "line-ends-mac"):
        read_table(path, grid=WINDOW, code="code", value="n")


ROWS = pa.table({"mesh": CODES[:2], "n": [8, 4], "x": [139.7, 139.8], "y": [35.7] * 2})


def test_the_front_door_is_the_reader_that_is_named():
    expected = geodp.read_table(ROWS, grid=WINDOW, code="mesh", value="n")
    assert same(geodp.read(ROWS, WINDOW, code="mesh", value="n"), expected)
    assert same(geodp.read(ROWS, WINDOW, reader="table", code="mesh", value="n"), expected)
    points = geodp.read_points(ROWS, grid=WINDOW, x="x", y="y")
    assert same(geodp.read(ROWS, WINDOW, reader="points", x="x", y="y"), points)
    assert points.count.tolist() == [1, 1]
    assert geodp.read(ROWS, "jis:half", code="mesh", value="n").grid == Grid.mesh("jis:half")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"code": "mesh", "value": "n", "lines": 3}, "option-not-for-reader: table: lines"),
        ({"value": "n", "person": "x"}, "option-not-for-reader: points: value; reader='table'.*"),
        ({"reader": "scroll"}, "reader-unknown"),
    ],
)
def test_what_is_missing_or_unknown_is_said(given, sentence):
    with refuses(UsageError, sentence):
        geodp.read(ROWS, WINDOW, **given)
