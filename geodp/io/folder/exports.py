"""Files that a written release is exported to: all of them, or none."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from geodp.errors import UsageError
from geodp.io.folder.staging import stage
from geodp.io.write import export
from geodp.io.write.areas import file_names
from geodp.io.write.export.sheet import Export, ExportSheet


@cache
def find_exports() -> Mapping[str, Export]:
    """Return all exports by their names."""
    names = [info.name for info in pkgutil.iter_modules(export.__path__)]
    modules = [import_module(f"{export.__name__}.{name}") for name in names]
    found = [one for module in modules for one in getattr(module, "EXPORTS", ())]
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


def choose_exports(text: str) -> list[Export]:
    """Return the exports that a text names, with commas between; UsageError for unknown ones."""
    known, found = find_exports(), []
    for name in dict.fromkeys(part.strip() for part in text.split(",")):
        if name not in known:
            raise UsageError(
                f"There is no export to {name!r}; there are {', '.join(known)}.",
                code="export-unknown",
            )
        found.append(known[name])
    return found


def write_exports(
    sheets: Sequence[ExportSheet], chosen: Sequence[Export], path: str | Path
) -> dict[str, str]:
    """Write every level of a release in every format, one file each, into a new folder.

    Parameters
    ----------
    sheets : sequence of Sheet
        The cells first, then the levels of areas.
    chosen : sequence of Export
    path : path
        A folder that does not exist yet or is empty.

    Returns
    -------
    dict
        By file that was written, who opens it.

    Raises
    ------
    UsageError
        The folder is there, or a format cannot have the cells; nothing is written.
    OutputError
        The file system refused; nothing is left.
    """
    require_writable(sheets[0], chosen)
    with stage(path, overwrite=False) as folder:
        return fill(folder, sheets, chosen)


def require_writable(cells: ExportSheet, chosen: Sequence[Export]) -> None:
    """Raise UsageError for a format that cannot have a release; ``cells``: its own, or nobody."""
    for one in chosen:
        if (reason := one.why_not(cells)) is not None:
            raise UsageError(
                f"This release cannot be exported to {one.name}: {reason}.", code="export-unfit"
            )


def fill(folder: Path, sheets: Sequence[ExportSheet], chosen: Sequence[Export]) -> dict[str, str]:
    """Write the same into a folder that is there, of sheets that the formats can have."""
    written = {}
    for one in chosen:
        for file, sheet in list_files(sheets, one):
            one.write(sheet, folder / file)
            written[file] = one.help
    return written


def list_files(sheets: Sequence[ExportSheet], one: Export) -> Iterator[tuple[str, ExportSheet]]:
    """Yield the files of a format, which can have the cells, each with the level it holds."""
    cells = sheets[0]
    levels = file_names(cells.table.grid, cells.name)
    for sheet in sheets:
        if sheet.regions is not None and not one.takes_regions:
            continue
        if sheet.level is None or one.why_not(sheet) is None:
            stem = cells.name if sheet.level is None else levels[sheet.level]
            yield f"{stem}.{one.ending}", sheet
