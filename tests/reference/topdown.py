"""T2 of Terada et al. (2015) by its recursive definition, on a dictionary of counts."""

from fractions import Fraction

from tests.reference.noise import draw


def refine(counts, bits, secret, exponent: Fraction, possible=lambda low, high: True):
    """Refined cells above 0 and the number of nodes split.

    ``counts`` maps keys to counts; ``possible(low, high)`` says whether the key range holds a
    cell of the domain.
    """
    noise, _ = draw(secret, 1, 1, 0, exponent)
    out, split = {}, 0

    def visit(node, level, total, inside):
        nonlocal split
        if total == 0:
            return
        width = 1 << (bits - level)
        low = (node - (1 << level)) * width
        if level == bits:
            out[low] = total
            return
        split += 1
        middle = low + width // 2
        left = {k: v for k, v in inside.items() if k < middle}
        right = {k: v for k, v in inside.items() if k >= middle}
        if not possible(low, middle):
            share = 0
        elif not possible(middle, low + width):
            share = total
        else:
            z, bit = draw(secret, 2, node, bits, exponent)
            detail = sum(left.values()) - sum(right.values()) + z
            detail = max(-total, min(total, detail))
            share = Fraction(total + detail, 2)
            if share.denominator == 2:
                share += Fraction(1, 2) if bit else Fraction(-1, 2)
            share = int(share)
        visit(2 * node, level + 1, share, left)
        visit(2 * node + 1, level + 1, total - share, right)

    visit(1, 0, max(sum(counts.values()) + noise, 0), dict(counts))
    return out, split
