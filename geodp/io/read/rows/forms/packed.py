"""Members of zip archives that are not text: unpacked to a private folder, and read there.

Texts and shapefiles are read inside the archive. Unpacked files are as confidential as the archive.
Their folder is private to the operator, and deleted when they were read or the process ends, unless
the process is killed.
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
from geodp.io.opening import is_device_name
from geodp.io.read.rows.complete.files import check_archive
from geodp.io.read.rows.input_files import NO_ARCHIVE, FilePath, guard, kind_of
from geodp.io.read.rows.members import Unpacked, choose_packed

_NAME = 120
"""Maximum length of a file name, in characters."""

DISK_FULL = Rule(
    "scratch-no-room-for-archive",
    "The disk is too full for the content of the archive; choose a folder on another disk "
    "(--scratch, scratch=), or unpack it.",
)


@contextmanager
def unpack(
    path: FilePath, scratch: FilePath | None = None, member: str | None = None
) -> Iterator[FilePath]:
    """Replace an archive by the member that must be unpacked, for as long as the block lasts.

    Files with the same stem, such as the world file of a raster, are unpacked with it. Other paths
    are yielded unchanged.

    Raises
    ------
    InputError
        A missing file, or an archive that is damaged, encrypted or holds several tables.
    OutputError
        The disk is full.
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
        temporary = TemporaryDirectory(prefix="geodp-zip-", dir=scratch, ignore_cleanup_errors=True)
        with temporary as folder:
            for member_info in _with_companions(archive, chosen):
                guard(name, partial(_copy, archive, member_info, Path(folder)))
            where = str(Path(folder) / _name_of(chosen))
            yield Unpacked(name, chosen.filename, where, facts)


def _with_companions(archive: zipfile.ZipFile, chosen: zipfile.ZipInfo) -> list[zipfile.ZipInfo]:
    """Return a member and those in its folder with the same stem."""
    path = PurePosixPath(chosen.filename)
    return [
        info
        for info in archive.infolist()
        if PurePosixPath(info.filename).parent == path.parent
        and PurePosixPath(info.filename).name.startswith(f"{path.stem}.")
    ]


def _copy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """Unpack a member to its end, where zipfile verifies its checksum."""
    # Checked before, as a full disk would also stop other programs.
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
        raise OutputError(DISK_FULL)


def _name_of(member: zipfile.ZipInfo) -> str:
    """Return a file name of letters, digits and symbols allowed on every disk."""
    path = PurePosixPath(member.filename)
    stem = re.sub(r"[^\w() -]", "_", path.name.partition(".")[0])[:_NAME]
    # One prefix for a member and its companions, which have the same stem.
    stem = f"_{stem}" if is_device_name(stem) else stem
    return f"{stem or 'member'}.{re.sub(r'[^A-Za-z0-9.]', '_', path.name.partition('.')[2])}"
