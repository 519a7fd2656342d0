"""Check who else may read a file, where the system has owners and permission bits.

Windows has access lists instead, which are not checked. The operator gets one warning per place
and is responsible for its list.
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
    """Warn that access to a path is not checked, where the system has no permission bits."""
    if not has_owners():
        warnings.warn(
            f"Access to {path} is not checked: this system has no permission bits. Make sure that "
            "only you are in its access list.",
            AccessWarning,
            stacklevel=2,
        )
