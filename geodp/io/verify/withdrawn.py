"""The notice that a release was withdrawn: beside its sealed public folder, whose digests hold."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, VerificationError, WithdrawnWarning, printable
from geodp.io.folder.kinds import CARD, find_card
from geodp.io.folder.manifest import sha256
from geodp.io.opening import read_json
from geodp.table.plain import read_plain

NOTICE = "WITHDRAWN.json"
SCHEMA = "geodp-withdrawal/1"


@dataclass(frozen=True)
class Withdrawal:
    """What a notice says.

    Attributes
    ----------
    schema : str
    release_id, card_sha256 : str
        Of the release that is withdrawn, and of its card's bytes; of a series the beginning of its
        index's SHA-256, and the whole.
    date : str
        YYYY-MM-DD, as the operator gives it.
    reason : str
    use : str or None
        The release id of what is to be used instead.
    """

    schema: str
    release_id: str
    card_sha256: str
    date: str
    reason: str
    use: str | None = None

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise VerificationError(f"A notice's schema is {SCHEMA!r}.", code="notice-schema")
        try:
            date.fromisoformat(self.date)
        except ValueError:
            raise UsageError(
                "The date of a withdrawal is written YYYY-MM-DD.", code="withdrawal-date"
            ) from None
        if not self.reason.strip() or not self.reason.isprintable():
            raise UsageError(
                "The reason of a withdrawal must be a text in words, on one line.",
                code="withdrawal-reason",
            )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def notice_of(folder: Path) -> Path | None:
    """Return where the notice of public files stands; None where their folder has another name.

    It is beside the folder ``public``, for a snapshot beside that of its series.
    """
    home = _home(folder)
    return home.parent / NOTICE if home.name == "public" else None


def seal_of(folder: Path) -> Path:
    """Return the file whose digest a notice has: the card, of a series its index."""
    home = _home(folder)
    return find_card(home) or home / CARD


def _home(folder: Path) -> Path:
    """Return the public folder of a release, or of that which a snapshot is a part of."""
    here = folder.absolute()
    above = here.parent
    return above if above.name == "public" and find_card(above) is not None else here


def warn_if_withdrawn(folder: Path) -> None:
    """Warn of a release whose public folder has a notice beside it, be it damaged.

    The notice is in no digest: whoever can write beside the release can add or remove it.
    """
    path = notice_of(folder)
    if path is None or (not path.is_symlink() and not path.exists()):
        return
    try:
        if path.is_symlink() or not path.is_file():
            raise VerificationError("a link or a device", code="notice-is-link")
        found = read_plain(Withdrawal, read_json(path), NOTICE)
        if found.card_sha256 != sha256(seal_of(folder)):
            raise VerificationError("of another release", code="notice-of-other-release")
    except (OSError, ValueError, VerificationError):
        _warn(f"{NOTICE} stands beside this release and cannot be read, or is of another one.")
        return
    use = "" if found.use is None else f" Use the release {printable(found.use)} instead."
    _warn(
        f"THIS RELEASE WAS WITHDRAWN on {found.date} ({printable(found.release_id)}): "
        f"{printable(found.reason)}{use}"
    )


def _warn(text: str) -> None:
    warnings.warn(text, WithdrawnWarning, stacklevel=4)
