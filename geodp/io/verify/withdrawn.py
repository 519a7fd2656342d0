"""Read and write the notice that a release was withdrawn.

It lies beside the public folder, as digests of files in that folder would no longer hold.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from geodp.errors import VerificationError, WithdrawnWarning, printable
from geodp.io.folder.kinds import CARD, find_card
from geodp.io.folder.manifest import sha256
from geodp.io.opening import read_json
from geodp.table.plain import read_plain
from geodp.table.withdrawal import Notice, Withdrawal

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
