"""A release of a census: tables that agree, one guarantee, one folder, one file of all columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import USUAL, Estimate, Interval
from geodp.accuracy.interval_arithmetic import Derived, Figures
from geodp.accuracy.part_errors import MapTree
from geodp.errors import Rule, UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.grid.joint import Joint as Parts
from geodp.grid.joint import split_grid
from geodp.grid.region import Region
from geodp.io.folder.kinds import find_card
from geodp.io.folder.manifest import sha256
from geodp.io.folder.publication import write_rows
from geodp.io.verify.card import read_card, require
from geodp.io.write.tables import RowErrors, six_digits, widen
from geodp.io.write.view import JointView, Original, View, keep_rows
from geodp.kinds.census.inputs import require_columns
from geodp.kinds.census.kind import GIVEN, CensusCard, Column, StatedGiven
from geodp.kinds.census.margins import HOUSEHOLDS, PERSONS, Margin, Margins, number_part
from geodp.kinds.census.methods import PROOF, CensusTable, GivenNoise
from geodp.kinds.census.pairs import (
    ColumnParts,
    PairErrors,
    count_independent,
    counts_alike,
    list_wholes,
)
from geodp.kinds.census.streams import CensusStreams
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.release.composite import JointRelease, add_fact
from geodp.release.maps import describe_maps
from geodp.release.opening import WrittenRelease, open_release, open_written
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.table.card import COLUMNS_OF
from geodp.table.counts import coalesce
from geodp.table.index import (
    Constraint,
    Joint,
    Rebuilt,
    TablesGuarantee,
    read_amounts,
    state_event,
)
from geodp.typing import FloatArray, IntArray, KeyArray

SAME_PERSONS = (
    "The given release counts the same persons as this input, was published, and was charged"
)
"""The assumption of a release whose persons were published before."""

SHORT = 16
"""Columns of a row that take about as much space as the row of a table in all its files."""

JOINT = "census-table"
"""Name of the files that show all columns, without their endings."""

ROWS = "all columns in every cell that has persons, with 95 % intervals"
"""Description of these files."""

COUNTED = (
    "One {} adds at most {:,} to the sum of the counts of the persons, with one part of each of "
    "their margins, and is a member of at most as many households."
)
"""The assumption of the contribution."""


CellEstimates = tuple[IntArray, FloatArray, FloatArray, FloatArray]
"""Counts of cells, their standard errors and both ends of their intervals: [n] each."""

Pair = tuple[str, str]
"""Names of two columns."""


@dataclass(frozen=True, eq=False)
class CensusColumns(RowErrors):
    """The columns after the persons: their errors, and all others with theirs."""

    census: Census | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        assert self.census is not None  # as only `Census.view` makes these columns
        ends = ("", "_standard_error", "_low", "_high")
        return tuple(f"{one}{end}" for one in self.census.quantities for end in ends)[1:]

    def columns(self, key: KeyArray, rows: slice) -> list[NDArray[Any]]:
        """Return the columns of some cells; see :class:`RowErrors`."""
        assert self.census is not None
        made = list[NDArray[Any]]()
        for count, error, low, high in self.census.estimate_cells(key):
            made += [count, six_digits(error), *widen(low, high)]
        return made[1:]


@dataclass(frozen=True, eq=False)
class CensusView(JointView):
    """The view of all columns of the cells as one table."""

    census: Census | None = field(default=None, repr=False, kw_only=True)

    @property
    def sums(self) -> tuple[str, ...]:
        """Names of the columns that areas are sums of."""
        assert self.census is not None
        return self.census.quantities


@dataclass(frozen=True, eq=False)
class Census(JointRelease[CensusCard]):
    """A release of persons, perhaps households, and margins of both.

    Attributes
    ----------
    releases : mapping of str to Release
        All tables by name, the persons first.
    index : CensusCard
        What all tables share: margins, columns, guarantee and charge.
    given : Path or None
        Public folder of the earlier release whose persons are kept.
    """

    __repr__ = one_line

    releases: Mapping[str, Release] = field(repr=False)
    index: CensusCard
    given: Path | None = field(default=None, repr=False)

    @property
    def joint_rows(self) -> dict[str, int]:  # type: ignore[override]
        """The number of times that files of all columns list the cells of the persons."""
        return {PERSONS: 1 + len(self.index.columns) // SHORT}

    @property
    def tables(self) -> dict[str, Release]:
        """All measured tables by name."""
        given = () if self.index.given is None else (PERSONS,)
        return {name: one for name, one in self.releases.items() if name not in given}

    @property
    def ground(self) -> Grid:
        """The map."""
        return self.counts.grid

    @property
    def counts(self) -> Release:
        """The persons, who may have been published before."""
        return self.releases[PERSONS]

    @property
    def enclosed(self) -> dict[str, Path]:
        """The public folder of the earlier release that a copy of is enclosed, by its name."""
        return {} if self.given is None else {GIVEN: self.given}

    @property
    def margins(self) -> Margins:
        """The margins and the tables that they divide."""
        return Margins(self.index.margins, HOUSEHOLDS in self.releases)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(one.name for one in self.index.columns)

    @property
    def sums_of_cells(self) -> dict[str, Any]:
        """Released numbers of cells by column."""
        return {one.name: partial(self.count_cells, one) for one in self.index.columns}

    @property
    def constraints(self) -> tuple[Constraint[Census], ...]:
        """Sentences that hold in every cell, with their checks."""
        return list_constraints(self.margins)

    def with_fact(self, fact: str) -> Census:
        """Return the release with a public fact more on the card of every table."""
        return replace(self, releases={**self.releases, **add_fact(self.tables, fact)})

    def estimate(self, region: Any, *, interval: str = USUAL) -> dict[str, Estimate]:
        """Estimate every column in a region, with 95 % intervals.

        Parameters
        ----------
        region
            As for :meth:`geodp.Release.estimate`.
        interval : str
            ``"usual"`` or ``"worst-case"``, as there.

        Returns
        -------
        dict of str to Estimate
            By the names of the columns.
        """
        return self.estimate_all([region], interval=interval)[0]

    def estimate_all(
        self, regions: Iterable[Any], *, interval: str = USUAL
    ) -> list[dict[str, Estimate]]:
        """Estimate many regions, in their order; each is as for :meth:`estimate`."""
        listed = [Region.of(self.ground, one) for one in regions]
        return self._estimate_columns(listed, self._estimate_populations(listed, interval))

    def _estimate_populations(
        self, regions: Sequence[Region], interval: str = USUAL
    ) -> dict[str, list[Estimate]]:
        """Estimate the populations in regions, by their names."""
        return {
            name: self.releases[name].estimate_all(regions, interval=interval)
            for name in self.margins.populations
        }

    def _estimate_columns(
        self, regions: Sequence[Region], populations: Mapping[str, Sequence[Estimate]]
    ) -> list[dict[str, Estimate]]:
        """Estimate every column in regions, given the populations there."""
        estimates: list[dict[str, Estimate]] = [{} for _ in regions]
        cells = self._choose_cells(regions)
        for one in self.index.columns:
            population = self.margins.population(one.table)
            errors, totals = self.releases[one.table].parts, populations[population]
            for named, key, total in zip(estimates, cells[population], totals, strict=True):
                if errors is None:
                    named[one.name] = total
                    continue
                parts, count = self.number_parts(one), int(self.count_cells(one, key).sum())
                named[one.name] = errors.estimate_sum(key, parts, count, total)
        return estimates

    def _choose_cells(self, regions: Sequence[Region]) -> dict[str, list[KeyArray]]:
        """Choose the cells of regions that say errors of parts, by population."""
        errors = {one.name: self.releases[one.name].parts for one in self.margins.margins}
        trees = {name: list[MapTree]() for name in self.margins.populations}
        for name, one in errors.items():
            if one is not None:
                trees[self.margins.population(name)].append(one.split.tree)
        cells: dict[str, list[KeyArray]] = {}
        for name, listed in trees.items():
            finest = min(listed, key=lambda tree: tree.strides[-2], default=None)
            keys = [region.key for region in regions]
            cells[name] = keys if finest is None else [finest.choose_cells(key) for key in keys]
        return cells

    def list_figures(
        self,
        regions: Iterable[Any],
        *,
        shares: Sequence[Pair] = (),
        differences: Sequence[Pair] = (),
        **options: Any,
    ) -> list[Figures]:
        """Return the columns of many regions by their names, with shares and differences of some.

        Parameters
        ----------
        regions : iterable of region
        shares, differences : sequence of (str, str)
            Names of two columns; the quantity is named ``A/B``, or ``A-B``.
        options
            Of `estimate_all`.
        """
        listed = [Region.of(self.ground, one) for one in regions]
        populations = self._estimate_populations(listed, **options)
        figures = list[dict[str, Interval | None]](
            {**one} for one in self._estimate_columns(listed, populations)
        )
        if not (shares or differences):
            return [*figures]
        errors = {name: one.parts for name, one in self.releases.items()}
        known = {name: one for name, one in errors.items() if one is not None}
        pairs = PairErrors(self.margins, known, self._choose_cells(listed), populations)
        for mark, named, combine in (
            ("/", shares, pairs.divide),
            ("-", differences, pairs.subtract),
        ):
            for first, second in named:
                found = combine(self._parts_of(first), self._parts_of(second))
                for at, one in enumerate(figures):
                    number = found.at(at)
                    one[f"{first}{mark}{second}"] = number and Derived(
                        number.value, number.low, number.high, of=(first, second)
                    )
        return [*figures]

    def share(self, column: str, of: str, region: Any, *, interval: str = USUAL) -> Interval | None:
        """Estimate one column for each of another in a region, with a 95 % interval.

        Parameters
        ----------
        column, of : str
            Names of columns. Where one is a part of the other, this is its share.
        region
            As for :meth:`estimate`.
        interval : str
            As there.

        Returns
        -------
        Interval or None
            None: not estimable, as nobody may be in the column ``of``.

        Examples
        --------
        >>> import numpy as np, geodp
        >>> grid = geodp.Grid.regular((16, 16))
        >>> people = geodp.CountTable.from_dense(np.full((16, 16), 900), grid)
        >>> halves = np.full((16, 16, 2), 450)
        >>> sex = geodp.CountTable.from_dense(halves, grid.with_attribute("sex", ["f", "m"]))
        >>> options = {"epsilon": 1, "contribution": 1, "contradictions": "refuse"}
        >>> census = geodp.census.publish(people, {"sex": sex}, **options)
        >>> share = census.share("f", "persons", (0, 0, 16, 16))
        >>> bool(abs(share.value - 0.5) < 0.01)
        True
        """
        (found,) = self.list_figures([region], shares=[(column, of)], interval=interval)
        return found[f"{column}/{of}"]

    def difference(
        self, column: str, other: str, region: Any, *, interval: str = USUAL
    ) -> Interval:
        """Estimate a column less another one in a region; parameters are those of `share`."""
        named = [(column, other)]
        (found,) = self.list_figures([region], differences=named, interval=interval)
        number = found[f"{column}-{other}"]
        assert number is not None  # as only a ratio is not estimable
        return number

    def _parts_of(self, name: str) -> ColumnParts:
        """Return the parts that a column adds up; UsageError for the name of none."""
        for one in self.index.columns:
            if one.name == name:
                every = not one.parts
                parts = self.margins.list_parts(one.table) if every else self.number_parts(one)
                return ColumnParts(one.table, parts)
        raise UsageError(
            f"There is no column {name!r}: name one of {', '.join(self.quantities)}.",
            code="census-column-unknown",
        )

    @cached_property
    def _wholes(self) -> list[list[int]]:
        """Numbers of the columns that hold each column and more, the smallest first."""
        return list_wholes(self.margins, [self._parts_of(name) for name in self.quantities])

    def list_above(self) -> list[int | None]:
        """List, for each column, the number of the smallest one that it is a part of."""
        return [one[0] if one else None for one in self._wholes]

    def list_shares(self) -> list[Pair]:
        """List the pairs of a column and one that it is a part of, and of both populations."""
        names = self.quantities
        pairs = [(names[at], names[of]) for at, one in enumerate(self._wholes) for of in one]
        whole = {one.table: one.name for one in self.index.columns if not one.parts}
        return pairs + ([(whole[PERSONS], whole[HOUSEHOLDS])] if len(whole) == 2 else [])

    def counts_alike(self, one: str, other: str) -> bool:
        """Test whether two columns are of one population."""
        return counts_alike(self.margins, self._parts_of(one), self._parts_of(other))

    @cached_property
    def independent(self) -> int:
        """Number of columns that do not follow from others."""
        return count_independent(
            self.margins, [(one.table, self.number_parts(one)) for one in self.index.columns]
        )

    @cached_property
    def _parts(self) -> dict[str, Parts]:
        """Maps and parts of the margins' grids."""
        split = {one.name: split_grid(self.releases[one.name].grid) for one in self.index.margins}
        return {name: joint for name, joint in split.items() if joint is not None}

    def number_parts(self, column: Column) -> NDArray[np.int64]:
        """Return the numbers of a column's parts in its margin: int64[n]."""
        labels = [one.labels for one in self.margins.path(column.table)]
        return np.array(sorted(number_part(labels, one) for one in column.parts), np.int64)

    def count_cells(self, column: Column, key: KeyArray) -> NDArray[np.int64]:
        """Return the released counts of a column in cells of the map: int64[n]."""
        table = self.releases[column.table].table
        if not column.parts:
            return np.asarray(table.counts_at(key), np.int64)
        joint, sums = self._parts[column.table], np.zeros(key.size, np.int64)
        for part in self.number_parts(column):
            sums += table.counts_at(joint.join(key, np.full(key.size, part)))
        return sums

    def estimate_cells(self, key: KeyArray) -> Iterator[CellEstimates]:
        """Yield counts, standard errors and both ends of every column in cells."""
        whole = {name: self._estimate_population(name, key) for name in self.margins.populations}
        for one in self.index.columns:
            total = whole[self.margins.population(one.table)]
            if not one.parts:
                yield total
                continue
            parts = self._alone[one.table].parts
            assert parts is not None  # as it is of a margin
            count = self.count_cells(one, key)
            yield (count, *parts.of_sums(key, self.number_parts(one), count, total))

    def _estimate_population(self, name: str, key: KeyArray) -> CellEstimates:
        own = self._alone[name]
        intervals = own.intervals()
        assert intervals is not None  # as a population has closed forms
        count = np.asarray(own.table.counts_at(key), np.int64)
        largest = own.card().expected_error.largest
        assert largest is not None  # as above
        error, there = np.full(key.size, largest), count > 0
        each = np.broadcast_to(self._population_errors[name], own.table.key.shape)
        error[there] = each[np.searchsorted(own.table.key, key[there])]
        return (count, error, *intervals.of(key))

    @cached_property
    def _population_errors(self) -> dict[str, FloatArray]:
        """Standard errors of the listed cells of both populations, or of all of them one."""
        errors = {name: self._alone[name].cell_errors() for name in self.margins.populations}
        return {name: np.asarray(one, np.float64) for name, one in errors.items()}

    @cached_property
    def _alone(self) -> dict[str, Release]:
        """All tables by name, without the errors that were read from files."""
        # Errors of files are rounded: computed anew, they are the same before and after writing.
        return {
            name: Release(one.table) if isinstance(one, WrittenRelease) else one
            for name, one in self.releases.items()
        }

    def view(self, name: str | None = None) -> CensusView:
        """Return the view of all columns of every cell as one table."""
        # The id of the table of persons is none of this table's.
        persons = self.releases[PERSONS]
        card = replace(persons.view(name or self.quantities[0]).card, release_id="")
        return CensusView(
            persons.table,
            card,
            CensusColumns(0.0, None, self),
            stem=JOINT,
            census=self,
            original=self.original,
        )

    @property
    def original(self) -> Original:
        """The columns as those of the office's file."""
        reading, columns = self.releases[PERSONS].reading, self.index.columns
        return Original(
            self.releases[PERSONS].table,
            "" if reading is None or reading.layout is None else reading.layout.name,
            {one.code or one.name: one.name if one.code else "" for one in columns},
            lambda key: [self.count_cells(one, key) for one in columns],
        )

    def views(self) -> list[View]:
        """Return the view of the table, for exports."""
        return [self.view()]

    def write_joint(self, folder: Path) -> Joint:
        """Write the table of all columns in every format; return the index's entries of it."""
        with keep_rows(self.view(), folder) as view:
            return write_rows(view, JOINT, folder, ROWS)

    def rebuild(self) -> Rebuilt[CensusCard]:
        """Derive the index and the events of all tables from their cards.

        Raises VerificationError for tables that no release of a census has.
        """
        ground, first = self.ground, next(iter(self.tables.values()))
        method, event = first.method, cast(Measurement, first.event)
        differs = Rule("census-tables-differ", "The tables are not those of one census.")
        require(isinstance(method, CensusTable), differs)
        assert isinstance(method, CensusTable)
        numbered = method.margins
        require(tuple(self.releases) == numbered.tables, differs)
        require(bool(method.given) == (self.index.given is not None), differs)
        labels = {
            name: one.grid.attributes[-1].labels
            for name, one in self.releases.items()
            if one.grid.attributes
        }
        named = []
        for each in numbered.margins:
            inside = labels.get(each.of, ())[int(each.within)] if each.within else ""
            own_labels = labels.get(each.name, ())
            require(not each.max_size or own_labels == each.labels, differs)
            named.append(Margin(each.name, each.of, own_labels, inside, each.max_size))
        margins = Margins(tuple(named), numbered.households)
        streams = method.streams(ground, event)
        events = {}
        for name, one in self.tables.items():
            require(one.grid == margins.grid(ground, name), differs)
            own = replace(method, table=name)
            events[name] = streams.event_of(name, own.spec)
        try:
            require_columns(margins, self.index.columns)
        except ValueError as error:
            raise VerificationError(str(error), code="census-columns-changed") from None
        total = name_event(streams.event)
        identity = describe_maps(one.table for one in self.tables.values())
        given = self._state_given(method, streams)
        index = make_index(total, margins, self.index.columns, self.index.contradictions, given)
        facts = (describe_release(index), identity)
        return Rebuilt(index, events, facts, streams.measured_event.loss)

    def _state_given(self, method: CensusTable, streams: CensusStreams) -> StatedGiven | None:
        """State the enclosed release of which the persons are; VerificationError for another."""
        if self.given is None:
            return None
        persons = self.releases[PERSONS].event
        other = Rule("census-given-differs", "The tables were not made of the enclosed release.")
        require(isinstance(persons, Measurement), other)
        assert isinstance(persons, Measurement)
        require(method.given == GivenNoise.of(persons).write(), other)
        card: Any = read_card(self.given)
        spent, new = card.guarantee, streams.measured_event
        amounts, whole = read_amounts(spent), streams.event
        name, total = ("epsilon", whole.epsilon) if new.rho is None else ("rho", whole.rho)
        amount = amounts[name]
        require(amount is not None and total == amount / (1 - streams.new), other)
        # Where it was charged, only the operator knows.
        assert self.index.given is not None  # as the release has a given one
        source = self.index.given.source
        return StatedGiven(digest_release(self.given), spent.spends, new.spends, source)


def open_census(folder: Path, card: CensusCard) -> Census:
    """Open the tables in a public folder, which its index lists."""
    tables = {one.name: open_release(folder / one.name) for one in card.tables}
    if card.given is None:
        return Census(tables, card)
    persons = choose_persons(open_written(folder / GIVEN))
    if persons is None:
        raise VerificationError(
            "The enclosed release has no persons.", code="census-given-without-persons"
        )
    return Census({PERSONS: persons, **tables}, card, folder / GIVEN)


def digest_release(folder: Path) -> str:
    """Return the SHA-256 of the card in a public folder, which states the digests of all files."""
    card = find_card(folder)
    assert card is not None  # as the folder was verified
    return sha256(card)


def choose_persons(opened: object) -> Release | None:
    """Return the table of persons of an opened release; None where there is none."""
    if isinstance(opened, Census):
        return opened.releases[PERSONS]
    if not isinstance(opened, Release) or opened.grid.attributes:
        return None
    whole = (
        np.issubdtype(opened.table.count.dtype, np.integer) and not (opened.table.count < 0).any()
    )
    return opened if whole else None


def name_event(event: Measurement) -> Measurement:
    """Return the event of all tables together, with the release's name for the ledger."""
    return replace(event, mechanism="census")


def describe_release(index: CensusCard) -> str:
    """Describe, for the card of one table, the release that it is a part of."""
    plain = index.to_json()
    stated = [plain[name] for name in ("margins", "columns", "contradictions", "given")]
    named = digest(json.dumps(stated, ensure_ascii=False).encode()).hex()
    given, charged = index.given, ", charged once"
    if given is not None:
        charged = f": {given.spent} for a given release, and {given.new}, charged once, for these"
    return (
        f"{COLUMNS_OF}a release of a census, whose tables together spend "
        f"{index.guarantee.spends}{charged}; what the index says of margins, columns, "
        f"contradictions and a given release has the digest {named}"
    )


def make_index(
    event: Measurement,
    margins: Margins,
    columns: Iterable[Column],
    contradictions: str,
    given: StatedGiven | None,
) -> CensusCard:
    """Make the index of a release that is not drawn yet; ``event``: of all tables together."""
    counted = COUNTED.format(event.unit, event.contribution)
    guarantee = TablesGuarantee(
        source=PROOF,
        **state_event(event, "any result of these tables together"),
        assumptions=(
            replace(event.assumption, statement=counted),
            *(
                ()
                if given is None
                else (Assumption("given", SAME_PERSONS, "operator", given.source),)
            ),
        ),
    )
    return CensusCard.state(
        event,
        guarantee=guarantee,
        margins=margins.margins,
        columns=tuple(columns),
        contradictions=contradictions,
        given=given,
        constraints=tuple(one.sentence for one in list_constraints(margins)),
    )


def list_constraints(margins: Margins) -> tuple[Constraint[Census], ...]:
    """List what holds in every cell; then it does in every area, which is a sum of cells."""
    sums: list[Constraint[Census]] = [
        Constraint(f"The parts of {one.name} add up to {one.of}.", _adds_up(one))
        for one in margins.margins
    ]
    sums += [
        Constraint(
            f"{one.name} divides the label {one.within} of {one.of} alone: elsewhere its label is "
            f"{one.labels[-1]}.",
            _is_within(margins, one),
        )
        for one in margins.margins
        if one.within
    ]
    sums += [
        Constraint(
            f"Each household has a reference person, and at most {one.max_size} persons.",
            _are_possible(one),
        )
        for one in margins.margins
        if one.max_size
    ]
    sums += [
        Constraint(
            "Households of n or more persons are at most as many as those of n - 1 or more, for n "
            f"from 2 to {one.sizes}.",
            _fall_by_size(one),
        )
        for one in margins.margins
        if one.max_size and one.sizes > 1
    ]
    if margins.households:
        sums.append(Constraint("Households are at most as many as persons.", _are_at_most_persons))
    return tuple(sums)


def _adds_up(margin: Margin) -> Callable[[Census], bool]:
    """Return the check that the parts of a margin add up to what it divides."""

    def holds(census: Census) -> bool:
        inner, whole = (census.releases[name].table for name in (margin.name, margin.of))
        joint = split_grid(inner.grid)
        outer = split_grid(whole.grid)
        assert joint is not None
        assert outer is not None
        cell, part = joint.split(inner.key)
        of = outer.join(cell, part // len(margin.labels))
        key, count = coalesce(of, np.asarray(inner.count, np.int64))
        return np.array_equal(key, whole.key) and np.array_equal(count, whole.count)

    return holds


def _is_within(margins: Margins, margin: Margin) -> Callable[[Census], bool]:
    """Return the check that a margin has no parts but those that may occur."""
    parts = margins.list_parts(margin.name)

    def holds(census: Census) -> bool:
        table = census.releases[margin.name].table
        joint = split_grid(table.grid)
        assert joint is not None
        return bool(np.isin(joint.split(table.key)[1], parts).all())

    return holds


def _are_possible(margin: Margin) -> Callable[[Census], bool]:
    """Return the check that persons in households are possible members of them."""

    def holds(census: Census) -> bool:
        *_, largest, others, _ = _list_parts(census, margin).T
        return bool((others <= largest * (margin.max_size - margin.sizes)).all())

    return holds


def _fall_by_size(margin: Margin) -> Callable[[Census], bool]:
    """Return the check that households of a size or more are at most those of a smaller one."""

    def holds(census: Census) -> bool:
        homes = _list_parts(census, margin)[:, : margin.sizes]
        return bool((np.diff(homes, axis=1) <= 0).all())

    return holds


def _list_parts(census: Census, margin: Margin) -> IntArray:
    """Return the parts of the cells that have somebody: int64[cells, parts]."""
    table = census.releases[margin.name].table
    joint = split_grid(table.grid)
    assert joint is not None
    cell, part = joint.split(table.key)
    cells, row = np.unique(cell, return_inverse=True)
    counts = np.zeros((cells.size, len(margin.labels)), np.int64)
    counts[row, part] = table.count
    return counts


def _are_at_most_persons(census: Census) -> bool:
    """Test whether households of every cell are at most its persons."""
    homes, persons = census.releases[HOUSEHOLDS].table, census.releases[PERSONS].table
    return bool((homes.count <= persons.counts_at(homes.key)).all())
