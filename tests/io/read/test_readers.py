"""The readers give back what was written, whatever the layout, encoding and packing."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geodp.errors import InputError, UsageError
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


def test_packings(tmp_path: Path) -> None:
    text = official(tmp_path, [COLUMNS, LABELS, *BODY]).read_bytes()
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress(text))
    archive = tmp_path / "a.zip"
    other = text.replace(b"5339", b"5340")
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr(".nfs0001", b"stray")
        members.writestr("__MACOSX/t.txt", b"stray")
        members.writestr("readme.pdf", b"stray")
        members.writestr("in/t.TXT", text)
        members.writestr("u.csv", other)
    assert read_mesh(packed, grid="jis:half", value="T001").count.sum() == 42
    assert read_mesh(str(archive), grid="jis:half", value="T001").count.sum() == 84
    names = [table["name"] for table in inspect(archive)["tables"]]
    assert names == [f"{archive} (in/t.TXT)", f"{archive} (u.csv)"]


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


@pytest.mark.parametrize("grid", [CENTRES, SOUTHWARDS, MESH], ids=["north", "south", "mesh"])
@pytest.mark.parametrize("anchor", ["centre", "corner", "index"])
@pytest.mark.parametrize("kind", [",", ";", "\t", "parquet"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
@given(cells=st.dictionaries(st.integers(0, 47), st.integers(0, 10**9)))
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


@pytest.mark.parametrize(
    ("kind", "column", "missing"),
    [
        ("text", ["5", "7.0", "2e2", " 1 "], []),
        ("text", ["5", "–", "-1", ""], ["–", -1, ""]),
        ("int8", [5, 7, -1, 0], [-1]),
        ("float64", [5.0, None, np.nan, -9999.0], ["", -9999]),
        ("decimal", [5, 7, 1, 0], []),
        ("dictionary", ["5", "5", "x", "1"], ["x"]),
    ],
)
def test_counts_as_they_are_written(kind: str, column: Any, missing: Any, tmp_path: Path) -> None:
    types = {"int8": pa.int8(), "float64": pa.float64(), "decimal": pa.decimal128(9, 2)}
    array = pa.array(column, types.get(kind, pa.string()))
    if kind == "dictionary":
        array = array.dictionary_encode()
    expected = [0 if v in (None, *missing, *map(str, missing)) else float(v) for v in column]
    expected = [0 if np.isnan(v) else v for v in expected]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": range(4), "y": [0] * 4, "n": array}), path)
    places: dict[str, Any] = {"grid": Grid.regular((1, 4)), "x": "x", "y": "y", "anchor": "index"}
    found = read_table(path, value="n", missing=missing, **places)
    assert found.to_dense()[0].tolist() == expected
    if kind == "text":
        path = tmp_path / "t.csv"
        for encoding in ("utf-8", "cp1252"):
            path.write_bytes(
                "\n".join(["x;y;n", *(f"{i};0;{v}" for i, v in enumerate(column))]).encode(encoding)
            )
            again = read_table(path, value="n", missing=missing, encoding=encoding, **places)
            assert again.to_dense().tolist() == found.to_dense().tolist()


def test_codes_attributes_and_filters(tmp_path: Path) -> None:
    grid = Grid.mesh("inspire:1km").with_attribute("性別", ["男", "女"])
    lines = [
        "GRD_ID,sex,year,T",
        "1kmN2599E4695,女,2020,4",
        "CRS3035RES1000mN2599000E4695000,男,2020,5",
        "1kmN2599E4695,女,2021,6",
        "1kmN2600E4695, 男 ,2020,1",
        "1kmN2600E4695,男,2020,1",
    ]
    for encoding in ("utf-8-sig", "cp932"):
        path = official(tmp_path, lines, encoding)
        table = read_table(
            path,
            grid=grid,
            value="t",
            code="grd_id",
            columns={"性別": "sex"},
            where={"year": 2020},
            duplicates="sum",
        )
        assert list(counts(table).values()) == [[5, 4], [2, 0]]
    columns = [
        list(column) for column in zip(*(line.split(",") for line in lines[1:]), strict=True)
    ]
    parquet = tmp_path / "t.parquet"
    years, people = pa.array(map(int, columns[2])), pa.array(map(int, columns[3]))
    pq.write_table(
        pa.table({"GRD_ID": columns[0], "sex": pa.array(columns[1]), "year": years, "T": people}),
        parquet,
    )
    again = read_table(
        parquet,
        grid=grid,
        value="T",
        code="GRD_ID",
        columns={"性別": "sex"},
        where={"year": "2020"},
        duplicates="sum",
    )
    np.testing.assert_array_equal(again.key, table.key)
    np.testing.assert_array_equal(again.count, table.count)


def test_filters_on_stored_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = {
        "code": CODES,
        "sex": [1, 2, 1],
        "day": pa.array(["a", "b", "a"]).dictionary_encode(),
        "n": [3, 4, 5],
    }
    pq.write_table(pa.table(columns), path)
    grid = Grid.mesh("jis:half").with_attribute("sex", ["1", "2"])
    options: dict[str, Any] = {
        "grid": grid,
        "code": "code",
        "value": "n",
        "columns": {"sex": "sex"},
    }
    some = read_table(path, where={"day": "a", "sex": 1}, **options)
    assert counts(some) == {CODES[0]: [3, 0], CODES[2]: [5, 0]}
    assert read_table(path, where={"day": "c"}, **options).key.size == 0
    with refuses(UsageError, "where-needs-number"):
        read_table(path, where={"sex": "f"}, **options)


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.string(), pa.large_string()])
def test_codes_as_numbers_or_text(kind: pa.DataType, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"m": pa.array(map(int, CODES)).cast(kind), "n": [1, 2, 3]}), path)
    table = read_table(path, grid="jis:half", code="m", value="n")
    assert counts(table) == {code: [i] for i, code in enumerate(CODES, start=1)}


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


def test_outside_rows_are_dropped_on_request(tmp_path: Path) -> None:
    path = official(tmp_path, ["code,n", f"{CODES[0]},5", "644142881,6", "644142881,7"])
    table = read_table(path, grid=WINDOW, code="code", value="n", outside="drop")
    assert table.count.tolist() == [5]
