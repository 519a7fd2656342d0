"""A round is opened: its public file is written, and its ledger charged."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import replace
from pathlib import Path

from geodp.errors import OutputError, UsageError
from geodp.features.local.interrupted import THERE, take_name
from geodp.features.local.plan import LocalPlan
from geodp.features.local.round import Round
from geodp.io.folder.stopping import commits
from geodp.io.folder.whole import write_atomically
from geodp.privacy.ledger import Charge, Ledger
from geodp.release.preview import preview_release
from geodp.table.charged import StatedCharge
from geodp.table.plain import read_plain

ROOM = 4096
"""Bytes of the round's file that are kept for its charge."""


def open_round(
    plan: LocalPlan,
    *,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    path: str | Path | None = None,
) -> Round:
    """Open a round: charge the ledger, and write the file that devices and servers go by.

    All that can fail is tried before the charge, writing included. The charge stays, also where
    no report ever comes; whatever is computed from the reports costs nothing more.

    Where a run was killed before its file was complete, the same call completes its round: what
    that run has charged is not charged again.

    Parameters
    ----------
    plan : LocalPlan
        Of :func:`geodp.local.plan`.
    ledger : Ledger, optional
    dataset : str, optional
        Of the ledger, entered with the model local, for neighbours replace-one and the plan's
        unit.
    path : path, optional
        A new file for the round. While the round is opened, a hidden file beside it says so.

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
        The file or the ledger cannot be written; where the charge was made, the message has it.

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
    found = Round(
        plan.grid,
        plan.depth,
        plan.protocol,
        plan.epsilon,
        secrets.token_hex(32),
        plan.unit,
        plan.period,
        plan.allow_weak,
    )
    Round.from_json(found.to_json())
    preview_release(
        found.coarse.grid, found.protocol, found.event(plan.devices), float(plan.devices)
    )
    if path is None:
        return _charge(found, ledger, dataset)
    return _write(found, ledger, dataset, Path(path))


def _charge(found: Round, ledger: Ledger | None, dataset: str | None) -> Round:
    """Return the round with its charge, if there is a ledger."""
    if ledger is None or dataset is None:
        return found
    account, spent = ledger.account(dataset), found.event(0)
    if account.unit != spent.unit:
        raise UsageError(
            f"The ledger protects one {account.unit} of {account.name}, and this round one "
            f"{spent.unit}; budgets of different units do not add up.",
            code="unit-differs-from-ledger",
        )
    charge: Charge = ledger.charge_round(
        dataset,
        spent.loss,
        mechanism=spent.mechanism,
        fingerprint=found.id,
        details={"period": found.period},
    )
    stated = read_plain(StatedCharge, charge.describe(), "budget")
    return replace(found, dataset=account.name, budget=stated)


def _write(found: Round, ledger: Ledger | None, dataset: str | None, path: Path) -> Round:
    """Return the round with its charge, and its file: it is there whole, or nothing was charged."""
    charged = None
    try:
        # What was charged is not lost to Ctrl-C.
        with commits(), take_name(path, found, ledger, dataset) as (opened, is_complete):
            if is_complete:
                return opened
            with write_atomically(path, THERE.format(path)) as file:
                file.write(_text(opened) + b" " * ROOM)
                file.flush()
                os.fsync(file.fileno())
                charged = _charge(opened, ledger, dataset)
                file.seek(0)
                file.write(_text(charged))
                file.truncate()
    except OutputError as error:
        if charged is None or charged.budget is None:
            raise
        raise OutputError(
            f"{error} The ledger was charged, and that stays: the same command completes the round "
            "and costs nothing.",
            code="round-charged-unwritten",
        ) from None
    return charged


def _text(found: Round) -> bytes:
    text = json.dumps(found.to_json(), ensure_ascii=False, indent=1)
    return f"{text}\n".encode()
