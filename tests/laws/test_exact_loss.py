"""The exact privacy loss of parts: what neighbours change in all that is measured, over its noise.

Noise is fixed by its key and address, so what two neighbours' measurements differ by is what the
measured sums differ by. Pure noise of scale b hides a difference d at the cost of ``|d| / b``,
Gaussian noise at ``d**2 / (2 sigma2)``; independent ones add up. No trial and no confidence
interval stands between a wrong share and its discovery, so a quarter too much is seen at once.
"""

from contextlib import contextmanager
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

import geodp
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.parts import measuring
from geodp.mechanisms.parts.chain import Group
from geodp.mechanisms.parts.measuring import Schedule
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.node import NodeNoise
from geodp.privacy.terms import NEIGHBOURS, Terms

pytestmark = pytest.mark.law

ADD, REPLACE = NEIGHBOURS
KEY = NoiseKey(bytes(range(32)))
PLACES = geodp.Grid.regular((8, 8))
FEW = PLACES.with_attribute("sex", ["f", "m"]).with_attribute("age", ["child", "adult", "old"])
MANY = PLACES.with_attribute("age", [*map(str, range(35))]).with_attribute("sex", ["f", "m"])
CASES = [
    (FEW, Parts()),
    (FEW, Parts(share=Fraction(1, 3), last=5)),
    (FEW, Parts(marginals="sex")),
    (FEW, Parts(marginals="sex,age", share=Fraction(2, 3))),
    (MANY, Parts()),
    (MANY, Parts(last=3)),
]
NOISE = ({"epsilon": "1/2"}, {"epsilon": "1/2", "contribution": 3}, {"rho": "1/8"})


def people(grid, most):
    size = np.random.default_rng(5).integers(most // 2, most + 1, grid.shape)
    size[0, 0] = most
    return size


def change(size, neighbours, times):
    """One person who is counted so often more in the first part of a cell, or moved there."""
    changed = size.copy()
    changed[(0, 0, *[0] * (size.ndim - 2))] += times
    if neighbours == REPLACE:
        changed[(0, 0, *[-1] * (size.ndim - 2))] -= times
    return changed


@contextmanager
def watched():
    """What is measured, with the laws of its noise: ``{(stream, vector): (law, values)}``."""
    seen, drawn = {}, []
    families, measure = NodeNoise.families, Group.measure

    def draw(noise, above, fanout):
        drawn.append((noise.stream, above, noise.law.identity))
        return families(noise, above, fanout)

    def look(group, levels, some):
        drawn.clear()
        found = measure(group, levels, some)
        for level, (stream, vectors, law) in zip(found, drawn, strict=True):
            for vector, values in zip(vectors.tolist(), level.z, strict=True):
                assert (stream, vector) not in seen, "two measurements have the same noise"
                # Estimates are made in their place later.
                seen[stream, vector] = law, values.copy()
        return found

    with mock.patch.object(NodeNoise, "families", draw), mock.patch.object(Group, "measure", look):
        yield seen


def loss_of(method, grid, tables, terms):
    """Return what the parts of two tables cost below the same released map, and what they may."""
    event = method.event(grid, terms, "fixed")
    tables = [geodp.CountTable.from_dense(one, grid) for one in tables]
    own = method.base(grid, event)
    first = own.method.release(method.first(tables[0]), own.event, KEY)
    found = []
    for table in tables:
        with watched() as seen:
            method.refine_base(first, table, event, KEY)
        found.append(seen)
    one, two = found
    assert one.keys() == two.keys(), "what is measured depends on the released map alone"
    loss = Fraction(0)
    for address, (law, values) in one.items():
        name, parameter = law
        assert two[address][0] == law
        for by in map(int, values - two[address][1]):
            normal = name == "discrete Gaussian"
            loss += Fraction(by**2, 2) / parameter if normal else abs(by) / parameter
    budget, of_map = (event.rho, own.event.rho) if event.rho else (event.epsilon, own.event.epsilon)
    return loss, budget - of_map


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize(("grid", "method"), CASES)
@pytest.mark.parametrize("most", [3, 1 << 20])
def test_what_the_map_leaves_is_what_the_parts_cost(grid, method, neighbours, noise, most):
    """Exactly; Gaussian noise hides who moves as if one count had changed by 2."""
    terms = Terms.of(**{"contribution": 1} | noise, neighbours=neighbours)
    size = people(grid, most)
    pair = size, change(size, neighbours, terms.contribution)
    loss, left = loss_of(method, grid, pair, terms)
    assert loss == (left / 2 if terms.gaussian and neighbours == REPLACE else left)


def a_quarter_more(honest):
    return lambda own, levels: tuple(share * Fraction(5, 4) for share in honest(own, levels))


def a_last_level_more(honest):
    def shares(own, levels):
        *above, last = honest(own, levels)
        return (*above, last * Fraction(5, 4))

    return shares


FAULTS = {
    "every share is a quarter larger": (Schedule, "shares", a_quarter_more),
    "the last level's is": (Schedule, "shares", a_last_level_more),
    "marginals are not counted": (
        Parts,
        "count_vectors",
        lambda honest: lambda own, grid: honest(Parts(), grid),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    ("noise", "neighbours"), [*((one, ADD) for one in NOISE), (NOISE[0], REPLACE)]
)
def test_a_quarter_too_much_is_seen(noise, neighbours, fault):
    owner, name, make = FAULTS[fault]
    terms = Terms.of(**{"contribution": 1} | noise, neighbours=neighbours)
    size = people(FEW, 1 << 20)
    pair = size, change(size, neighbours, terms.contribution)
    with mock.patch.object(owner, name, make(getattr(owner, name))):
        loss, left = loss_of(Parts(marginals="sex,age"), FEW, pair, terms)
    assert loss > left


def test_noise_that_serves_twice_is_seen():
    """That of the parts for a marginal, too."""
    size = people(FEW, 1 << 20)
    terms = Terms.of(epsilon=1, contribution=1)
    with (
        mock.patch.object(measuring, "FIRST_STEP", 0),
        pytest.raises(AssertionError, match="same noise"),
    ):
        loss_of(Parts(marginals="sex"), FEW, (size, size), terms)
