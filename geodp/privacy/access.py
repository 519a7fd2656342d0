"""Who else may read a file: asked where a system has owners and permission bits, else said aloud.

Windows has access lists instead. Nothing there is looked at, so nothing may be promised: the
operator is told once for every place, and keeps the list.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from geodp.errors import AccessWarning


def has_owners() -> bool:
    """Whether this system has owners and permission bits, as POSIX has."""
    return hasattr(os, "geteuid")


def warn_access_unchecked(path: str | Path) -> None:
    """Warn that nobody looks at who may read a place, where the system has no permission bits."""
    if not has_owners():
        warnings.warn(
            f"Who may read {path} is not checked: this system has no permission bits. See in its "
            "access list that only you are there.",
            AccessWarning,
            stacklevel=2,
        )
