"""Discovery of kinds, tools and other parts by the names of their files; unused ones stay unloaded.

The core knows none of them by name. A part is a folder of :mod:`geodp.kinds` or :mod:`geodp.tools`,
or one of the packages that stand alone, with everything that it needs besides the core. Its files
say what it offers:

- ``api``: public names, such as those of ``geodp.select``;
- ``kind``: kinds of release;
- ``commands/NAME``: the command ``geodp NAME``;
- ``methods``: methods of tables that releases of several tables have;
- ``protocols``: protocols of local collection, which make releases of tables;
- ``publishing``: how ``geodp publish`` runs on a cluster.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOMS = ("kinds", "tools")
"""Packages each of whose folders is a part."""

ALONE = ("cluster", "literature", "local")
"""Packages that are a part each."""


@cache
def list_parts() -> Mapping[str, str]:
    """Return the packages of all parts by their names, in the order of the alphabet."""
    homes = {one: one for one in ALONE}
    for room in ROOMS:
        inside = pkgutil.iter_modules([str(_folder(room))])
        homes |= {info.name: f"{room}.{info.name}" for info in inside if info.ispkg}
    return dict(sorted(homes.items()))


def find_modules(name: str) -> Iterator[ModuleType]:
    """Import and yield the module of this name of every part that has one.

    Parameters
    ----------
    name : str
        Such as "kind": the file ``geodp/kinds/<part>/kind.py``.
    """
    for home in list_parts().values():
        if name in _list_files(home):
            yield import_module(f"geodp.{home}.{name}")


def list_of_parts(name: str, listed: str) -> list[Any]:
    """Return what the modules of this name list, such as FILE_QUESTIONS of options."""
    return [one for module in find_modules(name) for one in getattr(module, listed, ())]


def list_files(folder: str) -> dict[str, str]:
    """Return the files of a folder that parts have, and import nothing.

    Parameters
    ----------
    folder : str
        Such as "commands": ``geodp/tools/<part>/commands``.

    Returns
    -------
    dict of str
        From the name of a file, without its ending, to that of its module.
    """
    return {
        name: f"geodp.{home}.{folder}.{name}"
        for home in list_parts().values()
        for name in _list_files(f"{home}.{folder}")
    }


def list_offered(package: str, name: str) -> list[Any]:
    """Import the modules of a package, and return what they list under a name, such as FORMATS.

    The folder itself is the registry, so that what is new needs no second place to be listed.
    """
    files = pkgutil.iter_modules(import_module(package).__path__)
    modules = [import_module(f"{package}.{info.name}") for info in files]
    return [one for module in modules for one in getattr(module, name, ())]


@cache
def _list_files(package: str) -> list[str]:
    """Return the names of the modules in a package of geodp; empty where there is none."""
    return [info.name for info in pkgutil.iter_modules([str(_folder(package))])]


def _folder(package: str) -> Path:
    return Path(__file__).parent.joinpath(*package.split("."))
