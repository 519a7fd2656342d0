"""A kind of one's own: what it states is used, and what it cannot be is refused."""

from fractions import Fraction
from types import new_class

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.privacy.terms import Terms
from geodp.release.maps import MapsKind, Ratio, Stream
from geodp.release.periods import Periods
from geodp.release.request import Request
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16))
EVERYWHERE = (0, 0, 16, 16)


class Lights(MapsKind):
    """Three maps, one of which has half of the budget, and two ratios."""

    name = "lights"
    title = "a release of lights"
    streams = (
        Stream("lit", Fraction(1, 2)),
        Stream("old", Fraction(1, 4)),
        Stream("lamps", Fraction(1, 4)),
    )
    quantities = (
        Ratio("part-lit", of=("lit", "lamps"), unit="lit for each lamp", least=0, most=1),
        Ratio("part-old", of=("old", "lamps"), unit="old for each lamp", least=0, most=1),
    )


LIGHTS = Lights()


def counts(seed, grid=GRID, least=0):
    draw = np.random.default_rng(seed)
    return geodp.CountTable.from_dense(draw.integers(least, 50 + least, grid.shape), grid)


def tables(seed=0):
    lamps = counts(seed, least=100)
    return {"lit": counts(seed + 1), "old": counts(seed + 2), "lamps": lamps}


def request(**terms):
    return Request(terms=Terms.of(**({"epsilon": 1, "contribution": 1} | terms)))


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": None, "rho": "1/2"}], ids=str)
def test_every_map_has_its_part_of_the_budget(budget):
    made = LIGHTS.prepare(tables(), request(**budget)).release()
    name, whole = next((name, one) for name, one in budget.items() if one)
    for stream in LIGHTS.streams:
        own = made.maps[stream.name].event.own
        assert getattr(own, name) == stream.share * Fraction(whole)
    found = made.estimate(EVERYWHERE)
    assert list(found) == ["lit", "old", "lamps", "part-lit", "part-old"]
    for name, of in (("part-lit", "lit"), ("part-old", "old")):
        assert found[name].value == pytest.approx(found[of].count / found["lamps"].count)
        assert found[name].low < found[name].value < found[name].high


def test_a_ratio_of_nobody_is_none():
    none = dict.fromkeys(
        ("lit", "old", "lamps"), geodp.CountTable.from_dense(np.zeros((16, 16), int), GRID)
    )
    made = LIGHTS.prepare(none, Request(terms=request().terms, allow_empty=True)).release()
    assert made.estimate((0, 0, 1, 1))["part-lit"] is None
    other = LIGHTS.prepare(tables(), request()).release()
    assert made.compare((0, 0, 1, 1), release=other)["part-lit"] is None


def test_labels_that_are_sums_of_others_are_refused():
    grid = GRID.with_attribute("age", ["0-14", "15-64", "total"])
    dense = np.random.default_rng(1).integers(1, 50, grid.shape)
    dense[..., 2] = dense[..., :2].sum(axis=-1)
    summed = geodp.CountTable.from_dense(dense, grid)
    given = dict.fromkeys(("lit", "old", "lamps"), summed)
    for prepare in (
        lambda: LIGHTS.prepare(given, request()),
        lambda: LIGHTS.prepare_series(
            [given, given], Periods.of(["2015", "2020"]), request(), person="all"
        ),
    ):
        with pytest.raises(UsageError, match="total"):
            prepare()


def test_maps_that_do_not_go_together_are_refused():
    one = tables()
    missing = {name: one[name] for name in ("lit", "lamps")}
    another = one | {"lit": counts(1, geodp.Grid.regular((8, 8)))}
    for given in (missing, another, one | {"more": one["lit"]}):
        with refuses(UsageError, "maps-expected"):
            LIGHTS.prepare(given, request())
    periods = Periods.of(["2015", "2020"])
    with refuses(UsageError, "tables-and-times-differ"):
        LIGHTS.prepare_series([one], periods, request(), person="all")
    small = {name: counts(1, geodp.Grid.regular((8, 8))) for name in one}
    with refuses(UsageError, "tables-of-times-differ"):
        LIGHTS.prepare_series([one, small], periods, request(), person="all")


def test_shares_that_do_not_add_up_are_refused():
    stated = {"name": "half", "title": "a half", "streams": (Stream("one", Fraction(1, 2)),)}
    with pytest.raises(TypeError, match="do not add up to 1"):
        new_class("Half", (MapsKind,), {}, lambda body: body.update(stated))
