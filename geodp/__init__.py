"""Differentially private release of sparse geospatial counts."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geodp.analysis.evaluate.evaluate import evaluate as evaluate
    from geodp.analysis.evaluate.result import Evaluation as Evaluation
    from geodp.analysis.plan.plan import Plan as Plan
    from geodp.analysis.plan.plan import plan as plan
    from geodp.errors import GeodpError as GeodpError
    from geodp.grid.grid import Grid as Grid
    from geodp.io.read.mesh import read_mesh as read_mesh
    from geodp.io.read.points import read_points as read_points
    from geodp.io.read.public.areas import find_bounds as find_bounds
    from geodp.io.read.raster import read_raster as read_raster
    from geodp.io.read.reading import read as read
    from geodp.io.read.table import read_table as read_table
    from geodp.mechanisms import METHODS as METHODS
    from geodp.privacy.composed import Composed as Composed
    from geodp.privacy.event import Event as Event
    from geodp.privacy.event import Measurement as Measurement
    from geodp.privacy.key import NoiseKey as NoiseKey
    from geodp.release.opening import open_release as open  # noqa: A004, F401
    from geodp.release.publish import publish as publish
    from geodp.release.release import Release as Release
    from geodp.release.series.publish import publish_series as publish_series
    from geodp.release.series.series import Series as Series
    from geodp.table.counts import CountTable as CountTable
    from geodp.table.released import ReleasedTable as ReleasedTable

__version__ = "0.1.0"

# Module of each name; after a colon its name there.
_HOME = {
    "METHODS": "geodp.mechanisms",
    "Composed": "geodp.privacy.composed",
    "CountTable": "geodp.table.counts",
    "Evaluation": "geodp.analysis.evaluate.result",
    "Event": "geodp.privacy.event",
    "GeodpError": "geodp.errors",
    "Grid": "geodp.grid.grid",
    "Measurement": "geodp.privacy.event",
    "NoiseKey": "geodp.privacy.key",
    "Plan": "geodp.analysis.plan.plan",
    "Release": "geodp.release.release",
    "ReleasedTable": "geodp.table.released",
    "Series": "geodp.release.series.series",
    "evaluate": "geodp.analysis.evaluate.evaluate",
    "find_bounds": "geodp.io.read.public.areas",
    "open": "geodp.release.opening:open_release",
    "plan": "geodp.analysis.plan.plan",
    "publish": "geodp.release.publish",
    "publish_series": "geodp.release.series.publish",
    "read": "geodp.io.read.reading",
    "read_mesh": "geodp.io.read.mesh",
    "read_points": "geodp.io.read.points",
    "read_raster": "geodp.io.read.raster",
    "read_table": "geodp.io.read.table",
}

_NAMESPACES = {
    "audit": "geodp.analysis.audit",
    "cluster": "geodp.release.cluster",
    "compare": "geodp.analysis.compare",
    "explain": "geodp.analysis.explain",
    "planning": "geodp.analysis.plan",
    "select": "geodp.release.select",
    "statistics": "geodp.analysis.statistics",
}

__all__ = [*sorted(_HOME), *sorted([*_NAMESPACES, "local"]), "__version__"]


_LOCAL = {
    "ORACLES": "geodp.mechanisms.local",
    "PROTOCOLS": "geodp.mechanisms",
    "aggregate": "geodp.release.local.collect",
    "amplify_by_shuffling": "geodp.privacy.amplification",
    "blend": "geodp.mechanisms.local.blending",
    "open_round": "geodp.release.local.opening",
    "plan": "geodp.release.local.plan",
    "publish": "geodp.release.local.collect",
    "randomize": "geodp.release.local.collect",
    "read_round": "geodp.release.local.round",
}
"""Names of ``geodp.local``: their modules stand on several floors."""


class _Local(ModuleType):
    """The namespace ``geodp.local``, whose names are imported when they are first used."""

    def __getattr__(self, name: str) -> object:
        if name not in _LOCAL:
            raise AttributeError(f"module 'geodp.local' has no attribute {name!r}")
        value: object = getattr(import_module(_LOCAL[name]), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted(_LOCAL)


local = _Local("geodp.local", "Local collection: counts from devices' own reports.")
sys.modules["geodp.local"] = local  # so that names can be imported from it


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``geodp --help`` stays quick."""
    value: object
    if name in _HOME:
        home, _, own = _HOME[name].partition(":")
        value = getattr(import_module(home), own or name)
    elif name in _NAMESPACES:
        value = import_module(_NAMESPACES[name])
    else:
        raise AttributeError(f"module 'geodp' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
