"""Publish a release for every period by a command, whatever the kind.

A kind says how it reads a period and prepares a series of what was read; its class names
:class:`PeriodsPublishing` before that of a single release, of which the rest is taken.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from geodp.cli.layout import INPUTS, set_options
from geodp.cli.options import is_stated
from geodp.cli.publishing import TablesPublishing
from geodp.cli.request_options import read_metadata_options
from geodp.cli.running import time_phase
from geodp.errors import Rule, UsageError, printable

if TYPE_CHECKING:
    from geodp.io.folder.staged_release import StagedPeriods
    from geodp.release.request import Request
    from geodp.release.series import PeriodsDesign
    from geodp.release.transaction import Prepared

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
    parted, period, periods = (options[name] for name in ("snapshots", "period", "periods"))
    files = parted.get(PLAIN, ())
    if (files and len(parted) > 1) or (period is not None and not files):
        raise UsageError(FORMS)
    if not files:
        return {time: {"inputs": paths} for time, paths in sorted(parted.items())}
    times = None if periods is None else _list_times(periods)
    if options["period_columns"] is not None:
        several = isinstance(options["value"], tuple)
        return {
            time: {"inputs": files, "value": (column,) if several else column}
            for time, column in _find_columns(options, times).items()
        }
    if period is None or times is None:
        return _list_named(files)
    columns, snapshots = period.split(","), {}
    for time in times:
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


def _list_times(periods: str) -> Sequence[str]:
    """List the periods from the first to the last of ``FIRST..LAST``."""
    from geodp.release.periods import Periods

    first, _, last = periods.partition("..")
    return Periods.between(first, last).names


def _find_columns(options: Mapping[str, Any], times: Sequence[str] | None) -> dict[str, str]:
    """Find the column of counts of each period in the header of the first file."""
    from geodp.io.read.rows.columns import open_tables
    from geodp.io.read.rows.period_columns import find_period_columns
    from geodp.io.read.rows.span import OPENING

    (first, *_), opening = options["inputs"], {name: options[name] for name in OPENING}
    with closing(open_tables(first, **opening)) as tables:
        table = next(tables)
        names = [name.strip() for name in table.columns]
    return find_period_columns(names, options["period_columns"], times, table.name)


def take_first_column(context: click.Context, options: dict[str, Any]) -> None:
    """Take the first of the columns of periods for that of counts, by which a layout is known."""
    if options["period_columns"] is None:
        return
    if is_stated(context, "value"):
        raise UsageError(
            "Give --period-columns or --value, not both.", code="option-excludes-option"
        )
    periods = options["periods"]
    columns = _find_columns(options, None if periods is None else _list_times(periods))
    column = next(iter(columns.values()))
    several = any(one.name == "value" and one.multiple for one in context.command.params)
    set_options(context, options, {"value": (column,) if several else column})


NOT_COUNTS = Rule(
    "period-columns-of-counts",
    "Columns of periods (--period-columns) are of counts of one kind: write one row for each "
    "place, or record, and period instead, with the period in a column (--period, --periods), or "
    "give a file for each period.",
)


class PeriodsPublishing(TablesPublishing):
    """A run of a command that publishes a release for every period under one budget.

    Attributes
    ----------
    periods : Periods
    snapshots : dict of str to dict
        Options by which each period is read, by its time.
    are_counts : bool
        Class attribute: whether one column has the counts of a period.
    """

    are_counts: ClassVar[bool] = False

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        if options["period_columns"] is not None and not self.are_counts:
            raise UsageError(NOT_COUNTS)
        take_first_column(click.get_current_context(), options)
        super().__init__(options, seconds)

    def read_request(self, **fields: Any) -> Request:
        """Make the request of all periods together."""
        from geodp.release.metadata import require_series_metadata
        from geodp.release.periods import Periods

        self.snapshots = list_snapshots(self.options)
        self.periods = Periods.of([*self.snapshots])
        metadata = require_series_metadata(read_metadata_options(self.options, self.kind))
        return super().read_request(metadata=metadata, **fields)

    @abstractmethod
    def read_period(self, options: dict[str, Any]) -> Any:
        """Read what belongs to one period, with the options for it."""

    @abstractmethod
    def prepare_periods(self, tables: Sequence[Any], **known: Any) -> Prepared[PeriodsDesign, Any]:
        """Do everything that comes before the charge, with what was read of every period."""

    def prepare(self) -> Prepared[PeriodsDesign, Any]:
        """Read every period, and prepare their release."""
        known, tables = self.read_known(), []
        for time in self.periods.names:
            with time_phase(f"Reading {time}", f"reading {time}", self.seconds):
                tables.append(self.read_period({**self.options, **self.snapshots[time]}))
        return self.prepare_periods(tables, **known)

    def preview(self, prepared: Prepared[Any, Any]) -> Any:
        """Return the first period without counts, whose names are those of all."""
        return prepared.design.parts[0].preview

    def stage(self) -> AbstractContextManager[StagedPeriods]:
        """Yield the folder of the series."""
        from geodp.io.folder.staged_release import StagedPeriods

        return StagedPeriods.stage(**self.place)

    def list_trials(self, prepared: Prepared[Any, Any]) -> list[Any]:
        """List releases of one period whose files are tried before the charge."""
        return super().list_trials(replace(prepared, design=prepared.design.parts[0]))

    def list_cells(self, prepared: Prepared[Any, Any]) -> list[int]:
        """List the occupied cells of every period."""
        return [*prepared.cells]

    def fields(self, release: Any) -> dict[str, Any]:
        """Return the fields of every period, the names of all periods, and the budget of each."""
        of_each = super().fields(release.releases[0])
        each = release.index.guarantee.each_spends
        return {**of_each, "periods": list(release.periods.names), "each": each}
