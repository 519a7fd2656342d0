"""Open a round: write its public file, and charge its ledger."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import replace
from pathlib import Path

from geodp.errors import OutputError, UsageError
from geodp.features.local.interrupted import FILE_EXISTS, reserve_name
from geodp.features.local.plan import LocalPlan
from geodp.features.local.round import Round
from geodp.io.folder.atomic import write_atomically
from geodp.io.folder.stopping import commits
from geodp.privacy.ledger import Charge, Ledger
from geodp.release.preview import preview_release
from geodp.table.charged import StatedCharge
from geodp.table.plain import read_plain

CHARGE_SPACE = 4096
"""Bytes that are reserved in the round's file for its charge, so that the disk cannot run full."""


def open_round(
    plan: LocalPlan,
    *,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    path: str | Path | None = None,
) -> Round:
    """Open a round: charge the ledger, and write the file that devices and servers use.

    All that can fail is tried before the charge, writing included. The charge stays even if no
    report ever comes; whatever is computed from the reports costs nothing more.

    If a run was killed before its file was complete, the same call completes its round: what that
    run has charged is not charged again.

    Parameters
    ----------
    plan : LocalPlan
        A plan of :func:`geodp.local.plan`.
    ledger : Ledger, optional
    dataset : str, optional
        A data set of the ledger, entered with the model local, for neighbours replace-one and the
        plan's unit.
    path : path, optional
        A new file for the round. While the round is opened, a hidden file next to it records it.

    Returns
    -------
    Round

    Raises
    ------
    UsageError
        A ledger without a data set, a data set of another model or unit, a file that exists, or
        an interrupted round of another plan that may have been charged.
    BudgetError
        The ledger's cap would be exceeded.
    OutputError
        The file or the ledger cannot be written; the message says so where the charge was made.

    Examples
    --------
    >>> import geodp
    >>> plan = geodp.local.plan(geodp.Grid.regular((64, 64)), devices=50_000, epsilon=1)
    >>> geodp.local.open_round(plan).grid.shape
    (64, 64)
    """
    if (ledger is None) != (dataset is None):
        raise UsageError(
            "A ledger and the name of a data set in it go together.", code="ledger-needs-dataset"
        )
    round_ = Round(
        plan.grid,
        plan.depth,
        plan.protocol,
        plan.epsilon,
        secrets.token_hex(32),
        plan.unit,
        plan.period,
        plan.allow_weak,
    )
    # Whatever a reader or a release could refuse is refused here, before anything is charged.
    Round.from_json(round_.to_json())
    preview_release(
        round_.coarse.grid, round_.protocol, round_.event(plan.devices), float(plan.devices)
    )
    if path is None:
        return _charge(round_, ledger, dataset)
    return _write(round_, ledger, dataset, Path(path))


def _charge(round_: Round, ledger: Ledger | None, dataset: str | None) -> Round:
    """Charge the ledger, if there is one, and return the round with its charge."""
    if ledger is None or dataset is None:
        return round_
    account, event = ledger.account(dataset), round_.event(0)
    if account.unit != event.unit:
        raise UsageError(
            f"The ledger protects one {account.unit} of {account.name}, and this round one "
            f"{event.unit}; budgets of different units do not add up.",
            code="unit-differs-from-ledger",
        )
    # The charge covers every report of the round: the ledger's data set is those who may report.
    charge: Charge = ledger.charge_round(
        dataset,
        event.loss,
        mechanism=event.mechanism,
        fingerprint=round_.id,
        details={"period": round_.period},
    )
    recorded = read_plain(StatedCharge, charge.describe(), "budget")
    return replace(round_, dataset=account.name, budget=recorded)


def _write(requested: Round, ledger: Ledger | None, dataset: str | None, path: Path) -> Round:
    """Charge the round and write its file: the file is complete, or nothing was charged."""
    charged = None
    try:
        # The block finishes even on Ctrl-C: a charge without a file would be lost.
        with commits(), reserve_name(path, requested, ledger, dataset) as (opened, is_complete):
            if is_complete:
                return opened
            with write_atomically(path, FILE_EXISTS.format(path)) as file:
                # Space for the charge is written first, so that the disk is not full afterwards.
                file.write(_text(opened) + b" " * CHARGE_SPACE)
                file.flush()
                os.fsync(file.fileno())
                charged = _charge(opened, ledger, dataset)
                file.seek(0)
                file.write(_text(charged))
                # The charge is shorter than the space that was reserved for it.
                file.truncate()
    except OutputError as error:
        if charged is None or charged.budget is None:
            raise
        raise OutputError(
            f"{error} The ledger was charged, and the charge stays: the same command completes the "
            "round and costs nothing.",
            code="round-charged-unwritten",
        ) from None
    return charged


def _text(round_: Round) -> bytes:
    text = json.dumps(round_.to_json(), ensure_ascii=False, indent=1)
    return f"{text}\n".encode()
