"""Official Japanese mesh statistics (JIS X 0410), as the statistics bureau publishes them.

This is a layout of files: :class:`geodp.io.read.table.Table` reads it wherever it recognises it.

One row is one mesh: ``KEY_CODE``, on newer files ``HTKSYORI`` (0: as counted; 1: holds details
of others; 2: its details are hidden), ``HTKSAKI`` and ``GASSAN`` (where they went and came
from), then values. Totals are counted in every row, whatever HTKSYORI is, and are never moved:
adding the rows up is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from geodp.advice import takes
from geodp.io.read.table import Table

if TYPE_CHECKING:
    from fractions import Fraction

    from geodp.grid.grid import Grid
    from geodp.io.read.rows.input_files import FilePath
    from geodp.table.counts import CountTable


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
    from geodp.io.read.rows.mesh_columns import public_map, require_meshes

    # Official files often cover more than a smaller public domain, whose other rows are left out.
    cropping = "drop" if primary is not None else "crop" if bounds is not None else "error"
    # The domain is fixed before a file is opened, so that it cannot depend on the rows.
    public = public_map(grid, bounds, primary)
    require_meshes(public)
    options["outside"] = options.get("outside") or cropping
    return Table.of(public, **options).read(paths)
