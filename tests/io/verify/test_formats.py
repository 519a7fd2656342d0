"""``verify`` reads what ``publish --formats`` wrote: what was changed is found, in every format."""

import csv
import json
import shutil
import sqlite3
import struct
import sys
from contextlib import closing

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
from scipy.io import netcdf_file

from geodp.io.folder.formats import find_exports
from geodp.io.folder.manifest import sha256, sums_text
from geodp.io.verify.verify import verify
from geodp.release.opening import open_view
from tests.command import geodp as run

FILES = {
    "csv:estat": "n.estat.txt",
    "csv:excel": "n.excel.csv",
    "fgb": "n.fgb",
    "geojson": "n.geojson",
    "gpkg": "n.gpkg",
    "maplibre": "n.style.json",
    "netcdf": "n.nc",
    "parquet": "n.parquet",
    "pmtiles": "n.pmtiles",
    "qml": "n.qml",
    "stac": "n.stac.json",
    "xlsx": "n.xlsx",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A release with a folder of all formats."""
    folder = tmp_path_factory.mktemp("formats")
    rows = "".join(f"533946{y}{x},{400 + x * y}\n" for y in range(8) for x in range(8))
    (folder / "in.csv").write_text(f"mesh,n\n{rows}")
    (folder / "office.toml").write_text('title = "Cells"\nreference_date = "2024-05-01"\n')
    call = "--grid jis:basic --code mesh --value n --bounds 139.5 35.5 140 36 --contribution 1"
    place = "--metadata", folder / "office.toml", "--name", "n", "--output", folder / "out"
    done = run(
        *("publish", folder / "in.csv", *call.split(), "--epsilon", "1", *place),
        *("--formats", ",".join(FILES)),
    )
    assert done.returncode == 0, done.stderr
    # Matrices are of pairs of zones, and layouts of publishers of all columns of a census.
    assert {*FILES, "omx", "office"} == {*find_exports()}, "a new format has a row here"
    return folder / "out"


@pytest.fixture
def out(written, tmp_path):
    shutil.copytree(written, tmp_path / "out")
    return tmp_path / "out"


def list_again(out):
    """Make the checksums those of the files, as whoever changes one can."""
    folder = out / "formats"
    names = sorted(path.name for path in folder.iterdir() if path.name != "SHA256SUMS")
    (folder / "SHA256SUMS").write_text(sums_text({name: sha256(folder / name) for name in names}))


def asked(out):
    (found,) = (one for one in verify(out, None, open_view) if one.name == "formats")
    return found


def change_text(path, encoding, row, column, value=lambda text: str(int(text) + 1)):
    with path.open(encoding=encoding, newline="") as file:
        rows = [*csv.reader(file)]
    rows[row][column] = value(rows[row][column])
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file).writerows(rows)


def change_parquet(path):
    table = pq.read_table(path)
    count = table["n"].to_numpy().copy()
    count[3] += 1
    at = table.schema.get_field_index("n")
    pq.write_table(table.set_column(at, table.schema.field(at), pa.array(count)), path)


def run_sql(path, statement):
    with closing(sqlite3.connect(path)) as base, base:
        # Triggers call functions that only a GIS has.
        for name in ("ST_IsEmpty", "ST_MinX", "ST_MaxX", "ST_MinY", "ST_MaxY"):
            base.create_function(name, 1, lambda _shape: 0.0)
        base.execute(statement)


def edit_json(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def rewrite_fgb(path, change):
    meta, rows = pyogrio.raw.read_arrow(path)
    count = rows["n"].to_numpy().copy()
    count[3] += change
    at = rows.schema.get_field_index("n")
    order = np.arange(len(count))[::-1].copy()
    changed = rows.set_column(at, "n", pa.array(count)).take(pa.array(order))
    path.unlink()
    pyogrio.raw.write_arrow(
        changed,
        str(path),
        layer="n",
        driver="FlatGeobuf",
        geometry_name=meta["geometry_name"] or "wkb_geometry",
        geometry_type="Polygon",
        crs=meta["crs"],
        SPATIAL_INDEX="NO",
    )


def rewrite_xlsx(path, change):
    book = openpyxl.load_workbook(path)
    book.active["B4"] = book.active["B4"].value + change
    book.save(path)


def change_netcdf(path):
    with netcdf_file(path, "a", mmap=False) as file:
        counts = file.variables["count"].data
        at = np.unravel_index(int(counts.argmax()), counts.shape)
        counts[at] += 1


def widen_fgb(path):
    """State another extent, of the same rows, in the header."""
    data, (west, south, east, north) = path.read_bytes(), pyogrio.read_info(path)["total_bounds"]
    envelope = struct.pack("<4d", west, south, east, north)
    assert data.count(envelope) >= 1
    path.write_bytes(data.replace(envelope, struct.pack("<4d", west, south, east + 1, north), 1))


def edit_geo(path, change):
    """Change what the metadata of GeoParquet say of the geometry."""
    table = pq.read_table(path)
    geo = json.loads(table.schema.metadata[b"geo"])
    change(geo["columns"]["geometry"])
    said = {**table.schema.metadata, b"geo": json.dumps(geo).encode()}
    pq.write_table(table.replace_schema_metadata(said), path)


EXTENTS = {
    "gpkg": lambda path: run_sql(path, "UPDATE gpkg_contents SET max_x = max_x + 1"),
    "fgb": widen_fgb,
    "parquet": lambda path: edit_geo(path, lambda of: of["bbox"].__setitem__(2, 9e6)),
    "stac": lambda path: edit_json(path, lambda item: item["bbox"].__setitem__(2, 9)),
    "stac:proj": lambda path: edit_json(
        path, lambda item: item["properties"]["proj:bbox"].__setitem__(2, 9e6)
    ),
}
"""How files state another extent than the release has."""

CHANGES = {
    "csv:estat": lambda path: change_text(path, "cp932", 5, 4),
    "csv:excel": lambda path: change_text(path, "utf-8-sig", 4, 1),
    "fgb": lambda path: rewrite_fgb(path, 1),
    "geojson": lambda path: path.write_text(path.read_text().replace('"n": 4', '"n": 5')),
    "maplibre": lambda path: path.write_text(path.read_text().replace("#f1605d", "#f1605e")),
    "qml": lambda path: path.write_text(path.read_text().replace("241,96,93", "241,96,94")),
    "xlsx": lambda path: rewrite_xlsx(path, 1),
    "gpkg": lambda path: run_sql(path, "UPDATE n SET n = n + 1 WHERE rowid = 4"),
    "netcdf": change_netcdf,
    "parquet": change_parquet,
    "stac": lambda path: edit_json(path, lambda item: item["assets"]["n.csv"].update(href="x")),
}


def test_all_formats_hold_what_the_release_does(out):
    found = asked(out)
    assert found.ok, found.detail
    assert found.detail == f"{', '.join(FILES)}: what the release holds"
    done = run("verify", out)
    assert done.returncode == 0, done.stderr
    assert f"formats: {found.detail}" in done.stdout


@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_count_is_found(name, out):
    path = out / "formats" / FILES[name]
    CHANGES[name](path)
    found = asked(out)
    assert not found.ok
    assert found.detail == f"{path.name} was changed: its SHA-256 differs."
    list_again(out)
    found = asked(out)
    assert (found.ok, found.detail) == (False, f"{path.name} does not hold what the release does.")


@pytest.mark.parametrize("name", EXTENTS)
def test_another_extent_of_the_same_rows_is_found(name, out):
    file = FILES[name.partition(":")[0]]
    EXTENTS[name](out / "formats" / file)
    list_again(out)
    found = asked(out)
    assert (found.ok, file in found.detail) == (False, True)


def test_other_bytes_of_the_same_rows_are_the_same(out):
    folder = out / "formats"
    table = pq.read_table(folder / "n.parquet")
    pq.write_table(table, folder / "n.parquet", compression="zstd")
    rewrite_fgb(folder / "n.fgb", 0)
    rewrite_xlsx(folder / "n.xlsx", 0)
    collection = json.loads((folder / "n.geojson").read_text())
    (folder / "n.geojson").write_text(json.dumps(collection, indent=1))
    with closing(sqlite3.connect(folder / "n.gpkg")) as base:
        base.execute("VACUUM")
    item = json.loads((folder / "n.stac.json").read_text())
    (folder / "n.stac.json").write_text(json.dumps(item))
    with netcdf_file(folder / "n.nc", "a", mmap=False) as file:
        file.history = b"written by another version"
    list_again(out)
    found = asked(out)
    assert found.ok, found.detail
    assert found.detail == f"{', '.join(FILES)}: what the release holds"


def test_another_crs_is_found(out):
    edit_geo(out / "formats" / "n.parquet", lambda of: of.update(crs=None))
    list_again(out)
    assert not asked(out).ok


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda folder: (folder / "n.gpkg").unlink(), "lists other files"),
        (lambda folder: (folder / "more.csv").write_text("a"), "lists other files"),
        (lambda folder: (folder / "n.fgb").symlink_to(folder / "n.nc"), "link"),
    ],
)
def test_missing_and_foreign_files_are_found(change, rule, out):
    folder = out / "formats"
    if rule == "link":
        (folder / "n.fgb").unlink()
    change(folder)
    found = asked(out)
    assert not found.ok
    assert rule in found.detail


def test_a_file_that_no_format_writes_is_found(out):
    (out / "formats" / "more.csv").write_text("a")
    list_again(out)
    found = asked(out)
    assert (found.ok, found.detail) == (
        False,
        "No format of this release has these files: more.csv.",
    )
    done = run("verify", out)
    assert done.returncode == 3
    assert "formats" in done.stderr


def test_a_format_whose_library_is_missing_is_not_checked(out, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyogrio", None)
    found = asked(out)
    assert found.ok, found.detail
    assert "; not checked: fgb (FlatGeobuf needs pyogrio" in found.detail
    others = ", ".join(name for name in FILES if name not in ("fgb", "pmtiles"))
    assert found.detail.startswith(f"{others}: ")


def test_tiles_of_other_bytes_are_not_checked(out):
    path = out / "formats" / "n.pmtiles"
    path.write_bytes(path.read_bytes() + b" ")
    list_again(out)
    found = asked(out)
    assert found.ok
    assert "not checked: pmtiles (n.pmtiles has other bytes than GDAL here writes)" in found.detail


def test_without_sheets_checksums_are_asked_alone(out):
    (found,) = (one for one in verify(out) if one.name == "formats")
    assert found.ok
    assert "not checked" in found.detail
    CHANGES["csv:excel"](out / "formats" / "n.excel.csv")
    (found,) = (one for one in verify(out) if one.name == "formats")
    assert not found.ok


def test_levels_of_areas_are_compared_too(tmp_path):
    rows = "".join(f"533946{y}{x}{q},400\n" for y in range(8) for x in range(8) for q in "1234")
    (tmp_path / "in.csv").write_text(f"mesh,n\n{rows}")
    call = "--grid jis:half --order official --code mesh --value n --bounds 139.5 35.5 140 36"
    done = run(
        *("publish", tmp_path / "in.csv", *call.split(), "--contribution", "1", "--epsilon", "1"),
        *("--name", "n", "--output", tmp_path / "out", "--formats", "parquet,csv:excel"),
    )
    assert done.returncode == 0, done.stderr
    assert asked(tmp_path / "out").ok
    change_parquet(tmp_path / "out" / "formats" / "n-basic.parquet")
    list_again(tmp_path / "out")
    found = asked(tmp_path / "out")
    assert found.detail == "n-basic.parquet does not hold what the release does."
    (tmp_path / "out" / "formats" / "n-basic.parquet").unlink()
    list_again(tmp_path / "out")
    assert asked(tmp_path / "out").detail == "A level lacks its file of parquet."
