"""Checksums of a release's folder: geodp wrote the files listed there, and no others."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodp.io.folder.atomic import is_draft
from geodp.table.card import drop_written

SUMS = "SHA256SUMS"
FORMATS = "formats"
"""Folder of a release in further formats, for everybody."""

PARTS = ("public", "restricted", FORMATS)
"""Folders of a release, each with the checksums of its files; the last only on request."""


WAITING = "released.npz"
"""Name in ``restricted`` of a charged table until its release is complete.

Checksums do not list it, as it goes when the rest is in its place.
"""


def sha256(path: Path) -> str:
    """Compute the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def release_id(csv_file: Path, plain: Mapping[str, Any]) -> str:
    """Compute a release's identifier: 16 hexadecimal digits of its table's and card's digest.

    Parameters
    ----------
    csv_file : Path
    plain : dict
        A card as :meth:`geodp.table.card.Card.to_json` gives it, with or without files.
    """
    with csv_file.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(json.dumps(drop_written(plain), sort_keys=True).encode())
    return digest.hexdigest()[:16]


def sums_text(digests: Mapping[str, str]) -> str:
    """Format digests by file name as ``sha256sum`` writes and checks them."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def read_sums(folder: Path) -> dict[str, str]:
    """Read the digests by file name from a folder's checksums."""
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def foreign(release: Path) -> str | None:
    """Describe the first entry of a release's folder that its checksums do not list.

    None if every entry is as it was written. A file that is listed and no longer there is no
    loss, and drafts of a killed ``geodp withdraw`` are geodp's.
    """
    for entry in sorted(os.listdir(release)):
        if is_draft(release / entry):
            continue
        if entry not in PARTS or not _is_folder(release / entry):
            return f"{entry}, which is not part of the release"
    # Checksums exist for each folder separately: public and restricted ones go to different people.
    for part in PARTS:
        if (release / part).is_dir() and (description := _unlisted_entry(release / part)):
            return f"{part}/{description}"
    return None


def _unlisted_entry(folder: Path) -> str | None:
    """Describe the first such entry of one of the release's folders; None if there is none."""
    try:
        listed = read_sums(folder)
    except (OSError, ValueError):
        listed = {}
    folders = {parent.as_posix() for name in listed for parent in Path(name).parents}
    for above, inner, files in os.walk(folder):
        for name in sorted([*inner, *files]):
            path = Path(above, name)
            relative = path.relative_to(folder).as_posix()
            if relative in _unlisted(folder) and path.is_file() and not path.is_symlink():
                continue
            if not (relative in folders and _is_folder(path)):
                # A link is never geodp's, whatever its content: replacing the release would follow
                # it elsewhere.
                if relative not in listed or path.is_symlink() or not path.is_file():
                    return f"{relative}, which its {SUMS} does not list"
                if sha256(path) != listed[relative]:
                    return f"{relative}, which was changed since it was written"
    return None


def remove_release(release: Path) -> None:
    """Remove the files that a release's checksums list; others stay, with their folders.

    The checksums go last, and only when all that they list has gone, so that a removal that was
    cut short can go on.
    """
    for folder in (release / part for part in PARTS):
        listed: set[str] = set()
        with contextlib.suppress(OSError, ValueError):
            listed = set(read_sums(folder))
        there = [Path(above, name) for above, _, files in os.walk(folder) for name in files]
        written = [path for path in there if path.relative_to(folder).as_posix() in listed]
        below = [Path(above) for above, _, _ in os.walk(folder, topdown=False)]
        *others, sums = [*written, *(folder / name for name in _unlisted(folder))]
        for path in others if listed else ():
            with contextlib.suppress(OSError):
                path.unlink()
        # While a listed file is left, the checksums are still needed to recognise it in the next
        # attempt.
        if listed and not any(os.path.lexists(path) for path in others):
            with contextlib.suppress(OSError):
                sums.unlink()
        for path in below:
            with contextlib.suppress(OSError):
                path.rmdir()
    with contextlib.suppress(OSError):
        for path in [one for one in release.iterdir() if is_draft(one)]:
            path.unlink()
        release.rmdir()


def _unlisted(folder: Path) -> tuple[str, ...]:
    """Name the files of geodp in a part of a release that its checksums do not list.

    The checksums themselves stand last.
    """
    return (WAITING, SUMS) if folder.name == "restricted" else (SUMS,)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
