"""Summary of the inputs, written for the operator before anything is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geodp.io.folder.publication import make_restricted, write_restricted
from geodp.io.folder.staging import CHECK, stage

CHECK_SCHEMA = "geodp-check-1"


def write_check(path: str | Path, report: dict[str, Any]) -> Path:
    """Write ``path/restricted/check.json``, all or nothing; a release takes its place later.

    Parameters
    ----------
    path : path
        A folder that does not exist yet, is empty or holds an earlier check.
    report : dict
        Plain values. Confidential: only the owner can enter the folder and read the file.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    UsageError
        The folder holds something else.
    OutputError
        The file system refused; nothing is left behind.
    """
    with stage(path) as folder:
        hidden = make_restricted(folder, path)
        write_restricted(hidden, CHECK, {"schema": CHECK_SCHEMA, **report})
    return Path(path, "restricted", CHECK)
