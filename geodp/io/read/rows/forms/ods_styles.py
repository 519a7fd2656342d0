"""Styles of spreadsheets of OpenDocument: what they show beside numbers that makes them no counts.

A cell names its style, or has that of its row or of its column; a style names that of numbers, or
has that of another style that it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZipFile

from geodp.io.read.rows.forms.cells import sign_of

CONTENT, STYLES = "content.xml", "styles.xml"

MOST_PARENTS = 64
"""Styles that one is made of, one of another."""

_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:"
_NUMBER, _STYLE, _OFFICE = (f"{_NAMES}{one}:1.0}}" for one in ("datastyle", "style", "office"))
_PERCENTAGE = f"{_NUMBER}percentage-style"
_NUMBERS = (_PERCENTAGE, f"{_NUMBER}number-style", f"{_NUMBER}currency-style")


def read_signs(archive: ZipFile) -> Mapping[str, str]:
    """Return what styles of cells show beside numbers, as `sign_of` does, by their names.

    Raises KeyError for an archive without content, and ParseError for what is no XML.
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
    found = {name: signs.get(_numbers_of(name, styles), "") for name in styles}
    return {name: sign for name, sign in found.items() if sign}


def _numbers_of(name: str, styles: Mapping[str, tuple[str, str]]) -> str:
    """Return the style of numbers of a style of cells; empty for none."""
    for _ in range(MOST_PARENTS):
        numbers, parent = styles.get(name, ("", ""))
        if numbers or not parent:
            return numbers
        name = parent
    return ""


def _sign_of_style(style: Element) -> str:
    if style.tag == _PERCENTAGE:
        return "%"
    code = ""
    for one in style:
        text = (one.text or "").replace('"', "")
        if one.tag == f"{_NUMBER}text":
            code += f'"{text}"'
        elif one.tag == f"{_NUMBER}currency-symbol":
            code += f"[${text.translate({ord(']'): None, ord('-'): None}) or '¤'}]"
        else:
            code += "0"
    return sign_of(code)
