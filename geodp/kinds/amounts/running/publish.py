"""``geodp amounts publish`` and ``publish-series``: records, read, released and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import with_options
from geodp.cli.inputs import grid_of
from geodp.cli.options import inputs
from geodp.cli.periods import PeriodsPublishing, part_inputs
from geodp.cli.publishing import TablesPublishing
from geodp.cli.running import carry_out
from geodp.kinds.amounts.options import KEPT, PUBLISHED, SERIES
from geodp.kinds.amounts.running.options import (
    BEYOND,
    RecordsCommand,
    check_reading,
    make_records_reader,
    read_amounts_prior,
    read_axes,
)
from geodp.options.shared import CHECK, FOLDER, GIVEN_DOMAIN, RECIPE, REQUEST

if TYPE_CHECKING:
    from geodp.io.folder.kinds import Kind
    from geodp.kinds.amounts.given import Keeping
    from geodp.kinds.amounts.publish import AmountsInputs
    from geodp.kinds.amounts.series import AmountsSeries, AmountsSeriesOptions
    from geodp.kinds.amounts.streams import AmountTable
    from geodp.release.request import Request
    from geodp.release.series import PeriodsDesign
    from geodp.release.transaction import Prepared, StoredDesign


ELSEWHERE = (
    "method",
    "contribution",
    "measurements",
    "totals",
    "simulate",
)
"""Fields of a request that this release does not have, or has in another form."""


@click.command(cls=RecordsCommand, rare=("mask", "points", "by", "where"), no_args_is_help=True)
@inputs
@with_options(RECIPE, GIVEN_DOMAIN, PUBLISHED, KEPT, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
def publish(**options: Any) -> None:
    """Release counts, sums and means of the records of INPUTS, and their medians, under one budget.

    \b
    A row for each record, located by codes, coordinates or point geometries:
    geodp amounts publish FILE --code mesh --amount income ...
    geodp amounts publish FILE --x LON --y LAT --amount income --person ID ...

    Counts, sums and means agree in every area, and means are within the clip. Writes
    OUTPUT/public, with a table of all numbers and a folder with a map of the records, and
    OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    carry_out(options, lambda *run: AmountsPublishing(*run).run())


class AmountsPublishing(TablesPublishing):
    """A run of ``geodp amounts publish``, checked before anything is read."""

    beyond = BEYOND

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        check_reading(click.get_current_context(), options)
        self.grid = grid_of(options)
        self.request = self.read_request()
        self.axes = read_axes(options, self.grid)
        self.asked = {"means": not options["no_means"], "share": options["share"]}

    @property
    def kind(self) -> Kind:
        """The kind of release."""
        from geodp.kinds.amounts.kind import AmountsKind

        return AmountsKind()

    def read_request(self, **fields: Any) -> Request:
        """Make the request; its prior may be a release of amounts, and is read apart."""
        fixed = {"method": self.options["method"], "prior": None}
        return super().read_request(**fixed, **fields)

    @property
    def inputs(self) -> type[AmountsInputs]:
        """Class of what is stored of the inputs."""
        from geodp.kinds.amounts.publish import AmountsInputs

        return AmountsInputs

    def prepare(self) -> Prepared[Any, Any]:
        """Read the records, and prepare their release."""
        from geodp.kinds.amounts.publish import prepare_amounts

        known = self.read_known()
        table = self.read_records(self.options)
        return prepare_amounts(table, self.request, **self.asked, **known, keeping=self.keeping)

    @property
    def keeping(self) -> Keeping:
        """The earlier release of the same persons, and what was said of it."""
        from geodp.kinds.amounts.given import Keeping

        asked = self.options
        return Keeping(asked["given"], asked["given_source"], asked["relation"])

    def read_known(self) -> dict[str, Any]:
        """Read the prior, a public file: what is wrong with it is told before records are read."""
        prior, source = read_amounts_prior(self.options, self.grid)
        return {"prior": prior, "prior_source": source}

    def read_records(self, options: dict[str, Any]) -> AmountTable:
        """Read the records that options name; each reader counts what lies beyond the clip."""
        return make_records_reader(options, self.grid, self.request).read(options["inputs"])

    def design(self, inputs: Any) -> StoredDesign:
        """Design the release from the inputs of an interrupted run."""
        from geodp.kinds.amounts.publish import design_amounts

        return design_amounts(self.axes, self.request, inputs, **self.asked, keeping=self.keeping)

    def list_trials(self, prepared: Prepared[Any, Any]) -> list[Any]:
        """List a release of no record, and of one."""
        return [prepared.design.preview, prepared.design.example]

    def fields(self, release: Any) -> dict[str, Any]:
        """Return the amount."""
        return {"amount": asdict(release.index.amount)}


@click.command(
    "publish-series",
    cls=RecordsCommand,
    rare=("mask", "points", "by", "where", "value", "classes", "delta"),
    no_args_is_help=True,
)
@click.argument("inputs", nargs=-1, required=True, callback=part_inputs)
@with_options(RECIPE, GIVEN_DOMAIN, SERIES, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
def publish_series(**options: Any) -> None:
    """Release amounts of several periods under one budget: a file for each, or one for all.

    \b
    geodp amounts publish-series 2015=persons-2015.csv 2020=persons-2020.csv --grid jis:half
        --bounds 139 35 140 36 --code mesh --amount income --clip 0 1000
        --unit-of-amount "10,000 yen" --contribution 1 --epsilon 1 --person-in all --output out
    geodp amounts publish-series FILE --period year --periods 2015..2020 ...

    Times are years, months, days or hours: 2024, 2024-05, 2024-05-31, 2024-05-31T23, each given
    once; FILE may be a folder or a pattern. All periods have one clip, step, unit and one set of
    classes. Writes OUTPUT/public, with a release of amounts in a folder for every period, and
    OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    carry_out(options, lambda *run: AmountSeriesPublishing(*run).run())


class AmountSeriesPublishing(PeriodsPublishing, AmountsPublishing):
    """A run of ``geodp amounts publish-series``, checked before anything is read."""

    @property
    def kind(self) -> Kind:
        """The kind of series."""
        from geodp.kinds.amounts.kind import AmountsSeriesKind

        return AmountsSeriesKind()

    @property
    def series(self) -> AmountsSeriesOptions:
        """The options of the series."""
        from geodp.kinds.amounts.series import AmountsSeriesOptions

        return AmountsSeriesOptions(person=self.options["person_in"], **self.asked)

    def read_period(self, options: dict[str, Any]) -> AmountTable:
        """Read the records of one period."""
        return self.read_records(options)

    def prepare_periods(
        self, tables: Sequence[AmountTable], **known: Any
    ) -> Prepared[PeriodsDesign, AmountsSeries]:
        """Prepare the release of the records of all periods."""
        from geodp.kinds.amounts.series import prepare_series

        return prepare_series(tables, self.periods, self.request, self.series, **known)

    def design(self, inputs: AmountsInputs) -> PeriodsDesign:
        """Design the series from the inputs of an interrupted run."""
        from geodp.kinds.amounts.series import design_series

        return design_series(self.axes, self.periods, self.request, self.series, inputs)
