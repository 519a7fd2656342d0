"""Reads releases, documents and refusals for checks of what uses a release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.command import Done
from tests.contract.desk import Desk, require

DONE, WRONG_CALL, INCONSISTENT, REJECTED = 0, 2, 3, 5
"""Exit codes."""

LANGUAGES = ("en", "ja")

LIMIT = 5000
"""A limit of display above all counts of every kind."""

REASON = "One district was counted twice."
"""Why releases are withdrawn here."""


def times(periods: tuple[str, ...]) -> list[str]:
    """Return the words that name periods of a series."""
    return [word for period in periods for word in ("--time", period)]


def write_page(desk: Desk, language: str) -> str:
    """Write the page of a desk's release; return its text."""
    path = desk.folder / f"{language}.html"
    require(desk.run("report", "out", "--language", language, "--output", path.name))
    return path.read_text(encoding="utf-8")


def require_words(text: str, language: str) -> None:
    """Require a text for people, in the words of a language and without values of Python."""
    assert not re.search(r"\b(None|nan|inf|NaN)\b|[{}]", text)
    assert bool(re.search("[ぁ-ん]", text)) == (language == "ja")


def list_inside(release: Path) -> list[Path]:
    """Return the public folder of a release and those of all releases inside, outermost first."""
    cards = sorted((release / "public").rglob("*.json"))
    return sorted({card.parent for card in cards if card.name != "WITHDRAWN.json"})


def list_dicts(document: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a document, outer ones first."""
    if isinstance(document, dict):
        yield document
    inner = document.values() if isinstance(document, dict) else document
    for one in inner if isinstance(document, dict | list) else ():
        yield from list_dicts(one)


def list_figures(document: Any) -> list[dict[str, Any]]:
    """Return all objects of a document that have an interval."""
    return [one for one in list_dicts(document) if {"low", "high"} <= {*one}]


def value_of(figure: dict[str, Any]) -> float:
    """Return the number to which an interval belongs, whatever its name."""
    names = ("value", "count", "difference")
    return next(figure[name] for name in names if name in figure)


def require_refused(done: Done, code: int) -> str:
    """Require a refusal in one sentence or a few on one line; return it."""
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    text = done.stderr.strip()
    assert text.startswith("Error: "), text
    assert text.endswith("."), text
    assert "\n" not in text
    return text
