"""Secret keys, and the random blocks addressed by key, stream and address.

The noise format (cipher, addresses, use of the bits) has a version, ``NOISE_FORMAT``; a kept
key and the same version reproduce a release bit for bit on any machine.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UndeclaredDrawError, UsageError
from geodp.kernels import chacha
from geodp.privacy.key_file import read_key
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws, LawName

NOISE_FORMAT = "chacha20-inverse-3"
"""Version of the map from (key, stream, node, law) to noise."""

_EXTRACT_SALT = b"geodp release key"
_FINGERPRINT_LABEL = b"geodp fingerprint"


class Stream(enum.IntEnum):
    """Domain separation inside one key: each use of noise has its own number."""

    TOPDOWN_TOTAL = 1
    TOPDOWN_DETAIL = 2
    CONTINUOUS = 3
    SAMPLE = 4
    ROUNDING = 5
    LOCAL_ROUNDING = 1 << 8
    """And the numbers that follow: levels of trees that devices report about."""
    PYRAMID = 1 << 12
    """And the numbers that follow: its levels."""
    PARTS = 1 << 13
    """And the numbers that follow: levels of the parts of counts, in one step or two."""
    PARTS_ROUNDING = 1 << 14
    """And the numbers that follow: the rounding of these levels."""
    STAGE = 1 << 16
    """And the numbers that follow: the stages of methods that measure lists."""
    SELECT = 1 << 24
    """And the numbers that follow: draws of one candidate among many."""


FURTHER = 1 << 31
"""Bit of a stream's number that marks its further digits, which belong to the same draws."""

READING = frozenset(Draw(int(stream), UNIFORM) for stream in (Stream.SAMPLE, Stream.ROUNDING))
"""Draws of readers with a kept key itself, before there is a table: samples of a person's records,
and the rounding of fractional counts."""


@final
class NoiseKey:
    """256 secret bits from which all noise of a release is computed.

    A key draws only what was declared for it (:class:`geodp.privacy.noise.draws.Draws`), and raises
    UndeclaredDrawError otherwise. Until something is declared, a private key draws only what
    readers need, and a key that is fixed by a program, which protects nobody, everything.

    The secret is shown nowhere, is neither pickled nor copied, and two keys are equal only if
    they are the same object. It is overwritten by :meth:`forget`, at the end of a ``with``
    statement, and when the object dies.
    Out of reach are the short-lived byte strings from which Python's own libraries hand over a
    new secret: their memory is freed, and overwritten only by its next use.

    Parameters
    ----------
    secret : bytes or bytearray
        Exactly 32 bytes; otherwise UsageError. A key typed into a program is no secret: a
        release made with it is stamped NOT PRIVATE. Use :meth:`generate` (forgotten after the
        run) or :meth:`from_file` (an office's kept key).

    Examples
    --------
    >>> NoiseKey.generate()
    NoiseKey(entropy, redacted)
    """

    __slots__ = ("_draws", "_origin", "_secret")

    def __init__(
        self, secret: bytes | bytearray, *, _origin: str = "fixed", _draws: Draws | None = None
    ) -> None:
        if not isinstance(secret, (bytes, bytearray)) or len(secret) != 32:
            raise UsageError(
                "A noise key must be exactly 32 bytes; "
                "NoiseKey.generate() makes one from the operating system's entropy.",
                code="key-not-32-bytes",
            )
        # A bytearray, as bytes could not be overwritten later.
        self._secret = bytearray(secret)
        self._origin = _origin
        self._draws = _draws

    @classmethod
    def generate(cls) -> NoiseKey:
        """Draw a fresh key from the operating system's entropy."""
        return cls(secrets.token_bytes(32), _origin="entropy")

    @classmethod
    def from_file(cls, path: str | Path) -> NoiseKey:
        """Return a kept key: a text file with 64 hexadecimal digits, which only its owner can use.

        Raises
        ------
        InputError
            See :func:`geodp.privacy.key_file.read_key`.
        """
        secret = read_key(path)
        try:
            return cls(secret, _origin="file")
        finally:
            secret[:] = bytes(len(secret))

    @property
    def origin(self) -> str:
        """``"entropy"``, ``"file"`` or ``"fixed"``: where the secret came from."""
        return self._origin

    def derive(self, digest: bytes, draws: Draws | None = None) -> NoiseKey:
        """Derive the key of one release: HKDF-SHA256 (RFC 5869) of this key and a digest.

        With a digest of the input and of every parameter, the same input gives the same
        release again, and different inputs never share noise.

        Parameters
        ----------
        digest : bytes
            32 bytes, see :func:`digest`; otherwise UsageError.
        draws : Draws, optional
            What may be drawn with the derived key. Where something was declared for this key, that
            declaration says it, and another one is refused with UndeclaredDrawError.
        """
        if self._draws is not None:
            declared = self._draws.of_derived(digest)
            if draws is not None and draws != declared:
                raise UndeclaredDrawError(
                    "This derived key was declared with other draws.",
                    code="derived-draws-redeclared",
                )
            draws = declared
        return NoiseKey(self._expand(b"", digest), _origin=self._origin, _draws=draws)

    def restrict(self, draws: Draws) -> NoiseKey:
        """Return a copy that draws what is declared and nothing else; the caller forgets both.

        Raises UndeclaredDrawError where something else was declared for this key before.
        """
        if self._draws is not None and draws != self._draws:
            raise UndeclaredDrawError(
                "This key was declared with other draws before.", code="draws-redeclared"
            )
        return NoiseKey(self._hold(), _origin=self._origin, _draws=draws)

    def require(self, *draws: Draw) -> None:
        """Raise UndeclaredDrawError where some draws, or draws of no name, are not this key's."""
        # A fixed key protects nobody, so tests may draw whatever they like with it.
        if self._draws is None and self._origin == "fixed":
            return
        if not draws:
            raise UndeclaredDrawError(
                "A draw must name its stream and its law.", code="draw-unnamed"
            )
        allowed = READING if self._draws is None else self._draws.direct
        if not allowed.issuperset(draws):
            Draws(allowed).require(*draws)

    def fingerprint(self, digest: bytes) -> str:
        """64 hexadecimal digits that recognise a replay in a ledger.

        The same key and digest give the same fingerprint. To anyone without the key it is
        random, and independent of the derived key (another expansion of HKDF-SHA256), so it
        may be public even where a digest of the input could be guessed.
        """
        return self._expand(_FINGERPRINT_LABEL, digest).hex()

    def _expand(self, label: bytes, digest: bytes) -> bytes:
        """HKDF-SHA256 to 32 bytes; labels of different lengths give different ``info``."""
        if len(digest) != 32:
            raise UsageError(
                "A digest has exactly 32 bytes; digest() makes one.", code="digest-not-32-bytes"
            )
        # Extract and expand of RFC 5869; one block of output, so the counter is always 1.
        extracted = hmac.digest(_EXTRACT_SALT, self._hold(), "sha256")
        return hmac.digest(extracted, label + digest + b"\x01", "sha256")

    def words(self) -> NDArray[np.uint32]:
        """Return the key as ChaCha20 takes it: uint32[8], a copy that the caller overwrites.

        For handing the key to another process; draws go through :func:`expose`.
        """
        # ChaCha20 reads its key as little-endian words, on every machine.
        return np.frombuffer(self._hold(), dtype="<u4").astype(np.uint32)

    def forget(self) -> None:
        """Overwrite the secret; whatever needs it afterwards raises UsageError."""
        self._secret[:] = bytes(len(self._secret))
        self._secret = bytearray()

    def __enter__(self) -> NoiseKey:
        return self

    def __exit__(self, *error: object) -> None:
        self.forget()

    def _hold(self) -> bytearray:
        if not self._secret:
            raise UsageError(
                "This noise key was forgotten; no noise can be drawn from it.", code="key-forgotten"
            )
        return self._secret

    def __del__(self) -> None:
        # Best effort: Python may have copied the bytes, but the object's own memory is overwritten.
        if hasattr(self, "_secret"):  # not so where the constructor refused the secret
            self.forget()

    def __repr__(self) -> str:
        return f"NoiseKey({self._origin}, redacted)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A NoiseKey is never pickled: it would leave the process in the clear.")


def blocks(
    key: NoiseKey,
    stream: int,
    address: NDArray[np.uint64],
    counter: int = 0,
    *,
    law: LawName = UNIFORM,
) -> NDArray[np.uint64]:
    """Compute the key-stream blocks of addresses; row i has word i of each block: uint64[8, n].

    ``law``: of the numbers that are made of these digits, which the key must allow.
    """
    out = np.empty(8 * address.size, np.uint64)
    lines(key, stream, address, out, counter, law=law)
    return out.reshape(-1, 8).T


def lines(
    key: NoiseKey,
    stream: int,
    address: NDArray[np.uint64],
    out: NDArray[np.uint64],
    counter: int = 0,
    *,
    law: LawName = UNIFORM,
) -> None:
    """Write key-stream blocks into ``out``, one after the other: uint64[8 * n]."""
    with expose(key, Draw(int(stream) & ~FURTHER, law)) as words:
        chacha.blocks(words, np.uint32(stream), np.uint32(counter), address, out)


def draw_digits(key: NoiseKey, stream: int, item: int, law: LawName = UNIFORM) -> Iterator[int]:
    """Yield further random digits of an item or a node, 64 at a time.

    ``law``: of what is decided by them.
    """
    address = np.array([item], np.uint64)
    for counter in range(2**32):
        # A stream of its own: digits of the first block belong to other items as well.
        more = blocks(key, int(stream) | FURTHER, address, counter, law=law)
        yield from (int(word) for word in more[:, 0])


@contextmanager
def expose(key: NoiseKey, *draws: Draw) -> Iterator[NDArray[np.uint32]]:
    """Lend a key's words to a kernel for some draws, and overwrite them afterwards.

    Raises UndeclaredDrawError where these are not the key's: see :meth:`NoiseKey.require`.
    """
    key.require(*draws)
    words = key.words()
    try:
        yield words
    finally:
        # Also after an error in the kernel: the copy must not outlive the call.
        words.fill(0)


def digest(
    *parts: bytes | NDArray[np.generic] | tuple[int, Iterable[NDArray[np.generic]]],
) -> bytes:
    """Compute the SHA-256 of byte strings and arrays, each preceded by its length.

    A pair is the length in bytes of an array, and its pieces in order.
    """
    state = hashlib.sha256()
    for part in parts:
        pieces: Iterable[bytes | NDArray[np.generic]]
        if isinstance(part, tuple):
            length, pieces = part
        else:
            length, pieces = part.nbytes if isinstance(part, np.ndarray) else len(part), [part]
        # Without the lengths, different splits of the same bytes would have one digest, and share
        # noise.
        state.update(length.to_bytes(8, "little"))
        for piece in pieces:
            state.update(piece if isinstance(piece, bytes) else np.ascontiguousarray(piece).data)
    return state.digest()
