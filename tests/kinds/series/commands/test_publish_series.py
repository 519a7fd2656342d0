"""``geodp publish-series``: files by their times, and what is no series."""

import json
import re

import pytest

from geodp.kinds.series.commands.publish_series import publish_series
from geodp.tools.plan.commands.plan import plan
from tests.command import Runner, geodp

RUNNER = Runner(publish_series)
MONTHS = ("2024-01", "2024-02", "2024-03")
TWICE = ("2020-10-25T02+02:00=a", "2020-10-25T02+01:00=b")


@pytest.fixture
def inputs(tmp_path):
    for number, month in enumerate(MONTHS):
        rows = "".join(f"{x},{y},{20 + x + number}\n" for x in range(8) for y in range(8))
        (tmp_path / f"{month}.csv").write_text(f"x,y,n\n{rows}")
    return [f"{month}={tmp_path / month}.csv" for month in MONTHS]


@pytest.fixture
def call(inputs, tmp_path):
    return [
        *(*inputs, "--grid", "regular:8x8", "--value", "n", "--x", "x", "--y", "y"),
        *("--anchor", "index", "--epsilon", "1", "--contribution", "1", "--person-in", "all"),
        *("--output", tmp_path / "out"),
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "2024-02.csv holds no rows"),
        ("9,9,4\n", "No row of .*2024-02.csv lies in the domain"),
        ("1,1,0\n", None),
    ],
)
def test_a_file_that_adds_nobody_is_refused_and_one_of_zeros_is_an_empty_month(
    rows, said, call, tmp_path
):
    (tmp_path / "2024-02.csv").write_text(f"x,y,n\n{rows}")
    call = [*call, "--outside", "drop"]
    if said is not None:
        assert re.search(said, RUNNER.error_of(*call))
        call.append("--allow-empty")
    assert RUNNER.run(*call).exit_code == 0


def test_which_noise_is_less_is_told(call, tmp_path):
    done = geodp("publish-series", *call)
    assert done.returncode == 0, done.stderr
    assert "measured 3 x 2 = 6 times: Laplace noise, as its errors at blocks of" in done.stderr
    assert "Gaussian noise: standard errors" in done.stderr
    run = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert [*run["counted_people"].values()] == [64 * n + 32 for n in (23, 24, 25)]


@pytest.mark.parametrize(
    ("header", "written", "column"),
    [
        ("年月", "{}年{}月", "年月"),
        ("year,month", "{},{}", "year,month"),
    ],
)
def test_a_column_of_periods_makes_the_series_of_separate_files(
    header, written, column, call, inputs, tmp_path
):
    lines = [f"x,y,n,{header}"]
    for month in MONTHS:
        period = written.format(*map(int, month.split("-")))
        rows = (tmp_path / f"{month}.csv").read_text().splitlines()[1:]
        lines += [f"{row},{period}" for row in rows]
    # Rows of other periods are not read.
    (tmp_path / "year.csv").write_text("\n".join([*lines, f"0,0,999,{written.format(2023, 12)}"]))
    asked = ("--period", column, "--periods", f"{MONTHS[0]}..{MONTHS[-1]}")
    named = [tmp_path / f"{month}.csv" for month in MONTHS]  # whose names contain the months
    counted = []
    for words in ([tmp_path / "year.csv", *asked], named):
        assert RUNNER.run(*words, *call[3:], "--overwrite").exit_code == 0
        run = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
        counted.append([*run["counted_people"].values()])
    assert counted == [[64 * n + 32 for n in (23, 24, 25)]] * 2


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
    assert run["counted_people"]["2024-01"] == 64 * 23 + 32
    assert len(run["inputs"]) == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda call: ["january.csv", *call[1:]], "the form TIME=FILE"),
        (lambda call: [*call, "--period", "m", "--periods", "2024-01..2024-03"], "form TIME=FILE"),
        (
            lambda call: ["a.csv", *call[3:], "--period", "y,m,d", "--periods", "2024-01..2024-03"],
            "names 3 columns, and 2024-01 has 2 parts",
        ),
        (
            lambda call: ["a.csv", *call[3:], "--period", "m", "--periods", "2024-02..2024-01"],
            "2024-01 comes too late",
        ),
        (lambda call: call[2:], "at least two snapshots"),
        (lambda call: [*call[:2], "2024-05=x.csv", *call[2:]], "2024-04 is missing"),
        (lambda call: [*call, "2024-01=x.csv"], "2024-01 occurs twice.*2024-05='may"),
        (lambda call: [*TWICE, *call[3:]], "2020-10-25T01[.]"),
        (lambda call: ["may=x.csv", *call], "may is no|and may not"),
        (lambda call: [*call, "--unit", "person-month"], "is in one snapshot"),
        (lambda call: [*call, "--noise", "gaussian"], "needs a delta"),
    ],
)
def test_wrong_calls_are_refused_in_a_sentence(call, change, said, tmp_path):
    assert re.search(said, RUNNER.error_of(*change(call)))
    assert not (tmp_path / "out").exists()


def test_a_plan_says_which_noise_is_less():
    shared = ["--grid", "regular:64x64", "--epsilon", "0.1", "--delta", "1e-10"]
    found = Runner(plan).document_of(*shared, "--snapshots", 36, "--person-in", "all")
    assert "36 x 2 = 72 times: Gaussian noise, as its errors" in found["series"][0]
    shown = geodp("plan", *shared, "--snapshots", 36, "--person-in", "one")
    assert "1 x 2 = 2 times: Laplace noise" in shown.stdout
    for words, said in (
        (("--person-in", "one"), "--person-in goes with --snapshots only"),
        (("--snapshots", 3), "Declare in how many snapshots"),
    ):
        assert said in geodp("plan", *shared, *words).stderr
