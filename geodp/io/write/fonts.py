"""Fonts of the map: the one that Matplotlib brings along, and an installed one for the rest."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from geodp.errors import LettersWarning

OWN = "DejaVu Sans"
"""Matplotlib's own font: Latin, Greek, Cyrillic and more, but no Chinese or Japanese."""

FIRST = (
    *("Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans JP", "IPAexGothic", "IPAGothic"),
    *("Yu Gothic", "Meiryo", "MS Gothic", "Hiragino Sans", "TakaoGothic", "VL Gothic"),
)
"""Families that are taken before others: one letter may have other forms in Japan and in China."""

LAST = "LastResort"
"""Beginning of the names, but for dots and spaces, of fonts that have a box for every letter."""

WEIGHTS = ("normal", "bold")
"""Of the words on a map."""


@lru_cache(256)
def families(text: str) -> tuple[str, ...] | None:
    """Font families that together have every letter of a text, in the order they are tried in.

    None, with a LettersWarning that says what to do, where no installed font has the letters that
    Matplotlib's own lacks. A process looks, and warns, once for every text.
    """
    if text.isascii():
        return (OWN,)
    with without_notes():
        missing = [letter for letter in dict.fromkeys(text) if not _has(OWN, letter)]
        if not missing:
            return (OWN,)
        for name in _find_installed():
            if all(_has(name, letter) for letter in missing):
                return OWN, name
    warnings.warn(
        f"No installed font has all letters of {text}, and the map leaves them out; install "
        "one that has them, such as Noto Sans CJK, before publishing, or draw the map again by "
        "geodp map.",
        LettersWarning,
        stacklevel=2,
    )
    return None


@contextmanager
def without_notes() -> Iterator[None]:
    """Without Matplotlib's notes of every weight that a family lacks."""
    log = logging.getLogger("matplotlib.font_manager")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _find_installed() -> Iterator[str]:
    """Families that are installed; last those that came after Matplotlib's list was made."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    listed = {font.name for font in fontManager.ttflist}
    yield from _in_order(listed)
    for path in sorted({*findSystemFonts()} - {font.fname for font in fontManager.ttflist}):
        try:
            fontManager.addfont(path)
        except (OSError, RuntimeError, ValueError, NotImplementedError):
            continue  # such as a font of bitmaps
    yield from _in_order({font.name for font in fontManager.ttflist} - listed)


def _in_order(names: set[str]) -> list[str]:
    others = sorted(n for n in names if not n.replace(" ", "").lstrip(".").startswith(LAST))
    return sorted(others, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


def _has(family: str, letter: str) -> bool:
    """Whether a family draws something for a letter, in every weight that is used."""
    return all(_draws(font, letter) for font in _fonts(family))


def _fonts(family: str) -> Iterator[Any]:
    """Return what Matplotlib draws a family with; nothing draws where it cannot be read."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    for weight in WEIGHTS:
        try:
            wanted = FontProperties(family=[family], weight=weight)
            yield get_font(findfont(wanted, fallback_to_default=False))
        except (OSError, RuntimeError, ValueError):
            yield None


def _draws(font: Any, letter: str) -> bool:
    if font is None or not font.get_char_index(ord(letter)):
        return False
    font.set_size(12, 72)
    left, bottom, right, top = font.load_char(ord(letter)).bbox
    return bool(letter.isspace() or (right > left and top > bottom))
