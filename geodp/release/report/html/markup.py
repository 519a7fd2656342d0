"""HTML from texts: whatever is not markup already is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

Page = Mapping[str, str]
"""The words of a page in its language, by name; fields stand in braces."""

VOID = frozenset({"meta", "input", "br"})
"""Elements without content."""


class Html(str):
    """A text that is markup."""

    __slots__ = ()


def escape(text: str) -> Html:
    """Return a text as markup; markup as it is.

    Examples
    --------
    >>> escape("a <b> & 'c'")
    'a &lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return text if isinstance(text, Html) else Html(html.escape(text))


def join(parts: Iterable[str]) -> Html:
    """Return texts and markup one after the other."""
    return Html("\n".join(escape(part) for part in parts))


def element(name: str, /, *content: str, **attributes: str | bool | None) -> Html:
    """Return an element with what it holds.

    Parameters
    ----------
    name : str
    *content : str
        Markup, and texts that are escaped.
    **attributes : str, bool or None
        True has no value, False and None are left out; ``aria_label`` is ``aria-label``, and an
        underscore at the end is for words that Python keeps for itself.

    Examples
    --------
    >>> element("p", "1 < 2", class_="small", hidden=True)
    '<p class="small" hidden>1 &lt; 2</p>'
    """
    said = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        said += f" {key.rstrip('_').replace('_', '-')}"
        if value is not True:
            said += f'="{html.escape(str(value))}"'
    if name in VOID:
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{''.join(escape(part) for part in content)}</{name}>")


def table(
    caption: str, head: Iterable[str], rows: Iterable[Iterable[str]], repeats: bool = False
) -> Html:
    """Return a table whose first column names its rows; it scrolls where the page is narrow.

    ``repeats``: whether the caption is the heading above it, and so is not shown again.
    """
    top = element("tr", *(element("th", each, scope="col") for each in head))
    lines = []
    for row in rows:
        name, *values = row
        cells = [element("th", name, scope="row"), *(element("td", each) for each in values)]
        lines.append(element("tr", *cells))
    whole = element(
        "table",
        element("caption", caption, class_="unseen" if repeats else None),
        element("thead", top),
        element("tbody", *lines),
    )
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def pairs(rows: Iterable[tuple[str, str]]) -> Html:
    """Return a list of terms and what they are."""
    found = (part for term, what in rows for part in (element("dt", term), element("dd", what)))
    return element("dl", *found)


def bullets(lines: Iterable[str]) -> Html:
    """Return a list."""
    return element("ul", *(element("li", line) for line in lines))


def english(text: str) -> Html:
    """Return a text that is English on a page of any language."""
    return element("span", text, lang="en")
