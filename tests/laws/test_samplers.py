"""The samplers follow their laws, draws are independent, and broken samplers are caught.

Every check is a function that gives a p-value: small where the draws do not follow the law, or
depend on each other. The samplers must pass it at 1e-6, and each broken one must fail it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from random import Random

import numpy as np
import opendp.prelude as dp
import pytest
from diffprivlib.mechanisms import Geometric
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
from scipy import special, stats

from geodp.privacy.key import NoiseKey, blocks
from geodp.privacy.noise.law import DiscreteGaussian, DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise
from tests.privacy.noise.laws import law_of
from tests.reference import noise as reference
from tests.reference import samplers

pytestmark = pytest.mark.law

SIGNIFICANCE = 1e-6
LEVEL = 20
MILLION = 1 << LEVEL
SCALES = [Fraction(3, 10), Fraction(1), Fraction(19), Fraction(190), Fraction(4000)]
LAWS = [(name, scale) for name in ("laplace", "gaussian") for scale in SCALES]
NODES = np.arange(MILLION, 2 * MILLION, dtype=np.uint64)
any_law = pytest.mark.parametrize(("name", "scale"), LAWS, ids=lambda part: str(part))


def tail_of(name, scale):
    """Exact P(|Z| >= g), rounded once to a float."""
    if name == "laplace":
        return lambda g: float(reference.tail(1 / scale, g))
    return lambda g: float(reference.gaussian_tail(scale**2, g))


def noise_of(law, secret=b"the laws of the samplers........", stream=7):
    return NodeNoise(NoiseKey(secret), stream, law)


def cuts(tail, n, fewest=25):
    """Magnitudes that cut the law into about 200 cells, in each of which ``n`` draws leave many."""
    found = []
    before = None  # the centre, which has both signs
    for p in np.concatenate([[1], np.linspace(0.99, 0.02, 98), np.geomspace(0.02, 1e-6, 40)]):
        low, high = (found[-1] if found else 0), 1
        while tail(high) > p:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if tail(middle) > p else (low, middle)
        here = tail(high)
        cell = (1 - here) if before is None else (before - here) / 2
        if min(cell, here / 2) * n >= fewest:
            found.append(high)
            before = here
    return np.array(found, np.int64)


def cells(draws, edges):
    """How many draws lie in each signed cell."""
    place = np.sign(draws) * np.searchsorted(edges, np.abs(draws), side="right")
    return np.bincount(place + edges.size, minlength=2 * edges.size + 1)


def fit(draws, tail):
    """Chi-square of draws against exact probabilities; the signs are part of it."""
    edges = cuts(tail, draws.size)
    assert edges.size, "too few draws for a test"
    tails = np.array([tail(int(g)) for g in edges] + [0.0])
    side = (tails[:-1] - tails[1:]) / 2
    expected = np.concatenate([side[::-1], [1 - tails[0]], side]) * draws.size
    statistic = ((cells(draws, edges) - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, expected.size - 1)


def agreement(one, other, tail):
    """Two-sample chi-square."""
    edges = cuts(tail, min(one.size, other.size))
    counts = np.array([cells(one, edges), cells(other, edges)])
    return stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue


def independence(one, other):
    """Correlations of values, magnitudes and signs; the smallest p-value, for three looks."""
    p = []
    for part in (lambda x: x, np.abs, np.sign):
        a, b = part(one).astype(float), part(other).astype(float)
        if a.std() and b.std():  # the magnitude of a bit's sign is constant
            correlation = np.mean((a - a.mean()) * (b - b.mean())) / (a.std() * b.std())
            p.append(special.erfc(abs(correlation) * np.sqrt(a.size / 2)))
    return min(1.0, 3 * min(p))


def fairness(bits):
    """Binomial test of bits."""
    return special.erfc(abs(bits.mean() - 0.5) * np.sqrt(2 * bits.size))


@cache
def million(name, scale):
    return noise_of(law_of(name, scale)).at(NODES, LEVEL, LEVEL)


# The samplers pass.


@any_law
def test_a_million_draws_follow_the_law(name, scale):
    drawn, _ = million(name, scale)
    assert fit(drawn, tail_of(name, scale)) > SIGNIFICANCE


@any_law
def test_the_rejection_sampler_follows_the_law(name, scale):
    coins = Random(f"{name} {scale}")
    if name == "laplace":
        draws = [samplers.discrete_laplace(scale, coins) for _ in range(20_000)]
    else:
        draws = [samplers.discrete_gaussian(scale**2, coins) for _ in range(20_000)]
    assert fit(np.array(draws), tail_of(name, scale)) > SIGNIFICANCE
    assert agreement(np.array(draws), million(name, scale)[0], tail_of(name, scale)) > SIGNIFICANCE


@any_law
def test_draws_agree_with_those_of_opendp(name, scale):
    """OpenDP's samplers of both laws on the integers, drawn by other code from other entropy."""
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if name == "laplace":
        measure = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=float(scale))
    else:
        measure = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
    theirs = np.array(measure([0] * 100_000))
    assert agreement(theirs, million(name, scale)[0], tail_of(name, scale)) > SIGNIFICANCE


def of_pydp(scale):
    """Google's Laplace mechanism, on whole numbers: rounded, which a wide law does not show."""
    mechanism = LaplaceMechanism(1 / float(scale), 1.0)
    return [mechanism.add_noise(0) for _ in range(50_000)]


def of_diffprivlib(scale):
    mechanism = Geometric(epsilon=1 / float(scale), sensitivity=1)
    return [mechanism.randomise(0) for _ in range(50_000)]


@pytest.mark.parametrize("scale", [Fraction(190), Fraction(4000)])
@pytest.mark.parametrize("of", [of_pydp, of_diffprivlib])
def test_wide_draws_agree_with_those_of_other_libraries(of, scale):
    """From other entropy, and in floating point, whose grain is below what 50,000 draws show."""
    theirs, tail = np.array(of(scale)), tail_of("laplace", scale)
    assert agreement(theirs, million("laplace", scale)[0], tail) > SIGNIFICANCE
    assert agreement(theirs + scale // 8, million("laplace", scale)[0], tail) < SIGNIFICANCE


def separate_draws(name):
    """Pairs of draws that must not know of each other, by what separates them."""
    scale = Fraction(19)
    source = noise_of(law_of(name, scale))
    drawn, rounding = million(name, scale)
    signed = 2 * rounding - 1
    pairs = {
        "nodes": (drawn[:-1], drawn[1:]),
        "cousins": (drawn[: MILLION // 2], drawn[MILLION // 2 :]),
        "rounding of nodes": (signed[:-1], signed[1:]),
        "rounding and noise": (signed, drawn),
        "rounding and the next noise": (signed[:-1], drawn[1:]),
        "streams": (drawn, noise_of(source.law, stream=8).at(NODES, LEVEL, LEVEL)[0]),
        "keys": (drawn, noise_of(source.law, secret=bytes(32)).at(NODES, LEVEL, LEVEL)[0]),
    }
    for up in (1, 2, 3, 4):
        above, _ = source.at(NODES[:: 1 << up] >> np.uint64(up), LEVEL - up, LEVEL)
        pairs[f"{up} levels"] = (above, drawn[:: 1 << up])
    group = NODES[: 1 << 17]
    words = source.words(group)
    slots = [source.draw(words[:, s].copy(), group.__getitem__) for s in range(16)]
    for a, b in combinations(range(16), 2):
        one, other = (2.0 * (words[:, s] & 1) - 1 for s in (a, b))
        pairs[f"slots {a} and {b}"] = (slots[a], slots[b])
        pairs[f"rounding of slots {a} and {b}"] = (one, other)
    for what, stream, counter in (("counters", 7, 1), ("further digits", 7 | 1 << 31, 0)):
        other = blocks(source.key, stream, group, counter)[0].astype(np.uint32)
        pairs[what] = (slots[0], source.draw(other, group.__getitem__))
    return pairs


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_draws_are_independent(name):
    pairs = separate_draws(name)
    p = {what: independence(*pair) for what, pair in pairs.items()}
    assert min(p.values()) > SIGNIFICANCE / len(p), min(p, key=p.get)


@any_law
def test_signs_are_fair(name, scale):
    drawn, _ = million(name, scale)
    assert fairness(drawn[drawn != 0] > 0) > SIGNIFICANCE


def test_rounding_bits_are_fair_in_every_slot():
    source = noise_of(law_of("laplace", Fraction(19)))
    group = NODES[: 1 << 17]
    words = source.words(group)
    for slot in range(16):
        for bit in range(4):  # of the nibble that no draw sees
            assert fairness(words[:, slot] >> bit & 1) > SIGNIFICANCE / 64


# Broken samplers fail.


@dataclass(frozen=True, eq=False)
class Truncated(DiscreteLaplace):
    """No noise beyond four scales."""

    def _digits(self):
        first, rest = super()._digits()
        first[4 * int(self.scale) :] = 0
        return first, rest


@dataclass(frozen=True, eq=False)
class Coarse(DiscreteLaplace):
    """Probabilities rounded to ten bits."""

    def _digits(self):
        first, rest = super()._digits()
        return (first >> np.uint32(17)) << np.uint32(17), 0 * rest


def one_sided():
    return np.abs(million("laplace", Fraction(19))[0])


def ten_bit_uniform():
    """Inverse distribution function at floats of ten bits."""
    uniform = (np.random.default_rng(1).integers(0, 1 << 10, MILLION) + 0.5) / (1 << 10)
    signs = np.random.default_rng(2).choice([-1, 1], MILLION)
    return signs * np.floor(-19 * np.log(uniform)).astype(np.int64)


def rounded(sample):
    return np.rint(sample(np.random.default_rng(1))).astype(np.int64)


def at_nodes(law):
    return noise_of(law).at(NODES, LEVEL, LEVEL)[0]


LAPLACE, GAUSSIAN = tail_of("laplace", Fraction(19)), tail_of("gaussian", Fraction(19))
WRONG_LAWS = {
    "half the scale": (lambda: at_nodes(DiscreteLaplace(Fraction(19, 2))), LAPLACE),
    "a scale wrong by 1 %": (lambda: at_nodes(DiscreteLaplace(Fraction(1919, 100))), LAPLACE),
    "tail cut at four scales": (lambda: at_nodes(Truncated(Fraction(19))), LAPLACE),
    "probabilities of ten bits": (lambda: at_nodes(Coarse(Fraction(19))), LAPLACE),
    "uniform number of ten bits": (ten_bit_uniform, LAPLACE),
    "geometric on one side": (one_sided, LAPLACE),
    "continuous Laplace, rounded": (
        lambda: rounded(lambda rng: rng.laplace(0, 1, MILLION)),
        tail_of("laplace", Fraction(1)),
    ),
    "sigma for sigma squared": (lambda: at_nodes(DiscreteGaussian(Fraction(19))), GAUSSIAN),
    "continuous Gaussian, rounded": (
        lambda: rounded(lambda rng: rng.normal(0, 1, MILLION)),
        tail_of("gaussian", Fraction(1)),
    ),
    "Laplace for Gaussian": (lambda: at_nodes(DiscreteLaplace(Fraction(13))), GAUSSIAN),
}


@pytest.mark.parametrize("what", WRONG_LAWS)
def test_a_wrong_law_is_caught(what):
    draw, tail = WRONG_LAWS[what]
    assert fit(draw(), tail) < SIGNIFICANCE


def test_two_samples_of_different_laws_are_told_apart():
    right, _ = million("laplace", Fraction(19))
    assert agreement(right[:100_000], at_nodes(Truncated(Fraction(19))), LAPLACE) < SIGNIFICANCE


def broken_pairs():
    source = noise_of(law_of("laplace", Fraction(19)))
    group = NODES[: 1 << 17]
    word, other = source.words(group)[:, :2].T.copy()
    draw = partial(source.draw, node=group.__getitem__)
    first, bits = draw(word), (word & 1).astype(np.int64)
    signless = (word & np.uint32(2**31 - 1)) | (other & np.uint32(1 << 31))
    sign_as_rounding = (first > 0).astype(np.int64)
    return {
        "a word reused for two slots": (first, draw(word.copy())),
        "a word reused but for its sign": (first, draw(signless)),
        "the lowest digits of a word reused": (first, draw(word << np.uint32(2))),
        "the sign as rounding bit": (first, 2 * sign_as_rounding - 1),
        "one rounding bit for two slots": (2 * bits - 1, 2 * bits - 1),
    }


def test_dependent_draws_are_caught():
    p = {what: independence(*pair) for what, pair in broken_pairs().items()}
    assert max(p.values()) < SIGNIFICANCE, p


def test_unfair_bits_are_caught():
    bits = np.random.default_rng(1).random(MILLION) < 0.5 + 2**-7
    assert fairness(bits) < SIGNIFICANCE
