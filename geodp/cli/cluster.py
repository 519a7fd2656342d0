"""Publishing on a cluster of workers; :mod:`geodp.cluster` does the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from geodp.errors import require_library
from geodp.registry import find_modules

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.release.request import Request


def wants_cluster(options: Mapping[str, Any]) -> bool:
    """Return whether a cluster is requested; UsageError without the library for it."""
    if options["cluster"] is None and options["workers"] is None:
        return False
    require_library("distributed", "A cluster", "dask")
    return True


def publish_on_cluster(options: Mapping[str, Any], grid: Grid, request: Request) -> str:
    """Publish on the requested cluster; return a message."""
    message: str = _feature().publish(options, grid, request)
    return message


def _feature() -> Any:
    """Import the cluster feature, which is loaded only on request."""
    return next(find_modules("publishing"))
