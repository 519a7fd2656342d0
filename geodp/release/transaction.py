"""A release from its inputs to its files: prepared, drawn, stored, charged, completed, resumed.

Everything of a release that is public before a draw is its :class:`Design`: it follows from the
call and from the :class:`Inputs`, which are what the release states of the files that it was read
from. :class:`Prepared` adds the confidential part. What is drawn is plain arrays and numbers, which
are stored by their fields before the charge. A run that was cut short makes the same design from
the same call and the stored inputs, and completes it with the stored draw: nothing is read, drawn
or charged again.

A charge is never taken back, so it comes last. A draw that fails, or that cannot be stored, has
cost nothing, and what was charged is on the disk already. Nobody sees a draw before its charge: if
a run ends between the two, the stored draw is removed or, if the charge is in the ledger, completed
(see :mod:`geodp.io.folder.pending`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from geodp.errors import UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.io.folder.pending import Packed, PendingDraw, another, pack, unpack, unreadable
from geodp.io.folder.stopping import hold_stops
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement, TableEvent
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge, Ledger
from geodp.privacy.loss import ZeroConcentratedDP
from geodp.privacy.noise.draws import Draws
from geodp.privacy.selected import Selection
from geodp.release.noise_identity import release_key
from geodp.release.request import Request
from geodp.table.counts import Cells, ReleasedTable
from geodp.table.reading import Reading, StatedReading
from geodp.typing import CountArray, KeyArray

Drawn = TypeVar("Drawn")

Keep = Callable[[Drawn, str], None]
"""Store a draw, under the fingerprint of its charge, until the release is complete."""


def release_and_charge(
    request: Request,
    event: Measurement | Selection,
    draws: Draws,
    compute_digest: Callable[[], bytes],
    draw: Callable[[NoiseKey], Drawn],
    keep: Keep[Drawn] | None = None,
) -> tuple[Drawn, Charge | None]:
    """Derive the key of a release, draw with it and charge, and forget the key.

    Every release that is drawn in one process is made here, whatever its kind.

    Parameters
    ----------
    request : Request
    event : Measurement or Selection
        The privacy event of everything that is drawn, as the ledger names it.
    draws, compute_digest
        See :func:`geodp.release.noise_identity.release_key`.
    draw : callable
        Draws with the derived key; called only if the ledger would accept the charge.
    keep : callable, optional
        See :func:`draw_and_charge`, as for errors.

    Returns
    -------
    drawn, charge
        The charge is None without a ledger.
    """
    # The fingerprint comes before any draw: it decides whether this was charged already.
    derived_key, fingerprint = release_key(request.key, draws, compute_digest)
    # Overwritten even if the draw or the charge fails: whoever reads the memory later could
    # subtract the noise.
    with derived_key:
        return draw_and_charge(
            request.ledger,
            request.dataset,
            event,
            fingerprint,
            lambda: draw(derived_key),
            keep,
            records=request.records,
        )


def draw_and_charge(
    ledger: Ledger | None,
    dataset: str | None,
    event: Measurement | Selection,
    fingerprint: str,
    draw: Callable[[], Drawn],
    keep: Keep[Drawn] | None = None,
    *,
    records: str | None = None,
) -> tuple[Drawn, Charge | None]:
    """Draw, store the draw, and charge it to a data set.

    Parameters
    ----------
    ledger, dataset
        Both or none; without them nothing is stored or charged.
    event : Measurement or Selection
    fingerprint : str
        Identifies the release. A repeated release is recognised by it only with a kept key.
    draw : callable
        Called only if the ledger would accept the charge.
    keep : callable, optional
        Stores the draw. If it fails, nothing is charged.
    records : {"all", "fresh-sample", "same-sample"}, optional
        Which records the table was made from.

    Raises
    ------
    UsageError, BudgetError, OutputError, VerificationError
        See :meth:`geodp.privacy.ledger.Ledger.charge`. Nothing was charged. They are raised before
        the draw, unless another run has charged the ledger in the meantime.
    """
    terms = _charge_arguments(ledger, dataset, event, records)
    if ledger is None or terms is None:
        return draw(), None
    # A draw can take hours: a charge that the ledger would refuse, or that could not be written, is
    # refused before it.
    ledger.rehearse(fingerprint=fingerprint, **terms)
    drawn = draw()
    if keep is not None:
        keep(drawn, fingerprint)
    # Raises here, uncharged, if the run was requested to stop. A signal during the charge waits
    # until it is complete: a charge that the run does not know of would be wasted.
    with hold_stops():
        return drawn, ledger.charge(fingerprint=fingerprint, **terms)


def charge_event(
    ledger: Ledger | None,
    dataset: str | None,
    event: Measurement | Selection,
    fingerprint: str,
    *,
    records: str | None = None,
) -> Charge | None:
    """Charge a data set before the draw, for callers that cannot hide the draw until a charge.

    Parameters and errors are those of :func:`draw_and_charge`. Returns None without a ledger.
    """
    # The workers of a cluster write their shards as they draw them.
    terms = _charge_arguments(ledger, dataset, event, records)
    if ledger is None or terms is None:
        return None
    return ledger.charge(fingerprint=fingerprint, **terms)


def find_charge(ledger: Ledger | None, dataset: str | None, fingerprint: str) -> Charge:
    """Find the charge of an interrupted run; UsageError if the ledger does not have it."""
    charge = None
    if ledger is not None and dataset is not None:
        charge = ledger.find_charge(dataset, fingerprint)
    if charge is None:
        raise UsageError(
            "The ledger has no charge of the interrupted run; give the one that was charged.",
            code="resumed-charge-missing",
        )
    return charge


def _charge_arguments(
    ledger: Ledger | None,
    dataset: str | None,
    event: Measurement | Selection,
    records: str | None,
) -> dict[str, Any] | None:
    """Assemble the arguments of a charge, or None without a ledger; UsageError for a misfit."""
    if ledger is None and dataset is None:
        if records is not None:
            raise UsageError(
                "What a release is made from (--records, records=) is declared to a ledger; "
                "give one.",
                code="records-need-ledger",
            )
        return None
    if ledger is None or dataset is None:
        raise UsageError(
            "A ledger and the name of a data set in it go together.", code="ledger-needs-dataset"
        )
    if not event.is_private:
        raise UsageError(
            "A release with a fixed key is not private and has no place in a ledger.",
            code="fixed-key-in-ledger",
        )
    account = ledger.account(dataset)
    account.require_unit(event.unit)
    loss = event.loss
    # rho composes more tightly than the (epsilon, delta) that it implies, so an account that is
    # capped in rho is charged in rho.
    if event.rho is not None and isinstance(account.cap, ZeroConcentratedDP):
        loss = ZeroConcentratedDP(event.rho)
    return {
        "dataset": dataset,
        "loss": loss,
        "mechanism": event.mechanism,
        "neighbours": event.neighbours,
        "contribution": event.contribution,
        "records": records,
    }


Made = TypeVar("Made")


@dataclass(frozen=True)
class Inputs:
    """Facts on its inputs that a release states, as reading them has shown.

    Attributes
    ----------
    facts : tuple of str
        Public facts, a sentence each.
    readings : tuple of StatedReading or None
        How each table was read; None: it was made in Python.
    bound : ContributionBound
        The most that one unit of privacy contributes.
    """

    facts: tuple[str, ...]
    readings: tuple[StatedReading | None, ...]
    bound: ContributionBound


@dataclass(frozen=True, eq=False)
class DrawnCells:
    """Drawn counts of cells, in key order.

    Attributes
    ----------
    key : uint64[m]
    count : int64[m] or float64[m]
    """

    key: KeyArray
    count: CountArray

    @classmethod
    def of(cls, cells: Cells) -> Self:
        """Take the keys and counts of cells."""
        return cls(cells.key, cells.count)

    def on(self, grid: Grid, event: TableEvent) -> ReleasedTable:
        """Return them as a released table."""
        return ReleasedTable(grid, self.key, self.count, event)


class Design(Protocol):
    """A release before anything is drawn; it follows from public things and its inputs alone."""

    @property
    def request(self) -> Request:
        """The request that the release answers."""

    @property
    def event(self) -> Measurement | Selection:
        """The privacy event of everything that is drawn, as a ledger names it."""

    @property
    def draws(self) -> Draws:
        """All draws, as they are declared to the key."""

    def complete(self, drawn: Any, charge: Charge | None) -> Any:
        """Return the release of what was drawn."""


class StoredDesign(Design, Protocol):
    """A design whose draw is stored, so that a run which was cut short can be completed."""

    @property
    def drawn(self) -> Any:
        """Type of what is drawn: a dataclass of arrays and plain values, or a tuple of such."""

    @property
    def inputs(self) -> Inputs:
        """Facts on the inputs, for card and record."""

    @property
    def shown(self) -> Any:
        """The release without data whose grid, reading and card stand for all of it."""


AnyDesign = TypeVar("AnyDesign", bound=Design, covariant=True)


@dataclass(frozen=True, eq=False)
class Prepared(Generic[AnyDesign, Made]):
    """A release that is ready to be drawn; nothing is charged and nothing drawn.

    Attributes
    ----------
    design : Design
    identify : callable
        Returns the SHA-256 of everything that the release depends on except the key.
    draw : callable
        Draws with a key; nothing is charged.
    reading : Reading or None
        How the inputs were read: confidential.
    cells : int, mapping of str to int, or list of either
        Number of occupied cells, or that of every table; of every period of a series: confidential.
    counted : mapping
        Summary of what is counted, for the record of a check and of the run: confidential.
    prior : str or None
        The SHA-256 of the cells of its prior, for the record of the run: confidential.
    """

    design: AnyDesign
    identify: Callable[[], bytes]
    draw: Callable[[NoiseKey], Any]
    reading: Reading | None = field(default=None, repr=False)
    cells: Any = field(default=0, repr=False)
    counted: Mapping[str, Any] = field(default_factory=dict, repr=False)
    prior: str | None = field(default=None, repr=False)

    def release(self, keep: Keep[Any] | None = None) -> Made:
        """Draw, charge once, and complete; ``keep`` stores the draw before the charge."""
        design = self.design
        drawn, charge = release_and_charge(
            design.request, design.event, design.draws, self.identify, self.draw, keep
        )
        made: Made = design.complete(drawn, charge)
        return made


def pack_draw(design: StoredDesign, drawn: Any) -> Packed:
    """Convert a draw, and what its design follows from besides the call, to plain values."""
    plain, arrays = pack({"inputs": design.inputs, "drawn": drawn})
    return {**plain, "design": _name(design), "grid": _name_grid(design)}, arrays


def restore(
    stored: PendingDraw,
    make: Callable[[Any], StoredDesign],
    kind: type[Inputs],
    folder: Path,
    charge: Charge,
) -> Any:
    """Complete a release from a draw that was charged and stored by the same call.

    Parameters
    ----------
    stored : PendingDraw
    make : callable
        Makes the design from the inputs, which are of the class ``kind``.
    kind : type
    folder : path
        Where the draw is stored, for messages.
    charge : Charge

    Raises
    ------
    UsageError
        The file is damaged, or a public file that the design follows from is another one now.
    """
    try:
        design = make(unpack(kind, stored.card["inputs"], stored.arrays))
        names = stored.card["grid"], stored.card["design"]
        drawn = unpack(design.drawn, stored.card["drawn"], stored.arrays)
    except UsageError:
        # Of the design: a public file is another one now, and the file of the draw is whole.
        raise
    except (LookupError, TypeError, ValueError, VerificationError):
        raise unreadable(folder) from None
    if names[0] != _name_grid(design):
        raise another("grid", folder)
    if names[1] != _name(design):
        raise another("public file", folder)
    return design.complete(drawn, charge)


def _name_grid(design: StoredDesign) -> str:
    return digest(design.shown.grid.identity).hex()


def _name(design: StoredDesign) -> str:
    """Return a digest of all that the card of a design states."""
    return digest(json.dumps(design.shown.card().to_json(), sort_keys=True).encode()).hex()
