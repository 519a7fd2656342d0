"""What identifies a release: the digest of its table and card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geodp.table.card import drop_written


def release_id(csv_file: Path, plain: Mapping[str, Any]) -> str:
    """First 16 hexadecimal digits of the SHA-256 over the CSV file and the card as given.

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
