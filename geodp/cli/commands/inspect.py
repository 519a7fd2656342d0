"""geodp inspect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from geodp.cli.output import quote
from geodp.errors import printable


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--encoding", help="Of a text, such as cp1252; default: found.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def inspect(file: Path, encoding: str | None, as_json: bool) -> None:
    """Tell what FILE is: layout, columns, grid. Never its values, sums or row counts.

    Names, labels and delimiters are written as a shell takes them.
    """
    from geodp.io.read.rows.inspect import inspect as run

    found = run(file, encoding=encoding)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=1))
        return
    click.echo(f"format: {found['format']}")
    if "raster" in found:
        click.echo(f"raster: {_line(found['raster'])}")
    for table in found.get("tables", ()):
        name, columns = table.pop("name"), table.pop("columns")
        click.echo(f"table: {printable(name)}")
        click.echo(f"  {_line(table)}")
        if columns is None:
            click.echo("  columns: the first row looks like data; names are not shown")
            continue
        click.echo("  columns:")
        for column in columns:
            label, kind = column.get("label", ""), column.get("type", "")
            more = quote(label) if label else printable(kind)
            click.echo(f"    {quote(column['name'])}  {more}".rstrip())


COMMANDS = (inspect,)


def _line(values: dict[str, Any]) -> str:
    return "  ".join(
        f"{name}={quote(value) if isinstance(value, str) else value}"
        for name, value in values.items()
        if value not in (None, "")
    )
