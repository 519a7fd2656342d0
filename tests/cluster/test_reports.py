"""Reports of devices that workers add up."""

import numpy as np
import pytest

import geodp
from geodp.cluster.api import aggregate
from geodp.errors import InputError, UsageError
from geodp.local.coins import FixedCoins
from geodp.local.files import write_reports
from tests.refusals import refuses

pytestmark = [pytest.mark.law, pytest.mark.timeout(900)]

GRID = geodp.Grid.regular((64, 64))


@pytest.fixture(scope="module", params=["counts:chain=2-4", "haar"])
def collected(request, tmp_path_factory):
    """A round, files of 20,000 reports, and their sums on one machine."""
    plan = geodp.local.plan(GRID, devices=20_000, epsilon=1, protocol=request.param, depth=6)
    round_, folder = geodp.local.open_round(plan), tmp_path_factory.mktemp("reports")
    draw = np.random.default_rng(3)
    coins = FixedCoins(draw.integers(0, 1 << 32, 200_000, dtype=np.uint64).astype(np.uint32))
    reports = geodp.local.randomize(round_, draw.integers(0, 64, (2, 20_000)), coins)
    files = [folder / f"{i:02}.parquet" for i in range(19)]
    for path, piece in zip(files, np.array_split(reports, 19), strict=True):
        write_reports(path, round_.digest, piece)
    return round_, files, geodp.local.aggregate(round_, files)


def test_workers_find_the_sums_of_one_machine(cluster, collected):
    round_, files, alone = collected
    found = aggregate(cluster(2), round_, files[::-1])
    assert found.files == alone.files
    ours, theirs = (geodp.local.publish(round_, sums).table for sums in (found, alone))
    assert np.array_equal(ours.key, theirs.key)
    assert np.array_equal(ours.count, theirs.count)
    assert ours.count.sum() == 20_000


def test_what_is_wrong_with_a_file_is_said_by_its_name(cluster, collected, tmp_path):
    round_, files, _ = collected
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(files[0].read_bytes()[:-20])
    with refuses(InputError, r"reports-damaged: cut\.parquet"):
        aggregate(cluster(2), round_, [files[1], cut])
    with refuses(UsageError, "reports-added-twice"):
        aggregate(cluster(2), round_, [files[1], files[2], files[1]])
    with refuses(UsageError, "reports-missing"):
        aggregate(cluster(2), round_, [])
