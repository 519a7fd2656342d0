"""Formats of files: those of a release, and those that a written release is exported to.

A third-party package names its formats in the entry point group ``geodp.formats``; they are
loaded when a release is first written, before anything is charged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from geodp.errors import NAMES, UsageError, is_name, printable
from geodp.io.folder.staging import stage
from geodp.io.write.areas import file_names
from geodp.io.write.format import Export, Format
from geodp.io.write.view import JointView, View, keep_rows
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


@cache
def find_exports() -> Mapping[str, Export]:
    """Return all exports by their names."""
    exports: list[Export] = list_offered("geodp.io.write.export", "EXPORTS")
    return {one.name: one for one in sorted(exports, key=lambda one: one.name)}


def choose_exports(text: str) -> list[Export]:
    """Return the exports named in a comma-separated text; UsageError for an unknown name."""
    available, selected = find_exports(), []
    for name in dict.fromkeys(part.strip() for part in text.split(",")):
        if name not in available:
            raise UsageError(
                f"There is no export to {name!r}; choose from {', '.join(available)}.",
                code="export-unknown",
            )
        selected.append(available[name])
    return selected


def write_exports(
    views: Mapping[str, Sequence[View]], chosen: Sequence[Export], path: str | Path
) -> dict[str, str]:
    """Write every level of a release in every format, one file each, into a new folder.

    Parameters
    ----------
    views : mapping of str to sequence of View
        Views of the cells of tables, by the folders inside that get their files; empty for none.
    chosen : sequence of Export
    path : path
        A folder that does not exist yet or is empty.

    Returns
    -------
    dict
        For each file written, the programs that open it.

    Raises
    ------
    UsageError
        The folder is there, or a format cannot have the cells; nothing is written.
    OutputError
        The file system refused; nothing is left.
    """
    every = [(name, view) for name, listed in views.items() for view in listed]
    for _, view in every:
        require_writable(view, chosen, alone=len(every) == 1)
    written: dict[str, str] = {}
    with stage(path, overwrite=False) as folder:
        for name, view in every:
            (folder / name).mkdir(exist_ok=True)
            files = fill(folder / name, view.with_levels(), chosen)
            written |= {Path(name, file).as_posix(): who for file, who in files.items()}
    return written


def require_writable(cells: View, chosen: Sequence[Export], *, alone: bool = True) -> None:
    """Raise UsageError for a format that cannot hold a release.

    ``cells``: the view of its table; ``alone``: whether it has no other one.
    """
    what = "This release" if alone else f"The table {cells.layer} of this release"
    instead = "" if alone else "; name a table that can (--table)"
    for one in chosen:
        view = view_for(cells, one)
        if (reason := one.why_not(view)) is not None:
            raise UsageError(
                f"{what} cannot be exported to {one.name}: {reason}{instead}.", code="export-unfit"
            )
        if not (view.counts_alone or one.takes_columns):
            forms = ", ".join(
                known.name
                for known in find_exports().values()
                if known.takes_columns and known.why_not(cells) is None
            )
            raise UsageError(
                f"Files of {one.name} show one count, and this table has more columns: choose from "
                f"{forms}, or export one of its tables (--table).",
                code="export-of-columns",
            )


def view_for(cells: View, one: Export) -> View:
    """Return the view that an export is made from: of the counts alone, if it is no table."""
    counts = cells.counts if isinstance(cells, JointView) else None
    return cells if one.takes_columns or counts is None else counts


def fill(folder: Path, views: Sequence[View], chosen: Sequence[Export]) -> dict[str, str]:
    """Write views to a folder that exists, in formats that can hold them.

    Rows are made only once for all formats.
    """
    written = {}
    with ExitStack() as until_all_are_written:
        enter = until_all_are_written.enter_context
        # Every format needs the same rows, so they are made and stored once, beside the folder.
        stored = [enter(keep_rows(view, folder.parent)) for view in views]
        for one in chosen:
            for file, view in list_files([view_for(stored[0], one), *stored[1:]], one):
                one.write(view, folder / file)
                written[file] = one.help
    return written


def list_files(views: Sequence[View], one: Export) -> Iterator[tuple[str, View]]:
    """Yield the files of a format, which can have the cells, each with the level it holds.

    ``views``: of the cells, then of the levels of areas.
    """
    cells = views[0]
    levels = file_names(cells.table.grid, cells.layer)
    for view in views:
        if view.regions is not None and not one.takes_regions:
            continue
        if view.level is None or one.why_not(view) is None:
            stem = cells.layer if view.level is None else levels[view.level]
            for file in one.list_files(view, stem):
                yield file, view
