"""The front door of all readers: the one that a call is meant for reads."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.io.read import choose
from geodp.io.read.reader import Call, Reader, spec_of

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.rows.input_files import TableSource
    from geodp.table.counts import CountTable


def read(
    paths: TableSource, grid: Grid | str, *, reader: str | None = None, **options: Any
) -> CountTable:
    """Read confidential counts or records on a public grid, by the reader that they are for.

    Columns that are not named are found by their names, or by the form of the first values, as
    ``geodp publish`` finds them: codes of cells or coordinates, and the one column of counts. Where
    several may be meant, a sentence asks which.

    Parameters
    ----------
    paths : path, sequence of paths, or a table or an array in memory
        As every reader takes them: frames of pandas, geopandas, Polars and Arrow, and arrays of
        xarray, which are rasters.
    grid : Grid or str
        The public grid; ``"jis:half"`` is the whole extent of that code system.
    reader : str, optional
        Of ``geodp.io.read.READERS``: ``"table"``, ``"points"``, ``"raster"``. Default:
        the one that claims files of this kind, with these options, on this grid; ``"points"``,
        a row for each record, with options that it alone has, such as ``person``.
    **options
        Fields of the reader; see ``geodp.read_mesh``, ``read_table``, ``read_points`` and
        ``read_raster``.

    Returns
    -------
    CountTable

    Raises
    ------
    UsageError
        Nothing says which reader is meant, or it does not have an option; several columns may be
        what is meant, or none is.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> rows = pa.table({"mesh": ["53394611", "53394612"], "residents": [812, 40]})
    >>> int(geodp.read(rows, "jis:basic").count.sum())
    852
    >>> int(geodp.read(rows, "jis:basic", code="mesh", value="residents").count.sum())
    852
    """
    from geodp.io.read.rows.forms.url import fetch_urls

    with fetch_urls(paths, options.get("scratch")) as given:
        return _read(given, grid, reader, options)


def _read(
    paths: TableSource, grid: Grid | str, reader: str | None, options: Mapping[str, Any]
) -> CountTable:
    """Read what is not at URLs any more."""
    from geodp.grid.grid import Grid
    from geodp.io.read import READERS
    from geodp.io.read.points import Points
    from geodp.io.read.raster import Raster
    from geodp.io.read.rows.input_files import LabelledArray
    from geodp.io.read.table import Table

    on = Grid.mesh(grid) if isinstance(grid, str) else grid
    if isinstance(paths, LabelledArray) and reader in (None, Raster.name):
        chosen: type[Reader] = Raster
    elif reader is None:
        chosen = choose(Call(_names(paths), spec_of(on), _given(options, READERS)))
    elif reader in READERS:
        chosen = READERS[reader]
    else:
        raise UsageError(
            f"There is no reader {reader!r}; there are {', '.join(READERS)}.", code="reader-unknown"
        )
    _require_known(chosen, options, READERS)
    given = {one.field: one.convert for one in chosen.asks() if one.convert is not None}
    made = chosen(
        grid=on,
        **{name: given[name](one) if name in given else one for name, one in options.items()},
    )
    if not isinstance(made, Table | Points):
        return made.read(paths)
    from geodp.io.read.layout.settle import settle
    from geodp.io.read.rows.arrow import convert_once

    once = convert_once(paths)
    return settle(made, once).read(once)


def _require_known(
    chosen: type[Reader], options: Mapping[str, Any], readers: Mapping[str, type[Reader]]
) -> None:
    """Raise UsageError for options that a reader has not, and for those that it needs."""
    known = sorted({*chosen.__dataclass_fields__} - {"grid"})
    if unknown := sorted({*options} - {*known}):
        others = [
            f"reader={name!r} takes {', '.join(also)}"
            for name, one in readers.items()
            if (also := sorted({*unknown} & {*one.__dataclass_fields__}))
        ]
        domain = {"bounds", "primary"} & {*unknown}
        others += ["bounds go with the grid: grid=Grid.mesh(name, bounds=...)"] if domain else []
        if others:
            raise UsageError(
                f"Not for {chosen.kind}: {', '.join(unknown)}; {'; '.join(others)}.",
                code="option-not-for-reader",
            )
        raise UsageError(
            f"Not for {chosen.kind}: {', '.join(unknown)}. It takes {', '.join(known)}.",
            code="option-not-for-reader",
        )
    missing = [one.field for one in chosen.asks() if one.required and one.field not in options]
    if missing:
        raise UsageError(
            f"{chosen.kind.capitalize()} needs {', '.join(missing)}=.", code="reader-option-missing"
        )


def _names(paths: Any) -> tuple[Path, ...]:
    """Return the files of a call; none of a table in memory."""
    several = paths if isinstance(paths, list | tuple) else [paths]
    return tuple(Path(one) for one in several if isinstance(one, str | PathLike))


def _given(options: Mapping[str, Any], readers: Mapping[str, type[Reader]]) -> dict[str, Any]:
    """Return the options under the names that a command has for them.

    What only a reader with a flag takes asks for that reader, as its flag does.
    """
    asked = [one for reader in readers.values() for one in reader.asks()]
    found = {one.option.name: options[one.field] for one in asked if one.field in options}
    plain = {name for one in readers.values() if not one.flag for name in one.__dataclass_fields__}
    if own := {*options} - plain:
        flagged = [one for one in readers.values() if one.flag]
        found |= {one.name: True for one in flagged if own <= {*one.__dataclass_fields__}}
    return found
