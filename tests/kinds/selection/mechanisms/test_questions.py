from fractions import Fraction as F
from itertools import permutations

import numpy as np
import pytest

from geodp.kinds.selection.mechanisms import SELECTORS
from geodp.kinds.selection.mechanisms.base import (
    Candidates,
    Counted,
    draw_top,
    quantile_candidates,
)
from geodp.kinds.selection.mechanisms.permute_and_flip import permute_and_flip
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise import exact_draws
from tests.keys import secret
from tests.reference import selection as reference


def sequence_law(counts, k, rate):
    """Probability of every sequence of k winners, by the definition."""
    found = {}
    for order in permutations(range(len(counts)), k):
        p, left = 1.0, list(range(len(counts)))
        for winner in order:
            law = reference.permute_and_flip(reference.chances([counts[i] for i in left], rate))
            p *= law[left.index(winner)]
            left.remove(winner)
        found[order] = p
    return found


def test_rounds_follow_their_law_and_winners_are_out():
    counts, n = [6, 4, 0, 0, 0], 1500
    law = sequence_law(counts, 2, F(1, 2))
    table = Counted(np.array([1, 3]), np.array([4, 6]), 5)
    place = {3: 0, 1: 1, 0: 2, 2: 3, 4: 4}
    drawn = dict.fromkeys(law, 0)
    for i in range(n):
        chosen = draw_top(permute_and_flip, table, 2, F(1, 2), NoiseKey(secret(f"rounds {i}")))
        drawn[tuple(place[rank] for rank in chosen)] += 1
    chi = sum((drawn[one] - n * p) ** 2 / (n * p) for one, p in law.items() if n * p > 5)
    assert chi < 55  # 19 degrees at most: once in 20,000 times


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_all_candidates_are_chosen_once_where_all_are_asked_for(selector):
    table = Counted(np.array([2, 5]), np.array([3, 1]), 7)
    found = draw_top(selector, table, 7, F(1), NoiseKey(secret("all")))
    assert sorted(found) == list(range(7))


def test_no_count_is_shown():
    table = Counted(np.array([271828]), np.array([271828]), 314)
    candidates = Candidates(np.array([271828]), F(1), 271828, 271828)
    assert "271828" not in repr(table) + repr(candidates)


def test_the_largest_domain():
    table = Counted(np.array([0, (1 << 62) - 1]), np.array([1, 1]), 1 << 62)
    found = draw_top(permute_and_flip, table, 5, F(1, 100), NoiseKey(secret("wide")))
    assert len(set(found)) == 5
    assert all(0 <= rank < 1 << 62 for rank in found)
    assert max(found) > 1 << 59


@pytest.mark.parametrize("q", [F(1, 2), F(1, 3), F(9, 10)])
def test_quantiles_are_those_of_the_definition(q):
    draw = np.random.default_rng(4)
    for _ in range(30):
        counts = draw.integers(0, 4, 8)
        if not counts.sum():
            continue
        found = quantile_candidates(counts, q, F(1))
        utilities = reference.quantile_utilities(counts.tolist(), q)
        assert [-d * found.rate for d in found.deficit.tolist()] == utilities
        assert found.deficit.min() == 0


def test_quantiles_of_large_counts_are_exact():
    found = quantile_candidates(np.array([2**59, 2**59 + 1]), F(1, 2), F(1))
    assert found.deficit.tolist() == [1, 0]
    fine = quantile_candidates(np.array([2**59, 2**59]), F(1, 10**9), F(1))
    assert fine.deficit.tolist() == [0, 10**9 * 2**59 - 2**60]


def test_what_is_drawn_grows_with_the_occupied_cells_and_not_with_the_domain(monkeypatch):
    drawn = []
    words = exact_draws._random_words

    def counted(key, stream, n, *law):
        drawn.append(n)
        return words(key, stream, n, *law)

    monkeypatch.setattr(exact_draws, "_random_words", counted)
    cost = []
    for m, size in ((1000, 1 << 18), (1000, 1 << 62), (2000, 1 << 62)):
        drawn.clear()
        table = Counted(np.arange(m) * 3, np.arange(m) * 50 + 1, size)
        draw_top(permute_and_flip, table, 5, F(1, 10), NoiseKey(secret("cost")))
        cost.append(sum(drawn))
    assert cost[1] <= cost[0] + 50
    assert 5 * 990 < cost[0] < 5 * 1100
    assert 5 * 1990 < cost[2] < 5 * 2100
