"""``geodp join``: what a cluster has written in parts, as one release."""

from __future__ import annotations

import json
from pathlib import Path

import click

from geodp import progress
from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.io.folder.stopping import complete_with_commit


@click.command(cls=StrictCommand)
@click.argument("parts", type=click.Path(path_type=Path))
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), help="New folder of the release."
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier release.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def join(parts: Path, output: Path, overwrite: bool, as_json: bool) -> None:
    """Make the PARTS that a cluster has published one release, that of one machine.

    They are verified first and stay where they are. Only public files are read: it costs no
    privacy, and needs no cluster.
    """
    complete_with_commit()
    from geodp.features.cluster.api import join as join_parts

    with report_progress():
        progress.begin("Verifying", public=True)
        written = join_parts(parts, output, overwrite=overwrite)
    if as_json:
        document = {"output": str(output), **written}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo(f"Joined in {output / 'public'}.")


COMMAND = join
