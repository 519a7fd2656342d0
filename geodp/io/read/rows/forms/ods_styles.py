"""Styles of OpenDocument spreadsheets: signs beside numbers by which these are no counts.

A cell names its style, or has that of its row or column; a style names a number style, or inherits
that of its parent style.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZipFile

from geodp.io.read.rows.forms.cells import sign_of

CONTENT, STYLES = "content.xml", "styles.xml"

MAX_PARENTS = 64
"""Maximum number of parent styles in a chain."""

_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:"
_NUMBER, _STYLE, _OFFICE = (f"{_NAMES}{one}:1.0}}" for one in ("datastyle", "style", "office"))
_PERCENTAGE = f"{_NUMBER}percentage-style"
_NUMBERS = (_PERCENTAGE, f"{_NUMBER}number-style", f"{_NUMBER}currency-style")


def read_signs(archive: ZipFile) -> Mapping[str, str]:
    """Return the signs that cell styles show beside numbers, by the names of the styles.

    Signs are those of :func:`sign_of`. Raises KeyError for an archive without content, and
    ParseError for invalid XML.
    """
    signs, styles = dict[str, str](), dict[str, tuple[str, str]]()
    for part in (STYLES, CONTENT):
        if part == STYLES and part not in archive.namelist():
            continue
        with archive.open(part) as stream:
            for event, element in iterparse(stream, ("start", "end")):
                if event == "start" and element.tag == f"{_OFFICE}body":
                    break
                name = element.get(f"{_STYLE}name", "")
                if event == "end" and element.tag in _NUMBERS:
                    signs[name] = _sign_of_style(element)
                elif event == "end" and element.tag == f"{_STYLE}style":
                    parent = element.get(f"{_STYLE}parent-style-name", "")
                    styles[name] = element.get(f"{_STYLE}data-style-name", ""), parent
    all_signs = {name: signs.get(_numbers_of(name, styles), "") for name in styles}
    return {name: sign for name, sign in all_signs.items() if sign}


def _numbers_of(name: str, styles: Mapping[str, tuple[str, str]]) -> str:
    """Return the number style of a cell style, from its parents if necessary; empty if none."""
    # A chain of parents may be a cycle in a damaged file.
    for _ in range(MAX_PARENTS):
        numbers, parent = styles.get(name, ("", ""))
        if numbers or not parent:
            return numbers
        name = parent
    return ""


def _sign_of_style(style: Element) -> str:
    """Return the sign of a number style, via an equivalent format code."""
    if style.tag == _PERCENTAGE:
        return "%"
    code = ""
    for part in style:
        text = (part.text or "").replace('"', "")
        if part.tag == f"{_NUMBER}text":
            code += f'"{text}"'
        elif part.tag == f"{_NUMBER}currency-symbol":
            code += f"[${text.translate({ord(']'): None, ord('-'): None}) or '¤'}]"
        else:
            code += "0"
    return sign_of(code)
