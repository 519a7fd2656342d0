"""Lines of text: in which fonts, how wide, and broken or cut so that they fit."""

from __future__ import annotations

import re

from geodp.io.write.drawing.fonts import OWN, Face, find_families, has_letter, open_face


def split(text: str, bold: bool) -> list[tuple[str, Face]]:
    """Return the runs of a text, and the face of each; of a text that `families` has fonts for."""
    # Most texts are ASCII, and lines are broken by measuring many beginnings of each.
    found = (OWN,) if text.isascii() else find_families(text) or (OWN,)
    if len(found) == 1:
        return [(text, found[0].bold if bold else found[0].normal)]
    runs: list[tuple[str, Face]] = []
    for letter in text:
        family = next((f for f in found[:-1] if has_letter(f, letter)), found[-1])
        face = family.bold if bold else family.normal
        if runs and runs[-1][1] == face:
            runs[-1] = (runs[-1][0] + letter, face)
        else:
            runs.append((letter, face))
    return runs


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in pixels."""
    return sum(open_face(face, size).getlength(part) for part, face in split(text, bold))


def wrap(text: str, room: float, size: float, *, bold: bool = False) -> list[str]:
    """Return a text in lines of at most so many pixels, broken at blanks where there are any.

    Between Chinese and Japanese letters, and within a word that is too long, anywhere.
    """
    lines, line = [], ""
    for part in re.findall(r"[^\s\u2e80-\uffef]+\s*|\s+|[\u2e80-\uffef]\s*", text):
        if line and measure((line + part).rstrip(), size, bold=bold) > room:
            lines.append(line.rstrip())
            line = ""
        line += part
        while measure(line.rstrip(), size, bold=bold) > room and len(line) > 1:
            kept = _fit(line, room, size, bold)
            lines.append(line[:kept])
            line = line[kept:]
    return [*lines, line.rstrip()]


def shorten(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """Return a text, or its beginning and an ellipsis, of at most so many pixels."""
    if measure(text, size, bold=bold) <= room:
        return text
    end = "…" if find_families(f"{text}…") is not None else ""
    return text[: _fit(text, room - measure(end, size, bold=bold), size, bold)] + end


def _fit(text: str, room: float, size: float, bold: bool) -> int:
    """Return how many letters fit into so many pixels, at least one."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[:middle], size, bold=bold) <= room:
            low = middle
        else:
            high = middle - 1
    return low
