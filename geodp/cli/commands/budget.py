"""``geodp budget``: what may be spent on confidential data, and what has been."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.options import StrictCommand
from geodp.cli.translation import translate_message
from geodp.errors import Rule, UsageError

if TYPE_CHECKING:
    from geodp.privacy.ledger import Account, Charge, Ledger
    from geodp.privacy.loss import Loss

_ledger = click.option(
    "--ledger", "file", required=True, type=click.Path(path_type=Path), help="Ledger file."
)
_witness_help = "Second file that keeps the ledger's head; best on another disk."
_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


@click.group()
def budget() -> None:
    """Keep the ledger of privacy budgets: caps, charges, and a chain that shows changes.

    \b
    geodp budget init --ledger office.ledger --dataset census-2020 --epsilon 2
    geodp publish ... --ledger office.ledger --dataset census-2020 --epsilon 1/5
    geodp budget show --ledger office.ledger
    """


@budget.command(cls=StrictCommand)
@_ledger
@click.option("--dataset", required=True, help="Name of the data set; published.")
@click.option("--epsilon", help="Cap of all releases, read exactly: 2 or 0.5 or 1/3.")
@click.option("--delta", help="With --epsilon: cap of approximate differential privacy.")
@click.option("--rho", help="Cap of zero-concentrated differential privacy.")
@click.option("--unit", default="person", show_default=True, help="Whom it protects.")
@click.option(
    "--neighbours",
    help="add-remove-one or replace-one.  [default: replace-one for local, else add-remove-one]",
)
@click.option(
    "--model",
    type=click.Choice(["central", "local"]),
    default="central",
    show_default=True,
    help="local: for rounds of devices' own reports (geodp local), and nothing else.",
)
@click.option("--witness", type=click.Path(path_type=Path), help=_witness_help)
@_json
def init(
    file: Path,
    dataset: str,
    unit: str,
    neighbours: str | None,
    model: str,
    witness: Path | None,
    as_json: bool,
    **amounts: str | None,
) -> None:
    """Enter a data set and its cap, which never changes; makes the ledger if there is none."""
    from geodp.privacy.ledger import Account
    from geodp.privacy.names import require_one_script

    cap = _cap(**amounts)
    relation = neighbours or ("replace-one" if model == "local" else "add-remove-one")
    Account.open(dataset, cap, unit, relation, model)  # refused before a ledger is made
    require_one_script(dataset)
    ledger = _create(file, witness)
    account = ledger.add_dataset(dataset, cap, unit=unit, neighbours=relation, model=model)
    if as_json:
        click.echo(json.dumps(_plain(account, ()), ensure_ascii=False, indent=1))
        return
    _say(f"{file}: all releases of {account.name} together may spend {cap}.")


@budget.command(cls=StrictCommand)
@_ledger
@click.option("--dataset", help="Only this one, with its charges.")
@_json
def show(file: Path, dataset: str | None, as_json: bool) -> None:
    """Show caps, what is spent and what remains."""
    ledger = _open(file)
    accounts = ledger.accounts() if dataset is None else (ledger.account(dataset),)
    if as_json:
        charges = ledger.charges(dataset)
        plain = {"datasets": [_plain(account, charges) for account in accounts]}
        click.echo(json.dumps(plain, ensure_ascii=False, indent=1))
        return
    for account in accounts:
        click.echo(f"{account.name}  ({account.unit}, {account.neighbours})")
        _say(f"  cap        {_show(account.cap)}")
        _say(f"  spent      {_show(account.spent)}  by releases: {account.releases}")
        _say(f"  remaining  {_show(account.remaining)}")
        if account.samples:
            _say(f"  secret     {', '.join(account.samples)}: later releases say --records")
        if dataset is not None:
            for charge in ledger.charges(dataset):
                click.echo(f"  {charge.at}  {charge.mechanism}  {charge.loss}  {charge.hash}")


@budget.command(cls=StrictCommand)
@_ledger
@click.option("--head", help="Hash of an earlier head, such as a release card's.")
@click.option("--no-witness", is_flag=True, help="Of a copy that is elsewhere: the chain alone.")
@_json
def check(file: Path, head: str | None, no_witness: bool, as_json: bool) -> None:
    """Verify the whole ledger; exit code 3 if it was changed, cut back or replaced.

    Note the head that is printed. With an earlier one as --head, or with a witness, the check also
    finds that the file was replaced by an older copy or that a copy was charged elsewhere.
    """
    ledger = _open(file)
    end, witness = ledger.check(head, witness=not no_witness), ledger.witness
    if as_json:
        plain = {"ledger": end.ledger, "entries": end.sequence + 1, "head": end.hash}
        compared = None if witness is None or no_witness else str(witness)
        click.echo(json.dumps({**plain, "witness": compared}, ensure_ascii=False, indent=1))
        return
    _say(f"ok      ledger {end.ledger}, entries: {end.sequence + 1}")
    _say(f"head    {end.hash}")
    if witness is not None and no_witness:
        _say(f"witness {witness} was not compared")
    elif witness is not None:
        _say(f"witness {witness} agrees")


@budget.command(cls=StrictCommand)
@_ledger
@click.argument("witness", type=click.Path(path_type=Path))
@click.option("--head", help="If the former witness is lost: head on the latest release's card.")
def witness(file: Path, witness: Path, head: str | None) -> None:
    """Keep the ledger's head in a second file, WITNESS, and compare it at every charge.

    A ledger that was restored from a backup, or a copy of which the other was charged, is then
    refused at its next charge. Keep the file on another disk, out of the ledger's backups, under
    one path for all who charge. Say this again to move it; the former one is compared first.
    """
    ledger = _open(file)
    ledger.set_witness(witness, head=head)
    kept = ledger.witness
    _say(f"{file}: every charge is compared with {kept}.")


@budget.command(cls=StrictCommand)
@_ledger
@click.option("--output", type=click.Path(path_type=Path), help="New file; default: stdout.")
def export(file: Path, output: Path | None) -> None:
    """Write every entry as a line of JSON, for auditors."""
    lines = _open(file).export()
    if output is None:
        for line in lines:
            click.echo(line)
        return
    from geodp.io.folder.whole import write_atomically

    with write_atomically(
        output, Rule("export-exists", f"{output} exists; choose a new file.")
    ) as target:
        target.writelines(f"{line}\n".encode() for line in lines)
    click.echo(str(output))


COMMAND = budget


def _create(file: Path, witness: Path | None) -> Ledger:
    """Make the ledger, or open it if it is there."""
    from geodp.privacy.chain.witness import resolve_witness
    from geodp.privacy.ledger import Ledger

    try:
        ledger = Ledger.open(file)
    except UsageError:  # absent, empty, left unfinished, or another file, which this says again
        return Ledger.create(file, witness=witness)
    if witness is not None and ledger.witness != resolve_witness(witness, ledger.path):
        raise UsageError(
            f"{file} exists with another witness or none; geodp budget witness gives it this one.",
            code="witness-differs",
        )
    return ledger


def _open(file: Path) -> Ledger:
    from geodp.privacy.ledger import Ledger

    return Ledger.open(file)


def _cap(epsilon: str | None, delta: str | None, rho: str | None) -> Loss:
    from geodp.privacy.budget import rational
    from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP

    if rho is not None and epsilon is None and delta is None:
        return ZeroConcentratedDP(rational(rho, "rho"))
    if epsilon is not None and rho is None:
        exact = rational(epsilon, "epsilon")
        return PureDP(exact) if delta is None else ApproximateDP(exact, rational(delta, "delta"))
    raise UsageError(
        "Give the cap as --epsilon, as --epsilon and --delta, or as --rho.", code="cap-form"
    )


def _plain(account: Account, charges: tuple[Charge, ...]) -> dict[str, Any]:
    return {
        "dataset": account.name,
        "unit": account.unit,
        "neighbours": account.neighbours,
        "model": account.model,
        "cap": account.cap.describe(),
        "spent": account.spent.describe(),
        "remaining": account.remaining.describe(),
        "secret_samples": list(account.samples),
        "charges": [
            {"at": charge.at, "mechanism": charge.mechanism, **charge.describe()}
            for charge in charges
            if charge.dataset == account.name
        ],
    }


def _say(line: str) -> None:
    """Print a line for people."""
    click.echo(translate_message(line))


def _show(loss: Loss) -> str:
    """Exact, and as a decimal where that says more."""
    pairs = zip(loss.parameters, loss.amounts, strict=True)
    return ", ".join(
        f"{name} {amount}" + ("" if amount.denominator == 1 else f" = {float(amount):.6g}")
        for name, amount in pairs
    )
