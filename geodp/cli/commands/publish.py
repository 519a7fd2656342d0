"""``geodp publish``: read the inputs, release their counts, and write the release."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from geodp.cli.check import begin_check
from geodp.cli.help import with_options
from geodp.cli.inputs import grid_of, read_plan_options
from geodp.cli.layout import complete
from geodp.cli.options import inputs
from geodp.cli.publishing import Publishing, Written
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import read_request
from geodp.cli.running import carry_out, time_phase
from geodp.cli.translation import translate, translate_message
from geodp.errors import UsageError, require_library
from geodp.options.option import Option, joined
from geodp.options.shared import CHECK, CLUSTER, DOMAIN, FOLDER, LAYOUT, REQUEST, RUN
from geodp.registry import find_modules

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.folder.staged_release import StagedRelease
    from geodp.mechanisms import Mechanism
    from geodp.privacy.assumption import Assumption
    from geodp.release.plan_file import Settings
    from geodp.release.publish import TableDesign
    from geodp.release.release import Release
    from geodp.release.request import Request
    from geodp.release.transaction import Inputs, Prepared

OPTIONS = joined(
    Option(
        "--plan",
        "TOML file of geodp plan, which sets the method, the budget and the unit of privacy.",
        group="Privacy",
        type=Path,
    ),
    Option(
        "--stop-at",
        "Publish coarser cells: a published area such as jis:basic, or a number of cells per side.",
        group="Domain",
    ),
    Option(
        "--formats",
        "Further formats for OUTPUT/formats, separated by commas: those of geodp export.",
        group="Output",
    ),
)
"""Options of a release of one table alone."""

REPLACED = FOLDER.one(
    "overwrite",
    help="Remove the release in OUTPUT. To correct a published release, use --supersedes and a "
    "new OUTPUT.",
)


@click.command(cls=ReadingCommand, no_args_is_help=True)
@inputs
@with_options(LAYOUT, DOMAIN, REQUEST, OPTIONS, RUN, CLUSTER, REPLACED, FOLDER, CHECK)
def publish(**options: Any) -> None:
    """Release confidential counts from INPUTS with differential privacy.

    \b
    Any file:             the last line of: geodp inspect FILE
    Official files:       geodp publish tblT001141H5339.zip --epsilon 0.1 --output out
    Official mesh files:  geodp publish *.zip --grid jis:half --bounds japan --value LABEL ...
    Tables:               geodp publish grid.parquet --grid inspire:1km --x x --y y --value T ...
    Points:               geodp publish people.csv --grid jis:quarter --points --x lon --y lat ...
    Count rasters:        geodp publish counts.tif --grid like:template.tif ...

    INPUTS are files, folders, patterns such as 'pings/*.parquet', and URLs (pip install
    'geodp[url]'); downloaded files stay in the folder of --scratch until they have been read.

    Writes OUTPUT/public and OUTPUT/restricted. Nothing that depends on the data is printed. A
    selection or domain without any row is refused before anything is charged.
    """
    carry_out(options, _publish)


ASSUMED = "Assumed: {statement} {answer}{source}."


class TablePublishing(Publishing):
    """A run of ``geodp publish``: grid, method and request are known before anything is read."""

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        context = click.get_current_context()
        # All that can be refused by options and headers alone comes before any row is read.
        self.inferred = complete(context, options)
        if self.inferred:
            check_applicable(context)  # explicit options may conflict with those from the layout
        self.plan: Settings | None = None
        if options["plan"] is not None:
            self.plan = read_plan_options(context)
            options |= self.plan.arguments
        if not options["unit"].strip() or not options["unit"].isprintable():
            raise UsageError("--unit must name whom the guarantee protects.", code="unit-in-words")
        self.on_cluster = wants_cluster(options)
        with time_phase("Starting", "imports", seconds):
            self._start()

    def _start(self) -> None:
        """Open and check everything that does not depend on the data, so that errors come early."""
        from geodp.grid.coarsen import Coarsening
        from geodp.io.folder.formats import choose_exports
        from geodp.io.folder.staged_release import check_publication

        options, self.read_on = self.options, grid_of(self.options)
        stop = options["stop_at"]
        self.coarser = None if stop is None else Coarsening.of(self.read_on, stop)
        self.grid = self.read_on if self.coarser is None else self.coarser.grid
        self.request = read_request(begin_check(options), self.grid)
        formats = options["formats"]
        self.formats = [] if formats is None else choose_exports(formats)
        if self.plan is not None:
            self.plan.require_grid(self.grid)
        if refusal := cast("Mechanism", self.request.method).unsupported(self.grid):
            raise UsageError(refusal)
        name, overwrite = options["name"], options["overwrite"]
        check_publication(self.grid, options["output"], name=name, overwrite=overwrite)

    def prepare(self) -> Prepared[TableDesign, Release]:
        """Read the confidential table on the grid that is published."""
        from geodp.release.publish import prepare
        from geodp.table.counts import coarsen

        table = read(self.options, self.read_on, self.request.key)
        if self.coarser is not None:
            table = coarsen(table, self.coarser)
        if self.plan is not None:
            self.plan.require_bound(table)
        return prepare(table, self.request)

    def design(self, inputs: Inputs) -> TableDesign:
        """Design the release from the inputs of an interrupted run."""
        from geodp.release.publish import design_table

        return design_table(self.grid, self.request, inputs)

    def list_notes(self, prepared: Prepared[TableDesign, Release]) -> list[str]:
        """List warnings, also about delta, who answers for the contribution, and measurements."""
        from geodp.release.preview import list_warnings

        design = prepared.design
        notes = [f"Warning: {one}" for one in list_warnings(design.preview, self.request)]
        # The operator did not state the contribution, so the operator must at least see it.
        if design.event.layout:
            notes.append(_format_assumption(design.event.assumption))
        return [*notes, *([design.measurements.summary] if design.measurements else [])]

    def stage(self) -> AbstractContextManager[StagedRelease]:
        """Yield the folder of the release."""
        from geodp.io.folder.staged_release import StagedRelease

        return StagedRelease.stage(**self.place)

    def try_out(self, place: StagedRelease, prepared: Prepared[TableDesign, Release]) -> None:
        """Write an empty release in all formats."""
        design = prepared.design
        view = design.preview.view().named(self.options["name"])
        if self.formats:
            place.try_exports(view, prepared.cells, self.formats)
        place.try_out(view, prepared.cells, design.nodes)

    def write(self, release: Release, run: dict[str, Any], place: StagedRelease) -> Written:
        """Write the release, and further formats from its public files."""
        from geodp.io.memory import work_within
        from geodp.release.opening import open_view

        run = {**run, "released_people": release.table.total, "seconds": dict(self.seconds)}
        # The only phase whose memory grows with the output formats, so the limit applies to it.
        with work_within(self.options["memory"]):
            written = place.write(release.view().named(self.options["name"]), run)
            if self.formats:
                written["formats"] = place.write_exports(open_view(place.folder), self.formats)
        return written

    def fields(self, release: Release) -> dict[str, Any]:
        """Return the warnings about a release."""
        from geodp.release.preview import list_warnings

        # Working them out may read a ledger, and a message has shown them already.
        is_read = self.options["as_json"]
        return {"warnings": [*list_warnings(release, self.request)] if is_read else []}


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish; return the message for the operator."""
    run = TablePublishing(options, seconds)
    if run.on_cluster:
        return publish_on_cluster(options, run.read_on, run.request)
    return run.run()


def _format_assumption(one: Assumption) -> str:
    """Format the assumed contribution, and who is responsible for it."""
    from geodp.privacy.assumption import ANSWERS

    return translate(ASSUMED).format(
        statement=translate_message(one.statement),
        answer=translate(ANSWERS[one.stated_by]),
        source="" if one.source is None else f": {one.source}",
    )


def wants_cluster(options: Mapping[str, Any]) -> bool:
    """Return whether a cluster is requested; UsageError without the library for it."""
    if options["cluster"] is None and options["workers"] is None:
        return False
    require_library("distributed", "A cluster", "dask")
    return True


def publish_on_cluster(options: Mapping[str, Any], grid: Grid, request: Request) -> str:
    """Publish on the requested cluster; return a message.

    What does it is loaded only on request.
    """
    cluster: Any = next(find_modules("publishing"))
    return str(cluster.publish(options, grid, request))
