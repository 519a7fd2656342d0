"""``geodp inspect`` proposes the command of the kind, and shows no value of the data."""

import re
from dataclasses import replace

from tests.contract.desk import require
from tests.contract.reading import FIRST, rows_of, with_name


def told(kind):
    """Return the kind with names of columns that tell what they hold."""
    for column, name in kind.telling.items():
        kind = replace(kind, files=with_name(kind, column, name))
    return kind


def inspect(reader, *more):
    """Return what is shown of the first file, named so that it tells what it holds."""
    desk = reader.desk
    told(reader.kind).write(desk.folder)
    try:
        return require(desk.run("inspect", FIRST, *more)).stdout
    finally:
        desk.kind.write(desk.folder)


def test_inspect_proposes_the_command_of_the_kind(reader):
    shown = inspect(reader)
    assert f"\ngeodp {' '.join(reader.kind.command)} {FIRST}" in shown, shown


def test_inspect_shows_no_value(reader):
    """Neither a code of a place nor a number or a person; names of columns are shown."""
    shown = inspect(reader) + inspect(reader, "--json")
    values = {value for row in rows_of(reader.kind.files[FIRST])[1:] for value in row}
    # A number of one digit may be any, and a grid may be one of 100m.
    long = [re.escape(one) for one in values if len(one) > 2]
    assert re.findall(rf"(?<!\w)(?:{'|'.join(long)})(?!\w)", shown) == []
