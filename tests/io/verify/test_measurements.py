"""A release's measurements that were changed are found out."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.io.verify.card import read_card
from geodp.io.verify.verify import verify
from geodp.io.verify.written import has_measurements
from tests.io.verify.forging import sign

GRID = geodp.Grid.regular((12, 9))


def publish(counts):
    return geodp.publish(
        geodp.CountTable.from_dense(counts, GRID),
        method="pyramid:setting=R",
        epsilon=1,
        key=geodp.NoiseKey(bytes(32)),
        measurements=16,
        contribution=1,
    )


@pytest.fixture(scope="module")
def release():
    return publish(np.random.default_rng(1).integers(0, 30, GRID.shape))


@pytest.fixture
def folder(release, shared, tmp_path):
    shared.copy(release, tmp_path / "out")
    return tmp_path / "out" / "public"


def refuse_or_name(folder, said):
    """Refuse to read the measurements, or name their file."""
    sign(folder)
    detail = " ".join(check.detail for check in verify(folder) if not check.ok)
    assert re.search(said, detail), detail


def with_scale(rows, scale):
    return rows.set_column(rows.schema.get_field_index("scale"), "scale", pa.array(scale))


def test_a_release_holds_what_it_says(folder):
    assert has_measurements(read_card(folder))
    found = {check.name: check for check in verify(folder)}
    assert all(check.ok for check in found.values())
    assert "2 of them complete" in found["measurements"].detail


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.slice(1), "Nodes of a complete level are missing"),
        (lambda rows: rows.slice(0, rows.num_rows - 1), "Nodes are missing or unexpected on level"),
        (
            lambda rows: pa.concat_tables([rows, rows.slice(rows.num_rows - 1)]),
            "declares more rows",
        ),
        (
            lambda rows: with_scale(rows, np.ones(rows.num_rows)),
            "holds: population.measurements.parquet",
        ),
        (lambda rows: rows.drop_columns(["value"]), "Measurements in .* cannot be read"),
        (lambda rows: rows.drop_columns(["law"]), "holds: population.measurements.parquet"),
    ],
)
def test_other_rows_are_found(folder, change, said):
    path = folder / "population.measurements.parquet"
    rows = pa.parquet.read_table(path)
    pa.parquet.write_table(change(rows), path)
    refuse_or_name(folder, said)


@pytest.mark.parametrize(("name", "value"), [("law", "Gauss"), ("complete", False), ("keys", 2)])
def test_another_codebook_is_found(folder, name, value):
    path = folder / "population.measurements.json"
    book = json.loads(path.read_text())
    book["levels"][0][name] = value
    path.write_text(json.dumps(book))
    refuse_or_name(folder, "[Mm]easurements|level")


def test_what_was_written_is_read_back(tmp_path):
    release = publish(np.eye(12, 9, dtype=int) * 40)
    release.write(tmp_path / "out")
    again = geodp.open(tmp_path / "out").measurements
    for own, read in zip(release.measurements.levels, again.levels, strict=True):
        assert (own.level, own.complete, own.bias) == (read.level, read.complete, read.bias)
        np.testing.assert_array_equal(own.node, read.node)
        np.testing.assert_array_equal(own.value, read.value)
    path = tmp_path / "out" / "public" / "population.measurements.parquet"
    rows = pa.parquet.read_table(path)
    for change in (rows.slice(1), rows.drop_columns(["value"])):
        pa.parquet.write_table(change, path)
        with pytest.raises(VerificationError):
            geodp.open(tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("keys", 3),
        ("keys", 1 << 62),
        ("keys_above", "1"),
        ("variance", "x"),
        ("parameter", "1/0"),
        ("nodes", -1),
        ("complete", None),
        ("measures", []),
        ("simulated", {"people": 1}),
    ],
)
def test_a_damaged_codebook_is_a_failed_check_and_refused(folder, name, value):
    path = folder / "population.measurements.json"
    book = json.loads(path.read_text())
    book["levels"][1][name] = value
    path.write_text(json.dumps(book))
    refuse_or_name(folder, "Measurements in")
    with pytest.raises(VerificationError, match="Measurements in"):
        geodp.open(folder)
