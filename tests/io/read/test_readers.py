"""The readers give back what was written, whatever the layout, encoding and packing."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.table import read_mesh, read_table
from geodp.table.counts import CountTable
from tests.refusals import refuses

WINDOW = Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))
CODES = ["533946113", "533946114", "533900001"]
LABELS = ",,,,　人口（総数）,　人口（総数）　男,　人口（総数）　女"
COLUMNS = "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001,T002,T003"
BODY = [
    f"{CODES[0]},1,,{CODES[1]},30,10,20",
    f"{CODES[1]},2,{CODES[0]},,5,*,*",
    f"{CODES[2]},0,,,7,7,-",
]


def counts(table: CountTable) -> dict[str, list[int]]:
    """Counts by code, over the attributes' labels."""
    index = table.grid.decode(table.key)
    found: dict[str, list[int]] = {}
    codes = table.grid.places[0].format(index[0], index[1])
    for code, label, count in zip(codes, index[-1], table.count, strict=True):
        cell = found.setdefault(str(code), [0] * table.grid.shape[-1] if index.shape[0] > 2 else [])
        if index.shape[0] > 2:
            cell[label] = int(count)
        else:
            cell.append(int(count))
    return found


def official(folder: Path, lines: list[str], encoding: str = "cp932", name: str = "t.txt") -> Path:
    path = folder / name
    path.write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return path


def test_the_official_layout(tmp_path: Path) -> None:
    path = official(tmp_path, [COLUMNS, LABELS, *BODY])
    expected = {CODES[0]: [30], CODES[1]: [5], CODES[2]: [7]}
    assert counts(read_mesh(path, grid="jis:half", value="人口（総数）")) == expected


@pytest.mark.parametrize("encoding", ["cp932", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("value", ["人口（総数）", "　人口（総数）", "人口(総数)", "T001", "t001"])
def test_encodings_and_names_of_a_value(encoding: str, value: str, tmp_path: Path) -> None:
    path = official(tmp_path, [COLUMNS, LABELS, *BODY], encoding)
    assert read_mesh(path, grid="jis:half", value=value).count.sum() == 42


def test_one_header_row_and_one_value(tmp_path: Path) -> None:
    path = official(tmp_path, ["key_code,T9", f"{CODES[0]},3", f"{CODES[1]},0"])
    assert counts(read_mesh(path, grid="jis:half")) == {CODES[0]: [3]}


def test_repeated_header_rows_of_joined_files(tmp_path: Path) -> None:
    """Labels under names that are there once are left out; names may begin another table."""
    path = official(tmp_path, [COLUMNS, LABELS, BODY[0], LABELS, BODY[1], BODY[2]])
    assert read_mesh(path, grid="jis:half", value="T001").count.sum() == 42
    for other in (COLUMNS, COLUMNS.replace("T001", "T009")):
        path = official(tmp_path, [COLUMNS, LABELS, *BODY, other, LABELS, BODY[2]])
        with refuses(InputError, "header-repeated: row 6: "):
            read_mesh(path, grid="jis:half", value="T001")
        with refuses(InputError, "header-repeated: row 6: "):
            inspect(path)


def test_a_header_alone_is_an_empty_table(tmp_path: Path) -> None:
    for end in ("", "\r\n"):
        path = tmp_path / "t.txt"
        path.write_bytes((COLUMNS + "\r\n" + LABELS + end).encode("cp932"))
        table = read_mesh(path, grid="jis:half", value="T001")
        assert (table.key.size, table.grid.size) == (0, 6240 * 5120)
    path.write_text("code,n")
    assert read_table(path, grid="jis:half", code="code", value="n").key.size == 0


def test_several_values_become_an_attribute(tmp_path: Path) -> None:
    path = official(tmp_path, [COLUMNS, LABELS, *BODY])
    values = ["人口（総数）　男", "人口（総数）　女"]
    table = read_mesh(path, grid="jis:half", value=values, by="sex", suppressed="zero")
    assert table.grid.attributes[0].labels == tuple(values)
    assert counts(table) == {CODES[0]: [10, 20], CODES[2]: [7, 0]}
    own = Grid.mesh("jis:half").with_attribute("sex", ["m", "f"])
    for pairs in (values[::-1], values):
        paired = dict(zip(("f", "m"), pairs, strict=True))
        again = read_mesh(path, grid=own, value=paired, suppressed="zero")
        assert (counts(again) == counts(table)) == (pairs == values[::-1])


def test_domains_are_public(tmp_path: Path) -> None:
    """The rows never shape the grid; a crop drops what is outside."""
    path = official(tmp_path, [COLUMNS, LABELS, *BODY, "644142881,0,,,9,4,5"])
    one = read_mesh(path, grid="jis:half", value="T001", bounds=(139, 35 + 1 / 3, 140, 36))
    assert one.grid == WINDOW
    assert one.count.sum() == 42
    two = read_mesh(path, grid="jis:half", value="T001", primary=["5339", 6441])
    assert two.grid.size == 2 * 160 * 160
    assert two.grid.mask.source == "primary meshes 5339 6441 (JIS X 0410)"
    assert two.count.sum() == 51
    both = read_mesh(path, grid="jis:half", value="T001", primary=[5339, 5340, 5340])
    assert both.grid.mask is None
    assert both.grid.shape == (160, 320)


def test_a_mesh_file_of_another_level(tmp_path: Path) -> None:
    path = official(tmp_path, ["KEY_CODE,T1", "53394611323,4", "53394611324,5"])
    assert read_mesh(path, grid="jis:eighth").count.tolist() == [4, 5]


CENTRES = Grid.regular((6, 8), crs="EPSG:3035", transform=(250, 0, 4e6, 0, 250, 3e6))
SOUTHWARDS = Grid.regular((6, 8), crs="EPSG:3035", transform=(250, 0, 4e6, 0, -250, 3.0015e6))
MESH = Grid.mesh("jis:eighth", bounds=(139, 35, 139 + 8 / 640, 35 + 6 / 960))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    grid=st.sampled_from([CENTRES, SOUTHWARDS, MESH]),
    anchor=st.sampled_from(["centre", "corner", "index"]),
    kind=st.sampled_from([",", ";", "\t", "parquet"]),
    cells=st.dictionaries(st.integers(0, 47), st.integers(0, 10**9)),
)
def test_coordinates_give_the_cell(
    grid: Grid, anchor: Any, kind: str, cells: dict[int, int], tmp_path: Path
) -> None:
    row, col = np.divmod(np.array(list(cells), np.int64), 8)
    edge_x, edge_y = grid.places[0].edges()
    if anchor == "index":
        x, y = col, row
    elif anchor == "corner":
        x, y = edge_x[col], np.minimum(edge_y[row], edge_y[row + 1])
    else:
        x, y = (edge_x[col] + edge_x[col + 1]) / 2, (edge_y[row] + edge_y[row + 1]) / 2
    n = np.array(list(cells.values()), np.int64)
    if kind == "parquet":
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"X": x, "Y": y, "N": n}), path)
    else:
        path = tmp_path / "t.csv"
        lines = [f"{a:.7f}{kind}{b:.7f}{kind}{c}" for a, b, c in zip(x, y, n, strict=True)]
        path.write_text("\n".join([f"X{kind}Y{kind}N", *lines]))
    table = read_table(path, grid=grid, value="n", x="x", y="y", anchor=anchor)
    expected = np.zeros((6, 8), np.int64)
    expected[row, col] = n
    np.testing.assert_array_equal(table.to_dense(), expected)


def test_origins_and_destinations(tmp_path: Path) -> None:
    path = official(tmp_path, ["o,d,n", f"{CODES[0]},{CODES[1]},5", f"{CODES[1]},{CODES[0]},6"])
    grid = WINDOW.pairs()
    table = read_table(path, grid=grid, value="n", columns={"origin": "o", "destination": "d"})
    row, col = WINDOW.places[0].parse(CODES[:2])
    expected = np.array([[*pair, *other] for pair, other in zip(
        np.stack([row, col], 1), np.stack([row, col], 1)[::-1], strict=True)])  # fmt: skip
    same = CountTable.from_index(grid, expected.T, [5, 6])
    np.testing.assert_array_equal(table.key, same.key)
    np.testing.assert_array_equal(table.count, same.count)
