"""Outlines read back from a release's folder: all of it, a part, and a forged one."""

import json
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.io.verify.verify import verify
from tests import tracts
from tests.io.verify.test_verify import other_files, write_checksums
from tests.refusals import refuses

FILE = "population.outlines.parquet"


@pytest.fixture
def public(shared, tmp_path):
    shutil.copytree(tracts.released(shared), tmp_path / "out")
    return tmp_path / "out" / "public"


def failures(public):
    return {check.name for check in verify(public) if not check.ok}


def test_outlines_of_others_are_refused(public):
    rows = pq.read_table(public / FILE)
    moved = rows.set_column(1, "geometry", rows["geometry"].take([*range(1, 12), 0]))
    pq.write_table(moved, public / FILE)
    assert "checksums" in failures(public)
    with refuses(VerificationError, "outlines-not-stated"):
        geodp.open(public)
    # A unit that is not listed lies nowhere, which the card does not say.
    pq.write_table(rows.slice(1), public / FILE)
    with refuses(VerificationError, "outlines-not-stated"):
        geodp.open(public)
    for other in (rows.take([1, 0, *range(2, 12)]), rows.take([*range(12), 11])):
        pq.write_table(other, public / FILE)
        with refuses(VerificationError, "outlines-of-other-units|rows-above-possible"):
            geodp.open(public)


def move(column):
    """Move the east of every box."""
    fields = {
        name: column.combine_chunks().field(name) for name in ("xmin", "ymin", "xmax", "ymax")
    }
    fields["xmax"] = pc.add(fields["xmax"], 1.0)
    return pa.StructArray.from_arrays([*fields.values()], names=[*fields])


def restate(rows, key, value):
    """State something else of the outlines in the metadata of GeoParquet."""
    geo = json.loads(rows.schema.metadata[b"geo"])
    geo["columns"]["geometry"][key] = value
    return rows.replace_schema_metadata({"geo": json.dumps(geo)})


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.set_column(2, "bbox", move(rows["bbox"])),
        lambda rows: restate(rows, "bbox", [0, 0, 1, 1]),
        lambda rows: restate(rows, "crs", None),
        lambda rows: restate(rows, "geometry_types", ["Point"]),
        lambda rows: rows.replace_schema_metadata(),
        lambda rows: rows.append_column("more", rows["code"]),
        lambda rows: rows.drop_columns("bbox"),
    ],
)
def test_boxes_and_extents_of_others_are_found(public, change):
    rows = pq.read_table(public / FILE)
    pq.write_table(change(rows), public / FILE)
    write_checksums(public)
    assert other_files(public) == {FILE}


def test_without_the_file_the_counts_are_read_all_the_same(public, tmp_path):
    rest = tmp_path / "rest"
    shutil.copytree(public, rest)
    (rest / FILE).unlink()
    opened = geodp.open(rest)
    assert opened.grid.outlines is None
    assert opened.table.total == geodp.open(public).table.total
