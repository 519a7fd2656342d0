"""Collect reports of devices: randomise, aggregate, and publish a round."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.errors import CodeError, InputError, Rule, UsageError
from geodp.grid.lattice import parse_codes
from geodp.kernels.pyramid.shares import share
from geodp.local.coins import Coins
from geodp.local.files import read_reports, read_sums, row_of, write_sums
from geodp.local.kernels import hashing
from geodp.local.round import Round
from geodp.local.tree import TreeState, draw_uniforms, restore_state
from geodp.privacy.reports import LocalReports
from geodp.release.metadata import state_metadata
from geodp.release.preview import preview_release
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.table.counts import ReleasedTable
from geodp.typing import IntArray, ReportArray

MIN_REPORTS = 1_000
"""Smallest number of reports of a release: the error of fewer is larger than all of them."""

MAX_SPREAD_CELLS = 1 << 26
"""Largest number of cells that blocks are spread over."""

CHUNK = 1 << 20
"""Reports of an array that are aggregated together."""

OUTSIDE = Rule(
    "device-outside-domain",
    "The cell lies outside the domain of the round; a device there must send nothing, as a report "
    "from another cell would reveal something about it.",
)


@dataclass(frozen=True)
class Sums:
    """The aggregate of a round's reports; those of parts add up, in any order.

    Attributes
    ----------
    round : Round
    state : TreeState
        Whole numbers.
    files : tuple of str
        Digests of the reports of every aggregated file, sorted; the same reports in another order
        or file format have the same digest, see :class:`_Content`.
    """

    __repr__ = one_line

    round: Round
    state: TreeState
    files: tuple[str, ...] = ()

    @property
    def reports(self) -> int:
        """Number of reports."""
        return self.state.reports

    def __add__(self, other: Sums) -> Sums:
        """Add the sums of both; UsageError for another round or a file that is in both."""
        if self.round.digest != other.round.digest:
            raise UsageError(
                "Sums of different rounds do not add up; publish each by itself.",
                code="sums-of-other-round",
            )
        # Sorted, so that sums are equal however they were added.
        files = sorted([*self.files, *other.files])
        if len(set(files)) < len(files):
            raise UsageError(
                "Exactly these reports were added up already; give each file or sums once, and "
                "join files of a few reports, which may be equal by chance, in one.",
                code="reports-added-twice",
            )
        return Sums(self.round, self.state + other.state, tuple(files))

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a file, completely or not at all.

        See :func:`geodp.local.files.write_sums`.
        """
        header = {"round": self.round.to_json(), "files": self.files}
        write_sums(Path(path), header, self.state.arrays(), overwrite=overwrite)

    @classmethod
    def read(cls, path: str | Path) -> Sums:
        """Read the sums of a file.

        Raises
        ------
        InputError
            A file of another kind, or one that was cut off or changed.
        """
        header, arrays = read_sums(Path(path))
        round_, files = Round.from_json(header.get("round"), Path(path).name), header.get("files")
        if not isinstance(files, list) or not all(map(_is_digest, files)):
            raise InputError(
                "The sums do not say of which files they are.",
                file=Path(path).name,
                code="sums-without-files",
            )
        if len(set(files)) < len(files):
            raise InputError(
                "The sums have a file twice; add it up once.",
                file=Path(path).name,
                code="sums-file-twice",
            )
        try:
            state = restore_state(round_.oracles, arrays)
        except UsageError as error:
            raise InputError(str(error), file=Path(path).name, code=error.code) from None
        return cls(round_, state, tuple(files))


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def randomize(round_: Round, cells: Any, coins: Coins | None = None) -> ReportArray:
    """Randomise one report for every device, in random order.

    This is what a device does, for tests and gateways: a gateway that holds places must be trusted
    with them. One device sends one report in a period.

    Parameters
    ----------
    round_ : Round
    cells : list of str, or int array [2, n]
        Codes of the cells in which the devices are, or rows and columns in the round's grid.
    coins : Coins, optional
        By default the operating system's entropy.

    Returns
    -------
    structured array [n]
        Reports, of the type ``round_.report_type``.

    Raises
    ------
    CodeError
        A cell outside the domain of the round: refused, and not moved into it.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> plan = geodp.local.plan(geodp.Grid.regular((64, 64)), devices=50_000, epsilon=1)
    >>> collection = geodp.local.open_round(plan)
    >>> places = np.full((2, 50_000), 7)  # row and column of every device
    >>> len(geodp.local.randomize(collection, places))
    50000
    """
    source = Coins() if coins is None else coins
    index = _index_of(round_, cells)
    outside = np.flatnonzero(~round_.grid.contains(index))
    if outside.size:
        # Refused and not moved: a report from another cell would reveal that the device was
        # outside.
        raise CodeError(int(outside[0]), OUTSIDE)
    coarse = round_.coarse
    key = coarse.grid.encode(coarse.index(index))
    reports = round_.protocol.randomize(round_.oracles, key, source)
    # Fixed coins serve to compare devices with each other, which needs the order of the input.
    if coins is not None:
        return reports
    # The order of the input may be that of time or place, which reports must not reveal.
    return reports[_shuffle(reports.size)]


def _index_of(round_: Round, cells: Any) -> IntArray:
    """Convert cells to rows and columns: int64[2, n]."""
    array = np.asarray(cells)
    if array.dtype.kind in "iu" and array.ndim == 2 and array.shape[0] == 2:
        return array.astype(np.int64)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "UO"):
        raise UsageError(
            "Give cells as a list of codes, or as rows and columns: int[2, n].",
            code="cells-form",
        )
    return np.stack(parse_codes(round_.grid.places[0], array.astype(object)))


def _shuffle(n: int) -> NDArray[np.intp]:
    """Draw a random order of n reports, which hides when they were made."""
    numbers = np.frombuffer(Coins().ahead(2 * n)[: 2 * n].tobytes(), np.uint64)
    return np.argsort(numbers, kind="stable")


def aggregate(
    round_: Round,
    reports: ReportArray | str | Path | Sums | Iterable[ReportArray | str | Path | Sums],
) -> Sums:
    """Add reports up; the sums are the same however the reports are split into files.

    Parameters
    ----------
    round_ : Round
    reports : structured array, path or Sums, or a sequence of these
        Files of reports are read in chunks; a file that ends in .sums has sums.

    Raises
    ------
    InputError
        Reports of another round, with other fields or out of range, by file and row; a file that is
        cut off, or whose reports are given twice. The message quotes no report.
    UsageError
        The same for arrays and sums.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> plan = geodp.local.plan(geodp.Grid.regular((64, 64)), devices=50_000, epsilon=1)
    >>> collection = geodp.local.open_round(plan)
    >>> places = np.full((2, 50_000), 7)  # row and column of every device
    >>> reports = geodp.local.randomize(collection, places)
    >>> halves = [reports[:25_000], reports[25_000:]]
    >>> geodp.local.aggregate(collection, halves) == geodp.local.aggregate(collection, reports)
    True
    """
    is_single = isinstance(reports, np.ndarray | str | Path | Sums)
    parts = [reports] if is_single else list(reports)  # type: ignore[arg-type]
    total = Sums(round_, _add_up(round_, []))
    progress.begin("Adding up reports", len(parts))
    for part in parts:
        if isinstance(part, np.ndarray):
            total += Sums(round_, _add_up(round_, [part]))
        elif isinstance(part, Sums):
            total += part
        else:
            path = Path(part)  # type: ignore[arg-type]
            try:
                total += Sums.read(path) if path.suffix == ".sums" else _read(round_, path)
            except UsageError as error:
                raise InputError(str(error), file=path.name, code=error.code) from None
        progress.advance()
    return total


def _read(round_: Round, path: Path) -> Sums:
    """Read the sums of a file of reports; InputError, with its name and row."""
    content = _Content()
    pieces = content.watch(read_reports(path, round_.digest, round_.report_type))
    try:
        state = _add_up(round_, pieces)
    except CodeError as error:
        row = row_of(path, error.position)
        raise InputError(error.rule, file=path.name, row=row) from None
    return Sums(round_, state, (content.digest(round_),) if state.reports else ())


def _add_up(round_: Round, pieces: Iterable[ReportArray]) -> TreeState:
    """Aggregate the reports of some arrays; CodeError with the position among all of them."""
    oracles, kind = round_.oracles, round_.report_type
    state = round_.protocol.aggregate(oracles, np.empty(0, kind))
    read = 0
    for piece in pieces:
        # A chunk at a time bounds the memory of the oracles, whose sums do not depend on the split.
        for first in range(0, piece.size, CHUNK):
            try:
                state += round_.protocol.aggregate(oracles, piece[first : first + CHUNK])
            except CodeError as error:
                raise CodeError(read + first + error.position, error.rule) from None
        read += piece.size
    return state


class _Content:
    """A fingerprint of reports, the same in any order and file format.

    It is made of sums modulo ``2**64`` of hashes of the reports. It detects a mistake, not an
    attack: an attacker could as well change one report.
    """

    def __init__(self) -> None:
        self._sums, self._reports = [0, 0], 0

    def watch(self, pieces: Iterable[ReportArray]) -> Iterator[ReportArray]:
        """Yield the same arrays, and add them to the fingerprint."""
        for piece in pieces:
            # Hashes are added, which is independent of order and of how reports are split into
            # files.
            word = np.zeros(piece.size, np.uint64)
            for name in piece.dtype.names or ():
                hashing.fold(np.ascontiguousarray(piece[name], np.uint64), word)
            pairs = zip(self._sums, hashing.checksum(word), strict=True)
            self._sums = [(old + int(new)) % (1 << 64) for old, new in pairs]
            self._reports += piece.size
            yield piece

    def digest(self, round_: Round) -> str:
        """Return the fingerprint, 64 hexadecimal digits."""
        text = f"{round_.digest} {self._reports} {self._sums[0]} {self._sums[1]}"
        return hashlib.sha256(text.encode()).hexdigest()


def publish(
    round_: Round,
    sums: Sums,
    *,
    spread: bool = False,
    metadata: Mapping[str, str | int] | None = None,
) -> Release:
    """Build the release of a round's reports, which costs no further budget.

    Parameters
    ----------
    round_ : Round
    sums : Sums
    spread : bool
        Spread every block evenly over the cells of the round's grid. It makes a finer picture, not
        a finer release: the card says so, and no error of a cell is available.
    metadata : mapping, optional
        Metadata by the publishing office, as for :func:`geodp.publish`.

    Raises
    ------
    UsageError
        Sums of another round, or of fewer than 1,000 reports; too many cells to spread over.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> plan = geodp.local.plan(geodp.Grid.regular((64, 64)), devices=50_000, epsilon=1)
    >>> collection = geodp.local.open_round(plan)
    >>> places = np.full((2, 50_000), 7)  # row and column of every device
    >>> sums = geodp.local.aggregate(collection, geodp.local.randomize(collection, places))
    >>> int(geodp.local.publish(collection, sums).table.count.sum())
    50000
    """
    if sums.round.digest != round_.digest:
        raise UsageError(
            "These are the sums of another round; publish them with the round that they are of.",
            code="sums-of-wrong-round",
        )
    event = round_.event(sums.reports)
    grid, method = round_.coarse.grid, round_.protocol
    if sums.reports < MIN_REPORTS:
        # Shown to the collector, who may wait for more reports; it is computed without any data.
        error = preview_release(grid, method, round_.event(MIN_REPORTS), None).standard_error()
        raise UsageError(
            f"A release needs at least {MIN_REPORTS:,} reports, and there are {sums.reports:,}: "
            f"even with {MIN_REPORTS:,} a cell has a standard error of {error:,.0f}; collect more.",
            code="reports-too-few",
        )
    # From here on everything is post-processing of randomised reports, so no budget is charged.
    table = method.refine(grid, event, sums.state)
    if spread:
        method = replace(method, spread=True)
        table = spread_evenly(round_, table, replace(event, mechanism=method.spec))
    described = state_metadata(metadata) if metadata else None
    return Release(table, round_.budget, float(sums.reports), (), method, metadata=described)


def spread_evenly(round_: Round, table: ReleasedTable, event: LocalReports) -> ReleasedTable:
    """Spread the counts of blocks over their cells in the round's grid, in whole numbers."""
    grid = round_.grid
    stride = prod(grid.order.radices[round_.depth :])
    if table.key.size * stride > MAX_SPREAD_CELLS:
        raise UsageError(
            f"Blocks are spread over at most {MAX_SPREAD_CELLS:,} cells; publish them as they are.",
            code="spread-too-wide",
        )
    key = np.repeat(table.key * np.uint64(stride), stride)
    key += np.tile(np.arange(stride, dtype=np.uint64), table.key.size)
    inside = grid.contains_keys(key).astype(np.float64)
    count, members = np.empty(key.size, np.int64), np.full(table.key.size, stride)
    # Seeded by the block alone, so that the same sums always spread to the same cells.
    uniform = draw_uniforms(len(grid.order.radices), table.key)
    share(
        np.zeros(key.size), inside, members, np.asarray(table.count, np.int64), uniform, 0.0, count
    )
    return ReleasedTable(grid, key[count > 0], count[count > 0], event)
