"""Draws of 32-bit words: 27 digits, 64 more where these tie, and as many as it takes."""

from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.kernels import chacha
from geodp.kernels import noise as kernels
from geodp.privacy.key import NoiseKey, expose
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise
from tests.privacy.noise.laws import law_of, tail_of
from tests.reference import chacha as plain
from tests.reference import noise as reference
from tests.strategies import secrets

SECRET = bytes(range(32))
SCALES = [Fraction(1, 40), Fraction(3, 10), Fraction(1), Fraction(19), Fraction(190)]
LAWS = [(name, scale) for name in ("laplace", "gaussian") for scale in (*SCALES, Fraction(4000))]
any_law = pytest.mark.parametrize(("name", "scale"), LAWS, ids=str)


def draw(law, word, node, dtype=np.int64, table=None):
    """Noise of words by the kernels alone; how many were left by the first, and by both."""
    table = table or law.table
    noise, todo = np.full(word.size, 99, dtype), np.empty(word.size + 1, np.int32)
    left = kernels.look_up(word, table, noise, todo)
    own = node[todo[:left]]
    with expose(NoiseKey(SECRET)) as key:
        open_ = kernels.resolve(key, np.uint32(7), own, word, table, noise, todo)
    return noise, left, todo[:open_]


@any_law
def test_tables_hold_the_exact_probabilities(name, scale):
    table, tail = law_of(name, scale).table, tail_of(name, scale)
    size = table.first.size
    with localcontext(prec=80):
        for g in {1, 2, 3, 511, 512, 513, 1024, 1025, size // 2, size - 1, size}:
            if 1 <= g <= size:
                whole = int(tail(g) * 2**91)
                assert (int(table.first[g - 1]), int(table.rest[g - 1])) == divmod(whole, 2**64)
    assert table.first[-1] < 8
    assert size == 1 or table.first[-2] >= 8
    assert (np.diff(table.first.astype(np.int64)) <= 0).all()


def words_of(table):
    """Words at both sides of thresholds and on them, of both signs, with any nibble."""
    step = max(table.first.size // 40, 1)
    near = table.first[::step].astype(np.int64)[:, None] + [-1, 0, 1]
    uniform = np.unique(near.clip(0, 2**27 - 1)).astype(np.uint32)
    uniform = np.concatenate([uniform, np.random.default_rng(1).integers(0, 2**27, 60)])
    nibble = np.arange(uniform.size) % 16
    sign = np.arange(uniform.size) // 3 % 2
    return (sign << 31 | uniform.astype(np.int64) << 4 | nibble).astype(np.uint32)


@pytest.mark.law
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@any_law
def test_draws_equal_the_definition_digit_by_digit(name, scale, dtype):
    """Every word that a table leaves open, and the words around thresholds."""
    law, tail = law_of(name, scale), tail_of(name, scale)
    word = words_of(law.table)
    word = word[(word >> 4 & (2**27 - 1)) > law.table.first[-1]]
    node = np.arange(word.size, dtype=np.uint64) + np.uint64(2**40)
    noise, left, open_ = draw(law, word, node, dtype)
    digits = zip(word.tolist(), node.tolist(), strict=True)
    expected = [reference.of_word(SECRET, 7, n, w, tail) for w, n in digits]
    assert noise.dtype == dtype
    assert noise.tolist() == expected
    assert left > 0 or law.table.first.size == 1
    assert open_.size == 0


@any_law
def test_the_table_of_upper_bits_is_the_search_in_all_thresholds(name, scale):
    """All its 8,192 entries: the draws of the first and of the last word of each."""
    law = law_of(name, scale)
    first = law.table.first[::-1].astype(np.int64)
    bucket = np.arange(1 << 12)
    low, high = bucket << 15, (bucket + 1 << 15) - 1
    above = [first.size - np.searchsorted(first, u, "right") for u in (low, high)]
    ties = np.searchsorted(first, high, "right") > np.searchsorted(first, low, "left")
    expected = np.where(ties, kernels.UNRESOLVED, above[0])
    assert (above[0] == above[1])[~ties].all()
    assert (law.table.value[: 1 << 12] == expected).all()
    assert (law.table.value[1 << 12 :] == np.where(ties, kernels.UNRESOLVED, -above[0])).all()


@pytest.mark.law
@any_law
def test_a_tie_of_91_digits_and_a_word_beyond_the_table_are_left_for_the_exact_way(name, scale):
    law = law_of(name, scale)
    table = law.table
    tie, node = min(3, table.first.size - 1), np.arange(300, dtype=np.uint64)
    more = [plain.words(SECRET, 7 | 1 << 31, 0, n)[0] for n in node.tolist()]
    same, rest = table.first[tie], table.rest.copy()
    rest[tie] = more[17]  # the digits of node 17
    word = np.full(node.size, int(same) << 4, np.uint32)
    _, left, open_ = draw(law, word, node, table=table._replace(rest=rest))
    assert left == node.size
    alone = (table.first == same).sum() == 1 and tie + 1 < table.first.size
    assert open_.tolist() == [17] if alone else 17 in open_
    if table.first[-1] > 0:
        below = np.full(3, int(table.first[-1]) - 1 << 4, np.uint32)
        assert draw(law, below, node[:3])[2].tolist() == [0, 1, 2]


@dataclass(frozen=True, eq=False)
class Tied(DiscreteLaplace):
    """The same law with one threshold alone, so that every draw above 0 is decided exactly."""

    def _digits(self):
        first, rest = super()._digits()
        return first[:1], rest[:1]


def test_what_the_tables_leave_open_is_decided_exactly():
    """The same digits of the same node, however many of them the tables have seen."""
    law, above = DiscreteLaplace(Fraction(5)), np.array([0, 3, 2**58], np.uint64)
    for fanout in (1, 2, 16, 17):
        known = NodeNoise(NoiseKey(SECRET), 7, law).families(above, fanout)
        exact = NodeNoise(NoiseKey(SECRET), 7, Tied(Fraction(5))).families(above, fanout)
        assert known[0].tolist() == exact[0].tolist()
        assert known[1].tolist() == exact[1].tolist()


def test_ties_are_met_and_decided_by_the_node_s_own_digits():
    law = DiscreteLaplace(Fraction(5))
    word = np.full(400, int(law.table.first[3]) << 4, np.uint32)
    node = np.arange(400, 800, dtype=np.uint64)
    noise, left, open_ = draw(law, word, node)
    assert (left, open_.size) == (400, 0)
    assert set(noise.tolist()) == {3, 4}
    backwards, _, _ = draw(law, word, node[::-1].copy())
    assert backwards[::-1].tolist() == noise.tolist()
    share = float(reference.tail(Fraction(1, 5), 4) * 2**27 % 1)  # of the tie above the threshold
    assert (noise == 4).mean() == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 400))
    source = NodeNoise(NoiseKey(SECRET), 7, law)
    assert [source.decide(int(word[0]), one) for one in node[:50]] == noise[:50].tolist()
    assert [source.decide(int(word[0]) | 1 << 31, one) for one in node[:5]] == (-noise[:5]).tolist()


@given(secrets, st.sampled_from([1, 2, 3, 4, 8, 16, 17, 40]), st.sampled_from(LAWS[:4]), st.data())
@settings(max_examples=40)
def test_families_equal_the_definition(secret, fanout, kind, data):
    most = 2**62 // fanout
    above = data.draw(st.lists(st.integers(0, most), min_size=1, max_size=3))
    source = NodeNoise(NoiseKey(secret), 9, law_of(*kind))
    drawn, uniform = source.families(np.array(above, np.uint64), fanout)
    expected = [reference.family(secret, 9, one, fanout, tail_of(*kind)) for one in above]
    assert drawn.reshape(-1, fanout).tolist() == [noise for noise, _ in expected]
    assert uniform.tolist() == [own for _, own in expected]


def test_lanes_are_the_blocks_word_by_word():
    address = np.arange(2**33 - 50, 2**33 + 50, dtype=np.uint64)
    state = np.zeros(16 * chacha.LANES, np.uint32)
    with expose(NoiseKey(SECRET)) as key:
        chacha.lanes(key, np.uint32(5), np.uint32(3), address, state)
    rows = state.reshape(16, chacha.LANES)[:, : address.size].T
    expected = [plain.small_words(SECRET, 5, 3, one) for one in address.tolist()]
    assert rows.tolist() == expected


def test_many_families_are_those_of_few():
    """More than are computed together, and ties of more than are settled together."""
    source = NodeNoise(NoiseKey(SECRET), 9, Tied(Fraction(2)))
    above = np.arange(300, dtype=np.uint64)
    drawn, uniform = source.families(above, 3)
    for one in (0, 127, 128, 129, 299):
        alone = source.families(above[one : one + 1], 3)
        assert alone[0].tolist() == drawn[3 * one : 3 * one + 3].tolist()
        assert alone[1].tolist() == [uniform[one]]
