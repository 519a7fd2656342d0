"""Differentially private release of sparse geospatial counts.

Start with a file of your own: ``print(geodp.inspect("FILE"))`` tells which questions it answers,
and writes the lines of Python that publish it. ``release.write(folder)`` writes the release, and
``geodp.open(folder)`` opens one of any kind: ``estimate(AREA)`` is a number with its 95 % interval,
and ``to_pandas``, ``to_geopandas``, ``to_xarray``, ``plot`` and ``explore`` show everything.

``publish`` releases counts; ``households``, ``amounts``, ``flows`` and ``census`` have one of their
own, ``select`` chooses places, and ``publish_series`` is for several times. ``plan`` tells errors
before any data is read.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from geodp.advice import names_of, no_attribute

__version__ = "0.1.0"

# Module of each public name and its name there, as the stub says them to checkers of types.
_STUB = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
_HOME = {
    name: (home, own)
    for home, own, name in re.findall(r"^from (geodp\.\S+) import (\w+) as (\w+)$", _STUB, re.M)
}
_HOME["open"] = _HOME.pop("open_written")

# Modules whose names have another home, imported when something of them is first asked for.
_NAMESPACES = {
    "audit": "geodp.tools.audit.api",
    "amounts": "geodp.kinds.amounts.api",
    "compare": "geodp.tools.compare.api",
    "explain": "geodp.tools.explain.api",
    "flows": "geodp.kinds.flows.api",
    "census": "geodp.kinds.census.api",
    "households": "geodp.kinds.households.api",
    "planning": "geodp.tools.plan.api",
    "select": "geodp.kinds.selection.api",
    "statistics": "geodp.tools.statistics.api",
}

# Packages whose names are their own.
_PACKAGES = ("cluster", "literature", "local")

__all__ = [*sorted(_HOME), *sorted((*_NAMESPACES, *_PACKAGES)), "__version__"]


# Hints for names that users of data frames may try.
_HINTS = {
    "load open_release read_release": "geodp.open(folder) opens a written release",
    "describe info recognise recognize suggest guess": (
        "geodp.inspect(path) tells which questions a file answers, with the lines that publish it"
    ),
    "read_csv read_parquet read_excel read_file read_json from_pandas from_geopandas": (
        "geodp.read(path_or_frame, grid) reads files and frames, and geodp.publish takes them, too"
    ),
    "release run privatize anonymize": "geodp.publish(frame, grid=..., epsilon=...) releases it",
    "save write": "release.write(folder) writes a release",
    "mesh grid": "geodp.Grid.mesh('jis:half', bounds=...) is a grid of published cells",
}


for _name, _api in _NAMESPACES.items():
    _module = ModuleType(f"{__name__}.{_name}")
    vars(_module).update(names_of(_module.__name__, _api))
    # So that both ``geodp.audit`` and ``import geodp.audit`` work as they read.
    globals()[_name] = sys.modules[_module.__name__] = _module


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``geodp --help`` stays quick."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise no_attribute(sys.modules[__name__], "module 'geodp'", name, _HINTS)
    home, own = _HOME[name]
    value: object = getattr(import_module(home), own)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
