"""Help and errors in the reader's language, if geodp has a catalogue for it.

Catalogues are gettext's, one folder a language in ``geodp/cli/locale``; ``LANGUAGE``, ``LC_ALL``,
``LC_MESSAGES`` and ``LANG`` choose, as they do for other programs. Their keys are the English
messages, so that a message without a translation stays English. Click's own are looked up there,
too. In English nothing here is used but :func:`choose_language`.
"""

from __future__ import annotations

import gettext
import inspect
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path
from unicodedata import east_asian_width

import click

from geodp.errors import GeodpError, InputError

DOMAIN = "geodp"
FOLDER = Path(__file__).with_name("locale")

OPENING, CLOSING = "（「『(“[", "、。，．）」』)”:;：；,.％%]ーァィゥェォッャュョ々"
"""Characters that must not end a line, and those that must not begin one."""

NAMED = re.compile(r"\{([a-z_]+)\}")
"""Placeholder of a value in a message."""

PHRASE_PREFIX = "said_"
"""Prefix of placeholders whose values are phrases of geodp, which are translated as well."""

LIST_PREFIXES = {"any_": " or ", "all_": " and "}
"""Prefixes of placeholders whose values are lists, and the words between their items."""

DEEPEST, LONGEST = 3, 1000
"""Limits on nested phrases and on the length of messages, which may quote a hostile file."""


def choose_language(group: click.Group) -> None:
    """Show a group of commands in the language of the environment, if there is a catalogue for it.

    A stream that cannot encode the language gets English.
    """
    # No catalogue for the language: nothing is set up, and messages pass through unchanged.
    if gettext.find(DOMAIN, str(FOLDER)) is None:
        return
    gettext.bindtextdomain(DOMAIN, str(FOLDER))
    gettext.textdomain(DOMAIN)
    try:
        # A terminal in the C locale would show escapes instead of Japanese.
        for stream in (sys.stdout, sys.stderr):
            gettext.gettext("Options").encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeError:
        gettext.textdomain("messages")
        return
    group.context_class = _Context  # commands adopt it when they are imported


def paragraphs(text: str) -> list[str]:
    r"""Split help into the keys of a catalogue: each paragraph as one line.

    A paragraph after ``\b`` keeps its lines, and its mark.
    """
    parts = re.split(r"\n\s*\n", inspect.cleandoc(text).partition("\f")[0])
    return [part if part.startswith("\b") else " ".join(part.split()) for part in parts]


def translate(text: str) -> str:
    """Translate one message or paragraph; unchanged if the catalogue does not have it."""
    return gettext.gettext(text) if text else text


def translate_option(text: str) -> str:
    """Translate the help of an option, to which Click may have added a default in brackets."""
    if (translated := translate(text)) != text:
        return translated
    sentence, space, rest = text.rpartition("  [")
    return f"{translate(sentence)}{space}{rest}"


def wrap(text: str, width: int) -> list[str]:
    """Wrap a line at blanks, and between wide characters, where the language allows it."""
    lines, line = [], ""
    for piece in _pieces(text):
        if line and measure_width((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines or [""]


def measure_width(text: str) -> int:
    """Return the width of a text in columns."""
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


def _pieces(text: str) -> Iterator[str]:
    """Yield the pieces of a text that must not be broken."""
    piece = ""
    for before, one in zip(f" {text}", text, strict=False):
        # Japanese has no blanks between words; a line may break between any two wide characters,
        # except next to punctuation.
        wide = measure_width(before) == 2 or measure_width(one) == 2
        free = wide and one not in CLOSING and before not in OPENING
        if piece and ((before == " " and one != " ") or (free and not one.isspace())):
            yield piece
            piece = ""
        piece += one
    yield piece


def translate_message(text: str, depth: int = 0) -> str:
    """Translate a complete message; values in it stay unchanged.

    A catalogue's key such as ``The ledger has no data set {name}.`` is a pattern. If several match,
    the one with the most literal characters is used. A phrase at ``{said_...}`` is geodp's own and
    is translated as well, and so are the words between the items of lists at ``{any_...}`` and
    ``{all_...}``; everything at other placeholders is a value.
    """
    # Long or deeply nested messages stay English: matching many lazy groups takes quadratic time.
    if gettext.textdomain() != DOMAIN or len(text) > LONGEST or depth > DEEPEST:
        return text
    if (translated := translate(text)) != text:
        return translated
    fitting = [(key, match) for key, one in _patterns().items() if (match := one.fullmatch(text))]
    if not fitting:
        return text
    key, match = max(fitting, key=lambda one: len(NAMED.sub("", one[0])))
    values = {
        name: translate_message(value, depth + 1) if name.startswith(PHRASE_PREFIX) else value
        for name, value in match.groupdict().items()
    }
    for prefix, word in LIST_PREFIXES.items():
        for name in values:
            if name.startswith(prefix):
                values[name] = values[name].replace(word, translate(word))
    return translate(key).format_map(values)


def format_error(error: GeodpError) -> str:
    """Format an error for the screen."""
    return translate("Error: {message}").format(message=translate_error(error))


def translate_error(error: GeodpError) -> str:
    """Translate the message of an error; its file and row stay unchanged."""
    text = str(error)
    if isinstance(error, InputError):
        return text.removesuffix(error.rule) + translate_message(error.rule)
    return translate_message(text)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns of the active catalogue, by their keys."""
    patterns = {}
    for key in _keys(Path(str(gettext.find(DOMAIN, str(FOLDER)))).read_bytes()):
        names = NAMED.findall(key)
        # A repeated name would be a repeated group, which a pattern cannot have.
        if names and len({*names}) == len(names):
            parts = (re.escape(part) for part in NAMED.split(key)[::2])
            groups = (f"(?P<{name}>.*?)" for name in names)
            pattern = "".join(f"{a}{b}" for a, b in zip_longest(parts, groups, fillvalue=""))
            patterns[key] = re.compile(pattern, re.DOTALL)
    return patterns


def _keys(catalogue: bytes) -> Iterator[str]:
    """Yield the keys of a compiled catalogue, from its table of lengths and offsets."""
    # The magic number of .mo files shows their byte order.
    order = "<" if catalogue[:4] == b"\xde\x12\x04\x95" else ">"
    count, table = struct.unpack_from(f"{order}2I", catalogue, 8)
    for entry in range(count):
        length, place = struct.unpack_from(f"{order}2I", catalogue, table + 8 * entry)
        yield catalogue[place : place + length].decode()


class _Formatter(click.HelpFormatter):
    """Click's formatter with translation and support for wide characters."""

    def write_heading(self, heading: str) -> None:
        """Write a translated heading."""
        super().write_heading(translate(heading))

    def write_text(self, text: str) -> None:
        """Write translated paragraphs."""
        indent = " " * self.current_indent
        written = []
        for part in paragraphs(text):
            translated = translate(part)
            if translated.startswith("\b"):
                lines = translated.splitlines()[1:]
            else:
                lines = wrap(translated, self.width - self.current_indent)
            written.append("\n".join(f"{indent}{line}".rstrip() for line in lines))
        self.write("\n\n".join(written) + "\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write a list of names with their translated descriptions."""
        rows = list(rows)
        widest = max((measure_width(first) for first, _ in rows), default=0)
        column = min(widest, col_max) + col_spacing
        start = " " * (self.current_indent + column)
        for first, second in rows:
            lines = wrap(
                translate_option(second), max(self.width - column - self.current_indent, 20)
            )
            named = f"{' ' * self.current_indent}{first}"
            if measure_width(first) > column - col_spacing:
                self.write(f"{named}\n{start}{lines[0]}".rstrip() + "\n")
            else:
                blanks = " " * (len(start) - measure_width(named))
                self.write(f"{named}{blanks}{lines[0]}".rstrip() + "\n")
            self.write("".join(f"{start}{line}\n" for line in lines[1:]))


class _Context(click.Context):
    """A context whose help is translated."""

    formatter_class = _Formatter
