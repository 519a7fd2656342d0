"""Parts of a benchmark: some are measured, and the others kept as they were."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geodp.errors import UsageError


def add_parts(parser: argparse.ArgumentParser, names: Sequence[str], default: str = "all") -> None:
    """Add the option that chooses parts; ``default``: which ones are measured without it."""
    parser.add_argument(
        "--parts",
        type=lambda text: text.split(","),
        metavar="A,B",
        help=f"of {', '.join(names)}; default: {default}. Others are kept as they were measured",
    )


def choose_parts(
    parts: Sequence[str] | None, names: Sequence[str], saved: Path, default: Sequence[str] = ()
) -> tuple[list[str], dict[str, Any]]:
    """Return the parts to measure, and the saved figures; UsageError for unknown parts.

    ``parts``: None or empty: ``default``, or all.
    """
    chosen = [*(parts or default or names)]
    if unknown := [part for part in chosen if part not in names]:
        raise UsageError(f"parts are of: {', '.join(names)}; not {', '.join(unknown)}.")
    return chosen, json.loads(saved.read_text(encoding="utf-8")) if saved.exists() else {}
