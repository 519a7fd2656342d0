"""How much memory a command may take, and what it may hold at a time within it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from geodp.errors import UsageError

MIN_MEMORY = 1 << 20
"""Bytes below which a limit is a mistake."""

WORK = 128 << 20
"""Bytes that rows and rasters take at least, beside the table: a row group with its texts and
outlines, a window of a raster and GDAL's cache. GDAL packs a raster in as much again."""

SHARE = 4
"""Of what is allowed: rows, a window and the cache take one each."""

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{form}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for form, base in (("", 1024), ("iB", 1024), ("B", 1000))
}

_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


def bytes_of(memory: int | str | None) -> int:
    """Return a limit in bytes.

    It is read from an int or from text such as ``"4GiB"``; the default is half the machine's.

    Examples
    --------
    >>> bytes_of("8MiB"), bytes_of("1.5 GB"), bytes_of(2**21)
    (8388608, 1500000000, 2097152)
    """
    if memory is None:
        return _machine() // 2
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]*)", str(memory).strip())
    units = {unit.upper(): size for unit, size in _UNITS.items()}
    if isinstance(memory, bool) or not found or found[2].upper() not in units:
        raise UsageError(
            "Memory is a number of bytes or a size such as 512MiB or 4GiB.", code="memory-form"
        )
    size = int(float(found[1]) * units[found[2].upper()])
    if size < MIN_MEMORY:
        raise UsageError("Readers need a memory of at least 1MiB.", code="memory-too-small")
    return size


def _machine() -> int:
    """Bytes of memory that this machine or its container has."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        found = 8 << 30
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit, encoding="ascii") as file:
                found = min(found, int(file.read()))
        except (OSError, ValueError):  # no container, or one without a limit
            continue
    return max(found, 2 * MIN_MEMORY)


@contextmanager
def work_within(memory: int | str | None) -> Iterator[None]:
    """Let writers and checks hold so much at a time beside the table; None: as much as they like.

    Less than ``WORK`` is taken for it.

    Raises
    ------
    UsageError
        No size of memory.
    """
    before = _allowed.set(None if memory is None else max(bytes_of(memory), WORK))
    try:
        yield
    finally:
        _allowed.reset(before)


def fit(most: int, each: int, step: int = 1) -> int:
    """Return how many things of ``each`` bytes are held at a time, a multiple of ``step``.

    At least a step, and at most ``most``, which are held where nothing is limited.

    Examples
    --------
    >>> with work_within("128MiB"):
    ...     fit(1 << 20, 1 << 10, step=1 << 10), fit(64, 1), fit(9, 1 << 30)
    (32768, 64, 1)
    """
    allowed = _allowed.get()
    if allowed is None:
        return most
    return min(most, max(step, allowed // SHARE // each // step * step))
