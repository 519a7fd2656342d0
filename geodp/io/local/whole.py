"""New files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from geodp.errors import OutputError, UsageError
from geodp.io.folder.stopping import commits


@contextmanager
def write_whole(path: Path, refusal: str, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write to; it is called by its name once all is on the disk.

    Parameters
    ----------
    path : path
    refusal : str
        What is wrong where the file exists and is not to be replaced.
    overwrite : bool

    Raises
    ------
    UsageError
        The file exists.
    OutputError
        It cannot be written; nothing is left of it.
    """
    partial = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists() and not overwrite:
            raise UsageError(refusal)
        with commits():
            os.replace(partial, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}).") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
