"""A series: releases on one grid, their total privacy event, and their folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from geodp.features.series.card import SeriesCard, SeriesGuarantee, SharingInfo
from geodp.features.series.files import StagedSeries
from geodp.features.series.smoothing import Smoothing
from geodp.io.folder.staged_release import check_publication
from geodp.privacy.event import Measurement
from geodp.release.card import state_budget
from geodp.release.opening import WrittenRelease, open_release
from geodp.release.periods import Periods
from geodp.release.release import Release
from geodp.release.sharing import Sharing
from geodp.table.index import state_event


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
