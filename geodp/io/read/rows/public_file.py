"""Public files with options of their own for opening them, apart from those of the inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from geodp.io.read.rows.input_files import FilePath


@dataclass(frozen=True)
class PublicFile(os.PathLike[str]):
    """A path with options of :func:`geodp.io.read.rows.columns.open_tables` for it.

    Attributes
    ----------
    path : path
    opening : mapping
        Options by their names, such as ``header_row``.
    """

    path: FilePath
    opening: Mapping[str, Any] = field(default_factory=dict)

    def __fspath__(self) -> str:
        """Return the path alone."""
        return str(os.fspath(self.path))

    def __str__(self) -> str:
        """Return the path, as messages show it."""
        return self.__fspath__()


def opening_options(path: FilePath) -> dict[str, Any]:
    """Return the options by which a public file is opened; empty for a plain path.

    Examples
    --------
    >>> opening_options("a.csv"), opening_options(PublicFile("a.xlsx", {"header_row": 4}))
    ({}, {'header_row': 4})
    """
    return {**path.opening} if isinstance(path, PublicFile) else {}
