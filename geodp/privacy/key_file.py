"""Key files: the one format of a noise key on disk, its writer and its reader.

On POSIX systems such a file must be a regular one, not a symbolic link, owned by the user who reads
it or by root, and closed to everybody else, as `geodp key` makes it. Windows has no such owners and
permission bits: there only the kind and the content of the file are checked, and a warning says
that the operator is responsible for its access list.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from geodp.errors import InputError
from geodp.privacy.access import has_owners, warn_access_unchecked

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
