"""Parts with marginals of their own: releases, their budget, and what is refused."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.mechanisms import mechanism
from geodp.mechanisms.central.parts import Parts
from geodp.privacy.terms import Terms
from geodp.release.noise_identity import release_digest
from tests.ledgers import small_ledger
from tests.mechanisms.test_queries import recorded, use
from tests.refusals import refuses

PLACES = geodp.Grid.regular((32, 32))
GRID = PLACES.with_attribute("sex", ["f", "m"]).with_attribute("age", ["child", "adult", "old"])
BOTH = Parts(marginals="sex,age")


def published(people, grid=GRID, **given):
    terms = {"epsilon": "1/2", "contribution": 1, "key": geodp.NoiseKey(bytes(range(32)))}
    return geodp.publish(
        geodp.CountTable.from_dense(people, grid), **{"contribution": 1} | terms | given
    )


def test_all_sums_agree_and_the_map_is_that_without_parts(people):
    alone = published(people.sum(axis=(2, 3)), PLACES, epsilon="1/4").table.to_dense()
    for method in (BOTH, "parts:marginals=sex*age", "parts:marginals=sex,last=4"):
        found = published(people, method=method).table.to_dense()
        assert np.array_equal(found.sum(axis=(2, 3)), alone)


def test_without_marginals_a_release_is_what_it_was(people):
    """Its digest under a kept key too, and the settings of its card."""
    plain = published(people)
    assert "marginals" not in plain.card().to_json()["mechanism"]["settings"]
    assert [name for name, _ in Parts().settings] == ["share", "last"]
    table = geodp.CountTable.from_dense(people, GRID)
    event = BOTH.event(GRID, Terms.of(epsilon="1/2", contribution=1), "fixed")
    assert release_digest(table, BOTH, event) != release_digest(table, Parts(), plain.event)
    key = geodp.NoiseKey(bytes(32))
    one, two = (own.release(table, event, key) for own in (Parts(), Parts(marginals="sex*age")))
    assert np.array_equal(one.count, two.count), "all parts are measured anyway"


def test_the_budget_is_split_exactly_and_stated(people):
    """Event, ledger and card; the shares of the map and of the three vectors add up to 1."""
    found = published(people, method=BOTH)
    assert found.event.mechanism == "parts:marginals=sex+age"
    assert mechanism(found.event.mechanism) == BOTH
    card = found.card().to_json()
    assert card["mechanism"]["settings"]["marginals"] == "sex+age"
    words = card["guarantee"]["sensitivity_counts"]
    assert "one part and one label of sex, one label of age" in words
    assert "each of these 3 has 1/6 of the budget" in words
    schedule = BOTH.schedule(GRID)
    assert BOTH.share + BOTH.count_vectors(GRID) * schedule.share == 1
    for levels in range(1, len(schedule.strides) + 1):
        assert sum(schedule.shares(levels)) == Fraction(1, 6)


@pytest.mark.parametrize("noise", ["epsilon", "rho"])
def test_all_noise_that_is_drawn_is_listed_with_its_exact_law(noise):
    listed = defaultdict(set)
    for query in BOTH.queries(GRID, use(BOTH, GRID, noise)):
        listed[int(query.stream)].add(query.noise)
    drawn = recorded(BOTH, GRID, noise).laws
    assert drawn.keys() == listed.keys()
    for stream, laws in drawn.items():
        assert laws - {None} <= listed[stream]
    alone = {query.stream for query in Parts().queries(GRID, use(Parts(), GRID, noise))}
    assert len(listed) > len(alone)


def test_an_attribute_that_is_not_there_is_refused_before_any_charge(people, tmp_path):
    ledger = small_ledger(tmp_path)
    before = ledger.spent("census")
    given = {"ledger": ledger, "dataset": "census", "key": None}
    for text, grid, table in (
        ("income", GRID, people),
        ("sex", PLACES, people.sum(axis=(2, 3))),
    ):
        with refuses(UsageError, "marginal-attribute-unknown"):
            published(table, grid, method=Parts(marginals=text), **given)
    assert ledger.spent("census") == before


def test_a_plan_has_rows_of_marginals():
    """Two sexes are told apart in areas where six parts are not."""
    rows = geodp.plan(GRID, BOTH, epsilon="1/2", contribution=1, people=10_000).parts
    smallest = {
        name: min(row["cells"] for row in rows if row["marginal"] == name and row["signal"])
        for name in (None, "sex", "age")
    }
    assert smallest["sex"] < smallest[None]
    assert [row["parts"] for row in rows if row["cells"] == 1] == [6, 2, 3]


def many(rng):
    """Sex by 21 ages; how many women there are differs from place to place."""
    size = rng.gamma(0.6, 800, PLACES.shape) * (rng.random(PLACES.shape) < 0.7)
    women = rng.beta(60, 60, (8, 8)).repeat(4, axis=0).repeat(4, axis=1)
    shares = np.stack([women, 1 - women], axis=-1)[..., None] * rng.dirichlet(np.full(21, 9.0))
    return rng.poisson(size[:, :, None, None] * shares)


@pytest.mark.law
def test_a_marginal_is_better_than_sums_of_parts():
    """Women at aligned blocks of 2^0 to 2^8 cells, on average over releases of 12 tables."""
    grid = PLACES.with_attribute("sex", ["f", "m"]).with_attribute("age", list(map(str, range(21))))
    off, told = defaultdict(list), defaultdict(list)
    for number in range(12):
        truth = many(np.random.default_rng(number))
        for method in ("parts", "parts:marginals=sex"):
            key = geodp.NoiseKey(bytes([number]) * 32)
            found = published(truth, grid, method=method, epsilon=1, key=key)
            error = (found.table.to_dense() - truth).sum(axis=3)[:, :, 0]
            blocks = [error.reshape(32 // n, n, -1, n).sum(axis=(1, 3)) for n in (1, 2, 4, 8, 16)]
            off[method].append([abs(block).mean() for block in blocks])
            one = found.estimate((0, 0, 16, 16), {"sex": "f"})
            told[method].append(
                (one.standard_error, one.low <= truth[:16, :16, 0].sum() <= one.high)
            )
    ratio = np.mean(off["parts:marginals=sex"], axis=0) / np.mean(off["parts"], axis=0)
    assert (ratio < 1).all(), ratio
    (own, held), (other, _) = (np.mean(told[m], axis=0) for m in ("parts:marginals=sex", "parts"))
    assert own < other
    assert held >= 10 / 12


def test_in_two_steps_marginals_are_of_the_first():
    """240 parts: groups by sex and age, then nations; sums agree, and a sex is known better."""
    places = geodp.Grid.regular((8, 8))
    grid = places.with_attribute("sex", ["f", "m"]).with_attribute("age", list("abcd"))
    grid = grid.with_attribute("nation", list(map(str, range(30))))
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.gamma(1, 9, (8, 8, 1, 1, 1)) * np.linspace(2, 0, 30), grid.shape)
    found = published(counts, grid, method="parts:marginals=sex", epsilon=10)
    alone = published(counts.sum(axis=(2, 3, 4)), places, epsilon=5).table.to_dense()
    assert np.array_equal(found.table.to_dense().sum(axis=(2, 3, 4)), alone)
    words = found.card().to_json()["guarantee"]["sensitivity_counts"]
    assert "one part (one group, and one part in it) and one label of sex" in words
    women = found.estimate((0, 0, 4, 8), {"sex": "f"})
    assert women.low <= counts[:, :4, 0].sum() <= women.high
    plain = published(counts, grid, epsilon=10).estimate((0, 0, 4, 8), {"sex": "f"})
    assert women.standard_error < plain.standard_error
