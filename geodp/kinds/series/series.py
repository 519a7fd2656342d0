"""A series: releases on one grid, their total privacy event, and their folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from geodp.io.folder.publication import list_file, write_index
from geodp.io.folder.staged_release import (
    LONGEST_TIME,
    Staged,
    check_publication,
    list_cells,
    try_formats,
    try_longest_name,
    write_tables,
)
from geodp.io.write.view import View
from geodp.kinds.series.card import SeriesCard, SeriesGuarantee, SharingInfo, SnapshotInfo
from geodp.kinds.series.formats import netcdf, sheet
from geodp.kinds.series.smoothing import Smoothing
from geodp.privacy.event import Measurement
from geodp.release.card import state_budget
from geodp.release.opening import WrittenRelease, open_release
from geodp.release.periods import Periods
from geodp.release.release import Release
from geodp.release.sharing import Sharing
from geodp.table.card import LeftOut
from geodp.table.index import Joint, state_event


class StagedSeries(Staged):
    """A folder for a series, created and tested before anything is charged."""

    def try_out(self, empty: View, cells: Sequence[int]) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        ``empty``: view of a snapshot without cells; ``cells``: number of occupied cells of each.
        """
        # All snapshots have the same formats, so that one of them is tried.
        try_formats(empty)
        try_longest_name(self.folder, empty.card.name, LONGEST_TIME)
        self.reserve(sum(list_cells(empty, one) for one in cells))

    def write(
        self,
        periods: Periods,
        views: Iterable[View],
        card: SeriesCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the snapshots, the files for all of them, and the index; return their paths."""
        shown = [one.named(card.name) for one in views]
        public = self.make_public()
        written = write_tables(dict(zip(periods.names, shown, strict=True)), public)
        snapshots = [SnapshotInfo(one.name, one.release_id, one.card_sha256) for one in written]
        card = replace(card, snapshots=tuple(snapshots))
        files, left_out = write_shared(public, periods, shown, card)
        write_index(public, replace(card, files=files, left_out=left_out))
        return self.finish(restricted)


def write_shared(folder: Path, periods: Periods, shown: Sequence[View], card: SeriesCard) -> Joint:
    """Write the files that show all snapshots together; return the index's entries of them."""
    files, left_out = [], []
    # Both are views of the snapshots: a series without them, such as one of pairs, is complete.
    forms: tuple[Any, ...] = (netcdf, sheet)
    for form in forms:
        path = folder / f"{card.name}.{form.ENDING}"
        if (reason := form.why_not(shown)) is not None:
            left_out.append(LeftOut(path.name, reason))
            continue
        form.write(path, periods, shown, card)
        files.append(list_file(path, form.MEDIA_TYPE, form.WHAT))
    return tuple(files), tuple(left_out)


class Series(list[Release]):
    """Releases in chronological order.

    Attributes
    ----------
    periods : Periods
    sharing : Sharing
        The division of the budget among them, and the choice of noise.
    smoothing : Smoothing
        How they predict each other.
    total : Measurement
        Privacy event of all releases together.
    """

    def __init__(
        self,
        releases: Iterable[Release],
        periods: Periods,
        sharing: Sharing,
        smoothing: Smoothing,
        total: Measurement,
    ) -> None:
        super().__init__(releases)
        self.periods = periods
        self.sharing = sharing
        self.smoothing = smoothing
        self.total = total

    def __repr__(self) -> str:
        return f"Series({self.periods!r}, {self.total.loss})"

    def card(self, name: str = "population") -> SeriesCard:
        """Return the index, without snapshots and files."""
        charge, sharing = self[0].charge, self.sharing
        info = SharingInfo(
            *(sharing.person, sharing.changed, sharing.levels, sharing.gaussian, sharing.rule)
        )
        each = cast(Measurement, self[0].event).own
        stated = state_index(name, self.periods, each, self.total, info, self.smoothing)
        return replace(stated, budget=state_budget(charge))

    def write(
        self,
        path: str | Path,
        *,
        name: str = "population",
        overwrite: bool = False,
        restricted: dict[str, Any] | None = None,
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path, name, overwrite, restricted
            See :meth:`geodp.Release.write`. In ``path/public`` every snapshot has a folder, named
            by its time, with a complete release; ``series.json`` is the index.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths of files and of snapshots.

        Raises
        ------
        UsageError, OutputError
            See :meth:`geodp.Release.write`.
        """
        check_publication(self[0].grid, path, name=name, overwrite=overwrite)
        with StagedSeries.stage(path, overwrite=overwrite) as place:
            return self.write_into(place, name, restricted or {})

    def write_into(
        self, place: StagedSeries, name: str, restricted: dict[str, Any]
    ) -> dict[str, list[str]]:
        """Write the series into a folder that was staged before the charge."""
        views = (one.view() for one in self)
        return place.write(self.periods, views, self.card(name), restricted)


def state_index(
    name: str,
    periods: Periods,
    each: Measurement,
    total: Measurement,
    info: SharingInfo,
    smoothing: Smoothing,
) -> SeriesCard:
    """State what all snapshots share, without the charge, the snapshots and the files.

    Parameters
    ----------
    name : str
        Name of the count.
    periods : Periods
    each, total : Measurement
        Event of the noise of a snapshot, and of all snapshots together.
    info : SharingInfo
    smoothing : Smoothing
    """
    stated = state_event(total, "any result of these releases together")
    return SeriesCard.state(
        total,
        name=name,
        step=periods.step,
        guarantee=SeriesGuarantee(**stated, each_spends=each.spends, sharing=info),
        smoothing=smoothing.mode,
        cycles=smoothing.cycles,
    )


def open_series(folder: Path, card: SeriesCard) -> dict[str, WrittenRelease]:
    """Open the snapshots in a public folder, by their times, in order."""
    return {one.time: open_release(folder / one.time) for one in card.snapshots}
