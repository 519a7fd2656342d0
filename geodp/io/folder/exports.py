"""Exports of a written release to other formats: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from geodp.errors import UsageError
from geodp.io.folder.staging import stage
from geodp.io.write.areas import file_names
from geodp.io.write.format import Export
from geodp.io.write.view import View, keep_rows
from geodp.registry import list_offered


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


def write_exports(view: View, chosen: Sequence[Export], path: str | Path) -> dict[str, str]:
    """Write every level of a release in every format, one file each, into a new folder.

    Parameters
    ----------
    view : View
        View of the cells.
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
    require_writable(view, chosen)
    with stage(path, overwrite=False) as folder:
        return fill(folder, view.with_levels(), chosen)


def require_writable(cells: View, chosen: Sequence[Export]) -> None:
    """Raise UsageError for a format that cannot hold a release; ``cells``: its view."""
    for one in chosen:
        if (reason := one.why_not(cells)) is not None:
            raise UsageError(
                f"This release cannot be exported to {one.name}: {reason}.", code="export-unfit"
            )
        if not (cells.counts_alone or one.takes_columns):
            forms = ", ".join(
                known.name for known in find_exports().values() if known.takes_columns
            )
            raise UsageError(
                f"Files of {one.name} show one count, and this table has more columns: choose from "
                f"{forms}, or export the map of its records, the folder {cells.name} of the "
                "release.",
                code="export-of-columns",
            )


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
            for file, view in list_files(stored, one):
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
            yield f"{stem}.{one.ending}", view
