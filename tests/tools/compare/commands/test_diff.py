"""``geodp diff``: changes of regions and of cells between two releases of one grid."""

import csv

import numpy as np
import pytest

import geodp
from geodp import compare
from geodp.table.display import show_estimate
from geodp.tools.compare.commands.diff import MAX_ROWS, diff
from tests.command import Runner
from tests.tools.compare.releases import released

GRID = geodp.Grid.mesh("jis:half", bounds=(139.0, 35.0, 139.25, 35 + 1 / 6))
AREA = "523940"
RUNNER = Runner(diff)
run, error_of, document_of = RUNNER.run, RUNNER.error_of, RUNNER.document_of


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Releases of 200 people in each cell and of 40 more, by three methods, and another grid."""
    folder = tmp_path_factory.mktemp("releases")
    for method in ("hay", "laplace", "pyramid"):
        for seed, (name, people) in enumerate((("old", 200), ("new", 240))):
            released(method, seed, people, grid=GRID).write(folder / f"{method}-{name}")
    released("hay", 1, 5).write(folder / "elsewhere")
    return folder


def pair(folders, method):
    return folders / f"{method}-old", folders / f"{method}-new"


@pytest.mark.parametrize("method", ["hay", "laplace", "pyramid"])
def test_an_area_changed_by_what_was_added(folders, method):
    (row,) = document_of(*pair(folders, method), "--area", AREA)["differences"]
    true = 40 * GRID.size // 4
    assert row["low"] <= true <= row["high"]
    assert row["value"] == row["new"] - row["old"]
    assert row["high"] - row["low"] < 2 * true
    assert row["standard_error"] > 0


@pytest.mark.parametrize("method", ["hay", "laplace", "pyramid"])
def test_nine_of_ten_cells_at_least_are_in_their_intervals(folders, method):
    rows = document_of(*pair(folders, method))["differences"]
    assert len({row["name"] for row in rows}) == GRID.size
    assert all(row["name"].startswith(("5239", "5339")) for row in rows)
    held = np.mean([row["low"] <= 40 <= row["high"] for row in rows])
    assert held > 0.9  # 0.95 less 3.7 standard errors of so many cells
    assert {row["basis"] for row in rows} <= {"long-tailed", "conservative"}


def test_a_clamped_cell_has_both_intervals(folders):
    old, new = (geodp.open(path) for path in pair(folders, "pyramid"))
    found = compare.estimate_cell_changes(old, new)
    (low, high), (new_low, new_high) = (one.intervals().of(found.key) for one in (old, new))
    assert found.basis == "conservative"
    assert (found.low <= new_low - high + 1e-6).all()
    assert (found.high >= new_high - low - 1e-6).all()


def test_the_screen_shows_the_cells_that_changed_most(folders):
    old, new = pair(folders, "hay")
    rows = document_of(old, new)["differences"]
    text = run(old, new).output
    assert f"Of {len(rows):,} rows, those that changed most" in text
    shown = [line.split()[0] for line in text.splitlines()[1 : MAX_ROWS + 1]]
    most = sorted(rows, key=lambda row: -abs(row["value"]))[:MAX_ROWS]
    assert {*shown} == {row["name"] for row in most}


def test_a_sheet_and_a_table_show_the_same(folders, tmp_path):
    output = tmp_path / "changes.csv"
    asked = (*pair(folders, "hay"), "--area", AREA)
    (row,) = document_of(*asked)["differences"]
    assert run(*asked, "--output", output).output == f"{output}\n"
    with output.open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert line == {name: str(value) for name, value in row.items()}
    assert "exists" in error_of(*asked, "--output", output)
    text = run(*asked).output
    assert show_estimate(row["value"], "+") in text
    assert "One interval each" in text


def test_what_cannot_be_compared_is_refused(folders):
    old, new = pair(folders, "hay")
    assert "nothing changed" in error_of(old, old)
    assert "different grids" in error_of(old, folders / "elsewhere")
    assert "not both" in error_of(old, new, "--json", "--output", "a.csv")
    assert "goes with --polygons" in error_of(old, new, "--polygon-name", "a")


def test_a_count_below_its_offices_limit_is_not_printed_nor_what_lies_between(tmp_path):
    for name, people, limit in (("old", 200, None), ("new", 60, 100)):
        counts = np.full(GRID.shape, people)
        table = geodp.CountTable.from_dense(counts, GRID)
        said = None if limit is None else {"display_below": limit}
        key = geodp.NoiseKey(name.encode().ljust(32))
        terms = {"epsilon": 5, "contribution": 1, "key": key, "metadata": said}
        geodp.publish(table, **{"contribution": 1, **terms}).write(tmp_path / name)
    cell = f"{AREA}001"
    asked = (tmp_path / "old", tmp_path / "new", "--area", cell, "--area", AREA)
    small, large = (line.split() for line in run(*asked).output.splitlines()[1:3])
    one, area = document_of(*asked)["differences"]
    assert 0 < one["new"] < 100 < one["old"]
    # The error, too, follows from the hidden count.
    old = show_estimate(one["old"])
    assert small == [cell, "count", "\N{EN DASH}", "\N{EN DASH}", old, "<100"]
    value, error, low, high = (
        show_estimate(area[name], sign)
        for name, sign in (("value", "+"), ("standard_error", ""), ("low", "+"), ("high", "+"))
    )
    counts = [show_estimate(area[name]) for name in ("old", "new")]
    assert large[:8] == [AREA, "count", value, error, low, "to", high, counts[0]]
    assert large[8] == counts[1]
