"""Public files of units, regions or totals: how they are opened, apart from the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import CodeError, InputError, UsageError, require_none
from geodp.io.opening import texts_of
from geodp.io.read.rows.columns import InputTable, RowPositions, open_tables
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.span import opening_options

FLAGS = ("member", "layer", "header-row", "last-row", "encoding", "delimiter")
"""Options that errors about a file may suggest."""

OF_PUBLIC = (
    " --{flag} applies to the inputs: for a public file, write --public-file {name}.{flag}=VALUE "
    "(in Python: {word}= of its reader)."
)


def open_public(path: FilePath, what: str, **opening: Any) -> InputTable:
    """Open the one table of a public file.

    Parameters
    ----------
    path : path
    what : str
        Subject of its rows, for messages: "units".
    **opening
        Passed to :func:`geodp.io.read.rows.columns.open_tables`.

    Raises
    ------
    UsageError
        The file holds several tables.
    InputError
        The file cannot be read, or the tables of the archive differ.
    """
    name = "public-totals" if what == "totals" else what
    try:
        tables = list(open_tables(path, **{**opening, **opening_options(path)}))
    except InputError as error:
        # The error suggests an option that applies to the inputs; that of a public file is spelt
        # otherwise.
        flag = next((one for one in FLAGS if f"--{one}" in error.rule), None)
        if flag is None:
            raise
        rule, file, row = error.rule, error.file, error.row
    else:
        if len(tables) != 1:
            raise UsageError(
                f"The archive holds several tables; name that of the {what} (--public-file "
                f"{name}.member=NAME, member=).",
                code="public-archive-ambiguous",
            )
        return tables[0]
    more = OF_PUBLIC.format(name=name, flag=flag, word=flag.replace("-", "_"))
    raise InputError(rule + more, file=file, row=row)


def texts_without_blanks(column: pa.Array, rule: str) -> NDArray[Any]:
    """Convert a column to trimmed texts; CodeError at the first that is empty."""
    try:
        text = pc.fill_null(pc.utf8_trim_whitespace(column.cast(pa.string())), "")
    except pa.ArrowException:
        raise CodeError(
            0, "the column is neither text nor whole numbers.", code="column-not-text-or-whole"
        ) from None
    require_none(pc.equal(text, "").to_numpy(zero_copy_only=False), rule)
    return texts_of(text)


def read_texts(
    rows: RowPositions, names: Sequence[str], columns: Sequence[pa.Array], rule: str
) -> list[NDArray[Any]]:
    """Return columns of names as texts [n], those of each name; InputError with a rule for a blank.

    Columns beyond the names are left out.
    """
    texts = []
    for name, column in zip(names, columns, strict=False):
        with rows.named(name):
            texts.append(texts_without_blanks(column, rule))
    return texts


def error_at(read: Sequence[RowPositions], position: int, rule: str) -> InputError:
    """Return an InputError at a row of a table, by its place among the rows of all batches."""
    rows = next(one for one in reversed(read) if one.first <= position)
    return rows.error(position - rows.first, rule)
