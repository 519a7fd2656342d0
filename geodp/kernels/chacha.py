"""ChaCha20 blocks (RFC 8439) for many addresses at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp._jit import inlined, kernel


@inlined
def _quarter(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """One quarter round (RFC 8439, section 2.1)."""
    a = np.uint32(a + b)
    d = np.uint32(d ^ a)
    d = np.uint32((d << np.uint32(16)) | (d >> np.uint32(16)))
    c = np.uint32(c + d)
    b = np.uint32(b ^ c)
    b = np.uint32((b << np.uint32(12)) | (b >> np.uint32(20)))
    a = np.uint32(a + b)
    d = np.uint32(d ^ a)
    d = np.uint32((d << np.uint32(8)) | (d >> np.uint32(24)))
    c = np.uint32(c + d)
    b = np.uint32(b ^ c)
    b = np.uint32((b << np.uint32(7)) | (b >> np.uint32(25)))
    return a, b, c, d


@inlined
def _double_round(s):  # type: ignore[no-untyped-def]
    """Four column rounds and four diagonal rounds (section 2.3) on a tuple of 16 words."""
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


@inlined
def _join(a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32) -> np.uint64:
    """Add the words of the first state (section 2.3) and pair two of them."""
    return np.uint64(np.uint32(a + b)) | (np.uint64(np.uint32(c + d)) << np.uint64(32))


@kernel
def blocks(
    key: NDArray[np.uint32],
    stream: np.uint32,
    counter: np.uint32,
    address: NDArray[np.uint64],
    out: NDArray[np.uint64],
) -> None:
    """Write the key-stream block of every address.

    The 96-bit nonce is (stream, low word of the address, high word of the address).
    The rounds are written out because a loop over them would keep the outer loop
    from being vectorised.

    Parameters
    ----------
    key : uint32[8]
    stream, counter : uint32
    address : uint64[n]
    out : uint64[n, 8], written
        Word ``j`` of block ``i`` at ``out[i, j]``: the block's bytes read little-endian.
    """
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    k4, k5, k6, k7 = key[4], key[5], key[6], key[7]
    c0, c1 = np.uint32(0x61707865), np.uint32(0x3320646E)
    c2, c3 = np.uint32(0x79622D32), np.uint32(0x6B206574)
    r0, r1, r2, r3 = out[0], out[1], out[2], out[3]
    r4, r5, r6, r7 = out[4], out[5], out[6], out[7]
    for n in range(address.size):
        i = np.uint64(n)  # unsigned: no test for negative indices, so the loop vectorises
        low = np.uint32(address[i] & np.uint64(0xFFFFFFFF))
        high = np.uint32(address[i] >> np.uint64(32))
        first = (c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, counter, stream, low, high)
        s = _double_round(_double_round(_double_round(_double_round(_double_round(first)))))
        s = _double_round(_double_round(_double_round(_double_round(_double_round(s)))))
        r0[i] = _join(s[0], first[0], s[1], first[1])
        r1[i] = _join(s[2], first[2], s[3], first[3])
        r2[i] = _join(s[4], first[4], s[5], first[5])
        r3[i] = _join(s[6], first[6], s[7], first[7])
        r4[i] = _join(s[8], first[8], s[9], first[9])
        r5[i] = _join(s[10], first[10], s[11], first[11])
        r6[i] = _join(s[12], first[12], s[13], first[13])
        r7[i] = _join(s[14], first[14], s[15], first[15])
