"""Raw records with places, one row for each person, counted per cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from geodp.advice import takes
from geodp.io.read.options import PointOptions

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.rows.input_files import TableSource
    from geodp.table.counts import CountTable


@dataclass(frozen=True, kw_only=True)
class Points(PointOptions):
    """Records with coordinates, geometries or codes."""

    name: ClassVar[str] = "points"
    kind: ClassVar[str] = "points"
    flag: ClassVar[str] = (
        "Read every row as one person, at x and y, at a point geometry, or in the cell of a code."
    )

    def read(self, paths: TableSource) -> CountTable:
        """Count the records in the files, with each person's contribution bounded on request."""
        from geodp.io.read.counting.points import PointRows

        reader, tables, facts = self.resolve(self.open(paths))
        return PointRows(reader).count(tables, facts)


READERS = (Points,)


@takes(Points)
def read_points(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Count records per cell, in batches: text (plain, gzip, zip), Parquet, tables in memory.

    Also GeoJSON, JSON lines, GeoPackage, FlatGeobuf, Shapefile and workbooks.

    With a column of persons, at most `cells` cells of a person are kept, and at most `per_cell`
    records in each; the table then carries the bound ``cells * per_cell``. Records
    beyond the limit of memory wait on disk, by person; only those sampled with a stored `secret`,
    and those of any one person, must fit. Without a column of persons nothing bounds how
    often a person is counted, and :func:`geodp.publish` requires a declared contribution.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        In memory: any object with the Arrow interface, such as a DataFrame of pandas or Polars, a
        relation of DuckDB or a pyarrow.Table.
    grid : str or Grid
        Public grid, with or without attributes; a string names a code system. Coordinates and
        geometries need one of one map.

    Raises
    ------
    UsageError
        Options that do not go together, or with the grid.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> people = pa.table({"lon": [139.701, 139.701], "lat": [35.681, 35.691]})
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    >>> int(geodp.read_points(people, grid=grid, x="lon", y="lat").count.sum())
    2
    """
    return Points.of(grid, **options).read(paths)
