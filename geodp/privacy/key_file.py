"""Files that hold a noise key: one form, one writer and one reader for all of them.

On POSIX systems such a file must be a regular one, not a symbolic link, owned by the user who reads
it or by root, and closed to everybody else, as `geodp key` makes it. Windows has no such owners and
permission bits: there only the kind and the content of the file are looked at, and its access list
is the operator's to keep, who is told so.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from geodp.errors import InputError
from geodp.privacy.access import has_owners, warn_access_unchecked

DIGITS = 64
LEAST = 16
"""Fewest different bytes of a key, and of the steps between its bytes; 32 random ones have fewer in
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
    what :func:`format_key` returns is written by :func:`geodp.io.folder.whole.write_atomically`.
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
    """With those, where the system has them, that follow no link and wait for no pipe's end."""
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    return flags


def _open(path: str | Path) -> int:
    try:
        if os.path.islink(path):
            raise InputError(
                "A key file may be no symbolic link, which others could turn elsewhere; name the "
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
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise InputError(
            "A key file must be a regular file.", file=str(path), code="key-file-not-regular"
        )
    if not has_owners():
        warn_access_unchecked(path)
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise InputError(
            "The key file belongs to another user, who can read and replace it; use a key of your "
            "own, which `geodp key FILE` makes.",
            file=str(path),
            code="key-file-of-other-user",
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise InputError(
            "Others than its owner may use the key file, and whoever holds the key can take the "
            f"noise off its releases: if nobody has, say chmod 600 {Path(path).name}; else make a "
            "new key.",
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
    steps = {(one - other) % 256 for one, other in zip(secret[1:], secret, strict=False)}
    if min(len(set(secret)), len(steps)) < LEAST:
        secret[:] = bytes(len(secret))
        raise InputError(
            "The key file holds a key that was not drawn at random, so that it can be guessed; "
            "`geodp key FILE` makes a good one.",
            file=str(path),
            code="key-file-guessable",
        )
    return secret
