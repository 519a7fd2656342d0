"""Commands that look: at files, codes and releases; and two small tools."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from geodp.cli.output import pasted, write_file
from geodp.errors import InputError, OutputError, UsageError, VerificationError, printable
from geodp.io.folder.stopping import complete_with_commit


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def verify(release: Path, as_json: bool) -> None:
    """Check that a written RELEASE agrees with itself; exit code 3 if not."""
    from geodp.io.verify.verify import verify as run
    from geodp.release.release import intervals_of

    checks = run(release, intervals_of)
    if as_json:
        rows = [{"check": c.name, "ok": c.ok, "detail": c.detail} for c in checks]
        click.echo(json.dumps({"ok": all(c.ok for c in checks), "checks": rows}, indent=1))
    else:
        for c in checks:
            click.echo(f"{'ok    ' if c.ok else 'FAILED'}  {c.name}: {printable(c.detail)}")
    failed = [c.name for c in checks if not c.ok]
    if failed:
        raise VerificationError(f"The release does not agree with itself: {', '.join(failed)}.")


@click.command("map")
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path), help="PNG file.")
@click.option("--overwrite", is_flag=True, help="Replace the file.")
def map_(release: Path, output: Path, overwrite: bool) -> None:
    """Draw the map of a written RELEASE again."""
    complete_with_commit()
    if output.suffix.lower() != ".png":
        raise UsageError("--output must end in .png.")
    folders = output.resolve().parents
    if any(f.name == "public" and (f / "release.json").exists() for f in folders):
        raise UsageError("--output lies inside a release, whose files are sealed; choose another.")
    if output.exists() and not overwrite:
        raise UsageError(f"{output} exists; replace it with --overwrite.")
    from geodp.io.verify.verify import read_release_table
    from geodp.io.write.picture import write_png

    table, card = read_release_table(release)
    drawn = io.BytesIO()
    write_png(table, drawn, name=card["name"], card=card)
    write_file(output, drawn.getvalue(), True, overwrite)
    click.echo(str(output))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def methods(as_json: bool) -> None:
    """List the methods that publish and evaluate take, with their settings."""
    from dataclasses import fields

    from geodp.mechanisms import METHODS
    from geodp.mechanisms.base import written

    rows: list[dict[str, Any]] = [
        {
            "name": m.name,
            "title": m.title,
            "settings": {f.name: written(getattr(m, f.name)) for f in fields(m)},
            "whole": m.whole,
            "nonnegative": m.nonnegative,
            "guarantee": m.guarantee.variant,
            "citation": m.citation,
        }
        for m in METHODS.values()
    ]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    width = max(map(len, METHODS))
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['title']}")
        if row["settings"]:
            listed = ", ".join(f"{n}={v}" for n, v in row["settings"].items())
            click.echo(f"{'':<{width}}  settings: {listed}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--encoding", help="Of a text, such as cp1252; default: found.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def inspect(file: Path, encoding: str | None, as_json: bool) -> None:
    """Tell what FILE is: layout, columns, grid. Never its values, sums or row counts.

    Names, labels and delimiters are written as a shell takes them.
    """
    from geodp.io.read.inspect import inspect as run

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
            more = pasted(label) if label else printable(kind)
            click.echo(f"    {pasted(column['name'])}  {more}".rstrip())


def _line(values: dict[str, Any]) -> str:
    return "  ".join(
        f"{name}={pasted(value) if isinstance(value, str) else value}"
        for name, value in values.items()
        if value not in (None, "")
    )


@click.group()
def mesh() -> None:
    """Cell codes of JIS X 0410 and INSPIRE grids to and from coordinates."""


@mesh.command()
@click.option("--grid", "spec", required=True, help="jis:half, inspire:1km ...")
@click.argument("coordinates", nargs=-1, type=float)
def encode(spec: str, coordinates: tuple[float, ...]) -> None:
    """Print the code of the cell at every X Y (longitude latitude, or easting northing).

    Without COORDINATES, reads lines of X Y or X,Y from standard input.
    """
    from geodp.errors import CodeError
    from geodp.grid.codes import code_system

    numbers = list(coordinates) or _numbers(sys.stdin.read())
    if len(numbers) % 2:
        raise UsageError("Coordinates come in pairs: X Y, longitude before latitude.")
    system = code_system(spec)
    try:
        row, col = system.locate(numbers[::2], numbers[1::2])
        codes = system.format(row, col)
    except CodeError as error:
        raise InputError(f"Pair {error.position + 1}: {error.rule}") from None
    for code in codes:
        click.echo(str(code))


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise InputError("Standard input must hold numbers: X Y, one pair a line.") from None


@mesh.command()
@click.option("--grid", "spec", help="Default: from the code, where it is unambiguous.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.argument("codes", nargs=-1)
def decode(spec: str | None, as_json: bool, codes: tuple[str, ...]) -> None:
    """Print west, south, east, north of the cell of every CODE.

    Without CODES, reads them from standard input.
    """
    from geodp.errors import CodeError
    from geodp.grid.codes import code_system

    rows = []
    for position, code in enumerate(codes or sys.stdin.read().split()):
        try:
            system = code_system(spec or _grid_of_code(code))
            row, col = system.parse([code])
        except CodeError as error:
            raise InputError(f"Code {position + 1}: {error.rule}") from None
        south, west = (
            system.origin[i] + int(at[0]) * system.step[i] for i, at in ((0, row), (1, col))
        )
        north, east = south + system.step[0], west + system.step[1]
        box = [float(edge) for edge in (west, south, east, north)]
        rows.append({"code": code, "grid": system.name, "crs": system.crs, "bounds": box})
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for entry in rows:
        click.echo(f"{entry['code']}  " + " ".join(f"{edge:.10f}" for edge in entry["bounds"]))


def _grid_of_code(code: str) -> str:
    """Name of the code system of a code; CodeError where it is not certain."""
    from geodp.grid.codes import infer_jis_level

    inspire = re.match(r"CRS3035RES(\d+)mN|(\d+k?m)N", code)
    if inspire:
        return f"inspire:{inspire.group(1) or inspire.group(2)}"
    return f"jis:{infer_jis_level(code)}"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def key(file: Path) -> None:
    """Make a noise key and keep it in FILE, readable by its owner only.

    Whoever holds the key can take the noise off the releases made with it: keep it as you keep
    the data.
    """
    import secrets

    from geodp.privacy.key_file import write_key

    try:
        write_key(file, secrets.token_bytes(32))
    except FileExistsError:
        raise UsageError(f"{file} exists; a key is never overwritten.") from None
    except OSError as error:
        raise OutputError(f"{file} cannot be written ({error.strerror}).") from None
    click.echo(f"{file}: keep it secret; it replays releases and undoes their protection.")
