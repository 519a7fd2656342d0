"""Lines of text: their fonts and widths, and breaking or shortening to a width."""

from __future__ import annotations

import re

from geodp.io.write.drawing.fonts import BUNDLED, Face, find_families, has_letter, open_face


def split(text: str, bold: bool) -> list[tuple[str, Face]]:
    """Split a text into runs of one face each; `families` must have fonts for it."""
    # Most texts are ASCII, and lines are broken by measuring many beginnings of each.
    fonts = (BUNDLED,) if text.isascii() else find_families(text) or (BUNDLED,)
    if len(fonts) == 1:
        return [(text, fonts[0].bold if bold else fonts[0].normal)]
    runs: list[tuple[str, Face]] = []
    for letter in text:
        family = next((f for f in fonts[:-1] if has_letter(f, letter)), fonts[-1])
        face = family.bold if bold else family.normal
        if runs and runs[-1][1] == face:
            runs[-1] = (runs[-1][0] + letter, face)
        else:
            runs.append((letter, face))
    return runs


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in pixels."""
    return sum(open_face(face, size).getlength(part) for part, face in split(text, bold))


def wrap(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """Break a text into lines of at most a width in pixels, at blanks if there are any.

    Lines also break between Chinese and Japanese letters, and anywhere in a word that is too long.
    """
    lines, line = [], ""
    for part in re.findall(r"[^\s\u2e80-\uffef]+\s*|\s+|[\u2e80-\uffef]\s*", text):
        if line and measure((line + part).rstrip(), size, bold=bold) > width:
            lines.append(line.rstrip())
            line = ""
        line += part
        while measure(line.rstrip(), size, bold=bold) > width and len(line) > 1:
            fitting = _fit(line, width, size, bold)
            lines.append(line[:fitting])
            line = line[fitting:]
    return [*lines, line.rstrip()]


def shorten(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Return a text, or its beginning and an ellipsis, of at most a width in pixels."""
    if measure(text, size, bold=bold) <= width:
        return text
    end = "…" if find_families(f"{text}…") is not None else ""
    return text[: _fit(text, width - measure(end, size, bold=bold), size, bold)] + end


def _fit(text: str, width: float, size: float, bold: bool) -> int:
    """Return how many letters fit into a width in pixels, at least one."""
    # Bisection, as the width of a text is not the sum of its letters' widths where these are
    # kerned.
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[:middle], size, bold=bold) <= width:
            low = middle
        else:
            high = middle - 1
    return low
