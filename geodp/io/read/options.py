"""Options of the readers: their fields, each described once for Python and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from geodp.errors import Rule, UsageError
from geodp.io.read import reader
from geodp.io.read.reader import (
    MEMBER,
    MISSING,
    OUTSIDE,
    ROUND,
    UNIT,
    CountsReader,
    LabelledReader,
    Reader,
    cli_option,
    require_positive,
)
from geodp.options.option import Option

if TYPE_CHECKING:
    from geodp.io.read.rows.count_parser import Rounding
    from geodp.io.read.rows.pairing import Values
    from geodp.io.read.rows.tally import Outside
    from geodp.privacy.key import NoiseKey
    from geodp.table.contribution import Truncation

CRS = Option("--points-crs", "CRS of x and y, if it is not the grid's.")

BALLPARK = Option("--allow-ballpark", "Accept an inexact datum transformation.", type=bool)

PERSON = Option(
    "--person",
    "Column of person ids (points); enforces the limits of --cells and --per-cell.",
    everyday=True,
)

CELLS = Option(
    "--cells", "Maximum number of cells kept per person.", type=int, show=True, needs=("person",)
)

PER_CELL = Option(
    "--per-cell",
    "Maximum number of records kept per person and cell.",
    type=int,
    show=True,
    needs=("person",),
)

TRUNCATION = Option(
    "--truncation",
    "Which records of a person to keep: the first, or a random sample.",
    choices=("first", "sample"),
    needs=("person",),
)

Anchor: TypeAlias = Literal["centre", "corner", "index"]

Suppressed: TypeAlias = Literal["error", "zero", "merge"]

CODE = Option("--code", "Column of codes of cells or units (tables, points).")

ANCHOR = Option(
    "--anchor",
    "What x and y of a table refer to: the cell's centre, its lower left corner, or its indices.",
    choices=("centre", "corner", "index"),
    needs=("x",),
)

SUPPRESSED = Option(
    "--suppressed",
    "Cells of official mesh files whose counts the publisher suppresses: refuse them; count them "
    "as 0; or merge each, with its total, into the cell that its details were added to (HTKSAKI), "
    "so that both are one cell in every column.",
    choices=("error", "zero", "merge"),
)

NO_MARKS = Rule(
    "suppressed-needs-mesh",
    "Only official mesh files (a text with KEY_CODE, on a grid of jis:) have marks for hidden "
    "counts that are known (--suppressed, suppressed=); of another table, name what counts nobody "
    "(--missing, missing=).",
)

BAND = Option("--band", "Band of a raster with several bands, counted from 1.", type=int)


def _numbers(values: Sequence[str | float]) -> list[float]:
    try:
        # Numbers stay as they are: what the operator stated is kept in the record as stated.
        return [float(one) if isinstance(one, str) else one for one in values]
    except ValueError:
        raise UsageError(
            "--missing of a raster is a number.", code="raster-missing-not-number"
        ) from None


@dataclass(frozen=True, kw_only=True)
class PointOptions(LabelledReader):
    """Records located by coordinates, geometries or codes.

    Attributes
    ----------
    x, y : str, optional
        Columns of longitude and latitude, or of easting and northing. Without them and `code`, the
        file's geometries are points.
    code : str, optional
        Column of codes of cells or units.
    crs : str, optional
        CRS of the records. Default: the grid's, or that of the geometries. A transformation
        that is not exact enough is refused.
    allow_ballpark : bool
        Whether one datum may be taken for another if the exact transformation is not
        installed: points in the Tokyo datum are then displaced by about 450 m.
    person : str, optional
        Column that identifies persons.
    cells, per_cell : int
        Most cells of a person that are kept, and most records of a person in each of them.
    truncation : {"first", "sample"}
        Which cells of a person are kept: those of the first records, or a random sample
        (:func:`geodp.table.contribution.truncate`).
    secret : NoiseKey, optional
        Key of the sample; default: fresh from the operating system.
    """

    x: str | None = field(default=None, metadata=cli_option(reader.X))
    y: str | None = field(default=None, metadata=cli_option(reader.Y))
    code: str | None = field(default=None, metadata=cli_option(CODE))
    crs: str | None = field(default=None, metadata=cli_option(CRS))
    allow_ballpark: bool = field(default=False, metadata=cli_option(BALLPARK))
    person: str | None = field(default=None, metadata=cli_option(PERSON))
    cells: int = field(default=1, metadata=cli_option(CELLS))
    per_cell: int = field(default=1, metadata=cli_option(PER_CELL))
    truncation: Truncation = field(default="first", metadata=cli_option(TRUNCATION))
    secret: NoiseKey | None = None

    @property
    def taken(self) -> tuple[str | None, ...]:
        """Columns that are named for places and persons."""
        return self.x, self.y, self.code, self.person


@dataclass(frozen=True, kw_only=True)
class TableOptions(LabelledReader, CountsReader):
    """Tables with one row for each cell.

    Attributes
    ----------
    value : str, sequence of str or mapping
        Column of counts, or a pattern of several, as "F_*". Only an official mesh file with one
        such column needs no name. Several, with `by`, become attributes of the grid with these
        labels. On a grid that has attributes, the column of every label, ``{"f": "T001141003"}``,
        of several attributes of every combination, ``{("f", "0-14"): "T001141012"}``; names alone
        where each has its label in it.
    code : str, optional
        Column of published codes.
    x, y : str, optional
        Columns of coordinates in the grid's CRS, or of cell indices.
    anchor : {"centre", "corner", "index"}
        Meaning of `x` and `y`: the cell's centre, its lower left corner (in the south-west),
        or its column and row counted from 0.
    suppressed : {"error", "zero", "merge"}
        For `*`, `X` and blanks in official mesh files. "zero" is right where the file has added a
        hidden detail to the mesh named in HTKSAKI: that row then counts these people. "merge" also
        counts what such a row does not hide there, such as its total, so that columns agree. `-`
        always counts 0.
    other : str, optional
        Unit that counts codes which the grid's table of units does not have, such as "abroad".
    missing_in : mapping of str to sequences of str
        Values that mean nobody in single columns of counts only, besides `missing`.
    secret : NoiseKey, optional
        Key of the random numbers of `rounding`; default: fresh from the operating system.
    """

    second_header: ClassVar[bool] = True
    value: Values = field(
        default=None, metadata=cli_option(reader.VALUE, convert=lambda value: value or None)
    )
    code: str | None = field(default=None, metadata=cli_option(CODE))
    x: str | None = field(default=None, metadata=cli_option(reader.X))
    y: str | None = field(default=None, metadata=cli_option(reader.Y))
    anchor: Anchor = field(default="centre", metadata=cli_option(ANCHOR))
    suppressed: Suppressed = field(default="error", metadata=cli_option(SUPPRESSED))
    other: str | None = field(default=None, metadata=cli_option(reader.OTHER))
    missing_in: Mapping[str, Sequence[str]] = field(default_factory=dict)
    secret: NoiseKey | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.suppressed != "error":
            from geodp.io.read.layout.official_tables import KEY, is_mesh_grid
            from geodp.io.read.rows.names import fold

            key = self.x is None and fold(self.code or KEY) == fold(KEY)
            # Only official mesh files mark hidden counts that were added to another cell.
            if not (key and is_mesh_grid(self.grid)):
                raise UsageError(NO_MARKS)

    @property
    def taken(self) -> tuple[str | None, ...]:
        """Columns that are named for places."""
        return self.code, self.x, self.y

    @property
    def values(self) -> Values:
        """Columns of counts."""
        return self.value


@dataclass(frozen=True, kw_only=True)
class RasterOptions(Reader):
    """A raster of counts.

    Attributes
    ----------
    band : int, optional
        Band, counted from 1; required if there are several.
    value_unit : float, optional
        Value of one person, after scale and offset; values divided by it must be integers within
        1e-4. Default: 1, unless the file states that its values are something other than people.
    missing : sequence of float, optional
        Stored values that mean nobody besides nodata, such as -200.
    outside : {"error", "crop", "drop"}, optional
        Treatment of pixels outside the domain: "crop" drops those outside the grid's extent, but
        refuses those that a mask excludes. Default: "error".
    member : str, optional
        Name of a zip archive's member, with its folders or without.
    rounding : {"nearest", "stochastic"}, optional
        Rounding of fractional counts, as for :func:`geodp.read_table`.
    secret : NoiseKey, optional
        Key of the random numbers of `rounding`; default: fresh from the operating system.
    x, y : str, optional
        Dimensions of an array's columns and rows. Default: found by their usual names.
    """

    band: int | None = field(default=None, metadata=cli_option(BAND))
    value_unit: float | None = field(default=None, metadata=cli_option(UNIT))
    missing: Sequence[float] = field(default=(), metadata=cli_option(MISSING, convert=_numbers))
    outside: Outside | None = field(default=None, metadata=cli_option(OUTSIDE))
    member: str | None = field(default=None, metadata=cli_option(MEMBER))
    rounding: Rounding | None = field(default=None, metadata=cli_option(ROUND))
    secret: NoiseKey | None = None
    x: str | None = None
    y: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self.value_unit)
