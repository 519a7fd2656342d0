"""Steps on all children of a block of families, row by row: noise, counts, and candidates.

Kernels that see true counts compute with integers only until the noise is added.

Candidates are children that may be above 0: only these are projected one by one. Rows are processed
two at a time where both are complete: the values of each position are then read and written once
for both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.chacha import LANES, lanes
from geodp.kernels.jit import bare, bare_inline, part
from geodp.kernels.noise import BUCKET_BITS, UNDECIDED, NoiseTable, look_up, resolve
from geodp.kernels.pyramid.edges import NOWHERE, ROWS, STEP, length_of, pitch_of
from geodp.kernels.pyramid.layout import (
    ABOVE,
    ACTIVE,
    BEGIN,
    CANDIDATES,
    DATUM,
    END,
    FANOUT,
    FIRST,
    GUIDE,
    LAW,
    LOST,
    PREFIX,
    SEVERAL,
    STOP,
    STREAM,
    SUMS,
    THRESHOLDS,
    Levels,
    PassWorkspace,
)

SUB_BITS = 15
"""Binary digits of a draw below those that select its bucket."""


@bare_inline
def wrap(number: np.int64) -> np.int32:
    """Reduce an integer modulo ``2**32`` to int32, without an overflow on the way."""
    return np.int32(((number + 2147483648) & 4294967295) - 2147483648)


@bare_inline
def place_of(child: np.uint64, family: int, shape: tuple[int, int]) -> np.uint64:
    """Return the position of a child: see :mod:`geodp.kernels.pyramid.layout`."""
    size, pitch = shape
    row, part = child % np.uint64(ROWS), child // np.uint64(ROWS)
    return row * np.uint64(pitch) + part * np.uint64(size) + np.uint64(family)


@bare
def draw(
    words: NDArray[np.uint32],
    levels: Levels,
    level: int,
    prefix: NDArray[np.int64],
    workspace: PassWorkspace,
) -> int:
    """Draw the noise of a block's children into ``workspace.noisy``.

    The draws are those of :meth:`geodp.privacy.noise.node.NodeNoise.families`. Draws that 91 digits
    do not decide are ``NOWHERE``. ``workspace.digits``: see :func:`uniform_of`.

    Parameters
    ----------
    words : uint32[8]
        The key.
    levels : Levels
    level : int
        Level of the children.
    prefix : int64[n]
        Prefixes of at most ``LANES`` nodes.
    workspace : PassWorkspace

    Returns
    -------
    int
        Number of undecided draws.
    """
    table = levels.table
    law = NoiseTable(
        levels.value[level << BUCKET_BITS + 1 :][: 1 << BUCKET_BITS + 1],
        levels.first[table[LAW, level] : table[LAW, level + 1]],
        levels.rest[table[LAW, level] : table[LAW, level + 1]],
        levels.guide[table[GUIDE, level] : table[GUIDE, level + 1]],
    )
    bucket = levels.bucket[level << BUCKET_BITS :][: 1 << BUCKET_BITS]
    fanout, stream = table[FANOUT, level], np.uint32(table[STREAM, level])
    size, parts, undecided = prefix.size, -(-fanout // ROWS), 0
    pitch, (state, address), noise = pitch_of(fanout, size), workspace.cipher, workspace.noisy
    # A child's address depends on its node and its own number only, not on the block: so blocks,
    # threads and partitions give the same noise.
    for p in range(parts):
        for n in range(size):
            first_block = np.uint64(prefix[np.uint64(n)]) * np.uint64(parts)
            address[np.uint64(p * size + n)] = first_block + np.uint64(p)
    for start in range(0, pitch, LANES):
        stop = min(start + LANES, pitch)
        lanes(words, stream, np.uint32(0), address[start:stop], state)
        if start == 0:
            _collect_nibbles(state, -(-size // STEP) * STEP, workspace.digits)
        for r in range(min(ROWS, fanout)):
            some = min(length_of(r, fanout, (size, pitch)), stop) - start
            place = np.uint64(r * pitch + start)
            if _look_up_row(state, np.uint64(r * LANES), bucket, noise, place, some):
                family, inside = (r, start, fanout), min(some, parts * size - start)
                word, drawn = state[r * LANES :][:inside], noise[place:][:inside]
                undecided += _finish_row(words, stream, prefix, family, word, law, drawn, workspace)
    return undecided


@bare_inline
def _look_up_row(
    word: NDArray[np.uint32],
    at: np.uint64,
    bucket: NDArray[np.int32],
    drawn: NDArray[np.int32],
    to: np.uint64,
    some: int,
) -> bool:
    """Draw by one comparison each; return whether some are undecided, which are ``NOWHERE``."""
    # A bucket of the first 12 digits with at most one threshold inside needs one comparison and no
    # branch. The lookup is in a loop of its own, so that the arithmetic is vectorised.
    left = np.int32(0)
    for n in range(some):
        i = np.uint64(n)
        above = (word[at + i] >> np.uint32(4 + SUB_BITS)) & np.uint32(4095)
        drawn[to + i] = bucket[np.uint64(above)]
    for n in range(some):
        i = np.uint64(n)
        entry = drawn[to + i]
        below = np.int32((word[at + i] >> np.uint32(4)) & np.uint32((1 << SUB_BITS) - 1))
        edge = np.int32(entry & np.int32(65535))
        sign = -np.int32(word[at + i] >> np.uint32(31))
        magnitude = np.int32(np.int32(entry >> np.int32(16)) + np.int32(below < edge))
        one = np.int32(np.int32(magnitude ^ sign) - sign)
        open_ = (below == edge) | (entry < np.int32(-(1 << 30)))
        drawn[to + i] = np.int32(NOWHERE) if open_ else one
        left = np.int32(left | np.int32(open_))
    return bool(left)


@part
def _finish_row(
    words: NDArray[np.uint32],
    stream: np.uint32,
    prefix: NDArray[np.int64],
    family: tuple[int, int, int],
    word: NDArray[np.uint32],
    law: NoiseTable,
    drawn: NDArray[np.int32],
    workspace: PassWorkspace,
) -> int:
    """Decide by all digits what one comparison left open; return how many stay undecided.

    Arrays of ``workspace`` for later steps are overwritten.
    """
    (r, start, fanout), some = family, np.uint64(0)
    place, node = workspace.scratch[DATUM], workspace.scratch[BEGIN].view(np.uint64)
    for i in range(drawn.size):
        place[some] = i
        some += np.uint64(drawn[np.uint64(i)] == NOWHERE)
    open_words, noise, todo = workspace.mask[:some], workspace.far, workspace.row[THRESHOLDS]
    for e in range(some):
        open_words[e] = word[place[e]]
    left = look_up(open_words, law, noise, todo)
    if left:
        for e in range(left):
            lane = place[todo[e]] + start
            j = lane // prefix.size * ROWS + r
            node[e] = np.uint64(prefix[lane % prefix.size]) * np.uint64(fanout) + np.uint64(j)
        left = resolve(words, stream, node[:left], open_words, law, noise, todo)
        for e in range(left):
            noise[todo[e]] = UNDECIDED
    for e in range(some):
        one = noise[e]
        drawn[place[e]] = NOWHERE if one == UNDECIDED else one
    return left


@bare_inline
def _collect_nibbles(state: NDArray[np.uint32], size: int, digits: NDArray[np.uint32]) -> None:
    """Collect the low nibbles of blocks' 16 words, which no draw uses, eight in each word."""
    for half in range(2):
        for n in range(size):
            digits[half, np.uint64(n)] = np.uint32(0)
        for j in range(8 * half, 8 * half + 8):
            row = np.uint64(j * LANES)
            for n in range(size):
                i = np.uint64(n)
                nibble = state[row + i] & np.uint32(15)
                digits[half, i] = np.uint32(digits[half, i] << np.uint32(4)) | nibble


@bare_inline
def uniform_of(digits: NDArray[np.uint32], family: np.uint64) -> float:
    """Return a family's uniform number in [0, 1), like :func:`geodp.kernels.noise.uniform`."""
    upper = np.uint64(digits[0, family]) << np.uint64(32)
    return float(np.float64((upper | np.uint64(digits[1, family])) >> np.uint64(11)) * 2.0**-53)


@bare
def add_counts(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    shape: tuple[int, int],
    key: NDArray[np.uint64],
    cumulative: NDArray[np.int64],
    noisy: NDArray[np.int32],
    scratch: NDArray[np.int64],
) -> int:
    """Add the true counts of a block's children to their noise, as integers modulo ``2**32``.

    Parameters
    ----------
    nodes : int64[5, .]
    block : int, int
        First of the block's nodes, and their number.
    shape : int, int
        Children of a node, and keys of each: child j has those from
        ``(prefix * fanout + j) * stride`` on.
    key, cumulative : uint64[m], int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    noisy : int32[.], changed
        Noise of the children; afterwards their noisy counts.
    scratch : int64[3, .], written

    Returns
    -------
    int
        The largest count of a node.
    """
    # Modulo 2**32 nothing is lost: if a count does not fit, `widen` subtracts it again, modulo
    # 2**32, to recover the noise, and adds both in 64 bits.
    (fanout, stride), (first, families) = shape, block
    datum, begin, end, largest = scratch[DATUM], scratch[BEGIN], scratch[END], 0
    one, step, with_data = np.uint64(1), np.uint64(fanout), 0
    pitch, shift = pitch_of(fanout, families), np.uint64(0)
    while (stride >> np.int64(shift)) > 1:
        shift += one
    even = stride == 1 << np.int64(shift)
    for f in range(families):
        node = np.uint64(first + f)
        low, after = np.uint64(nodes[FIRST, node]), np.uint64(nodes[STOP, node])
        datum[np.uint64(f)] = -1
        if low == after:
            continue
        datum[np.uint64(f)] = with_data
        largest = max(largest, cumulative[after] - cumulative[low])
        at = np.uint64(with_data * fanout)
        with_data += 1
        bound = np.uint64(nodes[PREFIX, node]) * step * np.uint64(stride)
        # With few data each is assigned to its child; otherwise every child's end is searched for.
        if after - low <= step:
            for j in range(step):
                begin[at + j], end[at + j] = np.int64(after), 0
            for e in range(low, after):
                j = (key[e] - bound) >> shift if even else (key[e] - bound) // np.uint64(stride)
                place = place_of(j, f, (families, pitch))
                noisy[place] = wrap(np.int64(noisy[place]) + cumulative[e + one] - cumulative[e])
                begin[at + j] = min(begin[at + j], np.int64(e))
                end[at + j] = np.int64(e + one)
            continue
        for j in range(step):
            begin[at + j] = np.int64(low)
            # This may be 2**64, that is 0: keys are compared with the last key of the child.
            bound = bound + np.uint64(stride)
            position, left = low, after - low
            while left > np.uint64(0):  # without a branch on the data
                half = (left + one) >> one
                position += half * np.uint64(key[position + half - one] <= bound - one)
                left -= half
            end[at + j] = np.int64(position if position > low else np.uint64(0))
            if position > low:
                place = place_of(np.uint64(j), f, (families, pitch))
                noisy[place] = wrap(np.int64(noisy[place]) + cumulative[position] - cumulative[low])
            low = position
    return int(largest)


@bare
def widen(
    fanout: int,
    families: int,
    cumulative: NDArray[np.int64],
    noisy: NDArray[np.int32],
    scratch: NDArray[np.int64],
    far: NDArray[np.int64],
) -> None:
    """Compute noisy counts of 64 bits, for a block in which rows of 32 bits do not hold them.

    Parameters
    ----------
    fanout, families : int
        Shape of the block.
    cumulative : int64[m + 1]
        Prefix sums of the counts of the data.
    noisy : int32[.]
        As :func:`add_counts` leaves it: subtracting the counts gives the noise.
    scratch : int64[3, .]
        From :func:`add_counts`.
    far : int64[.], changed
        The noise where it was ``NOWHERE``; afterwards the noisy counts.
    """
    shape = families, pitch_of(fanout, families)
    datum, begin, end = scratch[DATUM], scratch[BEGIN], scratch[END]
    for f in range(families):
        for j in range(fanout):
            at, count, here = place_of(np.uint64(j), f, shape), 0, datum[f] * fanout + j
            if datum[f] >= 0 and end[here] > 0:
                count = cumulative[end[here]] - cumulative[begin[here]]
            drawn = np.int64(wrap(np.int64(noisy[at]) - count))
            far[at] = count + (far[at] if drawn == NOWHERE else drawn)


ROUNDS = 3
"""Most rounds of projections here; few families need more, and these continue one by one."""


@bare_inline
def pairs_of(fanout: int) -> int:
    """Return the number of rows that are processed in pairs: those with children of all parts."""
    return ((fanout - 1) % ROWS + 1) // 2 * 2


@bare
def find_candidates(
    total: NDArray[np.int64],
    fanout: int,
    noisy: NDArray[np.int32],
    spread: NDArray[np.float64],
    row: NDArray[np.int32],
    mask: NDArray[np.uint32],
) -> None:
    """Select the children that some possible tau leaves above 0, and sum all children.

    Parameters
    ----------
    total : int64[n]
        Totals of the families.
    fanout : int
    noisy : int32[.]
        Noisy counts; ``NOWHERE``: the child contains no cell.
    spread : float64[fanout + 1]
        Variances of sums of 0, 1, 2 ... to all children's measurements.
    row : int32[6, .], written
        ``SUMS``: sums of each family's children modulo ``2**32``, including those with
        ``NOWHERE``; and ``CANDIDATES``.
    mask : uint32[.], written
        Word w of family f at ``w * n + f``.
    """
    # A family's largest child gets at most the total, so tau is at least the excess. With one
    # variance for all this is `shares.could_be_above_zero` in integers, with the same result.
    size, parts = total.size, -(-fanout // ROWS)
    _add_rows(size, fanout, noisy, row)
    noise_variance = spread[np.uint64(1)]
    for f in range(size):
        i = np.uint64(f)
        excess = np.int64(row[THRESHOLDS, i]) - total[i]
        minimum = np.int32(excess) if excess > 0 else np.int32(NOWHERE)
        lost = np.int64(row[LOST, i])
        every = np.float64(wrap(np.int64(row[SUMS, i]) + (lost << 31)))
        tau = (every - np.float64(total[i])) / spread[np.uint64(fanout - lost)]
        row[THRESHOLDS, i] = max(
            minimum, np.int32(max(np.floor(tau * noise_variance), np.float64(NOWHERE)))
        )
    for n in range(size, parts * size):
        row[THRESHOLDS, np.uint64(n)] = row[THRESHOLDS, np.uint64(n - size)]
    raise_thresholds(total, fanout, noisy, spread, row)
    _set_mask(size, fanout, noisy, row, mask)


@part
def _add_rows(size: int, fanout: int, noisy: NDArray[np.int32], row: NDArray[np.int32]) -> None:
    """Find the largest child of every family, as ``THRESHOLDS``, and the sums."""
    pitch, pairs = pitch_of(fanout, size), pairs_of(fanout)
    for n in range(pitch):
        i = np.uint64(n)
        row[THRESHOLDS, i], row[SUMS, i] = noisy[i], np.int32(0)
    for r in range(0, pairs, 2):
        here, there = np.uint64(r * pitch), np.uint64((r + 1) * pitch)
        for n in range(pitch):
            i = np.uint64(n)
            one, other = noisy[here + i], noisy[there + i]
            row[THRESHOLDS, i] = max(max(one, other), row[THRESHOLDS, i])
            row[SUMS, i] = wrap(np.int64(row[SUMS, i]) + np.int64(one) + np.int64(other))
    for r in range(pairs, min(ROWS, fanout)):
        here = np.uint64(r * pitch)
        for n in range(length_of(r, fanout, (size, pitch))):
            i = np.uint64(n)
            one = noisy[here + i]
            row[THRESHOLDS, i] = max(one, row[THRESHOLDS, i])
            row[SUMS, i] = wrap(np.int64(row[SUMS, i]) + np.int64(one))
    for p in range(1, -(-fanout // ROWS)):
        part = np.uint64(p * size)
        for f in range(size):
            i = np.uint64(f)
            row[THRESHOLDS, i] = max(row[THRESHOLDS, part + i], row[THRESHOLDS, i])
            row[SUMS, i] = wrap(np.int64(row[SUMS, i]) + np.int64(row[SUMS, part + i]))


@part
def raise_thresholds(
    total: NDArray[np.int64],
    fanout: int,
    noisy: NDArray[np.int32],
    spread: NDArray[np.float64],
    row: NDArray[np.int32],
) -> None:
    """Raise the thresholds of a block's families by the first rounds of their projections.

    Parameters
    ----------
    total : int64[n]
        Totals of the families, above 0: so at least one child stays above every threshold.
    fanout : int
    noisy : int32[.]
        Noisy counts, by rows; sums of any of them fit 32 bits.
    spread : float64[fanout + 1]
        Variances of sums of 0, 1, 2 ... to all children's measurements.
    row : int32[6, .], changed
        With ``THRESHOLDS``, once for each of a family's parts.
    """
    # The same rounds as in `shares.project`, which continues from here: sums of integers are exact
    # in any order, so tau is the same. An integer is above tau times the variance exactly if it is
    # above that product rounded down, and tau never falls.
    size, parts = total.size, -(-fanout // ROWS)
    noise_variance, before = spread[np.uint64(1)], np.int64(-1)
    noise_sd, full = np.int64(np.sqrt(noise_variance)), np.int64(0)
    for f in range(size):
        full += np.int64(total[np.uint64(f)] > noise_sd)
    # Families with totals below the noise have few candidates already.
    if 2 * full < size:
        return
    for _ in range(ROUNDS):
        _sum_above_thresholds(size, fanout, noisy, row)
        active = np.int64(0)
        for f in range(size):
            i = np.uint64(f)
            above, goal = np.float64(row[ABOVE, i]), np.float64(total[i])
            tau = (above - goal) / spread[np.uint64(row[ACTIVE, i])]
            floor = np.int32(max(np.floor(tau * noise_variance), np.float64(NOWHERE)))
            row[THRESHOLDS, i] = max(row[THRESHOLDS, i], floor)
            active += np.int64(row[ACTIVE, i])
        for n in range(size, parts * size):
            row[THRESHOLDS, np.uint64(n)] = row[THRESHOLDS, np.uint64(n - size)]
        if active == before:
            return
        before = active


@part
def _sum_above_thresholds(
    size: int, fanout: int, noisy: NDArray[np.int32], row: NDArray[np.int32]
) -> None:
    """Sum and count every family's children above its threshold."""
    pitch, pairs = pitch_of(fanout, size), pairs_of(fanout)
    for n in range(pitch):
        i = np.uint64(n)
        row[ABOVE, i], row[ACTIVE, i] = np.int32(0), np.int32(0)
    for r in range(0, pairs, 2):
        here, there = np.uint64(r * pitch), np.uint64((r + 1) * pitch)
        for n in range(pitch):
            i = np.uint64(n)
            one, other, bar = noisy[here + i], noisy[there + i], row[THRESHOLDS, i]
            row[ABOVE, i] += one if one > bar else np.int32(0)
            row[ABOVE, i] += other if other > bar else np.int32(0)
            row[ACTIVE, i] += np.int32(one > bar)
            row[ACTIVE, i] += np.int32(other > bar)
    for r in range(pairs, min(ROWS, fanout)):
        here = np.uint64(r * pitch)
        for n in range(length_of(r, fanout, (size, pitch))):
            i = np.uint64(n)
            one = noisy[here + i]
            row[ABOVE, i] += one if one > row[THRESHOLDS, i] else np.int32(0)
            row[ACTIVE, i] += np.int32(one > row[THRESHOLDS, i])
    for p in range(1, -(-fanout // ROWS)):
        part = np.uint64(p * size)
        for f in range(size):
            i = np.uint64(f)
            row[ABOVE, i] += row[ABOVE, part + i]
            row[ACTIVE, i] += row[ACTIVE, part + i]


@part
def _set_mask(
    size: int,
    fanout: int,
    noisy: NDArray[np.int32],
    row: NDArray[np.int32],
    mask: NDArray[np.uint32],
) -> None:
    """Set the mask's bits of the children above their thresholds, and write ``CANDIDATES``."""
    pitch, pairs, unit = pitch_of(fanout, size), pairs_of(fanout), SEVERAL // 2
    for n in range(pitch):
        i = np.uint64(n)
        mask[i], row[CANDIDATES, i] = np.uint32(0), np.int32(0)
    for r in range(0, pairs, 2):
        here, bit, one = np.uint64(r * pitch), np.uint32(1 << r), np.int32(unit + r)
        there, second, other = np.uint64((r + 1) * pitch), np.uint32(2 << r), np.int32(one + 1)
        for n in range(pitch):
            i = np.uint64(n)
            bar = row[THRESHOLDS, i]
            some, more = noisy[here + i] > bar, noisy[there + i] > bar
            mask[i] |= bit if some else np.uint32(0)
            mask[i] |= second if more else np.uint32(0)
            row[CANDIDATES, i] += one if some else np.int32(0)
            row[CANDIDATES, i] += other if more else np.int32(0)
    for r in range(pairs, min(ROWS, fanout)):
        here, bit, one = np.uint64(r * pitch), np.uint32(1 << r), np.int32(unit + r)
        for n in range(length_of(r, fanout, (size, pitch))):
            i = np.uint64(n)
            some = noisy[here + i] > row[THRESHOLDS, i]
            mask[i] |= bit if some else np.uint32(0)
            row[CANDIDATES, i] += one if some else np.int32(0)
    for p in range(1, -(-fanout // ROWS)):
        part = np.uint64(p * size)
        for f in range(size):
            i = np.uint64(f)
            more_here = row[CANDIDATES, part + i]
            many = np.int32(more_here // np.int32(unit))
            row[CANDIDATES, i] += np.int32(more_here + many * np.int32(ROWS * p))
