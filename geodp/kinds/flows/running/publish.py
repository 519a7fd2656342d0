"""``geodp flows publish``: trips bounded by person, released under one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import click

from geodp.cli.help import with_options
from geodp.cli.options import inputs
from geodp.cli.periods import PeriodsPublishing, part_inputs
from geodp.cli.publishing import TablesPublishing
from geodp.cli.running import carry_out
from geodp.kinds.flows.options import PUBLISHED, SERIES
from geodp.kinds.flows.running.inputs import (
    TripsCommand,
    make_trips_reader,
    read_measured,
    read_prior,
    split_grid,
)
from geodp.options.shared import CHECK, FOLDER, GIVEN_DOMAIN, RECIPE, REQUEST

if TYPE_CHECKING:
    from geodp.grid.axes import Attribute
    from geodp.io.folder.kinds import Kind
    from geodp.kinds.flows.flows import Flows
    from geodp.kinds.flows.publish import FlowsInputs
    from geodp.kinds.flows.series import FlowsSeries, FlowsSeriesOptions
    from geodp.kinds.flows.zones import Zones
    from geodp.release.series import PeriodsDesign
    from geodp.release.transaction import Prepared, StoredDesign
    from geodp.table.counts import CountTable

PAIRS = 1 << 20
"""Pairs that space is required for before the charge, if there are as many: how many are released
follows from the trips, which no outcome may tell. Where a disk is too small for more, the run ends
after its charge, and ``--resume`` completes it on a disk with space."""

PRIOR_WRITTEN = (
    "prior.parquet in the public folder has the flows of the prior as they were given: this file "
    "has no noise."
)

ELSEWHERE = (
    "method",
    "contribution",
    "unit",
    "people",
    "measurements",
    "totals",
    "prior",
    "simulate",
)
"""Fields of a request that this release does not have, or has in another form."""


@click.command(cls=TripsCommand, no_args_is_help=True)
@inputs
@with_options(RECIPE, GIVEN_DOMAIN, PUBLISHED, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
def publish(**options: Any) -> None:
    """Release the trips of INPUTS between zones, and from and to every zone, under one budget.

    \b
    One row for each trip, with a column of persons; or counted rows:
    geodp flows publish FILE --from O --to D --person ID --trips 10 ...
    geodp flows publish FILE --from O --to D --value N --contribution 10 ...
    geodp flows publish FILE --pings LON,LAT --time T --person ID --trips 10 ...
    geodp flows publish FILE --stays PLACE --time T --person ID --trips 10 ...

    Trips from every zone add up to its released origins, and trips to it to its destinations.
    Writes OUTPUT/public, with a folder for each table, and OUTPUT/restricted. Nothing that depends
    on the data is printed.
    """
    carry_out(options, lambda *run: FlowsPublishing(*run).run())


class FlowsPublishing(TablesPublishing):
    """A run of ``geodp flows publish``, checked before anything is read."""

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        (self.grid, self.labels), self.measured = split_grid(options), read_measured(options)
        # The prior of a request is one of counts, and is read from another kind of file.
        self.request = self.read_request(method=options["method"], prior=None)
        self.reader = self.make_reader(options)

    def make_reader(self, options: dict[str, Any]) -> Any:
        """Make the reader of the trips that options name."""
        return make_trips_reader(options, self.grid, self.request, self.labels)

    @property
    def kind(self) -> Kind:
        """The kind of release."""
        from geodp.kinds.flows.kind import FlowsKind

        return FlowsKind()

    @property
    def inputs(self) -> type[FlowsInputs]:
        """Class of what is stored of the inputs."""
        from geodp.kinds.flows.publish import FlowsInputs

        return FlowsInputs

    def prepare(self) -> Prepared[Any, Any]:
        """Read the trips, and prepare their release."""
        from geodp.kinds.flows.levels import FlowsOptions
        from geodp.kinds.flows.publish import prepare_flows

        known, measured = self.read_known(), FlowsOptions(**self.measured)
        table = self.reader.read([*self.options["inputs"]])
        return prepare_flows(table, self.request, measured, **known)

    def read_known(self) -> dict[str, Any]:
        """Read the prior, a public file: what is wrong with it is told before trips are read."""
        return {"prior": read_prior(self.options, self.grid)}

    def find_domain(self) -> tuple[Zones, tuple[Attribute, ...]]:
        """Find the zones and the attributes of trips, without reading inputs."""
        from geodp.kinds.flows.zones import Zones, require_zones

        require_zones(self.reader.grid)
        return Zones.of(self.reader.grid), self.reader.labelled.attributes

    def design(self, inputs: FlowsInputs) -> StoredDesign:
        """Design the release from the inputs of an interrupted run."""
        from geodp.kinds.flows.levels import FlowsOptions
        from geodp.kinds.flows.publish import design_flows

        measured = FlowsOptions(**self.measured)
        return design_flows(*self.find_domain(), self.request, inputs, measured)

    def list_trials(self, prepared: Prepared[Any, Any]) -> list[Any]:
        """List a release of empty tables and noisy pairs."""
        plan, preview = prepared.design.plan, prepared.design.preview
        noisy, labels = tuple(plan.empty_pairs), tuple(plan.empty_labels)
        return [replace(preview, noisy=noisy, labels=labels)]

    def list_cells(self, prepared: Prepared[Any, Any]) -> list[int]:
        """List a number of pairs that does not follow from the trips."""
        return [PAIRS]

    def fields(self, release: Any) -> dict[str, Any]:
        """Return whom the guarantee protects, and which file has no noise."""
        promise = release.index.guarantee
        without_noise = {"without_noise": ["prior.parquet"]} if _has_prior_file(release) else {}
        return {"unit": promise.unit, "trips": promise.contribution, **without_noise}

    def choose_area(self) -> Sequence[str]:
        """Return options for the trips within an area."""
        from geodp.grid.region import choose_code

        code = choose_code(self.grid)
        return ["--polygons", "FILE"] if code is None else ["--from", code, "--to", code]

    def sentences(self, release: Any) -> list[str]:
        """Say which file has no noise."""
        return [PRIOR_WRITTEN] if _has_prior_file(release) else []


@click.command(
    "publish-series", cls=TripsCommand, rare=("where", "mask", "delta"), no_args_is_help=True
)
@click.argument("inputs", nargs=-1, required=True, callback=part_inputs)
@with_options(RECIPE, GIVEN_DOMAIN, SERIES, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
def publish_series(**options: Any) -> None:
    """Release the trips of several periods under one budget: a file for each, or one for all.

    \b
    geodp flows publish-series 2019=trips-2019.csv 2020=trips-2020.csv --grid jis:basic
        --bounds tokyo --from o --to d --person id --trips 10 --epsilon 1
        --person-in all --output out
    geodp flows publish-series FILE --period year --periods 2019..2020 ...

    Files of all periods are of one form, as geodp flows publish reads it, and the zones are the
    same. They share one budget, which is charged once. Times are years, months, days or hours:
    2024, 2024-05, 2024-05-31, 2024-05-31T23, each given once; FILE may be a folder or a pattern.
    Writes OUTPUT/public, with a release in a folder for every period, and OUTPUT/restricted.
    Nothing that depends on the data is printed.
    """
    carry_out(options, lambda *run: FlowsSeriesPublishing(*run).run())


class FlowsSeriesPublishing(PeriodsPublishing, FlowsPublishing):
    """A run of ``geodp flows publish-series``, checked before anything is read."""

    are_counts: ClassVar[bool] = True

    @property
    def kind(self) -> Kind:
        """The kind of series."""
        from geodp.kinds.flows.kind import FlowsSeriesKind

        return FlowsSeriesKind()

    @property
    def series(self) -> FlowsSeriesOptions:
        """The options of the series."""
        from geodp.kinds.flows.series import FlowsSeriesOptions

        return FlowsSeriesOptions(person=self.options["person_in"], **self.measured)

    def read_period(self, options: dict[str, Any]) -> CountTable:
        """Read the trips of one period."""
        table: CountTable = self.make_reader(options).read([*options["inputs"]])
        return table

    def prepare_periods(
        self, tables: Sequence[CountTable], **known: Any
    ) -> Prepared[PeriodsDesign, FlowsSeries]:
        """Prepare the release of the trips of all periods."""
        from geodp.kinds.flows.series import prepare_series

        return prepare_series(tables, self.periods, self.request, self.series, **known)

    def design(self, inputs: FlowsInputs) -> StoredDesign:
        """Design the series from the inputs of an interrupted run."""
        from geodp.kinds.flows.series import design_series

        domain = self.find_domain()
        return design_series(*domain, self.periods, self.request, self.series, inputs)

    def list_cells(self, prepared: Prepared[Any, Any]) -> list[int]:
        """List a number of pairs for every period."""
        return [PAIRS] * len(self.periods.names)

    def sentences(self, release: Any) -> list[str]:
        """Say which file of every period has no noise."""
        return super().sentences(release.releases[0])


def _has_prior_file(release: Flows) -> bool:
    """Test whether a release has a file of its prior."""
    return release.index.prior is not None and not release.index.prior.left_out
