"""Base class of readers: a reader turns one kind of input into a table; its fields are its options.

Nothing heavy is imported here or at the top of a reader's file: the command line makes its options
from the fields, and its help must be quick.
"""

from __future__ import annotations

import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from geodp.advice import list_fields
from geodp.errors import UsageError
from geodp.options.option import Option

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.layout.attributes import Lists, Named
    from geodp.io.read.rows.columns import InputTable, RowPositions
    from geodp.io.read.rows.count_parser import Rounding
    from geodp.io.read.rows.input_files import FilePath, TableSource
    from geodp.io.read.rows.pairing import Values
    from geodp.io.read.rows.selecting import Value
    from geodp.io.read.rows.survey import Survey
    from geodp.io.read.rows.tally import Duplicates, Outside
    from geodp.table.counts import CountTable
    from geodp.table.source import Fact

    Facts: TypeAlias = Sequence[Fact]

Decimal: TypeAlias = Literal[".", ","]


def cli_option(option: Option, *, convert: Callable[[Any], Any] | None = None) -> Mapping[str, Any]:
    """Return the metadata of a field that is an option of the command line.

    A field without a default is required, and the option has the default of its field. Readers that
    share an option share the value. ``convert`` converts the option's value to that of the field,
    if they differ, and raises UsageError. Of an option of ``pairs`` the field takes a mapping.

    Examples
    --------
    >>> band = Option("--band", "Band, counted from 1.", type=int)
    >>> cli_option(band)["option"].name
    'band'
    """
    return {"option": option, "convert": convert}


def convert_by(value: Any) -> tuple[str, ...]:
    """Split texts at their commas into names of attributes."""
    texts = [value] if isinstance(value, str) else value or ()
    return tuple(name for text in texts for name in text.split(","))


def convert_flags(value: Any) -> tuple[str, ...]:
    """Split texts at their commas into flags; UsageError for an invalid one."""
    if not (symbols := convert_by(value)):
        return ()
    # Imported late and only if there are flags, for the same reason.
    from geodp.io.read.rows.count_parser import Flags

    return Flags.of(symbols).marks


def convert_labels(value: Any) -> Mapping[str, Any]:
    """Build the lists of labels by attributes, from texts ``FILE`` and ``NAME=FILE``.

    A file alone is under an empty name. UsageError if one attribute has two lists.
    """
    if value is None or isinstance(value, Mapping):
        return value or {}
    files: dict[str, Any] = {}
    for one in [value] if isinstance(value, str | os.PathLike) else value:
        # The same text may be a path with an equals sign or NAME=FILE; an existing path wins below.
        name, equals, path = os.fspath(one).partition("=")
        # A file's own name may contain an equals sign.
        is_path = not equals or os.path.exists(one)
        name, path = ("", os.fspath(one)) if is_path else (name.strip(), path)
        if name in files:
            raise UsageError(
                "Give one list of labels for each attribute (--labels NAME=FILE; labels=), and one "
                "that is for several.",
                code="labels-list-repeated",
            )
        files[name] = path
    return files


MEMORY = Option(
    "--memory",
    "Memory limit for rows that are being sorted, such as 4GiB; beyond it they are sorted on "
    "disk. Writing keeps to it as well, and needs 256MiB at least. The table itself (16 bytes per "
    "occupied cell) is extra, and so are estimates of flows (16 bytes per pair of the smallest "
    "blocks).  [default: half the machine's]",
)
SCRATCH = Option(
    "--scratch",
    "Folder for temporary files, on a disk that may hold confidential data. The files have no "
    "names and disappear with the process.  [default: the system's]",
    type=Path,
)
VALUE = Option(
    "--value",
    "Label or name of the column of counts, of which a row of 30,000 counts 30,000; with --by "
    "several as LABEL=COLUMN, repeatable. A pattern such as 'F_*' takes all columns that match, "
    "each for the label that * stands for.",
    many=True,
    everyday=True,
)
X = Option("--x", "Column of x or longitude (tables, points).", everyday=True)
Y = Option("--y", "Column of y or latitude (tables, points).", everyday=True)
COLUMNS = Option(
    "--column",
    "NAME=COLUMN: the column of an attribute of --by, such as sex=SEX_CODE, or of the ends of "
    "trips with --pairs: origin=HOME, destination=WORK; repeatable.",
    many=True,
    pairs=True,
)
SERIES_OR_ATTRIBUTE = (
    "Use a series (geodp publish-series) for a time that all persons pass through, and an "
    "attribute (--by) for a label that a person has once."
)
"""Rule for a column of times: whether it makes a series or an attribute."""

BY = Option(
    "--by",
    "Attributes by which counts are published, separated by commas: sex,age,hour. Their columns "
    "are found by name, or named by --column sex=COLUMN, or are several columns of counts "
    "(--value). Their labels come from --labels or the layout; hour, month, weekday and quarter "
    f"have standard labels. {SERIES_OR_ATTRIBUTE}",
    many=True,
    everyday=True,
)
LABELS = Option(
    "--labels",
    "Labels of attributes, NAME=LABEL,LABEL..., NAME=FILE or FILE; repeatable.",
    many=True,
)
"""Commands show the option of their public grid in its place, which says more."""

WHERE = Option(
    "--where",
    "Read only the rows with COLUMN=VALUE. Numbers, dates and times are compared by value, "
    "'\"01\"' as text; repeatable.",
    many=True,
    pairs=True,
    everyday=True,
)
MISSING = Option(
    "--missing",
    "Value that means no people, such as -1 or nan, however the file writes it; repeatable.",
    many=True,
)
FLAGS = Option(
    "--flags",
    "Markers next to counts, separated by commas, such as 'p,e,*,()': they are removed, and the "
    "numbers are counted. Any other marker is refused; repeatable.",
    many=True,
)
DUPLICATES = Option(
    "--duplicates",
    "If a cell occurs more than once: stop, or add the counts up (also needs --contribution).",
    choices=("error", "sum"),
    show=True,
)
OUTSIDE = Option(
    "--outside",
    "What to do with rows outside the domain. error: stop, if every row should be counted. crop: "
    "leave out rows outside --bounds, if the input covers a larger area, but stop at other rows, "
    "such as those in cells that --mask excludes. drop: leave out all such rows, also those in "
    "excluded cells or unknown units.  [default: crop with --bounds, drop with --primary, "
    "otherwise error; always error for h3 and s2]",
    choices=("error", "crop", "drop"),
)
OTHER = Option(
    "--other",
    "Unit for codes that are not in the table of --grid units:, such as places abroad (--other "
    "abroad). It is added to the table, so that totals stay correct.",
)
ENCODING = Option(
    "--encoding", "Encoding of text files (tables, points), such as cp1252. Default: detected."
)
DELIMITER = Option(
    "--delimiter", "Delimiter of text files (tables, points), one character. Default: detected."
)
DECIMAL = Option(
    "--decimal",
    "Decimal mark of numbers in text files. In counts, the other mark, blanks and ' then separate "
    "thousands; nothing else may, and coordinates have no such separators.",
    choices=(".", ","),
)
LAYER = Option("--layer", "Layer of a GeoPackage with several layers, or sheet of a workbook.")
HEADER_ROW = Option(
    "--header-row",
    "Line of a text file, or row of a sheet, with the column names, counted from 1, if there are "
    "titles above it, which are not read. Default: the first that is not blank.",
    type=int,
)
FIRST_ROW = Option(
    "--first-row",
    "First line of a text file, or row of a sheet, with data, counted from 1, if there are units "
    "or totals above it, which are not read.",
    type=int,
)
LAST_ROW = Option(
    "--last-row",
    "Last line of a text file, or row of a sheet, with data, counted from 1, if there are notes "
    "or totals below it, which are not read.",
    type=int,
)
MEMBER = Option(
    "--member",
    "Table in a zip archive: its name, or a pattern such as '*_pop.csv' for several. Default: "
    "all, if their columns are the same.",
)
ROUND = Option(
    "--round",
    "Round fractional, modelled counts to whole numbers: to the nearest, or at random with the "
    "same mean. Needs a --contribution: the number of cells that one person changes.",
    choices=("nearest", "stochastic"),
)
UNIT = Option(
    "--raster-unit",
    "Number that stands for one person: of a raster after the file's own scale is applied, or in "
    "the columns of counts of a table, such as 0.001 where these are in thousands. It also "
    "confirms that numbers are counts whose names or titles say otherwise.  [default: 1]",
    type=float,
)
"""Options that several readers share."""


def require_positive(unit: float | None) -> None:
    """Raise UsageError for a number that stands for one person and is not above 0, or infinite."""
    if unit is not None and not (isfinite(unit) and unit > 0):
        raise UsageError("The unit is a finite number above 0.", code="raster-unit-not-positive")


class MatchScore(IntEnum):
    """Match of a call with a reader; the reader with the best one is used."""

    NONE = 0
    ANY = 1
    GRID = 2
    """Files on such a grid are usually of this kind."""
    COLUMNS = 3
    """Options name columns that this reader uses."""
    FILES = 4
    """The names of the files have its endings."""
    FLAG = 5
    """Its flag is given."""


UNITS = "units:"
"""Prefix of the name of a grid of areal units."""


def spec_of(grid: Grid) -> str:
    """Return the name of a grid as in a command; for areal units only its prefix."""
    if (cells := grid.names.cells) is not None:
        # Cells of H3 and S2 are units of a table inside, but have a system and a level to the
        # outside.
        return f"{cells[1].name}:{cells[2]}"
    if not grid.names.on_map:
        return UNITS
    system = grid.places[0].system if grid.places else None
    return "regular" if system is None else system.name


@dataclass(frozen=True)
class Call:
    """Options and files of a call, without the data.

    Attributes
    ----------
    paths : tuple of Path
    grid : str
        As written: ``"jis:half"``.
    options : mapping
        Values of options by their names, including defaults.
    """

    paths: tuple[Path, ...]
    grid: str
    options: Mapping[str, Any]

    def ends_in(self, *endings: str) -> bool:
        """Test whether any file, or any member of a zip, has one of the endings, in any case."""
        # Imported late, as this module must stay light for the help of commands.
        from geodp.io.read.rows.members import ending_of

        member = self.options.get("member")
        return any(ending_of(path, member) in endings for path in self.paths)


@dataclass(frozen=True, kw_only=True)
class Reader(ABC):
    """Reader of one kind of input: one file of :mod:`geodp.io.read` or of another package.

    This class documents what all readers have in common. A reader whose `grid` and other fields
    cannot be used raises UsageError when it is made or when it reads; data that must not be used as
    they are raise InputError, which names file and line.

    Attributes
    ----------
    name : str
        Class attribute: its name among the readers, and of the flag that selects it, if it has one.
    kind : str
        Class attribute: what it reads, for messages: ``"a table"``.
    flag : str
        Class attribute: help of the flag ``--NAME`` that selects it; empty if there is none.
    grid : Grid
        Public grid: it never depends on the rows.
    memory : int or str, optional
        Memory limit for rows, in bytes or such as "4GiB"; the table itself (16 bytes an
        occupied cell) and the reader's buffers come on top. Default: half the machine's.
    scratch : path, optional
        Folder for rows beyond that limit: confidential, in files without names that disappear when
        the process ends. Default: the system's folder for temporary files.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    flag: ClassVar[str] = ""

    grid: Grid
    memory: int | str | None = field(default=None, metadata=cli_option(MEMORY))
    scratch: FilePath | None = field(default=None, metadata=cli_option(SCRATCH))

    def __post_init__(self) -> None:
        for one in self.option_fields():
            # The command line checks choices itself, but calls from Python end up here.
            value = getattr(self, one.field)
            optional = value is None and not one.required
            if one.choices and not optional and value not in one.choices:
                raise UsageError(
                    f"{one.field} is one of {', '.join(one.choices)}.", code="choice-unknown"
                )

    @classmethod
    def of(cls, grid: object, **options: Any) -> Self:
        """Make a reader of the options of a call; None stands for the default of an option.

        Parameters
        ----------
        grid : str or Grid
            The public grid; a string names a code system.
        **options
            Fields; names of attributes, for example, may also be one text with commas.

        Raises
        ------
        UsageError
            There is no grid, a name is none of a field, a field that has no default is missing, or
            a value makes no sense.
        """
        values = {name: value for name, value in options.items() if value is not None}
        fields = sorted(one.name for one in dataclasses.fields(cls) if one.init)
        if unknown := sorted({*options} - {*fields}):
            raise UsageError(
                f"Not for {cls.kind}: {', '.join(unknown)}. It takes {', '.join(fields)}.",
                code="option-not-for-reader",
            )
        required = [one.name for one in dataclasses.fields(cls) if one.init and _is_required(one)]
        if missing := [name for name in required if name not in {"grid", *values}]:
            raise UsageError(
                f"To read {cls.kind}, give {', '.join(f'{name}=' for name in missing)}.",
                code="reader-option-missing",
            )
        for one in list_fields(cls):
            if (convert := one.metadata.get("convert")) is not None and one.name in values:
                values[one.name] = convert(values[one.name])
        return cls(grid=find_grid(grid), **values)

    def shared(self, kind: type[Any]) -> dict[str, Any]:
        """Return the values of the fields that another kind of reader has, too, but for the grid.

        ``kind``: a base of both.
        """
        names = [one.name for one in dataclasses.fields(kind) if one.init and one.name != "grid"]
        return {name: getattr(self, name) for name in names}

    @classmethod
    @cache
    def option_fields(cls) -> tuple[Option, ...]:
        """Return the options of the command line that are fields, those of bases last."""
        return tuple(_state_field(one) for one in list_fields(cls) if "option" in one.metadata)

    @classmethod
    def match_score(cls, call: Call) -> MatchScore:
        """Return how well a call matches this reader; by default only if its flag is given."""
        return MatchScore.FLAG if cls.is_requested(call) else MatchScore.NONE

    @classmethod
    def is_requested(cls, call: Call) -> bool:
        """Test whether the flag that selects this reader is given."""
        return bool(cls.flag and call.options.get(cls.name.replace("-", "_")))

    @abstractmethod
    def read(self, paths: TableSource) -> CountTable:
        """Read files, or a table in memory, into a confidential table on the grid."""


def _state_field(one: dataclasses.Field[Any]) -> Option:
    """Return the option of a field, with its default, which help shows on request."""
    option: Option = one.metadata["option"]
    # A field with a default factory is optional too, and has no default to show.
    hidden = option.many or one.default is dataclasses.MISSING or one.default is False
    return dataclasses.replace(
        option,
        group="Input",
        field=one.name,
        required=_is_required(one),
        default=None if hidden else one.default,
        show=bool(option.show),
    )


def _is_required(one: dataclasses.Field[Any]) -> bool:
    """Test whether a field has no default."""
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def find_grid(grid: object) -> Grid:
    """Return a grid, or that of a code system's name; UsageError for anything else."""
    from geodp.grid.grid import Grid

    if not isinstance(grid, Grid | str):
        raise UsageError(
            "Say on which public grid the rows are counted: grid='jis:half', or one of geodp.Grid, "
            "such as Grid.mesh('jis:half', bounds=...).",
            code="grid-unstated",
        )
    return Grid.mesh(grid) if isinstance(grid, str) else grid


@dataclass(frozen=True, kw_only=True)
class RowsReader(Reader):
    """Reader of tables of rows in files and in memory.

    Attributes
    ----------
    where : mapping
        Read only rows whose columns have these values, compared by meaning: numbers as numbers,
        dates and times as moments, values in quotation marks literally
        (:mod:`geodp.io.read.rows.selecting`).
    outside : {"error", "crop", "drop"}, optional
        Treatment of rows outside the domain: "crop" drops those outside the grid's extent, but
        refuses those that a mask excludes. Default: "error".
    encoding, delimiter : str, optional
        Format of texts. Default: detected in the header; UTF-8, UTF-16 with a byte order mark, or
        CP932.
    decimal : {".", ","}, optional
        Decimal mark of numbers in texts, counts and coordinates. In counts the other one, blanks
        and apostrophes then separate thousands; in coordinates they are refused, as a mark before
        three digits could separate thousands or decimals. Default: a point, without separators of
        thousands.
    layer : str, optional
        Layer of a GeoPackage with several, or sheet of a workbook.
    header_row : int, optional
        Line of a text, or row of a sheet, with the names of the columns, counted from 1. Anything
        above it is not read. Default: the first one that is not blank.
    first_row : int, optional
        First line or row of the table. Units and totals between it and the names are
        not read; anything that looks like a row there is refused.
    last_row : int, optional
        Last line or row of the table. Notes and totals below it are not read; anything that
        looks like a row there is refused. A note fills one field, and a total has a word where
        rows begin with a code or a number.
    member : str, optional
        Name of a zip archive's member, with its folders or without, or a pattern of several.
        Default: all texts, where their columns are the same; texts without columns, such as
        readmes, are none.
    """

    where: Mapping[str, Value] = field(default_factory=dict, metadata=cli_option(WHERE))
    outside: Outside | None = field(default=None, metadata=cli_option(OUTSIDE))
    encoding: str | None = field(default=None, metadata=cli_option(ENCODING))
    delimiter: str | None = field(default=None, metadata=cli_option(DELIMITER))
    decimal: Decimal | None = field(default=None, metadata=cli_option(DECIMAL))
    layer: str | None = field(default=None, metadata=cli_option(LAYER))
    header_row: int | None = field(default=None, metadata=cli_option(HEADER_ROW))
    first_row: int | None = field(default=None, metadata=cli_option(FIRST_ROW))
    last_row: int | None = field(default=None, metadata=cli_option(LAST_ROW))
    member: str | None = field(default=None, metadata=cli_option(MEMBER))

    second_header: ClassVar[bool] = False
    """Whether a second header row, with labels, is recognised."""

    def open(self, paths: TableSource) -> Generator[InputTable]:
        """Open the tables."""
        from geodp.io.read.rows.columns import open_tables
        from geodp.io.read.rows.span import Opening

        opening = self.shared(Opening)
        return open_tables(paths, labelled=self.second_header, scratch=self.scratch, **opening)

    def read_rows(
        self, table: InputTable, names: Sequence[str], survey: Survey
    ) -> Iterator[tuple[RowPositions, list[Any]]]:
        """Return batches of columns by their names, of the rows that are selected.

        Raises InputError for a name that is no column.
        """
        from geodp.io.read.rows.columns import batches, find_column

        chosen = [find_column(table, name, names) for name in names]
        wanted = {find_column(table, name, names): self.where[name] for name in self.where}
        return batches(table, chosen, wanted, survey)


@dataclass(frozen=True, kw_only=True)
class CountsReader(RowsReader):
    """Reader of rows that may have counts.

    Attributes
    ----------
    missing : sequence of str or number, optional
        Values that mean nobody, such as -1, as they are written or as numbers; ``"nan"`` stands
        for NaN, in letters or as a float, and for nulls among numbers, ``""`` for blanks too.
    flags : sequence of str
        Markers beside counts, such as "p" in ``7 p`` or "()" in ``(7)``: the number is counted.
        Other markers are refused, and so is one that would change the number
        (:mod:`geodp.io.read.rows.count_parser`).
    duplicates : {"error", "sum"}
        Treatment of a cell that occurs several times. Rows added up by "sum" may be of other dates,
        with a person in each of them: :func:`geodp.publish` requires a contribution.
    rounding : {"nearest", "stochastic"}, optional
        Rounding of fractional counts, as models produce them: to the nearest integer, or up with
        the probability of the fraction. A contribution is required, as a person may change many
        cells a little, each of which may then be rounded differently: by at most 1 if the model's
        value changes by at most 1. Default: fractions are refused.
    value_unit : float, optional
        Number that stands for one person, such as 0.001 for numbers in thousands. Names of amounts,
        such as incomes, and titles in thousands are refused without it.
    """

    missing: Sequence[str | float] = field(default=(), metadata=cli_option(MISSING))
    flags: Sequence[str] = field(default=(), metadata=cli_option(FLAGS, convert=convert_flags))
    duplicates: Duplicates = field(default="error", metadata=cli_option(DUPLICATES))
    rounding: Rounding | None = field(default=None, metadata=cli_option(ROUND))
    value_unit: float | None = field(default=None, metadata=cli_option(UNIT))

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self.value_unit)


@dataclass(frozen=True, kw_only=True)
class LabelledReader(RowsReader):
    """Reader of rows that may have labels of attributes.

    Attributes
    ----------
    columns : mapping, optional
        Columns of indices or of an attribute's labels, by axes of ``grid.axis_names``; for "origin"
        and "destination" of pairs columns of codes.
    by : sequence of str
        Names of attributes, such as ["sex", "age"]: the columns of their labels are found
        by their names, and the grid gets the attributes. They can also consist of columns of counts
        side by side: several in `value`, a pattern ("F_*") or a publisher's layout
        (:mod:`geodp.io.read.layout.by`).
    labels : mapping or path, optional
        Labels of `by`, or files of public lists of them, under an empty name one for several. They
        are part of the public domain and never taken from records. Those of hour (0 to 23), month,
        weekday (1 is Monday) and quarter are standard; a publisher's layout or a pattern determines
        them, too.
    """

    columns: Mapping[str, str] = field(default_factory=dict, metadata=cli_option(COLUMNS))
    by: Sequence[str] = field(default=(), metadata=cli_option(BY, convert=convert_by))
    labels: Lists = field(default_factory=dict, metadata=cli_option(LABELS, convert=convert_labels))

    def named(self) -> Named:
        """Return the options for attributes, without reading the table."""
        from geodp.io.read.layout.attributes import Named

        taken = tuple(one for one in self.taken if one is not None)
        grid = self.grid.attributes
        return Named(self.by, self.labels, grid, self.columns, self.values, taken)

    @property
    def taken(self) -> tuple[str | None, ...]:
        """Columns that are named for other roles than labels: codes, coordinates, persons."""
        return ()

    @property
    def values(self) -> Values:
        """Columns of counts; empty where rows are counted."""
        return ()

    def resolve(self, tables: Iterator[InputTable]) -> tuple[Self, Iterator[InputTable], Facts]:
        """Find the attributes by the header of the first table.

        Returns
        -------
        reader : Reader
            With the attributes in its grid, and their columns.
        tables : iterator of InputTable
            The same tables.
        facts : sequence of Fact
            Where the attributes are from.
        """
        named = self.named()
        if not named.needs_header:
            return self, tables, ()
        from geodp.io.read.layout.by import resolve

        first = next(tables)
        resolved = resolve(first, named)
        fields: dict[str, Any] = {} if resolved.values is None else {"value": resolved.values}
        fields |= {
            "grid": resolved.extend(self.grid),
            "columns": {**self.columns, **resolved.columns},
        }
        reader = dataclasses.replace(self, **fields, by=(), labels={})
        return reader, chain([first], tables), resolved.facts


@dataclass(frozen=True, kw_only=True)
class WeightedReader(RowsReader):
    """Reader of records that may have weights.

    Attributes
    ----------
    weight : str, optional
        Column of weights of a survey: a record counts as so many, to the nearest whole number;
        those whose weight is one of `missing` are left out. The guarantee takes a weight as it is
        given: one that was calibrated on other respondents depends on them, too, which it does not
        cover.
    max_weight : int
        Largest weight, public and chosen without the data: larger ones count as this, and noise is
        proportional to it.
    raked_to : str, optional
        To which totals of the same data the weights were raked, such as ``"residents by age and
        sex of this survey"``: these are invariants outside the guarantee, and stand on the card.
    """

    weight: str | None = None
    max_weight: int = 1
    raked_to: str | None = None
