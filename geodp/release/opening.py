"""Open written releases: table, card and errors are read from the files, or computed again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from geodp.accuracy.interval import Tops
from geodp.errors import Rule, UsageError, VerificationError, printable
from geodp.io.folder.kinds import kind_of
from geodp.io.verify.card import (
    open_card,
    public_folder,
    read_card,
    read_table_card,
    warn_if_withdrawn,
)
from geodp.io.verify.readback import explain_damage
from geodp.io.verify.written import read_view
from geodp.io.write.tables import Intervals, RowErrors
from geodp.io.write.view import View
from geodp.mechanisms import Mechanism, find_method, is_method
from geodp.privacy.event import Measurement
from geodp.release.release import SMOOTHED, Release
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.table.measured import MeasuredLevels

WRITTEN = Rule(
    "release-written-already",
    "This release is written already: copy its folder, or geodp export.",
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WrittenRelease(Release):
    """A release read from a folder; values of its files replace those that would be computed.

    Attributes
    ----------
    written : Card
    stored : RowErrors or None
        None if the error depends on the data.
    """

    written: Card
    stored: RowErrors | None = None

    @classmethod
    def of(cls, view: View) -> WrittenRelease:
        """Make a release from the view of a written one."""
        card = view.card
        floor = card.expected_error.floor
        return cls(
            view.table,
            card.budget,
            None if floor is None else floor.people,
            measurements=view.measurements,
            totals=view.totals,
            prior=card.prior,
            # What else the card lists is of the method, or of the prior.
            postprocessing=tuple(one for one in card.post_processing if one.startswith(SMOOTHED)),
            metadata=card.metadata,
            reading=card.reading,
            written=card,
            stored=view.errors,
        )

    @property
    def name(self) -> str:
        """Name of the count, from the card."""
        return self.written.name

    def card(self) -> Card:
        """Return the card as it was read."""
        return self.written

    def errors(self, tops: Tops | None = None) -> RowErrors | None:
        """Return the errors of cells from the files."""
        return self.stored

    def intervals(self, tops: Tops | None = None) -> Intervals | None:
        """Return 95 % intervals of single cells from the files."""
        return None if self.stored is None else self.stored.intervals

    def _of_map(self, table: ReleasedTable) -> Release:
        """Make the release of the map of all parts together, whose intervals no file has."""
        # The stored intervals are those of parts: a cell of the map would be taken for a cell
        # that is not listed, and get the interval of one.
        values = {one.name: getattr(self, one.name) for one in fields(Release) if one.init}
        return Release(**values | {"table": table, "custom_method": None, "charge": None})

    def write(self, path: str | Path, **kwargs: Any) -> dict[str, list[str]]:
        """Raise UsageError: a written release is copied, or exported to other formats."""
        raise UsageError(WRITTEN)


def require_unwritten(tables: Iterable[Release]) -> None:
    """Raise UsageError for tables of a release that was read from a folder.

    What is computed anew from its counts need not be what its files say under the same ids.
    """
    if any(isinstance(one, WrittenRelease) for one in tables):
        raise UsageError(WRITTEN)


# Of any type, so that it is also what an annotation of a kind's own class says.
class OpenedRelease(Any):  # type: ignore[misc]
    """Type of what was opened, for editors and mypy: what releases of all kinds answer.

    A kind has more, such as ``chosen`` of a selection. A selection has no counts: what asks for
    some raises UsageError, which says so.
    """

    def card(self) -> Any:
        """Return the public card, or the index of several tables."""

    def estimate(self, *region: Any, **options: Any) -> Any:
        """Estimate a region, or a flow, with 95 % intervals; of a series by period."""

    def compare(self, *regions: Any, **options: Any) -> Any:
        """Estimate by how much regions, releases or periods differ, with 95 % intervals."""

    def to_pandas(self) -> Any:
        """Convert the rows to a ``pandas.DataFrame``."""

    def to_geopandas(self) -> Any:
        """Convert the rows to a ``geopandas.GeoDataFrame``."""

    def to_xarray(self) -> Any:
        """Convert the maps to a ``xarray.DataArray`` or ``Dataset``."""

    def plot(self, *what: Any, **options: Any) -> Any:
        """Draw a map, or of a series curves, on Matplotlib axes."""

    def explore(self, *what: Any, **options: Any) -> Any:
        """Show an interactive map in a notebook."""

    def _repr_html_(self) -> Any:
        """Render a preview as HTML, for notebooks."""


def open_written(path: str | Path) -> OpenedRelease:
    """Open anything that geodp has written (``geodp.open``); the type depends on what it is.

    A release of a table is opened as a :class:`WrittenRelease` (see :func:`open_release`), a series
    as a :class:`geodp.release.series.ReleasedPeriods` of releases by time, and a selection as its
    card, whose ``chosen`` are the codes. All have the methods of :class:`OpenedRelease`.

    Raises VerificationError if there is no release at ``path``.

    Examples
    --------
    >>> import tempfile, numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((4, 4), 9), geodp.Grid.regular((4, 4)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = geodp.publish(table, epsilon=1, contribution=1).write(f"{folder}/release")
    ...     geodp.open(f"{folder}/release").grid.shape
    (4, 4)
    """
    folder = public_folder(path)
    card = open_card(folder)
    if isinstance(card, Card):
        return cast(OpenedRelease, _open_table(folder, card))
    warn_if_withdrawn(folder)
    with explain_damage(folder):
        return cast(OpenedRelease, card.open(folder))


def open_release(path: str | Path) -> WrittenRelease:
    """Open a written release: counts, card and errors are those of its files.

    The files are not recomputed from each other: verify a release from an untrusted source with
    :func:`geodp.io.verify.verify.verify` first. Published measurements are read, too.

    Parameters
    ----------
    path : path
        The release's folder, or its ``public`` folder alone.

    Raises
    ------
    VerificationError
        There is no release of a table, or its files do not match its card.

    Examples
    --------
    >>> import tempfile, numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((4, 4), 90), geodp.Grid.regular((4, 4)))
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.write(f"{folder}/out", name="residents")
    ...     again = geodp.open(f"{folder}/out")
    >>> again.name, again.table.total == release.table.total
    ('residents', True)
    """
    folder = public_folder(path)
    return _open_table(folder, read_table_card(folder))


def _open_table(folder: Path, card: Card) -> WrittenRelease:
    """Read the release of a table in a public folder, given its card."""
    return WrittenRelease.of(read_view(folder, card))


def open_view(path: str | Path) -> View:
    """Open a written release and return its view, from which maps and pages are made.

    Raises VerificationError like :func:`open_release`.
    """
    return open_release(path).view()


class Part(NamedTuple):
    """A part of a written release: the public folder of it, and the time of a period."""

    folder: Path
    time: str | None = None


def find_part(
    path: str | Path, *, time: str | None = None, table: str | None = None, last: bool = False
) -> Part:
    """Find a period of a written series, and a table of a release of several; or all of it.

    Parameters
    ----------
    path : path
    time, table : str, optional
        Names of the period and of the table. A table of a series is of its last period by default.
    last : bool
        Take the last period of a series by default, and not all of it.

    Raises
    ------
    UsageError
        The release has no such period or table.
    VerificationError
        There is no release.
    """
    folder = public_folder(path)
    times = getattr(read_card(folder), "times", [])
    if times and (last or table is not None):
        time = time or times[-1]
    if time is not None:
        folder = _enter(folder, "period", time, times)
    if table is not None:
        folder = _enter(folder, "table", table, list_tables(folder))
    return Part(folder, time)


def list_tables(folder: Path) -> list[str]:
    """List the tables in a public folder, each a release of its own; empty for one of a table."""
    return [one.name for one in getattr(read_card(folder), "tables", ())]


def list_views(folder: Path) -> dict[str, list[View]]:
    """Open the release in a public folder, and return the views of its tables for exports.

    By the names of folders: of the periods of a series, and empty of another release.

    Raises VerificationError like :func:`open_release`, and for a release without tables.
    """
    release = open_written(folder)
    periods = getattr(release, "named", {"": release})
    if not all(hasattr(one, "views") for one in periods.values()):
        kind_of(release.card()).refuse_table()
    return {name: one.views() for name, one in periods.items()}


def find_first_card(folder: Path) -> Card | None:
    """Find the card of the first table in a public folder, which has the metadata of all.

    None for a release without tables.
    """
    card: Any = read_card(folder)
    while not isinstance(card, Card):
        inside = getattr(card, "times", []) or list_tables(folder)
        if not inside:
            return None
        folder = folder / inside[0]
        card = read_card(folder)
    return card


def _enter(folder: Path, what: str, name: str, there: list[str]) -> Path:
    """Return a folder inside; UsageError where an index does not list it."""
    if name not in there:
        known = f"its {what}s are {', '.join(there)}" if there else f"it has no {what}s"
        raise UsageError(
            f"There is no {what} {printable(name[:40])} in this release: {known}.",
            code="release-part-unknown",
        )
    return folder / name


def errors_of(view: View) -> Release | None:
    """Compute a written release again from its table and the facts on its card.

    Parameters
    ----------
    view : View
        Its table, its card and, where they are published, its measurements and public totals.

    Returns
    -------
    Release or None
        The release, whose card, intervals and view are computed and not read; None for a method
        that this installation does not have.
    """
    from geodp.release.settlements import simulate_settlements

    table, card = view.table, view.card
    if not is_method(table.event.mechanism):
        return None
    made, error = card.guarantee, card.expected_error
    # Behind what follows from the event, a card lists facts about the input, which no file shows.
    first = 1 + len(table.event.not_protected)
    sources = {one.kind: one.source for one in made.assumptions or ()}
    totals = view.totals
    if totals is not None:
        # The table of totals does not say where they were published.
        totals = replace(totals, source=sources.get("public totals") or totals.source)
    release = Release(
        table,
        card.budget,
        None if error.floor is None else error.floor.people,
        tuple(made.not_protected[first:]),
        measurements=_level_again(view),
        totals=totals,
        prior=card.prior,
        postprocessing=tuple(one for one in card.post_processing if one.startswith(SMOOTHED)),
        metadata=card.metadata,
        reading=card.reading,
    )
    simulated = None if error.cells is None else error.cells.simulated
    return simulate_settlements(release, simulated or 0)


def _level_again(view: View) -> MeasuredLevels | None:
    """Return measurements on the levels of their method, in place of those that a file states."""
    table, measured = view.table, view.measurements
    method = find_method(table.event.mechanism)
    if measured is None or not isinstance(method, Mechanism):
        return measured
    assert isinstance(table.event, Measurement)
    levels = method.list_levels(table.grid, table.event)
    if levels is None or len(levels) != len(measured.levels):
        raise VerificationError(
            "The measurements have other levels than the method.", code="measured-levels-differ"
        )
    pairs = zip(measured.levels, levels, strict=True)
    return MeasuredLevels(tuple(replace(one, level=own) for one, own in pairs))
