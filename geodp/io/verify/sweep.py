"""One pass over the rows of a release, of which many questions are asked on the way."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from geodp.grid.grid import Grid
from geodp.io.verify.chunks import Chunk, read_chunks
from geodp.io.verify.readback import (
    BROKEN,
    Gathered,
    event_of,
    grid_of,
    order_grid_of,
    read_mask_of,
    reading_back,
    require_order,
)
from geodp.io.write import tables
from geodp.table.card import Card
from geodp.table.released import ReleasedTable

Part = TypeVar("Part")

Asking: TypeAlias = Generator[None, Part | None, str]
"""A question that is sent parts, None after the last of them.

It returns what it found, or raises one of :data:`BROKEN` for what does not hold.
"""

Outcome: TypeAlias = str | Exception
"""What a question found, or what did not hold."""


def ask_along(
    parts: Callable[[], Iterable[Part]], asked: Mapping[str, Callable[[], Asking[Part]]]
) -> dict[str, Outcome]:
    """Ask many questions of the same parts, which are read once.

    Parameters
    ----------
    parts : callable
        Reads them one by one; what it raises is the outcome of every question that is left.
    asked : mapping of str to callable
        Starts each question, by name. One that needs no part returns before it takes one.

    Returns
    -------
    dict of str to str or Exception

    Raises
    ------
    MemoryError
        There is too little memory to ask.
    """
    found: dict[str, Outcome] = {}
    left = {name: start() for name, start in asked.items()}

    def go_on(step: Callable[[Asking[Part]], object]) -> None:
        for name, asking in [*left.items()]:
            try:
                step(asking)
                continue
            except StopIteration as end:
                found[name] = end.value
            except MemoryError:
                raise
            except BROKEN as error:
                found[name] = error
            del left[name]

    go_on(next)
    try:
        for part in parts() if left else ():
            go_on(partial(_send, part))
            if not left:
                return found
    except MemoryError:
        raise
    except BROKEN as error:
        go_on(partial(_throw, error))
    go_on(partial(_send, None))
    return found


def _send(part: Part | None, asking: Asking[Part]) -> None:
    asking.send(part)


def _throw(error: Exception, asking: Asking[Any]) -> None:
    asking.throw(error)


class Passed(Generic[Part]):
    """The questions of one pass, which is made when the first outcome is asked for.

    Parameters
    ----------
    parts, asked
        As for :func:`ask_along`.
    """

    def __init__(
        self, parts: Callable[[], Iterable[Part]], asked: dict[str, Callable[[], Asking[Part]]]
    ) -> None:
        self._parts, self._asked = parts, asked
        self._found: dict[str, Outcome] | None = None

    def join(self, name: str, start: Callable[[], Asking[Part]]) -> None:
        """Ask one more question on the way, before the pass is made."""
        self._asked[name] = start

    def outcome(self, name: str) -> str:
        """Return what a question found, or raise what it raised."""
        if self._found is None:
            self._found = ask_along(self._parts, self._asked)
        found = self._found[name]
        if isinstance(found, Exception):
            raise found
        return found


class Written:
    """A release whose files are asked; what several questions read of it is read once.

    Attributes
    ----------
    folder : path
        Of the public files.
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
        """The grid as geometries need it: with the outlines of units, if the card has any."""
        if self.card.domain.outlines is None:
            return self.grid
        if isinstance(self._ordered, Exception):
            raise self._ordered
        return self._ordered

    def chunks(self) -> Iterable[Chunk]:
        """Yield the rows of the tables, on the grid with the regions that are in the folder."""
        ordered = self._ordered
        return read_chunks(
            self.folder, self.card, self.grid if isinstance(ordered, Exception) else ordered
        )

    @cached_property
    def _ordered(self) -> Grid | Exception:
        """Return the grid in the card's order, or what does not hold of its table of regions."""
        try:
            return order_grid_of(self.folder, self.card)
        except MemoryError:
            raise
        except BROKEN as error:
            return error

    def gather(self) -> Asking[Chunk]:
        """Gather the released table from the chunks of a pass."""
        try:
            self._tables[False] = yield from self._gather()
        except MemoryError:
            raise
        except BROKEN as error:
            self._tables[False] = error
        return ""

    def _gather(self) -> Generator[None, Chunk | None, ReleasedTable]:
        with reading_back(self.folder):
            grid = self._ordered
            if isinstance(grid, Exception):
                raise grid
            event, gathered = event_of(self.card), Gathered()
            while (chunk := (yield)) is not None:
                gathered.add(chunk)
            key, count = gathered.join()
            if self.card.domain.lacks_table(grid):  # nothing tells their order
                rank = key.argsort()
                key, count = key[rank], count[rank]
        require_order(self.folder, key)
        return ReleasedTable(grid, key, count, event)

    def table(self, *, masked: bool) -> ReleasedTable:
        """Return the released table, as :func:`geodp.io.verify.readback.read_table` does.

        Raises what reading it raised.
        """
        if False not in self._tables:
            ask_along(self.chunks, {"table": self.gather})
        if masked and True not in self._tables:
            self._tables[True] = self._mask()
        found = self._tables[masked]
        if isinstance(found, Exception):
            raise found
        return found

    def _mask(self) -> ReleasedTable | Exception:
        """Return the table on the domain of the raster's mask, or what does not hold."""
        plain = self._tables[False]
        if isinstance(plain, Exception):
            return plain
        try:
            with reading_back(self.folder):
                mask = read_mask_of(self.folder, self.card)
                if mask is None:
                    return plain
                grid = plain.grid.with_mask(mask)
                for _, index, _ in tables.chunks(plain):
                    grid.encode(index)  # refuses a cell outside the mask
        except MemoryError:
            raise
        except BROKEN as error:
            return error
        return ReleasedTable(grid, plain.key, plain.count, plain.event)
