"""Data beyond memory: unnamed temporary files, and a sort that counts records by their keys."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, OutputError, UsageError
from geodp.io.memory import bytes_of
from geodp.io.read.rows.input_files import FilePath
from geodp.kernels import key_lists
from geodp.table.counts import MAX_PEOPLE, TOO_MANY, exact_sum

Columns: TypeAlias = tuple[NDArray[Any], ...]
"""Keys (uint64[n]), counts (int64[n]) and perhaps numbers of records (int64[n])."""


def require_scratch(folder: FilePath | None) -> None:
    """Raise UsageError for a folder that cannot hold scratch files."""
    if folder is not None and not (os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)):
        raise UsageError(
            "The scratch folder must exist and be writable (--scratch, scratch=).",
            code="scratch-folder-unfit",
        )


class Spill:
    """Blocks of columns in a private temporary file without a name.

    The system frees its space when it is closed or the process ends, even if it is killed, so that
    no confidential data stays behind and no other user can open it.

    Parameters
    ----------
    folder : path or None
        Default: the system's folder for temporary files.

    Raises
    ------
    OutputError
        The disk is full, or refuses.
    """

    def __init__(self, folder: FilePath | None) -> None:
        self._blocks: list[tuple[int, list[tuple[Any, int]]]] = []
        self._end = 0
        # The file never has a name where the system has O_TMPFILE, and loses it at once elsewhere.
        self._file: IO[bytes] = self._try(
            lambda: tempfile.TemporaryFile(dir=folder, buffering=0, prefix="geodp-")  # noqa: SIM115
        )

    @property
    def size(self) -> int:
        """Bytes written."""
        return self._end

    def write(self, columns: Sequence[NDArray[Any]]) -> None:
        """Append a block of columns."""
        self._blocks.append((self._end, [(column.dtype, column.size) for column in columns]))
        for column in columns:
            view = np.ascontiguousarray(column).data.cast("B")
            self._end += view.nbytes
            # Unbuffered files may write only a part at a time.
            while view.nbytes:
                view = view[self._try(lambda rest=view: self._file.write(rest)) :]

    def __len__(self) -> int:
        return len(self._blocks)

    def read(self, number: int) -> Columns:
        """Read a block by its number."""
        start, forms = self._blocks[number]
        self._file.seek(start)
        columns = tuple(np.empty(size, dtype) for dtype, size in forms)
        for column in columns:
            view = column.data.cast("B")
            while view.nbytes:
                count = self._try(lambda rest=view: self._file.readinto(rest))  # type: ignore[attr-defined]
                if not count:
                    raise OutputError(
                        "A scratch file was truncated by another program; run again.",
                        code="scratch-cut-off",
                    )
                view = view[count:]
        return columns

    def close(self) -> None:
        """Close the file, which frees its space."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    @staticmethod
    def _try(step: Any) -> Any:
        """Carry out a step on the file; OutputError if the disk is full or fails."""
        try:
            return step()
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "its disk is full" if full else error.strerror or "the disk refused"
        raise OutputError(
            f"A scratch file cannot be used: {why}. Choose a folder on another disk "
            "(--scratch, scratch=) or a higher limit (--memory, memory=).",
            code="scratch-unusable",
        )


PENDING = 1 << 22
"""Maximum number of records that are buffered before they are sorted into a run."""

FAN_IN = 32
"""Number of runs that are merged into one, which limits the number of open files."""

NEVER = 2**63 - 1
"""Placeholder for the record that repeats a key, while none does."""


class Runs:
    """Accumulator of keys and counts in any order that returns them sorted and summed.

    Buffered and sorted records take at most ``memory`` bytes; further runs are spilled to disk.
    The result takes 16 bytes a key in addition, and an eighth more while it grows.

    Parameters
    ----------
    memory : int, str or None
        See :func:`geodp.io.memory.bytes_of`.
    scratch : path or None
        Folder of the files; see :class:`geodp.io.read.rows.scratch.Spill`.
    recorded : bool
        Whether keys come with the numbers of their records, so that ``again`` identifies the first
        record that repeats a key.

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
        # Sorting holds each record three times (input, output, scratch), in half of the memory.
        each = 72 if recorded else 48
        self._run_size = min(PENDING, self._memory // 2 // each)
        self._block = max(64, self._memory // 2 // each // (4 * FAN_IN))
        self._pending: list[Columns] = []
        self._waiting = 0
        self._people = 0
        self._runs: list[Columns] = []
        self._levels: list[list[Spill]] = []
        self._again = np.array([NEVER, NEVER])
        self.spilled = 0

    @property
    def again(self) -> tuple[int, int] | None:
        """First record that repeats a key, and the first record of that key; None without one."""
        first, later = (int(record) for record in self._again)
        return None if later == NEVER else (first, later)

    def add(
        self,
        key: NDArray[np.uint64],
        count: NDArray[np.int64] | None = None,
        record: NDArray[np.int64] | None = None,
    ) -> None:
        """Add keys uint64[n], counts int64[n] (default: 1 each) and numbers of records.

        Raises InputError for more than 2**60 people in total.
        """
        self._people += key.size if count is None else exact_sum(count)
        if self._people > MAX_PEOPLE:
            raise InputError(TOO_MANY)
        for start in range(0, key.size, self._run_size):
            part = slice(start, start + self._run_size)
            size = key[part].size
            if self._waiting + size > self._run_size:
                self._sort()
            counts = np.broadcast_to(np.int64(1), size) if count is None else count[part]
            records = (record[part],) if self._recorded and record is not None else ()
            self._pending.append((key[part], counts, *records))
            self._waiting += size

    def arrays(self) -> Columns:
        """Return sorted keys and the sums of their counts, without zeros; may be called once."""
        self._sort()
        # A single run in memory is the result already; records, though, may include zeros to drop.
        if not self._levels and len(self._runs) == 1 and not self._recorded:
            return self._runs.pop()
        key, count = _Growing(np.dtype(np.uint64)), _Growing(np.dtype(np.int64))
        for keys, counts in self.blocks():
            key.extend(keys)
            count.extend(counts)
        return key.array(), count.array()

    def blocks(self) -> Iterator[Columns]:
        """Yield sorted keys and the sums of their counts in blocks; may be called once."""
        self._sort()
        files = [file for level in reversed(self._levels) for file in level]
        sources = [_read(file) for file in files]
        sources += [self._blocks_of(run) for run in self._runs]
        self._levels, self._runs = [], []
        for key, count, *_ in self._merge(sources):
            # A key of zeros is kept up to here, so that its repetition is still noticed.
            if self._recorded and not count.all():
                key, count = key[count > 0], count[count > 0]
            yield key, count
        for file in files:
            file.close()

    def _sort(self) -> None:
        """Sort the buffered records into a run."""
        if not self._waiting:
            return
        self._waiting = 0
        self._runs.append(self._join(self._pending))
        # A few runs in memory are cheaper to keep than to merge each time.
        if len(self._runs) < FAN_IN and _size(self._runs) <= self._memory // 4:
            return
        sources, self._runs = [self._blocks_of(run) for run in self._runs], []
        grown = [_Growing(np.dtype(np.uint64))]
        grown += [_Growing(np.dtype(np.int64)) for _ in range(1 + self._recorded)]
        for columns in self._merge(sources):
            for column, more in zip(grown, columns, strict=True):
                column.extend(more)
        run = tuple(column.array() for column in grown)
        if _size([run]) <= self._memory // 8:
            self._runs.append(run)
        else:
            self._spill(self._blocks_of(run), 0)

    def _spill(self, blocks: Iterator[Columns], level: int) -> None:
        """Write a run to disk; merge the runs of a level into one of the next if there are many."""
        file = Spill(self._scratch)
        for columns in blocks:
            for piece in self._blocks_of(columns):
                file.write(piece)
        self.spilled += file.size
        self._levels += [[]] * (level == len(self._levels))
        self._levels[level] = [*self._levels[level], file]
        # Merging level by level writes each record a logarithmic number of times.
        if len(self._levels[level]) == FAN_IN:
            files, self._levels[level] = self._levels[level], []
            self._spill(self._merge([_read(file) for file in files]), level + 1)
            for file in files:
                file.close()

    def _blocks_of(self, run: Columns) -> Iterator[Columns]:
        """Yield a run in blocks."""
        for start in range(0, run[0].size, self._block):
            yield tuple(column[start : start + self._block] for column in run)

    def _merge(self, sources: Sequence[Iterator[Columns]]) -> Iterator[Columns]:
        """Merge sorted runs in blocks: each step takes all keys up to the smallest last key."""
        heads = [(source, block) for source in sources for block in [next(source, None)] if block]
        while heads:
            # Keys beyond the smallest last key may still come in another run's next block.
            limit = min(block[0][-1] for _, block in heads)
            parts, left = [], []
            for source, block in heads:
                cut = int(np.searchsorted(block[0], limit, side="right"))
                if cut:
                    parts.append(tuple(column[:cut] for column in block))
                rest: Columns | None = tuple(column[cut:] for column in block)
                if cut == block[0].size:
                    rest = next(source, None)
                if rest:
                    left.append((source, rest))
            heads = left
            yield parts[0] if len(parts) == 1 else self._join(parts)

    def _join(self, parts: list[Columns]) -> Columns:
        """Merge parts in any order into one sorted run; the list of parts is cleared."""
        key, count, *records = (
            np.concatenate([part[column] for part in parts]) for column in range(len(parts[0]))
        )
        parts.clear()
        value = np.arange(key.size) if self._recorded else count
        keys, values = np.empty_like(key), np.empty_like(value)
        # Strictly increasing keys need no sort; many files are sorted by their code.
        if not (key[1:] > key[:-1]).all():
            key_lists.sort_pairs(key, value, keys, values)
        run: Columns = (keys, values)
        if self._recorded:
            last = np.empty_like(value)
            run = (keys, values, last)
            n = key_lists.coalesce_with_records(
                key, value, count, records[0], keys, values, last, self._again
            )
        else:
            n = key_lists.coalesce(key, value, keys, values)
        # A copy frees the buffers where duplicates left much of them unused.
        shrunk = n < key.size * 7 // 8
        return tuple(column[:n].copy() if shrunk else column[:n] for column in run)


def _read(file: Spill) -> Iterator[Columns]:
    """Yield the blocks of a file."""
    for number in range(len(file)):
        yield file.read(number)


def _size(runs: Sequence[Columns]) -> int:
    """Return the bytes of some runs."""
    return sum(column.nbytes for run in runs for column in run)


class _Growing:
    """An array that grows at its end, in place where the allocator can extend it."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._array = np.empty(1024, dtype)
        self._used = 0

    def extend(self, more: NDArray[Any]) -> None:
        end = self._used + more.size
        if end > self._array.size:
            # By an eighth: copies stay linear in total, and little memory is left over.
            self._array.resize(end + end // 8, refcheck=False)
        self._array[self._used : end] = more
        self._used = end

    def array(self) -> NDArray[Any]:
        """Return the values added so far; may be called once."""
        self._array.resize(self._used, refcheck=False)
        return self._array
