"""ChaCha20 blocks (RFC 8439) for many addresses at once.

All randomness of a release comes from here: :mod:`geodp.kernels.noise` turns words into draws.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, kernel

LANES = 128
"""Blocks computed together; their 16 words fill 8 KiB, well inside the first-level cache."""


@bare_inline
def _add(a: np.uint32, b: np.uint32) -> np.uint32:
    """Add modulo 2**32."""
    # In 64 bits, so that nothing overflows: interpreted code, which tests run, would warn.
    return np.uint32((np.uint64(a) + np.uint64(b)) & np.uint64(0xFFFFFFFF))


@bare_inline
def _quarter(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Compute one quarter round (RFC 8439, section 2.1)."""
    a = _add(a, b)
    d = np.uint32(d ^ a)
    d = np.uint32((d << np.uint32(16)) | (d >> np.uint32(16)))
    c = _add(c, d)
    b = np.uint32(b ^ c)
    b = np.uint32((b << np.uint32(12)) | (b >> np.uint32(20)))
    a = _add(a, b)
    d = np.uint32(d ^ a)
    d = np.uint32((d << np.uint32(8)) | (d >> np.uint32(24)))
    c = _add(c, d)
    b = np.uint32(b ^ c)
    b = np.uint32((b << np.uint32(7)) | (b >> np.uint32(25)))
    return a, b, c, d


@bare_inline
def _double_round(s):  # type: ignore[no-untyped-def]
    """Compute a column round and a diagonal round (section 2.3) of a tuple of 16 words."""
    # A tuple and no array: the compiler keeps its 16 values in registers.
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15 = s
    x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
    x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
    x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
    x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
    x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
    x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
    x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
    x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    return (x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15)


@bare
def lanes(
    key: NDArray[np.uint32],
    stream: np.uint32,
    counter: np.uint32,
    address: NDArray[np.uint64],
    state: NDArray[np.uint32],
) -> None:
    """Compute the key-stream blocks of some addresses (section 2.3), word j of all side by side.

    Parameters
    ----------
    key, stream, counter
        As for :func:`blocks`.
    address : uint64[n]
        At most ``LANES`` addresses.
    state : uint32[16 * LANES], written
        Word ``j`` of block ``i`` is at ``j * LANES + i``.
    """
    # Callers that read the lanes in place need not gather every block's words, which with wide
    # registers takes longer than the cipher itself.
    for n in range(address.size):
        i = np.uint64(n)  # unsigned: no test for negative indices
        state[i + np.uint64(14 * LANES)] = np.uint32(address[i] & np.uint64(0xFFFFFFFF))
        state[i + np.uint64(15 * LANES)] = np.uint32(address[i] >> np.uint64(32))
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    k4, k5, k6, k7 = key[4], key[5], key[6], key[7]
    c0, c1 = np.uint32(0x61707865), np.uint32(0x3320646E)
    c2, c3 = np.uint32(0x79622D32), np.uint32(0x6B206574)
    # Every load and store of this loop has 32 bits, so that it is vectorised at the full width of
    # the machine (a 64-bit store would halve it); the rounds are written out, as an inner loop
    # would prevent vectorisation.
    for n in range(address.size):
        i = np.uint64(n)
        low, high = state[i + np.uint64(14 * LANES)], state[i + np.uint64(15 * LANES)]
        first = (c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, counter, stream, low, high)
        s = _double_round(_double_round(_double_round(_double_round(_double_round(first)))))
        s = _double_round(_double_round(_double_round(_double_round(_double_round(s)))))
        state[i] = _add(s[0], c0)
        state[i + np.uint64(LANES)] = _add(s[1], c1)
        state[i + np.uint64(2 * LANES)] = _add(s[2], c2)
        state[i + np.uint64(3 * LANES)] = _add(s[3], c3)
        state[i + np.uint64(4 * LANES)] = _add(s[4], k0)
        state[i + np.uint64(5 * LANES)] = _add(s[5], k1)
        state[i + np.uint64(6 * LANES)] = _add(s[6], k2)
        state[i + np.uint64(7 * LANES)] = _add(s[7], k3)
        state[i + np.uint64(8 * LANES)] = _add(s[8], k4)
        state[i + np.uint64(9 * LANES)] = _add(s[9], k5)
        state[i + np.uint64(10 * LANES)] = _add(s[10], k6)
        state[i + np.uint64(11 * LANES)] = _add(s[11], k7)
        state[i + np.uint64(12 * LANES)] = _add(s[12], counter)
        state[i + np.uint64(13 * LANES)] = _add(s[13], stream)
        state[i + np.uint64(14 * LANES)] = _add(s[14], low)
        state[i + np.uint64(15 * LANES)] = _add(s[15], high)


@kernel
def blocks(
    key: NDArray[np.uint32],
    stream: np.uint32,
    counter: np.uint32,
    address: NDArray[np.uint64],
    out: NDArray[np.uint64],
) -> None:
    """Compute the key-stream block of every address.

    The 96-bit nonce is (stream, low word of the address, high word of the address), so that no two
    draws of a key share a block unless stream and address are equal.

    Parameters
    ----------
    key : uint32[8]
    stream, counter : uint32
    address : uint64[n]
    out : uint64[8 * n], written
        Word ``j`` of block ``i`` is at ``8 * i + j``, its bytes read as little-endian; a block
        fills a cache line.
    """
    state = np.empty(16 * LANES, np.uint32)
    for start in range(0, address.size, LANES):
        count = min(LANES, address.size - start)
        lanes(key, stream, counter, address[start : start + count], state)
        for n in range(count):
            i, line = np.uint64(n), np.uint64(8 * (start + n))
            for j in range(8):
                upper = np.uint64(state[np.uint64((2 * j + 1) * LANES) + i]) << np.uint64(32)
                out[line + np.uint64(j)] = np.uint64(state[np.uint64(2 * j * LANES) + i]) | upper
