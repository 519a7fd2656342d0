"""Records of amounts, one row each: exact amounts on a step, clipped, and added up by cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar
from unicodedata import normalize

import numpy as np
import pyarrow as pa

from geodp.advice import takes
from geodp.errors import InputError, Rule, UsageError, printable, require_none
from geodp.grid.grid import Grid
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.read.counting.points import PointRows
from geodp.io.read.options import PointOptions
from geodp.io.read.reader import WeightedReader
from geodp.io.read.rows.amount_titles import (
    TitleUnit,
    find_unit,
    is_percentage,
    read_title,
    read_unit,
    require_counts,
)
from geodp.io.read.rows.arrow import map_values
from geodp.io.read.rows.columns import InputTable, RowPositions, find_column
from geodp.io.read.rows.count_parser import CountParser
from geodp.io.read.rows.decimals import LARGEST, LEFT_OUT, Weights, exact_decimals, leave_out
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.input_files import FilePath, TableSource
from geodp.io.read.rows.locators import Locator, locate
from geodp.io.read.rows.persons import Persons, number_names
from geodp.io.read.rows.scratch import Runs
from geodp.io.read.rows.survey import Survey
from geodp.io.read.rows.tally import place
from geodp.kinds.amounts.scale import Scale
from geodp.kinds.amounts.streams import AmountTable, merge_keys
from geodp.privacy.assumption import ContributionBound
from geodp.table.counts import CountTable
from geodp.table.reading import StatedCounts, StatedReading
from geodp.typing import IntArray, KeyArray

NEGATIVE = Rule(
    "amount-negative",
    "an amount is below 0, and the lower end of the clip is 0: choose a lower end below 0 if there "
    "are losses or debts, or drop such records.",
)


_MARKED = re.compile(
    r"(?P<before>[^0-9+-]*?)[ \u00a0\u202f]*"
    r"(?P<number>[+-]?[0-9](?:[0-9.,' \u2019\u00a0\u202f]*[0-9])?(?:e0)?)"
    r"[ \u00a0\u202f]*(?P<after>[^0-9]*)"
)
"""Amounts with a mark before or behind them."""


def drop_marks(column: pa.Array, unit: str) -> pa.Array:
    """Remove the currency beside amounts where it is that of their unit, as in ``300 €``.

    Workbooks show numbers so in cells with a format of currency. Other texts, and columns that are
    not text, stay as they are, and are refused or read as such.

    Parameters
    ----------
    column : pyarrow.Array
    unit : str
        Unit of the amount, as the operator states it.

    Examples
    --------
    >>> drop_marks(pa.array(["300 €", "$5", "7"]), "EUR").to_pylist()
    ['300', '$5', '7']
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    stated = read_unit(unit)
    if not stated.currencies or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column

    def drop(text: str) -> str:
        match = _MARKED.fullmatch(text.strip())
        mark = "" if match is None else (match["before"] + match["after"]).strip()
        if match is None or not mark:
            return text
        found = read_title(f"({mark})")
        same = found.currencies and not found.differs_from(stated)
        return match["number"] if same else text

    return map_values(as_text(column), drop)


def count_steps(column: pa.Array, scale: Scale, decimal: str | None = None) -> IntArray:
    """Return the amounts of a column less the lower end of the clip, in steps: int64[n].

    Amounts are read exactly and counted to the nearest step. They are not clipped yet: below 0 and
    above the span are amounts beyond the clip, the largest of which are cut to about its size.

    Parameters
    ----------
    column : pyarrow.Array
        Numbers, or texts in plain digits.
    scale : Scale
    decimal : {".", ","}, optional
        See :class:`geodp.io.read.reader.Reader`.

    Raises CodeError at the first amount that is missing, no plain number, or negative while the
    lower end of the clip is 0.
    """
    values, exponent = exact_decimals(column, decimal)
    step = scale.step * 10**exponent
    # Amounts far beyond the clip are cut first, so that doubling them stays within int64.
    most = int(max(abs(scale.lower), abs(scale.upper)) * step) + int(step) + 1
    if scale.lower == 0:
        require_none(values < 0, NEGATIVE)
    if 2 * most * step.denominator + step.numerator > LARGEST:
        values = values.astype(object)
    values = np.clip(values, -most, most)
    top, bottom = 2 * values * step.denominator + step.numerator, 2 * step.numerator
    return np.asarray(top // bottom, np.int64) - scale.lower


OTHER_UNIT = Rule(
    "amounts-unit-of-title",
    "Column {name}: a title says that amounts are in {said}, and unit_of_amount (--unit-of-amount) "
    "says {stated}. State the unit of the numbers as they are written, such as '{suggested}' "
    "(--unit-of-amount '{suggested}', unit_of_amount=), with the clip in this unit; or correct the "
    "title, if it is wrong.",
)


def require_unit(scale: Scale, titled: TitleUnit) -> None:
    """Raise UsageError where titles say another unit of the amounts than the operator.

    Examples
    --------
    >>> from geodp.io.read.rows.amount_titles import read_title
    >>> require_unit(Scale.of((0, 10), 1, "1,000 EUR", "income"), read_title("income (Tsd. EUR)"))
    """
    stated = read_unit(scale.unit)
    if not titled.differs_from(stated):
        return
    codes = [one for one in (titled.currencies, stated.currencies) if len(one) == 1]
    unit = min(codes[0]) if codes else titled.written if titled.currencies else scale.unit
    factor = "" if titled.factor in (None, 1) else f"{int(titled.factor or 1):,} "
    raise UsageError(
        OTHER_UNIT.format(
            name=printable(scale.name),
            said=printable(titled.written),
            stated=printable(scale.unit),
            suggested=printable(f"{factor}{unit}"),
        )
    )


def require_no_percentage(scale: Scale, title: str) -> None:
    """Raise UsageError for a title with a percent sign where the unit of the amounts has none."""
    sign = "‰" if "‰" in title else "%"
    if is_percentage(title) and sign not in normalize("NFKC", scale.unit):
        raise UsageError(
            OTHER_UNIT.format(
                name=printable(scale.name),
                said=sign,
                stated=printable(scale.unit),
                suggested=sign,
            )
        )


FORM_FACT = (
    "that every amount was a plain number{}: other records are refused before anything is charged"
)
"""Public fact of amounts that were read."""

NOT_NEGATIVE = ", none of them below 0"

PERSON_AND_COUNTS = Rule(
    "amounts-person-and-counts",
    "Rows that stand for several records (--value, value=) do not tell whose all of these are: "
    "leave --person (person=) out and state the contribution, or give a row for each record.",
)

TOO_FINE = Rule(
    "amounts-too-fine-for-persons",
    "The grid and the clip together have too many steps for records by person: choose a larger "
    "step or smaller bounds, or bound the records yourself and state the contribution.",
)

Batch = tuple[RowPositions, KeyArray, IntArray, IntArray, Any, Any]
"""Rows in the domain, their keys, amounts above the lower end and numbers; persons of all rows, and
which of these are inside."""


@dataclass(frozen=True, kw_only=True)
class AmountRecords(PointOptions, WeightedReader):
    """Records with an amount each, located by codes, coordinates or geometries.

    Attributes
    ----------
    amount : str
        Column of amounts: plain numbers, all in one unit.
    clip : (number, number)
        Lower and upper end of amounts, public and chosen without the data: smaller and larger
        amounts count as these. Noise is proportional to the distance between them; see
        :func:`geodp.amounts.plan`.
    unit_of_amount : str
        What one amount is counted in, such as ``"10,000 yen"``.
    step : number
        Amounts are counted on multiples of it, exactly. Where the noise on it is wider than can be
        drawn, the sum of a cell is rounded to a coarser notch, which the card states.
    classes : sequence of numbers
        Public edges of classes, for medians and other quantiles; the ends of the clip are added.
    contribution : int
        Most records of one person: with `person` the first ones count.
    value : str, optional
        Column of the number of records of that amount, if a row stands for several.
    value_unit : float, optional
        The number in it that stands for one record.
    person : str, optional
        Column of person ids: of each person, the first `contribution` records count, whatever
        their weights. Without it, you vouch for the contribution.
    missing : sequence of str or number, optional
        What is written in place of an amount or a weight, such as 9999999: these records are left
        out, as they are not in the universe. Values are those of :func:`geodp.read_table`; ``""``
        stands for blanks and nulls. The card states it.
    """

    kind: ClassVar[str] = "records of amounts"

    amount: str | None = None
    clip: tuple[Any, Any] | None = None
    unit_of_amount: str | None = None
    step: Any = 1
    classes: Any = ()
    contribution: int | None = None
    value: str | None = None
    value_unit: float | None = None
    missing: Sequence[str | float] = ()
    beyond: Counter[str] = field(default_factory=Counter, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        # A scale, edges and a bound that make no sense are refused before anything is read.
        _ = self.edges, self.records

    @cached_property
    def scale(self) -> Scale:
        """The clip on its step."""
        return Scale.of(self.clip, self.step, self.unit_of_amount, self.amount)

    @cached_property
    def edges(self) -> tuple[int, ...]:
        """Edges of classes, in steps above the lower end."""
        return self.scale.read_edges(self.classes)

    @cached_property
    def records(self) -> int:
        """Most records that are kept of a person, the first ones."""
        return require_records(self.person, self.contribution)

    def read(self, paths: TableSource) -> AmountTable:  # type: ignore[override]
        """Add up the amounts in the files by cell; errors as of points."""
        reader, tables, _ = self.resolve(self.open(paths))
        return reader._add_up(tables)

    def _add_up(self, tables: Iterator[InputTable]) -> AmountTable:
        """Add up the amounts of tables whose attributes the grid has."""
        if self.person is not None and self.value is not None:
            raise UsageError(PERSON_AND_COUNTS)
        _ = self._weights
        survey, bound = Survey(), None
        kept: Iterator[tuple[KeyArray, IntArray, IntArray]]
        share = max(bytes_of(self.memory) // 3, MIN_MEMORY)
        found = _Sums(share, self.scratch, max(len(self.edges) - 1, 1))
        batches_of_rows = self._amounts(tables, survey)
        if self.person is None:
            kept = ((key, above, number) for _, key, above, number, _, _ in batches_of_rows)
        else:
            bound = ContributionBound(self.records, "geodp")
            kept = self._bounded(batches_of_rows, share)
        for key, given, counted in kept:
            above, number = self._trim(given, counted)
            found.add(key, above, number, self._classify(above))
        facts = [FORM_FACT.format(NOT_NEGATIVE if self.scale.lower == 0 else "")]
        if self._weights is not None:
            facts += self._weights.facts
        if self.missing:
            facts.append(LEFT_OUT.format(" or ".join(self._named.values())))
        return found.table(self, bound, survey, tuple(facts))

    def _amounts(self, tables: Iterator[InputTable], survey: Survey) -> Iterator[Batch]:
        """Yield the rows in the domain with their amounts."""
        places_of = PointRows(self)
        located = places_of.locate_columns()
        for table in tables if self._weights is None else self._weights.watch(tables):
            survey.note(table.name, ())
            locators = located or places_of.locate_geometry(table)
            places = [name for locator in locators for name in locator.columns]
            names = [*places, self.scale.name]
            names += [one for one in (self._numbered, self.person) if one is not None]
            selected = self.read_rows(table, names, survey)
            amount, *more = (find_column(table, name) for name in names[len(places) :])
            require_unit(self.scale, find_unit(table, amount))
            require_no_percentage(self.scale, table.columns[amount])
            if self.value is not None:
                require_counts(table, more[:1], self.value_unit)
            survey.state(self._state(table, places))
            named = {len(places) + at: name for at, name in self._named.items()}
            for rows, arrays in selected:
                arrays[len(places)] = drop_marks(arrays[len(places)], self.scale.unit)
                rows, arrays = leave_out(rows, arrays, named, self.missing, survey, self.decimal)
                yield self._convert(rows, arrays, places, locators, survey)

    def _convert(
        self,
        rows: RowPositions,
        arrays: list[Any],
        places: list[str],
        locators: list[Locator],
        survey: Survey,
    ) -> Batch:
        """Locate the rows of a batch, and count their amounts on the step."""
        index = locate(self.grid, rows, locators, arrays[: len(places)])
        with rows.named(self.scale.name):
            above = count_steps(arrays[len(places)], self.scale, self.decimal)
        number = self._number(rows, arrays[len(places) :])
        counted = number if self._weights is None else np.minimum(number, self._weights.largest)
        within, key, inside = place(self.grid, rows, index, self.outside, survey, counted)
        if inside is not None:
            above, number = above[inside], number[inside]
        if self.person is None:
            survey.add(rows.table.name, without_person=key.size)
        # One step beyond either end marks amounts that are trimmed once it is known which count.
        return within, key, np.clip(above, -1, self.scale.span + 1), number, arrays[-1], inside

    def _trim(self, above: IntArray, number: IntArray) -> tuple[IntArray, IntArray]:
        """Return amounts within the clip, and weights that are not too large; count the others."""
        if (weights := self._weights) is not None:
            self.beyond.update(weights=int((number > weights.largest).sum()))
            number = np.minimum(number, weights.largest)
        self.beyond.update(
            below=int(number[above < 0].sum()), above=int(number[above > self.scale.span].sum())
        )
        return np.clip(above, 0, self.scale.span), number

    def _state(self, table: InputTable, places: list[str]) -> StatedReading:
        """Describe for the card how a table is read."""
        counts_of = () if self._numbered is None else (StatedCounts(self._numbered),)
        return replace(PointRows(self).describe(table, places), counts=counts_of)

    @property
    def _numbered(self) -> str | None:
        """Column of how many records a row stands for, or as how many it counts."""
        return self.value or self.weight

    @property
    def _named(self) -> dict[int, str]:
        """Columns of amounts and weights, by their position after those of places."""
        named = {0: self.scale.name}
        return named if self.weight is None else named | {1: self.weight}

    @cached_property
    def _weights(self) -> Weights | None:
        """Weights of records; UsageError without a bound, or beside numbers of records."""
        if self.weight is not None and self.value is not None:
            raise UsageError(
                "Weights (weight=, --weight) do not go with numbers of records (value=, --value): "
                "name one of them.",
                code="amounts-weights-and-counts",
            )
        return Weights.of(self.weight, self.max_weight, self.raked_to)

    def _number(self, rows: RowPositions, arrays: list[Any]) -> IntArray:
        """Return as how many records every row counts; ``arrays``: from that of amounts on.

        Weights are one above the largest where they are trimmed to it.
        """
        if self.value is not None:
            with rows.named(self.value):
                return CountParser((), self.decimal, unit=self.value_unit).numbers(arrays[1])
        if (weights := self._weights) is None:
            return np.ones(len(arrays[0]), np.int64)
        number = weights.count(rows, arrays[1], self.decimal)
        return np.minimum(number, weights.largest + 1)

    def _classify(self, above: IntArray) -> IntArray:
        """Return the class of amounts above the lower end; an amount at an edge is above it."""
        if not self.edges:
            return np.zeros(above.size, np.int64)
        number = np.searchsorted(self.edges, above, "right") - 1
        return np.clip(number, 0, len(self.edges) - 2)

    def _bounded(
        self, batches_of_rows: Iterator[Batch], share: int
    ) -> Iterator[tuple[KeyArray, IntArray, IntArray]]:
        """Yield keys, amounts and weights of the first records of every person."""
        assert self.person is not None
        # From one step below the clip to one above it.
        width = self.scale.span + 3
        if (width << self.grid.bits) > 1 << 64:
            raise UsageError(TOO_FINE)
        persons = Persons(self.person, share, self.scratch)
        for within, key, above, number, names, inside in batches_of_rows:
            # Cell and amount together are one number, which waits with the person.
            both = key * np.uint64(width) + (above + 1).astype(np.uint64)
            # Without weights, each record counts as one.
            weights = () if self._weights is None else (number,)
            persons.add(within, both, names, inside, *weights)
        for names, columns in persons.named_parts():
            # Which records are kept does not depend on their weights.
            at = keep_first(number_names(names), self.records)
            kept, *numbers = (column[at] for column in columns)
            number = numbers[0] if numbers else np.ones(kept.size, np.int64)
            above = (kept % np.uint64(width)).astype(np.int64) - 1
            yield kept // np.uint64(width), above, number


def keep_first(person: IntArray, records: int) -> IntArray:
    """Return the positions of the first ``records`` records of every person, in order: int64[m].

    What is kept of a person depends on that person's records alone.

    Examples
    --------
    >>> keep_first(np.array([7, 8, 7, 7, 8]), 2).tolist()
    [0, 1, 2, 4]
    """
    order = np.argsort(person, kind="stable")
    ours = person[order]
    start = np.flatnonzero(np.append(True, ours[1:] != ours[:-1])[: ours.size])
    rank = np.arange(ours.size) - np.repeat(start, np.diff(np.append(start, ours.size)))
    return np.sort(order[rank < records])


def require_records(person: str | None, contribution: int | None) -> int:
    """Return how many records of a person are kept; UsageError where ids come without a bound."""
    if person is not None and contribution is None:
        raise UsageError(
            "Say how many records of a person are kept: contribution=N (--contribution N), such as "
            "1; the first ones count.",
            code="amounts-records-of-person",
        )
    return 1 if contribution is None else contribution


class _Sums:
    """Sums of amounts, and numbers of records by class, of every cell."""

    def __init__(self, memory: int, scratch: FilePath | None, classes: int) -> None:
        self._above = Runs(memory, scratch)
        self._records = [Runs(max(memory // classes, MIN_MEMORY), scratch) for _ in range(classes)]

    def add(self, key: KeyArray, above: IntArray, number: IntArray, at: IntArray) -> None:
        """Add records: keys, amounts above the lower end, numbers of records, and classes."""
        # Of whole numbers below 2**40 and 2**53: more are refused, and not wrapped around.
        if number.size and int(number.max()) * int(above.max(initial=0)) >= 1 << 60:
            raise InputError(Rule("amounts-row-too-large", "A row stands for too many records."))
        some = number > 0
        self._above.add(key[some], (above * number)[some])
        for number_of_class, runs in enumerate(self._records):
            here = some & (at == number_of_class)
            runs.add(key[here], number[here])

    def table(
        self,
        reader: AmountRecords,
        bound: ContributionBound | None,
        survey: Survey,
        facts: tuple[str, ...],
    ) -> AmountTable:
        """Return the sums; may be called once."""
        grid = reader.grid
        classes = [CountTable.of_cells(grid, *_positive(*runs.arrays())) for runs in self._records]
        key = merge_keys([one.key for one in classes])
        number = np.zeros(key.size, np.int64)
        for one in classes:
            number += one.counts_at(key)
        reading = survey.reading()
        records = CountTable.of_cells(grid, key, number, bound=bound, reading=reading)
        sums = CountTable.of_cells(grid, *_positive(*self._above.arrays()))
        above = np.asarray(sums.counts_at(key), np.int64)
        parts = tuple(classes) if reader.edges else ()
        return AmountTable(
            *(records, above, reader.scale, facts, reader.edges, parts),
            beyond=reader.beyond,
            max_weight=reader.max_weight,
        )


def _positive(key: KeyArray, count: IntArray) -> tuple[KeyArray, IntArray]:
    """Leave out cells whose sum is 0."""
    return key[count > 0], count[count > 0]


LIMITS = ("cells", "per_cell", "truncation", "secret")
"""Options of points that bound counts of cells, and no records of amounts."""


@takes(AmountRecords, without=LIMITS)
def read_records(paths: TableSource, *, grid: str | Grid, **options: Any) -> AmountTable:
    """Read records of amounts, one row each, into confidential sums by cell.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        Confidential records, one row each, such as persons with an income.
    grid : str or Grid
        The public grid.

    Returns
    -------
    AmountTable

    Raises
    ------
    UsageError, InputError
        See :func:`geodp.amounts.publish`.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> rows = pa.table({"mesh": ["53394611", "53394611"], "income": ["310.5", "2000"]})
    >>> options = {"amount": "income", "clip": (0, 1000), "unit_of_amount": "10,000 yen"}
    >>> read = geodp.amounts.read_records(rows, grid="jis:basic", code="mesh", **options)
    >>> read.above.tolist()
    [1311]
    """
    return AmountRecords.of(grid, **options).read(paths)
