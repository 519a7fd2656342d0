"""Sums of areas worked out by the page's own script, beside Release.estimate."""

import json
from dataclasses import replace

import numpy as np
import pytest
import shapely

import geodp
from geodp.errors import UsageError
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import mask_of_blocks
from geodp.grid.region import Region
from geodp.io.read.public.polygons import read_polygons
from geodp.release.report.html.surface import missing_cells_reason, missing_formula_reason
from geodp.table.public_totals import PublicTotals
from tests.release.report.html.pages import NODE, PLACE, page_of, publish, run, towns

pytestmark = pytest.mark.law

DRIVER = """
return given.map((ring) => {
  const found = surface.estimate(api.cellsInside(surface.place, [ring]));
  return found && [found.count, found.error, found.low, found.high];
});
"""


def polygons(bounds, number, seed=1):
    """Valid polygons of three to eight corners, from a cell to most of the map."""
    random = np.random.default_rng(seed)
    west, south, east, north = bounds
    rings = []
    while len(rings) < number:
        middle = random.uniform([west, south], [east, north])
        size = (east - west) * 10 ** random.uniform(-1.6, -0.3)
        corners = random.integers(3, 9)
        angle = np.sort(random.uniform(0, 2 * np.pi, corners))
        away = random.uniform(0.3, 1, corners) * size
        ring = middle + (away * [np.cos(angle), np.sin(angle)]).T
        if shapely.Polygon(ring).is_valid:
            rings.append(ring.tolist())
    return rings


def expected(release, ring, labels=None):
    """Estimate a polygon with geodp; None where it holds no cell."""
    try:
        estimate = release.estimate(shapely.Polygon(ring), labels)
    except UsageError:
        return None
    return [estimate.count, estimate.standard_error, estimate.low, estimate.high]


def masked(rows, cols):
    grid = geodp.Grid.regular((rows, cols), **PLACE)
    blocks = np.array([[0, 3, 9], [0, 5, 0], [6, 9, 12], [20, 22, 11]])
    return grid.with_mask(mask_of_blocks(grid, blocks, "a public list"))


GRID = geodp.Grid.regular((21, 30), **PLACE)
SEXES = GRID.with_attribute("sex", ["male", "female", "other"])
OFFICIAL = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, 35 + 1 / 3)).with_official_order()
MESH = geodp.Grid.mesh("jis:half", bounds=(139.5, 35.5, 139.9, 35.5 + 64 / 240))
CASES = {
    "padded": (GRID, {}),
    "masked": (masked(21, 30), {}),
    "official": (OFFICIAL, {}),
    "gaussian": (GRID, {"epsilon": None, "rho": "1/10"}),
    "topdown": (GRID, {"method": "topdown"}),
    "pruned": (MESH, {"method": "pyramid:prune=7/2"}),
    "pruned, gaussian": (GRID, {"method": "pyramid:prune=2", "epsilon": None, "rho": "1/10"}),
    "signed": (GRID, {"method": "laplace"}),
    "hay": (GRID, {"method": "hay"}),
    "nowhere, without zeros": (
        geodp.Grid.regular((16, 16), crs=None, transform=(1, 0, 0, 0, 1, 0)),
        {"counts": np.full((16, 16), 15)},
    ),
}

LONG = ("gaussian", "pruned, gaussian", "topdown", "hay", "regions, gaussian")
"""Other methods and noises, on the same tree as the first."""


REGIONS = Hierarchy.of_cells(
    np.indices((21, 24)).reshape(2, -1)[:, ::-1],
    {
        "county": [f"c{row // 8}" for row in range(21) for col in range(24)][::-1],
        "town": [f"t{row // 5}-{col // (4 + row % 3)}" for row in range(21) for col in range(24)][
            ::-1
        ],
    },
    "a public table",
)
CASES |= {
    "regions": (GRID.with_hierarchy(REGIONS), {}),
    "regions, gaussian": (GRID.with_hierarchy(REGIONS), {"epsilon": None, "rho": "1/10"}),
    "regions, attributes": (
        SEXES.with_hierarchy(REGIONS, "county"),
        {"method": "pyramid", "contribution": 1},
    ),
}


def counted(grid):
    """Towns inside the domain."""
    people = towns(*grid.shape[:2]).reshape(*grid.shape[:2], *[1] * len(grid.attributes))
    return np.where(grid.domain.to_dense(), people, 0)


@NODE
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.law) if name in LONG else name for name in CASES],
)
def test_polygons_of_the_page_are_those_of_release_estimate(name, tmp_path):
    grid, terms = CASES[name]
    terms = {"counts": counted(grid), "contribution": 1} | terms
    release, card = publish(tmp_path / "release", grid, **terms)
    rings = polygons(grid.places[0].bounds, 30)
    rings += [[[x, y] for x, y in shapely.box(*grid.places[0].bounds).exterior.coords[:-1]]]
    wanted = [expected(release, ring) for ring in rings]
    computed = run(page_of(release, card), DRIVER, rings)
    assert [one is None for one in computed] == [one is None for one in wanted]
    pairs = [(a, b) for a, b in zip(computed, wanted, strict=True) if a is not None]
    assert len(pairs) > 12
    np.testing.assert_allclose(*map(np.array, zip(*pairs, strict=True)), rtol=1e-9, atol=1e-7)


@NODE
def test_single_cells_and_chosen_labels(tmp_path):
    counts = np.repeat(towns(21, 30)[..., None], 3, axis=2) // 3
    release, card = publish(tmp_path / "release", SEXES, counts, method="pyramid", contribution=1)
    page, cells = page_of(release, card), [[0, 0], [10, 11], [20, 29], [5, 5], [12, 3]]
    driver = """
    const ends = (found) => [found.count, found.error, found.low, found.high];
    const whole = given.map((cell) => ends(surface.estimate([cell])));
    surface.parts[0] = 1;
    return [whole, given.map((cell) => ends(surface.estimate([cell])))];
    """
    computed = run(page, driver, cells)
    for labels, per_cell in zip((None, {"sex": "female"}), computed, strict=True):
        for (row, col), ends in zip(cells, per_cell, strict=True):
            at = SEXES.places[0].edges_at(np.array([row]), np.array([col]))
            ring = shapely.box(*np.concatenate(at)).exterior.coords
            wanted = expected(release, ring, labels)
            np.testing.assert_allclose(ends, wanted, rtol=1e-9, atol=1e-7)


@NODE
@pytest.mark.parametrize("name", ["official", "attributes"])
def test_areas_with_public_totals_are_exact_on_the_page_too(name, tmp_path):
    """Polygons around whole areas, parts of them, and both at once."""
    grid = OFFICIAL
    if name == "attributes":
        grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, 35 + 1 / 3))
        grid = grid.with_attribute("sex", ["male", "female"])
    counts = towns(*OFFICIAL.shape)
    if name == "attributes":
        counts = np.stack([counts // 3, counts - counts // 3], axis=2)
    table = geodp.CountTable.from_dense(counts, grid)
    codes = ("523940", "523951", "523972")
    empty = PublicTotals.of(grid, dict.fromkeys(codes, 0), "a public list")
    people = empty.sums(table)
    totals = replace(empty, total=people)
    method = {} if name == "official" else {"method": "pyramid"}
    terms = {"totals": totals, "contribution": 1} | method
    release, card = publish(tmp_path / "release", grid, counts, **{"contribution": 1, **terms})
    assert release.totals is not None
    rings = polygons(grid.places[0].bounds, 200, seed=5)
    for code in codes:
        row, col = grid.decode(Region.of(grid, code).key)[:2]
        edges = grid.places[0].edges_at(np.sort(row)[[0, -1]], np.sort(col)[[0, -1]])
        (west, _), (south, _), (_, east), (_, north) = edges
        for more in (*np.random.default_rng(3).uniform(0, 0.1, 9), 0):
            box = shapely.box(west - more, south - more / 2, east + more / 3, north + more)
            rings.append(box.exterior.coords[:-1])
    wanted = [expected(release, ring) for ring in rings]
    assert [one[:2] for one in wanted[-21::10]] == [[each, 0.0] for each in people.tolist()]
    computed = run(page_of(release, card), DRIVER, [[list(at) for at in ring] for ring in rings])
    pairs = [(a, b) for a, b in zip(computed, wanted, strict=True) if a or b]
    assert len(pairs) > 150
    plain = geodp.Release(release.table)
    moved = [expected(plain, ring) != one for ring, one in zip(rings, wanted, strict=True)]
    assert 20 < sum(moved) < 200, "polygons with and without a whole area"
    np.testing.assert_allclose(*map(np.array, zip(*pairs, strict=True)), rtol=1e-9, atol=1e-7)


def test_what_has_no_closed_form_says_why(tmp_path):
    reasons = {}
    pairs = geodp.Grid.regular((4, 4)).pairs()
    cases = {
        "mwem": (None, None, {"method": "mwem"}),
        "pairs": (pairs, np.ones(pairs.shape, np.int64), {"contribution": 1}),
        "line": (geodp.Grid.regular((40,)), np.arange(40), {}),
        "towns": (None, None, {}),
    }
    for name, (grid, counts, terms) in cases.items():
        release, _ = publish(tmp_path / name, grid, counts, **{"contribution": 1, **terms})
        reasons[name] = missing_cells_reason(release), missing_formula_reason(release)
    assert reasons == {
        "mwem": (None, "no_closed_form"),
        "pairs": ("no_pairs", "no_pairs"),
        "line": ("no_map", "no_map"),
        "towns": (None, None),
    }


def test_without_the_table_of_regions_there_are_no_sums_of_areas(tmp_path):
    grid, _ = CASES["regions"]
    release, card = publish(tmp_path / "release", grid, counted(grid))
    assert missing_formula_reason(release) is None
    (tmp_path / "release" / "public" / "population.regions.csv").unlink()
    alone = geodp.open(tmp_path / "release")
    assert missing_formula_reason(alone) == "no_regions"
    assert "whole table of regions" in page_of(alone, card)


@NODE
def test_geojson_lies_where_geodp_estimate_puts_it(tmp_path):
    release, card = publish(tmp_path / "release")
    outer = [[9.75, 52.65], [10.0, 52.66], [10.02, 52.78], [9.76, 52.8], [9.75, 52.65]]
    hole = [[9.8, 52.7], [9.87, 52.7], [9.87, 52.75], [9.8, 52.7]]
    shapes = [
        {"type": "Polygon", "coordinates": [outer, hole]},
        {"type": "MultiPolygon", "coordinates": [[hole], [[[x + 0.1, y] for x, y in hole]]]},
    ]
    features = [
        {"type": "Feature", "properties": {"name": f"<{i}>"}, "geometry": shape}
        for i, shape in enumerate(shapes)
    ]
    file = tmp_path / "areas.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    driver = """
    const projection = new api.Projection(surface.place, surface.projection);
    return api.readGeoJSON(given).map(({ name, rings }) => {
      const moved = rings.map((ring) => projection.moveRing(ring));
      const found = surface.estimate(api.cellsInside(surface.place, moved));
      return [name, found.cells, found.count, found.error, found.low, found.high];
    });
    """
    computed = run(page_of(release, card), driver, file.read_text())
    for (name, cells, *numbers), (wanted, shape) in zip(
        computed, read_polygons(file, release.grid).items(), strict=True
    ):
        assert (name, cells) == (wanted, Region.of(release.grid, shape).cells)
        expected_estimate = release.estimate(shape)
        wanted = [
            expected_estimate.count,
            expected_estimate.standard_error,
            expected_estimate.low,
            expected_estimate.high,
        ]
        np.testing.assert_allclose(numbers, wanted, rtol=1e-9, atol=1e-7)


@NODE
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"type": "Point", "coordinates": [1, 2]}',
        '{"type": "Polygon", "coordinates": [[[0, 0], [1, "x"], [1, 1]]]}',
    ],
)
def test_what_is_no_geojson_with_polygons_is_refused(text, small):
    driver = "try { return api.readGeoJSON(given) } catch { return 'refused' }"
    assert run(small, driver, text) == "refused"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return page_of(*publish(tmp_path_factory.mktemp("small") / "release"))
