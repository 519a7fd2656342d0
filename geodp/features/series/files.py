"""The folder of a series: a release in a separate folder for every snapshot, and an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geodp.features.series.card import INDEX, SeriesCard, SnapshotInfo
from geodp.features.series.formats import netcdf, sheet
from geodp.features.series.periods import Periods
from geodp.grid.grid import Grid
from geodp.io.folder.manifest import sha256
from geodp.io.folder.pending import discard_draft, reserve
from geodp.io.folder.publication import (
    RUN,
    list_written,
    make_restricted,
    write_index,
    write_member,
    write_restricted,
)
from geodp.io.folder.staged_release import (
    list_cells,
    require_space,
    try_formats,
    try_longest_name,
)
from geodp.io.folder.staging import stage
from geodp.io.write.view import View
from geodp.table.card import File, LeftOut

LONGEST_TIME = "2000-01-01T00"
"""The longest name of a snapshot's folder, as an example."""


@dataclass(frozen=True)
class StagedSeries:
    """A folder for a series, created and tested before anything is charged.

    Attributes
    ----------
    folder : Path
        The staged folder.
    target : Path
        The folder that it replaces.
    grid : Grid
    name : str
        Name of the count.
    """

    folder: Path
    target: Path
    grid: Grid
    name: str

    def try_out(self, empty: View, cells: Sequence[int]) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        ``empty``: view of a snapshot without cells; ``cells``: number of occupied cells of each.
        """
        try_formats(empty.named(self.name))
        try_longest_name(self.folder, self.name, LONGEST_TIME)
        listed = sum(list_cells(self.grid, empty.card, one) for one in cells)
        require_space(self.folder, listed)
        reserve(self.folder, listed)

    def write(
        self,
        periods: Periods,
        views: Iterable[View],
        card: SeriesCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the snapshots, the files for all of them, and the index; return their paths."""
        public = self.folder / "public"
        # The draft has reserved the space that the files take now.
        discard_draft(self.folder)
        public.mkdir()
        snapshots, shown = [], []
        for time, one in zip(periods.names, views, strict=True):
            named = one.named(self.name)
            snapshots.append(SnapshotInfo(time, *write_member(named, public / time)))
            shown.append(named)
        card = replace(card, snapshots=tuple(snapshots))
        files, left_out = _write_shared(public, periods, shown, card)
        index = replace(card, files=files, left_out=left_out)
        write_index(public, INDEX, index.to_json())
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)


def _write_shared(
    public: Path, periods: Periods, shown: Sequence[View], card: SeriesCard
) -> tuple[tuple[File, ...], tuple[LeftOut, ...]]:
    """Write the files that show all snapshots together, and return their entries in the index."""
    files, left_out = [], []
    # Both are views of the snapshots: a series without them, such as one of pairs, is complete.
    for form in (netcdf, sheet):
        name = f"{card.name}.{form.ENDING}"
        reason = form.why_not(shown)
        if reason is not None:
            left_out.append(LeftOut(name, reason))
            continue
        form.write(public / name, periods, shown, card)
        digest = sha256(public / name)
        files.append(File(name=name, media_type=form.MEDIA_TYPE, what=form.WHAT, sha256=digest))
    return tuple(files), tuple(left_out)


@contextmanager
def stage_series(
    grid: Grid, path: str | Path, *, name: str, overwrite: bool, resume: bool = False
) -> Iterator[StagedSeries]:
    """Yield a :class:`StagedSeries` that replaces ``path`` if the block ends without an error.

    Parameters and errors are those of :func:`geodp.io.folder.staged_release.stage_release`.
    """
    netcdf.check(grid)
    with stage(path, overwrite=overwrite, resume=resume) as folder:
        make_restricted(folder, path, again=resume)
        yield StagedSeries(folder, Path(path), grid, name)
