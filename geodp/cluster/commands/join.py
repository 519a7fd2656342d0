"""``geodp join``: combine the parts that a cluster has written into one release."""

from __future__ import annotations

import json
from pathlib import Path

import click

from geodp import progress
from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.io.folder.stopping import complete_with_commit
from geodp.options.option import Option
from geodp.options.shared import JSON


@click.command(cls=StrictCommand)
@click.argument("parts", type=click.Path(path_type=Path))
@with_options(
    Option("--output", "New folder for the release.", type=Path, required=True),
    Option("--overwrite", "Replace an earlier release.", type=bool),
    JSON,
)
def join(parts: Path, output: Path, overwrite: bool, as_json: bool) -> None:
    """Join the PARTS that a cluster has published into one release, equal to that of one machine.

    The parts are verified first and are not changed. Only public files are read, so this costs no
    privacy and needs no cluster.
    """
    complete_with_commit()
    from geodp.cluster.api import join as join_parts

    with report_progress():
        progress.begin("Verifying", public=True)
        written = join_parts(parts, output, overwrite=overwrite)
    if as_json:
        document = {"output": str(output), **written}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo(f"Joined in {output / 'public'}.")
