"""Official Japanese mesh statistics (JIS X 0410), as the statistics bureau publishes them.

This is a layout of files: :class:`geodp.io.read.table.Table` reads it wherever it recognises it.

One row is one mesh: ``KEY_CODE``, on newer files ``HTKSYORI`` (0: as counted; 1: holds details
of others; 2: its details are hidden), ``HTKSAKI`` and ``GASSAN`` (where they went and came
from), then values. Totals are counted in every row, whatever HTKSYORI is, and are never moved:
adding the rows up is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from geodp.grid.grid import Grid
    from geodp.io.read.rows.input_files import FilePath
    from geodp.io.read.rows.pairing import Values
    from geodp.io.read.rows.tally import Duplicates, Outside
    from geodp.io.read.table import Decimal, Suppressed
    from geodp.table.counts import CountTable


def read_mesh(
    paths: FilePath | Sequence[FilePath],
    *,
    grid: str | Grid,
    value: Values = None,
    bounds: Sequence[float | Fraction] | None = None,
    primary: str | int | Sequence[str | int] | None = None,
    by: str | Sequence[str] = (),
    duplicates: Duplicates = "error",
    suppressed: Suppressed = "error",
    outside: Outside | None = None,
    decimal: Decimal | None = None,
    header_row: int | None = None,
    first_row: int | None = None,
    last_row: int | None = None,
    member: str | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
) -> CountTable:
    """Read official mesh files: zip, gzip or text, CP932 or UTF-8.

    All other parameters are those of every reader: :class:`geodp.io.read.reader.Reader`, which
    also documents the errors.

    Parameters
    ----------
    paths : path or sequence of paths
        All tables of an archive are read, or those of `member`.
    grid : str or Grid
        "jis:half" and so on, or a map made by ``Grid.mesh``. The grid is public: it never
        depends on the rows.
    value : str, sequence of str or mapping, optional
        Label (second header row, such as "人口（総数）") or column ("T001141001"). May be left
        out where a file has one column of values. Several, with `by`, become an attribute of
        the grid with these labels. On a grid that has attributes, the column of
        every label, ``{"f": "T001141003"}``, of several attributes of every combination,
        ``{("f", "0-14"): "T001141012"}``; names alone where each has its label in it.
    bounds : (west, south, east, north), optional
        Public domain of a `grid` named by a string, in degrees.
    primary : primary mesh code or sequence of them, optional
        Alternatively codes such as 5339: only their cells are the domain.
    by : str or sequence of str
        Name of the attribute that distinguishes several values. Columns may count a person several
        times: :func:`geodp.publish` requires a contribution.
    duplicates : {"error", "sum"}
        For a mesh that is in several files; twice in one file is always an error. Files of
        prefectures each hold their share of a mesh on the border: "sum".
    suppressed : {"error", "zero"}
        For `*`, `X` and blanks. "zero" is right where the file has added a hidden detail to
        the mesh named in HTKSAKI: that row then counts these people. `-` always counts 0.
    outside : {"error", "crop", "drop"}, optional
        Default: "drop" with `primary`, "crop" with `bounds`, else "error".
    decimal, header_row, first_row, last_row, member, memory, scratch

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
    from geodp.io.read.reader import convert_by
    from geodp.io.read.rows.mesh_columns import public_map, require_meshes
    from geodp.io.read.table import Table

    # Official files often cover more than a smaller public domain, whose other rows are left out.
    cropping: Outside = "drop" if primary is not None else "crop" if bounds is not None else "error"
    # The domain is fixed before a file is opened, so that it cannot depend on the rows.
    public = public_map(grid, bounds, primary)
    require_meshes(public)
    return Table(
        grid=public,
        value=value,
        by=convert_by(by),
        duplicates=duplicates,
        suppressed=suppressed,
        outside=outside or cropping,
        decimal=decimal,
        header_row=header_row,
        first_row=first_row,
        last_row=last_row,
        member=member,
        memory=memory,
        scratch=scratch,
    ).read(paths)
