"""Raw records with coordinates, one row a person, counted per cell."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError
from pyproj.transformer import AreaOfInterest, TransformerGroup

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.read import fields
from geodp.io.read.columns import Rows, batches, find_column, open_tables
from geodp.io.read.external_sort import Runs
from geodp.io.read.scratch import bytes_of
from geodp.io.read.sources import FilePath
from geodp.io.read.survey import Survey
from geodp.io.read.table import Locator, axis_locators, locate, require_axes
from geodp.io.read.tally import OUTSIDE_RULES, Outside, one_of, place
from geodp.privacy.key import NoiseKey
from geodp.table.contribution import Truncation, truncate
from geodp.table.counts import CountTable

HELD = 224
"""Bytes beside the person's name that a record takes while persons are bounded."""

TOO_MANY_RECORDS = (
    "Bounding what a person adds holds all records in memory, and they go beyond the limit; raise "
    "it (--memory, memory=), or bound persons before and vouch for it (--contribution)."
)

Floats: TypeAlias = NDArray[np.float64]
Move: TypeAlias = Callable[[Floats, Floats], tuple[Floats, Floats]]


def read_points(
    paths: FilePath | Sequence[FilePath],
    *,
    grid: str | Grid,
    x: str,
    y: str,
    crs: str | None = None,
    person: str | None = None,
    cells: int = 1,
    per_cell: int = 1,
    truncation: Truncation = "first",
    secret: NoiseKey | None = None,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str | int] | None = None,
    outside: Outside | None = None,
    allow_ballpark: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
) -> CountTable:
    """Count records per cell: CSV (plain, gzip, zip) and Parquet, read in batches.

    With a column of persons, at most `cells` cells of a person are kept, and at most `per_cell`
    records in each; the table then carries the bound that it keeps, ``cells * per_cell``. All
    records are then held in memory, and more than fit into the limit are refused. Without one
    nothing bounds how often a person is counted, and :func:`geodp.publish` asks for a contribution
    to vouch for.

    Parameters
    ----------
    paths : path or sequence of paths
    grid : str or Grid
        Public, one map with or without attributes; a string names a code system.
    x, y : str
        Columns of longitude and latitude, or of easting and northing.
    crs : str, optional
        CRS of the records. Default: the grid's.
    person : str, optional
        Column that tells persons apart.
    cells, per_cell, truncation, secret
        See :func:`geodp.table.contribution.truncate`.
    columns : mapping, optional
        For every attribute of the grid the column of its labels.
    where : mapping, optional
        Only rows whose columns have these values; text is compared as it is written.
    outside : {"error", "crop", "drop"}, optional
        For records outside the domain. Default: "error".
    allow_ballpark : bool
        Whether a datum may be taken for another where the exact transformation is not
        installed: the points of the Tokyo datum then move by some 450 m.
    delimiter, encoding : str, optional
        Default: as found in the header; UTF-8 or CP932.
    memory : int or str, optional
        Limit for rows that wait, in bytes or such as "4GiB"; the table itself (16 bytes an
        occupied cell) and the reader's buffers come on top. Default: half the machine's.
    scratch : path, optional
        Folder for what goes beyond: confidential, in files without names that go when the
        process ends. Default: the system's folder for temporary files.

    Returns
    -------
    CountTable

    Raises
    ------
    UsageError
        A call that cannot be carried out, or a transformation that is not exact enough.
    InputError
        Data that must not be used as they are; names file and line.
    """
    policy = outside or "error"
    one_of("outside", policy, OUTSIDE_RULES)
    public = Grid.mesh(grid) if isinstance(grid, str) else grid
    if len(public.places) != 1 or public.places[0].transform is None:
        raise UsageError("Points need a grid of one map with a place on the Earth.")
    lattice = public.places[0]
    move = _transformation(lattice, crs, allow_ballpark)
    locators = [_point_locator(lattice, x, y, move), *axis_locators(public, columns or {})]
    require_axes(public, locators)
    names = [name for locator in locators for name in locator.columns]
    names += [] if person is None else [person]
    filters = dict(where or {})
    runs, survey = Runs(memory, scratch), Survey()
    limit, held = bytes_of(memory), 0
    people: list[pa.Array] = []
    keys: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    for table in open_tables(paths, delimiter=delimiter, encoding=encoding):
        chosen = [find_column(table, name, names) for name in names]
        wanted = {find_column(table, name, names): filters[name] for name in filters}
        for rows, arrays in batches(table, chosen, wanted, survey):
            index = locate(public, rows, locators, arrays)
            rows_inside, key, inside = place(public, rows, index, policy)
            survey.place(table.name, np.ones(index.shape[1], np.int64), inside)
            if person is None:
                runs.add(key)
                continue
            keys.append(key)
            people.append(_people(rows_inside, person, arrays[-1], inside))
            held += people[-1].nbytes + HELD * key.size
            if held > limit:
                raise InputError(TOO_MANY_RECORDS, file=table.name)
    if person is None:
        read = survey.reading()
        return CountTable.of_cells(public, *runs.arrays(), bound=None, reading=read)
    kept, counts = truncate(
        _numbered(people),
        np.concatenate(keys),
        cells=cells,
        per_cell=per_cell,
        truncation=truncation,
        secret=secret,
    )
    bound, read = cells * per_cell, survey.reading()
    return CountTable.from_keys(public, kept, counts, bound=bound, enforced=True, reading=read)


def _people(rows: Rows, column: str, array: pa.Array, inside: NDArray[np.bool_] | None) -> pa.Array:
    """The persons of the rows inside the domain, as text; InputError where one is missing."""
    if pa.types.is_floating(array.type):
        raise rows.error(0, f"Column {column}: persons are told apart by text or whole numbers.")
    text = pc.utf8_trim_whitespace(array.cast(pa.string()))
    text = text if inside is None else text.filter(pa.array(inside))
    missing = pc.fill_null(pc.equal(text, ""), True).to_numpy(zero_copy_only=False)
    if missing.any():
        raise rows.error(int(missing.argmax()), f"Column {column}: the person is missing.")
    return text


def _numbered(people: Sequence[pa.Array]) -> NDArray[np.int64]:
    """Persons as numbers, in the order of their first records."""
    if not people:
        return np.empty(0, np.int64)
    encoded = pa.chunked_array(people).combine_chunks().dictionary_encode()
    numbers: NDArray[np.int64] = encoded.indices.to_numpy().astype(np.int64)
    return numbers


def _point_locator(lattice: Lattice, x: str, y: str, move: Move | None) -> Locator:
    def read(xs: pa.Array, ys: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        point = fields.coordinates(xs), fields.coordinates(ys)
        return lattice.locate(*(point if move is None else move(*point)))

    return Locator((x, y), (0, 1), read)


def _transformation(lattice: Lattice, crs: str | None, allow_ballpark: bool) -> Move | None:
    """From the records' CRS to the lattice's; None where they are the same."""
    if crs is None:
        return None
    if lattice.crs is None:
        raise UsageError("The grid has no CRS to transform to; give the grid one.")
    try:
        given, wanted = CRS.from_user_input(crs), CRS.from_user_input(lattice.crs)
    except CRSError:
        given = None
    if given is None:
        raise UsageError("The CRS is unknown; name one such as EPSG:4326.")
    if given.equals(wanted, ignore_axis_order=True):
        return None
    # The area is the public grid's, not the records'.
    degrees = Transformer.from_crs(wanted, wanted.geodetic_crs, always_xy=True)
    area = AreaOfInterest(*degrees.transform_bounds(*lattice.bounds))
    with warnings.catch_warnings():  # said by the error below
        warnings.simplefilter("ignore")
        group = TransformerGroup(given, wanted, always_xy=True, area_of_interest=area)
    if not group.transformers:
        raise UsageError("There is no transformation between the two CRSs.")
    best = group.transformers[0]
    if not allow_ballpark and (not group.best_available or "Ballpark" in best.description):
        raise UsageError(
            f"The exact transformation from {crs} to {lattice.crs} is not installed, and another "
            "may move points by hundreds of metres. Install PROJ's grid for it, transform the "
            "records before, or accept the error "
            "(--allow-ballpark, allow_ballpark=True)."
        )

    def move(x: Floats, y: Floats) -> tuple[Floats, Floats]:
        # A point that PROJ cannot transform becomes infinite, which locate refuses.
        return best.transform(x, y)

    return move
