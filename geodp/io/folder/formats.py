"""The formats of a release: files of :mod:`geodp.io.write` list them, and packages of others.

A package of somebody else's names its own in the entry point group ``geodp.formats``; they are
loaded when a release is first written, before anything is charged.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from geodp.errors import UsageError
from geodp.io import write
from geodp.io.write.format import Format

GROUP = "geodp.formats"


def _own() -> list[Format]:
    names = [info.name for info in pkgutil.iter_modules(write.__path__)]
    modules = [import_module(f"{write.__name__}.{name}") for name in names]
    return [one for module in modules for one in getattr(module, "FORMATS", ())]


def _load(entry: EntryPoint) -> Format:
    """Return a format of another package, checked."""
    package = "a package" if entry.dist is None else entry.dist.name
    try:
        found = entry.load()
    except Exception as error:
        raise UsageError(
            f"The format {entry.name} of {package} cannot be loaded ({type(error).__name__}: "
            f"{error}); repair or remove that package."
        ) from error
    if not isinstance(found, Format) or not found.endings:
        raise UsageError(
            f"{entry.value} of {package} is no format with endings of its own "
            "(geodp.io.write.format.Format); repair or remove that package."
        )
    return found


@cache
def find_formats() -> tuple[Format, ...]:
    """Return all formats in the order in which a release is written.

    Raises
    ------
    UsageError
        Another package's format cannot be loaded, is none, or has the name or an ending of another.
    """
    found = [*_own(), *map(_load, entry_points(group=GROUP))]
    for words in ([one.name for one in found], [e for one in found for e in one.endings]):
        twice = sorted({word for word in words if words.count(word) > 1})
        if twice:
            raise UsageError(f"Two formats have the name or ending {twice[0]!r}; remove a package.")
    return tuple(sorted(found, key=lambda one: (one.rank, one.name)))
