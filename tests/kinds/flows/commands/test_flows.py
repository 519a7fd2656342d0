"""``geodp flows``: read, charged once, written whole, resumed, planned and estimated."""

import json

import geopandas
import numpy as np
import pandas
import pytest
import shapely

import geodp as package
from geodp.io.folder import staged_release
from geodp.kinds.flows.running import estimate as asking
from geodp.privacy.ledger import Ledger
from tests.command import figures_of, geodp
from tests.grid.cells.libraries import need_h3
from tests.kinds.flows.test_publish import MESH, publish, trips_on
from tests.kinds.flows.units import make_units, unit_trips

GRID = ("--grid", "regular:8x8")
PLACES = ("--from", "oy,ox", "--to", "dy,dx")


@pytest.fixture
def trips(tmp_path):
    draw = np.random.default_rng(3)
    rows = ["id,oy,ox,dy,dx,day,n"]
    for _ in range(800):
        y, x = draw.integers(0, 8, 2)
        to = np.clip(np.array([y, x]) + draw.integers(-2, 3, 2), 0, 7)
        rows.append(
            f"p{draw.integers(0, 90)},{y},{x},{to[0]},{to[1]},2024-05-0{draw.integers(1, 8)},3"
        )
    path = tmp_path / "trips.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def call(trips, tmp_path):
    persons = ("--person", "id", "--trips", "4", "--epsilon", "1")
    return ["flows", "publish", trips, *GRID, *PLACES, *persons, "--output", tmp_path / "out"]


def done(*words):
    result = geodp(*words)
    assert result.returncode == 0, result.stderr
    return result


def test_trips_of_persons_are_published_and_verified(call, tmp_path):
    said = done(*call).stdout
    assert "Published in" in said
    assert done("verify", tmp_path / "out").returncode == 0
    release = package.open(tmp_path / "out")
    assert release.index.guarantee.contribution == 4
    run = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert run["occupied_pairs"] > 0


def test_nothing_that_depends_on_the_data_is_said(call, trips):
    one = json.loads(done(*call, "--json").stdout)
    lines = trips.read_text().splitlines()
    trips.write_text("\n".join(lines[:400]) + "\n")
    other = json.loads(done(*call, "--json", "--overwrite").stdout)
    # The id is a digest of what is public.
    assert other | {"release_id": one["release_id"]} == one


def test_the_space_that_is_required_does_not_depend_on_trips(trips, tmp_path, monkeypatch):
    required = []
    monkeypatch.setattr(staged_release, "require_space", lambda _, listed: required.append(listed))
    words = [
        "flows",
        "publish",
        trips,
        *GRID,
        *PLACES,
        "--value",
        "n",
        "--duplicates",
        "sum",
        "--epsilon",
        "1",
    ]
    words += ["--contribution", "9", "--output", tmp_path / "out", "--overwrite"]
    done(*words)
    trips.write_text(trips.read_text().replace(",3\n", ",3000000\n"))
    done(*words)
    lines = trips.read_text().splitlines()
    trips.write_text("\n".join(lines[:3]) + "\n")
    done(*words)
    # All pairs of 64 zones, and both maps.
    assert required == [64**2 + 2 * 64] * 3


def test_counted_rows_need_the_contribution(trips, tmp_path):
    words = [
        "flows",
        "publish",
        trips,
        *GRID,
        *PLACES,
        "--value",
        "n",
        "--duplicates",
        "sum",
        "--epsilon",
        "1",
    ]
    words += ["--output", tmp_path / "out"]
    refused = geodp(*words)
    assert refused.returncode == 2
    assert "contribution" in refused.stderr
    done(*words, "--contribution", "12")
    assert package.open(tmp_path / "out").index.guarantee.contribution == 12


def test_trips_with_weights_are_published_and_verified(call, tmp_path):
    weights = ("--weight", "n", "--max-weight", "5", "--raked-to", "residents of 2024")
    done(*call, *weights, "--json")
    assert "ok" in done("verify", tmp_path / "out").stdout
    card = json.loads((tmp_path / "out" / "public" / "origins" / "release.json").read_text())
    guarantee = card["guarantee"]
    assert guarantee["contribution"] == 20
    assert any("residents of 2024" in one for one in guarantee["not_protected"])
    assert any("weights above 5" in one for one in guarantee["not_protected"])
    index = package.open(tmp_path / "out").index.guarantee
    assert (index.max_weight, index.raked_to) == (5, "residents of 2024")
    assert "each counted as its weight" in index.assumptions[0].statement
    for language, said in (("en", "at most 5 times"), ("ja", "最大 5 回")):
        text = " ".join(done("explain", tmp_path / "out", "--language", language).stdout.split())
        assert said in text
        assert "residents of 2024" in text


def test_an_index_with_other_weights_is_refused(call, tmp_path):
    done(*call, "--weight", "n", "--max-weight", "5")
    path = tmp_path / "out" / "public" / "flows.json"
    path.write_text(path.read_text().replace('"max_weight": 5', '"max_weight": 6'))
    refused = geodp("verify", tmp_path / "out")
    assert refused.returncode == 3
    assert "is not what follows" in refused.stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--unit", "person-day"), "--time"),
        (("--level", "4"), "Levels"),
        (("--level", "4=2"), "Levels"),
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


def test_the_number_of_trips_is_asked_for(trips, tmp_path):
    refused = geodp(
        "flows", "publish", trips, *GRID, *PLACES, "--person", "id", "--epsilon", "1",
        "--output", tmp_path / "out",
    )  # fmt: skip
    assert refused.returncode == 2
    assert "--trips" in refused.stderr


def test_a_person_in_a_day_and_selected_rows(call, tmp_path):
    days = ("--unit", "person-day", "--time", "day", "--where", "day=2024-05-03")
    done(*call, *days, "--level", "1=1/2")
    promise = package.open(tmp_path / "out").index.guarantee
    assert promise.unit == "person-day"
    assert [(one.side, one.share) for one in promise.levels] == [(1, "1/2")]


@pytest.fixture
def traced(tmp_path):
    """Two records of each of three stays of persons, and the stays, between places of a mesh."""
    draw, pings, stays = np.random.default_rng(4), ["id,t,lat,lon,r"], ["id,t,u,lat,lon"]
    for person in range(150):
        for hour in (8, 9, 10):
            lat, lon = draw.uniform((35.001, 139.001), (35.13, 139.19))
            for minute in (10, 40):
                pings.append(f"p{person},2024-05-01T{hour:02d}:{minute},{lat},{lon},5")
            stays.append(f"p{person},2024-05-01T{hour:02d}:10,2024-05-01T{hour:02d}:40,{lat},{lon}")
    (tmp_path / "pings.csv").write_text("\n".join(pings) + "\n")
    (tmp_path / "stays.csv").write_text("\n".join(stays) + "\n")
    grid = ("--grid", "jis:basic", "--bounds", "139", "35", "139.2", "35.1333333333")
    more = ("--person", "id", "--time", "t", "--trips", "3", "--epsilon", "1")
    return [*grid, *more, "--output", tmp_path / "out", "--overwrite"]


def test_pings_and_stays_become_the_same_flows(traced, tmp_path):
    words = ("flows", "publish", *traced, "--key-file", tmp_path / "key")
    done("key", tmp_path / "key")
    done(*words, tmp_path / "pings.csv", "--pings", "lat, lon", "--accuracy", "r")
    assert done("verify", tmp_path / "out").returncode == 0
    one = package.open(tmp_path / "out").to_pandas()
    done(*words, tmp_path / "stays.csv", "--stays", "lat,lon", "--end", "u", "--gap", "2h")
    assert done("verify", tmp_path / "out").returncode == 0
    assert package.open(tmp_path / "out").to_pandas().equals(one)
    card = json.loads((tmp_path / "out" / "public" / "origins" / "release.json").read_text())
    assert any("made of the stays" in one for one in card["guarantee"]["not_protected"])


@pytest.mark.parametrize("labels", [(), ("--by", "hour,daytype")], ids=["plain", "by hour"])
def test_interrupted_flows_of_pings_are_completed(traced, tmp_path, monkeypatch, labels):
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("pings", package.privacy.loss.PureDP(package.privacy.loss.rational("5")))
    words = ["flows", "publish", *traced, tmp_path / "pings.csv", "--pings", "lat,lon", *labels]
    words += ["--ledger", tmp_path / "l", "--dataset", "pings"]
    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", lambda *_: 1 / 0)
        assert geodp(*words).returncode != 0
    done(*words, "--resume")
    assert len(ledger.charges("pings")) == 1
    assert done("verify", tmp_path / "out").returncode == 0
    names = [one.name for one in package.open(tmp_path / "out").flows.grid.attributes]
    assert names == (["hour", "daytype"] if labels else [])


def test_pings_and_stays_become_the_same_flows_by_hour(traced, tmp_path):
    by = ("--by", "hour,daytype", "--key-file", tmp_path / "key")
    traced[traced.index("--epsilon") + 1] = "90"
    done("key", tmp_path / "key")
    done("flows", "publish", *traced, *by, tmp_path / "pings.csv", "--pings", "lat,lon")
    assert done("verify", tmp_path / "out").returncode == 0
    one = package.open(tmp_path / "out").to_pandas()
    stays = (tmp_path / "stays.csv", "--stays", "lat,lon", "--end", "u", "--gap", "2h")
    done("flows", "publish", *traced, *by, *stays)
    assert package.open(tmp_path / "out").to_pandas().equals(one)
    # Departures are at 8:40 and 9:40 on a Wednesday.
    hours = one.groupby("hour")["count"].sum()
    assert hours[["8", "9"]].sum() > 0.5 * hours.sum()
    assert one.groupby("daytype")["count"].sum().get("weekend", 0) < 0.5 * hours.sum()


@pytest.mark.parametrize("form", ["pings", "stays"])
def test_pings_and_stays_have_labels_of_their_records(traced, tmp_path, form, monkeypatch):
    path = tmp_path / f"{form}.csv"
    frame = pandas.read_csv(path)
    frame["way"] = np.where(np.arange(len(frame)) % 5 > 1, "walk", "car")
    frame.to_csv(path, index=False)
    traced[traced.index("--epsilon") + 1] = "90"
    words = ["flows", "publish", *traced, path, f"--{form}", "lat,lon", "--by", "mode=way,hour"]
    words += ["--labels", "mode=walk,car", "--ledger", tmp_path / "l", "--dataset", "traces"]
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("traces", package.privacy.loss.PureDP(package.privacy.loss.rational("99")))
    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", lambda *_: 1 / 0)
        assert geodp(*words).returncode != 0
    refused = geodp(*[one.replace("mode=way,", "") for one in map(str, words)], "--resume")
    assert refused.returncode == 2
    assert "had other --by;" in refused.stderr
    done(*words, "--resume")
    assert done("verify", tmp_path / "out").returncode == 0
    modes = package.open(tmp_path / "out").to_pandas().groupby("mode")["count"].sum()
    assert {*modes.index} == {"walk", "car"}
    assert (modes > 0).all()
    refused = geodp(*[one.replace("walk,car", "walk,bus") for one in map(str, words)])
    assert refused.returncode == 5
    assert "Column way: a trip has its label from this row" in refused.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--pings", "lat,lon", "--stays", "lat,lon"), "not both"),
        (("--pings", "lat,lon", "--by", "mode"), "List all labels of mode"),
        (("--pings", "lat,lon", "--by", "mode", "--labels", "mode=a,b"), "No column is named"),
        (("--pings", "lat,lon", "--from", "lat"), "not both"),
        (("--pings", "lat,lon", "--value", "lat"), "not both"),
        (("--pings", "lat,lon", "--end", "t"), "--end goes with --stays"),
        (("--stays", "lat,lon", "--radius", "9"), "--radius goes with --pings"),
        (("--from", "lat", "--to", "lon", "--gap", "1h"), "--pings or --stays"),
        (("--pings", "lat,lon", "--dwell", "soon"), "duration"),
        (("--pings", "lat,lon", "--contribution", "2"), "contribution"),
        (("--pings", "lon,lat"), "swapped"),
        (("--pings", "lat,lon", "--weight", "lat", "--max-weight", "2"), "not both"),
    ],
)
def test_forms_that_do_not_go_together_are_refused(traced, tmp_path, more, said):
    refused = geodp("flows", "publish", tmp_path / "pings.csv", *traced, *more)
    assert refused.returncode in (2, 5)
    assert said in refused.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("prior", [False, True], ids=["alone", "with a prior"])
def test_an_interrupted_run_is_completed_without_a_second_charge(
    call, tmp_path, monkeypatch, prior
):
    if prior:
        (tmp_path / "before.csv").write_text("oy,ox,dy,dx,n\n1,2,3,4,50\n0,0,1,1,9\n")
        call += [
            "--prior",
            tmp_path / "before.csv",
            "--prior-value",
            "n",
            "--prior-is-public",
            "--prior-source",
            "law",
        ]
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("trips", package.privacy.loss.PureDP(package.privacy.loss.rational("5")))
    words = [*call, "--ledger", tmp_path / "l", "--dataset", "trips"]

    def broken(*_):
        raise OSError("no more space")

    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", broken)
        assert geodp(*words).returncode != 0
    assert len(ledger.charges("trips")) == 1
    done(*words, "--resume")
    assert len(ledger.charges("trips")) == 1
    assert done("verify", tmp_path / "out").returncode == 0
    assert (package.open(tmp_path / "out").prior is not None) is prior


def test_a_prior_that_cannot_be_read_is_refused(call, tmp_path):
    before = ("--prior", tmp_path / "before.csv", "--prior-is-public", "--prior-source", "a census")
    (tmp_path / "before.csv").write_text("person,oy,ox,dy,dx,n\n7,1,2,3,4,1\n")
    for more in ((), ("--prior-value", "n")):
        refused = geodp(*call, *before, *more)
        assert refused.returncode == 2
        assert "has a column of persons, person" in refused.stderr
    (tmp_path / "before.csv").write_text("oy,ox,dy,dx,m\n1,2,3,40,1\n")
    assert "counted from records" in geodp(*call, *before).stderr
    assert geodp(*call, *before, "--prior-value", "m").returncode == 5
    for more, said in (
        (("--stays", "oy,ox"), "name the columns of both ends"),
        (("--prior-value", "n"), "n"),
    ):
        words = [one for one in call if one not in ("--from", "oy,ox", "--to", "dy,dx")]
        refused = geodp(*(words if "--stays" in more else call), *before, *more)
        assert refused.returncode in (2, 5)
        assert said in refused.stderr
    refused = geodp(*call, "--prior-value", "n")
    assert "--prior" in refused.stderr
    assert not (tmp_path / "out").exists()


def test_hours_need_a_clock(call, tmp_path):
    refused = geodp(*call, "--by", "hour", "--time", "day")
    assert refused.returncode == 5
    assert "row 2" in refused.stderr
    assert "2024-05-0" not in refused.stderr.partition("such as")[0]
    assert not (tmp_path / "out").exists()


BY = ("--by", "daytype,third=n", "--labels", "third=1,2,3", "--time", "day")


def test_trips_are_published_by_day_type_and_group(call, tmp_path):
    done(*call, *BY)
    assert done("verify", tmp_path / "out").returncode == 0
    release = package.open(tmp_path / "out")
    frame = release.to_pandas()
    assert {*frame["daytype"]} <= {"weekday", "weekend"}
    assert {*frame["third"]} <= {"1", "2", "3"}
    assert frame["count"].sum() == release.origins.table.count.sum()
    facts = release.flows.card().guarantee.not_protected
    assert any("day types are those of the column day" in fact for fact in facts)
    assert any("public holidays" in fact for fact in facts)


def test_a_list_of_labels_is_public(call, trips, tmp_path):
    listed = tmp_path / "modes.txt"
    listed.write_text("1\n2\n3\n")
    done(*call, "--by", "mode=n", "--labels", f"mode={listed}")
    release = package.open(tmp_path / "out")
    assert release.flows.grid.attributes[0].labels == ("1", "2", "3")
    refused = geodp(*call, "--by", "mode=n", "--labels", f"mode={trips}", "--overwrite")
    assert refused.returncode == 2
    assert "must be public" in refused.stderr


def test_an_interrupted_run_by_label_is_completed(call, tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("trips", package.privacy.loss.PureDP(package.privacy.loss.rational("5")))
    words = [*call, *BY, "--ledger", tmp_path / "l", "--dataset", "trips"]
    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", lambda *_: 1 / 0)
        assert geodp(*words).returncode != 0
    done(*words, "--resume")
    assert len(ledger.charges("trips")) == 1
    assert done("verify", tmp_path / "out").returncode == 0


def test_a_plan_says_what_labels_cost():
    words = ("flows", "plan", *GRID, "--epsilon", "1", "--trips", "10")
    plain, labelled = done(*words).stdout, done(*words, "--by", "hour").stdout
    assert "by label" not in plain
    assert "by label 8, pairs 32: 283" in labelled
    (row,) = json.loads(done(*words, "--by", "hour", "--json").stdout)
    (other,) = json.loads(done(*words, "--json").stdout)
    assert row["label_error"] == pytest.approx(282.84, abs=0.01)
    assert row["end_error"] > other["end_error"]


def test_plans_compare_trips():
    bounds = ("--trips", "1", "--trips", "10", "--mean-trips", "7")
    words = ("flows", "plan", *GRID, "--epsilon", "1", *bounds)
    lines = done(*words).stdout.splitlines()
    assert len(lines) == 3
    assert "79 %" in lines[2]
    rows = json.loads(done(*words, "--json").stdout)
    assert [row["trips"] for row in rows] == [1, 10]


def test_flows_of_areas_are_estimated(trips, tmp_path):
    mesh = tmp_path / "mesh.csv"
    grid = package.Grid.mesh("jis:basic", bounds=(139, 35, 139.2, "35.1333333333"))
    draw = np.random.default_rng(2)
    index = draw.integers(0, 16, (4, 500))
    codes = [grid.places[0].format(*index[at : at + 2]) for at in (0, 2)]
    rows = [f"{a},{b}" for a, b in zip(*codes, strict=True)]
    mesh.write_text("\n".join(["o,d", *rows]) + "\n")
    done(
        "flows", "publish", mesh, "--grid", "jis:basic", "--bounds", "139", "35", "139.2",
        "35.1333333333", "--from", "o", "--to", "d", "--contribution", "1", "--epsilon", "5",
        "--output", tmp_path / "out",
    )  # fmt: skip
    words = ("estimate", tmp_path / "out", "--simulations", "20")
    areas = ("--from", codes[0][0][:6], "--to", codes[1][0][:6])
    shown = done(*words, *areas).stdout.splitlines()
    assert len(shown) == 2
    (found,) = figures_of(done(*words, *areas, *areas, "--json").stdout)
    row = found["trips"]
    assert row["low"] <= row["value"] <= row["high"]
    assert geodp(*words, "--from", "1", "--from", "2", "--to", "3").returncode == 2
    table = tmp_path / "out" / "public" / "origins"
    assert "--from is for releases of flows" in geodp("estimate", table, *areas).stderr
    shown = done("estimate", tmp_path / "out", "--area", codes[0][0][:6]).stdout
    assert [line.split()[-8:][0] for line in shown.splitlines()[:1]] == ["region"]
    assert "origins" in shown
    assert "destinations" in shown


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A written release on a mesh."""
    path = tmp_path_factory.mktemp("written") / "out"
    publish(trips_on(MESH)).write(path)
    return path


@pytest.mark.parametrize(("language", "title"), [("en", "Trips between"), ("ja", "ゾーン間")])
def test_a_page_is_written(written, tmp_path, language, title):
    page = tmp_path / "out.html"
    words = ("report", written, "--language", language, "--output", page)
    assert done(*words).stdout.strip() == str(page)
    text = page.read_text(encoding="utf-8")
    assert f"<title>{title}" in text
    done(*words, "--from", "52394000", "--to", "52394000")
    chosen = page.read_text(encoding="utf-8")
    assert chosen != text
    assert "52394000: " in chosen
    assert geodp(*words, "--place-name", "x").returncode == 2
    assert geodp(*words, "--from", "nowhere").returncode == 5


def shapes(path, *geometries):
    """Write GeoJSON of shapes named a, b and so on."""
    features = [
        {"type": "Feature", "properties": {"name": name}, "geometry": one}
        for name, one in zip("abcdefgh", geometries, strict=False)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def box(west, south, east, north):
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def test_flows_between_polygons_and_across_lines_are_estimated(written, tmp_path):
    words = ("estimate", written, "--simulations", "20")
    areas = shapes(tmp_path / "a.json", box(139, 35, 139.1, 35.2), box(139.1, 35, 139.3, 35.2))
    rows = json.loads(done(*words, "--polygons", areas, "--json").stdout)["estimates"]
    named = {(row["from"], row["to"]): row["value"] for row in rows}
    assert [*named] == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    line = {"type": "LineString", "coordinates": [[139.1, 34], [139.1, 36]]}
    path = shapes(tmp_path / "l.json", line)
    rows = json.loads(done(*words, "--across", path, "--json").stdout)["estimates"]
    assert [row["from"] for row in rows] == ["a: left", "a: right", "a: either side"]
    # The west is left of a line to the north.
    there, back = named["a", "b"], named["b", "a"]
    assert [row["value"] for row in rows] == [there, back, there + back]
    shown = done(*words, "--across", path).stdout.splitlines()
    assert len(shown) == 4


def test_what_is_estimated_is_said_in_one_way(written, tmp_path, monkeypatch):
    words = ("estimate", written, "--simulations", "20")
    path = shapes(tmp_path / "a.json", box(139, 35, 139.1, 35.2))
    for more in ((), ("--polygons", path, "--across", path), ("--polygon-name", "name")):
        assert geodp(*words, *more).returncode == 2
    far = shapes(tmp_path / "far.json", box(139, 35, 139.1, 35.2), box(9, 5, 10, 6))
    refused = geodp(*words, "--polygons", far)
    assert "b: The region contains no cell of the domain" in refused.stderr
    monkeypatch.setattr(asking, "MOST_POLYGONS", 0)
    refused = geodp(*words, "--polygons", path)
    assert refused.returncode == 2
    assert "at most 0 polygons" in refused.stderr


def test_pairs_are_exported_as_a_matrix(written, tmp_path):
    pytest.importorskip("h5py", reason="the extra `omx` is not installed")
    public = written / "public"
    done("export", public / "flows", "--to", "omx", "--output", tmp_path / "made")
    assert (tmp_path / "made" / "flows.omx").exists()
    assert geodp("export", public / "origins", "--to", "omx", "--output", "x").returncode == 2


@pytest.fixture
def units(tmp_path):
    """A GeoPackage of units, and trips between them as points."""
    grid, _ = make_units()
    codes = grid.names.format(0, np.stack([np.zeros(42, np.int64), np.arange(42)]))
    shapes = geopandas.GeoDataFrame({"code": codes}, geometry=grid.outlines.shapes, crs=4326)
    shapes.to_file(tmp_path / "units.gpkg")
    rows = unit_trips(grid, 2000)
    pandas.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    return ("--grid", f"units:{tmp_path / 'units.gpkg'}", "--units-source", "made up")


@pytest.mark.parametrize("places", [PLACES, ("--from", "o", "--to", "d")], ids=["points", "codes"])
def test_flows_between_units_from_files(units, tmp_path, places):
    out = tmp_path / "out"
    persons = ("--person", "id", "--trips", "4", "--epsilon", "1", "--output", out)
    done("flows", "publish", tmp_path / "rows.csv", *units, *places, *persons)
    done("verify", out)
    codes = ("--from", "000", "--to", "001")
    assert "95 % interval" in done("estimate", out, *codes).stdout
    done("report", out, "--output", tmp_path / "page.html")
    assert "000" in (tmp_path / "page.html").read_text()


def test_an_interrupted_release_between_units_is_completed(units, tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("trips", package.privacy.loss.PureDP(package.privacy.loss.rational("5")))
    words = [
        *("flows", "publish", tmp_path / "rows.csv", *units, *PLACES, "--person", "id"),
        *("--trips", "4", "--epsilon", "1", "--output", tmp_path / "out"),
        *("--ledger", tmp_path / "l", "--dataset", "trips"),
    ]
    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", lambda *_: 1 / 0)
        assert geodp(*words).returncode != 0
    done(*words, "--resume")
    assert len(ledger.charges("trips")) == 1
    assert done("verify", tmp_path / "out").returncode == 0


LABELLED = ("--by", "mode", "--labels", "mode=walk,car")


@pytest.fixture
def unit_modes(units, tmp_path):
    """A call that publishes trips between units by mode."""
    rows = pandas.read_csv(tmp_path / "rows.csv", dtype={"o": str, "d": str})
    rows["mode"] = np.random.default_rng(0).choice(["walk", "car"], len(rows))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    persons = ("--person", "id", "--trips", "4", "--epsilon", "1", "--output", tmp_path / "out")
    return ["flows", "publish", tmp_path / "rows.csv", *units, *PLACES, *persons, *LABELLED]


def test_flows_between_units_by_label_are_written_explained_and_exported(unit_modes, tmp_path):
    out = tmp_path / "out"
    done(*unit_modes, "--json")
    done("verify", out)
    one = ("--from", "000", "--to", "001", "--simulations", "20")
    cars = done("estimate", out, *one, "--label", "mode=car", "--json").stdout
    (row,), (whole,) = map(figures_of, (cars, done("estimate", out, *one, "--json").stdout))
    assert 0 <= row["trips"]["value"] <= whole["trips"]["value"]
    two = (*one, "--from", "001", "--to", "000", "--label", "mode=car")
    assert "difference" in done("compare", out, *two).stdout
    said = done("explain", out).stdout
    assert "counted by mode, from and to blocks of at most 4 zones" in " ".join(said.split())
    # Of few trips no unit stands out, so that one is chosen.
    page = ("--from", "000", "--output", tmp_path / "page.html", "--simulations", "20")
    done("report", out, *page)
    page = (tmp_path / "page.html").read_text()
    assert "counted in blocks of at most 4 zones" in page
    done("export", out / "public" / "flows", "--to", "netcdf", "--output", tmp_path / "made")
    assert (tmp_path / "made" / "flows.nc").exists()


def test_an_interrupted_release_between_units_by_label_is_completed(
    unit_modes, tmp_path, monkeypatch
):
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("trips", package.privacy.loss.PureDP(package.privacy.loss.rational("5")))
    words = [*unit_modes, "--ledger", tmp_path / "l", "--dataset", "trips"]
    with monkeypatch.context() as patched:
        patched.setattr(staged_release, "write_index", lambda *_: 1 / 0)
        assert geodp(*words).returncode != 0
    done(*words, "--resume")
    assert len(ledger.charges("trips")) == 1
    assert done("verify", tmp_path / "out").returncode == 0
    assert package.open(tmp_path / "out").flows.grid.attributes[0].labels == ("walk", "car")


def test_what_is_counted_by_label_between_units_is_planned(units):
    words = ("flows", "plan", *units, "--epsilon", "1", "--by", "hour", "--json", "--trips")
    for trips, sides in (("1", [1, 4]), ("10", [2, 8])):
        (one,) = json.loads(done(*words, trips).stdout)
        assert one["label_sides"] == sides


def test_units_are_planned(units):
    planned = done("flows", "plan", *units, "--trips", "4", "--epsilon", "1", "--json")
    (one,) = json.loads(planned.stdout)
    assert one["pairs"] == {"1": 42**2, "2": 16**2, "4": 4**2, "8": 1}


def test_places_outside_are_counted_in_a_zone_of_cells(units, tmp_path):
    need_h3()
    bounds = ("--grid", "h3:6", "--bounds", "139", "35", "139.1", "35.1", "--other", "elsewhere")
    persons = ("--person", "id", "--trips", "4", "--epsilon", "9", "--output", tmp_path / "out")
    done("flows", "publish", tmp_path / "rows.csv", *bounds, *PLACES, *persons)
    done("verify", tmp_path / "out")
    ends = ("--from", "elsewhere", "--to", "elsewhere")
    assert "elsewhere" in done("estimate", tmp_path / "out", *ends).stdout
    refused = geodp(
        "flows", "publish", tmp_path / "rows.csv", *GRID, "--other", "x", *PLACES, *persons
    )
    assert refused.returncode == 2
    assert "Every zone of a map is a square somewhere" in refused.stderr


def test_flows_are_compared(tmp_path):
    for name, table in (("one", trips_on(MESH)), ("two", trips_on(MESH, seed=4, number=60_000))):
        publish(table).write(tmp_path / name)
    grid = package.open(tmp_path / "one").origins.grid
    areas = grid.places[0].format(np.array([0, 4]), np.array([0, 4])).tolist()
    there = ("--from", areas[0][:6], "--to", areas[0][:6], "--simulations", "20")
    (change,) = figures_of(
        done("compare", tmp_path / "one", tmp_path / "two", *there, "--json").stdout
    )
    found = change["trips"]
    assert found["low"] <= found["value"] <= found["high"]
    assert found["low"] > 0
    assert set(found) == {"name", "quantity", "value", "low", "high"}
    said = done("compare", tmp_path / "one", tmp_path / "two", *there).stdout
    assert said.splitlines()[1].endswith("*")
    pairs = ("--from", areas[0], "--to", areas[1], "--from", areas[1], "--to", areas[0])
    said = done("compare", tmp_path / "one", *pairs, "--simulations", "20").stdout
    assert said.splitlines()[1].startswith(f"{areas[1]} to {areas[0]} - {areas[0]} to {areas[1]}")
    for words, of in (
        (there, "Compare exactly two flows"),
        ((*pairs[:4], *pairs[:4]), "Compare exactly two flows"),
        ((), "Say in one way"),
    ):
        refused = geodp("compare", tmp_path / "one", *words)
        assert refused.returncode == 2
        assert of in refused.stderr
    refused = geodp("compare", tmp_path / "one", tmp_path / "one", *there)
    assert "same release" in refused.stderr


def test_two_labels_of_one_release_are_compared(tmp_path):
    pairs = MESH.pairs().with_attribute("hour", ["8", "12", "18"])
    key = np.arange(0, pairs.size, 97, dtype=np.uint64)
    # Keys beyond the labels of a pair name nothing.
    key = key[pairs.decode(key)[4] < 3]
    count = np.where(pairs.decode(key)[4] == 2, 90, 3)
    release = package.flows.publish(
        package.CountTable.from_keys(pairs, key, count), contribution=1, epsilon=5
    )
    release.write(tmp_path / "out")
    place = release.origins.grid.places[0]
    areas = [code[:6] for code in place.format(np.array([0, 11]), np.array([0, 0])).tolist()]
    flows = ("--from", areas[0], "--to", areas[1], "--from", areas[1], "--to", areas[0])
    hours = ("--label", "hour=8", "--against", "hour=18", "--simulations", "20")
    words = ("compare", tmp_path / "out", *flows, *hours)
    there, back = json.loads(done(*words, "--json").stdout)["differences"]
    assert there["name"] == f"{areas[0]} to {areas[1]}: hour=18 - hour=8"
    labels = {"hour": "8"}, {"hour": "18"}
    for one, ends in ((there, areas), (back, areas[::-1])):
        found = release.compare(tuple(ends), labels=labels, simulations=20)
        assert (one["value"], one["low"], one["high"]) == (found.value, found.low, found.high)
        assert one["low"] > 0
    said = done(*words).stdout
    assert sum(line.endswith("*") for line in said.splitlines()) == 2
    for more, of in (
        (("--label", "hour=8", "--against", "hour=8"), "common flows"),
        (("--against", "18"), "--against '18' names no label"),
        (("--against", "day=1"), "no such attribute"),
    ):
        refused = geodp("compare", tmp_path / "out", *flows, *more)
        assert refused.returncode == 2
        assert of in refused.stderr


def test_few_are_compared_as_the_office_shows_them(tmp_path):
    for name, limit in (("one", 3), ("two", 10**8)):
        table = trips_on(MESH, number=20_000 * len(name) + limit % 7)
        publish(table, metadata={"display_below": limit}).write(tmp_path / name)
    (code,) = MESH.places[0].format(np.array([0]), np.array([0])).tolist()
    area = code[:6]
    words = ("--from", area, "--to", area, "--simulations", "20")
    said = done("compare", tmp_path / "one", tmp_path / "two", *words).stdout
    assert said.split("\n")[1].split() == [area, "to", area, "trips", "–", "–"]
    (found,) = figures_of(
        done("compare", tmp_path / "one", tmp_path / "two", *words, "--json").stdout
    )
    assert found["trips"]["below"] is True


def test_a_direction_that_is_hidden_does_not_follow_from_both(tmp_path):
    words = ("estimate", tmp_path / "out", "--simulations", "20")
    line = {"type": "LineString", "coordinates": [[139.1, 34], [139.1, 36]]}
    path = shapes(tmp_path / "l.json", line)
    table = trips_on(MESH, number=2000)
    key = package.NoiseKey(bytes(32))
    found = publish(table, key=key).estimate_across(shapely.from_geojson(json.dumps(line)))
    counts = [one.count for one in (found.there, found.back, found.both)]
    limit = max(counts[:2])
    publish(table, key=package.NoiseKey(bytes(32)), metadata={"display_below": limit}).write(
        tmp_path / "out"
    )
    rows = json.loads(done(*words, "--across", path, "--json").stdout)["estimates"]
    assert [row["value"] for row in rows] == counts
    assert [row["below"] for row in rows] == [counts[0] < limit, counts[1] < limit, True]
    *ways, both = done(*words, "--across", path).stdout.splitlines()[1:]
    assert both.split()[-2:] == ["–", "–"]
    assert sorted(f"<{limit}" in one for one in ways) == [False, True]
    many = trips_on(MESH, number=20_000)
    publish(many, key=package.NoiseKey(bytes([1] * 32))).write(tmp_path / "later")
    pair = ("compare", tmp_path / "out", tmp_path / "later", "--simulations", "20")
    rows = json.loads(done(*pair, "--across", path, "--json").stdout)["differences"]
    assert [row["below"] for row in rows] == [counts[0] < limit, counts[1] < limit, True]


def test_zones_without_codes_are_named_by_row_and_column(tmp_path):
    made = publish(trips_on(number=20_000), contribution=1)
    made.write(tmp_path / "out")
    words = ("estimate", tmp_path / "out", "--simulations", "20", "--json")
    (row,) = figures_of(done(*words, "--from", "0_0:3_3", "--to", "2_5").stdout)
    grid = made.origins.grid
    index = made.flows.grid.decode(made.flows.table.key)
    inside = (index[0] < 4) & (index[1] < 4) & (index[2] == 2) & (index[3] == 5)
    assert grid.shape[0] > 4
    assert row["trips"]["value"] == int(made.flows.table.count[inside].sum())
    refused = geodp(*words, "--from", "9999_0", "--to", "2_5")
    assert refused.returncode == 2
    assert "named by row and column" in refused.stderr
