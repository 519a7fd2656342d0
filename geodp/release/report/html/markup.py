"""HTML elements from texts, and arrays as text in a page.

Whatever is not markup already is escaped. Arrays are variable-length integers, deflated, in base64;
``assets/unpack.js`` reads what is written here.
"""

from __future__ import annotations

import base64
import html
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


MAX_NUMBER = 1 << 53
"""Exclusive upper limit of integers in a page: the 53 bits of JavaScript's numbers."""


def pack_sorted(values: NDArray[Any]) -> dict[str, Any]:
    """Pack ascending nonnegative integers as differences from their predecessors.

    ``values``: uint64[n] or int64[n], below 2**53.
    """
    step = np.asarray(np.diff(values.astype(np.uint64), prepend=np.uint64(0)), np.uint64)
    return _pack("sorted", write_numbers(step), values.size)


def pack_integers(values: NDArray[np.int64]) -> dict[str, Any]:
    """Pack signed integers: int64[n], between -2**52 and 2**52."""
    # Zigzag code: small negative numbers take few bytes as well.
    folded = np.where(values < 0, -2 * values - 1, 2 * values)
    return _pack("whole", write_numbers(folded.astype(np.uint64)), values.size)


def pack_real(values: NDArray[np.float64]) -> dict[str, Any]:
    """Pack real numbers, bit for bit: float64[n]."""
    # Little-endian: the script reads the bytes as a Float64Array, without a conversion.
    return _pack("real", values.astype("<f8").tobytes(), values.size)


def pack_bits(values: NDArray[np.bool_]) -> dict[str, Any]:
    """Pack booleans: bool[n]."""
    return _pack("bits", np.packbits(values, bitorder="little").tobytes(), values.size)


def pack_counts(values: NDArray[Any]) -> dict[str, Any]:
    """Pack counts by their dtype: int64[n] or float64[n]."""
    if values.dtype.kind == "f":
        return pack_real(values)
    return pack_integers(values.astype(np.int64))


def write_numbers(values: NDArray[np.uint64]) -> bytes:
    """Encode integers as LEB128: seven bits a byte, the least significant first.

    The last byte of a number is below 128.

    Examples
    --------
    >>> write_numbers(np.array([1, 300], np.uint64)).hex()
    '01ac02'
    """
    length = np.ones(values.size, np.int64)
    for more in range(1, 10):
        length += values >> np.uint64(7 * more) > 0
    end = np.cumsum(length)
    encoded = np.zeros(int(end[-1]) if end.size else 0, np.uint8)
    first = end - length
    # One step for each position in a number, vectorised over all numbers: at most ten steps.
    for at in range(int(length.max(initial=0))):
        some = length > at
        seven = (values[some] >> np.uint64(7 * at)) & np.uint64(127)
        goes_on = np.where(length[some] > at + 1, 128, 0)
        encoded[first[some] + at] = seven.astype(np.uint8) + goes_on.astype(np.uint8)
    return encoded.tobytes()


def _pack(kind: str, raw: bytes, size: int) -> dict[str, Any]:
    data = base64.b64encode(zlib.compress(raw, 9)).decode("ascii")
    return {"kind": kind, "size": int(size), "data": data}
