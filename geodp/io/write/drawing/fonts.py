"""Fonts of a sheet: the bundled one, and an installed one for letters that it lacks."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import bidirectional, category

from geodp.errors import LettersWarning

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont


FIRST = (
    *("Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans JP", "IPAexGothic", "IPAGothic"),
    *("Yu Gothic", "Meiryo", "MS Gothic", "Hiragino Sans", "TakaoGothic", "VL Gothic"),
)
"""Preferred families: one character may have different forms in Japan and in China."""

LAST = "LastResort"
"""Prefix of the names, without dots and spaces, of fonts that have a box for every letter."""

NORMAL = ("Regular", "Book", "Normal", "Roman", "W3", "W4", "Medium", "DemiLight", "Light")
BOLD = ("Bold", "W6", "W7", "DemiBold", "SemiBold", "Medium", "Heavy", "Black")
"""Styles of a family's two weights, the best first; without any of them, its first style counts."""

ENDINGS = (".ttf", ".otf", ".ttc", ".otc")

NONCHARACTER = "\U0010ffff"
"""Code point that is no character: a font draws it as it draws all letters that it lacks."""

TRIED = 16
"""Size in pixels at which a letter is tested."""


@dataclass(frozen=True)
class Face:
    """One weight of a family.

    Attributes
    ----------
    path : str
    number : int
        Index in a file of several faces.
    weight : int or None
        Setting of a variable font, from 100 to 900.
    shaped : bool
        Whether its letters change form and place by their neighbours.
    """

    path: str
    number: int = 0
    weight: int | None = None
    shaped: bool = False


@dataclass(frozen=True)
class FontFamily:
    """Two weights of one name, which may be the same face."""

    name: str
    normal: Face
    bold: Face


_FOLDER = Path(__file__).parent / "dejavu"
BUNDLED = FontFamily(
    "DejaVu Sans",
    Face(str(_FOLDER / "DejaVuSans.ttf")),
    Face(str(_FOLDER / "DejaVuSans-Bold.ttf")),
)
"""Latin, Greek, Cyrillic and more, but no Chinese or Japanese."""


@lru_cache(256)
def families(text: str) -> tuple[FontFamily, ...] | None:
    """Find font families by `find_families`, and warn if there are none.

    The warning is a LettersWarning, once in a process for every text.
    """
    fonts = find_families(text)
    if fonts is None:
        lacking = f"No installed font has all letters of {text}"
        wanted = "one that has them, such as Noto Sans CJK"
        if needs_shaping(text) and not can_shape():
            lacking, wanted = f"Letters of {text} take forms from each other", "FriBiDi for that"
        warnings.warn(
            f"{lacking}, and the map leaves them out; install {wanted}, before publishing, or draw "
            "the map again by geodp map.",
            LettersWarning,
            stacklevel=2,
        )
    return fonts


@lru_cache(256)
def find_families(text: str) -> tuple[FontFamily, ...] | None:
    """Find font families that together have every letter of a text, in order of preference.

    None if no installed font has the letters that the bundled one lacks. Letters that change form
    by their neighbours are all drawn by one font.
    """
    if text.isascii():
        return (BUNDLED,)
    shaped = needs_shaping(text)
    missing = [
        letter for letter in dict.fromkeys(text) if shaped or not has_letter(BUNDLED, letter)
    ]
    if not missing:
        return (BUNDLED,)
    if not shaped or can_shape():
        for family in find_installed(font_files(), shaped):
            if all(has_letter(family, letter) for letter in missing):
                return (family,) if shaped else (BUNDLED, family)
    return None


def needs_shaping(text: str) -> bool:
    """Test whether letters change by their neighbours, or run from right to left.

    Examples
    --------
    >>> [needs_shaping(text) for text in ("Bevölkerung", "人口", "سكان", "जनसंख्या")]
    [False, False, True, True]
    """
    return not text.isascii() and any(
        category(letter) in ("Mn", "Mc", "Me", "Cf") or bidirectional(letter) in ("R", "AL", "AN")
        for letter in dict.fromkeys(text)
    )


def can_shape() -> bool:
    """Test whether Pillow has the libraries for shaping."""
    from PIL import features

    return bool(features.check("raqm") and features.check("fribidi"))


@lru_cache(64)
def open_face(face: Face, size: float) -> FreeTypeFont:
    """Open a face at a size in pixels; OSError if it cannot be read."""
    from PIL.ImageFont import Layout, truetype

    # Pillow would shape with whatever libraries are installed; the basic layout gives the same
    # pixels on every machine.
    layout = Layout.RAQM if face.shaped else Layout.BASIC
    font = truetype(face.path, size, index=face.number, layout_engine=layout)
    # A variable font is opened at the weight that is drawn, not at its default.
    if face.weight is not None:
        axes = font.get_variation_axes()
        set_to = [face.weight if _is_weight(axis) else axis["default"] or 0 for axis in axes]
        font.set_variation_by_axes([float(value) for value in set_to])
    return font


def font_files() -> tuple[str, ...]:
    """List the files of all installed fonts, in a fixed order."""
    paths = [
        str(Path(folder) / name)
        for start in _folders()
        for folder, _, names in os.walk(start)
        for name in names
        if name.lower().endswith(ENDINGS)
    ]
    return tuple(sorted(set(paths)))


def _folders() -> Iterator[Path]:
    """Yield the folders in which systems keep their fonts."""
    # Path.expanduser raises where a service has no home; here its folder is then not there.
    home, environment = Path(os.path.expanduser("~")), os.environ
    if sys.platform == "win32":
        yield Path(environment.get("WINDIR", "C:/Windows"), "Fonts")
        yield Path(
            environment.get("LOCALAPPDATA", home / "AppData/Local"), "Microsoft/Windows/Fonts"
        )
    elif sys.platform == "darwin":
        yield from (home / "Library/Fonts", Path("/Library/Fonts"), Path("/System/Library/Fonts"))
    else:
        yield home / ".fonts"
        shared = environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        for data in (environment.get("XDG_DATA_HOME") or home / ".local/share", *shared.split(":")):
            yield Path(data, "fonts")


@lru_cache(4)
def find_installed(files: tuple[str, ...], shaped: bool) -> tuple[FontFamily, ...]:
    """Return the families in font files: Japanese ones first, then by name."""
    styles: dict[str, dict[str, Face]] = {}
    for path in files:
        for name, style, face in _faces(path, shaped):
            styles.setdefault(name, {}).setdefault(style, face)
    installed = [
        FontFamily(name, _choose(faces, NORMAL, 400), _choose(faces, BOLD, 700))
        for name, faces in sorted(styles.items())
        if not name.replace(" ", "").lstrip(".").startswith(LAST)
    ]
    # Sorted by name before, so that the choice does not depend on the order of folders.
    installed.sort(key=lambda f: FIRST.index(f.name) if f.name in FIRST else len(FIRST))
    return tuple(installed)


def _faces(path: str, shaped: bool) -> Iterator[tuple[str, str, Face]]:
    """Yield family, style and face of all scalable fonts in a file."""
    # A collection does not say how many faces it has: opening them until one fails finds out.
    for number in count():
        face = Face(path, number, shaped=shaped)
        try:
            font = open_face(face, TRIED)
            name, style = font.getname()
        except (OSError, ValueError):
            return  # there are no more faces, or the font consists of bitmaps
        try:
            varies = any(map(_is_weight, font.get_variation_axes()))
        except (OSError, NotImplementedError):
            varies = False
        if varies:
            face = Face(path, number, 400, shaped)
        yield str(name), str(style), face


def _is_weight(axis: object) -> bool:
    return isinstance(axis, dict) and axis["name"] in (b"Weight", "Weight")


def _choose(faces: dict[str, Face], wanted: tuple[str, ...], weight: int) -> Face:
    """Return the face of a family that is nearest to a weight."""
    for face in faces.values():
        if face.weight is not None:
            return Face(face.path, face.number, weight, face.shaped)
    upright = {s: f for s, f in faces.items() if "Italic" not in s and "Oblique" not in s} or faces
    return next((upright[style] for style in (*wanted, *NORMAL) if style in upright), _any(upright))


def _any(faces: dict[str, Face]) -> Face:
    return faces[min(faces)]


@lru_cache(4096)
def has_letter(family: FontFamily, letter: str) -> bool:
    """Test whether a family draws a letter, in both weights."""
    return all(_draws(face, letter) for face in (family.normal, family.bold))


def _draws(face: Face, letter: str) -> bool:
    """Test whether a face has a letter, by comparing it with a missing one."""
    try:
        font = open_face(face, TRIED)
        drawn, lacking = (_render(font, text) for text in (letter, NONCHARACTER))
    except (OSError, ValueError):
        return False
    # A font may map a letter to an empty glyph: only blanks are allowed to draw nothing.
    return letter == " " or (drawn != lacking and (drawn[0] is not None or letter.isspace()))


def _render(font: FreeTypeFont, text: str) -> tuple[object, ...]:
    mask, offset = font.getmask2(text, "L")
    return mask.getbbox(), bytes(mask), offset, font.getlength(text)


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


@lru_cache(4096)
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
