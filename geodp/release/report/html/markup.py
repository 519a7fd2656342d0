"""HTML elements from texts: whatever is not markup already is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

Page = Mapping[str, str]
"""Texts of a page in its language, by name; with fields in braces."""

VOID = frozenset({"meta", "input", "br"})
"""Elements without content."""


class Html(str):
    """A text that is markup."""

    __slots__ = ()


def escape(text: str) -> Html:
    """Escape a text; markup is returned unchanged.

    Examples
    --------
    >>> escape("a <b> & 'c'")
    'a &lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return text if isinstance(text, Html) else Html(html.escape(text))


def join(parts: Iterable[str]) -> Html:
    """Join texts and markup with line breaks."""
    return Html("\n".join(escape(part) for part in parts))


def element(name: str, /, *content: str, **attributes: str | bool | None) -> Html:
    """Write an element with attributes and content.

    Parameters
    ----------
    name : str
    *content : str
        Markup, and texts that are escaped.
    **attributes : str, bool or None
        True has no value, False and None are left out; ``aria_label`` is ``aria-label``, and an
        underscore at the end is for keywords of Python (``class_``).

    Examples
    --------
    >>> element("p", "1 < 2", class_="small", hidden=True)
    '<p class="small" hidden>1 &lt; 2</p>'
    """
    attribute_text = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute_text += f" {key.rstrip('_').replace('_', '-')}"
        if value is not True:
            attribute_text += f'="{html.escape(str(value))}"'
    if name in VOID:
        return Html(f"<{name}{attribute_text}>")
    return Html(f"<{name}{attribute_text}>{''.join(escape(part) for part in content)}</{name}>")


def bind(text: str) -> str:
    """Keep percent signs on the line of their number, by spaces that do not break.

    Examples
    --------
    >>> bind("95 % sure") == "95\\u00a0% sure"
    True
    """
    return text.replace(" %", "\u00a0%")


def table(
    caption: str, head: Iterable[str], rows: Iterable[Iterable[str]], repeats: bool = False
) -> Html:
    """Write a table whose first column has row headers; it scrolls where the page is narrow.

    ``repeats``: whether the caption is the heading above it, and so is not shown again.
    """
    top = element("tr", *(element("th", each, scope="col") for each in head))
    lines = []
    for row in rows:
        name, *values = row
        cells = [element("th", name, scope="row"), *(element("td", each) for each in values)]
        lines.append(element("tr", *cells))
    scrolled = element(
        "table",
        element("caption", caption, class_="unseen" if repeats else None),
        element("thead", top),
        element("tbody", *lines),
    )
    # A scrollable region must be reachable by keyboard and have a name (WCAG 2.1.1).
    return element(
        "div", scrolled, class_="scroll", tabindex="0", role="region", aria_label=caption
    )


def pairs(rows: Iterable[tuple[str, str]]) -> Html:
    """Write a description list of terms."""
    items = (part for term, what in rows for part in (element("dt", term), element("dd", what)))
    return element("dl", *items)


def bullets(lines: Iterable[str]) -> Html:
    """Write an unordered list."""
    return element("ul", *(element("li", line) for line in lines))


def english(text: str) -> Html:
    """Mark a text as English, on a page of any language."""
    return element("span", text, lang="en")
