"""Points of a projective space over a prime field, and their orthogonality.

A point of dimension t over F_q is a vector of t digits, not all 0, whose first digit that is not 0
is 1. Points are numbered so that appending a digit x to point i gives point ``q i + 1 + x``, from
the point 0 on, whose only nonzero digit is the last one, a 1; leading zeros do not change the
number. ``(q**k - 1) / (q - 1)`` points have all but their last k digits 0.
"""

from __future__ import annotations

import numpy as np

from geodp.kernels.jit import inline, kernel
from geodp.local.kernels.oracles import BLOCK, Digits, Values, below, flip
from geodp.typing import IntArray, WordArray


@kernel
def inverses(inverse: Values) -> None:
    """Write the inverse of every number but 0 modulo the prime ``inverse.size``: uint64[q]."""
    q = np.uint64(inverse.size)
    inverse[1] = 1
    for n in range(2, inverse.size):
        i = np.uint64(n)
        # From q = (q // i) i + q mod i, modulo q.
        inverse[n] = (q - (q // i)) * inverse[q % i] % q


@inline
def _digits_of(point: np.uint64, q: np.uint64, vector: Values) -> int:
    """Write the digits of a point; return the place of the first one that is not 0."""
    one = np.uint64(1)
    place = vector.size - 1
    vector[:] = 0
    while point > np.uint64(0):
        vector[place] = (point - one) % q
        point = (point - one) // q
        place -= 1
    # The number has no digit for the leading 1, which every point has.
    vector[place] = one
    return place


@inline
def _number_of(vector: Values, q: np.uint64, inverse: Values) -> np.uint64:
    """Compute the number of the point that a vector, not all 0, is a multiple of."""
    first = 0
    while vector[first] == np.uint64(0):
        first += 1
    scale = inverse[vector[first]]
    number = np.uint64(0)
    for i in range(first + 1, vector.size):
        number = q * number + np.uint64(1) + vector[i] * scale % q
    return number


@kernel
def respond(
    first: int,
    unit: WordArray,
    digit: Digits,
    value: Values,
    size: Values,
    inverse: Values,
    point: Values,
) -> tuple[int, int]:
    """Draw a point orthogonal to each value's, or with chance 0 one that is not, uniformly.

    All digits but one are drawn: as a point, or freely for one that is not orthogonal. The digit
    at the place of the value's first one follows, as the product must be 0, or may be made 1.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
        Numbers of points.
    size : uint64[3]
        The dimension, the number of points orthogonal to one, and the number of the others.
    inverse : uint64[q]
    point : uint64[n], written from ``first`` on
    """
    used, q = 0, np.uint64(inverse.size)
    digits = np.empty(np.int64(size[0]), np.uint64)
    rest, vector = np.empty(digits.size - 1, np.uint64), np.empty_like(digits)
    for i in range(first, value.size):
        lie, at = flip(unit, used, digit[0])
        drawn, at = below(unit, at, size[2] if lie else size[1])
        if at < 0:
            return i, used
        lead = _digits_of(value[i], q, digits)
        if lie:
            for j in range(rest.size - 1, -1, -1):
                rest[j] = drawn % q
                drawn //= q
        else:
            _digits_of(drawn, q, rest)
        product = np.uint64(0)
        for j in range(rest.size):
            place = j if j < lead else j + 1
            vector[place] = rest[j]
            product += rest[j] * digits[place] % q
        # The multiple of q keeps the difference above 0 in unsigned arithmetic.
        vector[lead] = (np.uint64(lie) + q * np.uint64(digits.size) - product) % q
        point[i] = _number_of(vector, q, inverse)
        used = at
    return value.size, used


@kernel
def count_orthogonal(
    point: Values,
    count: IntArray,
    value: Values,
    size: Values,
    matches: IntArray,
) -> None:
    """Count the reports that are orthogonal to each value.

    Parameters
    ----------
    point : uint64[m], count : int64[m]
        Points, and how often each was reported.
    value : uint64[n]
    size : uint64[2]
        The dimension and the prime, which is at most ``2**16``.
    matches : int64[n], written
    """
    matches[:] = 0
    t, q = np.int64(size[0]), size[1]
    digits, reported = np.empty(t, np.uint64), np.empty((BLOCK, t), np.uint64)
    for start in range(0, point.size, BLOCK):
        held = min(BLOCK, point.size - start)
        for i in range(held):
            _digits_of(point[start + i], q, reported[i])
        for v in range(value.size):
            _digits_of(value[v], q, digits)
            for i in range(held):
                product = np.uint64(0)
                for j in range(t):
                    product += digits[j] * reported[i, j]
                # One reduction at the end: products of 16-bit digits cannot overflow the sum.
                if product % q == np.uint64(0):
                    matches[v] += count[start + i]


@kernel
def index_vectors(q: int, inverse: Values, point: Values, scale: Values) -> None:
    """Compute the point of every vector, which is a number to the base q, and its scale.

    Parameters
    ----------
    q : int
    inverse : uint64[q]
    point, scale : uint64[n], written from 1 on
        The vector times the scale is the point.
    """
    base = np.uint64(q)
    for n in range(1, point.size):
        above = n // q
        if above == 0:
            point[n] = 0
            scale[n] = inverse[n]
        else:
            scale[n] = scale[above]
            last = np.uint64(n % q) * scale[n] % base
            point[n] = base * point[above] + np.uint64(1) + last


@kernel
def extend(
    q: int,
    held: IntArray,
    totals: IntArray,
    point: Values,
    scale: Values,
    out: IntArray,
    out_totals: IntArray,
) -> None:
    """Run one step of the transform: sum over the digit before the last k ones.

    Reports are grouped by their first digits: 0 where these are all 0, or 1 more than the number of
    the point that they make up. In each group, reports are summed by their product with every
    point of the last k digits of values. Scaling a value scales its products, so that points
    suffice for all vectors. Feldman, Nelson, Nguyen, Talwar (2022), section 3.2.

    Parameters
    ----------
    q : int
    held : int64[a, b, q]
        Sums by first digits, point of the last k digits of values, and product.
    totals : int64[a]
        Sums by first digits alone, which is the result for vectors of zeros.
    point, scale : uint64[q**k]
        See :func:`index_vectors`.
    out : int64[a', b', z], out_totals : int64[a'], written
        The same for one first digit fewer and one last digit more, and for the first z products.
    """
    old, products = out.shape[1] - point.size, out.shape[2]
    for a in range(out.shape[0]):
        first = q * (a - 1) + 2 if a else 0
        children = q if a else 2
        out_totals[a] = 0
        out[a] = 0
        for x in range(children):
            child = first + x
            out_totals[a] += totals[child]
            if x < products:
                out[a, old, x] += totals[child]
            for b in range(old):
                for z in range(products):
                    out[a, b, z] += held[child, b, z]
            for n in range(1, point.size):
                source, step = point[n], np.int64(scale[n])
                # The product that the other digits must have, for z = 0.
                at = (q - x) * step % q
                for z in range(products):
                    out[a, old + n, z] += held[child, source, at]
                    at += step
                    at -= q if at >= q else 0
