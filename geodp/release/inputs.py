"""Inputs of publications: tables, or what is read into one, and priors.

A prior is a public table, or an earlier release with its own charge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, TypeVar

from geodp.errors import Rule, UsageError
from geodp.io.read.public.land import state_land
from geodp.io.read.rows.input_files import ArrowStream, LabelledArray, TableSource
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.ledger import Charge
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.contribution import require_no_sums
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import OTHER_GRID, Prior
from geodp.table.reading import StatedReading, require_rows
from geodp.table.stated.release import StatedCharge
from geodp.table.totals import InMemoryTable

NO_TABLE = Rule(
    "table-or-grid-expected",
    "Publishing takes a table of counts, or a frame or a file with the public grid that it is "
    "counted on: geodp.publish(frame, grid='jis:half', epsilon=..., contribution=...). An array "
    "of NumPy becomes a table by geodp.CountTable.from_dense(array, grid).",
)
READY = Rule(
    "table-released",
    "This is published already: release.write(folder) writes it, release.to_pandas() has its rows.",
)
LAZY = Rule("frame-lazy", "A lazy frame has no rows yet: geodp.publish(frame.collect(), ...).")
READ_ALREADY = Rule(
    "read-already",
    "These arguments say how a frame or a file is read, and this table was read already: {}. Leave "
    "them out, or give the frame or the file.",
)

Read = TypeVar("Read")


def read_input(
    source: TableSource | Read, kind: type[Read], read: Callable[..., Read], **reading: Any
) -> Read:
    """Return a table that was read already; otherwise read it.

    Parameters
    ----------
    source : table, or what is read
    kind : type
        Of tables that were read.
    read : callable
        Reads a frame or files.
    **reading
        Keywords of ``read``.

    Raises
    ------
    UsageError
        Keywords for a table that was read: one that is ignored may be a selection, and others would
        be counted; or a source that is neither read nor can be.
    """
    if isinstance(source, kind):
        if given := [name for name, value in reading.items() if value is not None]:
            raise UsageError(READ_ALREADY.format(", ".join(given)))
        return source
    if not isinstance(source, str | PathLike | list | tuple | ArrowStream | LabelledArray):
        released = isinstance(source, ReleasedTable) or hasattr(source, "card")
        raise UsageError(READY if released else LAZY if hasattr(source, "collect") else NO_TABLE)
    return read(source, **reading)


def state_tables(
    tables: Sequence[CountTable], request: Request, further: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[StatedReading | None, ...]]:
    """Return public facts about tables of one grid that were read, and how each of them was.

    Parameters
    ----------
    tables : sequence of CountTable
    request : Request
    further : iterable of str
        Facts that follow from what is checked after the rows.

    Raises
    ------
    UsageError
        A file without rows, or a table that counts nobody, unless the request allows it.
    """
    met = [
        fact
        for one in tables
        for fact in require_rows(one.rows, one.reading, allow_empty=request.allow_empty)
    ]
    facts = (*dict.fromkeys((*met, *further)), *state_land(tables[0].grid))
    return facts, tuple(None if one.reading is None else one.reading.public for one in tables)


def check_labels(
    tables: Iterable[CountTable], bound: ContributionBound, disjoint: Collection[str] = ()
) -> Iterator[str]:
    """Yield the public facts that follow from labels of which none is a sum of others.

    As an iterator, so that what is wrong with rows is told before what is wrong with labels. Raises
    UsageError for a label that is the sum of others; ``disjoint``: attributes that have none.
    """
    for one in tables:
        yield from require_no_sums(one.grid, bound, InMemoryTable(one), disjoint)


def choose_prior(
    table: CountTable, prior: CountTable | Release | Prior | None, source: str | None
) -> Prior | None:
    """Make the prior of a release, before anything is charged.

    Raises UsageError for an object that is no prior, and for a prior that is neither declared
    public by a source nor was charged to a ledger.
    """
    if prior is None:
        if source is not None:
            raise UsageError(
                "The source of a prior goes with a prior only.", code="source-without-prior"
            )
        return None
    # A prior enters without noise: one made from the data would publish them uncharged.
    if prior is table:
        raise UsageError(
            "The prior is the table itself; a prior must not be made from it.",
            code="prior-is-table",
        )
    # An earlier release may be used freely, as its own charge has paid for it.
    if isinstance(prior, Release):
        return Prior.of(table.grid, prior.table, source or describe_charge(prior.charge))
    if not isinstance(prior, Prior):
        if not isinstance(prior, CountTable):
            raise UsageError("A prior is a CountTable, a Release or a Prior.", code="prior-kind")
        return Prior.of(table.grid, prior, source or "")
    if source is not None:
        raise UsageError(
            "A Prior has its own source; leave out prior_source.", code="prior-has-source"
        )
    if prior.grid != table.grid:
        raise UsageError(OTHER_GRID)
    return prior


def describe_charge(charge: Charge | StatedCharge | None) -> str:
    """Describe a release by its charge, as the source of a prior; empty without a charge."""
    if charge is None:
        return ""
    values = charge.describe()
    return (
        f"an earlier release that was charged itself: entry {values['sequence']} of the ledger "
        f"{values['ledger']}, data set {values['dataset']}"
    )
