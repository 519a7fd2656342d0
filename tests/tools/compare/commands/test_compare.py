"""``geodp compare``: written releases, plans, and calls that do not fit together."""

import re

import numpy as np
import pytest

import geodp
from geodp.cli.commands.estimate import estimate
from geodp.grid.region import Region
from geodp.privacy.key import NoiseKey
from geodp.table.public_totals import PublicTotals
from geodp.tools.compare.commands.compare import compare
from tests.command import Runner
from tests.contract.regions import write_regions

GRID = geodp.Grid.mesh("jis:half", bounds=(139.0, 35.0, 139.25, 35 + 1 / 6))
PLACES = geodp.Grid.regular((8, 8))
AREA = "523940"
HALVES = {"west": (139.0, 35.0, 139.125, 35.166), "east": (139.125, 35.0, 139.25, 35.166)}


RUNNER = Runner(compare)
run, error_of, document_of = RUNNER.run, RUNNER.error_of, RUNNER.document_of
ESTIMATE = Runner(estimate)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Releases of a mesh, with more people in the second, and polygons."""
    folder = tmp_path_factory.mktemp("releases")
    rows, cols = GRID.shape
    for name, more in (("one", 0), ("two", 40)):
        people = np.full(GRID.shape, 200, np.int64)
        people[: rows // 2, : cols // 2] += more
        table = geodp.CountTable.from_dense(people, GRID)
        key = NoiseKey(name.encode().ljust(32))  # one in twenty keys has a true ratio outside
        asked = {"epsilon": 1, "contribution": 1, "key": key}
        geodp.publish(table, method="hay", **{"contribution": 1, **asked}).write(folder / name)
        flat = geodp.CountTable.from_dense(np.full((8, 8), 50 + more), PLACES)
        geodp.publish(flat, method="laplace", **{"contribution": 1, **asked}).write(
            folder / f"flat-{name}"
        )
    lone = np.zeros(GRID.shape, np.int64)
    lone[rows // 2, cols // 2] = lone[rows // 2, cols // 2 - 1] = 90
    table = geodp.CountTable.from_dense(lone, GRID)
    asked["key"] = NoiseKey(b"lone".ljust(32))
    geodp.publish(table, method="topdown", **{"contribution": 1, **asked}).write(folder / "lone")
    write_regions(folder, HALVES).rename(folder / "halves.geojson")
    return folder


def test_two_releases_region_by_region(folders):
    found = document_of(folders / "one", folders / "two", "--polygons", folders / "halves.geojson")
    rows = {row["name"]: row for row in found["differences"]}
    assert {*rows} == {"west", "east"}
    assert rows["west"]["found"]
    assert rows["east"]["p_value"] > 1e-4
    assert rows["west"]["value"] > 0
    assert rows["west"]["adjusted"] >= rows["west"]["p_value"]
    text = run(folders / "one", folders / "two", "--polygons", folders / "halves.geojson").output
    assert "west" in text
    assert "corrected by holm" in text


def test_one_release_every_region_against_every_other(folders):
    halves = ("--polygons", folders / "halves.geojson")
    found = document_of(folders / "two", *halves, "--alternative", "less")
    (row,) = found["differences"]
    assert row["name"] == "east - west"
    assert row["found"]
    areas = document_of(folders / "two", *halves, "--area", AREA)
    assert len(areas["differences"]) == 3


def test_cells(folders):
    found = document_of(folders / "flat-one", folders / "flat-two", "--cells")
    assert found["tested"] == 64
    assert found["basis"] == "exact"
    assert len(found["found"]) > 50
    cells = [row["cell"] for row in found["found"]]
    assert cells[0] == [0, 0]
    assert len({tuple(cell) for cell in cells}) == len(cells)
    assert all(0 <= part < 8 for cell in cells for part in cell)
    less = run(folders / "flat-one", folders / "flat-two", "--cells", "--alternative", "less")
    assert less.output.startswith("0 of 64 cells")


def test_a_limit_of_display_hides_ratios_and_cells(tmp_path):
    """Neither a ratio nor a difference of cells is printed if one of its counts is not."""
    for name, people in (("one", 50), ("two", 90)):
        flat = geodp.CountTable.from_dense(np.full((8, 8), people), PLACES)
        asked = {"epsilon": 4, "contribution": 1, "key": NoiseKey(name.encode().ljust(32))}
        limit = {"metadata": {"display_below": 70}}
        geodp.publish(flat, method="laplace", **asked, **limit).write(tmp_path / name)
    both = (tmp_path / "one", tmp_path / "two", "--cells")
    assert {row["below"] for row in document_of(*both)["found"]} == {True}
    lines = run(*both).output.splitlines()
    assert lines[1].split() == ["0", "0", "\N{EN DASH}", "\N{EN DASH}"]
    mesh = geodp.CountTable.from_dense(np.full(GRID.shape, 2), GRID)
    asked = {"epsilon": 4, "contribution": 1, "key": NoiseKey(b"few".ljust(32))}
    few = {"metadata": {"display_below": 10**6}}
    geodp.publish(mesh, method="hay", **asked, **few).write(tmp_path / "few")
    areas = (tmp_path / "few", "--area", "52394000", "--area", "52394001", "--ratio")
    assert [row["below"] for row in document_of(*areas)["ratios"]] == [True]
    assert run(*areas).output.splitlines()[1].split()[3:] == ["ratio", *["\N{EN DASH}"] * 2]


def test_clamped_regions_are_refused_with_their_name(folders):
    squares = ("--polygons", folders / "halves.geojson")
    said = error_of(folders / "lone", *squares)
    assert said.startswith("east - west: A clamp at 0")
    found = document_of(folders / "lone", *squares, "--conservative")
    assert [row["basis"] for row in found["differences"]] == ["conservative"]


def test_plans():
    size = ("--plan", "--maximum", 15000, "--difference", 600, "--epsilon", "1/2")
    assert document_of(*size, "--share", 0.2)["devices"] == 40118
    assert document_of(*size, "--alternative", "greater")["devices"] == 32210
    found = document_of(*size, "--share", 0.2, "--devices", 1000, "--alternative", "less")
    assert found["power"] == pytest.approx(0.115, abs=5e-4)
    text = run(*size, "--share", 0.2).output
    assert text.startswith("Two groups of 40,118 devices, one bit of epsilon 1/2 from each")
    assert "two-sided at 0.05.\n\nDevices of each group for that power:" in text
    sizes = document_of(*size, "--share", 0.2, "--alternative", "greater")["sizes"]
    published = {"0.5": (32210, 31601), "1": (9049, 8440), "4": (2080, 1471), None: (1934, 1325)}
    told = {row["epsilon"]: (row["worst_case"], row["of_share"]) for row in sizes}
    assert [*told] == ["0.5", "1", "2", "4", None]
    assert told | published == told
    other = (*size[:-1], "3/2")
    assert [row["epsilon"] for row in document_of(*other)["sizes"]][1:4] == ["1", "3/2", "2"]
    assert {row["of_share"] for row in document_of(*other)["sizes"]} == {None}


def test_bits_of_two_groups():
    bits = ("--bits", "4250:9000", "--bits", "4500:9000", "--maximum", 15000, "--epsilon", 1)
    found = document_of(*bits)
    assert {name: found[name] for name in ("maximum", "epsilon")} == {
        "maximum": 15000,
        "epsilon": "1",
    }
    stated = geodp.literature.means((4250, 9000), (4500, 9000), 15000, 1).to_dict()
    assert {name: found[name] for name in stated} == stated
    text = run(*bits).output
    ends = f"{stated['low']:.4g} to {stated['high']:,.4g}"
    assert text == (
        f"The second mean less the first is 901.6 ({ends} at 95 %, by bits of epsilon 1): "
        "p-value 0.00019, two-sided, found at 0.05.\n"
    )
    other = ("--bits", "2:9", "--bits", "1:9", "--maximum", 1, "--alternative", "greater")
    text = run(*other, "--alpha", 0.1).output
    assert text.startswith("The second mean less the first is -0.1111 (")
    assert " at 90 %, by bits without noise): p-value 0.7" in text
    assert text.endswith(", greater, not found at 0.1.\n")


PLAN = ("--plan", "--maximum", 1, "--difference", 0.1)
BITS = ("--bits", "1:3", "--bits", "2:3")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a", *PLAN], "read no release"),
        ([*PLAN, "--area", "5339"], "--plan or --area, not both"),
        (["--plan", "--maximum", 1], "--plan goes with --difference only"),
        ([*PLAN, "--devices", 10, "--power", 0.9], "not both"),
        ([*PLAN, "--alpha", 2], "alpha"),
        (["a", "--area", "1", "--maximum", 1], "--maximum goes with --plan or --bits"),
        (["a", "--area", "1", "--plot", "x.svg"], "--plot goes with --plan"),
        ([*BITS], "--bits goes with --maximum"),
        ([*BITS, "--bits", "1:3", "--maximum", 1], "two groups"),
        ([*BITS[:2], "--maximum", 1], "two groups"),
        ([*BITS, *PLAN], "not both"),
        ([*BITS, "--maximum", 1, "--area", "1"], "--bits or --area, not both"),
        (["a", *BITS, "--maximum", 1], "read no release"),
        ([*BITS[:2], "--bits", "13", "--maximum", 1], "takes ONES:ALL"),
        ([*BITS[:2], "--bits", "-1:3", "--maximum", 1], "takes ONES:ALL"),
        ([*BITS[:2], "--bits", "4:3", "--maximum", 1], "of which 0 to all"),
        ([*BITS, "--maximum", 0], "above 0"),
        ([*BITS, "--maximum", 1, "--epsilon", 0], "epsilon"),
        (["--area", "1"], "one release or two"),
        (["a", "b", "--cells", "--area", "1"], "--cells or --area, not both"),
        (["a", "b", "--cells", "--conservative"], "--cells or --conservative, not both"),
        (["a", "--area", "1", "--polygon-name", "x"], "goes with --polygons"),
    ],
)
def test_calls_that_do_not_fit_together(arguments, said):
    assert said in error_of(*arguments)


def test_one_region_of_one_release_is_not_enough(folders):
    assert "several --area" in error_of(folders / "one", "--area", AREA)
    assert "Name one area or more" in error_of(folders / "one")
    assert "compares two releases" in error_of(folders / "one", "--cells")


def test_estimates_of_regions_lie_within_their_worst_case(folders):
    asked = (folders / "lone", "--polygons", folders / "halves.geojson", "--area", AREA)
    usual = ESTIMATE.document_of(*asked)
    bound = ESTIMATE.document_of(*asked, "--interval", "worst-case")
    assert (usual["interval"], bound["interval"]) == ("usual", "worst-case")
    assert [row["name"] for row in usual["estimates"]] == [AREA, "west", "east"]
    for row, worst in zip(usual["estimates"], bound["estimates"], strict=True):
        assert row["value"] == worst["value"]
        assert worst["low"] <= row["low"] <= row["high"] <= worst["high"]
    assert usual["estimates"] != bound["estimates"]
    text = ESTIMATE.run(*asked).output
    assert text.splitlines()[0].endswith("95 % interval")
    assert f"{usual['estimates'][1]['value']:,}" in text


def test_an_unlisted_cell_ends_where_the_card_says_at_most(folders):
    release = geodp.open(folders / "lone")
    code = "523940991"
    (row,) = ESTIMATE.document_of(folders / "lone", "--area", code)["estimates"]
    one = release.estimate(code)
    assert (row["value"], row["low"], row["high"]) == (one.count, one.low, one.high)
    low, high = release.intervals().of(Region.of(release.table.grid, code).key)
    assert row["low"] == low[0]
    assert one.count == 0 < row["high"] <= high[0]


def test_estimates_that_cannot_be_had_are_refused_in_one_sentence(folders):
    asked = (folders / "one", "--area", AREA)
    assert "Name one area or more" in ESTIMATE.error_of(folders / "one")
    assert "--polygons only" in ESTIMATE.error_of(*asked, "--polygon-name", "name")


@pytest.mark.parametrize("releases", [1, 2])
def test_a_polygon_without_a_cell_is_named(folders, tmp_path, releases):
    far = write_regions(tmp_path, HALVES | {"east": (10, 5, 11, 6)})
    asked = (folders / "one", folders / "two")[:releases]
    said = "east: The region contains no cell of the domain"
    assert error_of(*asked, "--polygons", far).startswith(said)
    assert re.search("east +count +–", ESTIMATE.run(asked[0], "--polygons", far).stdout)


def test_ratios_of_one_release_and_of_two_dates(folders):
    shapes = ("--polygons", folders / "halves.geojson", "--ratio")
    (row,) = document_of(folders / "one", *shapes)["ratios"]
    assert row["name"] == "west / east"
    assert row["low"] < 1 < row["high"]
    west, _ = document_of(folders / "two", folders / "one", *shapes)["ratios"]
    assert west["low"] < 1.1 < west["high"]
    assert west["low"] > 1
    text = run(folders / "one", *shapes).output
    assert "west / east" in text
    assert "not corrected for many" in text
    assert "not both" in error_of(*folders.glob("flat-*"), "--cells", "--ratio")


def test_public_totals_of_a_written_release_are_exact(tmp_path):
    people = np.full(GRID.shape, 200, np.int64)
    people[: GRID.shape[0] // 2] += 70
    table = geodp.CountTable.from_dense(people, GRID)
    codes = ("52394000", "52394001", "52394010")
    sums = [int(table.count[np.isin(table.key, Region.of(GRID, c).key)].sum()) for c in codes]
    totals = PublicTotals.of(GRID, dict(zip(codes[:2], sums[:2], strict=True)), "a book")
    geodp.publish(table, epsilon=1, contribution=1, totals=totals).write(tmp_path / "out")
    areas = [part for code in codes for part in ("--area", code)]
    pairs = document_of(tmp_path / "out", *areas)["differences"]
    assert [row["standard_error"] == 0 for row in pairs] == [True, False, False]
    assert pairs[0]["low"] == pairs[0]["value"] == pairs[0]["high"] == sums[1] - sums[0]
    ratios = document_of(tmp_path / "out", *areas, "--ratio")["ratios"]
    assert [row["standard_error"] == 0 for row in ratios] == [True, False, False]
    assert ratios[0]["value"] == sums[0] / sums[1]
