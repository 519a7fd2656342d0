"""Read the card of a written release, and the notice beside it that it was withdrawn, in no time.

It lies beside the public folder, as digests of files in that folder would no longer hold.

:mod:`geodp.io.verify.readback` reads the table, and :mod:`geodp.io.verify.verify` checks all files.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from geodp.errors import Rule, UsageError, VerificationError, WithdrawnWarning, is_utf8, printable
from geodp.io.folder.atomic import OPENS_FOLDERS
from geodp.io.folder.kinds import CARD, Kind, PublicCard, find_card, find_kind, kind_of, list_kinds
from geodp.io.folder.manifest import SUMS, sha256
from geodp.io.opening import is_device_name, read_json, strange_entry
from geodp.table.card import PARTS_SCHEMA, SCHEMA, Card, Notice, Withdrawal
from geodp.table.plain import read_plain

NOTICE = "WITHDRAWN.json"


def notice_of(folder: Path) -> Path | None:
    """Return the path of the notice of a public folder; None if the folder is not ``public``.

    The notice lies beside ``public``; that of a snapshot lies beside the folder of its series.
    """
    home = _home(folder)
    return home.parent / NOTICE if home.name == "public" else None


def seal_of(folder: Path) -> Path:
    """Return the file whose digest a notice has: the card, or the index of a series."""
    home = _home(folder)
    return find_card(home) or home / CARD


def _home(folder: Path) -> Path:
    """Return the public folder of a release, or of the series that a snapshot is part of."""
    here = folder.absolute()
    # A period of a series may itself be an index of tables, which lie two folders below.
    for above in (here.parent, here.parent.parent):
        if above.name == "public" and find_card(above) is not None:
            return above
    return here


def find_notice(folder: Path) -> Notice | None:
    """Find the notice beside a public folder, even a damaged one; None without one.

    The notice is in no digest: whoever can write beside the release can add or remove it.
    """
    path = notice_of(folder)
    # A dangling link does not exist, and is a notice that cannot be read.
    if path is None or (not path.is_symlink() and not path.exists()):
        return None
    try:
        if path.is_symlink() or not path.is_file():
            raise VerificationError("a link or a device", code="notice-is-link")
        withdrawal = read_plain(Withdrawal, read_json(path), NOTICE)
        if withdrawal.card_sha256 != sha256(seal_of(folder)):
            raise VerificationError("of another release", code="notice-of-other-release")
    except (OSError, ValueError, VerificationError):
        return Notice(None)
    return Notice(withdrawal)


def find_day(folder: Path) -> str | None:
    """Return the day on which the release of a public folder was withdrawn; None if it was not."""
    notice = find_notice(folder)
    return None if notice is None or notice.withdrawal is None else notice.withdrawal.date


def warn_if_withdrawn(folder: Path) -> None:
    """Warn of a release whose public folder has a notice beside it, even a damaged one."""
    found = find_notice(folder)
    if found is None:
        return
    notice = found.withdrawal
    if notice is None:
        _warn(f"{NOTICE} stands beside this release and cannot be read, or is of another one.")
        return
    use = "" if notice.use is None else f" Use the release {printable(notice.use)} instead."
    _warn(
        f"THIS RELEASE WAS WITHDRAWN on {notice.date} ({printable(notice.release_id)}): "
        f"{printable(notice.reason)}{use}"
    )


def _warn(text: str) -> None:
    warnings.warn(text, WithdrawnWarning, stacklevel=4)


DAMAGED = Rule("archive-damaged", "{} is damaged: an entry cannot be unpacked; fetch it again.")

UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
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
        except UNREADABLE as error:
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


NAME = re.compile(r"\w[\w-]*")
"""A release's name: a file name, and no path."""

FOREIGN = re.compile(r"geodp-[a-z0-9-]{1,80}")
"""Schema of an index of another package."""


def public_folder(path: str | Path) -> Path:
    """Find the folder of a release's public files; VerificationError where there is none.

    A zip archive of them is unpacked. UsageError for a path that is not UTF-8: libraries could not
    open its files.
    """
    # A link may lead into a folder with such a name.
    if not is_utf8(os.path.realpath(path)):
        raise UsageError(
            f"The name of {path}, or of a folder above it, is not UTF-8, and libraries that read "
            "its files take no other name; rename it.",
            code="path-not-utf8",
        )
    path = unpack_release(path)
    # A path may name the card itself, which stands for its folder.
    card_folder = [Path(path).parent] if Path(path).suffix == ".json" else []
    folders = [*card_folder, Path(path, "public"), Path(path)]
    # Finding another kind imports its package, so releases of tables are looked for first.
    for folder in folders:
        if (folder / CARD).is_file():
            return folder
    for folder in folders:
        if find_card(folder) is not None:
            return folder
    if Path(path).is_file():
        raise VerificationError(
            f"{path} is one file; give the folder of a release, which holds {CARD}, or unpack it "
            "first.",
            code="release-is-one-file",
        )
    raise _lacks_card(path, folders)


def not_json(name: str, error: Exception) -> VerificationError:
    """Make the error of a card or an index that is no JSON."""
    return VerificationError(f"{name} is not readable as JSON: {error}.", code="card-not-json")


def _lacks_card(path: str | Path, folders: Iterable[Path]) -> VerificationError:
    """Make the error of a path without a release; an index of an unknown kind is named."""
    for file in (file for folder in folders for file in sorted(folder.glob("*.json"))):
        with suppress(OSError, ValueError):
            plain = read_json(file)
            # Other documents of geodp, such as a round's, list no files.
            schema = str(plain["schema"]) if {"schema", "files"} <= {*plain} else ""
            if FOREIGN.fullmatch(schema):
                return VerificationError(
                    f"{file} has the schema '{schema}', which is no kind of release that is "
                    "installed here. If another package made this release, install that package.",
                    code="kind-not-installed",
                )
    near = [str(folder) for folder in _list_near(Path(path))]
    if near:
        named = ", ".join(near)
        return VerificationError(
            f"{path} holds no release itself, but these folders do: {named}.",
            code="folder-beside-release",
        )
    return VerificationError(
        f"{path} holds no release: there is no public/{CARD}.", code="folder-without-release"
    )


MOST_NEAR = 3
"""Most releases that are named where a folder holds none itself."""


def _list_near(path: Path) -> list[Path]:
    """List releases beside which a folder lies, and those that lie in it, as far as it is read."""
    places = [path.parent]
    with suppress(OSError):
        places += sorted(one for one in path.iterdir() if one.is_dir())
    return [one for one in places if find_card(one / "public") is not None][:MOST_NEAR]


def _try_to_read(path: Path) -> tuple[Any, Exception | None]:
    """Read JSON; return it, and the error where that fails."""
    try:
        return read_json(path), None
    except (OSError, ValueError) as error:
        return None, error


def open_card(folder: Path) -> Card | Kind:
    """Open the card of a table's release, or find the kind of another release.

    ``release.json`` is read once. Warns of a table's release that was withdrawn. Raises
    VerificationError for a card of another version.
    """
    plain, wrong = _try_to_read(folder / CARD)
    schema = plain.get("schema") if isinstance(plain, dict) else None
    if schema not in (SCHEMA, PARTS_SCHEMA) and (kind := find_kind(folder)) is not None:
        return kind
    _require_files(folder)
    warn_if_withdrawn(folder)
    if schema not in (SCHEMA, PARTS_SCHEMA):
        # The card of another kind that is damaged is found by its name.
        name = CARD if (file := find_card(folder)) is None else file.name
        if name != CARD:
            _, wrong = _try_to_read(folder / name)
        if isinstance(wrong, FileNotFoundError | NotADirectoryError):
            raise _lacks_card(folder, [folder])
        if wrong is not None:
            raise not_json(name, wrong)
        raise VerificationError(
            f"The card's schema is {schema!r}; this version reads {SCHEMA!r} and {PARTS_SCHEMA!r}.",
            code="card-schema-unknown",
        )
    card = Card.from_json(plain)
    require(
        NAME.fullmatch(card.name) is not None,
        Rule("card-name-no-file", "The card's name is not a file name."),
    )
    inside = all(_inside(file.name, card) for file in card.files)
    require(inside, Rule("card-file-outside", "The card lists a file outside the folder."))
    return card


def read_card(folder: Path) -> PublicCard:
    """Read the card in a public folder: a :class:`Card` of a table, or that of another kind.

    Warns of a release that was withdrawn. Raises VerificationError for one of another version.
    """
    card = open_card(folder)
    if isinstance(card, Card):
        return card
    _require_files(folder)
    warn_if_withdrawn(folder)
    return card.read_card(folder)


def read_table_card(folder: Path) -> Card:
    """Read the card of a table's release; VerificationError for one of another kind, too."""
    card = read_card(folder)
    if not isinstance(card, Card):
        kind_of(card).refuse_table()
    return card


def _require_files(folder: Path) -> None:
    """Raise VerificationError where a public folder holds a link or a device."""
    strange = strange_entry(folder)
    if strange is not None:
        raise VerificationError(
            f"{printable(strange)} is a link or a device; a release has plain files only.",
            code="release-has-link",
        )


def _inside(name: str, card: Card) -> bool:
    """Return whether a name is one of a file in the folder, or of one of its parts."""
    # A card is a stranger's text: a name such as ../x would have a file outside be hashed.
    folder, slash, file = name.rpartition("/")
    parts = (f"{card.name}.parquet", f"{card.name}.tiles")
    plain = file not in ("", ".", "..") and "\\" not in name and "\0" not in name
    return plain and (not slash or (card.in_parts and folder in parts))


def describe_error(error: BaseException, folder: Path) -> str:
    """Describe what is wrong with files of a folder: which one is missing, or what was said."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        return str(error) or type(error).__name__
    # Words of the system name a place on this machine, and not what to do.
    there = None if error.filename is None else Path(os.fsdecode(error.filename))
    inside = there is not None and there.is_relative_to(folder)
    name = there.relative_to(folder).as_posix() if there is not None and inside else "A file"
    return f"{name} is missing; fetch all files of the release from where it was published."


def require(ok: bool, message: Rule) -> None:
    """Raise VerificationError with a message if a condition does not hold."""
    if not ok:
        raise VerificationError(message)


def identify_release(path: str | Path) -> str:
    """Return the id of a written release of any kind, by its folder."""
    folder = public_folder(path)
    card = open_card(folder)
    return card.identify(folder) if isinstance(card, Kind) else card.release_id
