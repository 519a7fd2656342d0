"""``geodp methods``: list the methods and their settings."""

from __future__ import annotations

import json
from typing import Any

import click

from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.options.shared import JSON


@click.command(cls=StrictCommand)
@with_options(JSON)
def methods(as_json: bool) -> None:
    """List the methods of publish and evaluate, with their settings."""
    from dataclasses import fields

    from geodp.mechanisms import METHODS
    from geodp.mechanisms.base import write_setting

    rows: list[dict[str, Any]] = [
        {
            "name": m.name,
            "title": m.title,
            "settings": {f.name: write_setting(getattr(m, f.name)) for f in fields(m)},
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
