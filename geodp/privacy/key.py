"""Secret keys, the random blocks addressed by key, stream and address, and the files of keys.

The noise format (cipher, addresses, use of the bits) has a version, ``NOISE_FORMAT``; a kept
key and the same version reproduce a release bit for bit on any machine.

On POSIX systems a key file must be a regular one, not a symbolic link, owned by the user who reads
it or by root, and closed to everybody else, as `geodp key` makes it. Windows has access lists
instead of such owners and permission bits, which are not checked: there only the kind and the
content of the file are, and the operator, who is responsible for the list, gets one warning per
place.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import os
import secrets
import stat
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from geodp.errors import AccessWarning, InputError, UndeclaredDrawError, UsageError
from geodp.kernels import chacha
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws, LawName


def has_owners() -> bool:
    """Whether this system has owners and permission bits, as POSIX has."""
    return hasattr(os, "geteuid")


def warn_access_unchecked(path: str | Path) -> None:
    """Warn that access to a path is not checked, where the system has no permission bits."""
    if not has_owners():
        warnings.warn(
            f"Access to {path} is not checked: this system has no permission bits. Make sure that "
            "only you are in its access list.",
            AccessWarning,
            stacklevel=2,
        )


DIGITS = 64
MIN_DISTINCT = 16
"""Smallest number of distinct bytes, and of steps between bytes; 32 random bytes have fewer in
less than one of 2**50 keys."""

_HEX = b"0123456789abcdef"
_VALUE = {ord(digit): int(digit, 16) for digit in "0123456789abcdefABCDEF"}


def format_key(secret: bytes | bytearray | memoryview) -> bytearray:
    """Return 32 bytes as a key file holds them; the caller overwrites it."""
    text = bytearray(DIGITS + 1)
    for place, byte in enumerate(secret):
        text[2 * place], text[2 * place + 1] = _HEX[byte >> 4], _HEX[byte & 15]
    text[DIGITS] = ord("\n")
    return text


def write_key(path: str | Path, secret: bytes | bytearray | memoryview) -> None:
    """Write 32 bytes into a new file that only its owner can use; OSError where that fails.

    The file is there before it is whole: where a process that is killed must leave nothing,
    what :func:`format_key` returns is written by :func:`geodp.io.folder.atomic.write_atomically`.
    """
    text = format_key(secret)
    try:
        handle = os.open(path, _flags(os.O_WRONLY | os.O_CREAT | os.O_EXCL), 0o600)
        with os.fdopen(handle, "wb", buffering=0) as file:
            file.write(text)
            os.fsync(file.fileno())  # others who wait for it see the whole of it
    finally:
        text[:] = bytes(len(text))


def read_key(path: str | Path) -> bytearray:
    """Read the 32 bytes of a key file, 64 hexadecimal digits and perhaps a line's end.

    Returns
    -------
    bytearray
        The caller overwrites it.

    Raises
    ------
    InputError
        The file cannot be read, could be read or replaced by others, is no regular file, or holds
        something else, or a key that nobody drew at random.
    """
    handle = _open(path)
    text = bytearray(DIGITS + 3)
    try:
        _require_private(handle, path)
        with os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
            size = file.readinto(text) or 0
        return _decode(memoryview(text)[:size], path)
    finally:
        os.close(handle)
        text[:] = bytes(len(text))


def _flags(flags: int) -> int:
    """Add the flags that refuse links and do not block on pipes, where the system has them."""
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    return flags


def _open(path: str | Path) -> int:
    try:
        # O_NOFOLLOW refuses a link as well, but not on every system, and with a less helpful error.
        if os.path.islink(path):
            raise InputError(
                "A key file must not be a symbolic link, which others could redirect; name the "
                "file itself.",
                file=str(path),
                code="key-file-is-link",
            )
        return os.open(path, _flags(os.O_RDONLY))
    except OSError as error:
        raise InputError(
            f"The key file cannot be read ({error.strerror}).",
            file=str(path),
            code="key-file-unreadable",
        ) from None


def _require_private(handle: int, path: str | Path) -> None:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            "A key file must be a regular file.", file=str(path), code="key-file-not-regular"
        )
    if not has_owners():
        warn_access_unchecked(path)
        return
    # Root can read and replace every file anyway, so a file of root's adds no risk.
    if status.st_uid not in (os.geteuid(), 0):
        raise InputError(
            "The key file belongs to another user, who can read and replace it; use a key of your "
            "own, which `geodp key FILE` makes.",
            file=str(path),
            code="key-file-of-other-user",
        )
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise InputError(
            "Other users may read the key file, and whoever has the key can remove the noise from "
            f"its releases: if nobody has read it, run chmod 600 {Path(path).name}; otherwise make "
            "a new key.",
            file=str(path),
            code="key-file-shared",
        )


def _decode(text: memoryview, path: str | Path) -> bytearray:
    rest = bytes(text[DIGITS:])
    digits = [_VALUE.get(digit, -1) for digit in text[:DIGITS]]
    if len(digits) != DIGITS or min(digits) < 0 or rest not in (b"", b"\n", b"\r\n"):
        raise InputError(
            "A key file holds 32 bytes as 64 hexadecimal digits and nothing else; "
            "`geodp key FILE` makes one.",
            file=str(path),
            code="key-file-form",
        )
    secret = bytearray(16 * high + low for high, low in zip(digits[::2], digits[1::2], strict=True))
    # Equal steps reveal patterns such as 00 01 02 ..., whose bytes are all different.
    steps = {(one - other) % 256 for one, other in zip(secret[1:], secret, strict=False)}
    if min(len(set(secret)), len(steps)) < MIN_DISTINCT:
        secret[:] = bytes(len(secret))
        raise InputError(
            "The key file holds a key that was not drawn at random, so that it can be guessed; "
            "`geodp key FILE` makes a good one.",
            file=str(path),
            code="key-file-guessable",
        )
    return secret


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
            See :func:`geodp.privacy.key.read_key`.
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
