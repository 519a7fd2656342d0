"""The folder of a series: a release in a folder of its own for every snapshot, and an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geodp import progress
from geodp.features.series.card import INDEX, SeriesCard, StatedSnapshot
from geodp.features.series.formats import netcdf, sheet
from geodp.features.series.periods import Periods
from geodp.grid.grid import Grid
from geodp.io.folder.kept import discard_draft, reserve
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import SUMS, sha256, sums_text
from geodp.io.folder.publication import (
    RUN,
    card_bytes,
    list_written,
    make_restricted,
    write_public,
    write_restricted,
)
from geodp.io.folder.staged_release import (
    list_cells,
    require_space,
    try_formats,
    try_longest_name,
)
from geodp.io.folder.staging import stage
from geodp.io.opening import read_json
from geodp.io.write.view import View
from geodp.table.card import File, LeftOut

LONGEST_TIME = "2000-01-01T00"
"""The longest name of a snapshot's folder, as an example."""


@dataclass(frozen=True)
class StagedSeries:
    """A folder for a series, made and tried before anything is charged.

    Attributes
    ----------
    folder : Path
        The staged folder.
    target : Path
        Whose place it takes.
    grid : Grid
    name : str
        Of the count.
    """

    folder: Path
    target: Path
    grid: Grid
    name: str

    def try_out(self, empty: View, cells: Sequence[int]) -> None:
        """Do what does not need the tables, and take the space for them.

        ``empty``: of a snapshot without a cell; ``cells``: occupied ones of each.
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
        """Write the snapshots, what shows all of them, and the index; return their paths."""
        public = self.folder / "public"
        discard_draft(self.folder)
        public.mkdir()
        snapshots, shown = [], []
        for time, one in zip(periods.names, views, strict=True):
            progress.begin(f"Writing {time}", public=True)
            (public / time).mkdir()
            named = one.named(self.name)
            write_public(named, public / time)
            snapshots.append(_state(public / time, time))
            shown.append(named)
        card = replace(card, snapshots=tuple(snapshots))
        files, left_out = _write_beside(public, periods, shown, card)
        write_index(public, replace(card, files=files, left_out=left_out))
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)


def _state(folder: Path, time: str) -> StatedSnapshot:
    """Return what the index says of a snapshot that is written."""
    card = read_json(folder / CARD)
    return StatedSnapshot(time, card["release_id"], sha256(folder / CARD))


def _write_beside(
    public: Path, periods: Periods, shown: Sequence[View], card: SeriesCard
) -> tuple[tuple[File, ...], tuple[LeftOut, ...]]:
    """Write what shows all snapshots together; return what the index says of it."""
    files, left_out = [], []
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


def write_index(public: Path, card: SeriesCard) -> None:
    """Write the index, and the checksums of all files below the folder."""
    (public / INDEX).write_bytes(card_bytes(card.to_json()))
    every = (path for path in public.rglob("*") if path.is_file())
    sums = {path.relative_to(public).as_posix(): sha256(path) for path in every}
    (public / SUMS).write_text(sums_text(sums), encoding="utf-8", newline="\n")


@contextmanager
def stage_series(
    grid: Grid, path: str | Path, *, name: str, overwrite: bool, resume: bool = False
) -> Iterator[StagedSeries]:
    """Yield a :class:`StagedSeries` that takes the place of ``path`` when the block ends well.

    Parameters and errors are those of :func:`geodp.io.folder.staged_release.stage_release`.
    """
    netcdf.check(grid)
    with stage(path, overwrite=overwrite, resume=resume) as folder:
        make_restricted(folder, path, again=resume)
        yield StagedSeries(folder, Path(path), grid, name)
