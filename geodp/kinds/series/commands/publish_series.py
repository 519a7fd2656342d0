"""``geodp publish-series``: the snapshots of a series, read, released and written together."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check
from geodp.cli.help import with_options
from geodp.cli.inputs import grid_of
from geodp.cli.layout import complete
from geodp.cli.periods import list_snapshots, part_inputs, take_first_column
from geodp.cli.publishing import Publishing, Written
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import read_metadata_options, read_request
from geodp.cli.running import carry_out, time_phase
from geodp.errors import UsageError
from geodp.options.option import Option, joined
from geodp.options.shared import CHECK, DOMAIN, FOLDER, LAYOUT, PERIODS, PERSON_IN, REQUEST, RUN

if TYPE_CHECKING:
    from geodp.kinds.series.publish import SeriesDesign
    from geodp.kinds.series.series import Series, StagedSeries
    from geodp.release.transaction import Inputs, Prepared

NOT_OF_A_SERIES = ("method", "measurements", "totals", "prior", "simulate")
"""Fields of a request that a series does not have, or has in another form."""

SERIES = joined(
    Option(
        "--noise",
        "best: the one with the smaller errors; Gaussian noise needs a --delta.",
        group="Privacy",
        choices=("best", "laplace", "gaussian"),
        default="best",
    ),
    Option(
        "--smooth",
        "Whether a snapshot is also predicted from earlier ones, or from earlier and later ones; "
        "best: both, with the pyramid. It costs nothing: the measurements are the same.",
        group="Output",
        choices=("best", "both", "forward", "none"),
        default="best",
    ),
    Option(
        "--cycle",
        "Number of snapshots after which a pattern repeats, such as 24 and 168 for hours; "
        "repeatable.",
        group="Output",
        low=2,
        many=True,
    ),
    Option(
        "--method",
        "Method, as NAME or NAME:SETTING=VALUE (see geodp methods).",
        group="Privacy",
        default="pyramid",
    ),
)
"""Options of a series of tables alone."""


@click.command(
    "publish-series", cls=ReadingCommand, rare=("mask", "where", "by"), no_args_is_help=True
)
@click.argument("inputs", nargs=-1, required=True, callback=part_inputs)
@with_options(
    *(LAYOUT, DOMAIN, PERIODS, PERSON_IN, SERIES, REQUEST.without(*NOT_OF_A_SERIES)),
    *(RUN, FOLDER, CHECK),
)
def publish_series(**options: Any) -> None:
    """Release the snapshots of a series under one budget: a file for each, or one for all.

    \b
    geodp publish-series 2024-01=january.csv 2024-02=february.csv ... --grid jis:basic
        --bounds 139 35 140 36 --value stays --epsilon 0.1 --delta 1e-10
        --person-in all --output out
    geodp publish-series year.csv --period month --periods 2024-01..2024-12 ...
    geodp publish-series wide.csv --period-columns 'pop_*' ...
    geodp publish-series 'visits-*.csv' ...

    Times are years, months, days or hours: 2024, 2024-05, 2024-05-31, 2024-05-31T23, each given
    once; FILE may be a folder or a pattern. Use a series (geodp publish-series) for a
    time that all persons pass through, and an attribute (--by) for a label that a person has
    once. Writes
    OUTPUT/public, with a folder for every snapshot, and OUTPUT/restricted. Nothing that depends on
    the data is printed.
    """
    carry_out(options, lambda *run: SeriesPublishing(*run).run())


class SeriesPublishing(Publishing):
    """A run of ``geodp publish-series``, validated before anything is read."""

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        from geodp.io.folder.staged_release import check_publication
        from geodp.kinds.series.kind import SeriesOfReleases
        from geodp.kinds.series.publish import SeriesOptions
        from geodp.mechanisms import mechanism
        from geodp.release.metadata import require_series_metadata
        from geodp.release.periods import Periods

        context = click.get_current_context()
        take_first_column(context, options)
        self.inferred = complete(context, options)
        check_applicable(context)
        if not options["unit"].strip() or not options["unit"].isprintable():
            raise UsageError("--unit must name whom the guarantee protects.", code="unit-in-words")
        self.snapshots = list_snapshots(options)
        self.periods = Periods.of([*self.snapshots])
        method, self.grid = mechanism(options["method"]), grid_of(options)
        metadata = require_series_metadata(read_metadata_options(options, SeriesOfReleases()))
        asked = begin_check(options)
        self.request = read_request(asked, self.grid, method=method, metadata=metadata)
        if refusal := method.unsupported(self.grid):
            raise UsageError(refusal)
        name, overwrite = options["name"], options["overwrite"]
        check_publication(self.grid, options["output"], name=name, overwrite=overwrite)
        self.series = SeriesOptions(
            person=options["person_in"],
            noise=options["noise"],
            smooth=options["smooth"],
            cycles=options["cycle"],
        )

    def prepare(self) -> Prepared[SeriesDesign, Series]:
        """Read every snapshot, and resolve everything that precedes the charge."""
        from geodp.kinds.series.publish import prepare_series

        tables = []
        for time in self.periods.names:
            options = {**self.options, **self.snapshots[time]}
            with time_phase(f"Reading {time}", f"reading {time}", self.seconds):
                tables.append(read(options, self.grid, self.request.key))
        return prepare_series(tables, self.periods, self.request, self.series)

    def design(self, inputs: Inputs) -> SeriesDesign:
        """Design the series from the inputs of an interrupted run."""
        from geodp.kinds.series.publish import design_series

        return design_series(self.grid, self.periods, self.request, self.series, inputs)

    def list_notes(self, prepared: Prepared[SeriesDesign, Series]) -> list[str]:
        """List warnings, and say how the snapshots share the budget."""
        return [*super().list_notes(prepared), *prepared.design.sharing.sentences]

    def stage(self) -> AbstractContextManager[StagedSeries]:
        """Yield the folder of the series."""
        from geodp.kinds.series.series import StagedSeries

        return StagedSeries.stage(**self.place)

    def try_out(self, place: StagedSeries, prepared: Prepared[SeriesDesign, Series]) -> None:
        """Write an empty snapshot in all formats."""
        view = prepared.design.shown.view().named(self.options["name"])
        place.try_out(view, prepared.cells)

    def write(self, release: Series, run: dict[str, Any], place: StagedSeries) -> Written:
        """Write the snapshots under the name of the count."""
        run = {**run, "released_people": [one.table.total for one in release]}
        return place.write(release, self.options["name"], run)

    def fields(self, release: Series) -> dict[str, Any]:
        """Return the snapshots, and how they share the budget."""
        return {
            "snapshots": list(release.periods.names),
            "each": release.card().guarantee.each_spends,
            "sharing": list(release.sharing.sentences),
        }
