"""Records counted by key within a limit of memory: sorted runs, on disk where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError
from geodp.io.memory import bytes_of
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.scratch import Columns, Spill, require_scratch
from geodp.kernels import coo, radix
from geodp.table.counts import MOST_PEOPLE, TOO_MANY, exact_sum

PENDING = 1 << 22
"""Most records that wait before they are sorted into a run."""

FAN_IN = 32
"""Runs that are merged into one, so that a few hundred files never are open at once."""

NEVER = 2**63 - 1
"""The record that repeats a key where none does."""


class Runs:
    """Keys and counts in any order, until they are asked for in order.

    What waits and what is sorted takes at most ``memory`` bytes; runs that go beyond are spilled.
    The result comes on top: 16 bytes a key, and an eighth more while it grows.

    Parameters
    ----------
    memory : int, str or None
        See :func:`geodp.io.memory.bytes_of`.
    scratch : path or None
        Folder of the files; see :class:`geodp.io.read.rows.scratch.Spill`.
    recorded : bool
        Whether keys come with the numbers of their records, so that ``again`` can tell the
        first record that repeats a key.

    Attributes
    ----------
    spilled : int
        Bytes written to disk so far.

    Examples
    --------
    >>> runs = Runs("1MiB")
    >>> runs.add(np.array([5, 3], np.uint64))
    >>> runs.add(np.array([5], np.uint64), np.array([7]))
    >>> key, count = runs.arrays()
    >>> key.tolist(), count.tolist()
    ([3, 5], [1, 8])
    """

    def __init__(
        self,
        memory: int | str | None = None,
        scratch: FilePath | None = None,
        *,
        recorded: bool = False,
    ) -> None:
        require_scratch(scratch)
        self._scratch = scratch
        self._recorded = recorded
        self._memory = bytes_of(memory)
        # A pair that is sorted takes what it is, a copy and a spare; half of the memory.
        each = 72 if recorded else 48
        self._most = min(PENDING, self._memory // 2 // each)
        self._block = max(64, self._memory // 2 // each // (4 * FAN_IN))
        self._pending: list[Columns] = []
        self._waiting = 0
        self._people = 0
        self._kept: list[Columns] = []
        self._levels: list[list[Spill]] = []
        self._again = np.array([NEVER, NEVER])
        self.spilled = 0

    @property
    def again(self) -> tuple[int, int] | None:
        """The first record that repeats a key, after the first of that key; when all is merged."""
        first, later = (int(record) for record in self._again)
        return None if later == NEVER else (first, later)

    def add(
        self,
        key: NDArray[np.uint64],
        count: NDArray[np.int64] | None = None,
        record: NDArray[np.int64] | None = None,
    ) -> None:
        """Take in keys (uint64[n]), counts (int64[n]; default: 1 each) and numbers of records.

        Raises InputError for more people than 2**60 in all.
        """
        self._people += key.size if count is None else exact_sum(count)
        if self._people > MOST_PEOPLE:
            raise InputError(TOO_MANY)
        for start in range(0, key.size, self._most):
            part = slice(start, start + self._most)
            size = key[part].size
            if self._waiting + size > self._most:
                self._sort()
            counts = np.broadcast_to(np.int64(1), size) if count is None else count[part]
            records = (record[part],) if self._recorded and record is not None else ()
            self._pending.append((key[part], counts, *records))
            self._waiting += size

    def arrays(self) -> Columns:
        """Keys in order and the sums of their counts, without those that are 0; once only."""
        self._sort()
        if not self._levels and len(self._kept) == 1 and not self._recorded:
            return self._kept.pop()
        key, count = _Growing(np.dtype(np.uint64)), _Growing(np.dtype(np.int64))
        for keys, counts in self.blocks():
            key.extend(keys)
            count.extend(counts)
        return key.array(), count.array()

    def blocks(self) -> Iterator[Columns]:
        """Return the same in pieces, in order."""
        self._sort()
        files = [file for level in reversed(self._levels) for file in level]
        sources = [_read(file) for file in files]
        sources += [self._blocks_of(run) for run in self._kept]
        self._levels, self._kept = [], []
        for key, count, *_ in self._merge(sources):
            if self._recorded and not count.all():
                key, count = key[count > 0], count[count > 0]
            yield key, count
        for file in files:
            file.close()

    def _sort(self) -> None:
        """Make a run of what waits."""
        if not self._waiting:
            return
        self._waiting = 0
        self._kept.append(self._join(self._pending))
        if len(self._kept) < FAN_IN and _size(self._kept) <= self._memory // 4:
            return
        sources, self._kept = [self._blocks_of(run) for run in self._kept], []
        grown = [_Growing(np.dtype(np.uint64))]
        grown += [_Growing(np.dtype(np.int64)) for _ in range(1 + self._recorded)]
        for columns in self._merge(sources):
            for column, more in zip(grown, columns, strict=True):
                column.extend(more)
        run = tuple(column.array() for column in grown)
        if _size([run]) <= self._memory // 8:
            self._kept.append(run)
        else:
            self._spill(self._blocks_of(run), 0)

    def _spill(self, blocks: Iterator[Columns], level: int) -> None:
        """Write a run; as soon as there are many of a level, merge them into one of the next."""
        file = Spill(self._scratch)
        for columns in blocks:
            for piece in self._blocks_of(columns):
                file.write(piece)
        self.spilled += file.size
        self._levels += [[]] * (level == len(self._levels))
        self._levels[level] = [*self._levels[level], file]
        if len(self._levels[level]) == FAN_IN:
            files, self._levels[level] = self._levels[level], []
            self._spill(self._merge([_read(file) for file in files]), level + 1)
            for file in files:
                file.close()

    def _blocks_of(self, run: Columns) -> Iterator[Columns]:
        for start in range(0, run[0].size, self._block):
            yield tuple(column[start : start + self._block] for column in run)

    def _merge(self, sources: Sequence[Iterator[Columns]]) -> Iterator[Columns]:
        """Sorted runs as one, in pieces: each time all keys up to the first block's end."""
        held = [(source, block) for source in sources for block in [next(source, None)] if block]
        while held:
            limit = min(block[0][-1] for _, block in held)
            parts, left = [], []
            for source, block in held:
                cut = int(np.searchsorted(block[0], limit, side="right"))
                if cut:
                    parts.append(tuple(column[:cut] for column in block))
                rest: Columns | None = tuple(column[cut:] for column in block)
                if cut == block[0].size:
                    rest = next(source, None)
                if rest:
                    left.append((source, rest))
            held = left
            yield parts[0] if len(parts) == 1 else self._join(parts)

    def _join(self, parts: list[Columns]) -> Columns:
        """Parts in any order as one run; they are let go."""
        key, count, *records = (
            np.concatenate([part[column] for part in parts]) for column in range(len(parts[0]))
        )
        parts.clear()
        value = np.arange(key.size) if self._recorded else count
        keys, values = np.empty_like(key), np.empty_like(value)
        if not (key[1:] > key[:-1]).all():
            radix.sort_pairs(key, value, keys, values)
        run: Columns = (keys, values)
        if self._recorded:
            last = np.empty_like(value)
            run = (keys, values, last)
            n = coo.coalesce_with_records(
                key, value, count, records[0], keys, values, last, self._again
            )
        else:
            n = coo.coalesce(key, value, keys, values)
        shrunk = n < key.size * 7 // 8
        return tuple(column[:n].copy() if shrunk else column[:n] for column in run)


def _read(file: Spill) -> Iterator[Columns]:
    for number in range(len(file)):
        yield file.read(number)


def _size(runs: Sequence[Columns]) -> int:
    return sum(column.nbytes for run in runs for column in run)


class _Growing:
    """An array that grows at its end; where the system can, it stays where it is in memory."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._array = np.empty(1024, dtype)
        self._used = 0

    def extend(self, more: NDArray[Any]) -> None:
        end = self._used + more.size
        if end > self._array.size:
            self._array.resize(end + end // 8, refcheck=False)
        self._array[self._used : end] = more
        self._used = end

    def array(self) -> NDArray[Any]:
        """Return what came, once only."""
        self._array.resize(self._used, refcheck=False)
        return self._array
