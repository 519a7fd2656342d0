"""Check the publishing office's metadata of a release, from a mapping or a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from geodp.errors import InputError, UsageError, VerificationError
from geodp.io.opening import require_regular
from geodp.table.card import StatedMetadata
from geodp.table.display import LARGEST
from geodp.table.plain import read_plain

Metadata = TypeVar("Metadata")


def state_metadata(values: Mapping[str, Any]) -> StatedMetadata | None:
    """Check metadata and return them; None for an empty mapping.

    Raises UsageError for an unknown name, an empty text, an invalid date, or a limit of display
    that is no whole number from 2 to 2^31.
    """
    if not values:
        return None
    # type() and not isinstance: True is an int, and no limit.
    limit = values.get("display_below", 2)
    if type(limit) is not int or not 2 <= limit <= LARGEST:
        raise UsageError(
            f"metadata.display_below must be a whole number from 2 to {LARGEST:,}.",
            code="metadata-display-below",
        )
    # TOML has dates of its own; the card has them as text.
    plain = {name: str(one) if isinstance(one, date) else one for name, one in values.items()}
    try:
        metadata = read_plain(StatedMetadata, plain, "metadata")
    except VerificationError as error:
        raise UsageError(str(error), code=error.code) from None
    for name, text in plain.items():
        # Control characters could change what a terminal shows of a card, line breaks cannot.
        if isinstance(text, str) and not (text.strip() and text.replace("\n", " ").isprintable()):
            raise UsageError(
                f"metadata.{name} must be printable text, and not empty.", code="metadata-not-text"
            )
    days = [] if metadata.reference_date is None else metadata.reference_date.split("/")
    try:
        dates = [date.fromisoformat(day) for day in days]
    except ValueError:
        raise UsageError(
            "metadata.reference_date must be a date, written YYYY-MM-DD.", code="metadata-date"
        ) from None
    if dates != sorted(dates):
        raise UsageError(
            "metadata.reference_date must not end before it begins.", code="metadata-dates-reversed"
        )
    return metadata


def require_series_metadata(metadata: StatedMetadata | None) -> StatedMetadata | None:
    """Return metadata that all snapshots of a series share.

    Raises UsageError for a reference date, which is true of one snapshot only.
    """
    if metadata is not None and metadata.reference_date is not None:
        raise UsageError(
            "metadata.reference_date describes one release, but the snapshots of a series share "
            "their metadata: leave it out. Each snapshot has its time.",
            code="metadata-of-one-release",
        )
    return metadata


def read_metadata(path: Path) -> StatedMetadata | None:
    """Read metadata from a TOML file; errors are those of :func:`read_office_file`."""
    return read_office_file(path, state_metadata)


def read_office_file(path: Path, parse: Callable[[dict[str, Any]], Metadata]) -> Metadata:
    """Read a TOML file and pass its values to ``parse``.

    Raises InputError for a file that cannot be read, and UsageErrors of ``parse`` with the path.
    """
    # A pipe or a device could block forever.
    require_regular(path)
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"it cannot be read ({error.strerror}).", file=str(path), code="metadata-unreadable"
        ) from None
    except ValueError:
        raise InputError(
            "it is not valid TOML in UTF-8.", file=str(path), code="metadata-not-toml"
        ) from None
    try:
        return parse(values)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", code=error.code) from None
