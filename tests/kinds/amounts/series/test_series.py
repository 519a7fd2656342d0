"""A series as users hold it: by number and time, estimated, compared, written and read."""

import re

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.amounts.page import write_page
from tests.command import geodp as run
from tests.kinds.amounts.made import EDGES
from tests.kinds.amounts.made import publish as publish_one
from tests.kinds.amounts.series.made import TIMES, publish, rows, same, table, tables
from tests.refusals import refuses

WEST, ALL = (0, 0, 8, 16), (0, 0, 16, 16)


def test_estimates_are_those_of_every_period(series):
    found = series.estimate(WEST, quantiles=(0.9,), below=(150,))
    assert [*found] == [*TIMES]
    for time, one in found.items():
        assert one == series[time].estimate(WEST, quantiles=(0.9,), below=(150,))
        assert one.mean.low < one.mean.value < one.mean.high


def test_a_period_says_of_which_series_it_is(series):
    told = series[1].index.guarantee.not_protected[-1]
    assert "the period of 2020 in a series of 2, from 2015 to 2020" in told
    assert "a person is in every period; together they spend epsilon = 1, charged once" in told
    assert told in series[1].count.card().guarantee.not_protected
    assert series[1].index.guarantee.spends == "epsilon = 1/2"
    promise = series.index.guarantee
    assert "of these releases together by a factor of at most 2.718" in promise.in_words
    assert "at most 2 of the 2 periods differ" in promise.source
    assert promise.in_words.endswith("if each person is counted once in each period.")


def test_a_period_that_is_looked_at_alone_says_so(series, public):
    period = public / "2020"
    done = run("explain", period)
    assert done.returncode == 0, done.stderr
    assert "the period 2020, one of 2 from 2015 to 2020" in " ".join(done.stdout.split())
    for language, said in (
        ("en", "one of 2 periods from 2015 to 2020"),
        ("ja", "2 期間のうちの 2020"),
    ):
        page = write_page(series["2020"], language)
        assert said in page
        assert re.search("<h1>[^<]*2020[^<]*</h1>", page)
        assert "epsilon = 1" in page.replace("epsilon = 1/2", "")
    assert "periods" not in write_page(publish_one())


def test_two_periods_with_the_same_numbers_are_compared():
    with refuses(UsageError, "times-not-texts"):
        publish(times=(2015, 2020))
    # At such a budget the noise is 0, so that equal records have equal numbers.
    series = publish([table(n=300)] * 2, epsilon=10**9)
    assert same(series[0], series[1])
    assert series.compare(ALL)["mean"].value == 0


def test_errors_of_two_periods_are_independent_and_intervals_of_their_difference_hold():
    given, errors, held = tables(), [], []
    truth = [np.minimum(np.floor(rows(year)["income"].to_numpy() + 0.5), 1000).mean()
             for year in (0, 1)]  # fmt: skip
    for _ in range(40):
        series = publish(given)
        found = [one.mean.value for one in series.estimate(ALL).values()]
        errors.append(np.subtract(found, truth))
        change = series.compare(ALL)["mean"]
        held.append(change.low <= truth[1] - truth[0] <= change.high)
    # Of 40 pairs of independent numbers, correlations beyond 0.6 are rarer than one in 10,000; of
    # periods that shared noise, all errors would be nearly the same.
    assert abs(np.corrcoef(np.transpose(errors))[0, 1]) < 0.6
    assert np.mean(held) >= 0.85


@pytest.mark.parametrize(
    ("language", "person", "said"),
    [
        ("en", "all", "may be in all of them"),
        ("en", "one", "is in only one of them"),
        ("ja", "all", "すべての期間に含まれる"),
        ("ja", "one", "一つの期間だけ"),
    ],
)
def test_a_series_is_explained(shared, language, person, said):
    given = tables(n=300, classes=EDGES)
    made = shared.make(f"amounts by period, {person}", publish, given, person=person)
    done = run("explain", shared.write(made), "--language", language)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert "2015" in done.stdout
    assert "10,000 yen" in done.stdout


def test_weights_and_enforced_bounds_are_explained(tmp_path):
    publish(tables(n=300, person="id", contribution=1)).write(tmp_path / "persons")
    assert "geodp made sure" in run("explain", tmp_path / "persons").stdout
    weighed = rows(n=300).append_column("w", [np.arange(300) % 3 + 1])
    given = [
        geodp.amounts.read_records(
            weighed, grid=table(n=9).records.grid, x="x", y="y", amount="income", clip=(0, 1000),
            unit_of_amount="EUR", weight="w", max_weight=5,
        )
    ] * 2  # fmt: skip
    series = publish(given)
    assert series.index.guarantee.contribution == 5
    series.write(tmp_path / "weights")
    text = " ".join(run("explain", tmp_path / "weights").stdout.split())
    assert "in each period have weights of at most 5 together" in text
    assert run("verify", tmp_path / "weights").returncode == 0
