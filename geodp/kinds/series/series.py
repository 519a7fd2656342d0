"""A series: releases on one grid, their total privacy event, their folder, and its verification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from geodp.errors import Rule
from geodp.io.folder.kinds import Check
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
from geodp.io.verify.card import require
from geodp.io.verify.index import measurement_of, read_listed_card, require_losses
from geodp.io.verify.readback import read_masked_grid, read_release_table
from geodp.io.verify.rewritten import check_rewritten, has_bundled_letters
from geodp.io.verify.statements import has_words_of
from geodp.io.verify.written import Remake
from geodp.io.write.view import View
from geodp.kinds.series import netcdf, sheet
from geodp.kinds.series.kind import SeriesCard, SeriesGuarantee, SharingInfo, SnapshotInfo
from geodp.kinds.series.smoothing import Smoothing
from geodp.mechanisms import Mechanism, find_method
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from geodp.release.opening import WrittenRelease, open_release
from geodp.release.periods import Periods
from geodp.release.release import SMOOTHED, Release
from geodp.release.series import ReleasedPeriods
from geodp.release.sharing import (
    CROSSING,
    SHOWN,
    Sharing,
    count_changed,
    count_levels,
    describe_sharing,
    spread_loss,
)
from geodp.release.verifying_series import Period, Way, verify_periods
from geodp.table.card import LeftOut
from geodp.table.index import Joint, read_amounts, state_event


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

    def write(self, series: Series, name: str, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the snapshots, the files for all of them, and the index; return their paths."""
        views, public = (
            {time: one.view(name) for time, one in series.named.items()},
            self.make_public(),
        )
        written = write_tables(views.items(), len(views), public)
        snapshots = [SnapshotInfo(one.name, one.release_id, one.card_sha256) for one in written]
        card = replace(series.index, name=name, snapshots=tuple(snapshots))
        files, left_out = write_shared(public, series.periods, [*views.values()], card)
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


@dataclass(frozen=True, eq=False, repr=False)
class Series(ReleasedPeriods[Release, SeriesCard]):
    """Releases in chronological order, by number and by time.

    Attributes
    ----------
    periods, releases, index
        See :class:`geodp.release.series.ReleasedPeriods`.
    sharing : Sharing
        The division of the budget among them, and the choice of noise.
    smoothing : Smoothing
        How they predict each other.
    total : Measurement
        Privacy event of all releases together.
    """

    sharing: Sharing
    smoothing: Smoothing
    total: Measurement

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
        check_publication(self.ground, path, name=name, overwrite=overwrite)
        with StagedSeries.stage(path, overwrite=overwrite) as place:
            return place.write(self, name, restricted or {})


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


def open_series(folder: Path, card: SeriesCard) -> ReleasedPeriods[WrittenRelease, SeriesCard]:
    """Open the snapshots in a public folder."""
    releases = tuple(open_release(folder / time) for time in card.times)
    return ReleasedPeriods(Periods.of(card.times), releases, card)


def verify_series(folder: Path, errors: Remake | None = None) -> list[Check]:
    """Verify that the index of a series follows from its snapshots, and verify each of these.

    Parameters and result are those of :func:`geodp.io.verify.index.verify_index`.
    """
    return verify_periods(folder, SeriesCard, errors, OF_TABLES)


def _read(folder: Path, card: SeriesCard) -> dict[str, Period]:
    """Read the cards of snapshots; VerificationError for others than those listed."""
    tables = {
        one.time: read_listed_card(folder / one.time, one, card.name, card)
        for one in card.snapshots
    }
    return {time: Period(one, measurement_of(one).own) for time, one in tables.items()}


def _state(folder: Path, card: SeriesCard, read: Mapping[str, Period]) -> Iterator[SeriesCard]:
    """Yield the index that follows from each snapshot, and from the reason for the noise."""
    promise, periods = card.guarantee, Periods.of(card.times)
    first, own, _ = read[periods.names[0]]
    grid = read_masked_grid(folder / periods.names[0], first)
    method = cast(Mechanism, find_method(own.mechanism))
    total = replace(own, **read_amounts(promise))
    terms = Terms(total.loss, total.neighbours, unit=total.unit).bound(total.bound)
    gaussian, changed = (
        total.rho is not None,
        count_changed(card.person, promise.neighbours, len(read)),
    )
    levels = count_levels(grid, method, terms, gaussian=gaussian)
    info = SharingInfo(card.person, changed, levels, gaussian, promise.sharing.rule)
    require(
        not has_words_of(card.software, first.mechanism.noise_format)
        or _is_rule(info, method, len(read)),
        Rule("series-rule-differs", "The index gives a reason for another noise than it has."),
    )
    smoothing = Smoothing(card.smoothing, card.cycles)
    for _, each, _ in read.values():
        total = replace(each, **read_amounts(promise))
        yield state_index(card.name, periods, each, total, info, smoothing)


def _is_rule(info: SharingInfo, method: Mechanism, snapshots: int) -> bool:
    """Test whether a sentence is a reason for the noise that such a series can have.

    Which of the reasons it was, and the ratio of errors in it, depend on what was asked for: a
    delta that the noise does not need is in no release.
    """
    sharing = describe_sharing(snapshots, info.person, info.changed, info.levels)
    name, number = "Gaussian" if info.gaussian else "Laplace", r"[1-9][0-9]{0,9}"
    reasons = [
        re.escape("chosen by who publishes"),
        re.escape("as the other would be too wide to be drawn"),
    ]
    sizes = f"of {', '.join(f'{size:,}' for size in SHOWN[:-1])} and {SHOWN[-1]:,} cells"
    reasons.append(
        re.escape(f"as its errors at blocks {sizes} are ") + r"(0\.[0-9]{2}|1\.00) of the other's"
    )
    few = f"{CROSSING} or more" if info.gaussian else f"below {CROSSING}"
    reasons.append(f"as {number} measurements of a person with Laplace noise are {few}")
    reasons.append(
        "as rho was given" if info.gaussian else re.escape(f"as {method.name} has no other")
    )
    pattern = re.escape(f"{sharing}{name} noise, ") + f"({'|'.join(reasons)})" + r"\."
    return re.fullmatch(pattern, info.rule) is not None


def _check_smoothing(folder: Path, card: SeriesCard) -> str:
    """Check that every snapshot states the loss of all that it was smoothed with, and by what."""
    read, smoothing = _read(folder, card), Smoothing(card.smoothing, card.cycles)
    promise, expected = card.guarantee, {}
    for number, (time, (table, own, _)) in enumerate(read.items()):
        seen, total = smoothing.count_seen(number, len(read)), replace(own, **read_amounts(promise))
        expected[time] = spread_loss(own, total, promise.sharing.changed, seen)
        said = tuple(text for text in table.post_processing if text.startswith(SMOOTHED))
        require(
            not has_words_of(card.software, table.mechanism.noise_format)
            or said == smoothing.description,
            Rule("series-smoothed-otherwise", f"{time} says that it was smoothed otherwise."),
        )
    differs = Rule("series-loss-differs", "A snapshot depends on another loss than it states.")
    tables = {time: one.table for time, one in read.items()}
    return f"{card.smoothing}{require_losses(tables, expected, differs)}"


def _check_shared(folder: Path, card: SeriesCard) -> str:
    """Check that files of all snapshots together are those that the snapshots make."""
    shown = [View(*read_release_table(folder / time)) for time in card.times]
    compared = check_rewritten(
        folder,
        (card.files, card.left_out),
        lambda place: write_shared(place, Periods.of(card.times), shown, card),
        shown[0].table.grid,
        pictures=has_words_of(card.software) and has_bundled_letters(shown[0]),
    )
    return compared or "none, as no format shows such counts"


OF_TABLES = Way(_read, _state, [("smoothing", _check_smoothing), ("shared files", _check_shared)])
"""Way of series whose periods are tables."""
