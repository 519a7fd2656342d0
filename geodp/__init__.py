"""Differentially private release of sparse geospatial counts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geodp.accounting import Event as Event
    from geodp.errors import GeodpError as GeodpError
    from geodp.evaluation import Evaluation as Evaluation
    from geodp.evaluation import evaluate as evaluate
    from geodp.grid import Grid as Grid
    from geodp.io.mesh import read_mesh as read_mesh
    from geodp.io.points import read_points as read_points
    from geodp.io.raster import read_raster as read_raster
    from geodp.io.tabular import read_table as read_table
    from geodp.mechanisms import METHODS as METHODS
    from geodp.planning import Plan as Plan
    from geodp.planning import plan as plan
    from geodp.publisher import publish as publish
    from geodp.randomness import NoiseKey as NoiseKey
    from geodp.release import Release as Release
    from geodp.table import CountTable as CountTable
    from geodp.table import ReleasedTable as ReleasedTable

__version__ = "0.1.0"

_HOME = {
    "METHODS": "geodp.mechanisms",
    "CountTable": "geodp.table",
    "Evaluation": "geodp.evaluation",
    "Event": "geodp.accounting",
    "GeodpError": "geodp.errors",
    "Grid": "geodp.grid",
    "NoiseKey": "geodp.randomness",
    "Plan": "geodp.planning",
    "Release": "geodp.release",
    "ReleasedTable": "geodp.table",
    "evaluate": "geodp.evaluation",
    "plan": "geodp.planning",
    "publish": "geodp.publisher",
    "read_mesh": "geodp.io.mesh",
    "read_points": "geodp.io.points",
    "read_raster": "geodp.io.raster",
    "read_table": "geodp.io.tabular",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``geodp --help`` stays quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'geodp' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
