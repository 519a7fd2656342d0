"""``geodp amounts``: two commands from a file of persons to means, charged once and resumed."""

import json
import re
from html import unescape

import numpy as np
import pyarrow as pa
import pytest

from geodp import open as geodp_open
from geodp.cli.commands.estimate import estimate
from geodp.io.folder.staged_release import StagedTables
from geodp.kinds.amounts.commands.amounts import report
from geodp.kinds.amounts.running.publish import publish
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.release import simulation
from geodp.tools.compare.commands.compare import compare
from tests.command import Runner, figures_of, geodp, override
from tests.kinds.amounts import made
from tests.kinds.amounts.made import incomes
from tests.kinds.amounts.test_prior import town

RUNNER = Runner(publish)
GRID = ("--grid", "inspire:1km", "--bounds", "4000000 3000000 4016000 3016000")
TERMS = ("--epsilon", "1", "--contribution", "1", "--method", "pyramid:setting=R")
AMOUNT = ("--amount", "income", "--clip", "0", "1000", "--unit-of-amount", "10,000 yen")


@pytest.fixture
def persons(tmp_path):
    x, y, income = incomes(5000)
    lines = ["id,x,y,income,kind,n"]
    for i, (a, b, c) in enumerate(zip(x, y, income, strict=True)):
        kind = "a" if i % 2 else "b"
        lines.append(f"p{i},{4e6 + 1000 * a:.1f},{3e6 + 1000 * b:.1f},{c:.2f},{kind},1")
    (tmp_path / "persons.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "persons.csv"


@pytest.fixture
def call(persons, tmp_path):
    return [persons, *GRID, "--x", "x", "--y", "y", *AMOUNT, *TERMS, "--output", tmp_path / "out"]


def test_two_commands_give_means(call, tmp_path):
    done = geodp("amounts", "publish", *call, "--person", "id", "--classes", "100,200,300,500")
    assert done.returncode == 0, done.stderr
    assert "if each person is counted once" in done.stdout
    out = tmp_path / "out"
    run = json.loads((out / "restricted" / "run.json").read_text())
    # The clip's numbers are for the operator only.
    assert run["records_beyond_clip"]["above"] > 0
    assert str(run["records_beyond_clip"]["above"]) not in done.stdout
    done = geodp("estimate", out, "--area", "1kmN3000E4000", "--area", "10kmN300E400",
                 "--quantile", "0.9", "--below", "150")  # fmt: skip
    assert done.returncode == 0, done.stderr
    for text in ("income in 10,000 yen", "mean", "median", "quantile 0.9", "below 150"):
        assert text in done.stdout
    done = geodp("estimate", out, "--area", "10kmN300E400", "--json")
    (region,) = figures_of(done.stdout)
    assert 200 < region["mean"]["low"] < region["mean"]["high"] < 400
    assert geodp("verify", out).returncode == 0


def test_where_and_value_select_and_count(call, tmp_path):
    done = RUNNER.run(*call, "--where", "kind=a", "--value", "n", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["spends"] == "epsilon = 1"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--person", "id", "--cells", "2"), "--cells"),
        (("--anchor", "corner"), "--anchor"),
        (("--duplicates", "sum"), "--duplicates"),
        (("--value", "n", "--value", "id"), "one column"),
        (("--share", "1/3"), "--share divides"),
        (("--classes", "100,200", "--no-means", "--share", "1/3"), "--share divides"),
        (("--no-means",), "edges of classes"),
        (("--classes", "9,3"), "increase"),
        (("--person", "id", "--value", "n"), "do not tell whose"),
        (("--amount", "kind"), "no number in plain digits"),
    ],
)
def test_options_that_do_not_go_together_are_refused(call, tmp_path, more, code):
    assert code in RUNNER.error_of(*override("amounts", "publish", *call, *more)[2:])
    assert not (tmp_path / "out").exists()


def test_a_clip_is_in_order(call):
    words = [*call]
    at = words.index("--clip")
    words[at + 1 : at + 3] = ["5", "1"]
    assert "lower and an upper end" in RUNNER.error_of(*words)


def test_an_interrupted_run_is_completed_from_its_charge(call, tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(1))
    charged = [*call, "--classes", "300", "--ledger", tmp_path / "ledger", "--dataset", "incomes"]

    def fail(*_, **__):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(StagedTables, "write", fail)
        assert RUNNER.run(*charged).exit_code != 0
    assert len(ledger.charges("incomes")) == 1
    done = RUNNER.run(*charged, "--resume")
    assert done.exit_code == 0, done.output
    assert len(ledger.charges("incomes")) == 1
    assert geodp("verify", tmp_path / "out").returncode == 0


@pytest.fixture
def census(tmp_path):
    """A public map of people, as a table of cells."""
    x, y, _ = incomes(5000, seed=8)
    cells, number = np.unique(np.stack([x, y]).astype(int), axis=1, return_counts=True)
    lines = ["x,y,people"]
    lines += [
        f"{4e6 + 1000 * a + 500:.0f},{3e6 + 1000 * b + 500:.0f},{n}"
        for a, b, n in zip(*cells, number, strict=True)
    ]
    (tmp_path / "census.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "census.csv"


def test_a_census_is_a_prior(call, census, tmp_path):
    told = (
        "--prior",
        census,
        "--prior-value",
        "people",
        "--prior-is-public",
        "--prior-source",
        "Census of 2015",
    )
    done = geodp("amounts", "publish", *call, "--where", "kind=a", *told)
    assert done.returncode == 0, done.stderr
    card = json.loads((tmp_path / "out" / "public" / "amounts.json").read_text())
    assert card["prior"]["source"] == "Census of 2015"
    assert [one["shape"] for one in card["prior"]["streams"]] == ["records"] * 2
    run = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert run["prior"]["file"] == str(census)
    # For the operator alone: a public digest would confirm guesses about the prior.
    assert len(run["prior"]["cells_sha256"]) == 64
    public = (tmp_path / "out" / "public").rglob("*.json")
    assert not any(run["prior"]["cells_sha256"] in path.read_text() for path in public)
    assert geodp("verify", tmp_path / "out").returncode == 0


@pytest.fixture
def town_call(tmp_path):
    """A call for records of a town whose census is known, as far as there is one."""
    people = town().astype(int)
    number = np.random.default_rng(5).poisson(people)
    lines, cells = ["x,y,income,n"], ["x,y,people"]
    for b, a in np.argwhere(people):
        place = f"{4e6 + 1000 * a + 500:.0f},{3e6 + 1000 * b + 500:.0f}"
        lines.append(f"{place},{100 + 10 * (a // 8)},{number[b, a]}")
        cells.append(f"{place},{people[b, a]}")
    for name, rows in (("persons", lines), ("census", cells)):
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    place = ("--grid", "inspire:1km", "--bounds", "4000000 3000000 4064000 3064000")
    return [tmp_path / "persons.csv", *place, "--x", "x", "--y", "y", "--value", "n", *AMOUNT,
            *TERMS, "--output", tmp_path / "out"]  # fmt: skip


def test_the_file_of_a_prior_narrows_intervals(town_call, tmp_path, monkeypatch):
    call, census = town_call, tmp_path / "census.csv"
    monkeypatch.setattr(simulation, "RELEASES", 8)
    told = (
        "--prior",
        census,
        "--prior-value",
        "people",
        "--prior-is-public",
        "--prior-source",
        "Census of 2015",
    )
    out = tmp_path / "out"
    assert RUNNER.run(*call, *told).exit_code == 0
    asking = Runner(estimate)
    asked = (out, "--area", "10kmN300E400", "--json")
    reading = ("--prior", census, "--x", "x", "--y", "y", "--prior-value", "people")
    rows = [
        figures_of(done.stdout)[0]["count"]
        for more in ((), reading)
        if (done := asking.run(*asked, *more)).exit_code == 0
    ]
    assert rows[0]["value"] == rows[1]["value"]
    width = [one["high"] - one["low"] for one in rows]
    assert width[1] < width[0]
    assert "--x goes with --prior only" in asking.error_of(*asked, *reading[2:-2])
    assert "--prior-value: these say" in asking.error_of(*asked, "--prior", out, *reading[-2:])


def test_an_earlier_release_is_a_prior_that_a_resumed_run_has_too(call, tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(3))
    charged = [*call[:-1], tmp_path / "first", "--ledger", tmp_path / "ledger"]
    charged += ["--dataset", "incomes"]
    assert RUNNER.run(*charged).exit_code == 0
    again = [*override("amounts", "publish", *charged, "--output", tmp_path / "out")[2:]]
    again += ["--prior", tmp_path / "first"]

    def fail(*_, **__):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(StagedTables, "write", fail)
        assert RUNNER.run(*again).exit_code != 0
    done = RUNNER.run(*again, "--resume")
    assert done.exit_code == 0, done.output
    assert len(ledger.charges("incomes")) == 2
    prior = json.loads((tmp_path / "out" / "public" / "amounts.json").read_text())["prior"]
    assert "charged itself" in prior["source"]
    assert all(one["shape"] == "amounts" and one["levels"] for one in prior["streams"])
    assert geodp("verify", tmp_path / "out").returncode == 0


def test_a_changed_release_is_no_prior(call, tmp_path):
    first = geodp("amounts", "publish", *call[:-1], tmp_path / "first")
    assert first.returncode == 0, first.stderr
    public = tmp_path / "first" / "public"
    table = public / "amounts.parquet"
    table.write_bytes(table.read_bytes()[:-20])
    told = ("--prior", tmp_path / "first", "--prior-is-public", "--prior-source", "s")
    for change in (lambda: None, table.unlink):
        change()
        refused = geodp("amounts", "publish", *call, *told)
        assert refused.returncode == 2
        assert "no consistent release" in refused.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--prior-is-public", "--prior-source", "s"), "goes with --prior"),
        (("--prior-value", "people"), "goes with --prior"),
        (("--prior", "census.csv", "--prior-value", "people"), "--prior-source"),
        (
            ("--prior", "persons.csv", "--prior-is-public", "--prior-source", "s"),
            "one of the inputs",
        ),
    ],
)
def test_what_is_no_prior_is_refused(call, census, tmp_path, more, said):
    words = [tmp_path / one if str(one).endswith(".csv") else one for one in more]
    assert said in RUNNER.error_of(*call, *words)
    assert not (tmp_path / "out").exists()


def test_a_plan_shows_bias_against_noise():
    words = ("amounts", "plan", *GRID, "--median", "250", "--upper-tenth", "600", "--epsilon", "1")
    done = geodp(*words, "--people", "1e6")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("*") == 1
    rows = json.loads(geodp(*words, "--clip", "500", "--clip", "2000", "--json").stdout)
    assert [one["upper"] for one in rows] == [500, 2000]


def test_the_prior_of_a_release_is_given_again(call, tmp_path, monkeypatch):
    monkeypatch.setattr(simulation, "RELEASES", 20)
    out, later = tmp_path / "out", tmp_path / "later"
    assert geodp("amounts", "publish", *call).returncode == 0
    more = (*call[:-1], later, "--prior", out, "--prior-is-public", "--prior-source", "made up")
    assert geodp("amounts", "publish", *more).returncode == 0
    asked = ("estimate", later, "--area", "1kmN3000E4000", "--json")
    wide, narrow = (figures_of(geodp(*asked, *prior).stdout)[0] for prior in ((), ("--prior", out)))
    for name in ("count", "sum", "mean"):
        assert narrow[name]["value"] == wide[name]["value"]
        assert narrow[name]["low"] <= narrow[name]["value"] <= narrow[name]["high"]
    assert "not the prior of the release" in geodp(*asked, "--prior", later).stderr


def test_what_to_estimate_is_asked_for(call, tmp_path):
    assert geodp("amounts", "publish", *call).returncode == 0
    asking, area = Runner(estimate), ("--area", "10kmN300E400")
    assert "Name one area or more" in asking.error_of(tmp_path / "out")
    count = tmp_path / "out" / "public" / "count"
    assert asking.document_of(count, *area)["method"] == "closed-form"
    told = asking.error_of(count, *area, "--quantile", "0.5")
    assert told == "--quantile is for releases of amounts, and this is one of counts."
    assert "need classes" in asking.error_of(tmp_path / "out", *area, "--quantile", "0.5")


def test_regions_and_releases_are_compared(call, tmp_path):
    classes = ("--classes", "100,200,300,500")
    assert geodp("amounts", "publish", *call, *classes).returncode == 0
    later = [*call[:-1], tmp_path / "later", *classes, "--epsilon", "2"]
    assert RUNNER.run(*override("amounts", "publish", *later)[2:]).exit_code == 0
    asking, areas = Runner(compare), ("--area", "1kmN3000E4000", "--area", "1kmN3001E4000")
    done = asking.run(tmp_path / "out", *areas)
    assert done.exit_code == 0, done.output
    names = [line.split()[0] for line in done.output.splitlines()]
    assert names == ["income", "region", "1kmN3001E4000", "sum", "mean", "median"]
    done = asking.run(tmp_path / "out", tmp_path / "later", *areas, "--json")
    rows = figures_of(done.output)
    assert [row["name"] for row in rows] == [*areas[1::2]]
    assert all(row["mean"]["low"] < row["mean"]["value"] < row["mean"]["high"] for row in rows)
    assert "below" not in rows[0]["mean"]
    assert "several --area" in asking.error_of(tmp_path / "out", *areas[:2])
    assert "the same release" in asking.error_of(tmp_path / "out", tmp_path / "out", *areas)


def test_small_counts_are_shown_as_the_office_does(call, tmp_path):
    assert RUNNER.run(*call, "--display-below", "1000000").exit_code == 0
    done = Runner(estimate).run(tmp_path / "out", "--area", "10kmN300E400")
    assert "<1,000,000" in done.output
    assert np.all(["\N{EN DASH}" in line for line in done.output.splitlines()[3:]])
    done = Runner(estimate).run(tmp_path / "out", "--area", "10kmN300E400", "--json")
    (region,) = figures_of(done.output)
    assert all(region[name]["below"] is True for name in ("count", "sum", "mean"))
    release = geodp_open(tmp_path / "out")
    codes = [code_of(cell) for cell in np.ndindex(16, 16)]
    counts = [one.count.count for one in release.estimate_all(codes)]
    empty = codes[counts.index(0)]
    done = Runner(estimate).run(tmp_path / "out", "--area", empty)
    count, total = (line.split() for line in done.output.splitlines()[2:4])
    assert count[2:] == ["0", *count[3:4], "0", "to", "<1,000,000"]
    # The sum's end would reveal that of the count.
    assert release.estimate(empty).sum.high > 0
    assert total == ["sum", "0", "\N{EN DASH}"]
    areas = ("--area", "1kmN3000E4000", "--area", "1kmN3001E4000")
    done = Runner(compare).run(tmp_path / "out", *areas)
    assert np.all([line.split()[-1] == "\N{EN DASH}" for line in done.output.splitlines()[2:]])
    done = Runner(compare).run(tmp_path / "out", *areas, "--json")
    assert figures_of(done.output)[0]["mean"]["below"] is True


def test_a_query_is_printed_that_publish_can_continue():
    words = ("amounts", "sql", *GRID, "--engine", "duckdb", *AMOUNT, "--points", "x", "y")
    done = geodp(*words, "--step", "0.5", "--person", "id", "--contribution", "2")
    assert done.returncode == 0, done.stderr
    assert "--clip 0 1000 --step 0.5 --unit-of-amount '10,000 yen'" in done.stdout
    assert "--value geodp_records --contribution 2" in done.stdout
    assert "place <= 2" in done.stdout
    assert "you vouch" in geodp(*words).stdout
    assert geodp(*words, "--order-by", "t").returncode == 2


def test_raked_totals_stand_on_the_card_and_outlive_an_interruption(call, tmp_path, monkeypatch):
    assert "goes with --weight" in RUNNER.error_of(*call, "--raked-to", "residents by age")
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(1))
    charged = [*call, "--ledger", tmp_path / "ledger", "--dataset", "incomes"]
    words = [*charged, "--weight", "n", "--max-weight", "3", "--raked-to", "residents by age"]

    def fail(*_, **__):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(StagedTables, "write", fail)
        assert RUNNER.run(*words).exit_code != 0
    assert RUNNER.run(*words, "--resume").exit_code == 0
    index = json.loads((tmp_path / "out" / "public" / "amounts.json").read_text())
    assert any("residents by age" in one for one in index["guarantee"]["not_protected"])


def code_of(cell):
    """Return the code of a cell by its row and column from the south-west."""
    return f"1kmN{3000 + cell[0]}E{4000 + cell[1]}"


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """A release of amounts by sex and age, and its folder."""
    draw, n = np.random.default_rng(8), 20_000
    sex, age = draw.integers(0, 2, n), draw.integers(0, 3, n)
    data = pa.table({
        "x": 16 * draw.beta(2, 2, n), "y": 16 * draw.beta(2, 2, n),
        "income": draw.gamma(4, 60, n) + 100 * sex,
        "sex": pa.array(["f", "m"]).take(pa.array(sex)),
        "age": pa.array(["20-29", "30-34", "35-39"]).take(pa.array(age)),
    })  # fmt: skip
    labels = {"sex": ["f", "m"], "age": ["20-29", "30-34", "35-39"]}
    release = made.publish(data, by=["sex", "age"], labels=labels, classes=made.EDGES, step="0.1")
    folder = tmp_path_factory.mktemp("groups")
    release.write(folder / "out")
    square = {"type": "Polygon", "coordinates": [[[4, 4], [20, 4], [20, 12], [4, 12], [4, 4]]]}
    inside = {"type": "Polygon", "coordinates": [[[4, 4], [12, 4], [12, 12], [4, 12], [4, 4]]]}
    features = [
        {"type": "Feature", "properties": {"name": name}, "geometry": shape}
        for name, shape in (("partly", square), ("inside", inside))
    ]
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3035"}}
    document = {"type": "FeatureCollection", "crs": crs, "features": features}
    (folder / "areas.geojson").write_text(json.dumps(document))
    return release, folder


def test_groups_of_a_region_are_estimated(groups):
    release, folder = groups
    done = Runner(estimate).run(
        folder / "out", "--polygons", folder / "areas.geojson", "--label", "sex=f",
        "--label", "age=30-34", "--label", "age=35-39", "--quantile", "0.9", "--json",
    )  # fmt: skip
    found = json.loads(done.output)
    assert found["labels"] == {"sex": ["f"], "age": ["30-34", "35-39"]}
    chosen = {"sex": "f", "age": ["30-34", "35-39"]}
    one = release.estimate((4, 4, 12, 12), chosen)
    row = figures_of(done.output)[1]
    assert row["count"]["value"] == one.count.count
    assert row["mean"]["value"] == pytest.approx(one.mean.value, abs=1e-3)
    assert found["outside"] == {"partly": pytest.approx(1 / 4), "inside": 0}
    shown = Runner(estimate).run(
        folder / "out", "--polygons", folder / "areas.geojson", "--label", "sex=f"
    )
    assert "; sex=f" in shown.output
    assert "partly: 25.0 % of its area lies outside the map" in shown.output
    assert "inside: " not in shown.output


def test_compare_and_the_page_tell_what_lies_outside_the_map(groups, tmp_path):
    _, folder = groups
    named = (folder / "out", "--polygons", folder / "areas.geojson")
    against = ("--label", "sex=m", "--against", "sex=f")
    told = "partly: 25.0 % of its area lies outside the map, and nothing there is counted."
    shown = Runner(compare).run(*named, *against)
    assert shown.output.splitlines()[-1] == told
    found = json.loads(Runner(compare).run(*named, *against, "--json").output)
    assert found["outside"] == {"partly": pytest.approx(1 / 4), "inside": 0}
    page = tmp_path / "page.html"
    assert Runner(report).run(*named, "--output", page).exit_code == 0
    text = unescape(page.read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
    assert f"<p>{told}</p>" in text


def test_numbers_in_json_have_the_decimals_of_amounts(groups):
    _, folder = groups
    areas = (folder / "out", "--polygons", folder / "areas.geojson", "--json")
    for runner, more in (
        (Runner(estimate), ()),
        (Runner(compare), ("--label", "sex=m", "--against", "sex=f")),
    ):
        text = runner.run(*areas, *more).output
        numbers = re.findall(r": -?\d+\.(\d+)", text)
        assert numbers
        assert max(map(len, numbers)) <= 6
        assert "NaN" not in text


def test_groups_of_a_region_are_compared(groups):
    release, folder = groups
    areas = ("--polygons", folder / "areas.geojson")
    done = Runner(compare).run(
        folder / "out", *areas, "--label", "sex=m", "--label", "age=20-29",
        "--against", "sex=f", "--json",
    )  # fmt: skip
    rows = figures_of(done.output)
    assert [row["name"] for row in rows] == [
        f"{name}: sex=f, age=20-29 - sex=m, age=20-29" for name in ("partly", "inside")
    ]
    men, women = ({"sex": sex, "age": "20-29"} for sex in "mf")
    mean = release.compare((4, 4, 12, 12), labels=(men, women))["mean"]
    assert mean.value < 0
    assert rows[1]["mean"]["value"] == pytest.approx(mean.value, abs=1e-3)
    assert rows[1]["mean"]["low"] == pytest.approx(mean.low, abs=1e-3)
    # All women have the young ones among them.
    said = Runner(compare).error_of(
        folder / "out", *areas, "--label", "sex=f", "--against", "age=20-29"
    )
    assert "common cells" in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--label", "f"), "names no label"),
        (("--label", "sex=f", "--label", "sex=f"), "twice"),
        (("--label", "sex=x"), "sex has no label 'x'"),
        (("--label", "job=x"), "no attribute 'job'"),
    ],
)
def test_labels_that_are_none_are_refused(groups, more, said):
    area = ("--polygons", groups[1] / "areas.geojson")
    refused = Runner(estimate).error_of(groups[1] / "out", *area, *more)
    assert said in refused
    assert "partly" not in refused


@pytest.mark.parametrize(
    "command", [(estimate,), (compare, "--label", "sex=m", "--against", "sex=f"), (compare,),
                (report, "--output", "page.html")], ids=str,
)  # fmt: skip
def test_a_polygon_without_a_cell_is_named(groups, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    _, folder = groups
    document = json.loads((folder / "areas.geojson").read_text())
    document["features"][1]["properties"]["name"] = "far"
    corners = [[80, 4], [90, 4], [90, 12], [80, 12], [80, 4]]
    document["features"][1]["geometry"]["coordinates"] = [corners]
    (tmp_path / "far.geojson").write_text(json.dumps(document))
    first, *more = command
    areas = ("--polygons", tmp_path / "far.geojson")
    refused = Runner(first).error_of(folder / "out", *areas, *more)
    assert refused.startswith("far: The region contains no cell of the domain")
    assert not (tmp_path / "page.html").exists()
