"""Check that a release's folder holds the files that its card lists, and no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from geodp.errors import Rule
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import FORMATS, SUMS, read_sums, sha256, sums_text
from geodp.io.folder.pending import PENDING
from geodp.io.verify.card import require
from geodp.privacy.key import has_owners


class Listing(Protocol):
    """A card that lists the files beside it."""

    @property
    def listed(self) -> Mapping[str, str]:
        """SHA-256 of each file, hexadecimal, by name."""


def has_formats(folder: Path) -> bool:
    """Return whether other formats stand beside the public folder of a release."""
    return folder.name == "public" and (folder.parent / FORMATS).exists()


def check_checksums(folder: Path, card: Listing) -> str:
    """Require every file to have the SHA-256 that card and checksums list."""
    sums = read_sums(folder)
    listed = card.listed
    require(
        {*sums} == {*listed, CARD},
        Rule("checksums-list-differs", f"{SUMS} and the card list different files."),
    )
    return require_unchanged(folder, sums, listed)


def require_unchanged(folder: Path, sums: Mapping[str, str], *others: Mapping[str, str]) -> str:
    """Require the files of a list of digests to have these, and those that other lists have."""
    for name in sums:
        require((folder / name).is_file(), Rule("listed-file-missing", f"{name} is missing."))
        actual = sha256(folder / name)
        require(
            all(one.get(name, actual) == actual for one in (sums, *others)),
            Rule("file-changed-since-written", f"{name} was changed: its SHA-256 differs."),
        )
    return f"all {len(sums)} files have the listed SHA-256"


def check_files(folder: Path, card: Listing) -> str:
    """Require that the folder holds no file that neither card nor checksums list."""
    listed = {*card.listed, CARD, SUMS}
    there = (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    extra = sorted({path.relative_to(folder).as_posix() for path in there} - listed)
    require(
        not extra, Rule("files-unlisted", f"Files that the card does not list: {', '.join(extra)}.")
    )
    return "the folder has no unlisted file"


def check_restricted(folder: Path, _: object) -> str:
    """Check the permissions and the checksums of the operator's folder beside the public one.

    Its checksums lie in it, as every digest of a confidential file reveals something about it. They
    show a change by accident, or by somebody who does not know them. They do not show that a file
    was rewritten together with its line, or that the whole folder was removed.

    Parameters
    ----------
    folder : path
        The public folder.

    Returns
    -------
    str
        Message on what was checked.

    Raises
    ------
    VerificationError
        Others may read it; a file was changed, added or removed, its checksums among them.
    """
    hidden = folder.parent / "restricted"
    if folder.name != "public" or not hidden.exists():
        return "not here"
    if has_owners():
        for path in (hidden, *hidden.rglob("*")):
            mode = path.lstat().st_mode
            # The mode of a link says nothing of what it points to.
            is_open = not stat.S_ISLNK(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO)
            require(
                not is_open,
                Rule("restricted-open-to-others", f"{path.name} can be read by others."),
            )
        if not os.access(hidden, os.R_OK | os.X_OK):
            return "readable by its owner only, who is somebody else: its files are not checked"
    _require_as_listed(hidden)
    if not has_owners():
        return (
            "as it was written; who may read it is not checked, as this system has no permission "
            "bits"
        )
    return "readable by its owner only, and as it was written"


def _require_as_listed(hidden: Path) -> None:
    """Compare every byte of the operator's folder with its checksums."""
    where = hidden.name
    require((hidden / SUMS).is_file(), Rule("sums-missing", f"{where}/{SUMS} is missing."))
    # A list in another order or with a line twice is a change, too: compare its bytes.
    written = (hidden / SUMS).read_bytes()
    try:
        listed = read_sums(hidden)
    except ValueError:
        listed = {}
    # Files are taken from the folder and not from the list, so that added ones are seen. The table
    # of an interrupted run is published by the next one, and not listed yet.
    there = {path.name for path in hidden.iterdir()} - {SUMS, PENDING.name}
    for path in map(hidden.joinpath, sorted(there)):
        is_plain, name = path.is_file() and not path.is_symlink(), f"{where}/{path.name}"
        require(
            is_plain and path.name in listed,
            Rule("file-unlisted-in-sums", f"{name} is not listed in {SUMS}."),
        )
    missing = sorted({*listed} - there)
    require(not missing, Rule("listed-file-missing", f"{where}/{', '.join(missing)} is missing."))
    require_unchanged(hidden.parent, {f"{where}/{name}": one for name, one in listed.items()})
    require(
        written == sums_text(listed).encode(), Rule("sums-changed", f"{where}/{SUMS} was changed.")
    )
