"""A release as one HTML file that needs no network: what it says, where to believe it, and why."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from types import ModuleType
from typing import Any

from geodp.errors import UsageError
from geodp.io.write.map.captions import LANGUAGES as CAPTIONS
from geodp.io.write.map.captions import Language
from geodp.io.write.view import View
from geodp.release.report.html import english, japanese, parts
from geodp.release.report.html.colours import state_look
from geodp.release.report.html.frame import draw_areas, draw_map
from geodp.release.report.html.markup import Html, element, join
from geodp.release.report.html.parts import Told
from geodp.release.report.html.surface import state_surface
from geodp.table.card import Card

LANGUAGES: Mapping[Language, ModuleType] = {"en": english, "ja": japanese}

SCRIPTS = (
    *("unpack", "grid", "normal", "estimate", "totals", "water", "surface", "region"),
    *("map", "units", "words", "explore", "areas", "main"),
)
"""Files of the page's script, in their order."""


def write_page(
    view: View,
    told: Sequence[Told],
    unit: str,
    language: Language = "en",
    record: Mapping[str, Any] | None = None,
) -> str:
    """Return a release as one HTML page: the same release and words, the same bytes.

    Parameters
    ----------
    view : View
        Of a written release (:func:`geodp.release.opening.open_view`): nothing else is shown.
    told : sequence of Told
        What the release means for people, in the language; see :mod:`geodp.features.explain`.
    unit : str
        How one unit of privacy is said in the language.
    language : {"en", "ja"}
    record : mapping, optional
        For a registry of deployments; see :func:`geodp.release.report.registry.registry_record`.

    Raises
    ------
    UsageError
        Another language.
    """
    if language not in LANGUAGES:
        raise UsageError(f"language is one of {', '.join(LANGUAGES)}.", code="language-unknown")
    known = LANGUAGES[language]
    page, said = {**known.PAGE, **known.CARD}, dict(known.SCRIPT)
    if view.table.grid.outlines is not None:
        page, said = page | known.PAGE_OF_UNITS, said | known.SCRIPT_OF_UNITS
    card = view.card
    surface = state_surface(view) if view.table.grid.places else None
    words = _tell_card(card, told, unit, page, language)
    if record is not None:
        words.append(("registry", parts.tell_registry(page, record)))
    shown = [*_show_map(view, language, page, surface), *words]
    sections = [(name, page[f"heading_{name}"], content) for name, content in shown]
    style, script = _asset("style.css"), _join_scripts()
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=f"geodp {card.software.version}"),
        element("title", page["title"].format(name=card.name)),
        Html(f"<style>{style}</style>"),
    ]
    body = [
        element("a", page["skip"], href="#content", class_="skip"),
        _header(card, unit, page),
        _contents(sections, page),
        element("main", *(_section(*one) for one in sections), id="content"),
        element("footer", element("p", page["made"])),
    ]
    if surface is not None:
        data = {"surface": surface, "words": said, "look": state_look()}
        body.append(Html(f'<script type="application/json" id="data">{_json(data)}</script>'))
        body.append(Html(f"<script>{script}</script>"))
    document = element(
        "html", element("head", join(head)), element("body", join(body)), lang=language
    )
    return f"<!DOCTYPE html>\n{document}\n"


def _show_map(
    view: View, language: Language, page: Mapping[str, str], surface: Mapping[str, Any] | None
) -> list[tuple[str, Html]]:
    """Return name and content of the parts that the page's script draws."""
    if surface is None:
        return [("map", element("p", page["no_map"]))]
    what = CAPTIONS[language].name(view.counted)
    return [("map", draw_map(what, view.card, page, surface)), ("areas", draw_areas(page, surface))]


def _tell_card(
    card: Card, told: Sequence[Told], unit: str, page: Mapping[str, str], language: Language
) -> list[tuple[str, Html]]:
    """Return name and content of the parts that are words."""
    return [
        ("read", parts.tell_reading(page, unit)),
        ("guarantee", parts.tell_guarantee(told)),
        ("error", parts.tell_errors(page, card)),
        ("budget", parts.tell_budget(page, card)),
        ("domain", parts.tell_domain(page, card, language)),
        ("hazards", parts.tell_hazards(page, card, unit)),
        ("office", parts.tell_office(page, card, language)),
        ("files", parts.tell_files(page, card)),
        ("method", parts.tell_method(page, card, language)),
    ]


def _section(name: str, heading: str, content: Html) -> Html:
    return element(
        "section",
        element("h2", heading, id=f"part-{name}"),
        content,
        aria_labelledby=f"part-{name}",
        class_=name,
    )


def _header(card: Card, unit: str, page: Mapping[str, str]) -> Html:
    software = str(card.software)
    flag = [] if card.private else [element("p", page["not_private"], class_="alarm", role="alert")]
    return element(
        "header",
        element("h1", page["title"].format(name=card.name)),
        element("p", page["subtitle"].format(release_id=card.release_id, software=software)),
        *flag,
        element("p", page["intro"].format(unit=unit), class_="intro"),
    )


def _contents(sections: Sequence[tuple[str, str, Html]], page: Mapping[str, str]) -> Html:
    links = (
        element("li", element("a", heading, href=f"#part-{name}")) for name, heading, _ in sections
    )
    return element("nav", element("ul", *links), aria_label=page["contents"])


def _json(data: Any) -> str:
    """Return plain values as JSON that cannot end a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _asset(name: str) -> str:
    return files("geodp.release.report.html").joinpath("assets", name).read_text(encoding="utf-8")


def _join_scripts() -> str:
    """Return the page's script, with no name of its own left outside."""
    scripts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{scripts}}})();\n'


def _policy(style: str, script: str) -> str:
    """Return a policy that lets nothing run, load or be sent but what the page itself has."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
