"""Plans: closed forms against releases, and files that publish takes."""

import dataclasses
import json
import tracemalloc

import numpy as np
import pytest

import geodp
from geodp import CountTable, Grid, NoiseKey
from geodp.errors import InputError, UsageError
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.region import Region
from geodp.privacy.assumption import ContributionBound
from geodp.table.proxy import Proxy
from geodp.tools.plan.api import compare, read_plan
from geodp.tools.plan.plan import plan
from tests.refusals import refuses

GRID = Grid.regular((64, 64))
BOX = (138.0, 35.0, 141.2, 37.1333333333)
KANTO = Grid.mesh("jis:half", bounds=BOX)


def error_of(rows, name):
    return next(row.standard_error for row in rows if row.name == name)


@pytest.mark.parametrize("seed", range(4))
def test_a_mask_that_leaves_areas_without_a_cell_is_planned(seed):
    """Areas at places drawn at random need not hold a cell of the domain."""
    grid = Grid.mesh("jis:half", bounds=(139, 35, 139.5, 35 + 1 / 3))
    inside = np.zeros(grid.shape, bool)
    row, col = np.random.default_rng(seed).integers(0, grid.shape, size=(3, 2)).T
    inside[row, col] = True
    masked = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "three islands"))
    for method in ("pyramid", "topdown", "laplace"):
        found = plan(masked, method, epsilon=1, contribution=1)
        table = CountTable.from_index(masked, [row[:1], col[:1]], [50])
        release = geodp.publish(table, method=method, epsilon=1, contribution=1)
        worst = 0.0
        for at in zip(row // 20, col // 20, strict=True):
            rows, cols = np.indices((20, 20)).reshape(2, -1) + 20 * np.array(at)[:, None]
            worst = max(worst, release.standard_error(Region.of_map(masked, rows, cols)))
        assert error_of(found.areas, "jis:secondary") == pytest.approx(worst)
        assert {"jis:5km", "jis:basic"} <= {area.name for area in found.areas}


def test_official_areas_have_the_mechanism_s_own_error():
    official = plan(KANTO.with_official_order(), epsilon=0.1)
    summed = plan(KANTO, epsilon=0.1)
    for name in ("jis:primary", "jis:secondary"):
        assert error_of(official.areas, name) < error_of(summed.areas, name) / 2.5
    sexes = KANTO.with_attribute("sex", ["female", "male"])
    names = [area.name for area in plan(sexes.with_official_order(), "pyramid", epsilon=0.1).areas]
    assert names[-2:] == ["jis:half", "jis:half by sex"]
    names = [area.name for area in plan(sexes.with_official_order("above"), epsilon=0.1).areas]
    assert names[:2] == ["everywhere by sex", "jis:primary by sex"]
    areas = plan(sexes, "pyramid", epsilon=0.1).areas
    assert [area.cells for area in areas] == [51200, 800, 200, 8, 2]


def test_an_office_s_regions():
    cell = np.indices((8, 8)).reshape(2, -1)
    codes = {"prefecture": ["a"] * 32 + ["b"] * 32, "city": [str(i // 16) for i in range(64)]}
    grid = Grid.regular((8, 8)).with_hierarchy(Hierarchy.of_cells(cell, codes, "an example"))
    found = plan(grid, epsilon=1)
    assert [(a.name, a.cells) for a in found.areas][:2] == [("prefecture", 32), ("city", 16)]


def test_the_floor_is_the_smallest_block_that_tells_more_than_zeros():
    found = plan(GRID, "pyramid:setting=R", epsilon=0.1, people=4096 * 10)
    assert found.floor == 16
    for block in found.blocks:
        if block.cells < 16:
            assert block.standard_error > 10 * block.cells
    assert found.blocks[4].standard_error <= 160
    assert "16 cells" in " ".join(found.notes)
    assert plan(GRID, epsilon=0.1).floor is None
    nothing = plan(GRID, epsilon=0.1, people=1)
    assert nothing.floor is None
    assert "Not even the total" in " ".join(nothing.notes)


def test_the_floor_of_a_table_of_2_to_the_37_cells():
    """With 1e7 people, half of topdown's was measured to be enough, an eighth not."""
    grid = Grid.regular((1 << 18, 1 << 19))
    for people, method, floor in (
        (1e7, "topdown", 2**23),
        (1e7, "pyramid", 2**22),
        (1e7, "pyramid:setting=R", 2**22),
        (1e8, "topdown", 2**19),
        (1e8, "pyramid:setting=R", 2**19),
        (6.6e8, "topdown", 2**16),
    ):
        assert plan(grid, method, epsilon=0.1, people=people).floor == floor


def test_smallest_area():
    found = plan(KANTO, "pyramid:setting=R", epsilon=0.1)
    assert found.smallest(5000, 5).title == "jis:half of 1 cell"
    assert found.smallest(1000, 13.03).cells == 256  # whose margin is 130.2; of 16 cells 130.4
    assert found.smallest(10, 1) is None
    with pytest.raises(UsageError):
        found.smallest(-1, 5)


@pytest.mark.parametrize("bits", [26, 37])
def test_plans_need_no_data_and_little_memory(bits):
    grid = Grid.regular((1 << bits // 2, 1 << bits - bits // 2))
    for method in ("pyramid", "topdown"):
        plan(GRID, method, epsilon=1).to_dict()  # imports
        tracemalloc.start()
        json.dumps(plan(grid, method, epsilon=0.1, people=1e8).to_dict())
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 1 << 22


def test_data_dependent_methods_say_so():
    found = plan(GRID, "mwem", epsilon=1, people=100)
    assert found.blocks == found.areas == ()
    assert found.floor is None
    assert found.output_cells == (4096, 4096)
    assert "depends on the data" in found.notes[0]


def test_sizes_of_outputs():
    """The paper's method left 69.7k cells of Kanto's census, R 79.7k; evenly spread people more."""
    for method in ("pyramid", "topdown"):
        few, many = plan(KANTO, method, epsilon=0.1, people=45e6).output_cells
        assert 69_700 / 4 < few < 69_700 < many == KANTO.size
    assert plan(KANTO, "laplace", epsilon=0.1).output_cells == (KANTO.size,) * 2
    assert plan(KANTO, epsilon=0.1).seconds is None


def towns(people):
    return Proxy.of(GRID, None, people).table


def evenly(people):
    count = np.random.default_rng(1).poisson(people / GRID.size, GRID.shape)
    return CountTable.from_dense(count, GRID)


def on_a_fifth(people):
    """Unlike from cell to cell, as in a census, and nobody around."""
    random = np.random.default_rng(2)
    count = np.zeros(GRID.size)
    lived_in = random.choice(GRID.size, GRID.size // 5, replace=False)
    count[lived_in] = random.lognormal(0, 1.5, lived_in.size)
    count = np.ceil(count / count.sum() * people).astype(np.int64)
    return CountTable.from_dense(count.reshape(GRID.shape), GRID)


def in_a_corner(people):
    """One dense town on a fifth of the map, and nobody around."""
    count = np.zeros(GRID.shape, np.int64)
    count[:32, :26] = people // (32 * 26)
    return CountTable.from_dense(count, GRID)


@pytest.mark.parametrize("shape", [towns, evenly, on_a_fifth, in_a_corner])
@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_sizes_of_outputs_hold_for_people_of_many_shapes(shape, method):
    for people in (20_000, 1_000_000):
        table = shape(people)
        for epsilon in ("1/50", "1/2", 10):
            found = plan(GRID, method, epsilon=epsilon, people=people)
            released = found.method.release(table, found.event, NoiseKey(bytes(32)))
            few, many = found.output_cells
            assert few <= released.key.size <= many


def test_comparison():
    found = compare(KANTO, ["pyramid", "topdown", "matrix", "mwem"], epsilon=0.1)
    assert list(found.refused) == ["matrix"]
    assert set(found.table()[1]) == {"pyramid", "topdown"}
    assert len(found.to_dict()["plans"]) == 3
    with pytest.raises(UsageError):
        compare(KANTO, ["matrix"], epsilon=0.1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 1, "contribution": 0},
        {"rho": 1, "method": "laplace"},
        {"epsilon": 1, "method": "topdown:x=1"},
    ],
)
def test_what_could_not_be_published_is_not_planned(wrong):
    with pytest.raises(UsageError):
        plan(GRID, **wrong)


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0.1, "unit": 'trip "größe"'},
        {"rho": "1/3", "contribution": 4, "neighbours": "replace-one"},
        {"rho": "0.5", "delta": "1e-6"},
        {"epsilon": 1, "delta": 1e-6, "method": "topdown"},
        {"epsilon": 1, "method": "pyramid:setting=fine,prune=1/2"},
    ],
)
def test_a_file_says_what_was_planned(given, tmp_path):
    found = plan(GRID, **given)
    file = tmp_path / "plan.toml"
    file.write_text(found.toml(), encoding="utf-8")
    settings = read_plan(file)
    assert settings == found.settings
    settings.require_grid(Grid.regular((64, 64)))
    with refuses(UsageError, "plan-of-other-grid"):
        settings.require_grid(Grid.regular((64, 32)))
    table = CountTable.from_dense(np.full(GRID.shape, 100), GRID)
    release = geodp.publish(
        table,
        key=NoiseKey(bytes(32)),
        **{**settings.arguments, "contribution": found.event.contribution},
    )
    event = dataclasses.replace(release.event, key_origin="entropy", enforced=False)
    assert event == found.event
    assert release.standard_error(1) == pytest.approx(found.blocks[0].standard_error)


def test_a_plan_of_persons_counted_once_refuses_others():
    table = CountTable.from_dense(np.full(GRID.shape, 100), GRID)
    settings = plan(GRID, epsilon=1).settings
    settings.require_bound(dataclasses.replace(table, bound=ContributionBound(1, "geodp")))
    table = dataclasses.replace(table, bound=ContributionBound(3, "geodp"))
    with refuses(UsageError, "plan-contribution-higher: --contribution 3"):
        settings.require_bound(table)
    unknown = CountTable.from_keys(GRID, table.key, table.count)
    with refuses(UsageError, "plan-contribution-unbounded: --contribution"):
        settings.require_bound(unknown)
    for one in (table, unknown):
        plan(GRID, epsilon=1, contribution=3).settings.require_bound(one)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no toml",
        "format = 2",
        "{good}\nother = 1",
        '{good}\ncontribution = "1"',
        "{good}\ncontribution = 0",
        "{good}\nrho = '1'",
        "{good}\ndelta = 0.1",
        'format = 1\nmethod = "pyramid"',
        "\0",
    ],
)
def test_files_that_are_no_plan(text, tmp_path):
    good = plan(GRID, epsilon=1).settings.toml()
    file = tmp_path / "plan.toml"
    file.write_text(text.replace("{good}", good))
    with refuses(
        InputError, r"epsilon-or-rho|plan-format|plan-not-toml|plan-setting-kind: plan\.toml"
    ):
        read_plan(file)
    with pytest.raises(InputError):
        read_plan(tmp_path / "none.toml")


def test_levels_that_are_nearly_pure_noise_are_told():
    spec = "pyramid:chain=6-6,shares=99-1-9900"
    assert "pruned" in " ".join(plan(GRID, spec, epsilon=1, people=4096 * 10).notes)
    assert "pruned" not in " ".join(plan(GRID, epsilon=1, people=4096 * 10).notes)


def test_wide_nodes_are_told():
    spec = "pyramid:chain=3-9,shares=1-1-1"
    assert "up to 512 children" in " ".join(plan(GRID, spec, epsilon=1).notes)
    for method in ("pyramid:setting=R", "topdown", "laplace"):
        assert "children" not in " ".join(plan(GRID, method, epsilon=1).notes)


def test_regions_are_those_of_a_release():
    shapes = {"half": (139, 35, 140, 36), "10 km": "523960"}
    found = plan(KANTO, "pyramid:setting=R", epsilon=0.1, regions=shapes)
    assert [row.name for row in found.regions] == ["half", "10 km"]
    assert found.regions[1].cells == Region.of(KANTO, "523960").cells == 400
    assert found.to_dict()["regions"][1]["standard_error"] <= error_of(found.areas, "jis:5km")


def test_a_plan_of_parts_says_which_carry_a_signal_at_which_areas():
    """A part is told apart from noise in areas of 16 cells of Kanto, and not in single cells."""
    grid = Grid.regular((512, 512)).with_attribute("sex", ["f", "m"])
    grid = grid.with_attribute("age", list("abcdefgh"))
    found = plan(grid, epsilon=0.1, people=46.4e6)
    assert [row["cells"] for row in found.parts] == [1 << 18, 1 << 16, 1 << 12, 1 << 8, 1 << 4, 1]
    assert [row["signal"] for row in found.parts] == [True] * 5 + [False]
    assert found.to_dict()["parts"] == list(found.parts)
    # Weights of the measured levels, from the last one up.
    weights = [40, 25, 16, 10, 6, 6]
    for i, row in enumerate(found.parts):
        assert row["noise"] == 20 * sum(weights[: i + 1]) / weights[0]
        assert row["expected"] == pytest.approx(46.4e6 * row["cells"] / (1 << 22))
    assert all(row["signal"] is None for row in plan(grid, epsilon=0.1).parts)
    assert plan(grid, "pyramid", epsilon=0.1).parts == ()
    assert plan(GRID, epsilon=0.1).parts == ()


def balance(grid, method="pyramid", **given):
    notes = geodp.plan(grid, method, **{"epsilon": 1, **given}).notes
    return [note for note in notes if "less accurate" in note or "small domain" in note]


@pytest.mark.parametrize("loss", [{"epsilon": "1/10"}, {"epsilon": None, "rho": "1/200"}])
def test_both_figures_of_the_worst_blocks_are_told(loss):
    grid = geodp.Grid.regular((512, 512))
    (note,) = balance(grid, **loss)
    ours, theirs = (geodp.plan(grid, name, **loss).blocks for name in ("pyramid", "topdown"))
    pairs = zip(ours, theirs, strict=True)
    one, other = max(pairs, key=lambda pair: pair[0].standard_error / pair[1].standard_error)
    assert f"those of {one.cells:,} cells" in note
    assert (
        f"error of {one.standard_error:,.1f}, instead of {other.standard_error:,.1f} with" in note
    )


@pytest.mark.parametrize(
    ("people", "said"), [(676 * 8, "few compared"), (676 * 12, "many compared"), (None, "")]
)
def test_a_small_domain_is_said_to_be_dense_or_sparse(people, said):
    notes = balance(geodp.Grid.regular((26, 26)), people=people)
    assert [said in note for note in notes] == [True] * bool(said)


@pytest.mark.parametrize(
    "method", ["pyramid:setting=R", "topdown", "pyramid:chain=9-9,shares=1-1-1"]
)
def test_nothing_is_said_of_levels_that_were_asked_for(method):
    assert balance(geodp.Grid.regular((512, 512)), method, people=1e6) == []
    grid = geodp.Grid.mesh("jis:half", bounds=(138, 35, 141.2, 37.1333333333))
    assert balance(grid.with_official_order()) == []
