"""What a method says it measures is what it measures: the identity of a release hangs on it."""

import sys
from collections import defaultdict
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import GeodpError
from geodp.mechanisms import mechanism
from geodp.mechanisms.base import Query
from geodp.mechanisms.baselines import matrix
from geodp.privacy import key as noise_key
from geodp.privacy.noise import node as node_noise
from geodp.privacy.noise.exact_draws import GeometricDraws
from geodp.privacy.noise.node import NodeNoise
from geodp.privacy.terms import Terms
from geodp.release.noise_identity import encode
from tests.golden.methods import SETTINGS, grids
from tests.mechanisms.kept import forget_levels, forget_strategies

METHODS = sorted(geodp.METHODS)
SPECS = [*METHODS, *(f"{name}:{text}" for name in METHODS for text in SETTINGS.get(name, ()))]
GRIDS = grids()
PEOPLE = 1 << 30
"""In every cell, so that no noise decides what is visited."""


def crowded(grid):
    index = np.indices(grid.shape).reshape(len(grid.shape), -1)
    index = index[:, grid.contains(index)]
    return geodp.CountTable.from_index(grid, index, np.full(index.shape[1], PEOPLE))


def use(row, grid, noise="epsilon", amount="1/2"):
    return row.event(grid, Terms.of(**{noise: amount}, contribution=1), "fixed")


class Recorder:
    """Laws by stream of all noise that is prepared, and the addresses that are drawn from."""

    def __init__(self, patch):
        self.laws = defaultdict(set)
        self.addresses = defaultdict(set)
        for kind, law in (
            (NodeNoise, lambda made: made.law.identity),
            (GeometricDraws, lambda _: None),
        ):
            patch.setattr(kind, "__init__", self._begun(kind.__init__, law))
        for module, name in ((noise_key, "blocks"), (node_noise, "lines")):
            patch.setattr(module, name, self._drawn(getattr(module, name)))

    def _begun(self, original, law):
        def begin(made, *arguments, **named):
            original(made, *arguments, **named)
            self.laws[int(made.stream)].add(law(made))

        return begin

    def _drawn(self, original):
        def draw(key, stream, address, *rest, **law):
            self.addresses[int(stream)] |= set(address.tolist())
            return original(key, stream, address, *rest, **law)

        return draw

    @property
    def signature(self):
        return dict(self.laws), dict(self.addresses)


def recorded(row, grid, noise="epsilon"):
    with pytest.MonkeyPatch.context() as patch:
        recorder = Recorder(patch)
        row.release(crowded(grid), use(row, grid, noise), geodp.NoiseKey(bytes(32)))
    return recorder


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_version_of_its_own(name):
    """Not one that it inherits: then a change of the parent would have to be its change too."""
    assert isinstance(vars(type(geodp.METHODS[name])).get("version"), int)
    assert geodp.METHODS[name].version >= 1


@pytest.mark.parametrize("spec", SPECS)
def test_all_noise_that_is_drawn_is_listed_with_its_exact_law(spec):
    row, seen = mechanism(spec), 0
    for where, grid in GRIDS.items():
        for noise in ("epsilon", "rho")[: 1 + row.gaussian]:
            if row.unsupported(grid) is not None or (spec.startswith("matrix") and grid.bits > 6):
                continue
            queries = row.queries(grid, use(row, grid, noise))
            assert all(isinstance(query, Query) for query in queries)
            assert encode(tuple((q.stream, q.noise, q.what) for q in queries))
            listed = defaultdict(set)
            for query in queries:
                listed[int(query.stream)].add(query.noise)
            drawn = recorded(row, grid, noise).laws
            assert drawn.keys() == listed.keys(), where
            for stream, laws in drawn.items():
                assert laws - {None} <= listed[stream], where
            seen += 1
    assert seen > 4


@pytest.mark.parametrize("spec", SPECS)
def test_other_budgets_are_other_queries(spec):
    row, grid = mechanism(spec), GRIDS["odd"]
    found = {row.queries(grid, use(row, grid, amount=e)) for e in ("1/2", "1/3", "100/201")}
    assert len(found) == 3


def constants():
    """Every number, and tuple of numbers, that the methods' modules name; and two others for it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("geodp.mechanisms."):
            for constant, value in vars(module).items():
                numbers = value if isinstance(value, tuple) else (value,)
                if constant.isupper() and all(isinstance(one, int | Fraction) for one in numbers):
                    yield constant, value


def others(value):
    """Twice as much, and far less."""
    if isinstance(value, tuple):
        return [(other, *value[1:]) for other in others(value[0])]
    return [value * 2, type(value)(max(int(value) // 64, 1))]


@pytest.mark.law
def test_no_constant_changes_what_is_drawn_without_changing_the_queries():
    """Its author forgot none: each is made larger and smaller, and every method asked.

    What noise is drawn, for which addresses, is the realised query; a constant that changes it
    has to show, or a kept key would serve two different queries with one noise.
    """
    grid = GRIDS["odd"]
    # No constant chooses what pyramid measures by default, but one does by its other settings.
    rows = [mechanism("pyramid:setting=R" if name == "pyramid" else name) for name in METHODS]
    before = {
        row.name: (recorded(row, grid).signature, row.queries(grid, use(row, grid))) for row in rows
    }
    told = set()
    for constant, value in sorted(set(constants()), key=str):
        for other in others(value):
            for row, (drawn, asked) in with_constant(constant, value, other, rows, grid):
                if drawn != before[row.name][0]:
                    assert asked != before[row.name][1], f"{constant} changes {row.name}"
                    told.add((constant, row.name))
    controls = ["FINEST_SCALE laplace", "QUANTUM matrix", "COST_SENSITIVITY dawa", "SMALL pyramid"]
    controls += ["CUBE_ROOTS quadtree", "OCCUPIED filter", "SHARE quadtree"]
    assert {tuple(control.split()) for control in controls} <= told


def with_constant(constant, value, other, rows, grid):
    """What every method draws and asks where all modules of methods have another constant."""
    with pytest.MonkeyPatch.context() as patch:
        changed = [
            module
            for name, module in list(sys.modules.items())
            if name.startswith("geodp.mechanisms.") and vars(module).get(constant) == value
        ]
        for module in changed:
            patch.setattr(module, constant, other)
        forget = matrix in changed  # what is kept, and takes long, is of it
        forget_levels()
        if forget:
            forget_strategies()
        for row in rows:
            with suppress(GeodpError, OverflowError):  # what no value of it can be released with
                asked = row.queries(grid, use(row, grid))
                yield row, (recorded(row, grid).signature, asked)
    forget_levels()
    if forget:
        forget_strategies()
