"""Files of noisy pairs: every pair once, and none of other blocks."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from geodp.features.flows.formats.noisy import name_file, read_noisy, write_noisy
from geodp.features.flows.zones import Zones
from tests.features.flows.test_publish import GRID, publish

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
        again = read_noisy(tmp_path / name_file(one.blocks.side), one.blocks, one.variance)
        assert np.array_equal(again.noisy, one.noisy)


@pytest.mark.parametrize("side", [2, 8])
def test_pairs_of_other_blocks_are_refused(tmp_path, side):
    release = publish()
    write_noisy(release.noisy, tmp_path)
    with pytest.raises(ValueError, match="other pairs"):
        read_noisy(tmp_path / "pairs-4.parquet", Zones.of(GRID).blocks(side), 1.0)
