"""Limits of memory: how much a command may take, and how much of the data it may hold at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from geodp.errors import UsageError

MIN_MEMORY = 1 << 20
"""Smallest limit in bytes; anything lower is a mistake."""

WORK = 128 << 20
"""Bytes that rows and rasters take at least, in addition to the table: a row group with its texts
and outlines, a window of a raster and GDAL's cache. GDAL packs a raster in as much again."""

SHARE = 4
"""Divisor of the allowed memory: rows, a window and the cache take one share each."""

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{form}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for form, base in (("", 1024), ("iB", 1024), ("B", 1000))
}

_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


def bytes_of(memory: int | str | None) -> int:
    """Parse a limit in bytes.

    It is given as an int or as text such as ``"4GiB"``; the default is half the machine's.

    Examples
    --------
    >>> bytes_of("8MiB"), bytes_of("1.5 GB"), bytes_of(2**21)
    (8388608, 1500000000, 2097152)
    """
    if memory is None:
        return _machine() // 2
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]*)", str(memory).strip())
    units = {unit.upper(): size for unit, size in _UNITS.items()}
    if isinstance(memory, bool) or not match or match[2].upper() not in units:
        raise UsageError(
            "Memory is a number of bytes or a size such as 512MiB or 4GiB.", code="memory-form"
        )
    size = int(float(match[1]) * units[match[2].upper()])
    if size < MIN_MEMORY:
        raise UsageError("Readers need a memory of at least 1MiB.", code="memory-too-small")
    return size


def _machine() -> int:
    """Return the bytes of memory that this machine or its container has."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        size = 8 << 30
    # sysconf reports the host's memory inside a container; exceeding the cgroup's limit kills the
    # run.
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit, encoding="ascii") as file:
                size = min(size, int(file.read()))
        except (OSError, ValueError):  # no container, or one without a limit
            continue
    return max(size, 2 * MIN_MEMORY)


@contextmanager
def work_within(memory: int | str | None) -> Iterator[None]:
    """Limit the memory that writers and checks use at a time, besides the table; None: no limit.

    A lower limit than ``WORK`` counts as ``WORK``.

    Raises
    ------
    UsageError
        The text is not a size of memory.
    """
    # Below WORK a row group or a window would not fit at all, and a limit could not be kept anyway.
    before = _allowed.set(None if memory is None else max(bytes_of(memory), WORK))
    try:
        yield
    finally:
        _allowed.reset(before)


def fit(limit: int, each: int, step: int = 1) -> int:
    """Return how many items of ``each`` bytes fit in memory, a multiple of ``step``.

    At least one step, and at most ``limit``, which is the result where memory is not limited.

    Examples
    --------
    >>> with work_within("128MiB"):
    ...     fit(1 << 20, 1 << 10, step=1 << 10), fit(64, 1), fit(9, 1 << 30)
    (32768, 64, 1)
    """
    allowed = _allowed.get()
    if allowed is None:
        return limit
    return min(limit, max(step, allowed // SHARE // each // step * step))
