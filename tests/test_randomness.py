import copy
import pickle
from decimal import localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import InputError, UsageError
from geodp.kernels import noise as kernels
from geodp.randomness import (
    LARGEST_SCALE,
    DiscreteLaplace,
    NodeNoise,
    NoiseKey,
    digest,
)
from tests.reference import noise as reference
from tests.strategies import secrets

SCALES = [
    Fraction(1, 40),
    Fraction(3, 10),
    Fraction(1),
    Fraction(19),
    Fraction(190),
    Fraction(4000),
]


@given(secrets, st.integers(0, 61), st.sampled_from(SCALES[:4]), st.data())
@settings(max_examples=80)
def test_noise_of_a_node_equals_the_definition(secret, level, scale, data):
    nodes = data.draw(st.lists(st.integers(1 << level, (2 << level) - 1), min_size=1, max_size=5))
    noise = NodeNoise(NoiseKey(secret), 7, DiscreteLaplace.of_scale(scale))
    drawn, rounding = noise.at(np.array(nodes, np.uint64), level)
    expected = [reference.draw(secret, 7, node, 1 / scale) for node in nodes]
    assert list(zip(drawn.tolist(), rounding.tolist(), strict=True)) == expected


@pytest.mark.parametrize("scale", SCALES)
def test_thresholds_are_the_exact_probabilities(scale):
    law = DiscreteLaplace.of_scale(scale)
    for j in {0, 1, 2, law.threshold.size // 2, law.threshold.size - 1}:
        if j < law.threshold.size:
            with localcontext(prec=80):
                exact = reference.tail(law.exponent, j + 1) * 2**63
            assert int(law.threshold[j]) == int(exact)


def test_a_draw_that_ties_a_threshold_takes_further_digits():
    law = DiscreteLaplace.of_scale(Fraction(5))
    tie = int(law.threshold[3])
    with localcontext(prec=80):
        rest = reference.tail(law.exponent, 4) * 2**63 - tie  # what 63 digits leave open
        low, high = int(rest * 2**64) - 1, int(rest * 2**64) + 1
    assert law.magnitude(tie, 63, iter([low])) == 4
    assert law.magnitude(tie, 63, iter([high])) == 3
    assert law.magnitude(tie - 1, 63, iter([])) == 4
    assert law.magnitude(tie + 1, 63, iter([])) == 3


def test_the_table_leaves_ties_and_tails_undecided_and_the_node_decides_them():
    law = DiscreteLaplace.of_scale(Fraction(5))
    last = int(law.threshold[-1])
    words = np.zeros((8, 3), np.uint64)
    words[0] = [int(law.threshold[3]), last - 1, (1 << 63) | (last - 1)]
    group, slot = np.arange(3), np.zeros(3, np.int64)
    noise, rounding = np.empty(3, np.int64), np.empty(3, np.int64)
    undecided = kernels.laplace(words, group, slot, law.threshold, law.guide, noise, rounding)
    assert undecided == 3
    assert (noise == kernels.UNDECIDED).all()
    source = NodeNoise(NoiseKey(bytes(32)), 7, law)
    drawn, _ = source.draw(words, group, slot, np.array([8, 9, 10], np.uint64))
    assert drawn[0] in (3, 4)
    assert drawn[1] >= law.threshold.size
    assert drawn[2] == -drawn[1]
    again, _ = source.draw(words, group, slot, np.array([8, 9, 10], np.uint64))
    assert drawn.tolist() == again.tolist()


@pytest.mark.parametrize("scale", SCALES)
def test_the_exact_search_agrees_with_the_table(scale):
    law = DiscreteLaplace.of_scale(scale)
    for uniform in np.random.default_rng(1).integers(1 << 40, 1 << 63, 20, dtype=np.uint64):
        if uniform > law.threshold[-1]:
            by_table = int((uniform < law.threshold).sum())
            assert law.magnitude(int(uniform), 63, iter([])) == by_table


@pytest.mark.law
@pytest.mark.parametrize("scale", SCALES)
def test_a_million_draws_follow_the_law(scale):
    from scipy import stats

    law = DiscreteLaplace.of_scale(scale)
    nodes = np.arange(1 << 20, 2 << 20, dtype=np.uint64)
    drawn, rounding = NodeNoise(NoiseKey(b"law" + bytes(29)), 7, law).at(nodes, 20)
    assert abs(int(rounding.sum()) - (1 << 19)) < 5 * 512
    p = np.array([float(reference.tail(law.exponent, g)) for g in range(1, 40 * int(scale + 1))])
    exactly = np.append(p[:-1] - p[1:], p[-1]) / 2
    probability = np.concatenate([exactly[::-1], [1 - p[0]], exactly])
    reach = p.size
    observed = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
    expected = probability * nodes.size
    edges = np.flatnonzero(np.diff(np.floor(np.cumsum(expected) / 50), prepend=-1))
    grouped = np.add.reduceat(observed, edges), np.add.reduceat(expected, edges)
    enough = grouped[1] > 20
    assert observed[: edges[0]].sum() == 0
    if enough.sum() > 1:
        statistic = ((grouped[0] - grouped[1]) ** 2 / grouped[1])[enough].sum()
        assert stats.chi2.sf(statistic, enough.sum() - 1) > 1e-6


def test_scales_beyond_the_table_are_refused():
    for scale in (Fraction(0), Fraction(LARGEST_SCALE + 1)):
        with pytest.raises(UsageError, match="larger epsilon"):
            DiscreteLaplace.of_scale(scale)


def test_hkdf_is_rfc_5869():
    """Extract and one expansion block with the salt and info in their places."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    secret, info = bytes(range(32)), digest(b"table")
    expected = HKDF(SHA256(), 32, b"geodp release key", info).derive(secret)
    words = NoiseKey(secret).derive(info).words()
    assert words.astype("<u4").tobytes() == expected


def test_a_key_shows_nothing_and_does_not_leave_the_process():
    secret = bytes(range(100, 132))
    key = NoiseKey(secret)
    assert repr(key) == str(key) == "NoiseKey(fixed, redacted)"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never pickled"):
            leave(key)
    assert not hasattr(key, "__dict__")


@pytest.mark.parametrize("secret", [b"short", "x" * 32, bytes(33), None, 7])
def test_a_wrong_key_is_refused(secret):
    with pytest.raises(UsageError, match="exactly 32 bytes"):
        NoiseKey(secret)


def test_key_files(tmp_path):
    good = tmp_path / "key"
    good.write_text("ab" * 32 + "\n")
    assert NoiseKey.from_file(good).origin == "file"
    for content in ("ab" * 31, "xy" * 32, "", "ab" * 33):
        good.write_text(content)
        with pytest.raises(InputError, match="64 hexadecimal") as caught:
            NoiseKey.from_file(good)
        assert not content or content not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        NoiseKey.from_file(tmp_path / "absent")
