"""State that a release was withdrawn; :mod:`geodp.io.verify.card` reads the file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from geodp.errors import UsageError, VerificationError

SCHEMA = "geodp-withdrawal/1"


@dataclass(frozen=True)
class Withdrawal:
    """The contents of a notice.

    Attributes
    ----------
    schema : str
    release_id, card_sha256 : str
        The id of the withdrawn release, and the SHA-256 of its card; of a series the beginning of
        the SHA-256 of its index, and all of it.
    date : str
        The operator's date, YYYY-MM-DD.
    reason : str
    use : str or None
        The id of the release to be used instead.
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
                "The reason of a withdrawal must be a text on one line.",
                code="withdrawal-reason",
            )

    def to_json(self) -> dict[str, Any]:
        """Return the notice as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Notice:
    """A notice that lies beside a release.

    Attributes
    ----------
    withdrawal : Withdrawal or None
        None if it cannot be read, or is of another release.
    """

    withdrawal: Withdrawal | None
