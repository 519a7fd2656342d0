"""Compound files (OLE), in which workbooks of Excel 97 to 2003 lie: one stream of bytes of it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

NO_SECTOR = 0xFFFFFFFA
"""Numbers of sectors from here on are marks: the end of a chain, and free ones."""

SMALL = 64
"""Bytes of the sectors of short streams."""


def read_stream(data: bytes, names: Sequence[str]) -> bytes:
    """Return the first stream that there is of some names.

    Raises ValueError where there is none, and for a file that is damaged or ends before the stream
    does; struct.error for one that ends before its header does.
    """
    shift = struct.unpack_from("<H", data, 30)[0]
    if shift not in (9, 12):
        raise ValueError("sectors of another size")
    size = 1 << shift
    body = data[size:]
    start, cutoff, small_start, small_many = struct.unpack_from("<L4xLLL", data, 48)
    table = _table(data, body, size)
    entries = _chain(body, table, start, size)
    found: dict[str, tuple[int, int]] = {}
    root, small = None, list[int]()
    for at in range(0, len(entries) - 127, 128):
        length, kind = struct.unpack_from("<HB", entries, at + 64)
        first, many = struct.unpack_from("<LL", entries, at + 116)
        if kind == 5 and not at:
            root = first
        elif kind == 2:
            name = entries[at : at + max(length - 2, 0)].decode("utf-16-le")
            found.setdefault(name, (first, many))
    name = next((one for one in names if one in found), "")
    if not name or root is None:
        raise ValueError("no such stream")
    first, many = found[name]
    inner = b""
    if small_many:
        small, inner = (
            _words(_chain(body, table, small_start, size)),
            _chain(body, table, root, size),
        )
    if many < cutoff:
        stream = _chain(inner, small, first, SMALL)
    else:
        stream = _chain(body, table, first, size)
    if len(stream) < many:
        raise ValueError("the stream ends before its length")
    return stream[:many]


def _table(data: bytes, body: bytes, size: int) -> list[int]:
    """Return which sector comes after each one."""
    many = struct.unpack_from("<L", data, 44)[0]
    if max(many, struct.unpack_from("<L", data, 64)[0]) * size > len(body):
        raise ValueError("more sectors than the file has")
    following, _ = struct.unpack_from("<LL", data, 68)
    listed = [*struct.unpack_from("<109L", data, 76)]
    seen = 0
    while following < NO_SECTOR:
        *more, following = _words(_sector(body, following, size))
        listed += more
        seen += 1
        if seen * size > len(body):
            raise ValueError("a chain without end")
    found: list[int] = []
    for number in listed[:many]:
        found += _words(_sector(body, number, size))
    return found


def _chain(body: bytes, table: Sequence[int], first: int, size: int) -> bytes:
    """Return the bytes of a sector and of all that come after it; the last may be cut short."""
    parts: list[bytes] = []
    while first < NO_SECTOR:
        if parts and len(parts[-1]) < size:
            raise ValueError("a sector ends before its length")
        if len(parts) > len(table):
            raise ValueError("a chain without end")
        parts.append(body[first * size : (first + 1) * size])
        first = table[first]
    return b"".join(parts)


def _sector(body: bytes, number: int, size: int) -> bytes:
    found = body[number * size : (number + 1) * size]
    if len(found) < size:
        raise ValueError("a sector beyond the end")
    return found


def _words(data: bytes) -> list[int]:
    return [*struct.unpack(f"<{len(data) // 4}L", data[: len(data) // 4 * 4])]
