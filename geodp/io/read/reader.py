"""A reader: how one kind of input becomes a table, as a frozen value whose fields are its options.

Nothing heavy is imported here or at the top of a reader's file: the command line makes its options
from the fields, and its help is quick.
"""

from __future__ import annotations

import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.rows.input_files import FilePath, TableSource
    from geodp.table.counts import CountTable


@dataclass(frozen=True)
class Option:
    """How the command line asks for a field of a reader; it stands in the field's metadata.

    A field without a default is required, and the option has the default of its field.

    Attributes
    ----------
    help : str
        A sentence.
    flag : str
        On the command line, such as ``"--points-crs"``. Readers that share an option share this
        value.
    type : type or tuple of str
        str, int, float, Path; bool for a flag; a tuple lists the words that are allowed.
    many, pairs : bool
        Whether it may be repeated: the field takes a sequence of what was given, or, if every
        one reads NAME=VALUE, a mapping.
    show : bool
        Whether help shows the default.
    everyday : bool
        Whether people meet it every day, so that the short help shows it.
    name : str
        Under which a call has its value: ``points_crs`` of ``--points-crs``.
    """

    help: str
    flag: str
    type: type | tuple[str, ...] = str
    many: bool = False
    pairs: bool = False
    show: bool = False
    everyday: bool = False
    name: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.flag.removeprefix("--").replace("-", "_"))


@dataclass(frozen=True)
class Asked:
    """A field of a reader that the command line asks for.

    Attributes
    ----------
    field : str
    option : Option
    required : bool
    default : Any
        Of the field; None where it has none.
    needs : str or None
        Name of the option without which this one would change nothing.
    convert : callable or None
        From what was given to what the field takes, where it is something else; raises UsageError.
    """

    field: str
    option: Option
    required: bool
    default: Any
    needs: str | None
    convert: Callable[[Any], Any] | None


def asks(
    option: Option,
    *,
    needs: str | None = None,
    convert: Callable[[Any], Any] | None = None,
) -> Mapping[str, Any]:
    """Metadata of a field that the command line asks for; see :class:`Asked`."""
    return {"option": option, "needs": needs, "convert": convert}


def convert_by(given: Any) -> tuple[str, ...]:
    """Return names of attributes, of texts with commas between them."""
    texts = [given] if isinstance(given, str) else given or ()
    return tuple(name for text in texts for name in text.split(","))


def convert_flags(given: Any) -> tuple[str, ...]:
    """Return flags, of texts with commas between them; UsageError for a mark that is none."""
    texts = [given] if isinstance(given, str) else given or ()
    marks = [mark for text in texts for mark in text.split(",")]
    if not marks:
        return ()
    from geodp.io.read.rows.flags import Flags

    return Flags.of(marks).marks


def convert_labels(given: Any) -> Mapping[str, Any]:
    """Return lists of labels by attributes, of texts ``FILE`` and ``NAME=FILE``.

    A file alone is under an empty name. UsageError where one is given twice.
    """
    if given is None or isinstance(given, Mapping):
        return given or {}
    found: dict[str, Any] = {}
    for one in [given] if isinstance(given, str | os.PathLike) else given:
        name, equals, path = os.fspath(one).partition("=")
        alone = not equals or os.path.exists(one)
        name, path = ("", os.fspath(one)) if alone else (name.strip(), path)
        if name in found:
            raise UsageError(
                "Give one list of labels for each attribute (--labels NAME=FILE; labels=), and one "
                "that is for several.",
                code="labels-list-repeated",
            )
        found[name] = path
    return found


MEMORY = Option(
    "Limit for rows that wait, such as 4GiB; what goes beyond is sorted on disk. Writing keeps to "
    "it, too, and takes 256MiB at least. The table (16 bytes an occupied cell) comes on top.  "
    "[default: half the machine's]",
    "--memory",
)
SCRATCH = Option(
    "Folder for that, on a disk where confidential data may lie; its files have no names and go "
    "with the process.  [default: the system's]",
    "--scratch",
    type=Path,
)
VALUE = Option(
    "Label or name of the count's column; with --by several, LABEL=COLUMN, repeatable. A pattern, "
    "'F_*', is all columns that meet it, each for the label that * stands for.",
    "--value",
    many=True,
    everyday=True,
)
X = Option("Column of x or longitude (tables, points).", "--x", everyday=True)
Y = Option("Column of y or latitude (tables, points).", "--y", everyday=True)
COLUMNS = Option(
    "NAME=COLUMN, where no other option says it: sex=SEX_CODE of an attribute (--by), or "
    "origin=HOME, destination=WORK of journeys (--pairs); repeatable.",
    "--column",
    pairs=True,
)
SERIES_OR_ATTRIBUTE = (
    "A time that all persons pass through is a series (geodp publish-series); a label that a "
    "person has once is an attribute (--by)."
)
"""The rule for a column of times: which of the two it makes."""

BY = Option(
    "Attributes that counts are published by, with commas between: sex,age,hour. Their columns are "
    "found by their names (--column sex=COLUMN says which), or are columns of counts side by side "
    "(--value); their labels are those of --labels or the layout; of hour, month, weekday and "
    f"quarter they are standard. {SERIES_OR_ATTRIBUTE}",
    "--by",
    many=True,
    everyday=True,
)
LABELS = Option(
    "Labels of attributes, NAME=LABEL,LABEL..., NAME=FILE or FILE; repeatable.",
    "--labels",
    many=True,
)
"""Commands show that of their public grid in its place, which says more."""

WHERE = Option(
    "COLUMN=VALUE that rows must have: numbers, dates and times by what they mean, '\"01\"' as it "
    "is written; repeatable.",
    "--where",
    pairs=True,
    everyday=True,
)
MISSING = Option(
    "Value that means nobody, such as -1 or nan, however the file writes it; repeatable.",
    "--missing",
    many=True,
)
FLAGS = Option(
    "Marks that stand beside numbers of people, with commas between, such as 'p,e,*,()': they are "
    "taken away, and the numbers are counted. Any other mark is refused; repeatable.",
    "--flags",
    many=True,
)
DUPLICATES = Option(
    "Of a cell that is there several times; sum needs a --contribution.",
    "--duplicates",
    type=("error", "sum"),
    show=True,
)
OUTSIDE = Option(
    "Rows outside the domain; crop: outside the bounds only. Default with --bounds: crop.",
    "--outside",
    type=("error", "crop", "drop"),
)
OTHER = Option(
    "Unit for codes that are not in the table of --grid units: (origins and destinations abroad, "
    "such as --other abroad); it is added to the table, and margins stay right.",
    "--other",
)
ENCODING = Option("Of texts (tables, points), such as cp1252; default: found.", "--encoding")
DELIMITER = Option("Of texts (tables, points), one character; default: found.", "--delimiter")
DECIMAL = Option(
    "Decimal mark of numbers in texts; in counts the other one, blanks and ' then separate "
    "thousands, which nothing may do otherwise or in coordinates.",
    "--decimal",
    type=(".", ","),
)
LAYER = Option("Of a GeoPackage with several; or sheet of a workbook.", "--layer")
HEADER_ROW = Option(
    "Line of a text, or row of a sheet, that holds the names, counted from 1, where titles stand "
    "above it; these are not read. Default: the first that is not blank.",
    "--header-row",
    type=int,
)
FIRST_ROW = Option(
    "Line of a text, or row of a sheet, that is the first of the table, counted from 1, where "
    "units or totals stand between it and the names; these are not read.",
    "--first-row",
    type=int,
)
LAST_ROW = Option(
    "Line of a text, or row of a sheet, that is the last of the table, counted from 1, where notes "
    "or totals stand below it; these are not read.",
    "--last-row",
    type=int,
)
MEMBER = Option(
    "Of a zip archive: name of the table that is meant, or a pattern such as '*_pop.csv' of "
    "several; default: all, if their columns are the same.",
    "--member",
)
ROUND = Option(
    "Make whole numbers of fractional, modelled counts: the nearest, or at random so that their "
    "mean stays. Needs a --contribution, which then is the number of cells that a person changes.",
    "--round",
    type=("nearest", "stochastic"),
)
"""Options that several readers share."""


class Claim(IntEnum):
    """How surely a call is meant for a reader; the surest one reads."""

    NONE = 0
    ANY = 1
    GRID = 2
    """The files on such a grid usually are."""
    COLUMNS = 3
    """Options name columns that it reads."""
    FILES = 4
    """The files' names end as its files do."""
    ASKED = 5
    """Its flag is given."""


UNITS = "units:"
"""How the name of a grid of areal units begins."""


def spec_of(grid: Grid) -> str:
    """Return the name of a grid as a command would have it; of areal units, how it begins."""
    if (cells := grid.names.cells) is not None:
        return f"{cells[1].name}:{cells[2]}"
    if not grid.names.on_map:
        return UNITS
    system = grid.places[0].system if grid.places else None
    return "regular" if system is None else system.name


@dataclass(frozen=True)
class Call:
    """What a call says of its inputs, without a look at the data.

    Attributes
    ----------
    paths : tuple of Path
    grid : str
        As written: ``"jis:half"``.
    given : mapping
        Values of options by their names, defaults among them.
    """

    paths: tuple[Path, ...]
    grid: str
    given: Mapping[str, Any]

    def ends_in(self, *endings: str) -> bool:
        """Whether the name of any file, or of what a zip holds, ends so, in letters of any case."""
        from geodp.io.read.rows.members import ending_of

        member = self.given.get("member")
        return any(ending_of(path, member) in endings for path in self.paths)


@dataclass(frozen=True, kw_only=True)
class Reader(ABC):
    """One kind of input, one file of :mod:`geodp.io.read` (or of somebody else's package).

    What all have in common. A reader whose `grid` and other fields cannot be used raises
    UsageError when it is made or when it reads; data that must not be used as they are raise
    InputError, which names file and line.

    Attributes
    ----------
    name : str
        Of the class: in ``READERS``, and of the flag that asks for it, if it has one.
    kind : str
        Of the class: what it reads, as messages say it: ``"a table"``.
    flag : str
        Of the class: help of the flag ``--NAME`` that asks for it; empty where none does.
    grid : Grid
        Public: it never depends on the rows.
    memory : int or str, optional
        Limit for rows that wait, in bytes or such as "4GiB"; the table itself (16 bytes an
        occupied cell) and the reader's buffers come on top. Default: half the machine's.
    scratch : path, optional
        Folder for what goes beyond: confidential, in files without names that go when the
        process ends. Default: the system's folder for temporary files.

    Several readers have, with the same meaning:

    columns : mapping
        For axes of ``grid.axis_names``: columns of indices, of an attribute's labels.
    by : sequence of str
        Names of attributes, whose columns are found by their names. The grid gets those that it
        has not; `labels` states their labels (:mod:`geodp.io.read.layout.by`).
    labels : mapping
        For names of `by` the labels, or a file with a public list of them; under an empty name a
        file for several. They are a part of the public domain and never taken from records.
    where : mapping
        Only rows whose columns have these values, compared as they mean: numbers as numbers, dates
        and times as moments, what is in quotation marks as it is written
        (:mod:`geodp.io.read.rows.selecting`).
    flags : sequence of str
        Marks beside counts, such as "p" of ``7 p`` or "()" of ``(7)``: the number is counted. Other
        marks are refused, and so is what would make the number another
        (:mod:`geodp.io.read.rows.flags`).
    duplicates : {"error", "sum"}
        For a cell that is there several times. What "sum" adds up may be other dates, and a
        person in each of them: :func:`geodp.publish` asks for a contribution.
    outside : {"error", "crop", "drop"}, optional
        For rows outside the domain: "crop" drops those outside the grid's extent, but refuses
        those that a mask excludes. Default: "error".
    delimiter, encoding : str, optional
        Of texts. Default: as found in the header; UTF-8, UTF-16 with its mark, or CP932.
    decimal : {".", ","}, optional
        Decimal mark of numbers in texts, counts and coordinates. In counts the other one, blanks
        and apostrophes then separate thousands; in coordinates they are refused, as nothing tells
        whether the mark before three digits is one of thousands. Default: a point, and nothing
        separates thousands.
    layer : str, optional
        Of a GeoPackage with several, or sheet of a workbook.
    header_row : int, optional
        Line of a text, or row of a sheet, with the names of the columns, counted from 1. What
        stands above it is not read. Default: the first one that is not blank.
    first_row : int, optional
        Line or row that is the first of the table. Units and totals between the names and it are
        not read; what looks like a row there is refused.
    last_row : int, optional
        Line or row that is the last of the table. Notes and totals below it are not read; what
        looks like a row there is refused. A note fills one field, and a total has a word where
        rows have a code or a number first.
    member : str, optional
        Name of a zip archive's member, with its folders or without, or a pattern of several.
        Default: all texts, where their columns are the same; texts without columns, such as
        readmes, are none.
    rounding : {"nearest", "stochastic"}, optional
        For counts that are no whole numbers, as models give them: the nearest, or up as often as
        the fraction says. The contribution is asked for, as a person may change a little of many
        cells, each of which may be rounded otherwise: by at most 1 where the model's value changes
        by at most 1. Default: they are refused.
    secret : NoiseKey, optional
        Of what is drawn; default: fresh from the operating system.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    flag: ClassVar[str] = ""

    grid: Grid
    memory: int | str | None = field(default=None, metadata=asks(MEMORY))
    scratch: FilePath | None = field(default=None, metadata=asks(SCRATCH))

    def __post_init__(self) -> None:
        for asked in self.asks():
            allowed, value = asked.option.type, getattr(self, asked.field)
            optional = value is None and not asked.required
            if isinstance(allowed, tuple) and not optional and value not in allowed:
                raise UsageError(
                    f"{asked.field} is one of {', '.join(allowed)}.", code="choice-unknown"
                )

    @classmethod
    @cache
    def asks(cls) -> tuple[Asked, ...]:
        """Return the fields that the command line asks for, in their order."""
        missing = dataclasses.MISSING
        return tuple(
            Asked(
                one.name,
                required=one.default is missing and one.default_factory is missing,
                default=None if one.default is missing else one.default,
                **one.metadata,
            )
            for one in dataclasses.fields(cls)
            if "option" in one.metadata
        )

    @classmethod
    def claim(cls, call: Call) -> Claim:
        """How surely a call is meant for it; where nothing else is said, if its flag is given."""
        return Claim.ASKED if cls.is_asked(call) else Claim.NONE

    @classmethod
    def is_asked(cls, call: Call) -> bool:
        """Whether the flag that asks for it is given."""
        return bool(cls.flag and call.given.get(cls.name.replace("-", "_")))

    @abstractmethod
    def read(self, paths: TableSource) -> CountTable:
        """Return the confidential table of files, or of a table in memory, on the grid."""
