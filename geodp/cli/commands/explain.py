"""``geodp explain``: what a release means, in plain words."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--language",
    type=click.Choice(["en", "ja"]),
    default="en",
    show_default=True,
    help="Of the sentences.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def explain(release: Path, language: str, as_json: bool) -> None:
    """Tell in plain words what a written RELEASE reveals of one person, from its card alone."""
    from geodp.analysis.explain.card import explain as explain_card
    from geodp.io.verify.card import public_folder, read_card

    found = explain_card(read_card(public_folder(release)), language)
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False, indent=1))
    else:
        click.echo(found.to_text(), nl=False)


COMMANDS = (explain,)
