"""``geodp flows publish``: trips bounded by person, released under one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check
from geodp.cli.help import with_options
from geodp.cli.options import inputs
from geodp.cli.publishing import TablesPublishing
from geodp.cli.request_options import read_request
from geodp.cli.running import carry_out
from geodp.kinds.flows.options import PUBLISHED
from geodp.kinds.flows.running.inputs import (
    make_trips_reader,
    read_levels,
    read_prior,
    split_grid,
)
from geodp.kinds.flows.running.options import TripsCommand
from geodp.options.shared import CHECK, FOLDER, GIVEN_DOMAIN, REQUEST

if TYPE_CHECKING:
    from geodp.io.folder.staged_release import StagedTables
    from geodp.kinds.flows.flows import Flows
    from geodp.kinds.flows.publish import FlowsDesign, FlowsInputs
    from geodp.release.transaction import Prepared

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
@with_options(GIVEN_DOMAIN, PUBLISHED, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
def publish(**options: Any) -> None:
    """Release the trips of INPUTS between zones, and from and to every zone, under one budget.

    \b
    One row for each trip, with a column of persons; or counted rows:
    geodp flows publish FILE --from O --to D --person ID --trips 10 ...
    geodp flows publish FILE --from O --to D --value N --contribution 10 ...
    geodp flows publish FILE --pings LAT,LON --time T --person ID --trips 10 ...
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
        from geodp.kinds.flows.kind import FlowsKind

        (self.grid, labels), self.levels = split_grid(options), read_levels(options["level"])
        # The prior of a request is one of counts, and is read from another kind of file.
        fixed = {"method": options["method"], "kind": FlowsKind(), "prior": None}
        self.request = read_request(begin_check(options), self.grid, **fixed)
        self.reader = make_trips_reader(options, self.grid, self.request, labels)

    @property
    def inputs(self) -> type[FlowsInputs]:
        """Class of what is stored of the inputs."""
        from geodp.kinds.flows.publish import FlowsInputs

        return FlowsInputs

    def prepare(self) -> Prepared[FlowsDesign, Flows]:
        """Read the trips, and prepare their release."""
        from geodp.kinds.flows.publish import prepare_flows

        # A public file: what is wrong with it is told before trips are read.
        options, prior = self.options, read_prior(self.options, self.grid)
        table = self.reader.read([*options["inputs"]])
        share = options["label_share"]
        return prepare_flows(table, self.request, self.levels, share, prior)

    def design(self, inputs: FlowsInputs) -> FlowsDesign:
        """Design the release from the inputs of an interrupted run."""
        from geodp.kinds.flows.publish import design_flows
        from geodp.kinds.flows.zones import Zones, require_zones

        require_zones(self.reader.grid)
        zones, attributes = Zones.of(self.reader.grid), self.reader.labelled.attributes
        share = self.options["label_share"]
        return design_flows(zones, attributes, self.request, inputs, self.levels, share)

    def try_out(self, place: StagedTables, prepared: Prepared[FlowsDesign, Flows]) -> None:
        """Write empty tables and noisy pairs."""
        plan, preview = prepared.design.plan, prepared.design.preview
        noisy, labels = tuple(plan.empty_pairs), tuple(plan.empty_labels)
        place.try_out(replace(preview, noisy=noisy, labels=labels), [PAIRS])

    def fields(self, release: Flows) -> dict[str, Any]:
        """Return whom the guarantee protects, and which file has no noise."""
        promise = release.index.guarantee
        without_noise = {"without_noise": ["prior.parquet"]} if _has_prior_file(release) else {}
        return {"unit": promise.unit, "trips": promise.contribution, **without_noise}

    def choose_area(self) -> Sequence[str]:
        """Return options for the trips within an area."""
        from geodp.grid.region import choose_code

        code = choose_code(self.grid)
        return ["--polygons", "FILE"] if code is None else ["--from", code, "--to", code]

    def sentences(self, release: Flows) -> list[str]:
        """Say which file has no noise."""
        return [PRIOR_WRITTEN] if _has_prior_file(release) else []


def _has_prior_file(release: Flows) -> bool:
    """Test whether a release has a file of its prior."""
    return release.index.prior is not None and not release.index.prior.left_out
