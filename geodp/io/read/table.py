"""Tables of cells and counts in CSV, Parquet and memory: by code, by coordinates, by index.

Official Japanese mesh statistics are a layout of them, which is read wherever it is recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from geodp.advice import takes
from geodp.io.read.options import TableOptions
from geodp.io.read.reader import Call, MatchScore

if TYPE_CHECKING:
    from fractions import Fraction

    from geodp.grid.grid import Grid
    from geodp.io.read.counting.table import Places
    from geodp.io.read.rows.input_files import FilePath, TableSource
    from geodp.table.counts import CountTable


@dataclass(frozen=True, kw_only=True)
class Table(TableOptions):
    """Tables with one row for each cell."""

    name: ClassVar[str] = "table"
    kind: ClassVar[str] = "a table"

    @classmethod
    def match_score(cls, call: Call) -> MatchScore:
        """Match any call, and better if an option names columns of places."""
        places = any(call.options.get(name) for name in ("code", "x", "y", "column"))
        return MatchScore.COLUMNS if places else MatchScore.ANY

    def read(self, paths: TableSource, places: Places | None = None) -> CountTable:
        """Read the places and the counts of every table in the files.

        ``places``: how rows are located, in place of the columns of places.
        """
        from geodp.io.read.counting.table import TableRows

        reader, tables, facts = self.resolve(self.open(paths))
        return TableRows(reader, places).count(tables, facts)


READERS = (Table,)


@takes(Table)
def read_table(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Read tables with one row a cell: text (plain, gzip, zip), Parquet, GeoPackage and the like.

    Also GeoJSON, JSON lines, FlatGeobuf, Shapefile, workbooks, tables in memory. Columns are found
    by their exact names, or regardless of case. The place of a cell is in `code`, in `x` and `y`,
    in `columns`, or, if none is given, in geometries that are cells of the grid; all other axes
    of the grid are in `columns`. How often a person is counted is known only for one table in the
    layout of a publisher (docs/inputs.md); otherwise :func:`geodp.publish` requires it.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        In memory: any object with the Arrow interface, such as a DataFrame of pandas or Polars, a
        relation of DuckDB or a pyarrow.Table.
    grid : str or Grid
        Public grid; a string names a code system, as in ``Grid.mesh``.

    Raises
    ------
    UsageError
        Options that do not go together, or with the grid.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> cells = pa.table({"code": ["533945263", "533945264"], "people": [12, 30]})
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    >>> geodp.read_table(cells, grid=grid, code="code", value="people").count.tolist()
    [12, 30]
    """
    return Table.of(grid, **options).read(paths)


@takes(Table, without=("code", "x", "y", "anchor", "columns", "secret"))
def read_mesh(
    paths: FilePath | Sequence[FilePath],
    *,
    grid: str | Grid,
    bounds: Sequence[float | Fraction] | None = None,
    primary: str | int | Sequence[str | int] | None = None,
    **options: Any,
) -> CountTable:
    """Read official mesh files: zip, gzip or text, CP932 or UTF-8.

    A value is named by its label in the second header row, such as "人口（総数）", or by its
    column, such as "T001141001". Several columns may count a person several times, so that
    :func:`geodp.publish` requires a contribution. A mesh that is twice in one file is always an
    error; files of prefectures each hold their share of a mesh on the border, so that duplicates
    are added up ("sum").

    Parameters
    ----------
    paths : path or sequence of paths
        All tables of an archive are read, or those of `member`.
    grid : str or Grid
        "jis:half" and so on, or a map made by ``Grid.mesh``. The grid is public: it never
        depends on the rows.
    bounds : (west, south, east, north), optional
        Public domain of a `grid` named by a string, in degrees. Rows outside are cropped, unless
        `outside` says otherwise.
    primary : primary mesh code or sequence of them, optional
        Alternatively codes such as 5339: only their cells are the domain. Rows outside are dropped,
        unless `outside` says otherwise.

    Raises
    ------
    UsageError
        Options that do not go together, or with the grid.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import tempfile, geodp
    >>> from pathlib import Path
    >>> rows = "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001\\n,,,,people\\n533945263,0,,,12\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "tblT000001H5339.txt"
    ...     _ = file.write_text(rows)
    ...     geodp.read_mesh(file, grid="jis:half", value="people").count.tolist()
    [12]
    """
    from geodp.io.read.layout.official_tables import public_map, require_meshes

    # Official files often cover more than a smaller public domain, whose other rows are left out.
    cropping = "drop" if primary is not None else "crop" if bounds is not None else "error"
    # The domain is fixed before a file is opened, so that it cannot depend on the rows.
    public = public_map(grid, bounds, primary)
    require_meshes(public)
    options["outside"] = options.get("outside") or cropping
    return Table.of(public, **options).read(paths)
