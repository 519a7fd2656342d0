"""Series of counts that stand side by side in one table, one column for each period."""

import pandas
import pytest

import geodp as package
from geodp.errors import InputError, UsageError
from geodp.io.read.rows.period_columns import find_pattern, find_period_columns
from tests.command import geodp
from tests.refusals import refuses

MONTHS = ["2024-01", "2024-02", "2024-03"]
ASKED = ("--epsilon", 500, "--contribution", 1, "--person-in", "all", "--code", "zone")


@pytest.mark.parametrize(
    ("names", "pattern", "periods"),
    [
        (["n_202401", "n_202402", "n_202403"], "n_*", ()),
        (["1月", "2月", "3月"], "*", ("--periods", "2024-01..2024-03")),
    ],
)
def test_columns_of_periods_are_a_series(names, pattern, periods, tmp_path):
    units = tmp_path / "units.csv"
    units.write_text("zone\na\nb\n")
    wide = pandas.DataFrame([["a", 40, 50, 60], ["b", 5, 6, 7]], columns=["zone", *names])
    wide.to_csv(tmp_path / "wide.csv", index=False)
    grid = ("--grid", f"units:{units}", "--units-source", "an office")
    given = ("--period-columns", pattern, *periods, *grid, *ASKED, "--output", tmp_path / "out")
    done = geodp("publish-series", tmp_path / "wide.csv", *given)
    assert done.returncode == 0, done.stderr
    series = package.open(tmp_path / "out")
    assert [*series.times] == MONTHS
    assert [round(series[time].estimate("a").count, -1) for time in MONTHS] == [40, 50, 60]


def test_names_of_columns_say_their_periods():
    names = ["zone", "Jan 2024", "Feb 2024", "2024-03", "note 2024"]
    assert [*find_period_columns(names, "*", MONTHS, "a.csv")] == MONTHS
    assert find_pattern(["zone", "n 2020", "n 2021", "n 2025"]) is None


@pytest.mark.parametrize(
    ("error", "code", "names", "pattern", "times"),
    [
        (UsageError, "period-columns-form", ["a1"], "a", None),
        (InputError, "period-columns-missing", ["zone", "a"], "*", None),
        (UsageError, "period-columns-without-year", ["1月", "2月", "3月"], "*", None),
        (UsageError, "period-columns-like-data", ["zone", "2020", "2021"], "*", None),
        (InputError, "period-columns-alike", ["2024-01", "202401"], "*", MONTHS),
        (InputError, "period-column-missing: 2024-03", ["2024-01", "2024-02"], "*", MONTHS),
    ],
)
def test_what_is_no_period_or_twice_one_is_refused(error, code, names, pattern, times):
    with refuses(error, code):
        find_period_columns(names, pattern, times, "a.csv")
