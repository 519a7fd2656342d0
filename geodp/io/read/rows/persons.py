"""Persons of records, collected before contributions are bounded, in parts that fit in memory.

Records are held in memory. Beyond the limit they are partitioned on disk by a hash of the person,
so that all records of a person are in one part, in their order; a part that is too large is
partitioned again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, require_none
from geodp.grid.markers import NOBODY
from geodp.io.memory import bytes_of
from geodp.io.read.rows.arrow import bytes_of_texts, decode, numbers_of_digits
from geodp.io.read.rows.columns import RowPositions
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.scratch import Columns, Spill, require_scratch

HELD = 224
"""Bytes that a record takes while persons are bounded, besides the name of the person."""

PARTS, BITS = 64, 6
"""Number of parts of one partition, and bits of the hash that select the part."""

DEEPEST = 4
"""Maximum depth of partitions: the records of a single person cannot be split further."""

WEIGHTS = 1 << 10
"""Number of random weights for the bytes of a name; for longer names they repeat."""

SHORT = 64
"""Bytes of the longest names that are hashed together with others of their length."""

MAX_NAME_BYTES = (1 << 31) - 1
"""Bytes of names that one Arrow array of texts can hold, whatever the memory limit."""

TOO_MANY_OF_ONE = Rule(
    "persons-of-one-too-large",
    "The records of a single person exceed the memory limit or 2 GiB of names; raise the limit "
    "(--memory, memory=), or bound contributions beforehand and declare the bound "
    "(--contribution).",
)
TOO_MANY_TO_SAMPLE = Rule(
    "persons-to-sample-too-large",
    "Sampling with a stored key needs all records in memory, and they exceed the limit or 2 GiB "
    "of names; raise the limit (--memory, memory=), or keep the first cells of a person "
    "(--truncation first).",
)
MISSING = Rule(
    "person-missing",
    "the person is missing: blank, written as unknown (NA, NULL, None, nan and the like), or a "
    "total, and all of these would count as one person; drop such records, or give each person an "
    "id.",
)
_LONGEST = max(len(one.encode()) for one in NOBODY)


class Persons:
    """Collection of the cells and persons of records.

    Parameters
    ----------
    column : str
        Name of the column of persons.
    memory, scratch
        See :class:`geodp.io.read.rows.scratch.Runs`.
    single_part : bool
        Whether all records must be returned as one part.
    held : int
        Bytes that a record takes while its part is used, besides the name of the person.
    """

    def __init__(
        self,
        column: str,
        memory: int | str | None = None,
        scratch: FilePath | None = None,
        *,
        single_part: bool = False,
        held: int = HELD,
    ) -> None:
        require_scratch(scratch)
        self._column, self._single_part = column, single_part
        depth = DEEPEST if single_part else 0
        self._records = _Records(bytes_of(memory), scratch, depth, held)
        self._rule = TOO_MANY_TO_SAMPLE if single_part else TOO_MANY_OF_ONE

    @property
    def spilled(self) -> int:
        """Bytes written to disk so far, without those of repeated partitions."""
        return self._records.spilled

    def add(
        self,
        rows: RowPositions,
        key: NDArray[np.uint64],
        names: pa.Array,
        inside: NDArray[np.bool_] | None,
        *more: NDArray[Any],
    ) -> None:
        """Add the rows inside the domain: their keys uint64[n], and the persons of all rows.

        ``more``: further columns [n] of the rows inside. Raises InputError if a person is missing,
        or if records that must form one part exceed the limit.
        """
        text = name_persons(rows, self._column, names, inside)
        try:
            self._records.add(text, key, *more)
        except _TooManyError:
            raise InputError(self._rule, file=rows.table.name) from None

    def parts(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint64]]]:
        """Yield all records of some persons at a time; may be called once.

        Persons are numbers int64[n], in the order of their first records if all form one part; keys
        are uint64[n]. Raises InputError if the records of one person exceed the limit.
        """
        for text, (key, *_) in self.named_parts():
            yield number_names(text, in_order=self._single_part), key

    def named_parts(self) -> Iterator[tuple[pa.Array, Columns]]:
        """Yield the names of persons and all columns, otherwise as :meth:`parts`."""
        try:
            for names, blocks in self._records.parts():
                text = pa.chunked_array(names, pa.string()).combine_chunks()
                names.clear()
                # Column by column, so that each is held twice for a moment only.
                columns = []
                while blocks and blocks[0]:
                    columns.append(np.concatenate([block.pop(0) for block in blocks]))
                blocks.clear()
                if columns:
                    yield text, tuple(columns)
        except _TooManyError:
            raise InputError(self._rule) from None


def number_names(text: pa.Array, *, in_order: bool = False) -> NDArray[np.int64]:
    """Return a number for each name, the same for equal ones: int64[n].

    ``in_order``: numbers are those of the order in which names come first.
    """
    numbers = None if in_order else numbers_of_digits(text, as_names=True)
    if numbers is None:
        numbers = text.dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def name_persons(
    rows: RowPositions, column: str, names: pa.Array, inside: NDArray[np.bool_] | None
) -> pa.Array:
    """Return the persons of the rows inside the domain as texts, given those of all rows.

    Raises InputError if a person is missing.
    """
    kind = names.type.value_type if pa.types.is_dictionary(names.type) else names.type
    persons = _as_integers(names) if pa.types.is_decimal(kind) else names
    # Floats hold ids only up to 2**53, beyond which two persons would become one.
    if pa.types.is_floating(kind) or persons is None:
        rule = Rule(
            "persons-not-told-apart",
            "persons are identified by text or whole numbers; write the column as text, and drop "
            "records without a person, which turn whole numbers into floats.",
        )
        raise rows.error(0, rule, column)
    with rows.named(column):
        text = pc.utf8_trim_whitespace(as_text(persons))
    text = text if inside is None else text.filter(pa.array(inside))
    sizes = np.diff(bytes_of_texts(text)[0])
    missing = sizes == 0
    if text.null_count:
        missing |= text.is_null().to_numpy(zero_copy_only=False)
    # Only texts as short as the longest marker of an unknown person are compared with them.
    if not pa.types.is_integer(kind) and (sizes <= _LONGEST).any():
        unknown = pc.is_in(pc.utf8_lower(text), _array_of(NOBODY))
        if pc.any(unknown, min_count=0).as_py():
            missing |= unknown.to_numpy(zero_copy_only=False)
    with rows.named(column):
        require_none(missing, MISSING)
    return text


def _as_integers(names: pa.Array) -> pa.Array | None:
    """Return decimals as whole ones, as one person is 7 and 7.00; None if one has a fraction."""
    names = decode(names)
    if names.type.scale <= 0:
        return names
    try:
        return names.cast(pa.decimal256(names.type.precision, 0))
    except pa.ArrowInvalid:  # it quotes the number
        return None


def _array_of(texts: Sequence[str]) -> pa.Array:
    """Return texts as a column without pandas, which Arrow's own conversion imports."""
    data = [text.encode() for text in texts]
    at = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = [None, pa.py_buffer(at), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


def draw_weights() -> NDArray[np.uint64]:
    """Draw secret weights, so that nobody can choose names that all fall into one part."""
    return np.frombuffer(secrets.token_bytes(8 * WEIGHTS), np.uint64)


@dataclass(frozen=True, eq=False)
class Records:
    """Confidential records of some persons, in the order of their file."""

    name: pa.Array
    key: NDArray[np.uint64]

    def __repr__(self) -> str:
        return "Records(confidential)"

    def __sizeof__(self) -> int:
        """Return the size in bytes, by which a scheduler plans spilling and transfers."""
        return int(self.name.nbytes + self.key.nbytes)


def partition_records(
    batches: Iterable[tuple[pa.Array, NDArray[np.uint64]]], weights: NDArray[np.uint64], parts: int
) -> list[Records]:
    """Partition persons and keys by a hash of the person, who is then in one part."""
    names: list[list[pa.Array]] = [[] for _ in range(parts)]
    keys: list[list[NDArray[np.uint64]]] = [[np.empty(0, np.uint64)] for _ in range(parts)]
    for name, key in batches:
        if not key.size:
            continue
        # The low bits of a sum of products are weak; the upper half is used.
        part = (hash_names(name, weights) >> np.uint64(32)) % np.uint64(parts)
        order = np.argsort(part, kind="stable")
        edges = np.searchsorted(part[order], np.arange(parts + 1, dtype=np.uint64))
        for i in np.flatnonzero(np.diff(edges)):
            positions = order[edges[i] : edges[i + 1]]
            # 32-bit offsets hold 2 GiB of names; parts of several files are joined and may have
            # more.
            names[i].append(name.take(pa.array(positions)).cast(pa.large_string()))
            keys[i].append(key[positions])
    return [
        Records(
            pa.chunked_array(names_of_part, pa.large_string()).combine_chunks(),
            np.concatenate(positions),
        )
        for names_of_part, positions in zip(names, keys, strict=True)
    ]


def number_persons(
    files: Sequence[Records],
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return persons int64[n], numbered by their first records, and keys uint64[n]."""
    names = pa.chunked_array([part.name for part in files], pa.large_string()).combine_chunks()
    numbers = names.dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers, np.concatenate([part.key for part in files])


class _TooManyError(Exception):
    """Records that cannot be partitioned any further."""


class _Records:
    """Names and columns in their order: in memory, or partitioned on disk if they do not fit.

    Parameters
    ----------
    memory_limit : int
        Bytes.
    scratch : path or None
    depth : int
        Number of partitions before this one.
    record : int
        Bytes that a record takes while its part is used, besides its name.
    """

    def __init__(
        self, memory_limit: int, scratch: FilePath | None, depth: int, record: int = HELD
    ) -> None:
        self._memory_limit, self._scratch, self._depth = memory_limit, scratch, depth
        self._record, self._step = record, max(1, memory_limit // record // 4)
        self._names: list[pa.Array] = []
        self._columns: list[list[NDArray[Any]]] = []
        self._held = self._named = 0
        self._file: Spill | None = None
        self._blocks: list[list[int]] = [[] for _ in range(PARTS)]
        self._weights = np.empty(0, np.uint64)

    @property
    def spilled(self) -> int:
        """Bytes on disk."""
        return 0 if self._file is None else self._file.size

    def add(self, names: pa.Array, *columns: NDArray[Any]) -> None:
        """Add names, none of them empty, and one or more columns [n], of the same types always."""
        for start in range(0, len(names), self._step):
            batch = names.slice(start, self._step)
            size = batch.nbytes + self._record * len(batch)
            if (
                self._held + size > self._memory_limit
                or self._named + batch.nbytes > MAX_NAME_BYTES
            ):
                self._spill()
            self._names.append(batch)
            self._columns.append([column[start : start + self._step] for column in columns])
            self._held += size
            self._named += batch.nbytes

    def parts(self) -> Iterator[tuple[list[pa.Array], list[list[NDArray[Any]]]]]:
        """Yield names and columns, with all records of a person at once; frees what was yielded."""
        if self._file is None:
            yield self._names, self._columns
            return
        self._spill()
        for blocks in self._blocks:
            # Fresh weights at each depth split persons whose hashes agreed before.
            part = _Records(self._memory_limit, self._scratch, self._depth + 1, self._record)
            for number in blocks:
                part.add(*_unpack(self._file.read(number)))
            if blocks:
                yield from part.parts()
        self._file.close()

    def _spill(self) -> None:
        """Write the records in memory to disk, a block for each part."""
        if not self._names:
            return
        # A part that stays too large belongs to a single person; a sample starts at this depth, as
        # it must not be partitioned at all.
        if self._depth == DEEPEST:
            raise _TooManyError
        if self._file is None:
            self._file = Spill(self._scratch)
            self._weights = draw_weights()
        names = pa.concat_arrays(self._names)
        columns = [np.concatenate(one) for one in zip(*self._columns, strict=True)]
        self._names, self._columns = [], []
        self._held = self._named = 0
        number = (hash_names(names, self._weights) >> np.uint64(64 - BITS)).astype(np.uint8)
        # A stable sort keeps the records of a person in the order of the file.
        order = np.argsort(number, kind="stable")
        names, columns = names.take(pa.array(order)), [column[order] for column in columns]
        edges = np.searchsorted(number[order], np.arange(PARTS + 1))
        for part, (start, end) in enumerate(pairwise(edges)):
            if start < end:
                self._blocks[part].append(len(self._file))
                parts = [column[start:end] for column in columns]
                self._file.write([*_pack(names[start:end]), *parts])


def _pack(names: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return offsets int32[n + 1] from 0 and bytes of texts."""
    at, data = bytes_of_texts(names)
    return at - at[0], data[at[0] : at[-1]]


def _unpack(block: Columns) -> tuple[Any, ...]:
    """Return names and columns from a block."""
    at, data, *columns = block
    buffers = [None, pa.py_buffer(at), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), at.size - 1, buffers), *columns


def hash_names(names: pa.Array, weight: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a weighted sum of the bytes of each name: uint64[n].

    Names have at least one byte; each byte has the random weight of its position.
    """
    at, data = _pack(names)
    # One more than the byte, so that a longer name is another.
    sizes, one = np.diff(at), np.uint64(1)
    if sizes.max(initial=0) > SHORT:
        place = np.arange(data.size) - np.repeat(at[:-1], sizes)
        return np.add.reduceat((data + one) * weight[place % weight.size], at[:-1])
    # Names of one length together, byte by byte: much faster, and in less memory.
    total, start = np.zeros(sizes.size, np.uint64), at[:-1].astype(np.int64)
    for size in np.unique(sizes):
        of_size = np.flatnonzero(sizes == size)
        begins, sums = start[of_size], np.zeros(of_size.size, np.uint64)
        for place_of_byte in range(size):
            sums += (data[begins + place_of_byte] + one) * weight[place_of_byte]
        total[of_size] = sums
    return total
