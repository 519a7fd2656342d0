"""``geodp publish-series``: read, charged once, written whole; resumed and replayed at no cost."""

import json
import os
import re

import pytest

from geodp.kinds.series.commands.publish_series import publish_series
from geodp.kinds.series.formats import netcdf
from geodp.privacy.ledger import Ledger
from geodp.tools.plan.commands.plan import plan
from tests.command import Runner, geodp, override

RUNNER = Runner(publish_series)
MONTHS = ("2024-01", "2024-02", "2024-03")


@pytest.fixture
def inputs(tmp_path):
    for number, month in enumerate(MONTHS):
        rows = "".join(f"{x},{y},{20 + x + number}\n" for x in range(8) for y in range(8))
        (tmp_path / f"{month}.csv").write_text(f"x,y,n\n{rows}")
    return [f"{month}={tmp_path / month}.csv" for month in MONTHS]


@pytest.fixture
def call(inputs, tmp_path):
    return [
        *[*inputs, "--grid", "regular:8x8", "--value", "n", "--x", "x", "--y", "y"],
        *[
            "--anchor",
            "index",
            "--epsilon",
            "1",
            "--contribution",
            "1",
            "--person-in",
            "all",
            "--output",
            tmp_path / "out",
        ],
    ]


@pytest.fixture
def charged(call, tmp_path):
    file = tmp_path / "office.ledger"
    made = geodp("budget", "init", "--ledger", file, "--dataset", "stays", "--epsilon", "2")
    assert made.returncode == 0, made.stderr
    return [*call, "--ledger", file, "--dataset", "stays"]


def charges(tmp_path):
    return Ledger.open(tmp_path / "office.ledger").charges("stays")


def test_a_series_is_published_and_verified(call, tmp_path):
    done = geodp("publish-series", *call)
    assert done.returncode == 0, done.stderr
    assert "measured 3 x 2 = 6 times: Laplace noise, as its errors at blocks of" in done.stderr
    assert "Gaussian noise: standard errors" in done.stderr
    assert "of these releases together by a factor of at most" in done.stdout
    assert geodp("verify", tmp_path / "out").returncode == 0
    assert geodp("verify", tmp_path / "out" / "public" / "2024-02").returncode == 0
    run = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert run["people"] == [64 * 23 + 32, 64 * 24 + 32, 64 * 25 + 32]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "2024-02.csv holds no rows"),
        ("9,9,4\n", "No row of .*2024-02.csv lies in the domain"),
        ("1,1,0\n", ""),
    ],
)
def test_a_file_that_adds_nobody_is_refused_and_one_of_zeros_is_an_empty_month(
    rows, said, charged, tmp_path
):
    (tmp_path / "2024-02.csv").write_text(f"x,y,n\n{rows}")
    refused = geodp("publish-series", *charged, "--outside", "drop")
    assert refused.returncode == (2 if said else 0), refused.stderr
    assert re.search(said, refused.stderr)
    assert len(charges(tmp_path)) == (0 if said else 1)
    if said:
        done = geodp("publish-series", *charged, "--outside", "drop", "--allow-empty")
        assert done.returncode == 0, done.stderr
    assert geodp("verify", tmp_path / "out").returncode == 0


def test_the_document_names_what_was_spent(call):
    found = RUNNER.document_of(*call)
    assert found["snapshots"] == list(MONTHS)
    assert (found["spends"], found["each"]) == ("epsilon = 1", "epsilon = 1/3")
    assert len(found["sharing"]) == 3


@pytest.mark.parametrize("given", ["january", "january/*.csv"])
def test_files_of_one_time_are_a_folder_or_a_pattern(given, call, inputs, tmp_path):
    split = (tmp_path / "2024-01.csv").read_text().splitlines(keepends=True)
    (tmp_path / "january").mkdir()
    (tmp_path / "january" / "a.csv").write_text("".join(split[:30]))
    (tmp_path / "january" / "b.csv").write_text("".join([split[0], *split[30:]]))
    january, *others = inputs
    assert january.startswith("2024-01=")
    rest = [*reversed(others), *call[3:]]
    done = geodp("publish-series", *rest, f"2024-01={tmp_path / given}")
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert run["people"][0] == 64 * 23 + 32
    assert len(run["inputs"]) == 4


def test_a_kept_key_replays_at_no_cost(charged, tmp_path):
    geodp("key", tmp_path / "key")
    kept = [*charged, "--key-file", tmp_path / "key"]
    assert geodp("publish-series", *kept).returncode == 0
    before = (tmp_path / "out" / "public" / "population.nc").read_bytes()
    assert geodp("publish-series", *kept, "--overwrite").returncode == 0
    assert (tmp_path / "out" / "public" / "population.nc").read_bytes() == before
    assert [str(one.loss) for one in charges(tmp_path)] == ["epsilon 1"]


def test_over_the_cap_nothing_is_written(charged, tmp_path):
    for name in ("one", "two", "three"):
        done = geodp(*override("publish-series", *charged, "--output", tmp_path / name))
        assert done.returncode == (4 if name == "three" else 0)
    assert not (tmp_path / "three").exists()
    assert len(charges(tmp_path)) == 2


def test_an_interrupted_run_is_resumed_from_what_was_charged(charged, tmp_path, monkeypatch):
    def fail(*_given):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(netcdf, "write", fail)
        done = geodp("publish-series", *charged)
    assert done.returncode == 1
    assert "--resume completes" in done.stderr
    assert not (tmp_path / "out").exists()
    assert len(charges(tmp_path)) == 1
    waits = geodp("publish-series", *charged)
    assert waits.returncode == 2
    assert "repeat its command with --resume" in waits.stderr
    other = geodp(*override("publish-series", *charged, "--resume", "--person-in", "one"))
    assert "The interrupted run had other --person-in" in other.stderr
    done = geodp("publish-series", *charged, "--resume")
    assert done.returncode == 0, done.stderr
    assert len(charges(tmp_path)) == 1
    assert geodp("verify", tmp_path / "out").returncode == 0
    public = tmp_path / "out" / "public"
    index = json.loads((public / "series.json").read_text())
    assert index["budget"]["head"] == charges(tmp_path)[0].hash
    cards = [json.loads((public / m / "release.json").read_text()) for m in MONTHS]
    for month, card in zip(MONTHS, cards, strict=True):
        assert f"snapshot of {month} in a series of 3" in card["guarantee"]["not_protected"][-1]
    assert sorted(os.listdir(tmp_path / "out" / "restricted")) == [
        *("README.txt", "SHA256SUMS", "run.json")
    ]


def test_what_an_office_says_is_in_every_card_of_a_resumed_series_too(
    charged, tmp_path, monkeypatch
):
    def fail(*_given):
        raise OSError(28, "No space left on device")

    office = tmp_path / "office.toml"
    office.write_text('title = "Stays"\npublisher = "The office"\n')
    said = ("--metadata", office, "--display-below", "1000")
    with monkeypatch.context() as patched:
        patched.setattr(netcdf, "write", fail)
        assert geodp("publish-series", *charged, *said).returncode == 1
    done = geodp("publish-series", *charged, *said, "--resume")
    assert done.returncode == 0, done.stderr
    assert geodp("verify", tmp_path / "out").returncode == 0
    for month in MONTHS:
        folder = tmp_path / "out" / "public" / month
        card = json.loads((folder / "release.json").read_text())
        own = {"title": "Stays", "publisher": "The office", "display_below": 1000}
        assert card["metadata"] == own
        out = tmp_path / f"out-{month}"
        assert geodp("export", folder, "--to", "csv:excel", "--output", out).returncode == 0
        assert "<1,000" in (out / "population.excel.csv").read_text(encoding="utf-8-sig")


def test_what_is_true_of_one_snapshot_only_is_refused_before_the_charge(charged, tmp_path):
    office = tmp_path / "office.toml"
    office.write_text("reference_date = 2024-01-01\n")
    error = RUNNER.error_of(*charged, "--metadata", office)
    assert "metadata.reference_date describes one release" in error
    assert charges(tmp_path) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda call: ["january.csv", *call[1:]], "the form TIME=FILE"),
        (lambda call: call[2:], "at least two snapshots"),
        (lambda call: [*call[:2], "2024-05=x.csv", *call[2:]], "2024-04 is missing"),
        (lambda call: [*call, "2024-01=x.csv"], "2024-01 occurs twice.*2024-05='may"),
        (
            lambda call: ["2020-10-25T02+02:00=a", "2020-10-25T02+01:00=b", *call[3:]],
            "2020-10-25T01[.]",
        ),
        (lambda call: ["may=x.csv", *call], "may is no|and may not"),
        (lambda call: [*call, "--unit", "person-month"], "is in one snapshot"),
        (lambda call: [*call, "--noise", "gaussian"], "needs a delta"),
    ],
)
def test_wrong_calls_are_refused_in_a_sentence_and_cost_nothing(charged, change, said, tmp_path):
    assert re.search(said, RUNNER.error_of(*change(charged)))
    assert charges(tmp_path) == ()
    assert not (tmp_path / "out").exists()


def test_a_plan_says_which_noise_is_less():
    shared = ["--grid", "regular:64x64", "--epsilon", "0.1", "--delta", "1e-10"]
    found = Runner(plan).document_of(*shared, "--snapshots", 36, "--person-in", "all")
    assert "36 x 2 = 72 times: Gaussian noise, as its errors" in found["series"][0]
    shown = geodp("plan", *shared, "--snapshots", 36, "--person-in", "one")
    assert "1 x 2 = 2 times: Laplace noise" in shown.stdout
    assert (
        "--person-in goes with --snapshots only"
        in geodp("plan", *shared, "--person-in", "one").stderr
    )
    assert "Declare in how many snapshots" in geodp("plan", *shared, "--snapshots", 3).stderr
