"""Several zones of other places: each for the codes of its name, the last one for all others."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.features.flows.page import write_page
from geodp.features.flows.zones import Zones, pairs_of
from geodp.grid.cells.choose import cells_of
from geodp.grid.cells.grid import grid_of_cells
from geodp.grid.units import add_others, grid_of_units
from geodp.io.read.public.units import read_units
from geodp.privacy.key import NoiseKey
from tests.command import geodp as call
from tests.features.flows.commands.test_flows import done
from tests.features.flows.test_other_units import BY_CODE, BY_POINT, PLAIN, with_other
from tests.features.flows.test_publish import ends_of
from tests.features.flows.test_sensitivity import AMOUNTS, loss
from tests.features.flows.test_unit_sensitivity import measure, plan_of
from tests.features.flows.test_verify import failed
from tests.features.flows.units import make_units, unit_trips
from tests.grid.cells.libraries import need_h3
from tests.refusals import refuses

OTHERS = ("abroad", "at sea", "rest of the country")
REST = OTHERS[-1]
KEY = NoiseKey(bytes(range(32)))
GRID = with_other(name=OTHERS)
HOMES = [int(GRID.names.find([one])[1, 0]) for one in OTHERS]


def rows(number=4000, outside=400):
    """Trips between units, of which some begin or end in zones of other places."""
    made = {name: np.asarray(one) for name, one in unit_trips(PLAIN, number).items()}
    made["o"], made["d"] = made["o"].astype(object), made["d"].astype(object)
    draw = np.random.default_rng(5)
    for end, some in (("o", slice(0, outside)), ("d", slice(outside // 2, 2 * outside))):
        size = made[end][some].size
        made[end][some] = draw.choice([*OTHERS[:2], "999", "XX", REST], size)
        made[f"{end}x"][some], made[f"{end}y"][some] = 10.0, 50.0
    return pa.table({name: pa.array(one.tolist()) for name, one in made.items()})


def ends_at(table):
    """Trips by the zone of other places in which they begin and end; others as None."""
    index, found = table.grid.decode(table.key), {}
    for start, end, count in zip(index[1], index[3], table.count, strict=True):
        pair = tuple(OTHERS[HOMES.index(at)] if at in HOMES else None for at in (start, end))
        found[pair] = found.get(pair, 0) + int(count)
    return found


@pytest.fixture(scope="module")
def release():
    return geodp.flows.publish(rows(), grid=GRID, other=OTHERS, epsilon=5, key=KEY, **BY_CODE)


def test_codes_are_in_the_zone_of_their_name_and_all_others_in_the_last():
    every = {**BY_CODE, "trips": 999}
    table, wanted = rows(), {}
    for start, end in zip(table["o"].to_pylist(), table["d"].to_pylist(), strict=True):
        known = {one: one for one in OTHERS} | {"999": REST, "XX": REST}
        pair = known.get(start), known.get(end)
        wanted[pair] = wanted.get(pair, 0) + 1
    found = geodp.flows.read_trips(table, grid=GRID, other=OTHERS, key=KEY, **every)
    assert ends_at(found) == wanted
    assert len(wanted) == 16
    # Coordinates have no names.
    found = geodp.flows.read_trips(
        table, grid=GRID, other=OTHERS, key=KEY, **{**BY_POINT, "trips": 999}
    )
    assert {*ends_at(found)} == {(None, None), (REST, None), (None, REST), (REST, REST)}
    # One end by code and one by coordinates.
    mixed = {**every, "destination": ("dy", "dx")}
    found = geodp.flows.read_trips(table, grid=GRID, other=OTHERS, key=KEY, **mixed)
    assert {end for _, end in ends_at(found)} == {None, REST}
    assert {start for start, _ in ends_at(found)} == {None, *OTHERS}


def test_counted_rows_and_stays_have_the_zones():
    ends = {"o": ["abroad", "?", " at sea "], "d": ["?", REST, "abroad"]}
    counted = pa.table({**ends, "n": [3, 4, 5]})
    given = {"origin": "o", "destination": "d", "value": "n"}
    found = geodp.flows.read_trips(counted, grid=GRID, other=OTHERS, **given)
    assert ends_at(found) == {("abroad", REST): 3, (REST, REST): 4, ("at sea", "abroad"): 5}
    clock = [f"2024-05-01T{hour:02d}:00" for hour in range(6, 13)]
    places = ["abroad", "abroad", "?", "999", "at sea", "abroad"]
    stays = pa.table({"id": ["a"] * 6, "t": clock[:-1], "u": clock[1:], "p": places})
    given = {"place": "p", "time": "t", "end": "u", "person": "id", "trips": 9}
    found = geodp.flows.read_stays(stays, grid=GRID, other=OTHERS, **given)
    assert ends_at(found) == {
        ("abroad", REST): 1,
        (REST, "at sea"): 1,
        ("at sea", "abroad"): 1,
    }
    with refuses(InputError, "flows-code-unknown|code-missing"):
        geodp.flows.read_stays(
            stays.set_column(3, "p", pa.array([*places[:5], " "])), grid=GRID, other=OTHERS, **given
        )


def test_each_zone_is_a_block_of_its_own_without_distance():
    zones, same = Zones.of(GRID), Zones.of(PLAIN)
    assert sorted(zones.column[-3:].tolist()) == sorted(HOMES)
    for side in (1, 2, 4):
        assert np.diff(zones.blocks(side).first)[-3:].tolist() == [1, 1, 1]
        law = zones.law(3.0, zones.blocks(side))
        assert np.isfinite(law).all()
        assert np.allclose(law[-3:], law[-1, -1])
        assert np.allclose(law[:, -3:], law[-1, -1])
        assert law[:-3, :-3] == pytest.approx(same.law(3.0, same.blocks(side)))
    planned = geodp.flows.plan(GRID, trips=4, epsilon=1, levels={2: "1/2"})
    assert planned.pairs == {2: (same.blocks(2).number + 3) ** 2}
    assert pairs_of(GRID).size == 45**2


def test_a_release_is_written_verified_and_opened(release, tmp_path):
    for flows, released in ends_of(release):
        assert np.array_equal(flows, released)
    release.write(tmp_path / "out")
    assert failed(tmp_path / "out" / "public") == {}
    done("verify", tmp_path / "out")
    again = geodp.open(tmp_path / "out")
    for one, other in itertools.product(OTHERS, repeat=2):
        assert again.estimate(one, other, simulations=20) == release.estimate(
            one, other, simulations=20
        )
    found = again.compare((OTHERS[0], REST), (REST, OTHERS[0]), simulations=20)
    assert found.low <= found.value <= found.high
    flows, lines = again.to_pandas(), again.to_geopandas()
    assert {*OTHERS} <= {*flows["origin"]} & {*flows["destination"]}
    assert {*OTHERS}.isdisjoint({*lines["origin"], *lines["destination"]})
    for name in ("flows", "origins"):
        card = json.loads((tmp_path / f"out/public/{name}/release.json").read_text())
        said = json.dumps(card)
        assert "the code abroad or at sea were counted as the zone of this name" in said
        assert f"also all coordinates there, as the zone {REST}" in said
    named = "abroad, at sea where they are this name, and all others as"
    assert GRID.hierarchy.source.endswith(f"are counted as {named} {REST}")
    left = {one["name"]: one["why"] for one in card["left_out"]}
    assert all("nowhere" not in why for why in left.values())
    assert "no outline" in left["origins.gpkg"]
    for language in ("en", "ja"):
        page = write_page(again, language, simulations=20)
        assert all(one in page for one in OTHERS)
        assert "nan" not in page.split()


def test_the_order_of_the_zones_before_the_last_says_nothing(release):
    """Their grids are one, so that releases are compared; another last zone has other trips."""
    turned = (*OTHERS[-2::-1], REST)
    same, moved = with_other(name=turned), with_other(name=OTHERS[::-1])
    assert turned != OTHERS
    assert same == GRID != moved
    later = geodp.flows.publish(
        rows(), grid=same, other=turned, epsilon=5, key=NoiseKey(bytes(range(1, 33))), **BY_CODE
    )
    found = release.compare((OTHERS[0], REST), release=later, simulations=20)
    assert found.low <= found.value <= found.high
    other = geodp.flows.publish(
        rows(), grid=moved, other=OTHERS[::-1], epsilon=5, key=NoiseKey.generate(), **BY_CODE
    )
    with refuses(UsageError, "compare-grids"):
        release.compare((OTHERS[0], REST), release=other, simulations=20)


@pytest.mark.parametrize("listed", [OTHERS, (*OTHERS[1::-1], REST), OTHERS[1:], REST])
def test_the_card_names_all_zones_of_the_grid_whichever_the_call_lists(listed):
    """Each of them has the codes of its name, also one that the call leaves out."""
    table = geodp.flows.read_trips(rows(), grid=GRID, other=listed, key=KEY, **BY_CODE)
    (said,) = [one for one in table.reading.public_facts if "the zone" in one]
    assert said == (
        "that places with the code abroad or at sea were counted as the zone of this name, and all "
        "other places outside, also all coordinates there, as the zone rest of the country"
    )


def test_matrices_have_the_zones(release, tmp_path):
    h5py = pytest.importorskip("h5py", reason="the extra `omx` is not installed")
    release.write(tmp_path / "out")
    made = tmp_path / "made"
    done("export", tmp_path / "out" / "public" / "flows", "--to", "omx", "--output", made)
    with h5py.File(made / "flows.omx") as file:
        (matrix,) = (file["data"][name][...] for name in file["data"])
    assert matrix.shape == (45, 45)
    assert matrix.sum() == release.flows.table.count.sum()


SMALL = with_other(make_units(2, 3)[0], ("away", "beyond"))
CORNERS = (0, *(int(SMALL.names.find([one])[1, 0]) for one in ("away", "beyond")))


def table_of(world, trips):
    names = {at: str(SMALL.names.format(0, np.array([[0], [at]]))[0]) for at in CORNERS[:2]}
    listed = [(f"p{i}", *trip) for i, one in enumerate(world) for trip in one]
    at = [[names.get(row[n], f"x{k}") for k, row in enumerate(listed)] for n in (1, 2)]
    table = {"id": [row[0] for row in listed], "o": at[0], "d": at[1]}
    table = pa.table({name: pa.array(one, pa.string()) for name, one in table.items()})
    return geodp.flows.read_trips(
        table, grid=SMALL, other=("away", "beyond"), key=KEY, **{**BY_CODE, "trips": trips}
    )


def largest(trips, plan, claimed=None):
    found, claimed = Fraction(0), trips if claimed is None else claimed
    pairs = [*itertools.product(CORNERS, repeat=2)]
    persons = [
        one
        for number in range(claimed + 1)
        for one in itertools.combinations_with_replacement(pairs, number)
    ]
    for others in ((), (((0, CORNERS[2]), (CORNERS[2], CORNERS[1])),)):
        base = measure(table_of(others, claimed), plan)
        several = [measure(table_of((*others, one), claimed), plan) for one in persons]
        found = max(found, *(loss(base, other) for other in several))
    return found


@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("trips", [1, 2])
def test_one_person_costs_the_budget_and_no_more(trips, amounts):
    (claim,) = amounts.values()
    assert largest(trips, plan_of(SMALL, trips, **amounts)) == claim


def test_more_than_is_stated_is_found():
    """Controls: noise for 5/4 of the budget, and two trips where the noise is for one."""
    assert largest(1, plan_of(SMALL, 1, epsilon=Fraction(5, 4))) == Fraction(5, 4)
    assert largest(1, plan_of(SMALL, 1, epsilon=1), claimed=2) == 2


@pytest.mark.parametrize(
    "names",
    [
        ("abroad", "abroad"),
        ("abroad", " away"),
        ("abroad", "a,b"),
        ("abroad", "two\nlines"),
        ("abroad", ""),
        (str(PLAIN.names.format(0, np.array([[0], [3]]))[0]), "abroad"),
    ],
)
def test_names_that_could_be_taken_for_others_are_refused(names):
    with refuses(UsageError, "other-unit-name"):
        with_other(name=names)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("海外（欧州）", "x"), "t1"),
        (("０１", "x"), "01"),
        (("Ａｂｒｏａｄ", "x"), "t1"),
        (("a\u2212b", "x"), "t1"),
        (("cafe\u0301", "x"), "t1"),
        (("他",), "Ａ地区"),
    ],
)
def test_names_and_codes_that_rows_never_have_are_refused(names, code):
    """Codes of rows are read in narrow characters, so that theirs would be in the last zone."""
    with refuses(UsageError, "other-unit-spelling"):
        add_others({"town": np.array([code])}, "made up", names)


def test_rows_in_full_width_are_of_the_zone_of_this_name(tmp_path):
    grid, path = with_other(name=("海外(欧州)", "x")), tmp_path / "trips.csv"
    (code,) = PLAIN.names.format(0, np.array([[0], [0]])).tolist()
    rows = (f"海外（欧州）,{code}", f"{code},海外(欧州)", f"else,{code}")
    path.write_text("o,d,n\n" + "".join(f"{row},1\n" for row in rows), encoding="utf-8")
    trips = geodp.flows.read_trips(
        path, grid=grid, origin="o", destination="d", value="n", other=("海外(欧州)", "x")
    )
    index = trips.grid.decode(trips.key)
    ends = [grid.names.format(0, index[at : at + 2]).tolist() for at in (0, 2)]
    assert sorted(zip(*ends, strict=True)) == sorted(
        [("海外(欧州)", code), (code, "海外(欧州)"), ("x", code)]
    )


def test_names_of_areas_above_are_refused():
    levels = {"block": np.array(["11", "21"]), "county": np.array(["north", "south"])}
    with refuses(UsageError, "other-unit-name"):
        add_others(levels, "made up", ("south",))


def test_zones_that_the_grid_was_not_made_with_are_refused():
    for others, code in (
        (OTHERS[::-1], "flows-others-differ"),
        (("abroad", "abroad", REST), "flows-others-differ"),
        ((*OTHERS[:2],), "flows-others-differ"),
        (("moon", REST), "other-no-unit"),
        ((str(PLAIN.names.format(0, np.array([[0], [3]]))[0]), REST), "flows-other-is-place"),
    ):
        with refuses(UsageError, code):
            geodp.flows.read_trips(rows(), grid=GRID, other=others, **BY_CODE)
    # The last one alone is enough, as the others are units of the grid.
    found = geodp.flows.read_trips(rows(), grid=GRID, other=REST, key=KEY, **BY_CODE)
    same = geodp.flows.read_trips(rows(), grid=GRID, other=OTHERS, key=KEY, **BY_CODE)
    assert np.array_equal(found.key, same.key)


class TestCells:
    """Cells of H3, whose codes have a form."""

    BOUNDS = (139, 35, 139.2, 35.15)

    @pytest.fixture(autouse=True)
    def library(self):
        need_h3()

    @pytest.mark.parametrize("spec", ["h3:5", "h3:7"])
    def test_cells_and_names_are_told_apart(self, spec):
        grid = grid_of_cells(spec, self.BOUNDS, other=OTHERS)
        assert cells_of(grid.hierarchy) is not None
        plain = grid_of_cells(spec, self.BOUNDS)
        assert grid.size == plain.size + 3
        far = grid_of_cells(spec, (10, 50, 10.3, 50.3)).hierarchy.codes[-1][0]
        codes = {"o": ["abroad", far, "at sea"], "d": [far, REST, "abroad"]}
        ends = pa.table({**codes, "n": [3, 4, 5]})
        found = geodp.flows.read_trips(
            ends, grid=grid, other=OTHERS, origin="o", destination="d", value="n"
        )
        index = found.grid.decode(found.key)
        names = [grid.names.format(0, index[at : at + 2]).tolist() for at in (0, 2)]
        assert {*zip(*names, found.count.tolist(), strict=True)} == {
            ("abroad", REST, 3),
            (REST, REST, 4),
            ("at sea", "abroad", 5),
        }
        with refuses(InputError, "code-no-cell"):
            geodp.flows.read_trips(
                pa.table({"o": ["moon"], "d": [far], "n": [1]}),
                grid=grid, other=OTHERS, origin="o", destination="d", value="n",
            )  # fmt: skip
        zones = Zones.of(grid)
        assert np.diff(zones.blocks(2).first)[-3:].tolist() == [1, 1, 1]

    def test_points_outside_are_in_the_last_zone(self, tmp_path):
        grid = grid_of_cells("h3:7", self.BOUNDS, other=("abroad", "rest"))
        draw = np.random.default_rng(2)
        at = {name: draw.uniform(low, low + 0.3, 3000) for name, low in
              (("oy", 35), ("dy", 35), ("ox", 139), ("dx", 139))}  # fmt: skip
        names = [f"p{i}" for i in draw.integers(0, 300, 3000)]
        made = geodp.flows.publish(
            pa.table({"id": names, **at}), grid=grid, other=("abroad", "rest"), epsilon=20,
            **BY_POINT,
        )  # fmt: skip
        made.write(tmp_path / "out")
        assert failed(tmp_path / "out" / "public") == {}
        again = geodp.open(tmp_path / "out")
        assert cells_of(again.origins.grid.hierarchy) is not None
        assert again.estimate("rest", "rest", simulations=20).count > 500
        assert again.estimate("abroad", "abroad", simulations=20).count < 100

    def test_a_table_of_a_publisher_is_not_taken_for_cells(self):
        codes = ["872f5aadeffffff", "872f5aac4ffffff", "elsewhere", "nowhere"]
        assert cells_of(grid_of_units({"h3_7": codes}, "made up").hierarchy) is None
        levels, source = add_others(
            {"h3_7": np.array(codes[:2])}, "made up", ("elsewhere", "nowhere")
        )
        assert cells_of(grid_of_units(levels, source).hierarchy) is not None


class TestCommand:
    """The zones in the commands, on units of a file."""

    @pytest.fixture
    def files(self, tmp_path):
        import geopandas

        index = np.stack([np.zeros(42, np.int64), np.arange(42)])
        frame = geopandas.GeoDataFrame(
            {"code": PLAIN.names.format(0, index)}, geometry=PLAIN.outlines.shapes, crs="EPSG:4326"
        )
        frame.to_file(tmp_path / "towns.gpkg")
        rows(1500, 200).to_pandas().to_csv(tmp_path / "trips.csv", index=False)
        return tmp_path

    @staticmethod
    def grid(files, *others):
        units = ("--grid", f"units:{files / 'towns.gpkg'}", "--units-source", "made up")
        return (*units, *(word for one in others for word in ("--other", one)))

    def test_a_release_with_the_zones(self, files):
        persons = ("--person", "id", "--trips", "4", "--epsilon", "5", "--output", files / "out")
        ends = ("--from", "o", "--to", "d")
        done("flows", "publish", files / "trips.csv", *self.grid(files, *OTHERS), *ends, *persons)
        done("verify", files / "out")
        pair = ("--from", "abroad", "--to", REST, "--from", REST, "--to", "abroad")
        small = ("--simulations", "20")
        rows_ = done("flows", "estimate", files / "out", *pair, "--json", *small)
        assert all(one["count"] >= 0 for one in json.loads(rows_.stdout))
        done("flows", "compare", files / "out", *pair, *small)
        done("flows", "report", files / "out", "--output", files / "a.html", *small)
        (grid,) = {geodp.open(files / "out").origins.grid}
        made = read_units(files / "towns.gpkg", source="made up", other=OTHERS)
        assert grid == made

    def test_plans_and_choices_with_the_zones(self, files):
        words = ("--trips", "4", "--epsilon", "1", "--level", "1=1/2", "--json")
        planned = json.loads(done("flows", "plan", *self.grid(files, *OTHERS), *words).stdout)
        assert planned[0]["pairs"] == {"1": 45**2}
        ends = ("--from", "o", "--to", "d", "--person", "id")
        done("flows", "choose-trips", files / "trips.csv", *self.grid(files, *OTHERS), *ends,
             "--largest", "20", "--epsilon", "1", "--output", files / "trips")  # fmt: skip
        refused = call("flows", "plan", *self.grid(files, "x", "x"), *words)
        assert refused.returncode == 2
        assert "a name of its own" in refused.stderr

    def test_the_squares_of_a_map_are_units_that_have_the_zones(self, files):
        """What the refusal of zones of other places on maps of cells advises."""
        import geopandas

        mesh = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
        row, col = (one.reshape(-1) for one in np.indices(mesh.shape))
        lattice = mesh.places[0]
        a, _, c, _, e, f = lattice.transform
        shapes = [shapely.box(c + a * j, f + e * (i + 1), c + a * (j + 1), f + e * i)
                  for i, j in zip(row, col, strict=True)]  # fmt: skip
        codes = lattice.format(row, col)
        geopandas.GeoDataFrame({"code": codes}, geometry=shapes, crs="EPSG:6668").to_file(
            files / "squares.gpkg"
        )
        draw = np.random.default_rng(1)
        trips = {
            "id": [f"p{i}" for i in draw.integers(0, 90, 900)],
            "o": np.append(draw.choice(codes, 400), ["abroad"] * 300 + ["?"] * 200),
            "d": draw.choice(codes, 900),
        }
        pa_table = pa.table({name: [*map(str, one)] for name, one in trips.items()})
        pa_table.to_pandas().to_csv(files / "codes.csv", index=False)
        units = ("--grid", f"units:{files / 'squares.gpkg'}", "--units-source", "made up")
        others = ("--other", "abroad", "--other", "rest")
        persons = ("--person", "id", "--trips", "20", "--epsilon", "200", "--output", files / "out")
        done("flows", "publish", files / "codes.csv", *units, *others, "--from", "o", "--to", "d",
             *persons)  # fmt: skip
        done("verify", files / "out")
        release = geodp.open(files / "out")
        table = release.origins.table
        names = table.grid.names.format(0, table.grid.decode(table.key))
        found = dict(zip(names.tolist(), table.count.tolist(), strict=True))
        true = pa_table.to_pandas()["o"].value_counts()
        assert found["abroad"] == pytest.approx(true["abroad"], abs=20)
        assert found["rest"] == pytest.approx(true["?"], abs=20)
