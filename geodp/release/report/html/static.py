"""Pages without scripts, of releases of several tables: title, embedded maps and document."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence

from geodp.errors import UsageError
from geodp.io.write.map.look import Language, Look
from geodp.io.write.picture import draw_map
from geodp.io.write.view import View
from geodp.release.report.html.head import write_release
from geodp.release.report.html.markup import Html, Page, element
from geodp.release.report.html.page import (
    STYLES,
    read_asset,
    write_contents,
    write_document,
    write_section,
)
from geodp.release.report.html.parts import office_section
from geodp.table.withdrawal import Notice

STYLE = "main svg{max-width:100%;height:auto}"
"""Styles of these pages: pictures are at most as wide as the window."""

DPI = 100
"""Resolution of the embedded maps, in pixels per inch."""


def title_or(view: View, page: Page) -> str:
    """Return the publisher's title, or that of the kind of release."""
    metadata = view.card.metadata
    if metadata is not None and metadata.title is not None:
        return metadata.title
    return page["title"]


def embed_picture(data: bytes, label: str, aspect: float = 1.0) -> Html:
    """Embed a picture in PNG, ``aspect`` times as wide as it is, or smaller in narrow windows."""
    source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
    # The width and the height of a PNG stand at a fixed place of its header.
    columns, rows = struct.unpack(">II", data[16:24])
    width, height = str(round(columns * aspect)), str(rows)
    image = element("image", href=source, width=width, height=height, preserveAspectRatio="none")
    return element(
        "p",
        element("svg", image, viewBox=f"0 0 {width} {height}", width=width, role="img",
                aria_label=label),
    )  # fmt: skip


def draw_translated(view: View, language: Language) -> bytes:
    """Draw a map with captions in a language; in English where no font has its letters."""
    try:
        return draw_map(view, Look(language=language), dpi=DPI)
    except UsageError as error:
        if error.code != "font-lacks-letters":
            raise
    return draw_map(view, dpi=DPI)


def write_static(
    view: View,
    header: Html,
    sections: Sequence[tuple[str, Html]],
    page: Page,
    language: Language,
    style: str = "",
    notice: Notice | None = None,
) -> str:
    """Write a page without scripts.

    Parameters
    ----------
    view : View
        View of one of the tables, whose card names the software and may have a title.
    header : Html
    sections : sequence of (str, Html)
        Their headings are the texts ``heading_`` and their name.
    page : Page
        Texts of the page, and ``title``.
    language : {"en", "ja"}
    style : str
        Styles besides those of every page.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.
    """
    # The publisher's metadata, such as which release this one replaces, are those of every table.
    if view.card.metadata is not None:
        sections = [
            *sections,
            ("office", office_section(page, view.card, language, has_data=False)),
        ]
    headed = [(name, page[f"heading_{name}"], content) for name, content in sections]
    body = [
        header,
        write_contents(headed, page),
        element("main", *(write_section(*one) for one in headed)),
        element("footer", element("p", write_release(view.card, page)), class_="small"),
    ]
    joined = "".join(read_asset(f"{name}.css") for name in STYLES) + STYLE + style
    return write_document(title_or(view, page), view.card, joined, body, language, notice=notice)
