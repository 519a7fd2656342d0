"""``geodp local blend``: what a secret choice from a menu of epsilons is worth."""

from __future__ import annotations

import json

import click

from geodp.errors import UsageError


@click.command(no_args_is_help=True)
@click.option(
    "--menu",
    required=True,
    help="TRUTH:SHARE of every label, commas between: the probability with which its devices tell "
    "the truth, and their share of all devices. Read exactly; a third is 1/3.",
)
@click.option("--epsilons", is_flag=True, help="The menu is EPSILON:SHARE instead.")
@click.option("--values", type=click.IntRange(2), default=2, show_default=True, help="How many.")
@click.option("--allow-weak", is_flag=True, help="Take epsilons above 16 too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def blend(menu: str, epsilons: bool, values: int, allow_weak: bool, as_json: bool) -> None:
    """Say what a menu of epsilons protects from which devices choose in secret.

    \b
    geodp local blend --menu 0.8:0.5,0.6:0.5
    geodp local blend --menu 2:1/3,1/2:2/3 --epsilons --values 10

    Of every label: its local epsilon, which is the guarantee, and the indicator of Takagi et al.,
    which is none. The mixture is what a collector learns who never knows the labels. A ledger is
    charged the largest local epsilon.
    """
    from geodp.mechanisms.local.blending import blend as blended

    pairs = [one.split(":") for one in menu.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise UsageError("--menu is written TRUTH:SHARE,TRUTH:SHARE, such as 0.8:0.5,0.6:0.5.")
    answers, shares = zip(*pairs, strict=True)
    given = (answers, None) if epsilons else (None, answers)
    found = blended(shares, given[0], values, truths=given[1], allow_weak=allow_weak)
    document = found.describe()
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo("   share    truth  local epsilon  indicator (no guarantee)")
    for row in document["labels"]:
        figures = (row["share"], row["truth"], row["ldp"], row["indicator"])
        click.echo("{:8.4f} {:8.4f} {:14.4f} {:10.4f}".format(*figures))
    click.echo(f"\nmixture: {found.mixture:.6g}, for those who never learn a label")
    if found.best_shares is not None:
        first, second = found.best_shares
        click.echo(f"least largest indicator with shares {first:.6f} and {second:.6f}")
    click.echo(found.words)
