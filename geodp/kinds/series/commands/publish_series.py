"""``geodp publish-series``: the snapshots of a series, read, released and written together."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check
from geodp.cli.help import with_options
from geodp.cli.inputs import grid_of
from geodp.cli.layout import INPUTS, complete
from geodp.cli.publishing import Publishing, Written
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import read_request
from geodp.cli.running import carry_out, time_phase
from geodp.cli.stated import read_metadata_options
from geodp.errors import Rule, UsageError, printable
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


PLAIN = ""
"""In the place of a time: files with all snapshots, of which a column says the period."""


def part_inputs(
    context: click.Context, _parameter: click.Parameter, texts: Sequence[str]
) -> tuple[Path, ...]:
    """Return the files of ``TIME=FILE`` and of plain files, and store those of each time.

    UsageError for a repeated time: its files may be the two hours of one name at the end of summer
    time, or two editions of one month, and would be added up.
    """
    from geodp.io.read.rows.forms.locations import refuse_url
    from geodp.io.read.rows.input_files import list_paths

    parted: dict[str, tuple[Path, ...]] = {}
    for text in texts:
        time, equals, path = text.partition("=")
        # A file's own name may contain an equals sign.
        if not equals or not path or os.path.isfile(text):
            time, path = PLAIN, text
        refuse_url(path)
        if time in parted and time != PLAIN:
            raise UsageError(
                f"The time {printable(time[:40])} occurs twice; each may occur once only. If "
                "several files make up one snapshot, give their folder or a pattern: "
                "2024-05='may/*.csv'.",
                code="snapshot-twice-given",
            )
        files = [path] if os.path.isfile(path) else list_paths(path)
        parted[time] = (*parted.get(time, ()), *map(Path, files))
    # Readers and layouts expect a flat list of files; the times are needed again when snapshots
    # are read.
    context.params["snapshots"], context.meta[INPUTS] = parted, texts
    return tuple(path for paths in parted.values() for path in paths)


FORMS = Rule(
    "snapshot-form",
    "Inputs of a series have the form TIME=FILE, such as 2024-05=may.csv; or they are plain files "
    "whose names contain one time each, such as visits-2024-05.csv; or a column says the period of "
    "each row (--period COLUMN --periods 2024-01..2024-12).",
)


def _list_named(files: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """List the snapshots of files, or of members of archives, whose names contain their times."""
    from geodp.io.read.rows.members import list_members
    from geodp.release.periods import find_period

    snapshots: dict[str, dict[str, Any]] = {}
    for path in files:
        members = list_members(path)
        for name in members if len(members) > 1 else [path.name]:
            time = find_period(name)
            if time is None or time in snapshots:
                raise UsageError(FORMS)
            member = {"member": name} if len(members) > 1 else {}
            snapshots[time] = {"inputs": (path,), **member}
    return dict(sorted(snapshots.items()))


def list_snapshots(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """List the snapshots by time, each with the options by which it is read.

    Those are its files, the file or member whose name contains the time, or all files and the rows
    of its period. UsageError where no time of a snapshot is known, and for periods of another step
    than the columns say.
    """
    from geodp.release.periods import Periods

    parted, period, periods = (options[name] for name in ("snapshots", "period", "periods"))
    files = parted.get(PLAIN, ())
    if (files and len(parted) > 1) or (period is not None and not files):
        raise UsageError(FORMS)
    if not files:
        return {time: {"inputs": paths} for time, paths in sorted(parted.items())}
    if period is None:
        return _list_named(files)
    first, _, last = periods.partition("..")
    columns, snapshots = period.split(","), {}
    for time in Periods.between(first, last).names:
        parts = [time] if len(columns) == 1 else re.split("[-T]", time)
        if len(parts) != len(columns):
            raise UsageError(
                f"--period names {len(columns)} columns, and {time} has {len(parts)} parts: name "
                "one column, or one for every part, such as year,month for 2024-05.",
                code="period-columns-differ",
            )
        terms = (f"{column}={part}" for column, part in zip(columns, parts, strict=True))
        snapshots[time] = {"inputs": files, "where": (*options["where"], *terms)}
    return snapshots


@click.command("publish-series", cls=ReadingCommand, rare=("mask",), no_args_is_help=True)
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
