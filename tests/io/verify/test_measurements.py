"""A release's measurements that were changed are found out."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.io.verify.verify import verify
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
