"""``geodp budget``: caps and charges of confidential data sets, in a ledger."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import Room, with_options
from geodp.cli.options import StrictCommand
from geodp.cli.translation import translate_message
from geodp.errors import Rule, UsageError
from geodp.options.option import Option
from geodp.options.shared import JSON

if TYPE_CHECKING:
    from geodp.privacy.ledger import Account, Charge, Ledger
    from geodp.privacy.loss import ApproximateDP, Loss

_LEDGER = Option("--ledger", "Ledger file.", name="file", type=Path, required=True)
_WITNESS = Option(
    "--witness", "Second file with the ledger's head; best on another disk.", type=Path
)


@click.group(cls=Room)
def budget() -> None:
    """Manage the ledger of privacy budgets: caps, charges, and a hash chain that reveals changes.

    \b
    geodp budget init --ledger office.ledger --dataset census-2020 --epsilon 2
    geodp publish ... --ledger office.ledger --dataset census-2020 --epsilon 1/5
    geodp budget show --ledger office.ledger
    """


@budget.command(cls=StrictCommand)
@with_options(
    _LEDGER,
    Option("--dataset", "Name of the data set; published.", required=True),
    Option("--epsilon", "Cap of all releases together, read exactly: 2 or 0.5 or 1/3."),
    Option("--delta", "With --epsilon: cap of approximate differential privacy."),
    Option("--rho", "Cap of zero-concentrated differential privacy."),
    Option(
        "--in-rho",
        "With --epsilon and --delta: the cap is the largest rho that implies both, so that "
        "releases add up in rho.",
        type=bool,
    ),
    Option("--unit", "Unit of privacy: whom the guarantee protects.", default="person"),
    Option(
        "--neighbours",
        "add-remove-one or replace-one.  [default: replace-one for local, else add-remove-one]",
    ),
    Option(
        "--model",
        "local: only for rounds of devices' own reports (geodp local).",
        choices=("central", "local"),
        default="central",
    ),
    _WITNESS,
    JSON,
)
def init(
    file: Path,
    dataset: str,
    unit: str,
    neighbours: str | None,
    model: str,
    witness: Path | None,
    as_json: bool,
    **cap_options: Any,
) -> None:
    """Add a data set with its cap, which never changes; creates the ledger if there is none."""
    from geodp.privacy.ledger import Account
    from geodp.privacy.samples import require_one_script

    cap = _cap(**cap_options)
    relation = neighbours or ("replace-one" if model == "local" else "add-remove-one")
    Account.open(dataset, cap, unit, relation, model)  # refused before a ledger is made
    require_one_script(dataset)
    ledger = _create(file, witness)
    account = ledger.add_dataset(dataset, cap, unit=unit, neighbours=relation, model=model)
    if as_json:
        click.echo(json.dumps(_plain(account, ()), ensure_ascii=False, indent=1))
        return
    _print_line(f"{file}: all releases of {account.name} together may spend {cap}.")
    if cap_options["in_rho"]:
        epsilon, delta = cap_options["epsilon"], cap_options["delta"]
        _print_line(f"No more than epsilon {epsilon} at delta {delta} follows from all of it.")


@budget.command(cls=StrictCommand)
@with_options(
    _LEDGER,
    Option("--dataset", "Show only this data set, with its charges."),
    Option(
        "--delta",
        "Also show the epsilon that follows from a cap in rho, and from what is spent of it, at "
        "this delta.",
    ),
    JSON,
)
def show(file: Path, dataset: str | None, delta: str | None, as_json: bool) -> None:
    """Show the caps, and the spent and remaining budgets."""
    from geodp.privacy.loss import require_delta

    chance = None if delta is None else require_delta(delta)
    ledger = _open(file)
    accounts = ledger.accounts() if dataset is None else (ledger.account(dataset),)
    if as_json:
        charges = ledger.charges(dataset)
        plain = {"datasets": [_plain(account, charges, chance) for account in accounts]}
        click.echo(json.dumps(plain, ensure_ascii=False, indent=1))
        return
    for account in accounts:
        click.echo(f"{account.name}  ({account.unit}, {account.neighbours})")
        _print_line(f"  cap        {_show(account.cap)}")
        _print_line(f"  spent      {_show(account.spent)}  by releases: {account.releases}")
        _print_line(f"  remaining  {_show(account.remaining)}")
        if (implied := _implied(account, chance)) is not None:
            cap, spent = (_round_up(implied[name].epsilon) for name in ("cap", "spent"))
            _print_line(f"  at delta {chance}: cap epsilon {cap}, spent epsilon {spent}")
        if account.samples:
            _print_line(f"  secret     {', '.join(account.samples)}: later releases need --records")
        if dataset is not None:
            for charge in ledger.charges(dataset):
                cost = account.describe_cost(charge.loss)
                click.echo(f"  {charge.at}  {charge.mechanism}  {cost}  {charge.hash}")


@budget.command(cls=StrictCommand)
@with_options(
    _LEDGER,
    Option("--head", "Hash of an earlier head, such as a release card's."),
    Option(
        "--no-witness",
        "Verify only the chain, for example of a copy without its witness.",
        type=bool,
    ),
    JSON,
)
def check(file: Path, head: str | None, no_witness: bool, as_json: bool) -> None:
    """Verify the entire ledger; exit code 3 if it was changed, truncated or replaced.

    Note the head that is printed. With an earlier one as --head, or with a witness, the check also
    finds that the file was replaced by an older copy or that a copy was charged elsewhere.
    """
    ledger = _open(file)
    end, witness = ledger.check(head, witness=not no_witness), ledger.witness
    if as_json:
        plain = {"ledger": end.ledger, "entries": end.sequence + 1, "head": end.hash}
        # Auditors must see whether the witness was part of the check.
        compared = None if witness is None or no_witness else str(witness)
        click.echo(json.dumps({**plain, "witness": compared}, ensure_ascii=False, indent=1))
        return
    _print_line(f"ok      ledger {end.ledger}, entries: {end.sequence + 1}")
    _print_line(f"head    {end.hash}")
    if witness is not None and no_witness:
        _print_line(f"witness {witness} was not compared")
    elif witness is not None:
        _print_line(f"witness {witness} agrees")


@budget.command(cls=StrictCommand)
@with_options(_LEDGER)
@click.argument("witness", type=click.Path(path_type=Path))
@with_options(
    Option("--head", "If the previous witness is lost: the head on the card of the latest release.")
)
def witness(file: Path, witness: Path, head: str | None) -> None:
    """Store the ledger's head in a second file, WITNESS, and compare it at every charge.

    A ledger that was restored from a backup, or a copy whose original was charged meanwhile, is
    then refused at its next charge. Put the file on another disk, out of the ledger's backups,
    under one path for everyone who charges. To move it, run this command again; the previous
    witness is compared first.
    """
    ledger = _open(file)
    ledger.set_witness(witness, head=head)
    stored = ledger.witness
    _print_line(f"{file}: every charge is compared with {stored}.")


@budget.command(cls=StrictCommand)
@with_options(_LEDGER, Option("--output", "New file; default: stdout.", type=Path))
def export(file: Path, output: Path | None) -> None:
    """Write every entry as a line of JSON, for auditors."""
    lines = _open(file).export()
    if output is None:
        for line in lines:
            click.echo(line)
        return
    from geodp.io.folder.atomic import write_atomically

    with write_atomically(
        output, Rule("export-exists", f"{output} exists; choose a new file.")
    ) as target:
        target.writelines(f"{line}\n".encode() for line in lines)
    click.echo(str(output))


def _create(file: Path, witness: Path | None) -> Ledger:
    """Create the ledger, or open an existing one."""
    from geodp.privacy.ledger import Ledger
    from geodp.privacy.witness import resolve_witness

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


def _cap(epsilon: str | None, delta: str | None, rho: str | None, in_rho: bool) -> Loss:
    from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP, budget, rational

    if in_rho:
        loss = budget(epsilon, None, delta) if epsilon is not None and rho is None else None
        if not isinstance(loss, ApproximateDP) or loss.original is None:
            raise UsageError("--in-rho goes with --epsilon and --delta.", code="in-rho-needs-both")
        return loss.original
    if rho is not None and epsilon is None and delta is None:
        return ZeroConcentratedDP(rational(rho, "rho"))
    if epsilon is not None and rho is None:
        exact = rational(epsilon, "epsilon")
        return PureDP(exact) if delta is None else ApproximateDP(exact, rational(delta, "delta"))
    raise UsageError(
        "Give the cap as --epsilon, as --epsilon and --delta, or as --rho.", code="cap-form"
    )


def _implied(account: Account, delta: Fraction | None) -> dict[str, ApproximateDP] | None:
    """Convert a cap in rho and its spent part to epsilon at a delta; None for other caps.

    The remaining rho implies no difference of the two: an epsilon at a delta does not add up.
    """
    from geodp.privacy.loss import ZeroConcentratedDP, to_approximate

    cap, spent = account.cap, account.spent
    if delta is None or not isinstance(cap, ZeroConcentratedDP):
        return None
    assert isinstance(spent, ZeroConcentratedDP)
    return {"cap": to_approximate(cap, delta), "spent": to_approximate(spent, delta)}


def _round_up(epsilon: Fraction) -> Decimal:
    """Round a bound up to 4 decimals, so that what is shown is a bound as well."""
    return Decimal(ceil(epsilon * 10**4)).scaleb(-4)


def _plain(
    account: Account, charges: tuple[Charge, ...], delta: Fraction | None = None
) -> dict[str, Any]:
    implied = _implied(account, delta)
    stated = {} if implied is None else {name: loss.describe() for name, loss in implied.items()}
    return {
        "dataset": account.name,
        "unit": account.unit,
        "neighbours": account.neighbours,
        "model": account.model,
        "cap": account.cap.describe(),
        "spent": account.spent.describe(),
        "remaining": account.remaining.describe(),
        **({"implied": stated} if stated else {}),
        "secret_samples": list(account.samples),
        "charges": [
            {
                "at": charge.at,
                "mechanism": charge.mechanism,
                "cost": account.cost(charge.loss).describe(),
                **charge.describe(),
            }
            for charge in charges
            if charge.dataset == account.name
        ],
    }


def _print_line(line: str) -> None:
    """Print a line for people."""
    click.echo(translate_message(line))


def _show(loss: Loss) -> str:
    """Format a loss exactly, and as a decimal unless it is an integer."""
    pairs = zip(loss.parameters, loss.amounts, strict=True)
    return ", ".join(
        f"{name} {amount}" + ("" if amount.denominator == 1 else f" = {float(amount):.6g}")
        for name, amount in pairs
    )
