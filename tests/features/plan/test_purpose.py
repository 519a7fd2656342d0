"""Objectives in the words of users: families of regions, closed forms and simulations of them."""

from itertools import accumulate, product

import numpy as np
import pytest

import geodp
from geodp import Grid
from geodp.accuracy.variance import from_below
from geodp.errors import UsageError
from geodp.features.plan.api import Objective, Objectives, read_plan, serve
from geodp.features.plan.families import draw_families
from geodp.features.plan.plan import Planner, plan
from geodp.features.plan.regions import MAX_DENSE, Blocks, CellSets, MapDifference
from geodp.features.plan.search import Candidate, improve
from geodp.features.plan.shares import minimise_product
from geodp.features.plan.simulation import PlanSimulation, public_key
from geodp.privacy.terms import Terms
from geodp.table.proxy import Proxy
from tests.grids import half, masked
from tests.refusals import refuses

pytestmark = pytest.mark.law

EVERY = "municipalities=3,cells=1,polygons=1,squares=1,rectangles=1"
SMALL = Grid.regular((24, 20))
OFFICIAL = Grid.mesh("inspire:10km", bounds=(4e6, 3e6, 4.2e6, 3.1e6))


def groups_of(grid, text=EVERY, **given):
    families = draw_families(Objectives.parse(text), grid, Proxy.make_up(grid, 5000.0), **given)
    return [group for one in families for group in one.groups]


def keys_of(group, grid, number):
    """The cells of a group's region, cell by cell."""
    every = grid.domain.keys_of_ranks(np.arange(grid.domain.cells))
    if isinstance(group, Blocks):
        stride = int(np.prod(grid.order.radices[group.digits :]))
        return every[every // np.uint64(stride) == number]
    if isinstance(group, CellSets):
        return group.key[group.start[number] :][: np.diff([*group.start, group.key.size])[number]]
    row, col = grid.decode(every)[:2]
    low, high = group.low[:, number], group.high[:, number]
    inside = (row >= low[0]) & (row < high[0]) & (col >= low[1]) & (col < high[1])
    return every[inside]


@pytest.mark.parametrize(
    "text", ["", "cells=", "cells=x", "cells=inf", "cells=0", "cells=-1", "towns=1", "file=1",
             "cells=1,cells=2", "relative", "cells:3=1", "polygons:xkm2=1", "polygons:-3=1",
             "cells=1,relative,relative"],
)  # fmt: skip
def test_objectives_that_mean_nothing_are_refused(text):
    with pytest.raises(UsageError):
        Objectives.parse(text)


def test_objectives_are_values_and_their_text():
    text = "municipalities=3,cells=0.5,polygons:10km2=1,polygons:a/b.geojson=2,relative"
    found = Objectives.parse(text)
    assert found.text == text
    assert found == Objectives.parse(found.text)
    assert found.families[1] == Objective("cells", 0.5)
    assert found.families[3].file == "a/b.geojson"
    assert [one.is_drawn for one in found.families] == [True, False, True, False]
    assert Objectives.parse("cells,polygons:0.5km2").text == "cells=1,polygons:0.5km2=1"


@pytest.mark.parametrize(
    "grid",
    [
        SMALL,
        SMALL.with_attribute("sex", ["f", "m", "x"]),
        masked(SMALL, half(SMALL.shape, 0)),
        OFFICIAL.with_official_order(),
    ],
)
def test_sums_are_those_of_the_regions_cells(grid, monkeypatch):
    table = Proxy.make_up(grid, 5000.0).table
    released = geodp.publish(table, epsilon=1, contribution=1, key=public_key(0)).table
    truth = dict(zip(table.key.tolist(), table.count.tolist(), strict=True))
    given = dict(zip(released.key.tolist(), released.count.tolist(), strict=True))
    groups = groups_of(grid)
    for most in (MAX_DENSE, 0):
        monkeypatch.setattr("geodp.features.plan.regions.MAX_DENSE", most)
        difference = MapDifference.of(table, released)
        for group in groups:
            people, error = group.sums(difference)
            if isinstance(group, Blocks):  # in whatever order, without those where nobody is
                regions = range(int(np.prod(grid.order.radices[: group.digits])))
            else:
                assert people.size == group.count(grid)
                regions = range(0, people.size, 1 + people.size // 5)
            wanted = []
            for number in regions:
                keys = keys_of(group, grid, number).tolist()
                own = sum(truth.get(key, 0) for key in keys)
                wanted.append((own, sum(given.get(key, 0) for key in keys) - own))
            found = list(zip(people.tolist(), error.tolist(), strict=True))
            if isinstance(group, Blocks):
                found, wanted = (
                    sorted(pair for pair in pairs if any(pair)) for pairs in (found, wanted)
                )
            else:
                found = [found[number] for number in regions]
            assert found == wanted, group.name


@pytest.mark.parametrize("order", ["binary", "official"])
def test_squares_give_the_closed_form_of_regions(order):
    """Errors of regions of a domain without edges are those of the tree's own formula."""
    grid = Grid.regular((16, 16))
    if order == "official":
        grid = Grid.mesh("inspire:10km", bounds=(4e6, 3e6, 4.1e6, 3.1e6)).with_official_order()
    found = plan(grid, "pyramid:setting=R" if order == "binary" else "pyramid", epsilon=1)
    tree = found.method.tree_variance(grid, found.event)
    ends = np.cumsum([0, *[f.bit_length() - 1 for f in tree.fanouts]])
    if order == "official":
        ends = np.cumsum([0, *(digits for _, digits in grid.areas.steps)])
    for group in groups_of(grid):
        squares = group.squares(grid)[ends]
        fine = squares[1:] - np.array(tree.fanouts) * squares[:-1]
        closed = squares[0] * tree.variances[0] + float(np.array(tree.variances[1:]) @ fine)
        n = group.count(grid)
        each = [tree.region(np.sort(keys_of(group, grid, i))) for i in range(n)]
        assert closed == pytest.approx(np.mean(each), rel=1e-9), group.name


def test_shares_for_regions_are_as_small_as_by_brute_force():
    grid = Grid.regular((16, 16))
    groups = groups_of(grid, "cells=1,municipalities=2,polygons=1")
    squares = np.array([group.squares(grid) for group in groups])
    weights = np.array([0.25, 0.5, *[0.25 / (len(groups) - 2)] * (len(groups) - 2)])
    found = minimise_product([4, 4], squares, weights)
    own = squares[:, [0, 4, 8]]
    own = np.column_stack([own[:, 0], own[:, 1:] - 16 * own[:, :-1]])
    values = []
    for a, b in product(np.arange(0.02, 0.97, 0.02), repeat=2):
        if a + b < 0.985:
            v = from_below((16, 16), tuple(2 / np.array([a, b, 1 - a - b]) ** 2))
            values.append(float(np.exp(weights @ np.log(own @ np.array(v)) / 2)))
    assert found.value <= min(values) * 1.001


def test_the_search_finds_what_can_be_found():
    """A value with one best plan: the search comes near it from afar, in the moves it has."""
    wanted = Candidate.of([2, 3, 3], [1, 2, 3, 4])

    def value(one):
        ends = {*accumulate(one.steps)} ^ {*accumulate(wanted.steps)}
        if ends:
            return 10.0 + len(ends)
        return float(np.abs(np.log(np.array(one.parts) / wanted.parts)).sum()) + (one.passes == 1)

    start = [Candidate.of([4, 4], [1, 1, 1]), Candidate.of([8], [1, 1], 1)]
    found, reached = improve(start, value, (2,) * 8, moves=2000)
    assert found.steps == wanted.steps
    assert found.passes == 2
    assert reached == value(found) < 0.3
    kept, _ = improve(start[:1], value, (2,) * 8, moves=100, fixed=True)
    assert kept.steps == (4, 4)


@pytest.mark.parametrize("seed", range(3))
def test_every_neighbour_is_a_pyramid_that_can_be_published(seed):
    random = np.random.default_rng(seed)
    one = Candidate.of([2, 3, 1], [1, 1, 1, 1])
    for _ in range(100):
        other = one.move(random, 0.8, fixed=False)
        assert sum(other.steps) == 6
        assert sum(other.parts) == 10_000
        assert len(other.parts) == len(other.steps) + 1
        one = other if other.fits((2,) * 6) else one
    assert plan(Grid.regular((8, 8)), one.spec, epsilon=1).name == one.spec


def test_a_plan_for_a_purpose_is_better_at_it_than_the_default(tmp_path):
    """On a public map with other noise than the search had seen."""
    prior = Proxy.make_up(SMALL, 20_000.0).table
    text = "municipalities=1,cells=1"
    found = serve(SMALL, text, prior=prior, releases=2, epsilon=1)
    proxy = Proxy(prior, "")
    families = draw_families(Objectives.parse(text), SMALL, proxy)
    simulation, request = PlanSimulation(proxy, families), Planner(SMALL, Terms.of(epsilon=1))
    values = []
    for name in (found.name, "pyramid:setting=flat"):
        one = request.plan(name)
        simulated = simulation.run(one.method, one.event, range(50, 70))
        values.append(simulated.objective(families, relative=False))
    assert values[0] < values[1]
    assert serve(SMALL, text, prior=prior, releases=2, epsilon=1).name == found.name
    for said in (text, "2 releases of the prior map", "Voronoi", "the default's"):
        assert said in " ".join(found.reasons)
    (tmp_path / "plan.toml").write_text(found.toml())
    assert "# Chosen for municipalities=1,cells=1:" in found.toml()
    assert read_plan(tmp_path / "plan.toml") == found.settings
    assert found.to_dict()["reasons"] == list(found.reasons)


def test_closed_forms_alone_and_own_levels():
    found = serve(SMALL, EVERY, releases=0, epsilon=1)
    assert "by closed forms" in found.reasons[0]
    own = serve(SMALL, "cells=1,relative", chain="5-5", releases=1, epsilon=1)
    assert own.name.startswith("pyramid:chain=5-5,")
    assert "relative errors" in own.reasons[0]
    gaussian = serve(SMALL, "cells=1", releases=0, epsilon=1, delta="1e-6")
    assert "chain=" in gaussian.name


@pytest.mark.parametrize(
    ("grid", "text", "sentence"),
    [
        (SMALL, "areas=1", "areas-need-codes"),
        (SMALL, "polygons:1km2=1", "polygons-km2-need-earth"),
        (SMALL, "polygons:0.5=1", "polygons-below-cell"),
        (SMALL, "polygons:none.geojson=1", r"objective-polygons-missing: none\.geojson"),
        (SMALL.pairs(), "cells=1", "made-up-map-needs-one-map"),
    ],
)
def test_families_that_a_grid_does_not_have_are_refused(grid, text, sentence):
    with refuses(UsageError, sentence):
        serve(grid, text, releases=0, epsilon=1)


def test_areas_and_an_office_s_polygons():
    import shapely

    grid = Grid.mesh("inspire:1km", bounds=(4e6, 3e6, 4.04e6, 3.03e6))
    groups = groups_of(grid, "areas=1")
    assert [(one.name, one.count(grid)) for one in groups] == [
        ("inspire:100km", 1), ("inspire:10km", 12), ("inspire:1km", 1200)
    ]  # fmt: skip
    shapes = {"f.json": {"west": shapely.box(4e6, 3e6, 4.01e6, 3.03e6)}}
    (group,) = groups_of(grid, "polygons:f.json=1", shapes=shapes)
    assert np.diff([*group.start, group.key.size]).tolist() == [300]
    (stars,) = groups_of(grid, "polygons:10km2=1")
    sizes = np.diff([*stars.start, stars.key.size])
    assert 6 < sizes.mean() < 11  # those at the edges are cut
