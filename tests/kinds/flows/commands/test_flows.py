"""``geodp flows`` and what uses its releases, as far as other kinds have no such words."""

import json
from fractions import Fraction

import geopandas
import numpy as np
import pandas
import pytest
import shapely

import geodp as package
from geodp.io.folder import staged_release
from geodp.kinds.flows.running import estimate as asking
from tests.command import geodp
from tests.contract.regions import write_regions
from tests.kinds.flows.forms import UNITS, make
from tests.kinds.flows.test_publish import MESH, publish, trips_on
from tests.kinds.flows.test_screenlines import write as write_shapes
from tests.kinds.flows.units import list_codes

GRID = ("--grid", "regular:8x8")
PLACES = ("--from", "oy,ox", "--to", "dy,dx")
ON_MESH = ("--grid", "jis:basic", "--bounds", "139", "35", "139.2", "35.1333333333")


@pytest.fixture
def trips(tmp_path):
    draw = np.random.default_rng(3)
    ends = draw.integers(0, 8, (800, 4)).T
    rows = {"id": [f"p{n}" for n in draw.integers(0, 90, 800)]}
    rows |= dict(zip(("oy", "ox", "dy", "dx"), ends, strict=True))
    rows |= {"day": [f"2024-05-0{n}" for n in draw.integers(1, 8, 800)], "n": 3}
    path = tmp_path / "trips.csv"
    pandas.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture
def call(trips, tmp_path):
    persons = ("--person", "id", "--trips", "4", "--epsilon", "1")
    return ["flows", "publish", trips, *GRID, *PLACES, *persons, "--output", tmp_path / "out"]


def done(*words):
    result = geodp(*words)
    assert result.returncode == 0, result.stderr
    return result


COUNTED = ("--value", "n", "--duplicates", "sum", "--epsilon", "1", "--contribution", "9")


def test_the_space_that_is_required_does_not_depend_on_trips(trips, tmp_path, monkeypatch):
    required = []
    monkeypatch.setattr(staged_release, "require_space", lambda _, listed: required.append(listed))
    text = trips.read_text()
    for changed in (text, text.replace(",3\n", ",3000000\n"), "".join(text.splitlines(True)[:3])):
        trips.write_text(changed)
        words = (*COUNTED, "--output", tmp_path / "out", "--overwrite")
        done("flows", "publish", trips, *GRID, *PLACES, *words)
    # All pairs of 64 zones, with and without errors, and both maps.
    assert required == [2 * 64**2 + 2 * 64] * 3


def test_the_plan_stars_what_is_published(call, tmp_path):
    guess = ("--expected-trips", "2e3", "--by", "mode", "--labels", "mode=walk,car")
    asked = ("flows", "plan", *GRID, "--trips", "4", "--epsilon", "1", *guess)
    (plan,) = json.loads(done(*asked, "--json").stdout)
    starred = [line for line in done(*asked).stdout.splitlines() if "  * " in line]
    assert len(starred) == 1
    assert plan["reason"] in starred[0]
    done(*call, *guess[:2])
    index = json.loads((tmp_path / "out" / "public" / "flows.json").read_text())
    levels = index["guarantee"]["levels"]
    # Labels take their share of each.
    left = 1 - Fraction(3, 20)
    shares = {str(one["side"]): str(left * Fraction(one["share"])) for one in levels}
    assert plan["shares"] == shares


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--unit", "person-day"), "--time"),
        (("--level", "4"), "Levels"),
        (("--level", "4=2"), "Levels"),
        (("--level", "4=1/2", "--concentrated"), "not both"),
        (("--where", "day"), "--where is written NAME=VALUE"),
        (("--method", "topdown"), "pyramid"),
        (("--pairs",), "one map"),
        (("--by", "mode"), "--labels"),
        (("--labels", "mode=walk,car"), "--by"),
        (("--by", "daytype,daytype", "--time", "day"), "once"),
        (("--by", "daytype", "--time", "day", "--label-share", "2"), "--label-share"),
        (("--by", "daytype", "--time", "day", "--per-pair", "1"), "--per-pair"),
        (("--label-share", "1/5"), "--by"),
        (("--weight", "n"), "max_weight"),
    ],
)
def test_calls_without_sense_are_refused(call, tmp_path, more, said):
    refused = geodp(*call, *more)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture
def traced(tmp_path):
    """A record of a place on a mesh, and a call that reads such records."""
    (tmp_path / "pings.csv").write_text("id,t,lat,lon,r\np,2024-05-01T08:10,35.05,139.1,5\n")
    more = ("--person", "id", "--time", "t", "--trips", "3", "--epsilon", "90")
    return [*ON_MESH, *more, "--output", tmp_path / "out", "--overwrite"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--pings", "lon,lat", "--stays", "lon,lat"), "not both"),
        (("--pings", "lon,lat", "--by", "mode"), "List all labels of mode"),
        (("--pings", "lon,lat", "--by", "mode", "--labels", "mode=a,b"), "No column is named"),
        (("--pings", "lon,lat", "--from", "lat"), "not both"),
        (("--pings", "lon,lat", "--value", "lat"), "not both"),
        (("--pings", "lon,lat", "--end", "t"), "--end goes with --stays"),
        (("--stays", "lon,lat", "--radius", "9"), "--radius goes with --pings"),
        (("--from", "lat", "--to", "lon", "--gap", "1h"), "--pings or --stays"),
        (("--pings", "lon,lat", "--dwell", "soon"), "duration"),
        (("--pings", "lon,lat", "--contribution", "2"), "contribution"),
        (("--pings", "lat,lon"), "write longitude first"),
        (("--pings", "lon,lat", "--weight", "lat", "--max-weight", "2"), "not both"),
    ],
)
def test_forms_that_do_not_go_together_are_refused(traced, tmp_path, more, said):
    refused = geodp("flows", "publish", tmp_path / "pings.csv", *traced, *more)
    assert refused.returncode in (2, 5)
    assert said in refused.stderr
    assert not (tmp_path / "out").exists()


def test_a_prior_that_cannot_be_read_is_refused(call, tmp_path):
    before = ("--prior", tmp_path / "before.csv", "--prior-is-public", "--prior-source", "a census")
    for rows, more, said in (
        ("person,oy,ox,dy,dx,n\n7,1,2,3,4,1\n", (), "has a column of persons, person"),
        ("person,oy,ox,dy,dx,n\n7,1,2,3,4,1\n", ("--prior-value", "n"), "person"),
        ("oy,ox,dy,dx,m\n1,2,3,40,1\n", (), "counted from records"),
        ("oy,ox,dy,dx,m\n1,2,3,40,1\n", ("--prior-value", "m"), "outside"),
        ("oy,ox,dy,dx,m\n1,2,3,40,1\n", ("--prior-value", "n"), "n"),
    ):
        (tmp_path / "before.csv").write_text(rows)
        refused = geodp(*call, *before, *more)
        assert refused.returncode in (2, 5)
        assert said in refused.stderr
    words = [one for one in call if one not in PLACES]
    assert "name the columns of both ends" in geodp(*words, *before, "--stays", "oy,ox").stderr
    assert "--prior" in geodp(*call, "--prior-value", "n").stderr
    assert not (tmp_path / "out").exists()


def test_a_list_of_labels_is_public(call, trips, tmp_path):
    listed = tmp_path / "modes.txt"
    listed.write_text("1\n2\n3\n")
    done(*call, "--by", "mode=n", "--labels", f"mode={listed}")
    release = package.open(tmp_path / "out")
    assert release.flows.grid.attributes[0].labels == ("1", "2", "3")
    refused = geodp(*call, "--by", "mode=n", "--labels", f"mode={trips}", "--overwrite")
    assert refused.returncode == 2
    assert "The file of --labels is one of the inputs" in refused.stderr


@pytest.fixture(scope="module")
def written(shared):
    """A written release on a mesh."""
    return shared.write(make(shared, "mesh"))


BOXES = {"a": (139, 35, 139.1, 35.2), "b": (139.1, 35, 139.3, 35.2)}
LINE = shapely.LineString([(139.1, 34), (139.1, 36)])


@pytest.fixture
def line(tmp_path):
    return write_shapes(tmp_path / "l.json", LINE, names=["a"])


def test_flows_between_polygons_and_across_lines_are_estimated(written, line, tmp_path):
    words = ("estimate", written)
    said = done(*words, "--polygons", write_regions(tmp_path, BOXES), "--json").stdout
    named = {(row["from"], row["to"]): row["value"] for row in json.loads(said)["estimates"]}
    assert [*named] == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    rows = json.loads(done(*words, "--across", line, "--json").stdout)["estimates"]
    assert [row["from"] for row in rows] == ["a: left", "a: right", "a: either side"]
    # The west is left of a line to the north.
    there, back = named["a", "b"], named["b", "a"]
    assert [row["value"] for row in rows] == [there, back, there + back]
    assert len(done(*words, "--across", line).stdout.splitlines()) == 4


def test_what_is_estimated_is_said_in_one_way(written, tmp_path, monkeypatch):
    words = ("estimate", written)
    path = write_regions(tmp_path, BOXES)
    for more in ((), ("--polygons", path, "--across", path), ("--polygon-name", "name")):
        assert geodp(*words, *more).returncode == 2
    monkeypatch.setattr(asking, "MOST_POLYGONS", 0)
    refused = geodp(*words, "--polygons", path)
    assert refused.returncode == 2
    assert "at most 0 polygons" in refused.stderr


@pytest.fixture
def units(tmp_path):
    """A GeoPackage of units."""
    shapes = {"code": list_codes(UNITS)}
    frame = geopandas.GeoDataFrame(shapes, geometry=UNITS.outlines.shapes, crs=4326)
    frame.to_file(tmp_path / "units.gpkg")
    return ("--grid", f"units:{tmp_path / 'units.gpkg'}", "--units-source", "made up")


def test_two_labels_of_one_release_are_compared(shared):
    pairs = MESH.pairs().with_attribute("hour", ["8", "12", "18"])
    key = np.arange(0, pairs.size, 97, dtype=np.uint64)
    # Keys beyond the labels of a pair name nothing.
    key = key[pairs.decode(key)[4] < 3]
    count = np.where(pairs.decode(key)[4] == 2, 90, 3)
    table = package.CountTable.from_keys(pairs, key, count)
    release = package.flows.publish(table, contribution=1, epsilon=5)
    place = release.origins.grid.places[0]
    areas = [code[:6] for code in place.format(np.array([0, 11]), np.array([0, 0])).tolist()]
    flows = ("--from", areas[0], "--to", areas[1], "--from", areas[1], "--to", areas[0])
    words = ("compare", shared.write(release), *flows, "--label", "hour=8")
    hours = ("--against", "hour=18")
    there, back = json.loads(done(*words, *hours, "--json").stdout)["differences"]
    assert there["name"] == f"{areas[0]} to {areas[1]}: hour=18 - hour=8"
    labels = {"hour": "8"}, {"hour": "18"}
    for one, ends in ((there, areas), (back, areas[::-1])):
        found = release.compare(tuple(ends), labels=labels)
        assert (one["value"], one["low"], one["high"]) == (found.value, found.low, found.high)
        assert one["low"] > 0
    assert sum(line.endswith("*") for line in done(*words, *hours).stdout.splitlines()) == 2
    for against, of in (
        ("hour=8", "common flows"),
        ("18", "--against '18' names no label"),
        ("day=1", "no such attribute"),
    ):
        refused = geodp(*words, "--against", against)
        assert refused.returncode == 2
        assert of in refused.stderr


def test_a_direction_that_is_hidden_does_not_follow_from_both(line, shared):
    table, key = trips_on(MESH, number=2000), package.NoiseKey(bytes(32))
    found = publish(table, key=key).estimate_across(LINE)
    counts = [one.count for one in (found.there, found.back, found.both)]
    limit = max(counts[:2])
    hidden = [counts[0] < limit, counts[1] < limit, True]
    out = shared.write(publish(table, key=key, metadata={"display_below": limit}))
    words = ("estimate", out, "--across", line)
    rows = json.loads(done(*words, "--json").stdout)["estimates"]
    assert [row["value"] for row in rows] == counts
    assert [row["below"] for row in rows] == hidden
    *ways, both = done(*words).stdout.splitlines()[1:]
    assert both.split()[-2:] == ["–", "–"]
    assert sorted(f"<{limit}" in one for one in ways) == [False, True]
    later = shared.write(publish(trips_on(MESH), key=package.NoiseKey(bytes([1] * 32))))
    rows = json.loads(done("compare", out, later, *words[2:], "--json").stdout)["differences"]
    assert [row["below"] for row in rows] == hidden
