"""Tasks of the workers: functions of their arguments only, so that any of them may be repeated.

Data between tasks contains confidential or noisy counts, never the key. Its repr shows nothing, as
a cluster logs the arguments of a task that fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from geodp.cluster.partitions import InformedPartition, Partitions, TreePartition
from geodp.cluster.secret import KeyFile
from geodp.errors import InputError
from geodp.io.folder.manifest import sha256
from geodp.io.folder.release_in_parts import write_part
from geodp.io.opening import open_parquet
from geodp.io.read.rows.persons import Records
from geodp.io.verify.chunks import index_of
from geodp.io.write.tables import column_names
from geodp.io.write.tiles import Tiling, view_tiles, write_tile
from geodp.io.write.view import View
from geodp.mechanisms.learned import Reliability
from geodp.mechanisms.trees.layer import Roots, Seen, Subtrees
from geodp.release.release import Release
from geodp.table.card import Card
from geodp.table.counts import MAX_PEOPLE, TOO_MANY, Cells, ReleasedTable, coalesce, exact_sum
from geodp.table.reading import Reading, join_readings
from geodp.table.totals import Relation, Remainder, label_sums, remainder


@dataclass(frozen=True, eq=False)
class Job:
    """Input that all tasks of a run share, all of it public: files, grid, method and budget."""

    partitions: Partitions
    cut: TreePartition

    def __repr__(self) -> str:
        return f"Job({self.partitions!r})"


class Confidential:
    """A result of a task whose repr shows nothing: Dask logs that of a failed task's arguments."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(confidential)"


@dataclass(frozen=True, eq=False, repr=False)
class Piece(Confidential):
    """Confidential counts with strictly increasing keys; for a file, also its reading."""

    key: NDArray[np.uint64]
    count: NDArray[np.int64]
    reading: Reading | None = None

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays, by which a scheduler plans spilling and transfers."""
        return int(self.key.nbytes + self.count.nbytes)


@dataclass(frozen=True, eq=False, repr=False)
class CutSums(Confidential):
    """Confidential totals of the cut's nodes, their sum, and the reading of the files."""

    totals: Piece
    people: int
    reading: Reading

    def __sizeof__(self) -> int:
        """Return the bytes of the totals, by which a scheduler plans spilling and transfers."""
        return self.totals.__sizeof__()


@dataclass(frozen=True, eq=False, repr=False)
class Parted(Confidential):
    """Confidential records of one file, divided by person, and the reading of the file."""

    records: list[Records]
    reading: Reading

    def __sizeof__(self) -> int:
        """Return the bytes of the records, by which a scheduler plans spilling and transfers."""
        return sum(records.__sizeof__() for records in self.records)


class RepeatedCellError(InputError):
    """Several files contain the same cell, although that is not allowed."""


def same(value: Any) -> Any:
    """Return the argument, stored where tasks find it."""
    return value


def read(job: Job, number: int) -> Piece:
    """Read a file's cells: encoded, sorted, coalesced."""
    table = job.partitions.read(number)
    return Piece(table.key, table.count, table.reading)


def read_persons(job: Job, number: int, weights: NDArray[np.uint64], parts: int) -> Parted:
    """Read a file's records, divided by a hash of their persons."""
    return Parted(*job.partitions.read_persons(number, weights, parts))


def some_records(parted: Parted, number: int) -> Records:
    """Return one part of a file's records, by person."""
    return parted.records[number]


def reading_of(parted: Parted) -> Reading:
    """Return the reading of a file."""
    return parted.reading


def bound_persons(job: Job, files: list[Records]) -> Piece:
    """Bound the contributions of some persons, from all of their records in the order of files."""
    return Piece(*coalesce(*job.partitions.bound_persons(files)))


def sum_nodes(job: Job, piece: Piece) -> CutSums:
    """Return totals by nodes of the cut."""
    totals = Piece(*coalesce(piece.key // np.uint64(job.cut.stride), piece.count))
    readings = [] if piece.reading is None else [piece.reading]
    return CutSums(totals, exact_sum(piece.count), join_readings(readings))


def add_sums(sums: list[CutSums]) -> CutSums:
    """Add up totals; InputError where they are more than a release may count."""
    people = sum(one.people for one in sums)
    if people > MAX_PEOPLE:  # before they overflow
        raise InputError(TOO_MANY)
    readings = join_readings([one.reading for one in sums])
    return CutSums(join([one.totals for one in sums]), people, readings)


def divide(piece: Piece, starts: NDArray[np.uint64]) -> list[Piece]:
    """Return the cells of every shelf, or of every range within a shelf.

    ``starts``: first keys of all but the first.
    """
    at = np.searchsorted(piece.key, starts)
    keys, counts = np.split(piece.key, at), np.split(piece.count, at)
    # Copies: a view would keep the arrays of the entire group in memory as long as one piece is
    # stored.
    return [Piece(key.copy(), count.copy()) for key, count in zip(keys, counts, strict=True)]


def part(pieces: list[Any], number: int) -> Any:
    """Return one piece of a divided group or shelf."""
    return pieces[number]


def merge(job: Job, pieces: list[Piece]) -> Piece:
    """Merge the cells of some files, all of them or those of one shelf.

    Raises RepeatedCellError for a cell in several files, if that is not allowed.
    """
    merged = join(pieces)
    if not job.partitions.repeated and merged.key.size < sum(piece.key.size for piece in pieces):
        # The driver then reads all files as one table, for an error with file and row.
        raise RepeatedCellError(
            "Several files have the same cell; if their counts add up, choose duplicates='sum'.",
            code="cell-in-several-files",
        )
    return merged


def read_all(job: Job) -> None:
    """Read all files as one table, as one machine does, for an error with file and row."""
    job.partitions.read_all()


def join(pieces: list[Piece]) -> Piece:
    """Merge several pieces: keys sorted, counts of equal keys summed."""
    keys, counts = [piece.key for piece in pieces], [piece.count for piece in pieces]
    return Piece(*coalesce(np.concatenate(keys), np.concatenate(counts)))


def size(piece: Piece) -> int:
    """Return the number of occupied cells."""
    return piece.key.size


def keys(piece: Piece) -> NDArray[np.uint64]:
    """Return the keys, for the digest of the input."""
    return piece.key


def counts(piece: Piece) -> NDArray[np.int64]:
    """Return the counts, for the digest of the input."""
    return piece.count


def label(job: Job, piece: Piece) -> list[NDArray[np.int64]]:
    """Return the people of every label, by attribute."""
    return label_sums(Cells(job.partitions.grid, piece.key, piece.count))


def subtract(job: Job, piece: Piece, relation: Relation) -> Remainder:
    """Return the remainder of a relation between labels."""
    return remainder(Cells(job.partitions.grid, piece.key, piece.count), relation)


def cells_of(job: Job, pieces: list[Piece]) -> Cells:
    """Return the cells of a range, from its pieces in key order."""
    keys, counts = [piece.key for piece in pieces], [piece.count for piece in pieces]
    if len(pieces) == 1:  # without a copy
        return Cells(job.partitions.grid, keys[0], counts[0])
    return Cells(job.partitions.grid, np.concatenate(keys), np.concatenate(counts))


def draw(
    job: Job,
    pieces: list[Piece],
    roots: Roots,
    secret: KeyFile,
    tops: Roots,
    last: Callable[..., Any],
    more: list[Any],
) -> Any:
    """Draw and finish a range, in one task: return the result of its final task.

    For a method whose top waits for nothing from below. ``last``, ``more``: the function of the
    final task and its further arguments.
    """
    return last(job, begin(job, pieces, roots, secret), tops, *more)


def begin(job: Job, pieces: list[Piece], roots: Roots, secret: KeyFile) -> Subtrees:
    """Run the first pass, in which all noise of the subtrees is drawn."""
    with secret.open(job.cut.declare()) as key:
        return job.cut.below(cells_of(job, pieces), roots, key)


def look(job: Job, pieces: list[Piece], subtrees: Subtrees, secret: KeyFile) -> Seen:
    """Return statistics of the predictions of the next level of some subtrees."""
    with secret.open(job.cut.declare()) as key:
        return informed(job).look(cells_of(job, pieces), subtrees, key)


def add_level(
    job: Job,
    pieces: list[Piece],
    subtrees: Subtrees,
    learned: Reliability | None,
    secret: KeyFile,
) -> Subtrees:
    """Run the first pass one level further, with the reliability learned from all subtrees."""
    with secret.open(job.cut.declare()) as key:
        return informed(job).open(cells_of(job, pieces), subtrees, learned, key)


def informed(job: Job) -> InformedPartition:
    """Return the cut, which has a prior."""
    assert isinstance(job.cut, InformedPartition)
    return job.cut


def estimates(subtrees: Subtrees) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return estimates of the roots from below, and their variances."""
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
    """Write the released cells as a Parquet file; return its entry in the card, and its extent.

    ``card``: card of the release, without the properties that are known only after the run.
    """
    cells, values = finish(job, subtrees, tops)
    table = ReleasedTable(job.partitions.grid, cells, values, job.cut.event)
    somebody = tops.count > 0
    # Intervals need sums of nodes above the cut, whose cells lie in other parts, too.
    top_nodes = job.cut.stride, tops.prefix[somebody], tops.count[somebody]
    errors = Release(table, custom_method=job.cut.method).errors(top_nodes)
    entry = write_part(View(table, card, errors), Path(path))
    if tiling is not None:
        entry["tiles"] = tiling.touched(table.grid.decode(cells)).tolist()
        entry["largest"] = int(values.max(initial=0))
    return entry


def tile(
    job: Job, window: Window, parts: list[str], path: str, card: Card, dtype: str
) -> str | None:
    """Write a tile of the map, from the released parts.

    Return its SHA-256, None outside the domain.
    """
    grid = job.partitions.grid
    columns = list(column_names(grid, card.name, ()))
    # Made from the written parts, so that the map shows exactly what is published.
    rows = [open_parquet(part).read(columns=columns) for part in parts]
    key = [np.empty(0, np.uint64), *(grid.encode(index_of(part, grid)) for part in rows)]
    count = [np.empty(0, np.int64), *(part[card.name].to_numpy() for part in rows)]
    table = ReleasedTable(grid, np.concatenate(key), np.concatenate(count), job.cut.event)
    written = write_tile(view_tiles(table, card), window, Path(path), dtype)
    return sha256(Path(path)) if written else None
