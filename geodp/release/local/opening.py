"""A round is opened: its public file is written, and its ledger charged."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from geodp.errors import OutputError, UsageError
from geodp.io.folder.stopping import commits
from geodp.privacy.ledger import Charge, Ledger
from geodp.release.local.round import Round
from geodp.release.outline import outline
from geodp.table.charged import StatedCharge
from geodp.table.plain import read_plain

if TYPE_CHECKING:
    from geodp.analysis.plan.local import LocalPlan


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

    Parameters
    ----------
    plan : LocalPlan
        Of :func:`geodp.local.plan`.
    ledger : Ledger, optional
    dataset : str, optional
        Of the ledger, entered with the model local, for neighbours replace-one and the plan's
        unit.
    path : path, optional
        A new file for the round.

    Returns
    -------
    Round

    Raises
    ------
    UsageError
        A ledger without a data set, a data set of another model or unit, or a file that exists.
    BudgetError
        The ledger's cap would be exceeded.
    OutputError
        The file or the ledger cannot be written; where the charge was made, the message has it.
    """
    if (ledger is None) != (dataset is None):
        raise UsageError("A ledger and the name of a data set in it go together.")
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
    outline(found.coarse.grid, found.protocol, found.event(plan.devices), float(plan.devices))
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
            f"{spent.unit}; budgets of different units do not add up."
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
    """Return the same, and its file: it is there whole, or nothing was charged."""
    partial, charged = path.parent / f".{path.name}.{secrets.token_hex(4)}", found
    taken = [partial]
    try:
        with commits():  # what was charged is not lost to Ctrl-C
            _fill(partial, _text(found) + " " * 4096)  # room for the charge
            _take(path)  # before the charge: who opens a round at the same time finds it there
            taken.append(path)
            charged = _charge(found, ledger, dataset)
            _fill(partial, _text(charged))
            os.replace(partial, path)
            taken.clear()
    except OSError as error:
        paid = ""
        if charged.budget is not None:
            taken.remove(partial)
            paid = f"; the ledger was charged, and that stays: the round is kept in {partial}"
        raise OutputError(f"{path} cannot be written ({error.strerror}){paid}.") from None
    finally:
        for file in taken:
            with suppress(OSError):
                file.unlink()
    return charged


def _take(path: Path) -> None:
    """Make an empty file, which the round's replaces; UsageError where the name is taken."""
    try:
        path.open("xb").close()
    except FileExistsError:
        raise UsageError(
            f"{path} exists; a round's file is never replaced, choose a new one."
        ) from None


def _text(found: Round) -> str:
    return json.dumps(found.to_json(), ensure_ascii=False, indent=1) + "\n"


def _fill(path: Path, text: str) -> None:
    """Write a text to the disk, over what the file had."""
    with path.open("r+" if path.exists() else "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
