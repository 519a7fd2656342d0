"""The table of all numbers: in units of the amount, exact, with its intervals."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from geodp.grid.region import Region
from tests.features.amounts.made import publish


def test_the_table_has_what_the_release_has(release, public):
    rows = pq.read_table(public / "amounts.parquet").to_pydict()
    key = release.count.table.key
    assert rows["count"] == release.count.table.count.tolist()
    if release.sum is not None:
        step = float(release.scale.step)
        expected = release.sum.table.counts_at(key) * step
        np.testing.assert_allclose(rows["sum"], expected)
        means = [np.nan if mean is None else mean for mean in rows["mean"]]
        known = ~np.isnan(means)
        assert known.any()
        exact = expected / rows["count"]
        np.testing.assert_allclose(np.array(means)[known], exact[known], atol=1e-3)
        lower, upper = (float(end) for end in release.scale.clip)
        for low, mean, high in zip(rows["mean_low"], rows["mean"], rows["mean_high"], strict=True):
            assert (low is None) == (high is None) == (mean is None)
            assert low is None or lower <= low <= mean <= high <= upper
    for name in ("count_0_to_100", "count_100_to_200"):
        assert (name in rows) == bool(release.classes) or release.scale.lower < 0
    assert ("median" in rows) == bool(release.classes)


def test_frames_have_the_rows_of_the_files(release, public):
    table = pq.read_table(public / "amounts.parquet")
    rows = release.to_arrow()
    assert rows.to_pydict() == {name: table[name].to_pylist() for name in rows.column_names}
    assert list(release.to_pandas()) == rows.column_names


def test_cells_have_the_intervals_of_their_region(release, public):
    rows = pq.read_table(public / "amounts.parquet").to_pydict()
    index = release.count.grid.decode(release.count.table.key[:40])
    regions = [Region.of_map(release.count.grid, *at[:, None]) for at in index.T]
    for i, one in enumerate(release.estimate_all(regions)):
        for name in ("mean", "median"):
            part = getattr(one, name)
            if name in rows:
                found = [rows[f"{name}{end}"][i] for end in ("", "_low", "_high")]
                told = part and (part.value, part.low, part.high)
                assert found == ([None] * 3 if told is None else pytest.approx(told, abs=0.01))


@pytest.mark.parametrize("step", ["1", "0.01", "5", "1/3"])
def test_sums_are_whole_steps(step, tmp_path):
    clip = (0, 1000) if step != "1/3" else (0, 999)
    release = publish(step=step, clip=clip)
    release.write(tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "public" / "amounts.parquet")
    whole = step in ("1", "5")
    assert str(table.schema.field("sum").type) == ("int64" if whole else "double")
    steps = np.array(table["sum"].to_pylist()) / float(release.scale.step)
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
