"""``geodp flows``: read, charged once, written whole, resumed, planned and estimated."""

import json

import numpy as np
import pytest

import geodp as package
from geodp.io.folder import staged_tables
from geodp.privacy.ledger import Ledger
from tests.command import geodp

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
    one = done(*call, "--json").stdout
    lines = trips.read_text().splitlines()
    trips.write_text("\n".join(lines[:400]) + "\n")
    assert done(*call, "--json", "--overwrite").stdout == one


def test_the_space_that_is_required_does_not_depend_on_trips(trips, tmp_path, monkeypatch):
    required = []
    monkeypatch.setattr(staged_tables, "require_space", lambda _, listed: required.append(listed))
    words = ["flows", "publish", trips, *GRID, *PLACES, "--value", "n", "--epsilon", "1"]
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
    words = ["flows", "publish", trips, *GRID, *PLACES, "--value", "n", "--epsilon", "1"]
    words += ["--output", tmp_path / "out"]
    refused = geodp(*words)
    assert refused.returncode == 2
    assert "contribution" in refused.stderr
    done(*words, "--contribution", "12")
    assert package.open(tmp_path / "out").index.guarantee.contribution == 12


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--unit", "person-day"), "--time"),
        (("--level", "4"), "Levels"),
        (("--level", "4=2"), "Levels"),
        (("--where", "day"), "COLUMN=VALUE"),
        (("--method", "topdown"), "pyramid"),
        (("--pairs",), "one map"),
        (("--by", "mode"), "--labels"),
        (("--labels", "mode=walk,car"), "--by"),
        (("--by", "daytype,daytype", "--time", "day"), "once"),
        (("--by", "daytype", "--time", "day", "--label-share", "2"), "--label-share"),
        (("--by", "daytype", "--time", "day", "--per-pair", "1"), "--per-pair"),
        (("--label-share", "1/5"), "--by"),
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


def test_an_interrupted_run_is_completed_without_a_second_charge(call, tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("trips", package.privacy.loss.PureDP(package.privacy.budget.rational("5")))
    words = [*call, "--ledger", tmp_path / "l", "--dataset", "trips"]

    def broken(*_):
        raise OSError("no more space")

    with monkeypatch.context() as patched:
        patched.setattr(staged_tables, "write_index", broken)
        assert geodp(*words).returncode != 0
    assert len(ledger.charges("trips")) == 1
    done(*words, "--resume")
    assert len(ledger.charges("trips")) == 1
    assert done("verify", tmp_path / "out").returncode == 0


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
    ledger.add_dataset("trips", package.privacy.loss.PureDP(package.privacy.budget.rational("5")))
    words = [*call, *BY, "--ledger", tmp_path / "l", "--dataset", "trips"]
    with monkeypatch.context() as patched:
        patched.setattr(staged_tables, "write_index", lambda *_: 1 / 0)
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
    words = ("flows", "estimate", tmp_path / "out", "--simulations", "20")
    areas = ("--from", codes[0][0][:6], "--to", codes[1][0][:6])
    shown = done(*words, *areas).stdout.splitlines()
    assert len(shown) == 2
    (row,) = json.loads(done(*words, *areas, "--json").stdout)
    assert row["low"] <= row["count"] <= row["high"]
    assert geodp(*words, "--from", "1", "--from", "2", "--to", "3").returncode == 2
    table = tmp_path / "out" / "public" / "origins"
    assert "geodp estimate" in geodp("flows", "estimate", table, *areas).stderr
