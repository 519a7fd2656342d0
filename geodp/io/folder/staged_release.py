"""A release's folder: created and tested before anything is charged, filled after the draw."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

from geodp import progress
from geodp.errors import OutputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.folder.atomic import OPENS_FOLDERS
from geodp.io.folder.formats import fill, find_formats, require_writable
from geodp.io.folder.manifest import FORMATS, SUMS, sha256, sums_text
from geodp.io.folder.pending import discard_draft, reserve
from geodp.io.folder.publication import (
    RUN,
    card_bytes,
    list_written,
    make_restricted,
    write_index,
    write_member,
    write_public,
    write_restricted,
)
from geodp.io.folder.staging import CHECK, require_free, require_only_release_files, stage
from geodp.io.opening import is_device_name
from geodp.io.write.format import Export
from geodp.io.write.view import View
from geodp.table.index import IndexCard, PeriodInfo
from geodp.table.stated.release import TableInfo

TAKEN = re.compile(r"gpkg_|sqlite_|layer_styles\Z", re.IGNORECASE)
"""Tables of a GeoPackage that are not its layers; QGIS makes the last where a style is saved."""

LONGEST_NAME = 200
"""Bytes of a count's name: file systems take 255, endings included."""

LISTED_BYTES = 800
"""Bytes of a listed cell in all files together, outlines included."""

PLAIN = 8
"""Rows without outlines that take about as much space as one with."""

OTHER_BYTES = 1 << 24
"""Bytes of a release without a cell: the map, the card."""

VISITED = 4
"""Approximate number of nodes visited for a listed cell."""

LONGEST_ENDING = 32
"""Characters behind the name of the count in a file's name, of journals of databases too."""

KEPT = "enclosed"
"""Folder of copies of earlier releases, from before the charge until they are published again."""

SOME_CELLS = 1 << 12
"""Cells that noise alone may list; a large domain has more, but space is only estimated."""


@dataclass(frozen=True)
class Staged:
    """A folder for a release of any kind, created before anything is charged.

    Attributes
    ----------
    folder : Path
        The staged folder.
    target : Path
        The folder that it replaces.
    """

    folder: Path
    target: Path

    @classmethod
    @contextmanager
    def stage(cls, path: str | Path, *, overwrite: bool, resume: bool = False) -> Iterator[Self]:
        """Yield a folder that takes the place of ``path`` when the block ends well.

        Parameters and errors are those of :func:`geodp.io.folder.staging.stage`. The caller has
        called `check_publication`.
        """
        with stage(path, overwrite=overwrite, resume=resume) as folder:
            make_restricted(folder, path, again=resume)
            yield cls(folder, Path(path))

    def reserve(self, listed: int) -> None:
        """Require space for so many listed cells, and reserve it."""
        require_space(self.folder, listed)
        reserve(self.folder, listed)

    def make_public(self) -> Path:
        """Make the public folder, in the space that was reserved; return it."""
        public = self.folder / "public"
        # The draft has reserved the space that the files take now.
        discard_draft(self.folder)
        public.mkdir()
        return public

    def finish(self, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the operator's record beside a complete public folder.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths of all that was written.
        """
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)


class StagedRelease(Staged):
    """A folder for the release of a table."""

    def try_out(self, empty: View, cells: int, nodes: int | None = None) -> None:
        """Do everything that may fail and needs no table, and reserve the space for the table.

        Parameters
        ----------
        empty : View
            View of the release without a cell and without its charge, with the name of the count.
        cells : int
            Occupied cells; no message reveals their number.
        nodes : int, optional
            Nodes of complete levels, where measurements are published.
        """
        try_formats(empty)
        try_longest_name(self.folder, empty.name)
        listed = list_cells(empty, cells)
        measured = 0 if nodes is None else nodes + VISITED * listed
        self.reserve(listed + measured)

    def try_exports(self, empty: View, cells: int, chosen: Sequence[Export]) -> None:
        """Write a release without a cell in other formats and remove it again, before the charge.

        Raises UsageError if a format cannot hold it or a library is missing, OutputError if space
        is short.
        """
        require_writable(empty, chosen)
        require_space(self.folder, list_cells(empty, cells) * (1 + len(chosen)))
        # The trial goes where the files will be, as the limits of a file system may differ by
        # folder.
        tried = self.folder / FORMATS
        tried.mkdir()
        fill(tried, [empty], chosen)
        shutil.rmtree(tried)

    def write_exports(self, view: View, chosen: Sequence[Export]) -> list[str]:
        """Write a release in other formats beside its public folder, with their checksums.

        Raises UsageError if a format cannot hold it, as a resumed run may request others.
        """
        require_writable(view, chosen)
        folder = self.folder / FORMATS
        folder.mkdir()
        names = sorted(fill(folder, view.with_levels(), chosen))
        sums = sums_text({name: sha256(folder / name) for name in names})
        (folder / SUMS).write_text(sums, encoding="utf-8", newline="\n")
        return [str(Path(self.target, FORMATS, name)) for name in [SUMS, *names]]

    def write(self, view: View, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write all files of a view with the name of the count; return their paths."""
        write_public(view, self.make_public())
        return self.finish(restricted)


def write_publication(
    view: View,
    path: str | Path,
    *,
    name: str,
    overwrite: bool,
    restricted: dict[str, Any],
) -> dict[str, list[str]]:
    """Write ``path/public`` and ``path/restricted``, all or nothing.

    The same table, card and name give the same bytes, for one version of the libraries that
    write the formats.

    Parameters
    ----------
    view : View
        A view whose card has no files: ``name``, ``release_id``, ``files`` and ``left_out`` are
        added when it is written.
    path : path
        A folder that does not exist yet or is empty; with ``overwrite`` an earlier release.
    name : str
        Name of the count: a file name of letters, digits, ``_`` and ``-``.
    overwrite : bool
    restricted : dict
        For ``restricted/run.json``, which only its owner can read.

    Returns
    -------
    dict
        ``{"public": [...], "restricted": [...]}``: the paths written.

    Raises
    ------
    UsageError
        A wrong name or folder; nothing is touched.
    OutputError
        The file system refused; nothing is published.
    """
    check_publication(view.table.grid, path, name=name, overwrite=overwrite)
    with StagedRelease.stage(path, overwrite=overwrite) as place:
        return place.write(view.named(name), restricted)


def check_publication(grid: Grid, path: str | Path, *, name: str, overwrite: bool) -> None:
    """Raise UsageError if a release could not be written; before any noise is drawn.

    Parameters are those of `write_publication`. A LettersWarning says that no font has the letters
    of the name, which the map will lack.
    """
    check_name(grid, name)
    check_target(path, overwrite=overwrite)


def check_target(path: str | Path, *, overwrite: bool) -> None:
    """Raise UsageError if no release could be put there, or one that it replaces holds more.

    Of what is replaced, all files are read.
    """
    require_free(path, overwrite=overwrite)
    require_only_release_files(path)


def check_name(grid: Grid, name: str) -> None:
    """Raise UsageError if some format cannot hold counts on this grid by this name."""
    if not re.fullmatch(r"\w[\w-]*", name) or len(name.encode()) > LONGEST_NAME:
        raise UsageError(
            "The name must be a file name of letters, digits, '_' and '-', with at most "
            f"{LONGEST_NAME} bytes.",
            code="release-name-form",
        )
    if is_device_name(name):
        raise UsageError(
            f"{name} is the name of a device on Windows, where no file can have it; choose another "
            "name for the count.",
            code="release-name-of-device",
        )
    if TAKEN.match(name):
        raise UsageError(
            "Names that begin with gpkg_ or sqlite_, and layer_styles, are those of tables that "
            "every database has; choose another name for the count.",
            code="release-name-of-database",
        )
    # Every format checks the name and grid itself, as each has different restrictions.
    for one in find_formats():
        one.check(grid, name)


def try_formats(empty: View) -> None:
    """Do everything that may fail in any format and needs no counts."""
    card_bytes(empty.card.to_json())
    for one in find_formats():
        one.try_out(empty)


def try_longest_name(staged: Path, name: str, inner: str = "") -> None:
    """Raise OutputError where a file of a release would have a longer path than Windows takes.

    It takes 260 characters, unless an administrator has allowed more, and reports longer ones as
    missing: the release would be charged, and could not be written. POSIX systems limit names,
    which `stage` has tried.
    """
    if OPENS_FOLDERS:
        return
    longest = staged / "public" / inner / f"{name}.{'x' * LONGEST_ENDING}"
    try:
        longest.parent.mkdir(parents=True)
        longest.touch()
        longest.unlink()
    except OSError:
        raise OutputError(
            f"The paths of the release's files are too long for this system, such as {longest}: "
            "choose another folder or a shorter name; nothing was charged.",
            code="output-path-too-long",
        ) from None
    finally:
        shutil.rmtree(staged / "public", ignore_errors=True)


def list_cells(empty: View, cells: int) -> int:
    """Estimate how many cells a release lists at most, from the number of occupied ones."""
    grid, mechanism = empty.table.grid, empty.card.mechanism
    # Only clamped integer counts leave most empty cells at 0; any other method lists the whole
    # domain.
    sparse = mechanism.nonnegative and mechanism.whole
    return max_listed_cells(grid, cells) if sparse else grid.size


def max_listed_cells(grid: Grid, cells: int) -> int:
    """Estimate the most cells listed by a method that clamps at 0, from the occupied ones."""
    return min(grid.size, 2 * cells + SOME_CELLS)


def require_space(folder: Path, cells: int) -> None:
    """Raise OutputError if the files of a release of so many cells would hardly fit.

    How many cells are listed is only known after the draw, so this estimate is usually too large.
    """
    if shutil.disk_usage(folder).free < LISTED_BYTES * cells + OTHER_BYTES:
        raise OutputError(
            f"There is not enough free space in {folder.parent} for this release. Free some, or "
            "choose a folder on another disk; nothing was charged.",
            code="disk-too-small",
        )


LONGEST_TIME = "2000-01-01T00"
"""The longest name of the folder of a period, as an example."""


class StagedTables(Staged):
    """A folder for a release of several tables, a :class:`geodp.release.composite.Composite`.

    Attributes
    ----------
    inside : str
        Longest path of the folder of a release inside ``public``.
    """

    inside: ClassVar[str] = ""

    def try_out(self, empty: Any, cells: Sequence[int | Mapping[str, int]], *examples: Any) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        Parameters
        ----------
        empty : Composite
            The release without cells, or a period of a series.
        cells : sequence of int or mapping of str to int
            Occupied cells of each table, at most, or by its name; of every period of a series. No
            message reveals their number.
        *examples : Composite
            Releases whose joint files are tried, too.
        """
        listed = 0
        self.enclose(empty)
        for name, view in empty.table_views.items():
            try_formats(view)
            try_longest_name(self.folder, view.name, f"{self.inside}{name}")
            counted = [one if isinstance(one, int) else one[name] for one in cells]
            rows = sum(list_cells(view, one) for one in counted)
            # Only other tables have rows with outlines.
            listed += -(-rows // PLAIN) if view.card.in_joint_table else rows
            listed += rows * empty.joint_rows.get(name, 0)
        for release in (empty, *examples):
            with TemporaryDirectory(dir=self.folder) as place:
                release.write_joint(Path(place))
        self.reserve(listed)

    def write(self, release: Any, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write tables, joint files, index and the operator's record; return their paths."""
        public = self.make_public()
        self.enclose(release)
        if release.enclosed:
            # The public folder is empty yet.
            (self.folder / KEPT).replace(public)
        write_release(release, public)
        return self.finish(restricted)

    def enclose(self, release: Any) -> None:
        """Copy the earlier releases that a release encloses, unless they are there already."""
        for name, source in release.enclosed.items():
            if not (self.folder / KEPT / name).exists():
                shutil.copytree(source, self.folder / KEPT / name)


class StagedPeriods(StagedTables):
    """A folder for a series, which has a release in a folder for every period."""

    inside: ClassVar[str] = f"{LONGEST_TIME}/"

    def write_periods(
        self, periods: Mapping[str, Any], index: IndexCard, restricted: dict[str, Any]
    ) -> dict[str, list[str]]:
        """Write the periods by their times, and the index; return the paths."""
        public, written = self.make_public(), []
        for time, release in periods.items():
            progress.begin(f"Writing {time}", public=True)
            (public / time).mkdir()
            write_release(release, public / time)
            written.append(PeriodInfo(time, sha256(public / time / release.index.file)))
        made: Any = index
        write_index(public, replace(made, periods=tuple(written)))
        return self.finish(restricted)


def write_release(release: Any, folder: Path) -> None:
    """Write the tables, the joint files and the index of a release into an empty public folder."""
    tables = write_tables(release.iterate_views(), len(release.tables), folder)
    files, left_out = release.write_joint(folder)
    write_index(folder, replace(release.index, tables=tables, files=files, left_out=left_out))


def write_tables(
    views: Iterable[tuple[str, View]], total: int, folder: Path
) -> tuple[TableInfo, ...]:
    """Write tables by name into folders of their own; return what an index says of them."""
    written = list[TableInfo]()
    for number, (name, one) in enumerate(views, 1):
        with progress.inside(name, number, total):
            written.append(TableInfo(name, *write_member(one, folder / name)))
    return tuple(written)


CHECK_SCHEMA = "geodp-check-1"


def write_check(path: str | Path, report: dict[str, Any]) -> Path:
    """Write ``path/restricted/check.json``, all or nothing; a release takes its place later.

    Parameters
    ----------
    path : path
        A folder that does not exist yet, is empty or holds an earlier check.
    report : dict
        Plain values. Confidential: only the owner can enter the folder and read the file.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    UsageError
        The folder holds something else.
    OutputError
        The file system refused; nothing is left behind.
    """
    with stage(path) as folder:
        hidden = make_restricted(folder, path)
        write_restricted(hidden, CHECK, {"schema": CHECK_SCHEMA, **report})
    return Path(path, "restricted", CHECK)
