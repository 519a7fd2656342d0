"""RAPPOR, word for word: Erlingsson, Pihur, Korolova (2014), section 2."""

from tests.reference.coins import Chance
from tests.reference.sketch import places
from tests.reference.unary import packed, turned, unpacked


def rational(p):
    return Chance(p.numerator, p.denominator - p.numerator, 0)


def true_bits(value, row, cells, hashes, bits, seed):
    if bits is None:
        return [int(cell == value) for cell in range(cells)]
    chosen = places(value, row, hashes, bits, seed)
    return [int(place in chosen) for place in range(bits)]


def remember(value, coins, cells, f, p, q, hashes=1, bits=None, cohorts=1, seed=0):
    row = coins.below(cohorts) if cohorts > 1 else 0
    kept = true_bits(value, row, cells, hashes, bits, seed)
    if f:
        kept = turned(kept, coins, rational(f / 2), rational(f / 2))
    return row, kept


def tell(kept, coins, p, q):
    return turned(kept, coins, rational(p), rational(1 - q))


def report(value, coins, cells, cohorts=1, **own):
    row, kept = remember(value, coins, cells, cohorts=cohorts, **own)
    bits = packed(tell(kept, coins, own["p"], own["q"]))
    return (row, bits) if cohorts > 1 else (bits,)


def estimate(reports, value, cells, f, p, q, hashes=1, bits=None, cohorts=1, seed=0):
    """The standard decoder of each bit; with a Bloom filter, less the share of other values."""
    n, told = len(reports), 0.0
    for *row, data in reports:
        own = true_bits(value, row[0] if row else 0, cells, hashes, bits, seed)
        told += sum(a * b for a, b in zip(own, unpacked(data), strict=False)) / sum(own)
    held = (told - (p + f * (q - p) / 2) * n) / ((1 - f) * (q - p))
    share = hashes / bits if bits else 0
    return float((held - n * share) / (1 - share))
