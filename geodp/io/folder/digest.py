"""What identifies a release: the digest of its table and card."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

OWN = ("name", "release_id", "files", "left_out")
"""What `write_public` adds to the card."""


def release_id(csv_file: Path, card: dict[str, Any]) -> str:
    """First 16 hexadecimal digits of the SHA-256 over the CSV file and the card as given.

    Parameters
    ----------
    csv_file : Path
    card : dict
        With or without what `write_public` adds.
    """
    given = {key: value for key, value in card.items() if key not in OWN}
    with csv_file.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(json.dumps(given, sort_keys=True).encode())
    return digest.hexdigest()[:16]
