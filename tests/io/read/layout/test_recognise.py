"""Columns are found by what they hold, and no record changes which."""

import random
import re
from functools import partial

import pyarrow as pa
import pytest

import geodp
from geodp.cli.inputs import reaches
from geodp.errors import UsageError
from geodp.io.read.layout.propose import propose
from geodp.io.read.layout.recognise import ColumnSample, recognise
from tests.refusals import refuses

MESHES = ("53394611", "53394526", "53394612")
SQUARES = ("1kmN2599E4695", "1kmN2600E4695", "1kmN2601E4699")
HECTARES = ("60002000", "60012001", "60032010")
DUTCH = ("E85900N436000", "E86000N436000", "E86100N436100")
SHARES = ("0.5", "1.5", "0.1")
COUNTS = ("12", "7", "30")


@pytest.fixture
def settle(tmp_path):
    """Return what is proposed of a table of columns by their names."""

    def one(columns, given=None):
        path = tmp_path / "in.csv"
        rows = zip(*columns.values(), strict=True)
        lines = [";".join(columns), *(";".join(row) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        given = given or {}
        return propose(path, {"contribution": 1, **given}, reaches=partial(reaches, given))

    return one


SWISS = ("53390712", "53391120", "53392026")
"""Japanese meshes that may be Swiss hectares."""

FINNISH = ("1kmN6601E0500", "1kmN6602E0500", "1kmN6603E0501")
FOUND = {
    # Columns, of which the first has the codes and the last the counts, and the grid.
    "Japanese": ({"メッシュコード": MESHES, "人口総数": COUNTS}, "jis:basic"),
    "Korean": ({"격자코드": SQUARES, "인구수": COUNTS}, "inspire:1km"),
    "Chinese": ({"网格编码": SQUARES, "人口数": COUNTS}, "inspire:1km"),
    "of the EEA": ({"CELLCODE": SQUARES, "POP": COUNTS}, "inspire:1km"),
    "Swiss": ({"RELI": HECTARES, "B21BTOT": COUNTS}, "statpop:100m"),
    "without a known name": ({"vlak": SQUARES, "leute": COUNTS}, "inspire:1km"),
    "hectares without a known name": ({"ha": HECTARES, "n": COUNTS}, "statpop:100m"),
    "beside codes of areas": ({"pref": ("13", "13", "14"), "k": MESHES, "n": COUNTS}, "jis:basic"),
    **{
        f"beside {name}": ({"k": MESHES, name: cells, "n": COUNTS}, "jis:basic")
        for name, cells in {
            "y2": ("2020",) * 3,
            "when": ("2020-01-01",) * 3,
            "sex": ("m", "f", "m"),
            "heure": ("7", "8", "9"),
            "年齢": ("30", "31", "32"),
        }.items()
    },
    "beside a share": ({"k": MESHES, "q": SHARES, "population": COUNTS}, "jis:basic"),
    "beside homes": ({"k": MESHES, "households": COUNTS, "population": COUNTS}, "jis:basic"),
    "Japanese by name": ({"標準地域メッシュ": SWISS, "n": COUNTS}, "jis:basic"),
    "named for meshes": ({"MESH_CODE": SWISS, "n": COUNTS}, "jis:basic"),
    "Finnish that may be Estonian": ({"GRID_INSPIRE": FINNISH, "n": COUNTS}, "national:3067:1km"),
}


@pytest.mark.parametrize("what", FOUND)
def test_codes_and_counts_are_found_in_any_language_or_by_their_values(what, settle):
    columns, grid = FOUND[what]
    found = settle(columns)
    code = next(name for name in columns if name != "pref")
    assert (found.options["grid"], found.options["code"]) == (grid, code)
    assert found.options["value"] == [[*columns][-1]]
    assert found.questions == ()


@pytest.mark.parametrize(
    ("given", "grid"),
    [
        ({"primary": ("5339",)}, "jis:basic"),
        ({"bounds": "japan"}, "jis:basic"),
        ({"bounds": "東京都"}, "jis:basic"),
        ({"bounds": "139 35 140 36 degrees"}, "jis:basic"),
        ({"bounds": "switzerland"}, "statpop:100m"),
    ],
)
def test_the_area_decides_between_systems_with_codes_of_one_form(given, grid, settle):
    asked = settle({"k": SWISS, "n": COUNTS})
    assert "grid" not in asked.options
    assert grid in asked.questions[0]
    found = settle({"k": SWISS, "n": COUNTS}, given)
    assert (found.options["grid"], found.questions) == (grid, ())


def test_ends_of_journeys_are_found_by_name(settle):
    for origin, destination in (("origin", "destination"), ("出発地メッシュ", "到着地メッシュ")):
        found = settle({origin: MESHES, destination: MESHES[::-1], "n": COUNTS})
        assert found.options == {
            "pairs": True,
            "column": [f"origin={origin}", f"destination={destination}"],
            "grid": "jis:basic",
            "value": ["n"],
        }


QUADKEYS = ("332213111", "332213112", "332213113")
ASKED = {
    "two columns of codes": ({"a": MESHES, "b": SQUARES, "n": COUNTS}, r"--code.*: a, b"),
    "two columns of counts": ({"a": MESHES, "b": ("1", "2", "3"), "n": COUNTS}, r"--value.*: b, n"),
    "a grid of two sizes": ({"a": DUTCH[:2] * 2, "n": COUNTS[:2] * 2}, "cbs:500m, cbs:100m"),
    "a share that may count": ({"k": MESHES, "q": SHARES, "n": COUNTS}, "--value.*: q, n"),
    "quadkeys that may be Japanese": ({"QUADKEY": QUADKEYS, "n": COUNTS}, "quadkey:ZOOM"),
    "one record": ({"a": MESHES[:1], "n": COUNTS[:1]}, "--code.*: a"),
    "one odd code": ({"a": (*MESHES, "q"), "n": (*COUNTS, "1")}, "--code.*: a"),
    "one odd count": (
        {"a": (*MESHES, "53394613"), "n": (*COUNTS, "many"), "w": ("x", "y", "z", "u")},
        "--value.*: n",
    ),
}


@pytest.mark.parametrize("what", ASKED)
def test_what_is_not_certain_is_asked_with_the_candidates(what, settle):
    columns, words = ASKED[what]
    assert re.search(words, " ".join(settle(columns).questions))


def test_what_is_named_tells_the_rest(settle):
    """A grid tells which column has its codes, a column which grid."""
    both = {"a": MESHES, "b": SQUARES, "n": COUNTS}
    assert settle(both, {"grid": "jis:basic"}).options["code"] == "a"
    assert settle(both, {"grid": "inspire:1km"}).options["code"] == "b"
    assert settle(both, {"code": "b"}).options["grid"] == "inspire:1km"
    tens = ("5339461132", "5339461133", "5339461134")
    assert settle({"z": tens, "n": COUNTS}, {"grid": "jis:quarter"}).options["code"] == "z"


def test_points_persons_and_times_are_found(settle):
    columns = {
        "user_id": ("a", "b", "c"),
        "日時": ("2020-01-01T10:00",) * 3,
        "経度": ("139.7", "139.8", "139.6"),
        "緯度": ("35.6", "35.7", "35.8"),
    }
    found = settle(columns, {"grid": "jis:basic", "points": True, "contribution": None})
    assert found.options == {"x": "経度", "y": "緯度"}
    assert "(--person): user_id" in found.questions[0]
    roles = recognise([ColumnSample(name, "", values) for name, values in columns.items()])
    assert (roles.persons, roles.times, roles.counts) == ((0,), (1,), ())


TABLES = {
    **{what: columns for what, (columns, _) in (FOUND | ASKED).items()},
    "journeys": {"origin": MESHES, "destination": MESHES[::-1], "n": COUNTS},
    "modelled journeys": {"origen": MESHES, "destino": MESHES, "viajes": SHARES},
    "modelled counts": {"id": SQUARES, "tramo": ("1", "2", "3"), "viajes": SHARES},
    "a municipality": {"GEOID": ("11001", "11003", "11005"), "population": COUNTS},
    "points": {"id": ("1", "2", "3"), "lon": ("1.5", "2.5", "3"), "lat": ("1", "2", "3.5")},
    "census": {"GRD_ID": SQUARES, "T": COUNTS, "M": ("5", "3", "10"), "F": ("7", "4", "20")},
    "estat": {"KEY_CODE": ("5339461132", "5339461133"), "T1": ("4", "5"), "T2": ("1", "1")},
}
ODD = ("", "x", "53394611", "533946113", *SQUARES[:1], *HECTARES[:1], *DUTCH[:1], "2020", "1.5")
"""What a record may hold in any column."""


@pytest.mark.parametrize("what", TABLES)
def test_no_record_changes_which_reading_is_chosen(what, settle):
    """Adding, taking away or changing one: an option may go or come, and never be another."""
    columns, draw = TABLES[what], random.Random(what)
    rows = [*zip(*columns.values(), strict=True)]
    for times in (1, 4):
        many = rows * times
        before = settle(dict(zip(columns, zip(*many, strict=True), strict=True))).options
        for _ in range(3):
            after = [*many]
            at = draw.randrange(len(after))
            odd = tuple(draw.choice((*after[at], *ODD)) for _ in columns)
            kind = draw.choice(("add", "change", "remove") if len(after) > 1 else ("add", "change"))
            after[at : at + (kind != "add")] = [] if kind == "remove" else [odd]
            found = settle(dict(zip(columns, zip(*after, strict=True), strict=True))).options
            both = {*before} & {*found}
            assert {name: before[name] for name in both} == {name: found[name] for name in both}


@pytest.mark.parametrize(
    "read",
    [
        partial(geodp.read_points, x="lat", y="lon"),
        partial(geodp.read_table, x="lat", y="lon", value="n"),
        partial(
            geodp.flows.read_trips,
            origin=("pickup_lat", "pickup_lon"),
            destination=("dropoff_lon", "dropoff_lat"),
        ),
        partial(geodp.flows.read_pings, place=("緯度", "経度"), time="t", person="id", trips=1),
        partial(geodp.flows.read_stays, place=("lat", "lon"), time="t", person="id", trips=1),
    ],
)
def test_a_latitude_in_the_place_of_a_longitude_is_refused(read):
    places = (
        "lat",
        "lon",
        "pickup_lat",
        "pickup_lon",
        "dropoff_lat",
        "dropoff_lon",
        "緯度",
        "経度",
    )
    rows = {name: [35.05 if "at" in name or name == "緯度" else 139.05] for name in places}
    rows |= {"t": ["2024-05-01T08:00"], "id": ["a"], "n": [1]}
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
    with refuses(UsageError, "latitude-first"):
        read(pa.table(rows), grid=grid)
