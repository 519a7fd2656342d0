import math
from collections import Counter
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.kinds.selection.mechanisms import SELECTORS, find_selector
from geodp.kinds.selection.mechanisms.base import Candidates
from geodp.kinds.selection.mechanisms.exponential import _find, exponential
from geodp.kinds.selection.mechanisms.permute_and_flip import permute_and_flip
from geodp.privacy.key import NoiseKey, Stream
from tests.keys import secret
from tests.reference import selection as reference
from tests.refusals import refuses

ISSUE = (5, 3, 3, 1, 0, 0, 0, 0, 0)
LAWS = {
    "permute-and-flip": (0.84951, 0.06353, 0.06353, 0.00827, *[0.00303] * 5),
    "exponential": (0.75604, 0.10232, 0.10232, 0.01385, *[0.00509] * 5),
}
any_selector = pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)


def law(selector, counts, monotone=True, epsilon=1, sensitivity=1):
    given = {"epsilon": epsilon, "sensitivity": sensitivity, "monotone": monotone}
    return np.array(selector.probabilities(list(map(int, counts)), **given))


@any_selector
def test_the_law_of_the_worked_example(selector):
    assert np.round(law(selector, ISSUE), 5).tolist() == list(LAWS[selector.name])


@any_selector
def test_laws_are_those_of_the_definitions(selector):
    define = getattr(reference, selector.name.replace("-", "_"))
    draw = np.random.default_rng(3)
    for _ in range(20):
        counts = draw.integers(0, 9, draw.integers(1, 9))
        found = law(selector, counts, monotone=False, sensitivity=F(3, 2))
        assert np.allclose(found, define(reference.chances(counts.tolist(), F(1, 3))), rtol=1e-9)


def test_permute_and_flip_is_never_worse():
    draw = np.random.default_rng(8)
    for _ in range(100):
        counts = draw.integers(0, 9, draw.integers(2, 9))
        one, two = (law(selector, counts) @ counts for selector in SELECTORS.values())
        assert list(SELECTORS) == ["exponential", "permute-and-flip"]
        assert two >= one - 1e-12


def test_an_auction():
    prices = (100, 200, 300, 400)

    def revenues(bids):
        return [price * sum(bid >= price for bid in bids) for price in prices]

    def of(bids):
        return law(exponential, revenues(bids), monotone=False, sensitivity=400)

    found = of((300, 100, 100, 100))
    assert np.round(found, 5).tolist() == [0.30601, 0.23832, 0.27006, 0.18561]
    assert round(float(found @ revenues((300, 100, 100, 100))), 3) == 251.087
    laws = {bids: of(bids) for bids in product((0, *prices), repeat=4)}
    ratios = [
        np.abs(np.log(one / laws[(*bids[:i], bid, *bids[i + 1 :])])).max()
        for bids, one in laws.items()
        for i in range(4)
        for bid in (0, *prices)
    ]
    assert round(max(ratios), 5) == 0.43621


def largest_ratio(selector, tables, monotone, moved, epsilon=1):
    found = 0.0
    for table in tables:
        one = np.log(law(selector, table, monotone, epsilon))
        for other in reference.neighbours(table)[moved]:
            found = max(found, np.abs(one - np.log(law(selector, other, monotone, epsilon))).max())
    return found


@pytest.fixture(scope="module")
def tables():
    draw = np.random.default_rng(15)
    return [draw.integers(0, 6, draw.integers(2, 6)) for _ in range(300)]


@pytest.mark.law
@any_selector
def test_log_ratios_of_300_random_tables_keep_epsilon(selector, tables):
    for monotone, moved in ((True, False), (False, True), (False, False)):
        assert largest_ratio(selector, tables, monotone, moved) <= 1 + 1e-9
    assert largest_ratio(permute_and_flip, tables, True, False) > 1 - 1e-6


@pytest.mark.law
def test_the_monotone_rate_where_people_move_is_caught(tables):
    assert largest_ratio(permute_and_flip, tables, True, True) > 1.99


@pytest.mark.law
def test_twice_the_rate_is_caught(tables):
    assert largest_ratio(permute_and_flip, tables, True, False, epsilon=2) > 1.5


@pytest.mark.law
@any_selector
@pytest.mark.parametrize("listed", [9, 4])
def test_draws_follow_the_law_with_and_without_unlisted_candidates(selector, listed):
    deficit = 5 - np.array(ISSUE[:listed])
    candidates = Candidates(deficit, F(1), 9 - listed, 5)
    drawn = [
        selector.draw(candidates, NoiseKey(secret(f"{listed} {i}")), Stream.SELECT)
        for i in range(2000)
    ]
    expected = 2000 * law(selector, ISSUE)
    # Chi-square with the last five in one cell: 18.5 is exceeded once in a thousand.
    found = np.bincount(drawn, minlength=9)
    cells = [np.append(one[:4], one[4:].sum()) for one in (found, expected)]
    assert ((cells[0] - cells[1]) ** 2 / cells[1]).sum() < 33


def test_draws_are_those_of_the_slow_twin():
    chosen = []
    for number in range(60):
        draw = np.random.default_rng(number)
        deficit = np.append(0, draw.integers(0, 30, 12)).tolist()
        rate, others = F(int(draw.integers(1, 9)), 13), int(draw.choice([0, 5, 1000, 1 << 40]))
        beyond = int(draw.integers(20, 60))
        key = NoiseKey(secret(f"twin {number}"))
        candidates = Candidates(np.array(deficit), rate, others, beyond)
        found = permute_and_flip.draw(candidates, key, Stream.SELECT)
        twin = reference.draw(secret(f"twin {number}"), deficit, rate, others, beyond)
        assert found == twin
        chosen.append(found)
    assert any(c >= 13 for c in chosen)
    assert any(0 < c < 13 for c in chosen)


@pytest.mark.parametrize("others", [1, 4, 7])
def test_the_first_of_the_unlisted_wins_as_often_as_in_the_whole_law(others):
    chance = reference.chances((4, 3, 1, 0), F(1, 2))
    whole = reference.permute_and_flip([*chance[:3], *chance[3:] * others])
    assert math.isclose(reference.first_of_others(chance, others), sum(whole[3:]), rel_tol=1e-9)


@any_selector
def test_unlisted_candidates_alone(selector):
    none = Candidates(np.empty(0, np.int64), F(1), 1 << 62, 0)
    drawn = {selector.draw(none, NoiseKey(secret(str(i))), Stream.SELECT) for i in range(9)}
    assert len(drawn) == 9
    assert max(drawn) > 1 << 58


@any_selector
def test_numbers_of_any_length_decide(selector):
    key = NoiseKey(secret("long"))
    assert selector([0, "1e99", 10**99 - 1], epsilon="1e-90", key=key) in (1, 2)
    assert selector([2**59, 2**59 + 1], epsilon=100, monotone=True, key=key) == 1
    assert selector([float(2**59), 2**59 - 9], epsilon=100, key=key) == 0
    drawn = Counter(
        selector([2**59, 2**59 + 1, 0], epsilon=1, monotone=True, key=NoiseKey(secret(f"{i}")))
        for i in range(200)
    )
    assert drawn[2] == 0
    assert drawn[0] > 20


@any_selector
def test_a_key_draws_the_same_again(selector):
    drawn = [selector(range(50), epsilon="1/5", key=NoiseKey(secret("again"))) for _ in range(3)]
    assert len(set(drawn)) == 1
    assert len({selector(range(50), epsilon="1/100") for _ in range(40)}) > 1


@any_selector
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"utilities": []}, "candidates-missing"),
        ({"utilities": [1, float("nan")]}, "budget-number-form: utility"),
        ({"utilities": [1, float("inf")]}, "budget-number-form: utility"),
        ({"utilities": [1, None]}, "budget-number-form: utility"),
        ({"utilities": [1, "--2"]}, "budget-number-form: utility"),
        ({"utilities": [True, 2]}, "budget-number-form: utility"),
        ({"utilities": ["1/0", 2]}, "budget-number-form: utility"),
        ({"sensitivity": 0}, "budget-number-not-positive: sensitivity"),
        ({"sensitivity": -1}, "budget-number-not-positive: sensitivity"),
        ({"epsilon": 0}, "budget-number-not-positive: epsilon"),
        ({"epsilon": "one"}, "budget-number-form: epsilon"),
        ({"monotone": 1}, "monotone-not-bool"),
        ({"key": bytes(32)}, "key-expected"),
    ],
)
def test_what_makes_no_sense_is_refused(selector, changed, said):
    given = {"utilities": [1, 2], "epsilon": 1, **changed}
    with refuses(UsageError, said):
        selector(given.pop("utilities"), **given)


def test_utilities_are_read_exactly():
    words = ["-1/2", "0", "0.0", -0.25, F(1, 3), "+1e-1", np.float64(0.5), np.int32(-1)]
    found = permute_and_flip.probabilities(words, epsilon=2)
    whole = [F(-1, 2), 0, 0, F(-1, 4), F(1, 3), F(1, 10), F(1, 2), -1]
    assert found == permute_and_flip.probabilities(whole, epsilon=2)


def test_probabilities_are_for_small_lists():
    with refuses(UsageError, r"utilities-too-many: \b256\b"):
        permute_and_flip.probabilities(range(257), epsilon=1)


def test_names():
    assert find_selector("exponential") is exponential
    assert find_selector(permute_and_flip) is permute_and_flip
    with refuses(UsageError, "selector-unknown"):
        find_selector("loudest")


def test_bounds_that_leave_the_place_open_ask_for_more():
    assert _find(0, 64, [5], [6]) == 0
    assert _find((1 << 63) - 1, 64, [49, 100], [51, 102]) is None
    assert _find(1 << 62, 64, [49, 100], [51, 102]) == 0
    assert _find(3 << 62, 64, [49, 100], [51, 102]) == 1
