"""Differentially private release of sparse geospatial counts."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geodp.errors import GeodpError as GeodpError
    from geodp.features.audit import api as audit  # noqa: F401
    from geodp.features.cluster import api as cluster  # noqa: F401
    from geodp.features.compare import api as compare  # noqa: F401
    from geodp.features.evaluate.evaluate import evaluate as evaluate
    from geodp.features.evaluate.result import Evaluation as Evaluation
    from geodp.features.explain import api as explain  # noqa: F401
    from geodp.features.local import api as local  # noqa: F401
    from geodp.features.plan import api as planning  # noqa: F401
    from geodp.features.plan.plan import Plan as Plan
    from geodp.features.plan.plan import plan as plan
    from geodp.features.select import api as select  # noqa: F401
    from geodp.features.series.publish import publish_series as publish_series
    from geodp.features.series.series import Series as Series
    from geodp.features.statistics import api as statistics  # noqa: F401
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
    from geodp.release.opening import open_written as open  # noqa: A004, F401
    from geodp.release.publish import publish as publish
    from geodp.release.release import Release as Release
    from geodp.table.counts import CountTable as CountTable
    from geodp.table.released import ReleasedTable as ReleasedTable

__version__ = "0.1.0"

# Module of each name; after a colon its name there.
_HOME = {
    "METHODS": "geodp.mechanisms",
    "Composed": "geodp.privacy.composed",
    "CountTable": "geodp.table.counts",
    "Evaluation": "geodp.features.evaluate.result",
    "Event": "geodp.privacy.event",
    "GeodpError": "geodp.errors",
    "Grid": "geodp.grid.grid",
    "Measurement": "geodp.privacy.event",
    "NoiseKey": "geodp.privacy.key",
    "Plan": "geodp.features.plan.plan",
    "Release": "geodp.release.release",
    "ReleasedTable": "geodp.table.released",
    "Series": "geodp.features.series.series",
    "evaluate": "geodp.features.evaluate.evaluate",
    "find_bounds": "geodp.io.read.public.areas",
    "open": "geodp.release.opening:open_written",
    "plan": "geodp.features.plan.plan",
    "publish": "geodp.release.publish",
    "publish_series": "geodp.features.series.publish",
    "read": "geodp.io.read.reading",
    "read_mesh": "geodp.io.read.mesh",
    "read_points": "geodp.io.read.points",
    "read_raster": "geodp.io.read.raster",
    "read_table": "geodp.io.read.table",
}

# Public packages of features, each imported when something of it is first asked for.
_NAMESPACES = {
    "audit": "geodp.features.audit.api",
    "cluster": "geodp.features.cluster.api",
    "compare": "geodp.features.compare.api",
    "explain": "geodp.features.explain.api",
    "local": "geodp.features.local.api",
    "planning": "geodp.features.plan.api",
    "select": "geodp.features.select.api",
    "statistics": "geodp.features.statistics.api",
}

__all__ = [*sorted(_HOME), *sorted(_NAMESPACES), "__version__"]


class _Namespace(ModuleType):
    """A namespace such as ``geodp.local``: that of a feature, imported when it is first used."""

    def __getattr__(self, name: str) -> object:
        package = import_module(_NAMESPACES[self.__name__.rpartition(".")[2]])
        self.__doc__ = package.__doc__
        if name != "__all__" and name not in package.__all__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value: object = getattr(package, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted(import_module(_NAMESPACES[self.__name__.rpartition(".")[2]]).__all__)


for _name in _NAMESPACES:
    # So that both ``geodp.local`` and ``import geodp.local`` work as they read.
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _Namespace(f"{__name__}.{_name}")


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``geodp --help`` stays quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'geodp' has no attribute {name!r}")
    home, _, own = _HOME[name].partition(":")
    value: object = getattr(import_module(home), own or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
