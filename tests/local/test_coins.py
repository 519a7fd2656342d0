import copy
import os
import pickle
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.local.coins import Chance, Coins, FixedCoins
from geodp.local.kernels import oracles
from tests.reference.coins import Chance as Twin
from tests.reference.coins import Units
from tests.refusals import refuses

CHANCES = [
    (1, 1, Fraction(1)),
    (1, 1, Fraction(1, 10**6)),
    (1, 1, Fraction(64)),
    (1, 1, Fraction(1, 10**60)),  # hardly below 1/2
    ((1 << 62) - 1, 1, Fraction(1, 2)),
    (137257, 823543, Fraction(2)),
    (1, 3, Fraction(0)),
    (1, 2, Fraction(0)),
]


@pytest.mark.parametrize("chance", CHANCES, ids=str)
@pytest.mark.parametrize("bits", [32, 63, 64, 320])
def test_digits_are_those_of_the_number(chance, bits):
    assert Chance(*chance).floor(bits) == Twin(*chance).floor(bits)
    assert float(Chance(*chance)) == pytest.approx(float(Twin(*chance)), rel=1e-12)


def test_a_rational_chance_is_itself():
    assert Chance.of(Fraction(3, 8)).floor(8) == 96
    assert Chance.of(Fraction(3, 8)).digits(3) == [3 << 29, 0, 0]


@pytest.mark.parametrize("bound", [1, 2, 3, 1000, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 62])
def test_single_draws_are_those_of_the_twin_and_of_kernels(bound):
    units = np.random.default_rng(bound).integers(0, 1 << 32, 4000, np.uint32)
    units[:200] = 0xFFFFFFFF  # thrown away, but for powers of two
    coins, theirs = FixedCoins(units), Units(units.tolist())
    mine = [coins.below(bound) for _ in range(500)]
    assert mine == [theirs.below(bound) for _ in range(500)]
    used, kernels = 0, []
    for _ in range(500):
        number, used = oracles.below(units, used, np.uint64(bound))
        kernels.append(int(number))
    assert kernels == mine
    assert used == theirs.used


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_a_coin_that_ties_takes_the_next_digits(step):
    chance = Chance(1, 1, Fraction(1))
    digits = chance.digits(40)
    digits[-1] += step
    units = [*digits, 0]
    assert FixedCoins(units).flip(chance) == Units(units).flip(Twin(1, 1, Fraction(1)))
    assert FixedCoins(units).flip(chance) == (step <= 0)


def test_flips_have_the_chance():
    coins = FixedCoins(np.random.default_rng(1).integers(0, 1 << 32, 30_000, np.uint32))
    chance = Chance(1, 1, Fraction(1))
    share = sum(coins.flip(chance) for _ in range(20_000)) / 20_000
    assert share == pytest.approx(float(chance), abs=0.01)


@pytest.mark.parametrize("draw", [lambda c: c.below(7), lambda c: c.flip(Chance(1, 1))])
def test_fixed_bits_that_end_are_an_error(draw):
    coins = FixedCoins([1])
    draw(coins)
    with refuses(UsageError, "bits-used-up"):
        draw(coins)


def test_units_of_the_system_are_all_used_once():
    coins = Coins()
    seen = [coins.ahead(3)[:3].tolist()]
    coins.use(3)
    for _ in range(40):
        seen.append(coins.ahead(3)[:3].tolist())
        coins.use(3)
    flat = [unit for part in seen for unit in part]
    assert len({*flat}) > 115  # 123 units of 32 bits hardly ever agree


def test_bits_of_a_uniform_source_are_even():
    bits = np.unpackbits(Coins().ahead(1 << 16).view(np.uint8))
    assert abs(bits.mean() - 0.5) < 5 * 0.5 / bits.size**0.5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_a_fork_has_bits_of_its_own():
    coins = Coins()
    mine = coins.ahead(8)[:8]
    read, write = os.pipe()
    if not (child := os.fork()):
        os.write(write, coins.ahead(8)[:8].tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(read, 1000), np.uint32)
    assert theirs.size == 8
    assert (mine != theirs).all()  # once in 2**29 by chance
    assert np.array_equal(coins.ahead(8)[:8], mine)  # nobody used them


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_coins_are_not_copied(copied):
    with pytest.raises(TypeError, match="used twice"):
        copied(Coins())


def test_a_kernel_that_needs_more_is_given_more():
    """Reports of very many units, with little at first, are drawn all the same."""
    asked = []

    def step(first, unit, digit, heard):
        heard.append((unit.size, digit.shape[1]))
        return (first + 1, 300) if unit.size >= 300 and digit.shape[1] >= 8 else (first, 0)

    Coins().fill(step, (asked,), 3, 1, (Chance(1, 1, Fraction(1)),))
    assert [*islice(asked, 2)] == [(64, 2), (64, 4)]
    assert max(digits for _, digits in asked) >= 8
