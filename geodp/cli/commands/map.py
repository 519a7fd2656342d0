"""geodp map."""

from __future__ import annotations

from pathlib import Path

import click

from geodp.cli.output import write_file
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit


@click.command("map")
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path), help="PNG file.")
@click.option("--overwrite", is_flag=True, help="Replace the file.")
def map_(release: Path, output: Path, overwrite: bool) -> None:
    """Draw the map of a written RELEASE again."""
    complete_with_commit()
    if output.suffix.lower() != ".png":
        raise UsageError("--output must end in .png.")
    folders = output.resolve().parents
    if any(f.name == "public" and (f / "release.json").exists() for f in folders):
        raise UsageError("--output lies inside a release, whose files are sealed; choose another.")
    if output.exists() and not overwrite:
        raise UsageError(f"{output} exists; replace it with --overwrite.")
    from geodp.io.verify.verify import read_release_table
    from geodp.io.write.picture import draw_map

    table, card = read_release_table(release)
    write_file(output, draw_map(table, card), True, overwrite)
    click.echo(str(output))


COMMANDS = (map_,)
