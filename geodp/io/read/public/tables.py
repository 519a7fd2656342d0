"""The one table of a public file, of units, regions or totals."""

from __future__ import annotations

from typing import Any

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.columns import Table, open_tables
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.public_file import opening_of

OF_PUBLIC = (
    " --member and --header-row are said of the inputs: of a public file, say --public-file "
    "{name}.member=NAME (in Python: member= of its reader)."
)


def open_public(
    path: FilePath,
    what: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header_row: int | None = None,
    member: str | None = None,
) -> Table:
    """Open the one table of a public file.

    Parameters
    ----------
    path : path
    what : str
        What it has a row for, for messages: "units".
    delimiter, encoding, header_row, member
        As :func:`geodp.io.read.rows.columns.open_tables` takes them.

    Raises
    ------
    UsageError
        The file holds several tables.
    InputError
        A file that cannot be read, or an archive whose tables differ.
    """
    said = dict(delimiter=delimiter, encoding=encoding, header_row=header_row, member=member)
    opening: dict[str, Any] = {**said, **opening_of(path)}
    name = "public-totals" if what == "totals" else what
    try:
        tables = list(open_tables(path, **opening))
    except InputError as error:
        if "--member" not in error.rule:
            raise
        rule, file, row = error.rule, error.file, error.row
    else:
        if len(tables) != 1:
            raise UsageError(
                f"The archive holds several tables; name that of the {what} (--public-file "
                f"{name}.member=NAME, member=)."
            )
        return tables[0]
    raise InputError(rule + OF_PUBLIC.format(name=name), file=file, row=row)
