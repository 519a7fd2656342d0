import json
import os
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from diffprivlib.mechanisms import Geometric
from hypothesis import given, settings
from hypothesis import strategies as st
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

from geodp.errors import UsageError
from geodp.privacy.key import NOISE_FORMAT, NoiseKey, Stream
from geodp.privacy.noise import node
from geodp.privacy.noise.law import (
    FIRST,
    LARGEST_SCALE,
    DiscreteGaussian,
    DiscreteLaplace,
    exp_interval,
)
from geodp.privacy.noise.node import NodeNoise
from tests.privacy.noise.laws import law_of, tail_of
from tests.reference import additive
from tests.reference import noise as reference
from tests.refusals import refuses
from tests.strategies import secrets

SCALES = [
    Fraction(1, 40),
    Fraction(3, 10),
    Fraction(1),
    Fraction(19),
    Fraction(190),
    Fraction(4000),
]
LAWS = [("laplace", scale) for scale in SCALES] + [("gaussian", sigma) for sigma in SCALES]
SMALL = [(name, scale) for name, scale in LAWS if scale <= 19]
any_law = pytest.mark.parametrize(("name", "scale"), LAWS)


@pytest.mark.parametrize("scale", SCALES)
def test_the_variance_is_that_of_the_geometric_mechanism_of_diffprivlib(scale):
    theirs = Geometric(epsilon=1 / float(scale), sensitivity=1).variance(0)
    assert theirs == pytest.approx(DiscreteLaplace.of_scale(scale).variance, rel=1e-6)


@pytest.mark.parametrize("scale", [Fraction(1000), Fraction(4000), Fraction(10**6)])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999])
def test_a_wide_law_has_the_intervals_of_pydp(scale, confidence):
    """Google's is the continuous law, from which a wide one on whole numbers hardly differs."""
    mechanism = LaplaceMechanism(1 / float(scale), 1.0)
    theirs = mechanism.noise_confidence_interval(confidence, 0.0)
    beyond = float(reference.tail(1 / scale, round(theirs.upper_bound)))
    assert beyond == pytest.approx(1 - confidence, rel=2 / float(scale))
    assert theirs.lower_bound == pytest.approx(-theirs.upper_bound)


@given(secrets, st.integers(0, 62), st.sampled_from(SMALL), st.data())
@settings(max_examples=60)
def test_noise_of_a_node_equals_the_definition(secret, leaves, kind, data):
    level = data.draw(st.integers(0, leaves))
    nodes = data.draw(st.lists(st.integers(1 << level, (2 << level) - 1), min_size=1, max_size=5))
    noise = NodeNoise(NoiseKey(secret), 7, law_of(*kind))
    drawn, rounding = noise.at(np.array(nodes, np.uint64), level, leaves)
    expected = [reference.draw_from(secret, 7, node, leaves, tail_of(*kind)) for node in nodes]
    assert list(zip(drawn.tolist(), rounding.tolist(), strict=True)) == expected


def test_a_change_of_the_noise_is_a_change_of_the_format():
    """Whoever must change these values gives ``NOISE_FORMAT`` another name in the same commit."""
    assert NOISE_FORMAT == "chacha20-inverse-3"
    nodes = np.arange(32, 40, dtype=np.uint64)
    expected = {
        "laplace": [19, -31, -54, 10, 10, -5, 1, 2],
        "gaussian": [17, -24, -36, 11, 10, -5, 2, 3],
    }
    for name, values in expected.items():
        noise = NodeNoise(NoiseKey(bytes(range(32))), 2, law_of(name, Fraction(19)))
        drawn, rounding = noise.at(nodes, 5, 6)
        assert drawn.tolist() == values
        assert rounding.tolist() == [0, 0, 0, 1, 0, 0, 1, 1]
    listed = NodeNoise(NoiseKey(bytes(range(32))), Stream.STAGE, law_of("laplace", Fraction(19)))
    assert listed.sequence(8).tolist() == [-9, 14, 0, 6, -43, 3, -33, -59]


@given(secrets, st.integers(0, 40), st.integers(0, 3), st.sampled_from(SCALES[:4]))
@settings(max_examples=30)
def test_noise_of_a_list_equals_the_definition(secret, n, stage, scale):
    drawn = NodeNoise(NoiseKey(secret), Stream.STAGE + stage, law_of("laplace", scale)).sequence(n)
    assert drawn.dtype == np.int64
    expected = [additive.item(secret, (1 << 16) + stage, i, 1 / scale) for i in range(n)]
    assert drawn.tolist() == expected


def test_a_list_s_noise_does_not_depend_on_its_length_or_on_how_it_is_drawn(monkeypatch):
    law = law_of("laplace", Fraction(19))
    noise = NodeNoise(NoiseKey(bytes(range(32))), Stream.STAGE, law)
    n = node.SEQUENCE + 10
    long = noise.sequence(n)
    for i in (node.SEQUENCE - 1, node.SEQUENCE, n - 1):
        assert long[i] == additive.item(bytes(range(32)), 1 << 16, i, Fraction(1, 19))
    assert (noise.sequence(100) == long[:100]).all()
    monkeypatch.setattr(node, "SEQUENCE", 16)
    assert (noise.sequence(100) == long[:100]).all()


def test_a_tie_in_a_list_is_decided_by_the_item_s_own_further_digits(monkeypatch):
    law = law_of("laplace", Fraction(5))
    noise = NodeNoise(NoiseKey(bytes(32)), Stream.STAGE, law)

    def ties(_self, address):
        return np.full((address.size, 16), law.table.first[3] << 4, np.uint32)

    monkeypatch.setattr(NodeNoise, "words", ties)
    drawn = noise.sequence(70)
    assert set(drawn.tolist()) == {3, 4}
    assert (noise.sequence(35) == drawn[:35]).all()
    monkeypatch.setattr(node, "SEQUENCE", 32)
    assert (noise.sequence(70) == drawn).all()
    items = np.arange(70, dtype=np.uint64)
    assert (noise.draw(ties(noise, items)[:, 0], items.__getitem__) == drawn).all()


@given(st.fractions(0, 400, max_denominator=10**6), st.integers(1, 220))
def test_exponentials_lie_in_their_intervals(x, bits):
    low, high = exp_interval(x, bits)
    with localcontext(prec=120):
        exact = (-Decimal(x.numerator) / Decimal(x.denominator)).exp() * 2**bits
    assert low <= exact <= high
    assert 0 <= low < high <= low + 3


@pytest.mark.law
@any_law
def test_tails_lie_in_their_intervals_at_any_precision(name, scale):
    law, tail = law_of(name, scale), tail_of(name, scale)
    for g in (1, 2, 511, 512, 513, int(3 * scale) + 1, int(30 * scale) + 1):
        for bits in (1, 63, 127, 130, 191, 230):
            low, high = law.tail(g, bits)
            with localcontext(prec=80):
                assert low - 1 <= tail(g) * 2**bits <= high + 1  # 80 digits are not all
            assert high - low <= 4


@any_law
def test_the_exact_search_agrees_with_the_table(name, scale):
    law = law_of(name, scale)
    first = law.table.first
    for uniform in np.random.default_rng(1).integers(1 << 4, 1 << FIRST, 20):
        if uniform > first[-1] and uniform not in first:
            by_table = int((uniform < first).sum())
            assert law.magnitude(int(uniform), FIRST, iter([])) == by_table


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_a_draw_that_ties_a_threshold_takes_further_digits(name):
    law, tail = law_of(name, Fraction(5)), tail_of(name, Fraction(5))
    tie = int(law.table.first[3])
    with localcontext(prec=80):
        rest = tail(4) * 2**FIRST - tie  # what the first digits leave open
        low, high = int(rest * 2**64) - 1, int(rest * 2**64) + 1
    assert law.magnitude(tie, FIRST, iter([low])) == 4
    assert law.magnitude(tie, FIRST, iter([high])) == 3
    assert law.magnitude(tie, FIRST, iter([low + 1, 0])) == 4
    assert law.magnitude(tie, FIRST, iter([low + 1, 2**64 - 1])) == 3
    assert law.magnitude(tie - 1, FIRST, iter([])) == 4
    assert law.magnitude(tie + 1, FIRST, iter([])) == 3


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_a_number_of_zeros_takes_as_many_digits_as_it_needs(name):
    """U within [2**-200, 2**-199], far below anything that a table holds."""
    law, tail = law_of(name, Fraction(5)), tail_of(name, Fraction(5))
    magnitude = law.magnitude(0, 63, iter([0, 0, 1 << 55, 0, 0, 0]))
    with localcontext(prec=80):
        assert tail(magnitude) * 2**200 > 1 >= tail(magnitude + 1) * 2**200


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_the_table_leaves_tails_open_and_the_node_decides_them(name):
    law = law_of(name, Fraction(5))
    last = int(law.table.first[-1])
    word = np.array([law.table.first[3] << 4, last - 1 << 4, 1 << 31 | last - 1 << 4], np.uint32)
    source = NodeNoise(NoiseKey(bytes(32)), 7, law)
    nodes = np.array([8, 9, 9], np.uint64)
    drawn = source.draw(word, nodes.__getitem__)
    assert drawn[0] in (3, 4)
    assert drawn[1] >= law.table.first.size
    assert drawn[2] == -drawn[1]
    assert drawn.tolist() == source.draw(word, nodes.__getitem__).tolist()
    assert drawn.tolist() == [source.decide(int(w), n) for w, n in zip(word, nodes, strict=True)]


@any_law
def test_variances(name, scale):
    tail = tail_of(name, scale)
    if scale <= 190:
        with localcontext(prec=80):
            exact = sum((2 * g - 1) * tail(g) for g in range(1, int(60 * scale) + 30))
        assert law_of(name, scale).variance == pytest.approx(float(exact), rel=1e-13)


def test_a_law_s_table_cannot_be_changed():
    law = law_of("laplace", Fraction(5))
    for array in law.table:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        law.scale = Fraction(6)


def test_scales_beyond_the_table_are_refused():
    for scale in (Fraction(0), Fraction(-1), Fraction(LARGEST_SCALE + 1)):
        with refuses(UsageError, "noise-too-wide"):
            DiscreteLaplace.of_scale(scale)
        with refuses(UsageError, "noise-too-wide"):
            DiscreteGaussian.of_sigma2(scale * LARGEST_SCALE)


@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(7, 10**4), Fraction(LARGEST_SCALE)])
def test_the_ends_of_the_range(scale):
    """Almost no noise, and the most; the sums of the largest Gaussian take seconds."""
    laws = [DiscreteLaplace(scale)] + ([DiscreteGaussian(scale**2)] if scale < 1 else [])
    for law in laws:
        drawn, _ = NodeNoise(NoiseKey(bytes(32)), 7, law).at(
            np.arange(8, 16, dtype=np.uint64), 3, 6
        )
        assert (drawn == 0).all() if scale < 1 else (np.abs(drawn) > 1).all()
        assert law.variance < 1e-9 if scale < 1 else law.variance > 1e10


DRAWS = """
import json, sys
from fractions import Fraction
import numpy as np
from geodp.privacy.noise.law import DiscreteGaussian
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise
from geodp.privacy.key import NoiseKey
result = []
for law in (DiscreteLaplace(Fraction(19)), DiscreteGaussian(Fraction(361))):
    noise = NodeNoise(NoiseKey(bytes(range(32))), 7, law)
    for level in (0, 1, 5, 62):
        node = np.uint64(1 << level) + np.arange(min(1 << level, 9), dtype=np.uint64)
        result += [array.tolist() for array in noise.at(node, level, 62)]
    place = np.arange(2)
    result += [array.tolist() for array in noise.families(place.astype("u8"), 17)]
    ties = np.repeat(law.table.first[::20], 2) << 4
    result.append(noise.draw(ties, lambda i: i.astype("u8")).tolist())
print(json.dumps(result))
"""


@pytest.mark.law
def test_interpreted_code_draws_the_same_noise_without_a_warning():
    root = Path(__file__).parents[3]
    outputs = [
        subprocess.run(
            [sys.executable, *options, "-c", DRAWS],
            env={**os.environ, "PYTHONPATH": str(root), "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for options, disabled in (([], "0"), (["-W", "error"], "1"))
    ]
    assert outputs[0] == outputs[1]
    assert len(json.loads(outputs[0])) == 22


def test_children_are_numbered_exactly_where_floats_are_not():
    above = np.array([2**61 - 1, 5, 2**53 + 1], np.uint64)
    found = node.number_children(above, 4)
    assert found.dtype == np.uint64
    assert found.tolist() == [4 * int(one) + j for one in above for j in range(4)]
