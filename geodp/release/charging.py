"""Charge a ledger in one fixed order: check the ledger, draw, store the draw, charge.

A charge is never taken back, so it comes last. A draw that fails, or that cannot be stored, has
cost nothing, and what was charged is on the disk already. Nobody sees a draw before its charge: if
a run ends between the two, the stored draw is removed or, if the charge is in the ledger, completed
(see :mod:`geodp.io.folder.pending`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from geodp.errors import UsageError
from geodp.io.folder.stopping import hold_stops
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Charge, Ledger
from geodp.privacy.loss import ZeroConcentratedDP
from geodp.privacy.noise.draws import Draws
from geodp.privacy.selected import Selection
from geodp.release.noise_identity import release_key

Drawn = TypeVar("Drawn")

Keep = Callable[[Drawn, str], None]
"""Store a draw, under the fingerprint of its charge, until the release is complete."""


class ChargedRequest(Protocol):
    """What a request says of the key of the noise and of what is charged.

    :class:`geodp.release.request.Request` is one.
    """

    @property
    def key(self) -> NoiseKey | None:
        """The kept key; None: a fresh one, which is forgotten."""

    @property
    def ledger(self) -> Ledger | None:
        """The ledger to charge."""

    @property
    def dataset(self) -> str | None:
        """Name of the data set in the ledger."""

    @property
    def records(self) -> str | None:
        """Which records the release is made from, as declared to the ledger."""


def release_and_charge(
    request: ChargedRequest,
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
    request : ChargedRequest
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
    try:
        return draw_and_charge(
            request.ledger,
            request.dataset,
            event,
            fingerprint,
            lambda: draw(derived_key),
            keep,
            records=request.records,
        )
    finally:
        # Overwritten even if the draw or the charge fails: whoever reads the memory later could
        # subtract the noise.
        derived_key.forget()


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
    if account.unit != event.unit:
        raise UsageError(
            f"The ledger protects one {account.unit} of {account.name}, and this release one "
            f"{event.unit}; budgets of different units do not add up.",
            code="unit-differs-from-ledger",
        )
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
