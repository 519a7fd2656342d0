"""SQL queries that count records by cell, to run where the records are.

Only the first step, from a coordinate to an integer, uses floating point, with the
operations of ``CodeSystem.locate``; codes follow by integer arithmetic, so that every
engine finds the same cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from geodp.errors import UsageError
from geodp.grid.codes.geohash import ALPHABET, BITS, Geohashes
from geodp.grid.codes.jis import _EAST, _NORTH, _SIDES, _SPLITS, LEVELS, JISMesh
from geodp.grid.codes.pattern_grid import PatternGrid
from geodp.grid.codes.quadkey import HALF, Quadkeys
from geodp.grid.codes.system import SNAP, CodeSystem
from geodp.kernels.codes import HEMISPHERE, LETTER, LITERAL, PLACE, SQUARE

RECORDS = "geodp_records"
"""Column of counts of records; the table does not show how many belong to one person."""

LARGEST = 2.0**53
"""Indices of cells are below; larger numbers are not converted to integers."""

BLANKS = (
    *range(0x09, 0x0E),
    *range(0x1C, 0x21),
    *(0x85, 0xA0, 0x1680),
    *range(0x2000, 0x200B),
    *(0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
)
"""Code points that Arrow's ``utf8_trim_whitespace`` trims, and so geodp where it reads persons."""


@dataclass(frozen=True)
class Engine:
    """The dialect of a database engine, where dialects differ.

    Attributes
    ----------
    quote : str
        Quotation mark around a name.
    double, integer, text : str
        Types of 64-bit floats, of 64-bit integers, and of text.
    ratio : str
        Quotient of two non-negative integers, rounded down.
    random : str
    blanks : str
        Text of all ``BLANKS``, in letters that survive being copied and shown.
    trimmed : str
        A text without the letters of another at its start and end.
    """

    quote: str
    double: str
    integer: str
    text: str
    ratio: str
    random: str
    blanks: str = f"concat({', '.join(f'chr({one})' for one in BLANKS)})"
    trimmed: str = "trim({}, {})"

    def name(self, column: str) -> str:
        """Quote a name."""
        if not column.isprintable() or not column or {self.quote, "\\"} & {*column}:
            raise UsageError(
                "A column's name in SQL must not contain quotes or control characters.",
                code="sql-column-name",
            )
        return f"{self.quote}{column}{self.quote}"

    def divide(self, number: str, by: int) -> str:
        """Return the integer quotient of a number."""
        return number if by == 1 else self.ratio.format(number, by)

    def remain(self, number: str, by: int) -> str:
        """Return the remainder of a division."""
        return f"mod({number}, {by})"

    def floor(self, number: str) -> str:
        """Return a float rounded down, as an integer."""
        return f"CAST(floor({number}) AS {self.integer})"

    def index(self, number: str) -> str:
        """Return a float rounded down, as an integer; NULL for one that is no finite number.

        NaN is greater than any number, or no comparison with it is true.
        """
        largest = self.float(LARGEST)
        return f"CASE WHEN abs({number}) < {largest} THEN {self.floor(number)} END"

    def float(self, number: float) -> str:
        """Return a float, which some engines would take for a decimal."""
        return f"CAST({number:.16e} AS {self.double})"

    def write(self, number: str) -> str:
        """Return an integer as text."""
        return f"CAST({number} AS {self.text})"

    def trim(self, column: str) -> str:
        """Return a column as text without surrounding ``BLANKS``."""
        # Of one argument, the function trims spaces alone: an id and the same id with a tab would
        # be two persons, each of whom keeps as many records.
        return self.trimmed.format(self.write(column), self.blanks)

    def literal(self, text: str) -> str:
        """Return a text without quotes as an expression."""
        # Engines differ in what a backslash in a literal means.
        parts = [f"'{part}'" for part in text.split("\\")]
        return self.join([word for part in parts for word in ("chr(92)", part)][1:])

    def join(self, parts: Sequence[str]) -> str:
        """Concatenate texts; literals must be quoted."""
        return parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"


ENGINES = {
    "duckdb": Engine('"', "DOUBLE", "BIGINT", "VARCHAR", "({} // {})", "random()"),
    # Spark's chr ends at 255.
    "spark": Engine(
        "`",
        "DOUBLE",
        "BIGINT",
        "STRING",
        "({} div {})",
        "rand()",
        f"decode(unhex('{''.join(map(chr, BLANKS)).encode().hex().upper()}'), 'UTF-8')",
        "trim(BOTH {1} FROM {0})",
    ),
    "bigquery": Engine("`", "FLOAT64", "INT64", "STRING", "DIV({}, {})", "RAND()"),
    "postgres": Engine('"', "DOUBLE PRECISION", "BIGINT", "TEXT", "({} / {})", "random()"),
    # Snowflake rounds quotients to six decimals: only divisions without a remainder are exact.
    "snowflake": Engine(
        '"',
        "DOUBLE",
        "BIGINT",
        "VARCHAR",
        "CAST(({0} - mod({0}, {1})) / {1} AS BIGINT)",
        "random()",
    ),
}


@dataclass(frozen=True, kw_only=True)
class SqlRecords:
    """The records of a table that a query reads.

    Attributes
    ----------
    table : str
        SQL for the table of records; it is used verbatim.
    person : str, optional
        Column that identifies persons, without surrounding ``BLANKS``; records without one are
        dropped.
    unknown : tuple of str
        Lower-case texts that stand for no person.
    """

    table: str
    person: str | None = None
    unknown: tuple[str, ...] = ("", "nan")

    @property
    def extras(self) -> dict[str, str | None]:
        """Further columns that every record keeps, by their names in the query; None: not there."""
        return {"who": self.person}

    def select(
        self, at: Engine, located: Sequence[str], chosen: Sequence[str], inside: Sequence[str]
    ) -> str:
        """Return the steps from the records to those in places: the last is the table ``placed``.

        ``located``: columns of places, made of the table's own; ``chosen``: columns made of these;
        ``inside``: conditions on them. The columns of ``extras`` are added.
        """
        selected = {name: at.name(one) for name, one in self.extras.items() if one is not None}
        conditions = [*inside]
        if self.person is not None:
            selected["who"] = at.trim(selected["who"])
            # Records without an identifier belong to many people. Bounded as if they were one
            # person's, one more of them could remove a count from one cell and add one elsewhere:
            # no bound for any of them. The same holds for NaN, one value in every engine.
            texts = ", ".join(at.literal(text) for text in self.unknown)
            conditions.append(f"lower(who) NOT IN ({texts})")
        names = ",\n    ".join(
            [*located, *(f"{column} AS {name}" for name, column in selected.items())]
        )
        condition = "\n    AND ".join(conditions)
        return (
            f"WITH located AS (\n  SELECT {names}\n  FROM {self.table}\n), placed AS (\n"
            f"  SELECT {', '.join([*chosen, *selected])}\n  FROM located\n  WHERE {condition}\n)"
        )


@dataclass(frozen=True, kw_only=True)
class SqlQuery(SqlRecords):
    """A query that counts the records of a table by cell.

    Attributes
    ----------
    system : CodeSystem
        System whose cells are counted.
    extent : tuple of int
        First row and column of the public domain, rows and columns, in cells of the system.
    x, y : str
        Columns of coordinates, numbers in the CRS of the system; records with NULL, NaN or an
        infinite one are left out. They may be text that is a number in every row.
    to : pair of str, optional
        Columns of a second place: records are trips from x and y, and pairs of cells are counted.
    cells, per_cell : int
        Maximal number of cells, or pairs of cells, of a person, and of records in each.
    by : str, optional
        Column to order by: a person's first cells are used. Default: a random sample.
    """

    system: CodeSystem
    extent: tuple[int, int, int, int]
    x: str
    y: str
    to: tuple[str, str] | None = None
    cells: int = 1
    per_cell: int = 1
    by: str | None = None

    def __post_init__(self) -> None:
        if self.cells < 1 or self.per_cell < 1:
            raise UsageError(
                "The numbers of cells and of records of a person must be integers of at least 1.",
                code="sql-bounds-not-whole",
            )
        if self.by is not None and self.person is None:
            raise UsageError(
                "An order of records needs a column of persons.", code="sql-order-needs-person"
            )

    def write(self, engine: str) -> str:
        """Return the query for an engine, one of ``ENGINES``.

        Raises UsageError for names that cannot be quoted, and for a code system without SQL.
        """
        at = ENGINES[engine]
        counted = f"CAST(sum(n) AS {at.integer}) AS {at.name(RECORDS)}"
        return (
            f"{self.place(at)}{self._bound(at)}\n"
            f"SELECT {', '.join([*self.codes(at), counted])}\nFROM kept\nGROUP BY {self.cells_of}"
        )

    def place(self, at: Engine) -> str:
        """Return the steps that put records into cells: the last one is the table ``placed``.

        Its columns are the indices of cells and those of ``extras``, if there are such columns.
        """
        units: list[str] = []
        cells: list[str] = []
        inside: list[str] = []
        for end, columns in zip(self.ends, ((self.x, self.y), self.to), strict=False):
            assert columns is not None
            x, y = (f"CAST({at.name(one)} AS {at.double})" for one in columns)
            row, col, side = _units(self.system, at, x, y)
            units += [f"{row} AS {end}unit_row", f"{col} AS {end}unit_col"]
            firsts, sizes = self.extent[:2], self.extent[2:]
            for axis, first, size in zip(("row", "col"), firsts, sizes, strict=True):
                unit = f"{end}unit_{axis}"
                cells.append(f"{at.divide(unit, side)} AS {end}cell_{axis}")
                # Filtered in units, as the quotient is defined for non-negative integers only.
                inside.append(f"{unit} BETWEEN {side * first} AND {side * (first + size) - 1}")
        return self.select(at, units, cells, inside)

    @property
    def extras(self) -> dict[str, str | None]:
        """Further columns that every record keeps, as of all records, and those to order by."""
        return {**super().extras, "came": self.by}

    def codes(self, at: Engine) -> list[str]:
        """Return the columns of codes of cells."""
        return [
            f"{_code(self.system, at, end)} AS {at.name(column)}"
            for end, column in zip(self.ends, self.columns, strict=True)
        ]

    @property
    def ends(self) -> tuple[str, ...]:
        """Prefixes of the names of each place's columns in the query."""
        return ("",) if self.to is None else ("from_", "to_")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of codes in the result."""
        return ("code",) if self.to is None else ("origin", "destination")

    @property
    def cells_of(self) -> str:
        """Names of the columns of cells, of both places of a trip."""
        return ", ".join(f"{end}cell_{axis}" for end in self.ends for axis in ("row", "col"))

    def _bound(self, at: Engine) -> str:
        """Return the steps that bound each person's records."""
        cells = self.cells_of
        if self.person is None:
            return (
                f", kept AS (\n  SELECT {cells}, count(*) AS n\n  FROM placed\n"
                f"  GROUP BY {cells}\n)"
            )
        first = "" if self.by is None else ", min(came) AS came"
        # A separate column, as not every engine can order by a random expression.
        drawn = f", {at.random} AS came" if self.by is None else ", came"
        return (
            f", visited AS (\n  SELECT who, {cells},"
            f" least(count(*), {self.per_cell}) AS n{first}\n  FROM placed\n"
            f"  GROUP BY who, {cells}\n), drawn AS (\n"
            f"  SELECT who, {cells}, n{drawn}\n  FROM visited\n), ranked AS (\n"
            f"  SELECT {cells}, n, row_number() OVER"
            f" (PARTITION BY who ORDER BY came, {cells}) AS place\n"
            f"  FROM drawn\n), kept AS (\n  SELECT {cells}, n FROM ranked"
            f" WHERE place <= {self.cells}\n)"
        )


def _units(system: CodeSystem, at: Engine, x: str, y: str) -> tuple[str, str, int]:
    """Return row and column on the lattice that points are rounded to, and a cell's side."""
    # The margin of `CodeSystem.locate`; without it, points on edges would fall into other cells.
    snap = at.float(SNAP)
    if isinstance(system, JISMesh):
        south, west = f"{y} * {_NORTH}", f"({x} - 100) * {_EAST}"
        side = _SIDES[system.level]
    elif isinstance(system, PatternGrid):
        south, west = (
            number if start == 0 and system.unit == 1 else _divided(at, number, start, system.unit)
            for number, start in zip((y, x), system.origin, strict=True)
        )
        side = int(system.size / system.unit)
    elif isinstance(system, Quadkeys):
        half, step, snap = at.float(float(HALF)), at.float(float(system.step[0])), at.float(1e-9)
        south, west, side = f"({y} + {half}) / {step}", f"({x} + {half}) / {step}", 1
    elif isinstance(system, Geohashes):
        south, west = (
            _divided(at, number, start, step)
            for number, start, step in zip((y, x), system.origin, system.step, strict=True)
        )
        side = 1
    else:
        raise UsageError(f"There is no SQL for {system.name}.", code="sql-unsupported")
    return at.index(f"{south} + {snap}"), at.index(f"{west} + {snap}"), side


def _divided(at: Engine, number: str, start: Fraction, unit: Fraction) -> str:
    """Return a coordinate in units from a start, with the operations of ``CodeSystem.locate``."""
    return f"({number} - {at.float(float(start))}) / {at.float(float(unit))}"


def _code(system: CodeSystem, at: Engine, end: str) -> str:
    """Return the code of a place's cell; :func:`_units` has rejected unknown systems already."""
    cell = (f"{end}cell_row", f"{end}cell_col")
    if isinstance(system, JISMesh):
        return _code_of_jis(system, at, cell)
    if isinstance(system, PatternGrid):
        return _code_of_pattern(system, at, cell)
    if isinstance(system, Geohashes):
        return _code_of_geohash(system, at, cell)
    assert isinstance(system, Quadkeys)
    digits = []
    for bit in reversed(range(system.zoom)):
        south, east = (
            at.remain(at.divide(one, 1 << bit), 2)
            for one in (f"({(1 << system.zoom) - 1} - {cell[0]})", cell[1])
        )
        digits.append(at.write(f"({south} * 2 + {east})"))
    return at.join(digits)


def _code_of_pattern(system: PatternGrid, at: Engine, cell: tuple[str, str]) -> str:
    """Return the first spelling of a description as an SQL expression."""
    one = system.spellings[0]
    letters = "".join(map(chr, one.letters))
    parts: list[str] = []
    for token in one.tokens.tolist():
        kind, first, width, other, a, b, sign = token[:7]
        value = f"({a} + {cell[first]} * {b})" if first in (0, 1) else ""
        if kind == LITERAL:
            letter = "'" * (1 + (chr(first) == "'")) if chr(first) == "'" else chr(first)
            if parts and parts[-1].startswith("'"):
                parts[-1] = f"{parts[-1][:-1]}{letter}'"
            else:
                parts.append(f"'{letter}'")
        elif kind == HEMISPHERE:
            letter = f"'{chr(width)}' ELSE '{chr(other)}'"
            parts.append(f"CASE WHEN {value} >= 0 THEN {letter} END")
        elif kind == SQUARE:
            parts.append(_letter_of_square(token, letters[first : first + width * other], at, cell))
        else:
            if kind == PLACE:
                value = f"({_place(cell[first], a, token[7], token[8], at)} * {b})"
            text = at.write(f"abs{value}" if sign == LETTER else value)
            parts.append(f"lpad({text}, {width}, '0')" if width else text)
    return at.join(parts)


def _letter_of_square(token: Sequence[int], letters: str, at: Engine, cell: tuple[str, str]) -> str:
    """Return the letter of a cell's square; letters are listed row by row from the north."""
    rows, cols, *first_within, cells = token[2:]
    terms = ["1"]
    if rows > 1:
        row = _place(cell[0], first_within[0], first_within[2], cells, at)
        terms.append(f"({rows - 1} - {row}) * {cols}")
    if cols > 1:
        terms.append(_place(cell[1], first_within[1], first_within[3], cells, at))
    return f"substr('{letters}', CAST({' + '.join(terms)} AS INTEGER), 1)"


def _place(index: str, first: int, within: int, cells: int, at: Engine) -> str:
    """Return the part of an index that a token determines; the first is never above it."""
    number = f"({index} - {first})"
    return at.divide(at.remain(number, within) if within else number, cells)


def _code_of_geohash(system: Geohashes, at: Engine, cell: tuple[str, str]) -> str:
    """Return characters of five bits, of columns and rows alternately."""
    left, letters = [*system.bits], []
    for first in range(0, BITS * system.length, BITS):
        terms = []
        for place in range(first, first + BITS):
            axis = 0 if place % 2 else 1
            left[axis] -= 1
            bit = at.remain(at.divide(cell[axis], 1 << left[axis]), 2)
            terms.append(f"{bit} * {1 << (first + BITS - 1 - place)}")
        letters.append(f"substr('{ALPHABET}', CAST({' + '.join(terms)} + 1 AS INTEGER), 1)")
    return at.join(letters)


def _code_of_jis(system: JISMesh, at: Engine, cell: tuple[str, str]) -> str:
    terms, place, cells = [], 1, 1
    for factor in reversed(LEVELS[system.level]):
        digits, by_row, by_col, base, _ = _SPLITS[factor]
        row, col = (at.remain(at.divide(one, cells), factor) for one in cell)
        terms.append(f"({row} * {by_row} + {col} * {by_col} + {base}) * {place}")
        place, cells = place * 10**digits, cells * factor
    row, col = (at.divide(one, cells) for one in cell)
    terms.append(f"({row} * 100 + {col}) * {place}")
    return at.write(f"({' + '.join(reversed(terms))})")
