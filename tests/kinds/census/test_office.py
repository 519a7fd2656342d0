"""The columns that went in, as a release gives them back in the layout of their publisher."""

import zipfile
from dataclasses import replace

import geopandas
import pandas as pd
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.folder.formats import choose_exports, write_exports
from tests.kinds.census.offices import (
    MESH_COLUMNS,
    MESHES,
    SQUARE_COLUMNS,
    SQUARES,
    census_grid,
    publish_grid,
    publish_mesh,
)
from tests.refusals import refuses

HEADER = (
    "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001141001,T001141002,T001141003,T001141034,"
    "T001141035,T001141036\r\n"
    ",,,,　人口（総数）,　人口（総数）　男,　人口（総数）　女,　世帯総数,"
    "　一般世帯数,　１人世帯数　一般世帯数\r\n"
).encode("cp932")
"""The first lines of files of the bureau, for these columns."""


def export(release, folder):
    return write_exports({"": release.views()}, choose_exports("office"), folder)


def require_counts(release, grid, columns, path, code=None):
    """Require what is read of files by the publisher's own layout to be what was released."""
    cells = release.releases["persons"].table.key
    for one in columns:
        table = geodp.read_table(path, grid=grid, code=code, value=one.name)
        counts = release.count_cells(one, cells)
        assert table.counts_at(cells).tolist() == counts.tolist()
        assert table.count.sum() == counts.sum()


def test_mesh_statistics_come_out_as_they_went_in(release, tmp_path):
    assert {*export(release, tmp_path / "to")} == {
        "tblT001141H5339.zip",
        "tblT001141H5439.zip",
    }
    for path in (tmp_path / "to").iterdir():
        with zipfile.ZipFile(path) as archive:
            assert archive.namelist() == [f"{path.stem}.txt"]
            text = archive.read(f"{path.stem}.txt")
            # Whoever has the file alone reads in it what it is.
            assert b"Adding or removing one person" in archive.comment
        assert text.startswith(HEADER)
        rows = [line.split(b",") for line in text[len(HEADER) :].split(b"\r\n")]
        assert rows.pop() == [b""]
        assert [one[0] for one in rows] == sorted(one[0] for one in rows)
        assert {one[0][:4] for one in rows} == {path.stem[-4:].encode()}
        # Nothing is hidden, or counted elsewhere.
        assert {tuple(one[1:4]) for one in rows} == {(b"0", b"", b"")}
    files = [*map(str, (tmp_path / "to").iterdir())]
    require_counts(release, MESHES, MESH_COLUMNS, files)


@pytest.fixture(scope="module")
def squares(shared):
    return shared.make("census of squares", publish_grid)


def test_a_census_grid_comes_out_as_it_went_in(squares, tmp_path):
    names = ["ESTAT_Census_2021_V2.csv", "ESTAT_Census_2021_V2.gpkg"]
    assert [*export(squares, tmp_path / "to")] == names
    rows = pd.read_csv(tmp_path / "to" / names[0])
    layer = geopandas.read_file(tmp_path / "to" / names[1], layer="ESTAT_Census_2021_V2")
    assert rows.columns.tolist() == census_grid().columns.tolist()
    assert layer.columns.tolist() == [*rows.columns, "geometry"]
    assert rows.equals(pd.DataFrame(layer.drop(columns="geometry")).astype(rows.dtypes))
    assert rows.GRD_ID.is_unique
    assert rows.LAND_SURFACE.isna().all()
    flags = [one for one in rows if one.endswith("_CI")]
    assert (rows[flags] == 0).all(axis=None)
    assert (rows.POPULATED == 1).all()
    assert layer.crs.to_epsg() == 3035
    assert (layer.area == 1e6).all()
    corner = "CRS3035RES1000mN" + layer.bounds.miny.astype(int).astype(str)
    assert (corner + "E" + layer.bounds.minx.astype(int).astype(str) == layer.GRD_ID).all()
    for name in names:
        require_counts(squares, SQUARES, SQUARE_COLUMNS, tmp_path / "to" / name, "GRD_ID")


def test_what_has_no_layout_of_a_publisher_is_refused(release, squares, tmp_path):
    def require_refused(made, words):
        with refuses(UsageError, f"export-unfit: {words}"):
            export(made, tmp_path / "to")

    persons = release.releases["persons"]
    require_refused(persons, "only a whole table")
    unread = {**squares.releases, "persons": replace(squares.releases["persons"], reading=None)}
    require_refused(replace(squares, releases=unread), "none of the layouts census2021, estat")
    for codes in ([f"T00{i}141001" for i in range(6)], [""] * 6):
        columns = [replace(o, code=code) for o, code in zip(MESH_COLUMNS, codes, strict=True)]
        require_refused(publish_mesh(columns=columns), "columns of one table")


def test_names_that_no_file_can_have_are_refused_before_the_charge():
    men = replace(MESH_COLUMNS[1], code="")
    for columns, words in (
        ([replace(men, name="a"), replace(men, name="a_low")], "columns-of-one-name: a_low"),
        ([replace(men, name="a"), replace(men, name="A")], "columns-of-one-name"),
        ([replace(men, name="geometry")], "columns-of-one-name"),
        ([replace(men, name="a\n")], "census-columns"),
        ([replace(men, name="=1+1")], "name-is-formula"),
        ([men, replace(men, name="a", code=men.name)], "census-columns"),
        ([replace(men, name=str(i)) for i in range(500)], "census-columns-too-many"),
    ):
        with refuses(UsageError, words):
            publish_mesh(columns=columns)
