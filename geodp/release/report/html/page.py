"""The page of a release: one HTML file that loads nothing from the network.

The sections are written in :mod:`.frame` (map), :mod:`.quotes` (places) and :mod:`.parts` (card);
their data in :mod:`.surface`. The scripts in ``assets`` draw the map and estimate areas. Releases
of several tables have pages without scripts: title, embedded maps and document.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from geodp.errors import UsageError, printable
from geodp.io.write.map.look import Language, Look
from geodp.io.write.picture import draw_map
from geodp.io.write.view import View
from geodp.release.report.html import parts
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.frame import (
    draw_areas,
    frame_map,
    name_counted,
    pack_colours,
    title_of,
    write_bounds,
    write_days,
    write_header,
    write_release,
    write_source,
)
from geodp.release.report.html.markup import Html, Page, bind, element, join
from geodp.release.report.html.outlines import lay_ground
from geodp.release.report.html.parts import office_section
from geodp.release.report.html.places import list_largest, list_places
from geodp.release.report.html.quotes import Quote, draw_places, pack_quotes, quote_places
from geodp.release.report.html.surface import list_names, pack_surface
from geodp.table.card import Card, Notice

SCRIPTS = (
    *("unpack", "grid", "estimate", "totals", "water", "surface", "region"),
    *("marks", "map", "units", "words", "quotes", "explore", "pointer", "areas", "places", "main"),
)
"""Files of the page's script, in the order in which they are joined."""

STYLES = ("style", "map", "print")
"""Style sheets, in the order in which they are joined."""


def write_page(
    view: View,
    explained: Sequence[Any],
    unit: str,
    language: Language = "en",
    record: Mapping[str, Any] | None = None,
    places: Mapping[str, Any] | None = None,
    notice: Notice | None = None,
) -> str:
    """Write a release as one HTML page.

    Equal arguments give equal bytes.

    Parameters
    ----------
    view : View
        View of a written release (:func:`geodp.release.opening.open_view`).
    explained : sequence of Section
        Explanation of the release in the language; see :mod:`geodp.tools.explain`.
    unit : str
        Name of one unit of privacy in the language.
    language : {"en", "ja"}
    record : mapping, optional
        Registry record, see :func:`geodp.release.report.registry.registry_record`.
    places : mapping of str to polygon or list of codes, optional
        A public list; see :func:`geodp.release.report.html.places.list_places`.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.

    Raises
    ------
    UsageError
        The language is not available.
    """
    texts, card, grid = texts_of(language), view.card, view.table.grid
    page, script_texts = {**texts.page, **texts.card}, dict(texts.script)
    # Maps of units have no squares: the texts on squares are replaced.
    if grid.outlines is not None:
        page |= texts.page_of_units
        script_texts |= texts.script_of_units
    # The script binds its own sentences where it shows them: copied ones have plain spaces.
    page = {name: bind(text) for name, text in page.items()}
    who = name_counted(view, page, language)
    script_texts |= name_domain(view, page)
    script_texts |= {
        "source": write_source(card, page, False), "source_exact": write_source(card, page, True)
    }  # fmt: skip
    about = {} if record is None else record["deployment"]["basic"]
    title = title_of(view, who, page, about)
    surface = pack_surface(view) if grid.places else None
    quotes = quote_places(list_places(view, places), script_texts, view.limit)
    named = places is not None or grid.hierarchy is not None
    # A list of nothing but the whole domain would repeat the header.
    whole = [one for one in quotes if one.is_entire_domain]
    listing = quotes if len(whole) < len(quotes) else []
    largest: list[Quote] = []
    if surface is None:
        shown = [("map", element("p", page["no_map"]))]
    else:
        largest = quote_places(list_largest(view), script_texts, view.limit)
        left_out = _count_left_out(listing, places)
        listed = draw_places(page, script_texts, who, listing, largest, view.limit, named, left_out)
        drawn = frame_map(who, card, page, surface)
        shown = [("map", drawn), ("places", listed), ("areas", draw_areas(page, surface))]
    shown += _card_sections(card, explained, unit, page, language, surface is not None)
    if record is not None:
        shown.append(("registry", parts.registry_section(page, record)))
    total = bind(whole[0].format_sentence(script_texts, who, view.limit)) if whole else None
    style = "".join(read_asset(f"{name}.css") for name in STYLES)
    header = write_header(view, unit, page, about, title, total)
    body = _write_body(shown, header, card, page)
    if surface is None:
        return write_document(title, card, style, body, language, notice=notice)
    data = {
        "surface": surface,
        "places": pack_quotes(listing) if listing else None,
        "largest": pack_quotes(largest),
        "names": list_names(grid, language),
        "who": who,
        "words": script_texts,
        "look": pack_colours(),
    }
    body.append(write_data(data))
    return write_document(title, card, style, body, language, join_scripts(SCRIPTS), notice)


def write_data(data: Any) -> Html:
    """Write plain values for the script of a page."""
    # A data block is not executed, so that the policy needs no digest for it.
    return Html(f'<script type="application/json" id="data">{_json(data)}</script>')


def name_domain(view: View, page: Page) -> dict[str, str]:
    """Name the entire domain by its bounds, for sentences that are quoted elsewhere."""
    grid = view.table.grid
    lain = [] if grid.outlines is None else [lay_ground(grid.outlines.drawn)]
    for place in [*lain, *grid.places][:1]:
        if (bounds := write_bounds(place, page)) is not None:
            return {"place_whole": page["place_whole_at"].format(bounds=bounds)}
    return {}


def _count_left_out(listing: Sequence[Quote], places: Mapping[str, Any] | None) -> int:
    """Count the places of a public list that the page does not list."""
    if places is None or not listing:
        return 0
    return len(places) - sum(not one.is_entire_domain for one in listing)


def _write_body(
    shown: Sequence[tuple[str, Html]], header: Html, card: Card, page: Page
) -> list[Html]:
    """Write the body of a page without its script."""
    sections = [(name, page[f"heading_{name}"], content) for name, content in shown]
    return [
        element("a", page["skip"], href="#content", class_="skip"),
        header,
        write_contents(sections, page),
        element("main", *(write_section(*one) for one in sections), id="content"),
        element(
            "footer", element("p", write_release(card, page)), element("p", page["made"]),
            class_="small",
        ),
    ]  # fmt: skip


def write_document(
    title: str,
    card: Card,
    style: str,
    body: Sequence[Html],
    language: Language,
    script: str | None = None,
    notice: Notice | None = None,
) -> str:
    """Write an HTML document that may run its own script, and load and send nothing.

    A notice of withdrawal stands at its top. The style has the class ``alarm``.
    """
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=f"geodp {card.software.version}"),
        element("title", title),
        Html(f"<style>{style}</style>"),
    ]
    # Scripts come last in the body: they find all elements when they run.
    runs = [] if script is None else [Html(f"<script>{script}</script>")]
    top = write_notice(notice, language)
    document = element(
        "html",
        element("head", join(head)),
        element("body", join([*top, *body, *runs])),
        lang=language,
    )
    return f"<!DOCTYPE html>\n{document}\n"


def _card_sections(
    card: Card,
    explained: Sequence[Any],
    unit: str,
    page: Page,
    language: Language,
    has_data: bool,
) -> list[tuple[str, Html]]:
    """List names and contents of the sections on the card; ``has_data``: see `office_section`."""
    return [
        ("read", parts.reading_section(page, unit)),
        ("guarantee", parts.guarantee_section(explained)),
        ("error", parts.errors_section(page, card)),
        ("hazards", parts.hazards_section(page, card, unit)),
        ("office", parts.office_section(page, card, language, has_data=has_data)),
        ("budget", join([element("p", page["specialists"]), parts.budget_section(page, card)])),
        ("domain", parts.domain_section(page, card, language)),
        ("method", parts.method_section(page, card, language)),
        ("files", parts.files_section(page, card)),
    ]


def write_section(name: str, heading: str, content: Html) -> Html:
    """Write a section of a page with its heading."""
    return element(
        "section",
        element("h2", heading, id=f"part-{name}"),
        content,
        aria_labelledby=f"part-{name}",
        class_=name,
    )


def write_contents(sections: Sequence[tuple[str, str, Html]], page: Page) -> Html:
    """Write links to all sections: their names, headings and contents."""
    links = (
        element("li", element("a", heading, href=f"#part-{name}")) for name, heading, _ in sections
    )
    return element("nav", element("ul", *links), aria_label=page["contents"])


def _json(data: Any) -> str:
    """Format plain values as JSON that cannot end a script element."""
    # Labels of a public table may contain "</script>"; U+2028 and U+2029 end lines in old scripts.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def read_asset(name: str) -> str:
    """Read a file of scripts or styles."""
    return files("geodp.release.report.html").joinpath("assets", name).read_text(encoding="utf-8")


def join_scripts(names: Iterable[str]) -> str:
    """Join scripts in a function, so that they define no global names."""
    scripts = "\n".join(read_asset(f"{name}.js") for name in names)
    return f'(() => {{\n"use strict";\n{scripts}}})();\n'


def _policy(style: str, script: str | None) -> str:
    """Write a content security policy that allows the page's script and styles, nothing else."""
    # Digests instead of 'unsafe-inline': a changed script or style is not run.
    runs = "" if script is None else f"script-src '{_digest(script)}'; "
    return (
        f"default-src 'none'; {runs}img-src data:; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write_notice(notice: Notice | None, language: Language) -> list[Html]:
    """Write the notice that lies beside a release, for the top of its page; empty without one."""
    if notice is None:
        return []
    page, stated = texts_of(language).page, notice.withdrawal
    if stated is None:
        sentences = [page["notice_unreadable"]]
    else:
        # The reason is what the office wrote, in whatever language.
        days, reason = write_days(stated.date, page), printable(stated.reason)
        sentences = [page["notice_withdrawn"].format(date=days, reason=reason)]
        if stated.use is not None:
            sentences.append(page["notice_use"].format(release_id=printable(stated.use)))
    return [element("p", bind(" ".join(sentences)), class_="alarm", role="alert")]


STYLE = "main svg{max-width:100%;height:auto}"
"""Styles of these pages: pictures are at most as wide as the window."""

SIDE, DPI = 480, 150
"""Pixels of the longer side of an embedded map, so few that a telephone shows words that can be
read, and its resolution in pixels per inch, 100 of which are a pixel each."""


def title_or(card: Any, page: Page) -> str:
    """Return the publisher's title, or that of the kind of release."""
    title: str | None = None if card.metadata is None else card.metadata.title
    return page["title"] if title is None else title


def embed_picture(data: bytes, label: str) -> Html:
    """Embed a picture in PNG as wide as it is, or smaller in narrow windows."""
    source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
    # The width and the height of a PNG stand at a fixed place of its header.
    columns, rows = struct.unpack(">II", data[16:24])
    width, height = str(columns), str(rows)
    image = element("image", href=source, width=width, height=height, preserveAspectRatio="none")
    return element(
        "p",
        element("svg", image, viewBox=f"0 0 {width} {height}", width=width, role="img",
                aria_label=label),
    )  # fmt: skip


def draw_worded(draw: Callable[[Look], bytes], look: Look) -> bytes:
    """Draw a map with words in a language; in English where no font has its letters."""
    try:
        return draw(look)
    except UsageError as error:
        if error.code != "font-lacks-letters":
            raise
    return draw(replace(look, language="en"))


def draw_translated(view: View, language: Language) -> bytes:
    """Draw a map with captions in a language; see :func:`draw_worded`."""
    return draw_worded(
        lambda look: draw_map(view, look, dpi=DPI), Look(language=language, size=SIDE)
    )


def write_static(
    card: Any,
    header: Html,
    sections: Sequence[tuple[str, Html]],
    page: Page,
    language: Language,
    style: str = "",
    notice: Notice | None = None,
    script: str | None = None,
    data: Any = None,
) -> str:
    """Write a page of embedded pictures, without scripts or with one of its own.

    Parameters
    ----------
    card : Card or another card
        That of one of the tables, which names the software and may have a title.
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
    script : str, optional
    data : object, optional
        Plain values, for the script.
    """
    # The publisher's metadata, such as which release this one replaces, are those of every table.
    if card.metadata is not None:
        office = office_section(page, card, language, has_data=False)
        sections = [*sections, ("office", office)]
    headed = [(name, page[f"heading_{name}"], content) for name, content in sections]
    body = [
        header,
        write_contents(headed, page),
        element("main", *(write_section(*one) for one in headed)),
        element("footer", element("p", write_release(card, page)), class_="small"),
    ]
    body += [] if script is None else [write_data(data)]
    joined = "".join(read_asset(f"{name}.css") for name in STYLES) + STYLE + style
    return write_document(title_or(card, page), card, joined, body, language, script, notice)
