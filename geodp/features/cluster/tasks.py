"""What the workers do: functions of their arguments alone, so that any of them may run again.

What passes between tasks holds confidential counts or noisy ones, never the key. It shows nothing
of itself, as a cluster logs the arguments of a task that fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from geodp.errors import InputError
from geodp.features.cluster.partitioned import InformedPartition, TreePartition
from geodp.features.cluster.partitions import Partitions
from geodp.features.cluster.secret import KeyFile
from geodp.io.folder.manifest import sha256
from geodp.io.folder.parts import write_part
from geodp.io.opening import open_parquet
from geodp.io.read.rows.persons import Records
from geodp.io.verify.chunks import index_of
from geodp.io.write.tables import column_names
from geodp.io.write.tiles import Tiling, view_tiles, write_tile
from geodp.io.write.view import View
from geodp.mechanisms.learned.mixture import Reliability
from geodp.mechanisms.trees.cut import Roots, Seen, Subtrees
from geodp.release.release import Release
from geodp.table.card import Card
from geodp.table.counts import Cells, coalesce
from geodp.table.reading import Reading
from geodp.table.released import ReleasedTable
from geodp.table.totals import Relation, Remainder, label_sums, remainder


@dataclass(frozen=True, eq=False)
class Job:
    """What all tasks of a run know, all of it public: files, grid, method and budget."""

    partitions: Partitions
    cut: TreePartition

    def __repr__(self) -> str:
        return f"Job({self.partitions!r})"


@dataclass(frozen=True, eq=False)
class Piece:
    """Confidential counts: keys strictly increasing; of a file also what was read of it."""

    key: NDArray[np.uint64]
    count: NDArray[np.int64]
    reading: Reading | None = None

    def __repr__(self) -> str:
        return "Piece(confidential)"

    def __sizeof__(self) -> int:
        """Bytes of the arrays: what a scheduler plans spilling and transfers by."""
        return int(self.key.nbytes + self.count.nbytes)


@dataclass(frozen=True, eq=False)
class Parted:
    """Confidential records of one file by persons, and what was read of it."""

    records: list[Records]
    reading: Reading

    def __repr__(self) -> str:
        return "Parted(confidential)"

    def __sizeof__(self) -> int:
        """Bytes of the records: what a scheduler plans spilling and transfers by."""
        return sum(records.__sizeof__() for records in self.records)


class RepeatedCellError(InputError):
    """Several files have the same cell, where that is not allowed."""


def same(job: Any) -> Any:
    """Return the job, or what else all know, stored where tasks find it."""
    return job


def read(job: Job, number: int) -> Piece:
    """Return a file's cells: encoded, sorted, coalesced."""
    table = job.partitions.read(number)
    return Piece(table.key, table.count, table.reading)


def read_persons(job: Job, number: int, weights: NDArray[np.uint64], parts: int) -> Parted:
    """Return a file's records, parted by a hash of their persons."""
    return Parted(*job.partitions.read_persons(number, weights, parts))


def some_records(parted: Parted, number: int) -> Records:
    """Return a file's records of some persons."""
    return parted.records[number]


def reading_of(parted: Parted) -> Reading:
    """Return what was read of a file."""
    return parted.reading


def bound_persons(job: Job, *files: Records) -> Piece:
    """Return what is kept of some persons, from all of their records, in the order of the files."""
    return Piece(*coalesce(*job.partitions.bound_persons(files)))


def sum_nodes(job: Job, piece: Piece) -> Piece:
    """Totals by nodes of the cut."""
    return Piece(*coalesce(piece.key // np.uint64(job.cut.stride), piece.count), piece.reading)


def divide(piece: Piece, starts: NDArray[np.uint64]) -> list[Piece]:
    """Return the cells of every range of keys; ``starts``: where ranges but the first begin."""
    at = np.searchsorted(piece.key, starts)
    keys, counts = np.split(piece.key, at), np.split(piece.count, at)
    return [Piece(key.copy(), count.copy()) for key, count in zip(keys, counts, strict=True)]


def part(pieces: list[Any], number: int) -> Any:
    """One range of those."""
    return pieces[number]


def merge(job: Job, *pieces: Piece) -> Piece:
    """Return the cells of one range from all files.

    Raises RepeatedCellError for a cell that several files have, where that is not allowed.
    """
    found = join(pieces)
    if not job.partitions.repeated and found.key.size < sum(piece.key.size for piece in pieces):
        raise RepeatedCellError(
            "Several files have the same cell; if their counts add up, choose duplicates='sum'.",
            code="cell-in-several-files",
        )
    return found


def read_all(job: Job) -> None:
    """All files as one table, as one machine reads them: its error names file and row."""
    job.partitions.read_all()


def join(pieces: tuple[Piece, ...] | list[Piece]) -> Piece:
    """One piece of several: keys sorted, counts of equal ones summed."""
    keys, counts = [piece.key for piece in pieces], [piece.count for piece in pieces]
    return Piece(*coalesce(np.concatenate(keys), np.concatenate(counts)))


def size(piece: Piece) -> int:
    """Occupied cells."""
    return piece.key.size


def keys(piece: Piece) -> NDArray[np.uint64]:
    """For the digest of the input."""
    return piece.key


def counts(piece: Piece) -> NDArray[np.int64]:
    """For the digest of the input."""
    return piece.count


def label(job: Job, piece: Piece) -> list[NDArray[np.int64]]:
    """Return the people of every label, by attribute."""
    return label_sums(Cells(job.partitions.grid, piece.key, piece.count))


def subtract(job: Job, piece: Piece, relation: Relation) -> Remainder:
    """Return what a relation between labels leaves over."""
    return remainder(Cells(job.partitions.grid, piece.key, piece.count), relation)


def begin(job: Job, piece: Piece, roots: Roots, secret: KeyFile) -> Subtrees:
    """Run the first pass: all noise of the subtrees is drawn here."""
    cells = Cells(job.partitions.grid, piece.key, piece.count)
    with secret.open(job.cut.declare()) as key:
        return job.cut.below(cells, roots, key)


def look(job: Job, piece: Piece, found: Subtrees, secret: KeyFile) -> Seen:
    """Return what the next level of some subtrees tells of its predictions."""
    cells = Cells(job.partitions.grid, piece.key, piece.count)
    with secret.open(job.cut.declare()) as key:
        return informed(job).look(cells, found, key)


def add_level(
    job: Job, piece: Piece, found: Subtrees, learned: Reliability | None, secret: KeyFile
) -> Subtrees:
    """Run the first pass one level further, by what all subtrees have told."""
    cells = Cells(job.partitions.grid, piece.key, piece.count)
    with secret.open(job.cut.declare()) as key:
        return informed(job).open(cells, found, learned, key)


def informed(job: Job) -> InformedPartition:
    """Return the cut, which has a prior."""
    assert isinstance(job.cut, InformedPartition)
    return job.cut


def all_roots(tops: Roots) -> Roots:
    """Return the roots with their final counts, stored where tasks find them."""
    return tops


def estimates(subtrees: Subtrees) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimates of the roots from below, and their variances."""
    return subtrees.roots.z, subtrees.roots.variance


def finish(
    job: Job, subtrees: Subtrees, tops: Roots
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the released cells of a range, from the final counts of all roots."""
    return job.cut.finish(subtrees, tops.counts_of(subtrees.roots))


def write(
    job: Job,
    subtrees: Subtrees,
    tops: Roots,
    path: str,
    card: Card,
    tiling: Tiling | None,
) -> dict[str, Any]:
    """Write the same as a Parquet file; return what the card lists of it, and what it holds.

    ``card``: of the release, but for what a run tells of it.
    """
    cells, values = finish(job, subtrees, tops)
    table = ReleasedTable(job.partitions.grid, cells, values, job.cut.event)
    somebody = tops.count > 0
    whole = job.cut.stride, tops.prefix[somebody], tops.count[somebody]
    errors = Release(table, custom_method=job.cut.method, margins=job.cut.margins).errors(whole)
    entry = write_part(View(table, card, errors), Path(path))
    if tiling is not None:
        entry["tiles"] = tiling.touched(table.grid.decode(cells)).tolist()
        entry["largest"] = int(values.max(initial=0))
    return entry


def tile(
    job: Job, window: Window, parts: list[str], path: str, card: Card, dtype: str
) -> str | None:
    """Return a tile of the map, from the released parts; its SHA-256, None outside the domain."""
    grid = job.partitions.grid
    columns = list(column_names(grid, card.name, ()))
    rows = [open_parquet(part).read(columns=columns) for part in parts]
    key = [np.empty(0, np.uint64), *(grid.encode(index_of(part, grid)) for part in rows)]
    count = [np.empty(0, np.int64), *(part[card.name].to_numpy() for part in rows)]
    table = ReleasedTable(grid, np.concatenate(key), np.concatenate(count), job.cut.event)
    written = write_tile(view_tiles(table, card), window, Path(path), dtype)
    return sha256(Path(path)) if written else None
