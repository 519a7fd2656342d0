"""Commands that use releases: labels, periods, options of other kinds, and what is estimated."""

import json

import numpy as np
import pytest

import geodp
from geodp.cli.commands.estimate import estimate
from geodp.cli.regions import keep_shapes, read_shapes
from geodp.kinds.households.households import Households
from geodp.tools.compare.commands.compare import compare
from geodp.tools.compare.commands.diff import diff
from tests.command import Runner, figures_of

GRID = geodp.Grid.mesh("jis:basic", bounds=(139.5, 35.5, 139.55, 35.525))
CELLS = ("53392400", "53392401", "53392402")
AREAS = [word for cell in CELLS for word in ("--area", cell)]
ESTIMATE, COMPARE, DIFF = Runner(estimate), Runner(compare), Runner(diff)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Households with a limit of display, counts by sex, and a smoothed series of counts."""
    folder = tmp_path_factory.mktemp("releases")
    people, homes = (
        geodp.CountTable.from_dense(np.full(GRID.shape, n), GRID) for n in (9000, 4000)
    )
    for name in ("old", "new"):
        geodp.households.publish(
            people, homes, protect="person", epsilon=1, contribution=1,
            metadata={"display_below": 10},
        ).write(folder / name)  # fmt: skip
    by_sex = GRID.with_attribute("sex", ["f", "m"])
    table = geodp.CountTable.from_dense(np.full(by_sex.shape, 500) + 300 * np.arange(2), by_sex)
    geodp.publish(table, epsilon=1, contribution=1).write(folder / "sex")
    series = geodp.publish_series(
        [homes, people], times=["2020", "2021"], person="all", epsilon=1, contribution=1
    )
    series.write(folder / "series")
    return folder


def test_areas_that_were_read_are_read_no_more(tmp_path):
    path = tmp_path / "towns.geojson"
    ring = [[139.5, 35.5], [139.52, 35.5], [139.52, 35.52], [139.5, 35.5]]
    path.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    options = {"area": CELLS[:1], "box": (), "polygons": path, "polygon_name": None}
    kept = keep_shapes(options, GRID)
    path.unlink()
    assert read_shapes(kept, GRID) == kept["area"]
    assert len(kept["area"]) == 2


@pytest.mark.parametrize(
    ("command", "folders", "calls"), [(COMPARE, ["old"], [3]), (DIFF, ["old", "new"], [3, 3])]
)
def test_each_region_of_a_release_is_estimated_once(folder, monkeypatch, command, folders, calls):
    """For all differences together, and for what a limit of display hides."""
    asked, estimate_all = [], Households.estimate_all

    def count(release, regions, **how):
        listed = [*regions]
        asked.append(len(listed))
        return estimate_all(release, listed, **how)

    monkeypatch.setattr(Households, "estimate_all", count)
    rows = command.document_of(*(folder / name for name in folders), *AREAS)["differences"]
    assert asked == calls
    assert len(rows) == 9


def test_labels_select_counts_and_are_compared(folder):
    area = ("--area", CELLS[0])
    women, all_of_them = (
        figures_of(json.dumps(ESTIMATE.document_of(folder / "sex", *area, *more)))[0]["count"]
        for more in (("--label", "sex=f"), ())
    )
    assert women["value"] < all_of_them["value"]
    (row,) = COMPARE.document_of(
        folder / "sex", *area, "--label", "sex=f", "--against", "sex=m", "--conservative"
    )["differences"]
    assert row["name"] == f"{CELLS[0]}: sex=m - sex=f"
    assert row["value"] == all_of_them["value"] - 2 * women["value"]


def test_a_series_of_counts_is_asked_for_times(folder):
    area = ("--area", CELLS[0])
    rows = ESTIMATE.document_of(folder / "series", *area)["estimates"]
    assert [row["time"] for row in rows] == ["2020", "2021"]
    (change,) = COMPARE.document_of(
        folder / "series", *area, "--time", "2020", "--time", "2021", "--conservative"
    )["differences"]
    assert change["value"] == rows[1]["value"] - rows[0]["value"]
    assert (
        "smoothed over time"
        in COMPARE.run(
            folder / "series", *area, "--time", "2020", "--time", "2021", "--conservative"
        ).output
    )
    for words in (("--time", "2020"), ("--time", "2020", "--time", "2020")):
        assert "--time twice" in COMPARE.error_of(folder / "series", *area, *words)
    unknown = ESTIMATE.error_of(folder / "series", *area, "--time", "2022")
    assert "There is no period 2022" in unknown
    assert "leave out --time" in ESTIMATE.error_of(folder / "sex", *area, "--time", "2020")
    assert "no period in common" in DIFF.error_of(folder / "series", folder / "sex")


def test_releases_of_two_kinds_are_not_compared(folder):
    said = COMPARE.error_of(folder / "old", folder / "sex", *AREAS)
    assert "one of the same kind" in said


def test_a_sheet_of_changes_has_a_row_for_each_quantity(folder, tmp_path):
    done = DIFF.run(folder / "old", folder / "new", "--output", tmp_path / "changes.csv")
    assert done.exit_code == 0, done.output
    head, *rows = (tmp_path / "changes.csv").read_text().splitlines()
    assert head == "name,quantity,value,low,high,old,new,below"
    assert len(rows) == 3 * GRID.size
    shown = DIFF.run(folder / "old", folder / "new").output.splitlines()
    assert len(shown) == 1 + 3 * GRID.size


def test_periods_that_one_series_lacks_are_told(folder, tmp_path):
    """Those that both have are subtracted, and nothing is left out in silence."""
    later = [geodp.CountTable.from_dense(np.full(GRID.shape, n), GRID) for n in (9500, 9900)]
    geodp.publish_series(
        later, times=["2021", "2022"], person="all", epsilon=1, contribution=1
    ).write(tmp_path / "later")
    done = DIFF.run(folder / "series", tmp_path / "later", *AREAS[:2], "--json")
    assert {row["time"] for row in json.loads(done.stdout)["differences"]} == {"2021"}
    assert "left out: 2020, 2022." in done.stderr
