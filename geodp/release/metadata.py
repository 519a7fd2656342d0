"""What the publishing office says of a release: given as a mapping, or in a TOML file."""

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

Stated = TypeVar("Stated")


def state_metadata(given: Mapping[str, Any]) -> StatedMetadata | None:
    """Return metadata, checked; None where nothing is said.

    Raises UsageError for an unknown name, an empty text, a date that is none, or a limit of display
    that is no whole number from 2 to 2^31.
    """
    if not given:
        return None
    limit = given.get("display_below", 2)
    if type(limit) is not int or not 2 <= limit <= LARGEST:
        raise UsageError(
            f"metadata.display_below must be a whole number from 2 to {LARGEST:,}.",
            code="metadata-display-below",
        )
    plain = {name: str(one) if isinstance(one, date) else one for name, one in given.items()}
    try:
        found = read_plain(StatedMetadata, plain, "metadata")
    except VerificationError as error:
        raise UsageError(str(error), code=error.code) from None
    for name, text in plain.items():
        if isinstance(text, str) and not (text.strip() and text.replace("\n", " ").isprintable()):
            raise UsageError(f"metadata.{name} must be a text in words.", code="metadata-not-text")
    days = [] if found.reference_date is None else found.reference_date.split("/")
    try:
        known = [date.fromisoformat(day) for day in days]
    except ValueError:
        raise UsageError(
            "metadata.reference_date must be a date, written YYYY-MM-DD.", code="metadata-date"
        ) from None
    if known != sorted(known):
        raise UsageError(
            "metadata.reference_date must not end before it begins.", code="metadata-dates-reversed"
        )
    return found


def require_series_metadata(said: StatedMetadata | None) -> StatedMetadata | None:
    """Return what an office says of every snapshot of a series.

    Raises UsageError for what can be true of one of them only.
    """
    for name in ("supersedes", "reference_date"):
        if said is not None and getattr(said, name) is not None:
            raise UsageError(
                f"metadata.{name} is of one release, and the snapshots of a series share what is "
                "said of them: leave it out. Each has its time.",
                code="metadata-of-one-release",
            )
    return said


def read_metadata(path: Path) -> StatedMetadata | None:
    """Return the metadata in a TOML file; raises as `read_office_file`."""
    return read_office_file(path, state_metadata)


def read_office_file(path: Path, state: Callable[[dict[str, Any]], Stated]) -> Stated:
    """Return what an office says in a TOML file, as `state` takes it.

    Raises InputError for a file that cannot be read, and the UsageError of `state` with its name.
    """
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
        return state(values)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", code=error.code) from None
