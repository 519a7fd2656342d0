"""A written release, opened again: it says what its files say."""

import shutil

import numpy as np
import pandas
import pytest

import geodp
from geodp.errors import UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.io.folder.kinds import list_kinds
from geodp.release.opening import find_part
from geodp.table.public_totals import PublicTotals
from tests.refusals import refuses
from tests.release.test_frames import GRIDS, KEY, METRES, release


@pytest.mark.parametrize("name", GRIDS)
def test_what_is_opened_is_what_was_written(name, tmp_path):
    made = release(GRIDS[name])
    made.write(tmp_path / "out", name="residents")
    again = geodp.open(tmp_path / "out")
    assert (again.name, again.event, again.grid) == ("residents", made.event, made.grid)
    assert np.array_equal(again.table.key, made.table.key)
    assert again.to_arrow().equals(made.to_arrow("residents"))
    assert again.card().files
    assert again.method == made.method
    cells = made.table.key[:5]
    assert again.estimate(cells) == made.estimate(cells)
    assert again.estimate(cells[:1]).count == made.estimate(cells[:1]).count


def test_public_totals_stay_exact(tmp_path):
    grid = Grid.mesh("jis:half", bounds=(139, 35, 139.125, 35.0833333333)).with_official_order()
    table = geodp.CountTable.from_index(grid, [[0, 3], [1, 5]], [70, 30])
    code = str(grid.places[0].format(np.array([0]), np.array([1]))[0])[:8]
    totals = PublicTotals.of(grid, {code: 70}, "the bulletin")
    made = geodp.publish(table, epsilon=1, key=KEY, totals=totals, contribution=1)
    made.write(tmp_path / "out")
    again = geodp.open(tmp_path / "out")
    assert again.estimate(code).standard_error == 0
    assert again.estimate(code).count == 70


def test_an_error_that_depends_on_the_data_stays_unknown(tmp_path):
    release(METRES, "ugrid").write(tmp_path / "out")
    again = geodp.open(tmp_path / "out")
    assert again.errors() is None
    assert set(again.to_pandas()) == {"code", "x", "y", "population"}
    pandas.testing.assert_frame_equal(again.to_pandas(), release(METRES, "ugrid").to_pandas())


def test_what_is_no_release_is_refused(tmp_path):
    with refuses(VerificationError, "folder-without-release: no release"):
        geodp.open(tmp_path)
    release(METRES).write(tmp_path / "out")
    shutil.copy(tmp_path / "out" / "public" / "population.csv", tmp_path / "out" / "public" / "x")
    (tmp_path / "out" / "public" / "population.parquet").write_bytes(b"none")
    with refuses(VerificationError, "release-not-read-back"):
        geodp.open(tmp_path / "out")


@pytest.mark.parametrize("kind", list_kinds().values(), ids=lambda kind: kind.name)
def test_a_kind_without_a_table_says_what_to_give(kind):
    with refuses(UsageError, f"kind-has-no-table: This is {kind.title}, which has no table"):
        kind.refuse_table()


def test_a_part_is_found_by_its_name(tmp_path):
    tables = [geodp.CountTable.from_dense(np.full((4, 4), 9), Grid.regular((4, 4)))] * 2
    terms = {"person": "all", "epsilon": 1, "contribution": 1}
    geodp.publish_series(tables, times=["2020", "2021"], **terms).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    assert find_part(tmp_path / "out") == (public, None)
    assert find_part(public, last=True) == (public / "2021", "2021")
    assert find_part(public, time="2020") == (public / "2020", "2020")
    for wrong, words in (
        ({"time": "2022"}, "its periods are 2020, 2021"),
        ({"time": "2020", "table": "a"}, "it has no tables"),
    ):
        with refuses(UsageError, f"release-part-unknown: .*{words}"):
            find_part(public, **wrong)
