"""``geodp census``: all columns of a census, read, released and written together."""

from __future__ import annotations

import json
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import Room, with_options
from geodp.cli.inputs import grid_of, read_named
from geodp.cli.layout import complete
from geodp.cli.options import GridCommand, inputs
from geodp.cli.output import number_text
from geodp.cli.publishing import TablesPublishing
from geodp.cli.readers import ReadingCommand, check_applicable, make_reader
from geodp.cli.recipes import cast_all
from geodp.cli.running import carry_out
from geodp.cli.translation import translate_message
from geodp.errors import UsageError
from geodp.kinds.census.options import PLANNED, PUBLISHED
from geodp.options.shared import CHECK, DOMAIN, FOLDER, GIVEN_DOMAIN, JSON, LAYOUT, REQUEST

if TYPE_CHECKING:
    from geodp.io.folder.kinds import Kind
    from geodp.io.read.layout.relations import MarginLayout, TableLayout
    from geodp.kinds.census.inputs import CensusTables
    from geodp.kinds.census.plan import CensusPlan
    from geodp.kinds.census.publish import GivenPath
    from geodp.kinds.census.reading import CensusFile
    from geodp.kinds.census.running.sources import ListedTables
    from geodp.release.transaction import Inputs, Prepared, StoredDesign

ELSEWHERE = ("method", "contribution", "unit", "measurements", "totals", "prior", "simulate")
"""Fields of a request that this release does not have, or has in another form."""

NO_TABLES = (
    *("by", "labels", "column", "points", "pairs", "person", "weight", "household_id"),
    "size_column",
)
"""Options of rows and labels, where columns of counts are the margins."""


@click.group(cls=Room)
def census() -> None:
    """Release all columns of a census, such as sex, age and households, so that all agree.

    \b
    geodp inspect FILE
    geodp census publish FILE --all-columns --contradictions refuse
        --epsilon 1 --contribution 1 --output out
    geodp estimate out --area 5339
    """


@census.command(
    cls=ReadingCommand,
    rare=("mask", "points", "x", "y", "by", "where", "person", "delta"),
    no_args_is_help=True,
)
@inputs
@with_options(LAYOUT, DOMAIN, PUBLISHED, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
def publish(**options: Any) -> None:
    """Release all columns of INPUTS under one budget, so that they agree in every area.

    \b
    All columns that the layout relates (geodp inspect FILE draws them):
    geodp census publish FILE --all-columns ...

    \b
    Columns that you relate:
    geodp census publish FILE --value T --margin sex=M,F --part EMP
        --margin birth=NAT,EU,OTH --rest birth='not stated' ...

    \b
    Tables of several files, which a file lists (docs/census.md):
    geodp census publish TABLES.toml --grid jis:half --bounds 139 35 140 36 ...

    Every margin adds up to what it divides, in every cell and in every area. How parts of two
    margins overlap is not kept. Writes OUTPUT/public, with a folder for each table, and
    OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    listed = str(options["inputs"][0]).endswith(".toml")
    publishing = ListedPublishing if listed else ColumnsPublishing
    carry_out(options, lambda *run: publishing(*run).run())


FIELDS = ("epsilon", "rho", "delta", "neighbours")
"""Fields of a request that a plan of a census accepts."""


@census.command(cls=GridCommand, no_args_is_help=True)
@with_options(GIVEN_DOMAIN, PLANNED, REQUEST.of(*FIELDS), JSON)
def plan(**options: Any) -> None:
    """Show errors of all columns by area, before any data are read.

    \b
    geodp census plan --grid inspire:1km --bounds 4000000 3000000 4256000 3256000
        --margin sex=M,F --part EMP --rho 1/2

    Standard errors of one cell, of an aligned square and of an area of --cells, where nobody is
    clamped. Parts of a cell with far more people than the cells around it have larger ones. Of the
    columns only their number counts. With --given, which is a public release, the errors of a
    release of all columns afresh stand beside them.
    """
    from geodp.kinds.census.margins import HOUSEHOLDS, PERSONS
    from geodp.kinds.census.plan import plan as make_plan

    layout = _state_margins({**options, "value": ("persons",)}, ())
    layout = layout.with_rests(read_named(options["rest"], "--rest"))
    labels: dict[str, dict[str, tuple[str, ...]]] = {PERSONS: {}, HOUSEHOLDS: {}}
    for one in layout.margins:
        labels[one.of][one.name] = one.all_labels
    names = ("given", "given_source", "method", "contribution", "cells", *FIELDS)
    found = make_plan(
        grid_of({**options, "inputs": ()}),
        labels[PERSONS],
        # With their members, they are parts of the persons.
        households=options["households"] is not None and options["members"] is None,
        household_margins=labels[HOUSEHOLDS],
        **{name: options[name] for name in names},
    )
    if options["as_json"]:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=1))
        return
    _show(found)


def _show(found: CensusPlan) -> None:
    """Print a plan: a line for each column, whose name is the last, as it may be of any width."""
    afresh = [""] if found.ratio is None else ["", translate_message("afresh")]
    heads = [f"{number:,} {mark}".strip() for mark in afresh for number in found.cells]
    lines = [[*heads, translate_message("cells")]]
    for one in found.columns:
        lines.append([*(number_text(each) for each in (*one.errors, *one.afresh)), one.name])
    for line in lines:
        click.echo("".join(f"{text:>16}" for text in line[:-1]) + f"  {line[-1]}")
    if found.ratio is not None:
        sentence = KEEP if found.keeps_persons else AFRESH
        click.echo(translate_message(sentence.format(ratio=f"{found.ratio:.2f}")))


KEEP = (
    "Proposed: --given. Its persons stay as they were published, and errors of the other columns "
    "are {ratio} of those of a release of all columns afresh."
)

AFRESH = (
    "Proposed: all columns afresh. With --given, errors of the other columns are {ratio} times as "
    "large. Numbers of persons will then differ from those that were published."
)


class CensusPublishing(TablesPublishing):
    """A run of ``geodp census publish``, checked before anything is read.

    Attributes
    ----------
    source : CensusFile or ListedTables
        What is read, with its margins and columns.
    """

    source: CensusFile | ListedTables

    @property
    def given(self) -> GivenPath:
        """The earlier release of the same persons, and where it was published."""
        return self.options["given"], self.options["given_source"]

    @property
    def kind(self) -> Kind:
        """The kind of release."""
        from geodp.kinds.census.kind import CensusKind

        return CensusKind()

    @abstractmethod
    def read_tables(self) -> CensusTables:
        """Read all tables."""

    def prepare(self) -> Prepared[Any, Any]:
        """Read all tables, and prepare their release."""
        from geodp.kinds.census.publish import prepare_census

        return prepare_census(self.read_tables(), self.request, self.given)

    def design(self, inputs: Inputs) -> StoredDesign:
        """Design the release from the inputs of an interrupted run."""
        from geodp.kinds.census.publish import design_census

        return design_census(
            self.grid,
            self.source.margins,
            self.source.columns,
            self.options["contradictions"],
            self.request,
            inputs,
            self.given,
        )

    def fields(self, release: Any) -> dict[str, Any]:
        """Return the names of all columns."""
        return {"columns": [*release.quantities]}

    def sentences(self, release: Any) -> list[str]:
        """Say which relations may not hold."""
        unkept = [", ".join(some) for some in self.source.margins.list_unkept()]
        return [UNKEPT.format("; ".join(unkept))] if unkept else []


class ColumnsPublishing(CensusPublishing):
    """A run in which all columns are those of one table."""

    source: CensusFile

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        context = click.get_current_context()
        preset = options["preset"]
        if given := [name for name in NO_TABLES if options.get(name)]:
            flag = given[0].replace("_", "-")
            raise UsageError(
                f"The columns of a census are its margins: leave --{flag} out. Tables with options "
                "of their own are listed in a file (geodp census publish TABLES.toml).",
                code="census-option",
            )
        self.source = _relate(options, preset)
        # Of the layout, which is in the header: a run that is completed reads no rows.
        persons = {"value": (self.source.persons,)} if options["all_columns"] else {}
        self.inferred = complete(context, options, lambda _: persons) or self.inferred
        check_applicable(context)
        self.grid = grid_of(options)
        self.request = self.read_request(method=options["method"])

    def read_tables(self) -> CensusTables:
        """Read all columns."""
        from geodp.io.read.table import Table

        asked, hidden = self.options, self.source.relations.hidden
        # A mark that hides a count is none of nobody, whoever says so.
        missing = tuple(one for one in asked["missing"] if one not in hidden)
        plain = {**asked, "value": (), "missing": missing}
        reader = make_reader(plain, self.grid, self.request.key)
        if not isinstance(reader, Table):
            raise UsageError(
                "A census is read from tables with a row for each cell.", code="census-no-table"
            )
        return self.source.read(reader, asked["inputs"], asked["contradictions"])


class ListedPublishing(CensusPublishing):
    """A run in which a file lists the tables."""

    source: ListedTables

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        from geodp.kinds.census.running.sources import ListedTables

        super().__init__(options, seconds)
        options.pop("preset")
        self.source = ListedTables.of(options, partial(cast_all, click.get_current_context()))
        self.files = self.source.files
        self.grid = self.source.ground
        self.request = self.read_request(method=options["method"])

    def read_tables(self) -> CensusTables:
        """Read all tables that are listed."""
        return self.source.read(self.options["contradictions"], self.request.key)


UNKEPT = (
    "In every cell and area, all columns add up as census.json says. Not kept is how parts of "
    "different margins overlap ({}): a part that lies within another one, such as the employed "
    "among those of 15 and more, may be larger than it."
)


def _relate(options: dict[str, Any], preset: str | None) -> CensusFile:
    """Find the relations of columns, by the header of the first input."""
    from geodp.io.read.rows.span import OPENING
    from geodp.kinds.census.reading import CensusFile, TableHeader, choose_layout

    first = options["inputs"][0]
    header = TableHeader.of(first, **{name: options[name] for name in OPENING})
    layout = choose_layout(first, header, preset)
    if not options["all_columns"]:
        layout = _state_margins(options, () if layout is None else layout.hidden)
    rests = read_named(options["rest"], "--rest")
    return CensusFile.of(header, layout and layout.with_rests(rests))


def _state_margins(options: dict[str, Any], hidden: tuple[str, ...]) -> TableLayout:
    """Return the relations that options state; ``hidden``: values of hidden counts."""
    from geodp.io.read.layout.relations import HOUSEHOLDS, PERSONS, MarginLayout, TableLayout

    margins = [
        MarginLayout(name, dict.fromkeys(columns.split(","), ""), of)
        for option, of in (("margin", PERSONS), ("household_margin", HOUSEHOLDS))
        for name, columns in read_named(options[option], f"--{option.replace('_', '-')}").items()
    ]
    margins += [MarginLayout.of_part(column) for column in options["part"]]
    if options["members"]:
        margins.append(_relate_members(options))
    if not margins:
        raise UsageError(
            "Say which columns are published: --all-columns, which takes those that the layout "
            "relates (geodp inspect FILE), or --margin NAME=COLUMN,COLUMN and --part COLUMN.",
            code="census-margins-unstated",
        )
    if len(options["value"]) != 1:
        raise UsageError("Name the column of all persons: --value COLUMN.", code="census-persons")
    households = "" if options["members"] else options["households"] or ""
    return TableLayout(options["value"][0], households, tuple(margins), hidden, chosen=True)


def _relate_members(options: dict[str, Any]) -> MarginLayout:
    """Return the relation of the columns of households and of their members."""
    from geodp.io.read.layout.relations import MarginLayout
    from geodp.kinds.census.margins import MEMBER, OUTSIDE, REFERENCE, STATUS

    columns = {options["households"]: REFERENCE, options["members"]: f"{REFERENCE}, {MEMBER}"}
    return MarginLayout(
        STATUS, columns, labels=(REFERENCE, MEMBER), rest=OUTSIDE, max_size=options["max_size"]
    )
