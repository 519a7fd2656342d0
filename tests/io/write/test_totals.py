"""The file of public totals of a release, and what is found when it was changed."""

import numpy as np
import pytest

import geodp
from geodp.io.verify import verify
from geodp.io.write.public_tables import totals_file
from geodp.table.public_totals import PublicTotals


@pytest.fixture
def folder(tmp_path):
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1))
    table = geodp.CountTable.from_dense(np.full(grid.shape, 9), grid)
    totals = PublicTotals.of(grid, {"52395000": 36, "52395001": 36}, "a book, page 7")
    geodp.publish(table, epsilon="1/10", totals=totals, contribution=1).write(tmp_path / "out")
    return tmp_path / "out" / "public"


def test_the_totals_are_written_and_verified(folder):
    assert (folder / totals_file("population")).read_text() == (
        "code,total\n52395000,36\n52395001,36\n"
    )
    found = {check.name: check for check in verify.verify(folder)}
    assert all(check.ok for check in found.values())
    assert found["public totals"].detail == "2 areas have exactly their public totals"


def test_measurements_beside_totals_are_of_what_is_published(tmp_path):
    """Nodes are visited where the release with its totals has somebody."""
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1))
    table = geodp.CountTable.from_keys(grid, [0, 1, 200], [40, 3, 5])
    row, col = np.array([[0, 0, 2, 2], [0, 2, 0, 2]])
    codes = [code[:8] for code in grid.places[0].format(row, col)]
    sums = PublicTotals.of(grid, dict.fromkeys(codes, 0), "a book").sums(table).tolist()
    totals = PublicTotals.of(grid, dict(zip(codes, sums, strict=True)), "a book")
    assert sums[1] == 0 < sums[0]
    key = geodp.NoiseKey(bytes(32))
    release = geodp.publish(
        table, epsilon="1/10", key=key, totals=totals, measurements=256, contribution=1
    )
    release.write(tmp_path / "out")
    assert all(check.ok for check in verify.verify(tmp_path / "out"))


def test_another_total_is_found(folder):
    path = folder / totals_file("population")
    path.write_text(path.read_text().replace("36", "35"))
    found = {check.name: check.ok for check in verify.verify(folder)}
    assert not found["public totals"]
