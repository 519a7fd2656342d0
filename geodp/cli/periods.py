"""Publish a release for every period by a command, whatever the kind.

A kind says how it reads a period and prepares a series of what was read; its class names
:class:`PeriodsPublishing` before that of a single release, of which the rest is taken.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.layout import INPUTS
from geodp.cli.publishing import TablesPublishing
from geodp.cli.running import time_phase
from geodp.cli.stated import read_metadata_options
from geodp.errors import UsageError, printable

if TYPE_CHECKING:
    from geodp.io.folder.staged_release import StagedPeriods
    from geodp.release.request import Request
    from geodp.release.series import PeriodsDesign
    from geodp.release.transaction import Prepared


def part_inputs(
    context: click.Context, _parameter: click.Parameter, texts: Sequence[str]
) -> tuple[Path, ...]:
    """Return the files of ``TIME=FILE``, and store those of each time in the context.

    UsageError for a repeated time: its files may be the two hours of one name at the end of summer
    time, or two editions of one month, and would be added up.
    """
    from geodp.io.read.rows.forms.locations import refuse_url
    from geodp.io.read.rows.input_files import list_paths

    parted: dict[str, tuple[Path, ...]] = {}
    for text in texts:
        time, equals, path = text.partition("=")
        if not equals or not path:
            raise UsageError(
                "Inputs of a series have the form TIME=FILE, such as 2024-05=may.csv.",
                code="snapshot-form",
            )
        refuse_url(path)
        if time in parted:
            raise UsageError(
                f"The time {printable(time[:40])} occurs twice; each may occur once only. If "
                "several files make up one snapshot, give their folder or a pattern: "
                "2024-05='may/*.csv'.",
                code="snapshot-twice-given",
            )
        files = [path] if os.path.isfile(path) else list_paths(path)
        parted[time] = tuple(map(Path, files))
    # Readers and layouts expect a flat list of files; the times are needed again when snapshots
    # are read.
    context.params["snapshots"], context.meta[INPUTS] = parted, texts
    return tuple(path for paths in parted.values() for path in paths)


class PeriodsPublishing(TablesPublishing):
    """A run of a command that publishes a release for every period under one budget.

    Attributes
    ----------
    periods : Periods
    """

    def read_request(self, **fields: Any) -> Request:
        """Make the request of all periods together."""
        from geodp.release.metadata import require_series_metadata
        from geodp.release.periods import Periods

        self.periods = Periods.of(sorted(self.options["snapshots"]))
        metadata = require_series_metadata(read_metadata_options(self.options, self.kind))
        return super().read_request(metadata=metadata, **fields)

    @abstractmethod
    def read_period(self, paths: Sequence[Path]) -> Any:
        """Read the files of one period."""

    @abstractmethod
    def prepare_periods(self, tables: Sequence[Any], **known: Any) -> Prepared[PeriodsDesign, Any]:
        """Do everything that comes before the charge, with what was read of every period."""

    def prepare(self) -> Prepared[PeriodsDesign, Any]:
        """Read every period, and prepare their release."""
        known, tables = self.read_known(), []
        for time in self.periods.names:
            with time_phase(f"Reading {time}", f"reading {time}", self.seconds):
                tables.append(self.read_period(self.options["snapshots"][time]))
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
        """Return what every period states, the periods, and the budget of each."""
        of_each = super().fields(release.releases[0])
        each = release.index.guarantee.each_spends
        return {**of_each, "periods": list(release.periods.names), "each": each}
