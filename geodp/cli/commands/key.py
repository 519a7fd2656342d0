"""``geodp key``: create a noise key in a file."""

from __future__ import annotations

from pathlib import Path

import click

from geodp.cli.options import StrictCommand
from geodp.errors import Rule


@click.command(cls=StrictCommand)
@click.argument("file", type=click.Path(path_type=Path))
def key(file: Path) -> None:
    """Create a noise key in FILE, readable only by its owner.

    Whoever has the key can remove the noise from the releases made with it: protect it like the
    data.
    """
    import secrets

    from geodp.io.folder.atomic import write_atomically
    from geodp.privacy.key import format_key

    refusal = Rule("key-file-exists", f"{file} exists; a key is never overwritten.")
    # Written to a temporary name first: a process that is killed leaves no partial key.
    with write_atomically(file, refusal, public=False) as target:
        target.write(format_key(secrets.token_bytes(32)))
    click.echo(f"{file}: keep it secret; it replays releases and undoes their protection.")
