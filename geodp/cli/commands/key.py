"""``geodp key``: a new noise key in a file."""

from __future__ import annotations

from pathlib import Path

import click

from geodp.cli.options import StrictCommand
from geodp.errors import Rule


@click.command(cls=StrictCommand)
@click.argument("file", type=click.Path(path_type=Path))
def key(file: Path) -> None:
    """Make a noise key and keep it in FILE, readable by its owner only.

    Whoever holds the key can take the noise off the releases made with it: keep it as you keep
    the data.
    """
    import secrets

    from geodp.io.folder.whole import write_atomically
    from geodp.privacy.key_file import format_key

    refusal = Rule("key-file-exists", f"{file} exists; a key is never overwritten.")
    with write_atomically(file, refusal, public=False) as target:
        target.write(format_key(secrets.token_bytes(32)))
    click.echo(f"{file}: keep it secret; it replays releases and undoes their protection.")


COMMAND = key
