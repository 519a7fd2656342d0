from decimal import Decimal, localcontext
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest

from geodp.privacy.key import NoiseKey
from geodp.privacy.noise import exact_draws
from geodp.privacy.noise.exact_draws import Decay, draw_below, draw_one_below
from geodp.privacy.noise.law import DIGITS, decide
from tests.keys import secret

KEY = NoiseKey(secret("decay"))


def digits(exponent, bits):
    """The first binary digits of exp(-exponent), by Decimal."""
    with localcontext(prec=120):
        x = Decimal(exponent.numerator) / Decimal(exponent.denominator)
        return int((-x).exp() * 2**bits)


@pytest.mark.parametrize("rate", [F(1, 10), F(3, 7), F(1, 4000), F(50)])
def test_floors_are_exact(rate):
    made = Decay(rate)
    distances = [
        0,
        1,
        2,
        5,
        1023,
        1024,
        1025,
        5000,
        made._end(44) - 1,
        made._end(44),
        made._end(44) + 9,
    ]
    found = made.floors(distances)
    assert found == [digits(rate * d, 63) for d in distances]
    assert found[-1] == found[-2] == 0
    for bits in (64, 200):
        for distance, (low, high) in zip(distances, made.intervals(distances, bits), strict=True):
            exact = digits(rate * distance, bits)
            assert exact - 1 <= low <= exact <= high <= exact + 2


@pytest.mark.parametrize("rate", [F(1, 10), F(3, 7), F(50)])
@pytest.mark.parametrize("bits", [1, 64, 200])
def test_a_chance_lies_between_its_bounds(rate, bits):
    made = Decay(rate)
    end = made._end(bits)
    assert made.interval(0, bits) == (1 << bits, 1 << bits)
    assert [made.interval(far, bits) for far in (end, end + 1, 10**30)] == [(0, 1)] * 3
    for distance in {1, 2, end // 2, end - 1} - {0}:
        low, high = made.interval(distance, bits)
        assert 0 <= low <= digits(rate * distance, bits) < high <= low + 2


def test_coins_do_not_depend_on_the_others():
    made, distance = Decay(F(1, 9)), np.arange(100) % 17
    all_of_them = made.flip(distance, KEY, 5)
    assert (made.flip(distance[:33], KEY, 5) == all_of_them[:33]).all()
    assert (made.flip(distance.astype(object), KEY, 5) == all_of_them).all()
    assert (made.flip(distance, KEY, 6) != all_of_them).any()
    assert all_of_them[distance == 0].all()


def test_coins_fall_as_often_as_they_should():
    falls = Decay(F(1, 2)).flip(np.repeat([1, 3], 100_000), KEY, 7).reshape(2, -1).mean(axis=1)
    assert np.abs(falls - np.exp([-0.5, -1.5])).max() < 0.008  # 5 standard deviations


def test_further_digits_decide_a_tie():
    made = Decay(F(1))
    floor = made.floors([1])[0]
    next_64 = digits(F(1), 127) - (floor << 64)
    assert decide(partial(made.interval, 1), floor, DIGITS, iter([next_64 - 1])) is True
    assert decide(partial(made.interval, 1), floor, DIGITS, iter([next_64 + 1])) is False
    assert decide(partial(made.interval, 1), floor, DIGITS, iter([next_64, 0])) is True
    far = made._end(44) * 5  # a chance of 2**-317
    assert decide(partial(made.interval, far), 0, DIGITS, iter([0, 0, 0, 1 << 63])) is False
    assert decide(partial(made.interval, far), 0, DIGITS, iter([0] * 99)) is True


def test_a_tie_of_63_digits_is_seen(monkeypatch):
    made = Decay(F(1))
    floor = made.floors([1])[0]
    monkeypatch.setattr(
        exact_draws, "_random_words", lambda key, stream, n, *law: np.full(n, floor, np.uint64)
    )
    monkeypatch.setattr(exact_draws, "draw_digits", lambda key, stream, item, *law: iter([0] * 3))
    assert made.flip(np.array([1, 0, 2]), KEY, 5).tolist() == [True, True, False]


def test_every_tie_is_decided_by_digits_of_its_own(monkeypatch):
    made = Decay(F(1))
    one, two = made.floors([1, 2])
    next_one, next_two = (digits(F(d), 127) - (seen << 64) for d, seen in ((1, one), (2, two)))
    seen = np.array([one, one, two, two], np.uint64)
    further = [next_one - 1, next_one + 1, next_two + 1, next_two - 1]
    monkeypatch.setattr(exact_draws, "_random_words", lambda key, stream, n, *law: seen)
    monkeypatch.setattr(
        exact_draws, "draw_digits", lambda key, stream, item, *law: iter([further[item]])
    )
    falls = made.flip(np.array([1, 1, 2, 2]), KEY, 5)
    assert falls.tolist() == [True, False, False, True]


@pytest.mark.parametrize(("off", "falls"), [(-1, True), (1, False)])
def test_all_63_digits_are_compared(monkeypatch, off, falls):
    made = Decay(F(1))
    seen = made.floors([1])[0] + off
    monkeypatch.setattr(
        exact_draws, "_random_words", lambda key, stream, n, *law: np.full(n, seen, np.uint64)
    )
    monkeypatch.setattr(exact_draws, "draw_digits", lambda *_: pytest.fail("nothing is left open"))
    assert made.flip(np.array([1, 0]), KEY, 5).tolist() == [falls, True]


def test_whole_numbers_below_bounds():
    bounds = np.array([1, 2, 3, 1 << 62, 1 << 63, (1 << 62) + 5] * 500, np.uint64)
    drawn = draw_below(bounds, KEY, 9)
    assert (drawn < bounds).all()
    for bound in (2, 3):
        here = np.bincount(drawn[bounds == bound].astype(int), minlength=bound)
        assert np.abs(here - 500 / bound).max() < 60
    assert (drawn[bounds == 1 << 63] > 1 << 62).any()


def test_numbers_in_the_incomplete_part_are_drawn_again(monkeypatch):
    top = np.uint64(2**64 - 1)
    monkeypatch.setattr(exact_draws, "_random_words", lambda key, stream, n, *law: np.full(n, top))
    monkeypatch.setattr(
        exact_draws, "draw_digits", lambda key, stream, item, *law: iter([2**64 - 1, 8])
    )
    assert draw_one_below(3, KEY, 1) == 8 % 3  # 2**64 - 1 is a multiple of 3: its part is cut off
    assert draw_one_below(4, KEY, 1) == 3  # nothing is left over
    monkeypatch.setattr(
        exact_draws, "draw_digits", lambda key, stream, item, *law: iter([item + 6])
    )
    assert draw_below(np.array([3, 3, 3], np.uint64), KEY, 1).tolist() == [0, 1, 2]


def test_coins_before_the_first_follow_their_law():
    made, n = Decay(F(1, 3)), 4
    found = np.bincount(
        [made.count_before(5, n, NoiseKey(secret(f"first {i}")), 3) for i in range(4000)],
        minlength=n + 1,
    )
    p = np.exp(-5 / 3)
    law = np.append(p * (1 - p) ** np.arange(n), (1 - p) ** n)
    assert ((found - 4000 * law) ** 2 / (4000 * law)).sum() < 28  # 4 degrees: once in 100,000


@pytest.mark.law
@pytest.mark.parametrize("digit", [0, 1, 2**63, 2**64 - 1])
def test_coins_before_the_first_are_those_of_the_inverse_distribution(digit, monkeypatch):
    monkeypatch.setattr(
        exact_draws, "draw_digits", lambda key, stream, item, *law: iter([digit] * 60)
    )
    made = Decay(F(1, 3))
    for distance, n in ((1, 10), (60, 1 << 40), (126, 1 << 62), (1000, 1 << 62)):
        with localcontext(prec=1300):
            r = 1 - (-Decimal(distance) / 3).exp()
            u = sum(Decimal(digit) / 2 ** (64 * i) for i in range(1, 61)) or Decimal(2) ** -3840
            exact = u.ln() / r.ln()
        assert made.count_before(distance, n, KEY, 3) == min(int(exact), n)
    assert made.count_before(0, 1 << 62, KEY, 3) == 0
