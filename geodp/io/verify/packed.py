"""Unpack a release that comes as a zip archive, so that it is read as a folder."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from geodp.errors import Rule, VerificationError
from geodp.io.folder.disk import OPENS_FOLDERS
from geodp.io.folder.kinds import CARD, list_kinds
from geodp.io.folder.manifest import SUMS
from geodp.io.opening import is_device_name
from geodp.io.verify.withdrawn import NOTICE

DAMAGED = Rule("archive-damaged", "{} is damaged: an entry cannot be unpacked; fetch it again.")

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Errors of a damaged archive, an unknown compression or a password."""

_UNPACKED: dict[tuple[str, int, int], Path] = {}
"""Folders of unpacked archives, by the archive's path, size and time of change."""


def unpack_release(path: str | Path) -> Path:
    """Unpack the release in a zip archive; its folder lasts for as long as the program runs.

    Parameters
    ----------
    path : path
        A zip archive with one release or series, in a folder or not. Any other path is returned
        unchanged.

    Raises
    ------
    VerificationError
        Several releases, a damaged archive, one whose entries are too large for the disk, or are no
        plain files.
    """
    if not os.path.isfile(path) or not zipfile.is_zipfile(path):
        return Path(path)
    status = os.stat(path)
    identity = (os.path.realpath(path), status.st_size, status.st_mtime_ns)
    if identity not in _UNPACKED:
        try:
            with zipfile.ZipFile(path) as archive:
                _UNPACKED[identity] = _unpack(archive, path)
        except BROKEN as error:
            raise VerificationError(DAMAGED.format(path)) from error
    return _UNPACKED[identity]


def _unpack(archive: zipfile.ZipFile, path: str | Path) -> Path:
    """Unpack the folder of a release, and the files beside it that belong to the release."""
    folder = _find_folder([*map(PurePosixPath, archive.namelist())], path)
    home = folder.parent if folder.name == "public" else folder
    entries = [
        entry
        for entry in archive.infolist()
        if not entry.is_dir() and _is_of(PurePosixPath(entry.filename), folder, home)
    ]
    place = Path(tempfile.mkdtemp(prefix="geodp-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    # Entries are listed with their sizes: a small archive that unpacks to terabytes is refused.
    if sum(entry.file_size for entry in entries) > shutil.disk_usage(place).free:
        raise VerificationError(
            f"{path} holds more than fits on the disk (TMPDIR).", code="archive-exceeds-disk"
        )
    for entry in entries:
        # The upper bits are the mode of Unix, of which 0xA is a symbolic link.
        if ".." in PurePosixPath(entry.filename).parts or entry.external_attr >> 28 == 0xA:
            raise VerificationError(
                f"{path} holds a link, or a file outside of its folder.", code="archive-has-link"
            )
        # zipfile replaces what Windows forbids in names, but would open the device of such a name.
        if not OPENS_FOLDERS and any(map(is_device_name, PurePosixPath(entry.filename).parts)):
            raise VerificationError(
                f"{path} holds a file with the name of a device of this system.",
                code="archive-has-device-name",
            )
        archive.extract(entry, place)
    return place / home


def _find_folder(names: list[PurePosixPath], path: str | Path) -> PurePosixPath:
    """Find the one folder of an archive that has a card of any kind and the checksums."""
    there, cards = {*names}, {CARD, *(kind.file for kind in list_kinds().values())}
    folders = {name.parent for name in names if name.name in cards and name.parent / SUMS in there}
    # A series has the releases of its dates within it, so that only the outermost folder counts.
    outer = [one for one in folders if folders.isdisjoint(one.parents)]
    if len(outer) != 1:
        count = "several releases" if outer else "no release"
        raise VerificationError(
            f"{path} holds {count}; give the archive of one, or unpack it and give a folder.",
            code="archive-holds-not-one-release",
        )
    return outer[0]


def _is_of(name: PurePosixPath, folder: PurePosixPath, home: PurePosixPath) -> bool:
    """Return whether a file belongs to a release, or is a notice that it was withdrawn."""
    return name.is_relative_to(folder) or name == home / NOTICE
