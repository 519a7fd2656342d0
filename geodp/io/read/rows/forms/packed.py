"""What a zip archive holds that is no text: unpacked to a private folder, and read there.

Texts and shapefiles are read where they are. What is unpacked is as confidential as the archive.
Its folder is the operator's own, and goes when it has been read or the process ends, but for one
that is killed outright.
"""

from __future__ import annotations

import errno
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from geodp.errors import InputError, OutputError, Rule
from geodp.io.read.rows.complete.archive import check_archive
from geodp.io.read.rows.input_files import NO_ARCHIVE, FilePath, guard, kind_of
from geodp.io.read.rows.members import Unpacked, choose_packed

_NAME = 120
"""Letters of a name that are kept."""

NO_ROOM = Rule(
    "scratch-no-room-for-archive",
    "There is no room for what the archive holds; choose a folder on another disk (--scratch, "
    "scratch=), or unpack it.",
)


@contextmanager
def unpack(
    path: FilePath, scratch: FilePath | None = None, member: str | None = None
) -> Iterator[FilePath]:
    """Put the one member that must be unpacked in its archive's place, as long as the block lasts.

    Files beside it that share its name, such as the world file of a raster, come with it. Whatever
    else is given stays as it is.

    Raises
    ------
    InputError
        No such file; an archive that is damaged or encrypted, or holds several tables.
    OutputError
        No room for it.
    """
    name = str(path)
    if kind_of(path) != "zip":
        if member is not None and not isinstance(path, Unpacked):
            raise InputError(NO_ARCHIVE, file=name)
        yield path
        return
    archive = guard(name, partial(zipfile.ZipFile, path))
    with archive:
        check_archive(path, archive)
        chosen, facts = choose_packed(archive, name, member)
        if chosen is None:
            yield path
            return
        kept = TemporaryDirectory(prefix="geodp-zip-", dir=scratch, ignore_cleanup_errors=True)
        with kept as folder:
            for one in _with_companions(archive, chosen):
                guard(name, partial(_copy, archive, one, Path(folder)))
            where = str(Path(folder) / _name_of(chosen))
            yield Unpacked(name, chosen.filename, where, facts)


def _with_companions(archive: zipfile.ZipFile, chosen: zipfile.ZipInfo) -> list[zipfile.ZipInfo]:
    """Return a member and those beside it whose names begin as its own."""
    own = PurePosixPath(chosen.filename)
    return [
        one
        for one in archive.infolist()
        if PurePosixPath(one.filename).parent == own.parent
        and PurePosixPath(one.filename).name.startswith(f"{own.stem}.")
    ]


def _copy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """Unpack a member; its end is asked for its checksum."""
    full = member.file_size > shutil.disk_usage(folder).free
    try:
        if not full:
            with archive.open(member) as packed, (folder / _name_of(member)).open("wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        if not full:
            raise
    if full:
        raise OutputError(NO_ROOM)


def _name_of(member: zipfile.ZipInfo) -> str:
    """Return a name of letters, digits and marks that every disk takes."""
    own = PurePosixPath(member.filename)
    stem = re.sub(r"[^\w() -]", "_", own.name.partition(".")[0])[:_NAME]
    return f"{stem or 'member'}.{re.sub(r'[^A-Za-z0-9.]', '_', own.name.partition('.')[2])}"
