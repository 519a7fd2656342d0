"""Trips bounded in a database: as many of each person as geodp keeps, by their own rows alone."""

import shlex
from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.codes.sql import ENGINES
from geodp.io.read.public.mask import read_mask
from geodp.kinds.flows.query import CodedTrips, FlowQuery, LocatedTrips, draw_secret
from tests.command import geodp as run
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.3333333333"))
WORDS = ("--grid", "jis:basic", "--bounds", "139", "35", "139.5", "35.3333333333")
CODED = ("--from", "home", "--to", "work")
COLUMNS = ("from_lon", "from_lat"), ("to_lon", "to_lat")


def trips_of(size=4000, persons=300, spread=0.02):
    """Trips of persons, of whom many go between the same zones; some end outside."""
    draw = np.random.default_rng(3)
    home = draw.random((persons, 2)) * (0.5, 0.33) + (139, 35)
    work, person = home[draw.permutation(persons)], draw.integers(0, persons, size)
    ends = []
    for one in (home, work):
        far = spread * (draw.random(size) < 0.5)[:, None]
        ends += [*(one[person] + draw.normal(0, far, (size, 2))).T]
    names = (*COLUMNS[0], *COLUMNS[1])
    rows = {"id": [f"p{one}" for one in person]} | dict(zip(names, ends, strict=True))
    return pa.table(rows)


def zoned(size=3000, persons=200):
    """Trips with codes of zones, hours and days, of persons who repeat some of theirs."""
    draw = np.random.default_rng(8)
    place = GRID.places[0]
    person = draw.integers(0, persons, size)
    columns = {"id": [f"p{one}" for one in person]}
    for name in ("home", "work"):
        cells = draw.integers(0, 40, (persons, 2))[person] + draw.integers(0, 2, (size, 2))
        cells = np.minimum(cells, (place.rows - 1, place.cols - 1))
        columns[name] = place.format(*cells.T)
    hour, day = draw.integers(6, 9, size), draw.integers(1, 4, size)
    columns |= {"hour": hour, "day": [f"2024-05-0{one}" for one in day]}
    times = zip(columns["day"], hour.tolist(), strict=True)
    return pa.table(columns | {"time": [f"{one}T{at:02}:30" for one, at in times]})


def printed(*words):
    """The query that the command prints, and the words of its comment."""
    grid = () if "--grid" in words else WORDS
    done = run("flows", "sql", *grid, "--engine", "duckdb", "--person", "id", *words)
    assert done.returncode == 0, done.stderr
    words = shlex.split(done.stdout.splitlines()[1].split("geodp ")[1].replace(" ...", ""))
    return done.stdout, words


def select(table, query):
    link = duckdb.connect()
    link.register("trips", table)
    return link.sql(query).to_arrow_table()


def query_of(trips, per_pair=None, secret="0a1b", **more):
    place = GRID.places[0]
    records = LocatedTrips(
        system=place.system,
        extent=(place.row0, place.col0, place.rows, place.cols),
        table="trips",
        **{"x": COLUMNS[0][0], "y": COLUMNS[0][1], "to": COLUMNS[1], "person": "id"} | more,
    )
    return FlowQuery(records=records, trips=trips, per_pair=per_pair or trips, secret=secret)


def counted(table, query, engine="duckdb"):
    """Counts of pairs, sorted."""
    link = duckdb.connect()
    link.register("trips", table)
    rows = link.sql(query.write(engine)).to_arrow_table().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def read(table, trips, per_pair=None):
    places = {"origin": ("from_lon", "from_lat"), "destination": ("to_lon", "to_lat")}
    return geodp.flows.read_trips(
        table, grid=GRID, **places, person="id", trips=trips, per_pair=per_pair, outside="drop"
    )


def number(rows):
    return sum(row[2] for row in rows)


@pytest.mark.parametrize(("trips", "per_pair"), [(1, 1), (5, 5), (5, 2), (9, 1)])
def test_as_many_trips_are_kept_as_geodp_keeps(trips, per_pair):
    table = trips_of()
    found = counted(table, query_of(trips, per_pair))
    assert number(found) == int(read(table, trips, per_pair).count.sum())
    alone = trips_of(persons=1, size=300)
    assert 0 < number(counted(alone, query_of(trips, per_pair))) <= trips
    assert max(row[2] for row in counted(alone, query_of(trips, per_pair))) <= per_pair


def test_neither_the_order_of_rows_nor_other_persons_matter():
    table = trips_of(size=500, persons=20)
    query = query_of(3, 2)
    whole = counted(table, query)
    order = np.random.default_rng(5).permutation(table.num_rows)
    assert counted(table.take(pa.array(order)), query) == whole
    sums: dict[tuple[str, str], int] = {}
    for name in set(table["id"].to_pylist()):
        own = table.filter(pa.compute.equal(table["id"], name))
        for origin, destination, n in counted(own, query):
            sums[origin, destination] = sums.get((origin, destination), 0) + n
    assert sorted((*pair, n) for pair, n in sums.items()) == whole


def test_the_secret_decides_and_each_query_has_its_own():
    table = trips_of()
    one, again, other = (counted(table, query_of(2, secret=one)) for one in ("a", "a", "b"))
    assert one == again != other
    assert draw_secret() != draw_secret()
    assert draw_secret().isalnum()


def test_trips_without_a_person_are_left_out():
    table = trips_of(size=400)
    names = pa.array([None, "", "nan", *table["id"].to_pylist()[3:]])
    without = table.set_column(0, "id", names)
    assert counted(without, query_of(9999)) == counted(table.slice(3), query_of(9999))
    # A person whose id has blanks around it is one person.
    table = trips_of(size=300, persons=1)
    ids = ["p0", "p0\t", "\u3000p0", "p0\xa0"] * 75
    assert number(counted(table.set_column(0, "id", [ids]), query_of(3))) == 3
    unknown = table.set_column(0, "id", [["\t", "\n", "\\N"] * 100])
    assert counted(unknown, query_of(3, unknown=("", "\\n"))) == []


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"person": None}, "flows-sql-columns"),
        ({"to": None}, "flows-sql-columns"),
        ({"trips": 0}, "flows-bound-form"),
        ({"trips": 10**6}, "flows-trips-too-many"),
    ],
)
def test_what_makes_no_sense_is_refused(more, code):
    with refuses(UsageError, code):
        query_of(**{"trips": 2, "per_pair": 1, **more})


def coded(trips, secret="0a1b", **more):
    zones = ("home", "work")
    records = CodedTrips(**{"table": "trips"} | more, person="id", zones=zones)
    return FlowQuery(records=records, trips=trips, per_pair=trips, secret=secret)


def labelled(table, trips, **more):
    """Counts of pairs and hours as geodp reads them."""
    places = {"origin": "home", "destination": "work", "person": "id"}
    return geodp.flows.read_trips(table, grid=GRID, **places, trips=trips, **more)


def test_codes_of_zones_are_counted_as_geodp_counts_them():
    table = zoned()
    wanted = labelled(table, 9999)
    index = wanted.grid.decode(wanted.key)
    codes = [GRID.places[0].format(*index[at : at + 2]).tolist() for at in (0, 2)]
    assert counted(table, coded(9999)) == sorted(zip(*codes, wanted.count.tolist(), strict=True))
    # Numbers are the same codes, and blanks around codes play no role.
    numbers = pa.array([int(one) for one in table["home"].to_pylist()])
    blank = pa.array([f" {one}\t" for one in table["work"].to_pylist()])
    other = table.set_column(1, "home", numbers).set_column(2, "work", blank)
    for trips in (2, 9999):
        assert counted(other, coded(trips)) == counted(table, coded(trips))


def test_trips_without_a_code_take_no_place_of_others():
    table = zoned(size=90, persons=1)
    homes = [*table["home"].to_pylist()[:10], *[None, "", " \t"] * 26, None, ""]
    found = counted(table.set_column(1, "home", pa.array(homes)), coded(10))
    assert found == counted(table.slice(0, 10), coded(10))
    assert number(found) == 10


def test_trips_beyond_the_bounds_take_no_place_of_others():
    table = trips_of(persons=1, size=100)
    west = np.where(np.arange(100) < 95, 138.9, 139.1)
    moved = table.set_column(1, "from_lon", pa.array(west))
    found = counted(moved, query_of(5))
    assert found == counted(moved.slice(95), query_of(5))
    assert number(found) == int(read(moved, 5).count.sum()) > 0


def masked(tmp_path, inside):
    """Words of a mask of cells, and the grid that it makes."""
    path = tmp_path / "mask.csv"
    path.write_text("\n".join(["code", *GRID.places[0].format(*inside).tolist()]))
    grid = read_mask(path, GRID, source="a test")
    return ("--mask", str(path), "--mask-source", "a test"), grid


@pytest.mark.parametrize("trips", [3, 9999])
def test_trips_outside_a_mask_take_no_place_of_others(tmp_path, trips):
    table = trips_of()
    place = GRID.places[0]
    inside = np.indices((place.rows, place.cols)).reshape(2, -1)[:, ::3]
    words, grid = masked(tmp_path, inside)
    query, publishing = printed("--trips", str(trips), *words)
    found = select(table, query)
    places = {"origin": ("from_lon", "from_lat"), "destination": ("to_lon", "to_lat")}
    wanted = geodp.flows.read_trips(
        table, grid=grid, **places, person="id", trips=trips, outside="drop"
    )
    assert sum(found["geodp_records"].to_pylist()) == int(wanted.count.sum()) > 0
    # Without --outside drop: no place is outside the mask.
    counts = geodp.flows.read_trips(
        found, grid=grid, origin="origin", destination="destination", value="geodp_records"
    )
    if trips == 9999:
        assert counts.key.tolist() == wanted.key.tolist()
        assert counts.count.tolist() == wanted.count.tolist()
    assert publishing[publishing.index("--mask") + 1] == words[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_leaves_cells_and_codes_outside_out_before_trips_are_numbered(engine):
    text = query_of(3, mask=np.array([[0, 1], [2, 0]])).write(engine)
    assert {"bigquery": "TO_HEX(SHA256(", "postgres": "encode(sha256("}.get(engine, "sha2") in text
    assert "random" not in text.lower()
    row0, col0, _, cols = query_of(3).records.extent
    cells = f"({row0 * cols + col0 + 2}, {(row0 + 1) * cols + col0})"
    for end in ("from", "to"):
        assert text.count(f"{end}_cell_row * {cols} + {end}_cell_col IN {cells}") == 1
    assert text.index(cells) < text.index("drawn AS")
    text = coded(3, known=("A-1", "02")).write(engine)
    assert "from_code IN ('A-1', '02', '02.0', '2', '2.0')" in text
    assert text.index("to_code IN ('A-1'") < text.index("drawn AS")


@pytest.mark.parametrize("trips", [4, 9999])
def test_trips_of_codes_that_are_no_unit_take_no_place_of_others(tmp_path, trips):
    table, path = zoned(), tmp_path / "zones.csv"
    rows = [*zip(*(table[name].to_pylist() for name in ("id", "home", "work")), strict=True)]
    codes = sorted({code for _, *ends in rows for code in ends})[::2]
    path.write_text("\n".join(["code", *codes]))
    units = ("--grid", f"units:{path}", "--units-source", "a test", *CODED)
    query, words = printed(*units, "--trips", str(trips))
    assert words[words.index("--units-source") + 1] == "a test"
    assert "other zones than the units are left out" in query.splitlines()[0]
    inside = [(person, *ends) for person, *ends in rows if {*ends} <= {*codes}]
    found = select(table, query).to_pydict()
    found = dict(zip(zip(*[*found.values()][:2], strict=True), found["geodp_records"], strict=True))
    each = Counter(person for person, *_ in inside)
    assert 0 < len(inside) < table.num_rows
    assert sum(found.values()) == sum(min(n, trips) for n in each.values())
    if trips == 9999:
        assert found == Counter((origin, destination) for _, origin, destination in inside)


def test_codes_that_are_damaged_are_kept_and_told_when_they_are_published():
    table = pa.table({"id": ["p"] * 6, "home": ["01", "1", "01.0", "1.0", "99", None]})
    table = table.append_column("work", pa.array(["7", "7.0", "7", "7", "7", "7"]))
    found = counted(table, coded(9, known=("01", "7")))
    assert [row[:2] for row in found] == [("01", "7"), ("01.0", "7"), ("1", "7.0"), ("1.0", "7")]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (lambda: query_of(3, mask=np.zeros((2, (1 << 14) + 1), int)), "flows-sql-zones-many"),
        (lambda: coded(3, known=tuple(map(str, range((1 << 14) + 1)))), "flows-sql-zones-many"),
        (lambda: coded(3, known=("it's",)), "flows-sql-units-quoted"),
    ],
)
def test_zones_that_cannot_be_listed_are_refused(query, code):
    with refuses(UsageError, code):
        query().write("duckdb")


@pytest.mark.parametrize("trips", [1, 4])
def test_trips_with_labels_are_bounded_all_together(trips):
    table = zoned()
    found = counted(table, coded(trips, labels={"hour": "hour"}))
    wanted = labelled(table, trips, by="hour", time="time")
    assert sum(row[3] for row in found) == int(wanted.count.sum())
    assert {row[2] for row in found} == {6, 7, 8}
    alone = zoned(size=90, persons=1)
    assert sum(row[3] for row in counted(alone, coded(trips, labels={"hour": "hour"}))) == trips


@pytest.mark.parametrize("trips", [1, 4])
def test_a_person_in_a_day_has_trips_of_its_own(trips):
    table = zoned()
    found = counted(table, coded(trips, period="day"))
    wanted = labelled(table, trips, unit="person-day", time="time")
    assert number(found) == int(wanted.count.sum()) > number(counted(table, coded(trips)))
    alone = zoned(size=90, persons=1)
    assert number(counted(alone, coded(trips, period="day"))) == 3 * trips
    untimed = alone.set_column(4, "day", pa.nulls(90, pa.string()))
    assert counted(untimed, coded(trips, period="day")) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "home"), "--from goes with --to only"),
        (("--from", "a", "--to", "b", "--points", "x", "y"), "--from or --points, not both"),
        (("--from", "a", "--to", "b", "--mask", "m", "--mask-source", "s"), "several spellings"),
        (("--mask-source", "s"), "--mask-source goes with --mask only"),
        (("--units-source", "s"), "--units-source goes with --from only"),
        (("--from", "a", "--to", "b", "--units-source", "s"), "a grid units:FILE"),
        (("--from", "a", "--to", "b", "--units-columns", "c"), "goes with --units-source"),
        (("--unit", "person-day"), "go together: give both"),
        (("--period", "day"), "go together: give both"),
        (("--by", "hour", "--per-pair", "1"), "leave per_pair (--per-pair) out"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, said):
    words = (*WORDS, "--engine", "duckdb", "--person", "id", "--trips", "2", *words)
    done = run("flows", "sql", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
