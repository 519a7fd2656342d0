"""The formats of a release: files of :mod:`geodp.io.write` list them, and packages of others.

A package of somebody else's names its own in the entry point group ``geodp.formats``; they are
loaded when a release is first written, before anything is charged.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from geodp.errors import NAMES, UsageError, is_name, printable
from geodp.io import write
from geodp.io.write.format import Format

GROUP = "geodp.formats"


def _own() -> list[Format]:
    names = [info.name for info in pkgutil.iter_modules(write.__path__)]
    modules = [import_module(f"{write.__name__}.{name}") for name in names]
    return [one for module in modules for one in getattr(module, "FORMATS", ())]


def _load(entry: EntryPoint, own: list[Format]) -> Format:
    """Return a format of another package, checked."""
    package = "a package" if entry.dist is None else printable(entry.dist.name)
    where, mend = f"{printable(entry.value)} of {package}", "repair or remove that package."
    try:
        found = entry.load()
    except Exception as error:
        why = printable(f"{type(error).__name__}: {error}")
        raise UsageError(
            f"The format {printable(entry.name)} of {package} cannot be loaded ({why}); {mend}",
            code="format-not-loaded",
        ) from error
    if not isinstance(found, Format) or not _has_endings(found):
        raise UsageError(
            f"{where} is no format with endings of its own (geodp.io.write.format.Format); {mend}",
            code="format-without-endings",
        )
    if not is_name(getattr(found, "name", None)) or not isinstance(found.rank, int):
        raise UsageError(
            f"{where} is no format with {NAMES} and a whole number as rank; {mend}",
            code="format-without-rank",
        )
    last = max(one.rank for one in own)
    if found.rank <= last:
        raise UsageError(
            f"{where} would stand before geodp's own files, and its rank must be above {last}; "
            f"{mend}",
            code="format-rank-too-low",
        )
    return found


def _has_endings(found: Format) -> bool:
    """Whether a format names endings, each a text."""
    given = found.endings
    return isinstance(given, tuple) and given != () and all(isinstance(e, str) and e for e in given)


@cache
def find_formats() -> tuple[Format, ...]:
    """Return all formats in the order in which a release is written.

    Raises
    ------
    UsageError
        Another package's format cannot be loaded, is none, has the name or an ending of another,
        or would stand before geodp's own: the release's id is taken from the first file.
    """
    own = _own()
    found = [*own, *(_load(entry, own) for entry in entry_points(group=GROUP))]
    for words in ([one.name for one in found], [e for one in found for e in one.endings]):
        twice = sorted({word for word in words if words.count(word) > 1})
        if twice:
            raise UsageError(
                f"Two formats have the name or ending {twice[0]!r}; remove a package.",
                code="format-twice",
            )
    return tuple(sorted(found, key=lambda one: (one.rank, one.name)))
