"""``geodp key``: a new noise key in a file."""

from __future__ import annotations

from pathlib import Path

import click

from geodp.errors import OutputError, UsageError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def key(file: Path) -> None:
    """Make a noise key and keep it in FILE, readable by its owner only.

    Whoever holds the key can take the noise off the releases made with it: keep it as you keep
    the data.
    """
    import secrets

    from geodp.privacy.key_file import write_key

    try:
        write_key(file, secrets.token_bytes(32))
    except FileExistsError:
        raise UsageError(f"{file} exists; a key is never overwritten.") from None
    except OSError as error:
        raise OutputError(f"{file} cannot be written ({error.strerror}).") from None
    click.echo(f"{file}: keep it secret; it replays releases and undoes their protection.")


COMMANDS = (key,)
