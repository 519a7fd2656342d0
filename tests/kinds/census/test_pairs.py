"""Shares and differences of columns of a census, and intervals of all columns of an area."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval_arithmetic import Derived, factor_together, hide_figures
from geodp.census import Column
from geodp.errors import UsageError
from geodp.grid.region import Region
from tests.refusals import refuses

GRID = geodp.Grid.regular((32, 32))
AGES = ["young", "adult", "old"]
COLUMNS = (
    Column("all", "persons"),
    Column("women", "sex", (("f",),)),
    Column("men", "sex", (("m",),)),
    Column("old", "age", (("f", "old"), ("m", "old"))),
    Column("old women", "age", (("f", "old"),)),
    Column("adult", "age", (("f", "adult"), ("m", "adult"))),
    Column("foreign", "birth", (("f", "abroad"), ("m", "abroad"))),
    Column("homes", "households"),
)


def counts():
    """Return counts of sex, age and birth in cells: int64[32, 32, 2, 3, 2]."""
    draw = np.random.default_rng(5)
    share = np.array([0.2, 0.6, 0.2])[:, None] * np.array([0.1, 0.9])
    people = draw.integers(20, 400, (32, 32, 2))
    return draw.multinomial(people, share.ravel()).reshape(32, 32, 2, 3, 2)


def publish(**options):
    every = counts()
    sex = GRID.with_attribute("sex", ["f", "m"])
    age, birth = sex.with_attribute("age", AGES), sex.with_attribute("birth", ["abroad", "here"])
    table = geodp.CountTable.from_dense
    return geodp.census.publish(
        table(every.sum((2, 3, 4)), GRID),
        {
            "sex": table(every.sum((3, 4)), sex),
            "age": table(every.sum(4), age),
            "birth": table(every.sum(3), birth),
        },
        households=table(every.sum((2, 3, 4)) // 2, GRID),
        columns=COLUMNS,
        contradictions="refuse",
        contribution=1,
        **{"epsilon": 1, **options},
    )


@pytest.fixture(scope="module")
def census(shared):
    return shared.make("census of pairs", publish)


def boxes(side):
    return [
        Region.of_map(GRID, *np.mgrid[row : row + side, col : col + side].reshape(2, -1))
        for row in range(0, 33 - side, side)
        for col in range(0, 33 - side, side)
    ]


TRUE = {
    "all": lambda one: one.sum((2, 3, 4)),
    "women": lambda one: one[:, :, 0].sum((2, 3)),
    "men": lambda one: one[:, :, 1].sum((2, 3)),
    "old": lambda one: one[:, :, :, 2].sum((2, 3)),
    "old women": lambda one: one[:, :, 0, 2].sum(2),
    "adult": lambda one: one[:, :, :, 1].sum((2, 3)),
    "foreign": lambda one: one[:, :, :, :, 0].sum((2, 3)),
    "homes": lambda one: one.sum((2, 3, 4)) // 2,
}
SHARES = (
    *(("women", "all"), ("old", "all"), ("old women", "women"), ("old women", "old")),
    *(("old", "adult"), ("foreign", "adult"), ("all", "homes"), ("old", "old women")),
)
DIFFERENCES = (
    *(("women", "men"), ("all", "women"), ("old", "old women"), ("adult", "foreign")),
    *(("all", "homes"), ("old women", "men")),
)


def true_of(name, regions):
    cells = TRUE[name](counts())
    return np.array([cells[tuple(GRID.decode(one.key))].sum() for one in regions], float)


@pytest.mark.parametrize("side", [2, 5])
def test_intervals_hold_where_true_counts_are_known(census, side):
    regions = boxes(side)
    found = census.list_figures(regions, shares=SHARES, differences=DIFFERENCES)
    for mark, pairs, combine in (("/", SHARES, np.divide), ("-", DIFFERENCES, np.subtract)):
        for one, other in pairs:
            true = combine(true_of(one, regions), true_of(other, regions))
            told = [each[f"{one}{mark}{other}"] for each in found]
            held = [
                each is None or each.low - 1e-9 <= value <= each.high + 1e-9
                for each, value in zip(told, true.tolist(), strict=True)
            ]
            assert np.mean(held) > 0.85, (one, other)
            # Shares are told, and much narrower than anything.
            assert sum(each is None for each in told) < len(told) / 2, (one, other)
    rows = census.hold_together(census.list_figures(regions), regions)
    true = {name: true_of(name, regions) for name in TRUE}
    held = [
        all(row[name].low <= true[name][at] <= row[name].high for name in TRUE)
        for at, row in enumerate(rows)
    ]
    assert np.mean(held) > 0.9


def test_a_difference_with_a_part_is_the_rest(census):
    (region,) = boxes(8)[:1]
    rest, men = census.difference("all", "women", region), census.estimate(region)["men"]
    assert rest.value == men.value
    assert (rest.low, rest.high) == pytest.approx((men.low, men.high), rel=0.02)
    # Nothing is known better than that a column is itself, and all of the table.
    assert census.difference("old", "old", region).high == 0
    assert census.share("old", "old", region).low == 1
    share, times = (
        census.share("old women", "old", region),
        census.share("old", "old women", region),
    )
    assert (times.low, times.high) == pytest.approx((1 / share.high, 1 / share.low))
    with refuses(UsageError, "census-column-unknown"):
        census.share("old", "nobody", region)


def test_columns_that_follow_from_others_are_not_counted(census):
    # Men are all but the women; ages and births are apart.
    assert census.independent == 7
    assert factor_together(1, heavy=True) == factor_together(1, heavy=False) == 1
    region = boxes(8)[0]
    (plain,) = census.list_figures([region])
    (wide,) = census.hold_together([plain], [region])
    factor = factor_together(7, heavy=False)
    for name, one in plain.items():
        assert wide[name].high - one.value == pytest.approx(factor * (one.high - one.value))


def test_a_share_is_hidden_with_one_of_its_two_columns(census):
    figures = census.list_figures([boxes(2)[0]], shares=SHARES)[0]
    limit = int(figures["old women"].value) + 1
    hidden = hide_figures(figures, limit)
    assert hidden["old women/old"].below
    assert not hidden["women/all"].below
    assert isinstance(figures["women/all"], Derived)
    assert "of" not in figures["women/all"].to_dict()
