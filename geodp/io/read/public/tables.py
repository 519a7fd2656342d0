"""Opening of the one table in a public file of units, regions or totals."""

from __future__ import annotations

from typing import Any

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.columns import InputTable, open_tables
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.public_file import opening_options

FLAGS = ("member", "layer", "header-row", "last-row", "encoding", "delimiter")
"""Options that errors about a file may suggest."""

OF_PUBLIC = (
    " --{flag} applies to the inputs: for a public file, write --public-file {name}.{flag}=VALUE "
    "(in Python: {word}= of its reader)."
)


def open_public(
    path: FilePath,
    what: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header_row: int | None = None,
    member: str | None = None,
) -> InputTable:
    """Open the one table of a public file.

    Parameters
    ----------
    path : path
    what : str
        Subject of its rows, for messages: "units".
    delimiter, encoding, header_row, member
        Passed to :func:`geodp.io.read.rows.columns.open_tables`.

    Raises
    ------
    UsageError
        The file holds several tables.
    InputError
        The file cannot be read, or the tables of the archive differ.
    """
    opening: dict[str, Any] = {
        "delimiter": delimiter,
        "encoding": encoding,
        "header_row": header_row,
        "member": member,
        **opening_options(path),
    }
    name = "public-totals" if what == "totals" else what
    try:
        tables = list(open_tables(path, **opening))
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
