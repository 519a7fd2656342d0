"""Entry point of the readers from Python, ``geodp.read``: chooses the reader for a call.

That of the command line is :func:`geodp.cli.readers.read`, which makes a reader from options. Both
choose it by :func:`geodp.io.read.choose`, so they recognise the same files.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError
from geodp.io.read import choose
from geodp.io.read.reader import Call, Reader, find_grid, spec_of

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.rows.input_files import TableSource
    from geodp.privacy.key import NoiseKey
    from geodp.table.counts import CountTable


def read(
    paths: TableSource, grid: Grid | str, *, reader: str | None = None, **options: Any
) -> CountTable:
    """Read confidential counts or records on a public grid, with the reader that fits them.

    Columns that are not given are found by their names, or by the form of the first values, as
    ``geodp publish`` finds them: codes of cells or coordinates, and the one column of counts. If
    several are possible, the error lists them.

    Parameters
    ----------
    paths : path, sequence of paths, or a table or an array in memory
        As every reader takes them: frames of pandas, geopandas, Polars and Arrow, and arrays of
        xarray, which are rasters.
    grid : Grid or str
        The public grid; ``"jis:half"`` is the full extent of that code system.
    reader : str, optional
        Name in ``geodp.io.read.READERS``: ``"table"``, ``"points"``, ``"raster"``. Default:
        the best match for files of this kind, with these options, on this grid; ``"points"``,
        a row for each record, if an option is given that only it has, such as ``person``.
    **options
        Fields of the reader; see ``geodp.read_mesh``, ``read_table``, ``read_points`` and
        ``read_raster``.

    Returns
    -------
    CountTable

    Raises
    ------
    UsageError
        The reader is ambiguous, or does not have an option; or a column is missing or ambiguous.
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
    return read_with_key(paths, grid, None, reader=reader, **options)


def read_with_key(
    paths: TableSource,
    grid: Grid | str,
    key: NoiseKey | None,
    *,
    reader: str | None = None,
    **options: Any,
) -> CountTable:
    """Read as :func:`read` does; ``key``: of random numbers, without which they are fresh ones."""
    from geodp.io.read import give_key
    from geodp.io.read.points import Points
    from geodp.io.read.rows.forms.locations import fetch_urls
    from geodp.io.read.table import Table

    on = find_grid(grid)
    with fetch_urls(paths, options.get("scratch")) as fetched:
        chosen = _choose(fetched, on, reader, options)
        made = chosen.of(on, **{**give_key(chosen, key), **options})
        if not isinstance(made, Table | Points):
            return made.read(fetched)
        from geodp.io.read.layout.completion import complete_reader
        from geodp.io.read.rows.arrow import convert_once

        # Recognition reads the first values before rows are read, so a stream must be replayable.
        once = convert_once(fetched)
        return complete_reader(made, once).read(once)


def _choose(
    paths: TableSource, grid: Grid, name: str | None, options: Mapping[str, Any]
) -> type[Reader]:
    """Return the reader of a call; UsageError for one that is unknown, or lacks an option."""
    from geodp.io.read import READERS
    from geodp.io.read.raster import Raster
    from geodp.io.read.rows.input_files import LabelledArray

    # An array has no file name by which a reader could recognise it.
    if isinstance(paths, LabelledArray) and name in (None, Raster.name):
        chosen: type[Reader] = Raster
    elif name is None:
        chosen = choose(Call(_names(paths), spec_of(grid), _by_option_name(options, READERS)))
    elif name in READERS:
        chosen = READERS[name]
    else:
        raise UsageError(
            f"There is no reader {name!r}; choose from {', '.join(READERS)}.",
            code="reader-unknown",
        )
    _require_known(chosen, options, READERS)
    return chosen


def _require_known(
    chosen: type[Reader], options: Mapping[str, Any], readers: Mapping[str, type[Reader]]
) -> None:
    """Raise UsageError for options that a reader lacks and that others have, or the grid."""
    unknown = sorted({*options} - {*chosen.__dataclass_fields__})
    others = [
        f"reader={name!r} takes {', '.join(also)}"
        for name, one in readers.items()
        if (also := sorted({*unknown} & {*one.__dataclass_fields__}))
    ]
    domain = {"bounds", "primary"} & {*unknown}
    others += ["bounds go with the grid: grid=Grid.mesh(name, bounds=...)"] if domain else []
    # Naming the reader that takes the option is more useful than the list of valid ones.
    if others:
        raise UsageError(
            f"Not for {chosen.kind}: {', '.join(unknown)}; {'; '.join(others)}.",
            code="option-not-for-reader",
        )


def _names(paths: Any) -> tuple[Path, ...]:
    """Return the files of a call; none for a table in memory."""
    several = paths if isinstance(paths, list | tuple) else [paths]
    return tuple(Path(one) for one in several if isinstance(one, str | PathLike))


def _by_option_name(
    options: Mapping[str, Any], readers: Mapping[str, type[Reader]]
) -> dict[str, Any]:
    """Return the options under their names on the command line.

    An option that only a reader with a flag has selects that reader, as its flag does.
    """
    entries = [one for reader in readers.values() for one in reader.option_fields()]
    by_name = {one.option.name: options[one.field] for one in entries if one.field in options}
    plain = {name for one in readers.values() if not one.flag for name in one.__dataclass_fields__}
    if exclusive := {*options} - plain:
        flagged = [one for one in readers.values() if one.flag]
        by_name |= {one.name: True for one in flagged if exclusive <= {*one.__dataclass_fields__}}
    return by_name
