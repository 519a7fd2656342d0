"""Unnamed temporary files for data that does not fit into memory."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.errors import OutputError, UsageError
from geodp.io.read.rows.input_files import FilePath

Columns: TypeAlias = tuple[NDArray[Any], ...]
"""Keys (uint64[n]), counts (int64[n]) and perhaps numbers of records (int64[n])."""


def require_scratch(folder: FilePath | None) -> None:
    """Raise UsageError for a folder that cannot hold scratch files."""
    if folder is not None and not (os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)):
        raise UsageError(
            "The scratch folder must exist and be writable (--scratch, scratch=).",
            code="scratch-folder-unfit",
        )


class Spill:
    """Blocks of columns in a private temporary file without a name.

    The system frees its space when it is closed or the process ends, even if it is killed, so that
    no confidential data stays behind and no other user can open it.

    Parameters
    ----------
    folder : path or None
        Default: the system's folder for temporary files.

    Raises
    ------
    OutputError
        The disk is full, or refuses.
    """

    def __init__(self, folder: FilePath | None) -> None:
        self._blocks: list[tuple[int, list[tuple[Any, int]]]] = []
        self._end = 0
        # The file never has a name where the system has O_TMPFILE, and loses it at once elsewhere.
        self._file: IO[bytes] = self._try(
            lambda: tempfile.TemporaryFile(dir=folder, buffering=0, prefix="geodp-")  # noqa: SIM115
        )

    @property
    def size(self) -> int:
        """Bytes written."""
        return self._end

    def write(self, columns: Sequence[NDArray[Any]]) -> None:
        """Append a block of columns."""
        self._blocks.append((self._end, [(column.dtype, column.size) for column in columns]))
        for column in columns:
            view = np.ascontiguousarray(column).data.cast("B")
            self._end += view.nbytes
            # Unbuffered files may write only a part at a time.
            while view.nbytes:
                view = view[self._try(lambda rest=view: self._file.write(rest)) :]

    def __len__(self) -> int:
        return len(self._blocks)

    def read(self, number: int) -> Columns:
        """Read a block by its number."""
        start, forms = self._blocks[number]
        self._file.seek(start)
        columns = tuple(np.empty(size, dtype) for dtype, size in forms)
        for column in columns:
            view = column.data.cast("B")
            while view.nbytes:
                count = self._try(lambda rest=view: self._file.readinto(rest))  # type: ignore[attr-defined]
                if not count:
                    raise OutputError(
                        "A scratch file was truncated by another program; run again.",
                        code="scratch-cut-off",
                    )
                view = view[count:]
        return columns

    def close(self) -> None:
        """Close the file, which frees its space."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    @staticmethod
    def _try(step: Any) -> Any:
        """Carry out a step on the file; OutputError if the disk is full or fails."""
        try:
            return step()
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "its disk is full" if full else error.strerror or "the disk refused"
        raise OutputError(
            f"A scratch file cannot be used: {why}. Choose a folder on another disk "
            "(--scratch, scratch=) or a higher limit (--memory, memory=).",
            code="scratch-unusable",
        )
