"""Whole releases beside their definition, in plain Python on all nodes of all levels."""

import numpy as np
import pytest

import geodp
from geodp.kinds.households.streams import HOUSEHOLDS, MEMBERS, release_streams
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.node import NodeNoise
from geodp.privacy.terms import Terms
from tests.grids import FORMS
from tests.reference import households as reference

PLACED = [name for name, grid in FORMS.items() if not grid.attributes]
METHODS = [Pyramid(), Pyramid("R"), Pyramid("flat")]


def tables_on(grid, draw, scale):
    """Random households and members beyond the first."""
    key = np.arange(1 << grid.bits, dtype=np.uint64)
    key = key[grid.contains_keys(key)]
    homes = draw.poisson(scale, key.size) * (draw.random(key.size) < 0.4)
    members = draw.poisson(1.3 * homes)
    return [geodp.CountTable.from_keys(grid, key, one) for one in (homes, members)]


def define(homes, members, method, event, key, max_size):
    """Persons by the definition: {key of a cell: count}."""
    grid, own = homes.grid, method.release(homes, event, key.derive(HOUSEHOLDS))
    released = dict(zip(own.key.tolist(), own.count.tolist(), strict=True))
    true = dict(zip(members.key.tolist(), members.count.tolist(), strict=True))
    inside = np.arange(1 << grid.bits, dtype=np.uint64)
    inside = inside[grid.contains_keys(inside)].tolist()
    steps, other = method.descent(grid, event), key.derive(MEMBERS)
    nodes, noisy, uniforms, outside = [], [], [], []
    for i, (law, stride) in enumerate(zip(steps.laws, steps.strides, strict=True)):
        fanout = (1, *steps.fanouts)[i]
        above = sorted({cell // (stride * fanout) for cell in released})
        drawn, uniform = NodeNoise(other, Stream.PYRAMID + i, law).families(
            np.array(above, np.uint64), fanout
        )
        possible = {cell // stride for cell in inside}
        count = {
            node * fanout + c: int(drawn[n * fanout + c])
            for n, node in enumerate(above)
            for c in range(fanout)
            if node * fanout + c in possible
        }
        for cell, number in true.items():
            if cell // stride in count:
                count[cell // stride] += number
        nodes.append(sorted({cell // stride for cell in released}))
        listed = {*nodes[-1]}
        noisy.append([float(count[node]) for node in nodes[-1]])
        uniforms.append(uniform.tolist())
        others = [
            [
                number
                for child, number in count.items()
                if child // fanout == node and child not in listed
            ]
            for node in above
        ]
        outside.append([(float(sum(some)), len(some)) for some in others])
    children = [
        [
            [m for m, below in enumerate(nodes[i + 1]) if below // steps.fanouts[i] == node]
            for node in nodes[i]
        ]
        for i in range(len(nodes) - 1)
    ] + [[]]
    cap = [
        [
            sum(h for cell, h in released.items() if cell // stride == node) * (max_size - 1)
            for node in level
        ]
        for level, stride in zip(nodes, steps.strides, strict=True)
    ]
    found = reference.fit(children, noisy, steps.variances, outside[1:], cap, uniforms)
    return {cell: released[cell] + more for cell, more in zip(sorted(released), found, strict=True)}


@pytest.mark.parametrize("form", PLACED)
def test_releases_are_those_of_the_definition(form):
    grid = FORMS[form]
    for trial in range(9):
        draw, method = np.random.default_rng(trial), METHODS[trial % 3]
        homes, members = tables_on(grid, draw, draw.choice([0.3, 4, 300]))
        amounts = [{"epsilon": 1}, {"epsilon": "1/5"}, {"rho": "1/2"}][trial // 3]
        event = method.event(grid, Terms.of(**amounts, contribution=1))
        key, size = NoiseKey(draw.bytes(32)), int(draw.choice([2, 3, 7]))
        persons, released = release_streams(homes, members, method, event, key, size)
        expected = define(homes, members, method, event, key, size)
        assert dict(zip(persons.key.tolist(), persons.count.tolist(), strict=True)) == expected
        same = method.release(homes, event, key.derive(HOUSEHOLDS))
        assert np.array_equal(released.count, same.count)


def test_nodes_may_be_measured_in_chunks(monkeypatch):
    grid, key = geodp.Grid.regular((24, 11)), NoiseKey(bytes(range(32)))
    method = Pyramid("R")
    event = method.event(grid, Terms.of(epsilon=1, contribution=1))
    homes, members = tables_on(grid, np.random.default_rng(3), 5)
    once, _ = release_streams(homes, members, method, event, key, 7)
    monkeypatch.setattr("geodp.kinds.households.streams.AT_ONCE", 20)
    chunks, _ = release_streams(homes, members, method, event, key, 7)
    assert np.array_equal(once.count, chunks.count)


def test_members_of_lost_households_are_not_lost():
    """Of many lone households half are released as 0; persons of areas are right all the same."""
    grid, method = geodp.Grid.regular((128, 128)), Pyramid("R")
    event = method.event(grid, Terms.of(epsilon="1/2", contribution=1))
    draw = np.random.default_rng(8)
    key = np.sort(draw.permutation(1 << 14)[: 1 << 12]).astype(np.uint64)
    homes = geodp.CountTable.from_keys(grid, key, np.full(key.size, 6))
    members = geodp.CountTable.from_keys(grid, key, np.full(key.size, 8))
    errors = []
    for trial in range(8):
        one = NoiseKey(bytes([trial] * 32))
        persons, released = release_streams(homes, members, method, event, one, 7)
        errors.append(int(persons.count.sum() - released.count.sum() - members.count.sum()))
    assert released.key.size < 1.5 * key.size
    assert abs(np.mean(errors)) < 4 * np.std(errors, ddof=1) / 8**0.5 + 1
