"""Run many checks in one pass over the rows of a release, or over the windows of its raster.

A check is a generator (:data:`RunningCheck`), as those of :mod:`geodp.io.verify.rows` and
:mod:`geodp.io.verify.raster`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from geodp.grid.grid import Grid
from geodp.io.verify.chunks import Chunk, read_chunks
from geodp.io.verify.readback import (
    BROKEN,
    TableBuilder,
    event_of,
    explain_errors,
    grid_of,
    read_mask_of,
    read_ordered_grid,
    require_order,
)
from geodp.io.write import tables
from geodp.table.card import Card
from geodp.table.released import ReleasedTable

Part = TypeVar("Part")

RunningCheck: TypeAlias = Generator[None, Part | None, str]
"""A check to which parts are sent, and None after the last of them.

It returns a message on what holds, or raises one of :data:`BROKEN`.
"""

Outcome: TypeAlias = str | Exception
"""The message of a check that holds, or the error of one that does not."""


def run_in_one_pass(
    parts: Callable[[], Iterable[Part]], checks: Mapping[str, Callable[[], RunningCheck[Part]]]
) -> dict[str, Outcome]:
    """Run many checks on the same parts, which are read once.

    Parameters
    ----------
    parts : callable
        Yields the parts; an error that it raises is the outcome of every check still running.
    checks : mapping of str to callable
        Functions that start the checks, by name. A check may end before it takes any part.

    Returns
    -------
    dict of str to str or Exception

    Raises
    ------
    MemoryError
        There is too little memory to run the checks.
    """
    outcomes: dict[str, Outcome] = {}
    left = {name: start() for name, start in checks.items()}

    # Every check takes a step before the next part is read, so that no part is kept.
    def go_on(step: Callable[[RunningCheck[Part]], object]) -> None:
        for name, check in [*left.items()]:
            try:
                step(check)
                continue
            except StopIteration as end:
                outcomes[name] = end.value
            except MemoryError:
                raise
            except BROKEN as error:
                outcomes[name] = error
            del left[name]

    go_on(next)
    try:
        for part in parts() if left else ():
            go_on(partial(_send, part))
            if not left:
                return outcomes
    except MemoryError:
        raise
    except BROKEN as error:
        go_on(partial(_throw, error))
    go_on(partial(_send, None))
    return outcomes


def _send(part: Part | None, check: RunningCheck[Part]) -> None:
    check.send(part)


def _throw(error: Exception, check: RunningCheck[Any]) -> None:
    check.throw(error)


class CheckPass(Generic[Part]):
    """The checks of one pass, which is made when the first outcome is needed.

    Parameters
    ----------
    parts, checks
        See :func:`run_in_one_pass`.
    """

    def __init__(
        self,
        parts: Callable[[], Iterable[Part]],
        checks: dict[str, Callable[[], RunningCheck[Part]]],
    ) -> None:
        self._parts, self._checks = parts, checks
        self._outcomes: dict[str, Outcome] | None = None

    def join(self, name: str, start: Callable[[], RunningCheck[Part]]) -> None:
        """Add a check, before the pass is made."""
        self._checks[name] = start

    def outcome(self, name: str) -> str:
        """Return the message of a check, or raise its error."""
        if self._outcomes is None:
            self._outcomes = run_in_one_pass(self._parts, self._checks)
        outcome = self._outcomes[name]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class ReleaseFiles:
    """The files of a release that is checked; what several checks need is read once.

    Attributes
    ----------
    folder : path
        The public folder.
    card : Card
    """

    def __init__(self, folder: Path, card: Card) -> None:
        self.folder, self.card = folder, card
        self._tables: dict[bool, ReleasedTable | Exception] = {}

    @cached_property
    def grid(self) -> Grid:
        """The card's grid, without mask and regions."""
        return grid_of(self.card.domain)

    @cached_property
    def located(self) -> Grid:
        """The grid for geometries: with the outlines of units, if the card has any."""
        if self.card.domain.outlines is None:
            return self.grid
        if isinstance(self._ordered, Exception):
            raise self._ordered
        return self._ordered

    def chunks(self) -> Iterable[Chunk]:
        """Yield the rows of the tables, on the grid with the regions that are in the folder."""
        # A damaged table of regions is reported by the checks that need it, not by those of rows.
        ordered = self._ordered
        return read_chunks(
            self.folder, self.card, self.grid if isinstance(ordered, Exception) else ordered
        )

    @cached_property
    def _ordered(self) -> Grid | Exception:
        """The grid in the card's order, or the error of its table of regions."""
        try:
            return read_ordered_grid(self.folder, self.card)
        except MemoryError:
            raise
        except BROKEN as error:
            return error

    def gather(self) -> RunningCheck[Chunk]:
        """Collect the released table from the chunks of a pass."""
        try:
            self._tables[False] = yield from self._gather()
        except MemoryError:
            raise
        except BROKEN as error:
            # Checks that need the table report the error, and not the pass that met it.
            self._tables[False] = error
        return ""

    def _gather(self) -> Generator[None, Chunk | None, ReleasedTable]:
        with explain_errors(self.folder):
            grid = self._ordered
            if isinstance(grid, Exception):
                raise grid
            lacks_table = self.card.domain.lacks_table(grid)
            event, gathered = event_of(self.card), TableBuilder(ordered=not lacks_table)
            while (chunk := (yield)) is not None:
                gathered.add(chunk)
            key, count = gathered.join()
            if lacks_table:
                # Without the table of regions, keys are those of the map, and rows in no order.
                rank = key.argsort()
                key, count = key[rank], count[rank]
        require_order(self.folder, key)
        return ReleasedTable(grid, key, count, event)

    def table(self, *, masked: bool) -> ReleasedTable:
        """Return the released table, as :func:`geodp.io.verify.readback.read_table` does.

        Raises the errors of reading it.
        """
        # Checks that need the table may come before the pass over its rows.
        if False not in self._tables:
            run_in_one_pass(self.chunks, {"table": self.gather})
        if masked and True not in self._tables:
            self._tables[True] = self._mask()
        table = self._tables[masked]
        if isinstance(table, Exception):
            raise table
        return table

    def _mask(self) -> ReleasedTable | Exception:
        """Return the table on the domain of the raster's mask, or the error of reading it."""
        plain = self._tables[False]
        if isinstance(plain, Exception):
            return plain
        try:
            with explain_errors(self.folder):
                mask = read_mask_of(self.folder, self.card)
                if mask is None:
                    return plain
                grid = plain.grid.with_mask(mask)
                for _, index, _ in tables.chunks(plain):
                    grid.encode(index)  # CodeError for a cell outside the mask
        except MemoryError:
            raise
        except BROKEN as error:
            return error
        return ReleasedTable(grid, plain.key, plain.count, plain.event)
