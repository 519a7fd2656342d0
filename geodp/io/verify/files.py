"""Whether a release's folder holds the files that its card lists, and no others."""

from __future__ import annotations

import stat
from pathlib import Path

from geodp.io.folder.manifest import SUMS, read_sums, sha256
from geodp.io.folder.staging import CARD
from geodp.io.verify.card import require
from geodp.privacy.access import has_owners
from geodp.table.card import Card
from geodp.table.selected import SelectionCard


def ask_checksums(folder: Path, card: Card | SelectionCard) -> str:
    """Ask for every file with the SHA-256 that card and checksums list."""
    sums = read_sums(folder)
    listed = card.listed
    require({*sums} == {*listed, CARD}, f"{SUMS} and the card list different files.")
    for name, digest in sums.items():
        require((folder / name).is_file(), f"{name} is missing.")
        found = sha256(folder / name)
        require(
            found == digest == listed.get(name, digest), f"{name} was changed: its SHA-256 differs."
        )
    return f"all {len(sums)} files have the listed SHA-256"


def ask_files(folder: Path, card: Card | SelectionCard) -> str:
    """Ask whether there is a file that nothing lists."""
    listed = {*card.listed, CARD, SUMS}
    there = (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    extra = sorted({path.relative_to(folder).as_posix() for path in there} - listed)
    require(not extra, f"Files that the card does not list: {', '.join(extra)}.")
    return "the folder holds nothing that is not listed"


def ask_restricted(folder: Path, card: Card | SelectionCard) -> str:
    """Ask whether what is for the operator, if it is here, is the operator's own."""
    hidden = folder.parent / "restricted"
    if folder.name != "public" or not hidden.exists():
        return "not here"
    if not has_owners():
        return "here; who may read it is not checked, as this system has no permission bits"
    for path in (hidden, *hidden.rglob("*")):
        mode = path.stat().st_mode
        require(not mode & (stat.S_IRWXG | stat.S_IRWXO), f"{path.name} is open to others.")
    return "readable by its owner only"
