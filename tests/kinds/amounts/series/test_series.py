"""A series as users hold it: by number and time, estimated, compared, written and read."""

import re

from geodp.errors import UsageError
from geodp.kinds.amounts.page import write_page
from tests.command import geodp as run
from tests.kinds.amounts.made import publish as publish_one
from tests.kinds.amounts.series.made import publish, same, table
from tests.refusals import refuses

ALL = (0, 0, 16, 16)


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
