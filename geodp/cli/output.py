"""Files that commands write: whole, and on the disk."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from geodp.errors import Rule, UsageError, printable

if TYPE_CHECKING:
    from rich.table import Table

REPLACE = Rule("file-exists", "{} exists; replace it with --overwrite.")


def require_free(
    path: Path | None, option: str, endings: tuple[str, ...], *, overwrite: bool
) -> None:
    """Raise UsageError where a file of an option could not be written."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise UsageError(f"{option} must end in {' or '.join(endings)}.", code="output-ending")
    if not overwrite:
        from geodp.io.folder.whole import require_absent

        require_absent(path, REPLACE.format(path))
    if not path.parent.is_dir():
        raise UsageError(
            f"There is no folder {path.parent} for {option}.", code="output-folder-missing"
        )


def require_unsealed(output: Path | None) -> None:
    """Raise UsageError for an ``--output`` in a release's public folder, whatever its name."""
    from geodp.io.folder.kinds import CARD
    from geodp.io.folder.manifest import SUMS

    folders = [] if output is None else output.resolve().parents
    if any((folder / CARD).exists() and (folder / SUMS).exists() for folder in folders):
        raise UsageError(
            "--output lies inside a release, whose files are sealed; choose another.",
            code="output-in-release",
        )


def require_drawn(plot: Path | None) -> None:
    """UsageError for a picture of errors that cannot be drawn; None: none is asked for."""
    if plot is not None:
        from geodp.accuracy.style import require_matplotlib

        require_matplotlib()


PICTURES = (".png", ".pdf", ".svg")
"""Endings of the files that pictures of errors are written to."""


def write_picture(
    path: Path, draw: Callable[[IO[bytes], str], None], public: bool, overwrite: bool
) -> None:
    """Write what ``draw`` draws into a stream, in the form that the ending names."""
    picture = io.BytesIO()
    draw(picture, path.suffix[1:].lower())
    write_file(path, picture.getvalue(), public, overwrite)


def write_file(path: Path, data: bytes, public: bool, overwrite: bool) -> None:
    """Write a whole file or keep the one before; only its owner may read what is confidential."""
    from geodp.io.folder.whole import write_atomically

    with write_atomically(path, REPLACE.format(path), overwrite=overwrite, public=public) as file:
        file.write(data)


def quote(text: str) -> str:
    """Quote a text as a word of a shell's command line; what steers a terminal as octal digits.

    Examples
    --------
    >>> print(quote("population"), quote("人口　男"), quote("\\t"))
    population '人口　男' $'\\t'
    """
    if printable(text) == text:
        return shlex.quote(text)
    escapes = {"\\": "\\\\", "'": "\\'", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
    marks = (
        escapes.get(mark) or (mark if printable(mark) == mark else _octal(mark)) for mark in text
    )
    return f"$'{''.join(marks)}'"


def _octal(mark: str) -> str:
    """Return the bytes of a character, as every shell that knows ``$'...'`` takes them."""
    return "".join(f"\\{byte:03o}" for byte in mark.encode("utf-8", "surrogateescape"))


def new_table(title: str, columns: Any) -> Table:
    """Return a table for the terminal, without rows."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def area_text(cells: int) -> str:
    """Return the size of a block as it is shown."""
    return f"{cells:,}" if cells < 10**7 else f"2^{cells.bit_length() - 1}"


def number_text(value: float) -> str:
    """Return a figure as it is shown."""
    return f"{value:,.2f}" if abs(value) < 10_000 else f"{value:,.0f}"
