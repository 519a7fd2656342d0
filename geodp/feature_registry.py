"""Discovery of features by the names of their files, without importing unused ones.

A feature is a folder of :mod:`geodp.features` with everything that one part of geodp needs besides
the core: its mechanisms, files, documents and commands. The core imports none by name; it
looks up a kind of module here, such as ``kind`` (kinds of release) or ``protocols``, or the
files of a folder, such as ``commands``. A release of a plain table needs neither.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

FEATURES = "geodp.features"
"""Package of the features; each is a package in it."""


def list_features() -> list[str]:
    """Return the names of all features, in the order of the alphabet."""
    return [info.name for info in pkgutil.iter_modules([str(_folder())]) if info.ispkg]


def find_modules(name: str) -> Iterator[ModuleType]:
    """Import and yield the module of this name of every feature that has one.

    Parameters
    ----------
    name : str
        Such as "kind": the file ``geodp/features/<feature>/kind.py``.
    """
    for feature in list_features():
        if name in _list_files(feature):
            yield import_module(f"{FEATURES}.{feature}.{name}")


def list_files(folder: str) -> dict[str, str]:
    """Return the files of a folder that features have, and import nothing.

    Parameters
    ----------
    folder : str
        Such as "commands": ``geodp/features/<feature>/commands``.

    Returns
    -------
    dict of str
        From the name of a file, without its ending, to that of its module.
    """
    return {
        name: f"{FEATURES}.{feature}.{folder}.{name}"
        for feature in list_features()
        for name in _list_files(feature, folder)
    }


def list_offered(package: str, name: str) -> list[Any]:
    """Import the modules of a package, and return what they list under a name, such as FORMATS.

    The folder itself is the registry, so that what is new needs no second place to be listed.
    """
    files = pkgutil.iter_modules(import_module(package).__path__)
    modules = [import_module(f"{package}.{info.name}") for info in files]
    return [one for module in modules for one in getattr(module, name, ())]


def _list_files(*parts: str) -> list[str]:
    """Return the names of the modules in a folder of the features; empty where there is none."""
    return [info.name for info in pkgutil.iter_modules([str(_folder().joinpath(*parts))])]


def _folder() -> Path:
    return Path(__file__).with_name("features")
