"""H3 cells as units: those whose centres lie in public bounds, each under one parent."""

import json
import sys

import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.hexagons import MOST_CELLS, grid_of_hexagons, hexagon_resolution
from geodp.grid.units import has_units, index_of_units
from tests.command import geodp as command

BOX = (139.5, 35.5, 140, 36)


@pytest.fixture(scope="module")
def h3():
    return pytest.importorskip("h3", reason="h3 comes with the extra hexagons")


def inside(h3, resolution, bounds):
    """Return the cells of a resolution whose centres lie in bounds, one by one."""
    west, south, east, north = bounds
    every = [c for base in h3.get_res0_cells() for c in h3.cell_to_children(base, resolution)]
    places = {cell: h3.cell_to_latlng(cell) for cell in every}
    return sorted(c for c, (y, x) in places.items() if south <= y <= north and west <= x <= east)


@pytest.mark.parametrize("spec", ["h3", "h3:", "h3:16", "h3:-1", "h3:07", "h3:7:8", "h3:x"])
def test_a_grid_of_no_resolution_is_refused(spec):
    with pytest.raises(UsageError, match="h3:RESOLUTION"):
        hexagon_resolution(spec)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((139, 35, 140), "four finite"),
        ((139, 35, 140, float("nan")), "four finite"),
        ((139, 36, 140, 35), "south below"),
        ((139, 35, 181, 36), "degrees"),
        ((350000, 3900000, 400000, 4000000), "degrees"),
        ((170, 35, -170, 36), "across 180 degrees"),
        ((139, 35, 139, 36), "west is below the east"),
    ],
)
def test_bounds_that_are_no_box_are_refused_without_the_library(bounds, words):
    with pytest.raises(UsageError, match=words):
        grid_of_hexagons(7, bounds)


@pytest.mark.parametrize("resolution", [-1, 16, True])
def test_other_resolutions_are_refused(resolution):
    with pytest.raises(UsageError, match="0 to 15"):
        grid_of_hexagons(resolution, BOX)


@pytest.mark.parametrize(
    "bounds",
    [
        (-180, -90, 180, 90),
        (-170, -60, 170, 80),  # wider than half of the Earth
        (-10, 35, 60, 72),
        (100, -90, 180, -50),
        (-180, 50, -120, 90),
    ],
)
@pytest.mark.parametrize("resolution", [0, 1, 3])
def test_cells_are_those_whose_centres_lie_in_the_bounds(h3, resolution, bounds):
    grid = grid_of_hexagons(resolution, bounds)
    assert has_units(grid)
    assert sorted(grid.hierarchy.codes[-1]) == inside(h3, resolution, bounds)


def test_levels_are_parents_up_to_a_few(h3):
    grid = grid_of_hexagons(7, BOX)
    table = grid.hierarchy
    assert table.levels == ("h3_4", "h3_5", "h3_6", "h3_7")
    assert len(table.codes[0]) <= 7 < len(table.codes[1])
    cells = table.labels("h3_7")
    for resolution in (4, 5, 6):
        parents = [h3.cell_to_parent(cell, resolution) for cell in cells]
        assert (table.labels(f"h3_{resolution}") == parents).all()
    assert table.source.startswith(
        "H3 cells of resolution 7 whose centres lie in 139.5 35.5 140 36"
    )
    assert h3.__version__ in table.source


def test_pentagons_are_units_as_others_are(h3):
    pentagon = h3.get_pentagons(5)[3]
    y, x = h3.cell_to_latlng(pentagon)
    grid = grid_of_hexagons(5, (x - 1, y - 1, x + 1, y + 1))
    assert (index_of_units(grid, [pentagon]) >= 0).all()


def test_bounds_with_no_centre_or_too_many_are_refused(h3):
    with pytest.raises(UsageError, match="centre of no cell"):
        grid_of_hexagons(7, (139, 35, 139.001, 35.001))
    with pytest.raises(UsageError, match=f"more than {MOST_CELLS:,}"):
        grid_of_hexagons(15, (-180, -90, 180, 90))


def test_another_unit_takes_other_codes(h3):
    grid = grid_of_hexagons(6, BOX, other="elsewhere")
    assert "counted as elsewhere" in grid.hierarchy.source
    home = index_of_units(grid, ["elsewhere"])
    assert (index_of_units(grid, ["8001fffffffffff"], other="elsewhere") == home).all()
    with pytest.raises(UsageError, match="otherwise than every unit"):
        grid_of_hexagons(6, BOX, other=grid.hierarchy.codes[-1][0])


@pytest.fixture
def counts(h3, tmp_path):
    """A file of counts of some cells of resolution 7 in the box."""
    cells = grid_of_hexagons(7, BOX).hierarchy.codes[-1][::9]
    path = tmp_path / "counts.csv"
    rows = "".join(f"{cell},{number}\n" for number, cell in enumerate(cells, 3))
    path.write_text(f"h3_index,people\n{rows}")
    return path, dict(zip(cells, range(3, 3 + len(cells)), strict=True))


BOUNDS = ("--bounds", *map(str, BOX))
TERMS = ("--epsilon", "100", "--contribution", "1", "--output", "out")


def test_a_file_is_published_by_its_name_and_bounds(counts, tmp_path):
    path, expected = counts
    done = command("publish", path, *BOUNDS, *TERMS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--grid h3:7" in done.stderr
    public = tmp_path / "out" / "public"
    card = json.loads((public / "release.json").read_text())
    assert "H3 cells of resolution 7" in json.dumps(card)
    assert command("verify", public, cwd=tmp_path).returncode == 0
    release = geodp.open(public)
    cell, people = max(expected.items(), key=lambda one: one[1])
    assert abs(release.estimate(cell).count - people) < 5
    assert (public / "population-h3_6.csv").is_file()


def test_pairs_of_cells_are_published(counts, tmp_path):
    path, _ = counts
    cells = [row.partition(",")[0] for row in path.read_text().splitlines()[1:]]
    rows = [f"{a},{b},5" for a, b in zip(cells, reversed(cells), strict=True)]
    path.write_text("\n".join(["origin,destination,trips", *rows, ""]))
    done = command("publish", path, *BOUNDS, *TERMS, "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--pairs" in done.stderr


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ((), 5, "row"),
        (("--outside", "drop"), 0, ""),
        (("--other", "elsewhere"), 0, ""),
    ],
)
def test_codes_of_other_cells_are_refused_unless_told(counts, tmp_path, more, code, words):
    path, _ = counts
    path.write_text(path.read_text() + "877541ad1ffffff,4\n")
    done = command("publish", path, *BOUNDS, *TERMS, "--check", *more, cwd=tmp_path)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert "877541ad1ffffff" not in done.stderr


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "--bounds"),
        (("--bounds", "japan"), "four numbers in degrees"),
        ((*BOUNDS, "--order", "official"), "leave out --order"),
        ((*BOUNDS, "--primary", "5339"), "Not for h3: grids"),
        ((*BOUNDS, "--units-source", "x"), "Not for h3: grids"),
    ],
)
def test_options_of_maps_are_refused(tmp_path, more, words):
    (tmp_path / "a.csv").write_text("h3,n\n872f5a363ffffff,5\n872f5a362ffffff,5\n")
    given = ("--grid", "h3:7", "--code", "h3", "--value", "n")
    done = command("publish", "a.csv", *given, *more, *TERMS, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "h3", None)
    with pytest.raises(UsageError, match=r"pip install 'geodp\[hexagons\]'"):
        grid_of_hexagons(7, BOX)


def test_bounds_in_words_of_degrees_are_the_same(counts, tmp_path):
    path, _ = counts
    for number, more in enumerate(((), ("degrees",))):
        given = ("--bounds", " ".join([*map(str, BOX), *more]))
        done = command(
            "publish", path, *given, "--epsilon", "1", "--contribution", "1", "--check",
            "--output", f"out{number}", cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
