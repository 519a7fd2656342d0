"""Secret keys, and exact discrete Laplace noise addressed by key, stream and node.

The noise format (cipher, addresses, use of the bits) has a version, ``NOISE_FORMAT``; a kept
key and the same version reproduce a release bit for bit on any machine.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, UsageError
from geodp.kernels import chacha
from geodp.kernels import noise as kernels

NOISE_FORMAT = "chacha20-laplace-1"
"""Version of the map from (key, stream, node) to noise."""

LARGEST_SCALE = 100_000
"""Largest scale of the discrete Laplace noise for which a table is built."""

_TAIL_BITS = 24  # the table reaches P(|Z| >= g) < 2**-24; rarer draws are decided one by one


class Stream(enum.IntEnum):
    """Domain separation inside one key: each use of noise has its own number."""

    TOPDOWN_TOTAL = 1
    TOPDOWN_DETAIL = 2
    CONTINUOUS = 3


class NoiseKey:
    """256 secret bits from which all noise of a release is computed.

    Parameters
    ----------
    secret : bytes
        Exactly 32 bytes. A key typed into a program is no secret: a release made with it is
        stamped NOT PRIVATE. Use :meth:`generate` (forgotten after the run) or
        :meth:`from_file` (an office's kept key).

    Examples
    --------
    >>> NoiseKey.generate()
    NoiseKey(entropy, redacted)
    """

    __slots__ = ("_secret", "origin")

    def __init__(self, secret: bytes, *, _origin: str = "fixed") -> None:
        if not isinstance(secret, (bytes, bytearray)) or len(secret) != 32:
            raise UsageError(
                "A noise key must be exactly 32 bytes; "
                "NoiseKey.generate() makes one from the operating system's entropy."
            )
        self._secret = bytes(secret)
        self.origin = _origin

    @classmethod
    def generate(cls) -> NoiseKey:
        """A fresh key from the operating system's entropy."""
        return cls(secrets.token_bytes(32), _origin="entropy")

    @classmethod
    def from_file(cls, path: str | Path) -> NoiseKey:
        """A kept key: a text file with 64 hexadecimal digits.

        Raises
        ------
        InputError
            The file cannot be read or does not hold exactly 32 bytes in hexadecimal.
        """
        try:
            text = Path(path).read_text(encoding="ascii").strip()
            secret = bytes.fromhex(text)
        except OSError as error:
            raise InputError(
                f"The key file cannot be read ({error.strerror}).", file=str(path)
            ) from None
        except ValueError:
            secret = b""
        if len(secret) != 32:
            raise InputError(
                "A key file holds 32 bytes as 64 hexadecimal digits and nothing else; "
                "`geodp key FILE` makes one.",
                file=str(path),
            )
        return cls(secret, _origin="file")

    def derive(self, digest: bytes) -> NoiseKey:
        """The key of one release: HKDF-SHA256 (RFC 5869) of this key and a digest.

        With a digest of the input and of every parameter, the same input gives the same
        release again, and different inputs never share noise.
        """
        extracted = hmac.digest(b"geodp release key", self._secret, "sha256")
        expanded = hmac.digest(extracted, digest + b"\x01", "sha256")
        return NoiseKey(expanded, _origin=self.origin)

    def words(self) -> NDArray[np.uint32]:
        """The key as ChaCha20 takes it: uint32[8]."""
        return np.frombuffer(self._secret, dtype="<u4").astype(np.uint32)

    def __repr__(self) -> str:
        return f"NoiseKey({self.origin}, redacted)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A NoiseKey is never pickled: it would leave the process in the clear.")


def blocks(
    key: NoiseKey, stream: int, address: NDArray[np.uint64], counter: int = 0
) -> NDArray[np.uint64]:
    """Key-stream blocks of addresses: uint64[8, n], see :func:`geodp.kernels.chacha.blocks`."""
    out = np.empty((8, address.size), np.uint64)
    chacha.blocks(key.words(), np.uint32(stream), np.uint32(counter), address, out)
    return out


def _exp_interval(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers low <= 2**bits * exp(-x) <= high for a rational x >= 0, close together."""
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)
    work = bits + 2 * halvings + 32
    numerator, denominator = x.numerator, x.denominator << halvings
    term = total = 1 << work
    terms = 0
    while term:  # alternating series of exp(-y), y <= 1/2; every term is rounded down
        terms += 1
        term = term * numerator // (denominator * terms)
        total += -term if terms % 2 else term
    low, high = total - 2 * terms - 2, total + 2 * terms + 2
    for _ in range(halvings):
        low, high = (low * low) >> work, ((high * high) >> work) + 1
    return max(low, 0) >> (work - bits), (high >> (work - bits)) + 1


@dataclass(frozen=True, eq=False, slots=True)
class DiscreteLaplace:
    """The law P(z) proportional to exp(-|z| / scale) on the integers, sampled exactly.

    Exact means: every draw is the inverse of the distribution function at a uniform number of
    as many bits as it takes. No floating-point number decides a draw; a comparison that 63 bits
    cannot decide, and every draw beyond the table, is decided by further bits of the same node.

    Attributes
    ----------
    exponent : Fraction
        1 / scale.
    threshold : uint64[t]
        ``floor(2**63 * P(|Z| >= j + 1))``.
    guide : int64[2**12 + 1]
        Bounds of the search, see :func:`geodp.kernels.noise.laplace`.
    """

    exponent: Fraction
    threshold: NDArray[np.uint64]
    guide: NDArray[np.int64]

    @classmethod
    def of_scale(cls, scale: Fraction) -> DiscreteLaplace:
        """The law of a rational scale above 0 and at most ``LARGEST_SCALE``."""
        if not 0 < scale <= LARGEST_SCALE:
            raise UsageError(
                f"The noise would have a scale outside (0, {LARGEST_SCALE}]; "
                "choose a larger epsilon or a smaller domain."
            )
        return _table(1 / Fraction(scale))

    @property
    def variance(self) -> float:
        """Exact variance ``2 q / (1 - q)**2``, ``q = exp(-1 / scale)``."""
        return float(1 / (2 * np.sinh(float(self.exponent) / 2) ** 2))

    def tail(self, g: int, bits: int) -> tuple[int, int]:
        """Integers around ``2**bits * P(|Z| >= g)``, ``P = 2 q**g / (1 + q)``, g >= 1."""
        low, high = _exp_interval(self.exponent * g, bits + 8)
        one = 1 << (bits + 8)
        q_low, q_high = _exp_interval(self.exponent, bits + 8)
        return (
            (2 * low * one // (one + q_high)) >> 8,
            ((2 * high * one // (one + q_low) + 1) >> 8) + 1,
        )

    def magnitude(self, uniform: int, bits: int, more: Iterator[int]) -> int:
        """|Z| of a uniform number, decided exactly.

        Parameters
        ----------
        uniform : int
            The number's first ``bits`` binary digits.
        more : iterator of int
            The digits that follow, 64 at a time, taken only as long as a comparison is open.
        """
        while True:
            decided = self._search(uniform, bits)
            if decided is not None:
                return decided
            uniform, bits = (uniform << 64) | next(more), bits + 64

    def _search(self, uniform: int, bits: int) -> int | None:
        """How many g >= 1 have ``U < P(|Z| >= g)``, or None if the digits do not suffice."""

        def below(g: int) -> bool | None:
            low, high = self.tail(g, bits + 64)
            if (uniform + 1) << 64 <= low:
                return True
            return False if uniform << 64 >= high else None

        reached, beyond = 0, 1
        while (answer := below(beyond)) is not False:
            if answer is None:
                return None
            reached, beyond = beyond, 2 * beyond
        while beyond - reached > 1:
            middle = (reached + beyond) // 2
            answer = below(middle)
            if answer is None:
                return None
            reached, beyond = (middle, beyond) if answer else (reached, middle)
        return reached


@lru_cache(maxsize=16)
def _table(exponent: Fraction) -> DiscreteLaplace:
    """Thresholds by an integer recurrence on a lower and an upper bound of q**g."""
    bits = 63 + 160
    one = 1 << bits
    q_low, q_high = _exp_interval(exponent, bits)
    law = DiscreteLaplace(exponent, np.empty(0, np.uint64), np.empty(0, np.int64))
    thresholds: list[int] = []
    low, high = q_low, q_high
    while True:
        g = len(thresholds) + 1
        floor, ceiling = (2 * low << 63) // (one + q_high), (2 * high << 63) // (one + q_low)
        extra = 64
        while floor != ceiling:  # the bounds straddle an integer: look closer at this one
            bounds = law.tail(g, 63 + extra)
            floor, ceiling = bounds[0] >> extra, bounds[1] >> extra
            extra *= 2
        thresholds.append(floor)
        if floor >> (63 - _TAIL_BITS) == 0:
            break
        low, high = (low * q_low) >> bits, ((high * q_high) >> bits) + 1
    threshold = np.array(thresholds, np.uint64)
    edges = np.arange((1 << kernels.GUIDE_BITS) + 1, dtype=np.uint64)
    edges <<= np.uint64(kernels.GUIDE_SHIFT)
    guide = threshold.size - np.searchsorted(threshold[::-1], edges, side="left")
    return DiscreteLaplace(exponent, threshold, guide.astype(np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class NodeNoise:
    """Discrete Laplace noise and a rounding bit for every node of a binary tree.

    Attributes
    ----------
    key : NoiseKey
    stream : int
        At most 31 bits; the top bit marks the blocks that hold further digits of a draw.
    law : DiscreteLaplace
    """

    key: NoiseKey
    stream: int
    law: DiscreteLaplace

    def blocks(self, address: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Blocks of groups, to be given to :meth:`draw`."""
        return blocks(self.key, self.stream, address)

    def draw(
        self,
        words: NDArray[np.uint64],
        group: NDArray[np.int64],
        slot: NDArray[np.int64],
        node: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Noise and rounding bits of nodes whose groups' blocks are at hand.

        Parameters
        ----------
        words : uint64[8, g]
        group, slot : int64[n]
        node : uint64[n]
            Node ids; read only for a draw that needs further digits.

        Returns
        -------
        noise, rounding : int64[n]
        """
        noise = np.empty(node.size, np.int64)
        rounding = np.empty(node.size, np.int64)
        law = self.law
        if kernels.laplace(words, group, slot, law.threshold, law.guide, noise, rounding):
            for i in np.flatnonzero(noise == kernels.UNDECIDED):
                word = int(words[slot[i], group[i]])
                magnitude = law.magnitude(word & (2**63 - 1), 63, self._digits(node[i]))
                noise[i] = -magnitude if word >> 63 else magnitude
        return noise, rounding

    def at(
        self, node: NDArray[np.uint64], level: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Noise and rounding bits of any nodes of one level: int64[n], int64[n]."""
        address = np.empty_like(node)
        slot = np.empty(node.size, np.int64)
        kernels.locate(node, level, address, slot)
        return self.draw(self.blocks(address), np.arange(node.size), slot, node)

    def _digits(self, node: np.uint64) -> Iterator[int]:
        """Further random digits of a node, 64 at a time."""
        address = np.array([node], np.uint64)
        for counter in range(2**32):
            more = blocks(self.key, self.stream | 1 << 31, address, counter)
            yield from (int(word) for word in more[:, 0])


def digest(*parts: bytes | NDArray[np.generic]) -> bytes:
    """SHA-256 of byte strings and arrays, each preceded by its length."""
    state = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes()
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.digest()
