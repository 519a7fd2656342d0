"""Formats of a release: those listed by modules of :mod:`geodp.io.write`, and those of plug-ins.

A third-party package names its formats in the entry point group ``geodp.formats``; they are
loaded when a release is first written, before anything is charged.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from geodp.errors import NAMES, UsageError, is_name, printable
from geodp.io.write.format import Format
from geodp.registry import list_offered

GROUP = "geodp.formats"


def _load(entry: EntryPoint, builtin: list[Format]) -> Format:
    """Load a format of another package and check it."""
    package = "a package" if entry.dist is None else printable(entry.dist.name)
    where, mend = f"{printable(entry.value)} of {package}", "repair or remove that package."
    try:
        plugin = entry.load()
    except Exception as error:
        # Importing a plug-in may raise anything; the operator needs to know which one it was.
        why = printable(f"{type(error).__name__}: {error}")
        raise UsageError(
            f"The format {printable(entry.name)} of {package} cannot be loaded ({why}); {mend}",
            code="format-not-loaded",
        ) from error
    if not isinstance(plugin, Format) or not _has_endings(plugin):
        raise UsageError(
            f"{where} is not a format with its own endings (geodp.io.write.format.Format); {mend}",
            code="format-without-endings",
        )
    # Names go into messages and sort keys: control characters or markup must not come in with them.
    if not is_name(getattr(plugin, "name", None)) or not isinstance(plugin.rank, int):
        raise UsageError(
            f"{where} is not a format with {NAMES} and an integer as rank; {mend}",
            code="format-without-rank",
        )
    # The release's id is the digest of the first file written and the card. A plug-in ranked
    # before geodp's own formats would change the id of a release with the packages installed.
    last = max(one.rank for one in builtin)
    if plugin.rank <= last:
        raise UsageError(
            f"{where} would stand before geodp's own files, and its rank must be above {last}; "
            f"{mend}",
            code="format-rank-too-low",
        )
    return plugin


def _has_endings(plugin: Format) -> bool:
    """Test whether a format names endings, each a text."""
    endings = plugin.endings
    if not isinstance(endings, tuple) or endings == ():
        return False
    return all(isinstance(ending, str) and ending for ending in endings)


@cache
def find_formats() -> tuple[Format, ...]:
    """Return all formats in the order in which a release is written.

    Raises
    ------
    UsageError
        Another package's format cannot be loaded, is none, has the name or an ending of another,
        or would stand before geodp's own: the release's id is taken from the first file.
    """
    builtin: list[Format] = list_offered("geodp.io.write", "FORMATS")
    formats = [*builtin, *(_load(entry, builtin) for entry in entry_points(group=GROUP))]
    for texts in ([one.name for one in formats], [e for one in formats for e in one.endings]):
        twice = sorted({text for text in texts if texts.count(text) > 1})
        if twice:
            raise UsageError(
                f"Two formats have the name or ending {twice[0]!r}; remove a package.",
                code="format-twice",
            )
    return tuple(sorted(formats, key=lambda one: (one.rank, one.name)))
