"""One order for whatever costs budget: ask the ledger, draw, keep what was drawn, charge.

A charge is never taken back, so it comes last. A draw that fails, or cannot be kept, has cost
nothing, and what was charged is on the disk already. Nobody sees a draw before its charge: where a
run ends between the two, what was kept is removed, or, if the charge is in the ledger, completed
(see :mod:`geodp.io.folder.pending`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from geodp.errors import UsageError
from geodp.io.folder.stopping import hold_stops
from geodp.privacy.event import Measurement
from geodp.privacy.ledger import Charge, Ledger
from geodp.privacy.loss import ZeroConcentratedDP
from geodp.privacy.selected import Selection

Drawn = TypeVar("Drawn")

Keep = Callable[[Drawn, str], None]
"""Keeps what was drawn, under the fingerprint of its charge, until the release is complete."""


def draw_and_charge(
    ledger: Ledger | None,
    dataset: str | None,
    spent: Measurement | Selection,
    fingerprint: str,
    draw: Callable[[], Drawn],
    keep: Keep[Drawn] | None = None,
    *,
    records: str | None = None,
) -> tuple[Drawn, Charge | None]:
    """Draw, keep what was drawn, and charge it to a data set.

    Parameters
    ----------
    ledger, dataset
        Both or none; without them nothing is kept or charged.
    spent : Measurement or Selection
    fingerprint : str
        Only that of a kept key makes a release recognisable.
    draw : callable
        Carried out where the ledger would take the charge.
    keep : callable, optional
        Where it fails, nothing is charged.
    records : {"all", "fresh-sample", "same-sample"}, optional
        What the release is made from.

    Raises
    ------
    UsageError, BudgetError, OutputError, VerificationError
        As :meth:`geodp.privacy.ledger.Ledger.charge`. Nothing was charged, and before the draw,
        unless another run has charged in the meantime.
    """
    terms = _terms_of(ledger, dataset, spent, records)
    if ledger is None or terms is None:
        return draw(), None
    ledger.rehearse(fingerprint=fingerprint, **terms)
    drawn = draw()
    if keep is not None:
        keep(drawn, fingerprint)
    with hold_stops():  # a run that was told to stop charges nothing
        return drawn, ledger.charge(fingerprint=fingerprint, **terms)


def charge_event(
    ledger: Ledger | None,
    dataset: str | None,
    spent: Measurement | Selection,
    fingerprint: str,
    *,
    records: str | None = None,
) -> Charge | None:
    """Charge a data set before the draw, where what is drawn may be seen at once.

    Parameters and errors are those of :func:`draw_and_charge`; None without a ledger.
    """
    terms = _terms_of(ledger, dataset, spent, records)
    if ledger is None or terms is None:
        return None
    return ledger.charge(fingerprint=fingerprint, **terms)


def find_charge(ledger: Ledger | None, dataset: str | None, fingerprint: str) -> Charge:
    """Return what an interrupted run was charged; UsageError where a ledger does not have it."""
    found = None
    if ledger is not None and dataset is not None:
        found = ledger.find_charge(dataset, fingerprint)
    if found is None:
        raise UsageError(
            "The ledger has no charge of the interrupted run; give the one that was charged.",
            code="resumed-charge-missing",
        )
    return found


def _terms_of(
    ledger: Ledger | None,
    dataset: str | None,
    spent: Measurement | Selection,
    records: str | None,
) -> dict[str, Any] | None:
    """Return what a ledger is charged with, or None without one; UsageError for a misfit."""
    if ledger is None and dataset is None:
        if records is not None:
            raise UsageError(
                "What a release is made from is declared to a ledger; give one.",
                code="records-need-ledger",
            )
        return None
    if ledger is None or dataset is None:
        raise UsageError(
            "A ledger and the name of a data set in it go together.", code="ledger-needs-dataset"
        )
    if not spent.is_private:
        raise UsageError(
            "A release with a fixed key is not private and has no place in a ledger.",
            code="fixed-key-in-ledger",
        )
    account = ledger.account(dataset)
    if account.unit != spent.unit:
        raise UsageError(
            f"The ledger protects one {account.unit} of {account.name}, and this release one "
            f"{spent.unit}; budgets of different units do not add up.",
            code="unit-differs-from-ledger",
        )
    loss = spent.loss
    if spent.rho is not None and isinstance(account.cap, ZeroConcentratedDP):
        loss = ZeroConcentratedDP(spent.rho)
    return {
        "dataset": dataset,
        "loss": loss,
        "mechanism": spent.mechanism,
        "neighbours": spent.neighbours,
        "contribution": spent.contribution,
        "records": records,
    }
