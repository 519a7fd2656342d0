"""A cell of a layout with a row for each country is there once for each of them."""

import pandas
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.layout.presets import find_preset
from geodp.io.read.layout.propose import propose
from geodp.io.read.table import read_table
from tests.refusals import refuses

HEADERS = {
    "GRD_ID,TOT_P,CNTR_CODE,METHD_CL": "TOT_P",
    "GRD_ID,TOT_P_2018,CNTR_ID,Date": "TOT_P_2018",
    "GRD_ID,TOT_P_2018,Country,Date": "TOT_P_2018",
}
ROWS = ["1kmN2599E4695,4,DE,A", "1kmN2599E4695,3,LU,A", "1kmN2600E4695,5,DE,A"]
EVERY = pytest.mark.parametrize(("header", "value"), HEADERS.items())


def count(source, value, **more):
    given = {"grid": "inspire:1km", "code": "GRD_ID", "value": value, "duplicates": "sum"}
    return read_table(source, **{**given, **more})


@pytest.fixture
def write(tmp_path):
    def written(header, rows, name="a.csv"):
        path = tmp_path / name
        path.write_text("\n".join([header, *rows, ""]))
        return path

    return written


@EVERY
def test_the_countries_of_a_cell_add_up(header, value, write):
    assert count(write(header, ROWS), value).count.tolist() == [7, 5]
    blank = [row.replace("LU", "") for row in ROWS]
    assert count(write(header, blank), value).count.tolist() == [7, 5]


@EVERY
@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([*ROWS, ROWS[0]], 5),
        ([*ROWS, *ROWS], 5),
        ([ROWS[0], *ROWS], 3),
        ([*ROWS, "1kmN2599E4695,9,DE,B"], 5),
        ([*ROWS, "CRS3035RES1000mN2599000E4695000,4, de ,A"], 5),
        ([*ROWS, "1kmN2599E4695,4,ＤＥ,A"], 5),
        ([*ROWS, "1kmN2600E4695,0,,A", "1kmN2600E4695,0,,A"], 6),
    ],
)
def test_a_country_of_a_cell_twice_is_refused(header, value, rows, line, write):
    with refuses(InputError, "cell-part-repeated") as caught:
        count(write(header, rows), value)
    assert caught.value.row == line
    assert "LU" not in str(caught.value)


def test_so_is_a_copy_in_another_file_and_in_any_form(write, tmp_path):
    header = next(iter(HEADERS))
    path = write(header, ROWS)
    table = pyarrow.csv.read_csv(path)
    pq.write_table(pa.concat_tables([table, table]), tmp_path / "a.parquet")
    frame = pandas.read_csv(path)
    for source in (
        [path, write(header, ROWS[:1], "b.csv")],
        tmp_path / "a.parquet",
        pandas.concat([frame, frame]),
    ):
        with refuses(InputError, "cell-part-repeated"):
            count(source, "TOT_P")
    halves = [write(header, ROWS[:1], "c.csv"), write(header, ROWS[1:], "d.csv")]
    assert count(halves, "TOT_P").count.tolist() == [7, 5]


def test_rows_out_of_the_domain_are_parts_of_no_cell(write):
    path = write(next(iter(HEADERS)), [*ROWS, "1kmN3000E4695,4,DE,A", "1kmN3000E4695,4,DE,A"])
    near = Grid.mesh("inspire:1km", bounds=(4_600_000, 2_500_000, 4_800_000, 2_700_000))
    assert count(path, "TOT_P", grid=near, outside="drop").count.tolist() == [7, 5]
    with refuses(InputError, "cell-part-repeated"):
        count(path, "TOT_P")


def test_other_tables_are_added_up_as_they_are(write):
    path = write("GRD_ID,persons,CNTR_CODE", ["1kmN2599E4695,4,DE", "1kmN2599E4695,4,DE"])
    assert count(path, "persons").count.tolist() == [8]


def test_more_countries_than_there_are_is_another_column(write):
    rows = [f"1kmN2599E4695,1,{number},A" for number in range(1025)]
    with refuses(InputError, "parts-too-many: 1,024"):
        count(write(next(iter(HEADERS)), rows), "TOT_P")


def test_without_a_column_of_countries_a_cell_is_there_once(write):
    for header, rows in (
        ("GRD_ID,TOT_P_2018,Date", ["1kmN2599E4695,4,2018"]),
        ("GRD_ID,T,M,F", ["CRS3035RES1000mN2599000E4695000,4,1,3"]),
    ):
        found = propose(write(header, rows), {"contribution": 1})
        assert found.questions == ()
        assert found.preset in ("geostat2018", "census2021")
        assert "duplicates" not in found.options


def test_only_presets_of_the_package_name_parts(tmp_path):
    (tmp_path / "own.toml").write_text('parts = "LAND"')
    with refuses(UsageError, "preset-states-parts"):
        find_preset(str(tmp_path / "own.toml"))
    assert all(find_preset(name).parts for name in ("geostat2011", "geostat2018"))
