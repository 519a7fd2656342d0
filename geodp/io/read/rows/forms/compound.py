"""Compound files (OLE), the containers of workbooks of Excel 97 to 2003: read one stream."""

from __future__ import annotations

import struct
from collections.abc import Sequence

NO_SECTOR = 0xFFFFFFFA
"""Sector numbers from here on are special: end of a chain, free sectors, and tables."""

SMALL = 64
"""Bytes of the small sectors of short streams."""


def read_stream(data: bytes, names: Sequence[str]) -> bytes:
    """Return the first existing stream among some names.

    Raises ValueError if there is none, and for a file that is damaged or ends within the stream;
    struct.error for one that ends within its header.
    """
    shift = struct.unpack_from("<H", data, 30)[0]
    # The format defines sectors of 512 and of 4,096 bytes only.
    if shift not in (9, 12):
        raise ValueError("sectors of another size")
    size = 1 << shift
    body = data[size:]
    start, cutoff, small_start, small_many = struct.unpack_from("<L4xLLL", data, 48)
    table = _table(data, body, size)
    entries = _chain(body, table, start, size)
    streams: dict[str, tuple[int, int]] = {}
    root, small = None, list[int]()
    for at in range(0, len(entries) - 127, 128):
        name_length, kind = struct.unpack_from("<HB", entries, at + 64)
        first, length = struct.unpack_from("<LL", entries, at + 116)
        if kind == 5 and not at:
            root = first
        elif kind == 2:
            name = entries[at : at + max(name_length - 2, 0)].decode("utf-16-le")
            streams.setdefault(name, (first, length))
    name = next((one for one in names if one in streams), "")
    if not name or root is None:
        raise ValueError("no such stream")
    first, length = streams[name]
    inner = b""
    if small_many:
        small, inner = (
            _integers(_chain(body, table, small_start, size)),
            _chain(body, table, root, size),
        )
    # Short streams lie in small sectors inside the stream of the root entry.
    if length < cutoff:
        stream = _chain(inner, small, first, SMALL)
    else:
        stream = _chain(body, table, first, size)
    if len(stream) < length:
        raise ValueError("the stream ends before its length")
    return stream[:length]


def _table(data: bytes, body: bytes, size: int) -> list[int]:
    """Return the number of the sector that follows each one."""
    count = struct.unpack_from("<L", data, 44)[0]
    if max(count, struct.unpack_from("<L", data, 64)[0]) * size > len(body):
        raise ValueError("more sectors than the file has")
    # The header lists the first 109 sectors of the table; further sectors list the others.
    following, _ = struct.unpack_from("<LL", data, 68)
    listed = [*struct.unpack_from("<109L", data, 76)]
    seen = 0
    while following < NO_SECTOR:
        *more, following = _integers(_sector(body, following, size))
        listed += more
        seen += 1
        if seen * size > len(body):
            raise ValueError("a chain without end")
    table: list[int] = []
    for number in listed[:count]:
        table += _integers(_sector(body, number, size))
    return table


def _chain(body: bytes, table: Sequence[int], first: int, size: int) -> bytes:
    """Return the bytes of a sector and of all that follow it; the last may be cut short."""
    parts: list[bytes] = []
    while first < NO_SECTOR:
        if parts and len(parts[-1]) < size:
            raise ValueError("a sector ends before its length")
        # A damaged chain may be a cycle.
        if len(parts) > len(table):
            raise ValueError("a chain without end")
        parts.append(body[first * size : (first + 1) * size])
        first = table[first]
    return b"".join(parts)


def _sector(body: bytes, number: int, size: int) -> bytes:
    """Return the bytes of a sector; ValueError if it is incomplete."""
    sector = body[number * size : (number + 1) * size]
    if len(sector) < size:
        raise ValueError("a sector beyond the end")
    return sector


def _integers(data: bytes) -> list[int]:
    """Return bytes as 32-bit integers."""
    return [*struct.unpack(f"<{len(data) // 4}L", data[: len(data) // 4 * 4])]
