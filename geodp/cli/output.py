"""Files that commands write: whole, and on the disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from geodp.errors import OutputError, UsageError
from geodp.stopping import commits


def require_free(
    path: Path | None, option: str, endings: tuple[str, ...], *, overwrite: bool
) -> None:
    """Raise UsageError where a file of an option could not be written."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise UsageError(f"{option} must end in {' or '.join(endings)}.")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists; replace it with --overwrite.")
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent} for {option}.")


def write_file(path: Path, data: bytes, public: bool, overwrite: bool) -> None:
    """A whole file or the one before; only its owner may read what is confidential."""
    partial = None
    try:
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        if public:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(partial, 0o666 & ~mask)
        if path.exists() and not overwrite:
            raise UsageError(f"{path} exists; replace it with --overwrite.")
        with commits():
            os.replace(partial, path)
            partial = None
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}).") from None
    finally:
        if partial is not None:
            os.unlink(partial)
