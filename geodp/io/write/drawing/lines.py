"""Lines of text that fit: broken, or cut with an ellipsis."""

from __future__ import annotations

import re

from geodp.io.write.drawing.fonts import find_families, measure


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
