"""Files of noisy pairs: every pair once, and none of other blocks."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import VerificationError
from geodp.kinds.flows import files
from geodp.kinds.flows.files import name_file, read_noisy, read_prior, write_noisy
from geodp.kinds.flows.zones import Zones
from tests.kinds.flows.test_publish import GRID, publish
from tests.refusals import refuses

PLACES = ["origin_row", "origin_col", "destination_row", "destination_col"]


def test_all_pairs_are_listed_with_their_places(tmp_path):
    release = publish()
    entries = write_noisy(release.noisy, tmp_path)
    assert [one.name for one in entries] == ["pairs-4.parquet", "pairs-8.parquet"]
    for one in release.noisy:
        rows = pq.read_table(tmp_path / name_file(one.blocks.side))
        assert rows.schema.names == [*PLACES, "noisy"]
        place = np.stack([rows[name].to_numpy() for name in PLACES])
        assert len({*map(tuple, place.T.tolist())}) == one.noisy.size
        assert rows["noisy"].to_numpy().tolist() == one.noisy.reshape(-1).tolist()
        again = read_noisy(tmp_path / name_file(one.blocks.side), replace(one, noisy=None))
        assert np.array_equal(again.noisy, one.noisy)
        assert (again.variance, again.normal) == (one.variance, one.normal)


def test_pairs_are_written_and_read_some_at_a_time(tmp_path, monkeypatch):
    """Files are those of a table of all pairs, whatever is held of it."""
    release = publish()
    one = release.noisy[0]
    monkeypatch.setattr(files, "PAIRS", 100)
    write_noisy([one], tmp_path)
    path = tmp_path / name_file(one.blocks.side)
    rows = pq.read_table(path)
    pq.write_table(rows, tmp_path / "again.parquet", compression="zstd", row_group_size=100)
    assert path.read_bytes() == (tmp_path / "again.parquet").read_bytes()
    assert np.array_equal(read_noisy(path, one).noisy, one.noisy)
    pq.write_table(rows.take([*range(rows.num_rows - 1), 0]), path)
    with pytest.raises(ValueError, match="other pairs"):
        read_noisy(path, one)


def test_pairs_of_other_blocks_are_refused(tmp_path):
    release = publish()
    write_noisy(release.noisy, tmp_path)
    fine, coarse = (
        replace(release.noisy[0], blocks=Zones.of(GRID).blocks(side)) for side in (2, 8)
    )
    with pytest.raises(ValueError, match="other pairs"):
        read_noisy(tmp_path / "pairs-4.parquet", fine)
    # Of more pairs than there are, none is read.
    with refuses(VerificationError, "rows-above-possible: pairs-4.parquet"):
        read_noisy(tmp_path / "pairs-4.parquet", coarse)


def test_a_prior_that_repeats_a_flow_is_read_no_further(tmp_path, monkeypatch):
    zones, path, read = Zones.of(GRID), tmp_path / "prior.parquet", []
    rows = files.BATCH * 4
    names = [*PLACES, "trips"]
    columns = [*[pa.array(np.zeros(rows, np.int32))] * 4, pa.array(np.ones(rows, np.int64))]
    pq.write_table(pa.table(columns, names), path, compression="zstd")
    find = files._find_zones
    monkeypatch.setattr(files, "_find_zones", lambda *one: read.append(one[1]) or find(*one))
    with pytest.raises(ValueError, match="another order"):
        read_prior(path, zones, "a survey")
    assert read == ["origin", "destination"]
