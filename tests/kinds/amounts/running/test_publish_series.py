"""``geodp amounts publish-series``: read, charged once, written whole, resumed and replayed."""

import json

import pytest

from geodp.cli.commands.estimate import estimate
from geodp.io.folder.staged_release import StagedPeriods
from geodp.kinds.amounts.running.publish import publish_series
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.tools.compare.commands.compare import compare
from tests.command import Runner, figures_of, geodp, override
from tests.kinds.amounts.made import incomes

RUNNER = Runner(publish_series)
GRID = ("--grid", "inspire:1km", "--bounds", "4000000 3000000 4016000 3016000")
TERMS = ("--epsilon", "1", "--contribution", "1", "--method", "pyramid:setting=R")
AMOUNT = ("--amount", "income", "--clip", "0", "1000", "--unit-of-amount", "10,000 yen")
AREA = ("--area", "10kmN300E400")


@pytest.fixture
def inputs(tmp_path):
    for year, raised in (("2015", 1), ("2020", 1.3)):
        x, y, income = incomes(5000, seed=int(year))
        lines = ["id,x,y,income"]
        for i, (a, b, c) in enumerate(zip(x, y, income * raised, strict=True)):
            lines.append(f"p{i},{4e6 + 1000 * a:.1f},{3e6 + 1000 * b:.1f},{c:.2f}")
        (tmp_path / f"{year}.csv").write_text("\n".join(lines) + "\n")
    return [f"{year}={tmp_path / year}.csv" for year in ("2015", "2020")]


@pytest.fixture
def call(inputs, tmp_path):
    return [
        *inputs, *GRID, "--x", "x", "--y", "y", *AMOUNT, *TERMS, "--person-in", "all",
        "--output", tmp_path / "out",
    ]  # fmt: skip


@pytest.fixture
def charged(call, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("incomes", PureDP(2))
    return [*call, "--ledger", tmp_path / "ledger", "--dataset", "incomes"]


def charges(tmp_path):
    return Ledger.open(tmp_path / "ledger").charges("incomes")


def test_a_series_is_published_verified_and_estimated(call, tmp_path):
    done = geodp("amounts", "publish-series", *call, "--person", "id", "--classes", "100,200,500")
    assert done.returncode == 0, done.stderr
    assert "of these releases together by a factor of at most" in done.stdout
    out = tmp_path / "out"
    run = json.loads((out / "restricted" / "run.json").read_text())
    assert [*run["records_beyond_clip"]] == ["2015", "2020"]
    # What lies beyond the clip is counted for each year alone.
    beyond = [one["above"] for one in run["records_beyond_clip"].values()]
    assert 0 < beyond[0] < beyond[1] < 1000
    assert geodp("verify", out).returncode == 0
    assert geodp("verify", out / "public" / "2020").returncode == 0
    for words in ((out, "--time", "2020"), (out / "public" / "2020",)):
        done = geodp("estimate", *words, *AREA, "--quantile", "0.9", "--json")
        assert done.returncode == 0, done.stderr
        (region,) = figures_of(done.stdout)
        assert 300 < region["mean"]["low"] < region["mean"]["high"] < 500
    page = tmp_path / "page.html"
    done = geodp("report", out, "--time", "2015", "--output", page)
    assert done.returncode == 0, done.stderr
    assert "income" in page.read_text()


def test_two_years_are_compared(call, tmp_path):
    assert RUNNER.run(*call).exit_code == 0
    out = tmp_path / "out"
    pairs = (
        (out, "--time", "2015", "--time", "2020"),
        (out / "public" / "2015", out / "public" / "2020"),
    )
    documents = [geodp("compare", *words, *AREA, "--json").stdout for words in pairs]
    assert documents[0] == documents[1]
    (change,) = figures_of(documents[0])
    assert 0 < change["mean"]["low"] < change["mean"]["value"] < change["mean"]["high"] < 200


def test_the_document_names_what_was_spent(call):
    found = RUNNER.document_of(*call)
    assert found["periods"] == ["2015", "2020"]
    assert (found["spends"], found["each"]) == ("epsilon = 1", "epsilon = 1/2")
    assert found["private"] is True


def test_times_are_in_order_whatever_the_order_of_files(call, tmp_path):
    assert RUNNER.run(*reversed(call[:2]), *call[2:]).exit_code == 0
    index = json.loads((tmp_path / "out" / "public" / "amounts-series.json").read_text())
    assert [one["time"] for one in index["periods"]] == ["2015", "2020"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("2020=2015.csv",), "occurs twice"),
        (("2015.csv",), "TIME=FILE"),
        (("2022=2015.csv",), "is missing"),
        (("--cells", "2"), "--cells"),
        (("--no-means",), "edges of classes"),
        (("--person", "id", "--contribution", "1", "--unit", "person-year"), "in one snapshot"),
        (("--metadata", "office.toml"), "describes one release"),
    ],
)
def test_what_is_no_series_is_refused(call, tmp_path, more, said):
    (tmp_path / "office.toml").write_text('reference_date = "2020-10-01"\n')
    words = [
        one.replace("2015.csv", str(tmp_path / "2015.csv")).replace(
            "office.toml", str(tmp_path / "office.toml")
        )
        for one in more
    ]
    words = override("amounts", "publish-series", *call, *words)[2:]
    assert said in RUNNER.error_of(*words)
    assert not (tmp_path / "out").exists()


def test_a_kept_key_replays_at_no_cost(charged, tmp_path):
    geodp("key", tmp_path / "key")
    kept = [*charged, "--key-file", tmp_path / "key"]
    assert RUNNER.run(*kept).exit_code == 0
    files_of = [tmp_path / "out" / "public" / year / "amounts.csv" for year in ("2015", "2020")]
    before = [one.read_bytes() for one in files_of]
    assert RUNNER.run(*kept, "--overwrite").exit_code == 0
    assert [one.read_bytes() for one in files_of] == before
    assert [str(one.loss) for one in charges(tmp_path)] == ["epsilon 1"]


@pytest.mark.parametrize("more", [(), ("--classes", "300"), ("--classes", "300", "--no-means")])
def test_an_interrupted_run_is_completed_from_its_charge(charged, tmp_path, monkeypatch, more):
    geodp("key", tmp_path / "key")
    charged = [*charged, *more, "--key-file", tmp_path / "key"]

    def fail(*_, **__):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(StagedPeriods, "write_periods", fail)
        assert RUNNER.run(*charged).exit_code != 0
    assert len(charges(tmp_path)) == 1
    other = geodp(*override("amounts", "publish-series", *charged, "--resume", "--step", "0.5"))
    assert "The interrupted run had other --step" in other.stderr
    done = RUNNER.run(*charged, "--resume")
    assert done.exit_code == 0, done.output
    assert len(charges(tmp_path)) == 1
    assert geodp("verify", tmp_path / "out").returncode == 0
    # What was resumed is what the run would have written.
    again = [*override("amounts", "publish-series", *charged, "--output", tmp_path / "again")[2:]]
    assert RUNNER.run(*again).exit_code == 0
    for name in ("2015/amounts.csv", "2020/amounts.csv", "2020/count/count.csv"):
        one, two = (tmp_path / at / "public" / name for at in ("out", "again"))
        assert one.read_bytes() == two.read_bytes()
    index, twin = (
        json.loads((tmp_path / at / "public" / "amounts-series.json").read_text())
        for at in ("out", "again")
    )
    assert index["guarantee"] == twin["guarantee"]
    assert index["budget"]["head"] == charges(tmp_path)[0].hash


def test_over_the_cap_nothing_is_written(charged, tmp_path):
    codes = [
        geodp(*override("amounts", "publish-series", *charged, "--output", tmp_path / name))
        for name in ("one", "two", "three")
    ]
    assert [one.returncode for one in codes] == [0, 0, 4]
    assert not (tmp_path / "three").exists()


def test_a_withdrawn_series_is_named_as_such_wherever_it_is_read(call, tmp_path):
    out = tmp_path / "out"
    assert RUNNER.run(*call).exit_code == 0
    assert geodp("withdraw", out, "--reason", "Counted twice.").returncode == 0
    public = out / "public"
    for folder in (out, public / "2015", public / "2015" / "count"):
        assert "THIS RELEASE WAS WITHDRAWN" in geodp("verify", folder).stderr


def test_a_period_is_named(call, tmp_path):
    out = tmp_path / "out"
    assert RUNNER.run(*call).exit_code == 0
    asking, comparing = Runner(estimate), Runner(compare)
    rows = asking.document_of(out, *AREA)["estimates"]
    assert [row["time"] for row in rows if row["quantity"] == "mean"] == ["2015", "2020"]
    assert "There is no period 2016" in asking.error_of(out, *AREA, "--time", "2016")
    said = asking.error_of(out / "public" / "2015", *AREA, "--time", "2015")
    assert "has no periods" in said
    assert "--time twice" in comparing.error_of(out, *AREA, "--time", "2015")
    assert "--time twice" in comparing.error_of(out, *AREA)
