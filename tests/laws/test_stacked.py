"""Copies that are released at once are releases: the same noise gives the same table."""

import itertools

import numpy as np
import pytest

from geodp.mechanisms import measure, mechanism
from geodp.mechanisms.baselines import agrid
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import NEIGHBOURS, Terms
from tests.laws import stacked
from tests.laws.side_by_side import forms_of, neighbours_of
from tests.laws.stacked import ON_CELLS, ON_KEYS, of_domain, table_of

pytestmark = pytest.mark.law

TRIALS = 40
VARIANTS = {
    "agrid": ("agrid", "agrid:c1=1/100,c2=1/2"),
    "barak": ("barak:nonnegative=no", "barak:nonnegative=no,order=1"),
    "hay": ("hay", "hay:fanout=3", "hay:nonnegative=yes"),
    "matrix": ("matrix", "matrix:strategy=wavelet"),
    "mwem": ("mwem", "mwem:rounds=2,passes=3"),
    "quadtree": ("quadtree", "quadtree:height=1"),
    "ugrid": ("ugrid", "ugrid:c=1/10"),
}
FORMS = ("square", "masked", "padded", "regions, attribute above", "official", "blocks", "line")


def cases():
    """Every variant on every form of domain on which it can be stacked."""
    for name in sorted(ON_KEYS | ON_CELLS):
        for spec, form in itertools.product(VARIANTS.get(name, (name,)), FORMS):
            method, grid = mechanism(spec), forms_of(name).get(form)
            if grid and not method.unsupported(grid) and stacked.stacked(method, grid):
                yield spec, form


class Noises:
    """What is drawn for every trial, and all of it given out once more."""

    def __init__(self, trials):
        self.now = self.all = np.arange(trials)
        self.drawn = [[] for _ in range(trials)]
        self.draw_noise, self.find_alike = measure.laplace_noise, stacked.alike
        self.cut_blocks, self.first = agrid.cut, np.zeros(1, np.int64)

    def alike(self, label, key):
        for one, chosen, own in self.find_alike(label, key):
            self.now = chosen
            yield one, chosen, own
        self.now = self.all

    def cut(self, row, col, parts):
        part, self.first = self.cut_blocks(row, col, parts)
        return part, self.first

    def draw(self, key, stage, scale, n):
        noise = self.draw_noise(key, stage, scale, n)
        if n == self.first[-1]:  # parts of blocks, not as many in every copy
            at = self.first[:: (self.first.size - 1) // self.now.size][1:-1]
        else:
            at = np.arange(1, self.now.size) * (n // self.now.size)
        for trial, row in zip(self.now, np.split(noise, at), strict=True):
            self.drawn[trial].append((scale, row))
        return noise.copy()  # the caller adds counts to it

    def again(self, trial):
        left = self.drawn[trial]

        def drawn(_key, _stage, scale, n):
            place = next(i for i, (s, row) in enumerate(left) if (s, row.size) == (scale, n))
            return left.pop(place)[1].copy()

        return drawn


@pytest.mark.parametrize("counts", [(0, 1), (3, 40)])
@pytest.mark.parametrize(("spec", "form"), [*cases()])
def test_copies_are_releases(monkeypatch, spec, form, counts):
    method = mechanism(spec)
    grid = forms_of(method.name)[form]
    terms = Terms.of(epsilon=1, neighbours=NEIGHBOURS[0], contribution=1)
    event = method.event(grid, terms, key_origin="fixed")
    people = np.array(neighbours_of(grid, NEIGHBOURS[0], counts)[1], np.int64)
    key, noises = NoiseKey(bytes([7]) + bytes(31)), Noises(TRIALS)
    with monkeypatch.context() as patched:
        patched.setattr(measure, "laplace_noise", noises.draw)
        patched.setattr(stacked, "alike", noises.alike)
        patched.setattr(agrid, "cut", noises.cut)
        together = stacked.stacked(method, grid)(method, grid, event, people, TRIALS, key)
    table = table_of(grid, people)
    for trial, values in enumerate(together):
        with monkeypatch.context() as patched:
            patched.setattr(measure, "laplace_noise", noises.again(trial))
            single = method.release(table, event, key)
        np.testing.assert_allclose(
            values, of_domain(single.to_vector()[None], grid)[0], rtol=1e-12, atol=1e-11
        )
    assert np.unique(together, axis=0).shape[0] > 1
