"""Local hashing, word for word: Wang et al. (2017), section 3.2; the hash in plain integers."""

from math import exp

from tests.reference.coins import Chance

WORD = 2**64


def splitmix(state):
    """Steele, Lea, Flood (2014): the generator's output after a step from a state."""
    state = (state + 0x9E3779B97F4A7C15) % WORD
    z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    return state, z ^ z >> 31


def hashed(seed, value, bound):
    words = []
    for _ in range(3):
        seed, word = splitmix(seed)
        words.append(word)
    a, b, c = words
    mixed = (a * (value % 2**32) + b * (value // 2**32) + c) % WORD
    return mixed // 2**32 * bound // 2**32


def hashes(epsilon):
    return min(round(exp(epsilon)) + 1, 2**16)


def report(value, coins, cells, epsilon):
    g = hashes(epsilon)
    seed = coins.below(2**48)
    lies = coins.flip(Chance(g - 1, 1, epsilon))
    own = hashed(seed, value, g)
    if not lies:
        return seed, own
    others = [other for other in range(g) if other != own]
    return seed, others[coins.below(g - 1)]


def estimate(reports, value, cells, epsilon):
    e, g = exp(epsilon), hashes(epsilon)
    p = e / (e + g - 1)
    told = sum(hashed(seed, value, g) == said for seed, said in reports)
    return (told - len(reports) / g) / (p - 1 / g)


def variance(cells, epsilon):
    e, g = exp(epsilon), hashes(epsilon)
    return (e - 1 + g) ** 2 / ((e - 1) ** 2 * (g - 1))
