"""The table of all numbers: in units of the amount, exact, with its intervals."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.io.verify.verify import verify
from tests.command import geodp as command
from tests.kinds.amounts.made import KEY, publish, rows


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


def test_a_raster_of_too_many_bands_is_left_out(tmp_path):
    ages = [str(age) for age in range(10)]
    data = rows(2000).append_column("age", pa.array(ages * 200))
    publish(data, by=["age"], labels={"age": ages}).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    (left_out,) = json.loads((public / "amounts.json").read_text())["left_out"]
    assert left_out["name"] == "amounts.tif"
    assert "at most 64 bands" in left_out["why"]
    assert not (public / "amounts.tif").exists()
    assert all(check.ok for check in verify(public))


def test_larger_squares_have_means_but_no_medians(written, tmp_path):
    done = command("export", written, "--to", "pmtiles", "--output", tmp_path / "other")
    alone = "mean" not in (written / "public" / "amounts.csv").read_text().partition("\n")[0]
    assert ("larger squares have no median" in done.stderr) is alone
    assert (tmp_path / "other" / "amounts.pmtiles").exists() is not alone


def test_a_spreadsheet_hides_all_numbers_of_small_counts(tmp_path):
    data = pa.table({"x": [0.5] * 4 + [9.5] * 500, "y": [0.5] * 504, "income": [300] * 504})
    publish(data, epsilon=20, key=KEY, metadata={"display_below": 10}).write(tmp_path / "out")
    path = tmp_path / "other"
    command("export", tmp_path / "out", "--to", "csv:excel", "--output", path)
    lines = (path / "amounts.excel.csv").read_text(encoding="utf-8-sig").splitlines()
    assert any(line.endswith("<10,,,,,,") for line in lines)
