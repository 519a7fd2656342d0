"""Draws of 32-bit words follow their law, looked at through very many of them."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from geodp.kernels import noise as kernels
from geodp.kernels.chacha import LANES
from geodp.kernels.pyramid import rows
from geodp.kernels.pyramid.edges import NOWHERE
from geodp.mechanisms.trees.descent import Descent, make_workspace
from geodp.privacy.key import NoiseKey, blocks, expose
from tests.laws.test_samplers import SIGNIFICANCE, cuts, tail_of
from tests.privacy.noise.laws import law_of

pytestmark = pytest.mark.law

SCALES = [Fraction(3, 10), *map(Fraction, (1, 3, 10, 19, 38, 100, 400, 4000, 20_000))]
GROUPS = 1 << 16
KEY = NoiseKey(b"the laws of the 32-bit words....")


class Draws:
    """Counts of the draws of a law, by signed value; a word and its further digits alike."""

    def __init__(self, law, most):
        self.law, self.most = law, most
        self.counts = np.zeros(2 * most + 1, np.int64)
        self.settled = self.open = 0

    def add(self, key, start, groups):
        """Add 16 words for each group."""
        address = np.arange(start, start + groups, dtype=np.uint64)
        word = blocks(key, 7, address).T.astype("<u8").view("<u4").astype(np.uint32).reshape(-1)
        noise, todo = np.empty(word.size, np.int32), np.empty(word.size + 1, np.int32)
        table = self.law.table
        left = kernels.look_up(word, table, noise, todo)
        node = 16 * np.uint64(start) + todo[:left].astype(np.uint64)
        with expose(key) as secret:
            open_ = kernels.resolve(secret, np.uint32(7), node, word, table, noise, todo)
        noise[todo[:open_]] = 0  # decided one by one: 1e-7 of the draws
        self.settled, self.open = self.settled + left, self.open + open_
        np.clip(noise, -self.most, self.most, out=noise)
        self.counts += np.bincount(noise + self.most, minlength=self.counts.size)


def p_value(counts, tail, most):
    """Chi-square against the exact probabilities, in cells of both signs."""
    n = int(counts.sum())
    edges = cuts(tail, n)
    edges = edges[edges <= most]
    tails = np.array([tail(int(g)) for g in edges] + [0.0])
    side = (tails[:-1] - tails[1:]) / 2
    expected = np.concatenate([side[::-1], [1 - tails[0]], side]) * n
    value = np.arange(-most, most + 1)
    place = np.sign(value) * np.searchsorted(edges, np.abs(value), side="right") + edges.size
    seen = np.bincount(place, counts, minlength=expected.size)
    return stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), expected.size - 1)


def drawn(name, scale, draws):
    found = Draws(law_of(name, scale), int(40 * scale) + 10)
    for start in range(0, draws // 16, GROUPS):
        found.add(KEY, start, min(GROUPS, draws // 16 - start))
    return found


def check(name, scale, draws):
    found, tail = drawn(name, scale, draws), tail_of(name, scale)
    assert found.counts.sum() == draws // 16 * 16
    assert found.open <= 20 + draws * 2**-22
    assert p_value(found.counts, tail, found.most) > SIGNIFICANCE
    return found


def test_four_million_gaussian_draws_follow_the_law():
    assert check("gaussian", Fraction(38), 1 << 22).settled > 0


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_hundred_million_draws_follow_the_law(scale):
    """Ties of 27 digits, some hundreds at least, are among them."""
    found = check("laplace", scale, 10**8)
    assert found.settled > 10 * min(scale, 10)


@pytest.mark.parametrize(
    ("name", "scale", "fanout"),
    [
        ("laplace", Fraction(1, 3), 16),
        ("laplace", 10, 4),
        ("laplace", 4000, 32),
        ("gaussian", 38, 16),
    ],
    ids=str,
)
def test_draws_of_the_pyramids_own_kernel_follow_the_law(name, scale, fanout):
    """Four million children of neighbouring families, from lanes where they lie."""
    found, size = Draws(law_of(name, Fraction(scale)), int(40 * scale) + 10), LANES // fanout * 4
    laws = found.law, found.law
    levels = Descent((fanout,), (fanout, 1), laws, (0.0, 0.0), 2).levels([6, 7])
    workspace, room = make_workspace(levels), np.empty((1 << 10, size * fanout), np.int32)
    with expose(KEY) as words:
        for start in range(0, (1 << 22) // (size * fanout)):
            above = np.arange(start * size, start * size + size)
            found.open += rows.draw(words, levels, 1, above, workspace)
            room[start % len(room)] = workspace.noisy[: size * fanout]
            if (start + 1) % len(room) == 0:
                room[room == NOWHERE] = 0  # decided one by one
                np.clip(room, -found.most, found.most, out=room)
                every = (room + found.most).reshape(-1)
                found.counts += np.bincount(every, minlength=found.counts.size)
    assert found.counts.sum() == 1 << 22
    assert found.open <= 20
    assert p_value(found.counts, tail_of(name, Fraction(scale)), found.most) > SIGNIFICANCE


def test_digits_that_are_missing_are_caught():
    """Thresholds of 13 digits, and of nothing more."""
    found, whole = Draws(law_of("laplace", Fraction(38)), 2000), law_of("laplace", Fraction(38))
    blunt = (whole.table.first >> np.uint32(14)) << np.uint32(14)
    guide = np.array([blunt.size, (blunt >= 1 << 26).sum(), 0], np.uint32)
    value = np.full_like(whole.table.value, kernels.UNRESOLVED)
    table = kernels.NoiseTable(value, blunt, np.zeros_like(whole.table.rest), guide)
    found.law = SimpleNamespace(table=table)
    for start in range(0, 4 * GROUPS, GROUPS):
        found.add(KEY, start, GROUPS)
    assert p_value(found.counts, tail_of("laplace", Fraction(38)), 2000) < SIGNIFICANCE
