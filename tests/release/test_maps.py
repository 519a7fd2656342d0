"""A kind of one's own: what it states is used, and what it cannot be is refused."""

import json
from fractions import Fraction
from types import new_class

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError, VerificationError
from geodp.privacy.terms import Terms
from geodp.release.maps import MapRatio, MapsKind, MapStream
from geodp.release.periods import Periods
from geodp.release.request import Request
from geodp.table.index import Constraint
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16))
EVERYWHERE = (0, 0, 16, 16)


class Lights(MapsKind):
    """Three maps, one of which has half of the budget, and two ratios."""

    name = "lights"
    title = "a release of lights"
    streams = (
        MapStream("lit", Fraction(1, 2)),
        MapStream("old", Fraction(1, 4)),
        MapStream("lamps", Fraction(1, 4)),
    )
    quantities = (
        MapRatio("part-lit", of=("lit", "lamps"), unit="lit for each lamp", least=0, most=1),
        MapRatio("part-old", of=("old", "lamps"), unit="old for each lamp", least=0, most=1),
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


WHOLE = (MapStream("all", Fraction(1, 2)), MapStream("some", Fraction(1, 2)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"streams": (MapStream("one", Fraction(1, 2)),)}, "do not add up to 1"),
        ({"streams": (MapStream("One", Fraction(1)),)}, "'One' must have a name of small letters"),
        ({"streams": (MapStream("one", 1.0),)}, "must be a Fraction above 0, and is 1.0"),
        ({"streams": (*WHOLE, MapStream("no", Fraction(0)))}, "share of no must be a Fraction"),
        ({"streams": (WHOLE[0], WHOLE[0])}, "have one name"),
        ({"streams": (("all", Fraction(1)),)}, "must list one MapStream"),
        ({"streams": ()}, "must list one MapStream"),
        ({"name": "../half"}, "name is '../half'"),
        ({"name": "amounts"}, "that geodp does not have"),
        ({"title": ""}, "title is missing"),
        ({"quantities": (MapRatio("of", ("some", "none"), "", 0, 1),)}, "two of the streams"),
        ({"quantities": (MapRatio("of", ("all", "all"), "", 0, 1),)}, "two of the streams"),
        ({"quantities": (MapRatio("all", ("some", "all"), "", 0, 1),)}, "have one name"),
        ({"quantities": (MapRatio("a/b", ("some", "all"), "", 0, 1),)}, "'a/b' must have a name"),
        ({"quantities": (MapRatio("of", ("some", "all"), "", 1, 0),)}, "least and most"),
        ({"quantities": (MapRatio("of", ("some", "all"), "", 0, np.inf),)}, "must be finite"),
    ],
)
def test_a_kind_that_cannot_be_released_is_refused(wrong, said):
    stated = {"name": "half", "title": "a half", "streams": WHOLE} | wrong
    with refuses(UsageError, "kind-misstated") as refused:
        new_class("Half", (MapsKind,), {}, lambda body: body.update(stated))
    assert said in str(refused.value)


def test_what_is_seen_before_the_charge_is_refused():
    class Never(MapsKind):
        name, title, streams = "never", "a release of never", WHOLE
        constraints = (Constraint("All are some.", lambda one: False),)

    grid = GRID.with_attribute("rate", ["low", "high"])
    both = {"all": counts(1, grid), "some": counts(2, grid)}
    with refuses(UsageError, "maps-constraint"):
        Never().publish(both, epsilon=1, contribution=1)

    class Named(MapsKind):
        name, title, streams = "named", "a release of names", WHOLE
        quantities = (MapRatio("rate", ("some", "all"), "some of all", 0, 1),)

    with refuses(UsageError, "maps-column"):
        Named().publish(both, epsilon=1, contribution=1)
    with refuses(UsageError, "maps-option"):
        LIGHTS.prepare(tables(), Request(terms=request().terms, simulate=5))


def test_ratios_lie_in_their_intervals():
    """Noise of both maps may make a ratio that is larger than any."""
    streams = ("lit", "old", "lamps")
    few = {name: geodp.CountTable.from_dense(np.full((16, 16), 60), GRID) for name in streams}
    made = LIGHTS.publish(few, epsilon="1/2", contribution=1, key=geodp.NoiseKey(bytes(32)))
    regions = [(x, y, x + 4, y + 4) for x in range(12) for y in range(12)]
    found = [one["part-lit"] for one in made.estimate_all(regions)]
    known = [one for one in found if one is not None]
    assert any(one.value == 1 for one in known)
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in known)


def test_a_release_is_compared_with_another_of_its_kind():
    one = LIGHTS.publish(tables(), epsilon=1, contribution=1)
    for other, code in ((one, "compare-same"), (one.counts, "compare-other-kind")):
        with refuses(UsageError, code):
            one.compare(EVERYWHERE, release=other)


def test_an_index_of_other_maps_is_not_opened(tmp_path):
    made = LIGHTS.publish(tables(), epsilon=1, contribution=1)
    made.write(tmp_path / "out")
    path = tmp_path / "out" / "public" / "lights.json"
    for listed in ([], json.loads(path.read_text())["tables"][:1]):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"tables": listed}))
        with refuses(VerificationError, "maps-differ"):
            LIGHTS.open(path.parent)
