"""Files that commands write, completely and on disk, and texts for the terminal."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from geodp.errors import Rule, UsageError, printable, require_library

if TYPE_CHECKING:
    from rich.table import Table

REPLACE = Rule("file-exists", "{} exists; replace it with --overwrite.")


def require_free(
    path: Path | None, option: str, endings: tuple[str, ...], *, overwrite: bool
) -> None:
    """Raise UsageError if the file of an option could not be written."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise UsageError(f"{option} must end in {' or '.join(endings)}.", code="output-ending")
    if not overwrite:
        from geodp.io.folder.atomic import require_absent

        require_absent(path, REPLACE.format(path))
    # Checked before the work, which may take minutes and charge a ledger.
    if not path.parent.is_dir():
        raise UsageError(
            f"There is no folder {path.parent} for {option}.", code="output-folder-missing"
        )


def require_unsealed(output: Path | None) -> None:
    """Raise UsageError for an ``--output`` inside the public or restricted folder of a release."""
    from geodp.io.folder.kinds import find_card
    from geodp.io.folder.manifest import SUMS

    # Symbolic links are resolved: another name of the folder is still inside the release.
    folders = [] if output is None else output.resolve().parents
    public = [one.with_name("public") if one.name == "restricted" else one for one in folders]
    # Only a sealed folder is asked for its kind, which imports what reads it.
    if any((one / SUMS).exists() and find_card(one) is not None for one in public):
        raise UsageError(
            "--output lies inside a release, whose files are sealed; choose another.",
            code="output-in-release",
        )


def require_drawn(plot: Path | None) -> None:
    """Raise UsageError if a requested plot cannot be drawn; None requests none."""
    if plot is not None:
        require_library("matplotlib", "A plot", "plots")


PICTURES = (".png", ".pdf", ".svg")
"""Endings of files for plots of errors."""


def write_picture(
    path: Path, draw: Callable[[IO[bytes], str], None], public: bool, overwrite: bool
) -> None:
    """Write a plot from ``draw``, in the format of the file's ending."""
    picture = io.BytesIO()
    draw(picture, path.suffix[1:].lower())
    write_file(path, picture.getvalue(), public, overwrite)


def write_file(path: Path, data: bytes, public: bool, overwrite: bool) -> None:
    """Write a file completely or not at all; a confidential one is readable by its owner only."""
    from geodp.io.folder.atomic import write_atomically

    with write_atomically(path, REPLACE.format(path), overwrite=overwrite, public=public) as file:
        file.write(data)


def quote(text: str) -> str:
    """Quote a text as a word for a shell; control characters become octal escapes.

    Examples
    --------
    >>> print(quote("population"), quote("人口　男"), quote("\\t"))
    population '人口　男' $'\\t'
    """
    # shlex.quote keeps control characters, which would act on the terminal that shows the command.
    if printable(text) == text:
        return shlex.quote(text)
    escapes = {"\\": "\\\\", "'": "\\'", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
    characters = (
        escapes.get(character)
        or (character if printable(character) == character else _octal(character))
        for character in text
    )
    return f"$'{''.join(characters)}'"


def _octal(character: str) -> str:
    """Return the bytes of a character as escapes for ``$'...'``."""
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


def new_table(title: str, columns: Any) -> Table:
    """Return an empty table for the terminal."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def area_text(cells: int) -> str:
    """Format the size of a block."""
    return f"{cells:,}" if cells < 10**7 else f"2^{cells.bit_length() - 1}"


def number_text(value: float) -> str:
    """Format a number."""
    return f"{value:,.2f}" if abs(value) < 10_000 else f"{value:,.0f}"
