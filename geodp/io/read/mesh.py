"""Official Japanese mesh statistics (JIS X 0410), as the statistics bureau publishes them.

One row is one mesh: ``KEY_CODE``, on newer files ``HTKSYORI`` (0: as counted; 1: holds details
of others; 2: its details are hidden), ``HTKSAKI`` and ``GASSAN`` (where they went and came
from), then values. Totals are counted in every row, whatever HTKSYORI says, and are never moved:
adding the rows up is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from geodp.errors import InputError
from geodp.io.read import reader
from geodp.io.read.reader import DUPLICATES, OUTSIDE, VALUE, Call, Claim, Option, Reader, asks

if TYPE_CHECKING:
    from fractions import Fraction

    from geodp.grid.grid import Grid
    from geodp.io.read.rows.input_files import FilePath, Given
    from geodp.io.read.rows.tally import Duplicates, Outside
    from geodp.io.read.table import Decimal
    from geodp.table.counts import CountTable

Suppressed: TypeAlias = Literal["error", "zero"]

SUPPRESSED = Option(
    "Cells whose count the publisher hides: refuse them, or count nobody there.",
    "--suppressed",
    type=("error", "zero"),
)


@dataclass(frozen=True, kw_only=True)
class Mesh(Reader):
    """Official mesh files: zip, gzip or text, CP932 or UTF-8; the fields are of :func:`read_mesh`.

    Where several `value` are given, the table has their attribute; of an archive, all tables are
    read.
    """

    name: ClassVar[str] = "mesh"
    kind: ClassVar[str] = "official mesh files"

    value: Sequence[str] | None = field(
        default=None, metadata=asks(VALUE, convert=lambda given: given or None)
    )
    attribute: str | None = field(default=None, metadata=asks(reader.ATTRIBUTE))
    duplicates: Duplicates = field(default="error", metadata=asks(DUPLICATES))
    suppressed: Suppressed = field(default="error", metadata=asks(SUPPRESSED))
    outside: Outside | None = field(default=None, metadata=asks(OUTSIDE))
    decimal: Decimal | None = field(default=None, metadata=asks(reader.DECIMAL))

    @classmethod
    def claim(cls, call: Call) -> Claim:
        """Claim what is on meshes, as it usually is one of these files."""
        return Claim.GRID if call.grid.startswith("jis:") else Claim.NONE

    def read(self, paths: Given) -> CountTable:
        """Read the key and the values of every table in the files."""
        import numpy as np

        from geodp.io.read.layout.one_table import OneTable
        from geodp.io.read.rows import fields
        from geodp.io.read.rows import mesh_columns as mesh
        from geodp.io.read.rows.columns import batches, open_tables
        from geodp.io.read.rows.delimited import TextTable
        from geodp.io.read.rows.rounding import Counting
        from geodp.io.read.rows.tally import Tally

        mesh.require_meshes(self.grid)
        grid = mesh.with_values(self.grid, self.attribute, self.value)
        labels = mesh.numbers_of_labels(grid)
        one_table = OneTable()
        tally = Tally(
            grid,
            self.outside or "error",
            self.duplicates,
            within=False,
            memory=self.memory,
            scratch=self.scratch,
        )
        zero = (mesh.NONE, *mesh.MARKS) if self.suppressed == "zero" else (mesh.NONE,)
        counting = Counting(zero, self.decimal, mark=mesh.HIDDEN)
        for table in open_tables(paths, labelled=True, scratch=self.scratch):
            if not isinstance(table, TextTable):
                rule = "This is no text; read it as a table (--code, read_table)."
                raise InputError(rule, file=table.name)
            key, chosen = mesh.find_columns(table, self.value)
            one_table.add(table, chosen)
            titles = [mesh.title_of(table, column) for column in chosen]
            tally.survey.name(table.name, titles)
            for rows, arrays in batches(table, [key, *chosen], survey=tally.survey):
                rows, (code, *columns) = mesh.drop_headers(table, rows, arrays, [key, *chosen])
                with rows.named(mesh.KEY):
                    row, col = grid.places[0].parse(fields.codes(code))
                index = np.stack([row, col, *[row] * len(grid.attributes)])
                for number, column in enumerate(columns):
                    with rows.named(titles[number]):
                        count = counting.numbers(column)
                    tally.survey.miss(table.name, counting.count_missing(column, count))
                    index[2:] = np.array(np.unravel_index(number, labels))[:, None]
                    tally.add(rows, index, count)
        plain = self.duplicates == "error" and not grid.attributes
        return tally.table(one_table.bound() if plain else None)


READERS = (Mesh,)


def read_mesh(
    paths: FilePath | Sequence[FilePath],
    *,
    grid: str | Grid,
    value: str | Sequence[str] | None = None,
    bounds: Sequence[float | Fraction] | None = None,
    primary: str | int | Sequence[str | int] | None = None,
    attribute: str | None = None,
    duplicates: Duplicates = "error",
    suppressed: Suppressed = "error",
    outside: Outside | None = None,
    decimal: Decimal | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
) -> CountTable:
    """Read official mesh files: zip, gzip or text, CP932 or UTF-8.

    What is not explained here all readers have in common: :class:`geodp.io.read.reader.Reader`,
    which also says what is raised.

    Parameters
    ----------
    paths : path or sequence of paths
        Of an archive, all tables are read.
    grid : str or Grid
        "jis:half" and so on, or a map made by ``Grid.mesh``. The grid is public: it never
        depends on the rows.
    value : str or sequence of str, optional
        Label (second header row, such as "人口（総数）") or column ("T001141001"). May be left
        out where a file has one column of values. Several, with `attribute`, become an
        attribute of the grid with these labels. On a grid that has attributes, one for every
        combination of labels, the last attribute's in turn: men by age, then women by age.
    bounds : (west, south, east, north), optional
        Public domain of a `grid` named by a string, in degrees.
    primary : primary mesh code or sequence of them, optional
        The same by codes such as 5339: their cells alone are the domain.
    attribute : str, optional
        Name of the attribute that several values become. Columns may count a person several
        times: :func:`geodp.publish` asks for a contribution.
    duplicates : {"error", "sum"}
        For a mesh that is in several files; twice in one file is always an error. Files of
        prefectures each hold their share of a mesh on the border: "sum".
    suppressed : {"error", "zero"}
        For `*`, `X` and blanks. "zero" is right where the file has added a hidden detail to
        the mesh named in HTKSAKI: that row then counts these people. `-` always counts 0.
    outside : {"error", "crop", "drop"}, optional
        Default: "drop" with `primary`, "crop" with `bounds`, else "error".
    decimal, memory, scratch
    """
    from geodp.io.read.rows.mesh_columns import public_map

    cropping: Outside = "drop" if primary is not None else "crop" if bounds is not None else "error"
    return Mesh(
        grid=public_map(grid, bounds, primary),
        value=[value] if isinstance(value, str) else value,
        attribute=attribute,
        duplicates=duplicates,
        suppressed=suppressed,
        outside=outside or cropping,
        decimal=decimal,
        memory=memory,
        scratch=scratch,
    ).read(paths)
