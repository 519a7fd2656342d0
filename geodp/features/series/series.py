"""A series: releases of one grid, what they spend together, and their folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from geodp import __version__
from geodp.features.series.card import SERIES_SCHEMA, SeriesCard, StatedWhole
from geodp.features.series.files import StagedSeries, stage_series
from geodp.features.series.periods import Periods
from geodp.features.series.sharing import Sharing
from geodp.features.series.smoothing import Smoothing
from geodp.io.folder.staged_release import check_publication
from geodp.privacy.event import Measurement
from geodp.release.release import Release
from geodp.table.charged import StatedCharge
from geodp.table.stated.release import Software


class Series(list[Release]):
    """Releases in the order of time.

    Attributes
    ----------
    periods : Periods
    sharing : Sharing
        How the budget is shared among them, and why with this noise.
    smoothing : Smoothing
        What they tell about each other.
    whole : Measurement
        What they spend together.
    """

    def __init__(
        self,
        releases: Iterable[Release],
        periods: Periods,
        sharing: Sharing,
        smoothing: Smoothing,
        whole: Measurement,
    ) -> None:
        super().__init__(releases)
        self.periods = periods
        self.sharing = sharing
        self.smoothing = smoothing
        self.whole = whole

    def __repr__(self) -> str:
        return f"Series({self.periods!r}, {self.whole.loss})"

    def card(self, name: str = "population") -> SeriesCard:
        """Return the index without snapshots and files."""
        whole, charge = self.whole, self[0].charge
        said = whole.describe()
        amounts = [n + end for n in ("epsilon", "rho", "delta") for end in ("", "_decimal")]
        promise = StatedWhole(
            in_words=whole.statement.replace("any result", "any result of these releases together"),
            mechanism=whole.mechanism,
            **{name: said[name] for name in amounts},
            spends=whole.spends,
            each_spends=self[0].event.spends,
            neighbours=said["neighbours"],
            unit=whole.unit,
            contribution=whole.contribution,
            sharing=self.sharing.stated,
        )
        return SeriesCard(
            schema=SERIES_SCHEMA,
            software=Software("geodp", __version__),
            private=whole.is_private,
            name=name,
            step=self.periods.step,
            guarantee=promise,
            budget=None if charge is None else StatedCharge.of(charge),
            smoothing=self.smoothing.mode,
            cycles=self.smoothing.cycles,
        )

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
            As for :meth:`geodp.Release.write`. In ``path/public`` every snapshot has a folder of
            its own, named by its time, that is a whole release; ``series.json`` is the index.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths of files and of snapshots.

        Raises
        ------
        UsageError, OutputError
            As :meth:`geodp.Release.write`.
        """
        grid = self[0].grid
        check_publication(grid, path, name=name, overwrite=overwrite)
        with stage_series(grid, path, name=name, overwrite=overwrite) as place:
            return self.write_into(place, restricted or {})

    def write_into(self, place: StagedSeries, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the same into a folder that was staged before the charge."""
        views = (one.view() for one in self)
        return place.write(self.periods, views, self.card(place.name), restricted)
