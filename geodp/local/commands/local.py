"""``geodp local``: counts on a grid from devices, without a trusted collector."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import Room, make_option, with_options
from geodp.cli.inputs import grid_of, sha256
from geodp.cli.options import GridCommand, StrictCommand, inputs
from geodp.cli.output import (
    PICTURES,
    area_text,
    number_text,
    require_drawn,
    require_free,
    write_file,
    write_picture,
)
from geodp.cli.publishing import choose_area, describe_promise, list_next
from geodp.cli.readers import InputCommand, read_fields
from geodp.cli.request_options import read_metadata_options
from geodp.cli.running import carry_out, format_result, report_progress, time_phase
from geodp.errors import InputError, UsageError
from geodp.options.option import Option
from geodp.options.shared import CHECK, GIVEN_DOMAIN, JSON, MEMORY, REQUEST

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.literature.blending import Blend
    from geodp.local.planning import LocalPlan
    from geodp.typing import IntArray

_OVERWRITE = Option("--overwrite", "Replace an existing file.", type=bool)
_OUTPUT = Option(
    "--output", "New file to write.", type=Path, required=True, others=("-o",), everyday=True
)


@click.group(cls=Room)
def local() -> None:
    """Collect counts from devices that randomise their own reports.

    \b
    geodp local plan --grid jis:half --bounds 138 35 141.2 37.1333333333 --devices 1e6
        --epsilon 1 --output plan.toml
    geodp local open --plan plan.toml --ledger L --dataset phones --output round.json
    geodp local randomize round.json cells.csv -o reports.parquet
    geodp local aggregate round.json reports.parquet -o phones.sums
    geodp local publish phones.sums -o release
    """


@local.command(cls=GridCommand, no_args_is_help=True)
@with_options(
    GIVEN_DOMAIN,
    Option("--devices", "Expected number of reports.", type=float, required=True),
    Option("--epsilon", "Privacy budget of one report, read exactly: 1 or 1/2.", required=True),
    Option(
        "--protocol", "Protocol: haar, counts, NAME:SETTING=VALUE.  [default: chosen automatically]"
    ),
    Option("--depth", "Digits of a key.  [default: chosen automatically]", low=1),
    Option(
        "--unit",
        "Unit of privacy: whom the guarantee protects, as a noun.",
        default="device",
        everyday=True,
    ),
    Option("--period", "Time until a device's next report.", default="day", everyday=True),
    Option("--allow-weak", "Accept an epsilon above 16.", type=bool),
    Option("--output", "TOML file for geodp local open.", type=Path, everyday=True),
    _OVERWRITE,
    JSON,
)
def plan(**options: Any) -> None:
    """Plan what devices report, and predict how accurate the release will be; no data is read."""
    require_free(options["output"], "--output", (".toml",), overwrite=options["overwrite"])
    # Heavy modules are imported in the commands, so that --help starts quickly.
    from geodp.local.planning import plan as make

    names = ("devices", "epsilon", "protocol", "depth", "unit", "period", "allow_weak")
    local_plan = make(grid_of({**options, "inputs": ()}), **{name: options[name] for name in names})
    if options["output"] is not None:
        write_file(options["output"], local_plan.toml().encode(), True, options["overwrite"])
    if options["as_json"]:
        _print(local_plan.to_dict())
    else:
        _show(local_plan)


@local.command(cls=StrictCommand, name="open")
@with_options(
    Option("--plan", "File of geodp local plan.", name="file", type=Path, required=True),
    Option("--ledger", "Ledger file to charge.", type=Path),
    Option("--dataset", "Data set of the ledger, added with --model local."),
    Option("--output", "New file for the round.", type=Path, required=True),
    JSON,
)
def open_(
    file: Path, ledger: Path | None, dataset: str | None, output: Path, as_json: bool
) -> None:
    """Charge the ledger, and write the file of the round for devices and servers."""
    require_free(output, "--output", (".json",), overwrite=True)  # what is there is looked at below
    from geodp.local.opening import open_round
    from geodp.local.planning import read_local_plan
    from geodp.privacy.ledger import Ledger

    open_ledger = None if ledger is None else Ledger.open(ledger)
    opened = open_round(read_local_plan(file), ledger=open_ledger, dataset=dataset, path=output)
    if as_json:
        _print({"output": str(output), "round": opened.digest, "id": opened.id})
        return
    click.echo(
        f"{output}: round {opened.digest[:16]}, {opened.protocol.spec}, {opened.event(0).spends}"
    )
    click.echo(opened.event(0).statement)


OF_OTHERS = (
    *("labels", "by", "column", "outside"),
    *("person", "cells", "per_cell", "truncation"),
)
"""Options of records that devices do not have: one that is elsewhere sends nothing."""


class DevicesCommand(InputCommand):
    """A command that reads places of devices, with the options by which records are read."""

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, after those of the reader."""
        from geodp.io.read.points import Points

        fields = [one for one in Points.option_fields() if one.name not in OF_OTHERS]
        return [*map(make_option, fields), *super().list_params(ctx)]


@local.command(cls=DevicesCommand)
@click.argument("file", metavar="ROUND", type=click.Path(path_type=Path))
@inputs
@with_options(_OUTPUT, JSON)
def randomize(file: Path, output: Path, as_json: bool, **options: Any) -> None:
    """Make the reports of devices, for tests and gateways; each row of INPUTS is one device.

    INPUTS are confidential tables, with a column code, or the one of --code, or coordinates. A
    real device makes its report itself, with a few lines of any language.
    """
    from geodp.local.collect import randomize as make
    from geodp.local.files import require_new, write_reports
    from geodp.local.round import read_round

    require_new(output)
    opened = read_round(file)
    with report_progress():
        reports = make(opened, _read_places(options, opened.grid))
    write_reports(output, opened.digest, reports)
    if as_json:
        _print({"output": str(output), "round": opened.digest, "reports": reports.size})
    else:
        click.echo(f"{output}: {reports.size:,} reports in random order")


@local.command(cls=StrictCommand)
@click.argument("file", metavar="ROUND", type=click.Path(path_type=Path))
@click.argument("reports", nargs=-1, required=True, type=click.Path(path_type=Path))
@with_options(_OUTPUT, _OVERWRITE, JSON)
def aggregate(
    file: Path, reports: tuple[Path, ...], output: Path, overwrite: bool, as_json: bool
) -> None:
    """Add up files of reports (.parquet, .jsonl) and files of sums (.sums).

    The file of sums appears complete or not at all: repeat a run that was killed.
    """
    require_free(output, "--output", (".sums",), overwrite=overwrite)
    from geodp.local.collect import aggregate as make
    from geodp.local.round import read_round

    with report_progress():
        sums = make(read_round(file), reports)
    sums.write(output, overwrite=overwrite)
    if as_json:
        _print({"output": str(output), "reports": sums.reports, "round": sums.round.digest})
    else:
        files = "1 file" if len(sums.files) == 1 else f"{len(sums.files):,} files"
        click.echo(f"{output}: {sums.reports:,} reports of {files}")


@local.command(cls=StrictCommand)
@click.argument("sums", type=click.Path(path_type=Path))
@with_options(
    replace(_OUTPUT, help="New folder for the release."),
    Option("--name", "Name of the count.", default="population"),
    Option("--spread", "Spread blocks evenly over the cells of the grid.", type=bool),
    REQUEST.of("metadata", "display_below", "supersedes"),
    CHECK.one("profile", excludes=()),
    MEMORY,
    _OVERWRITE,
    JSON,
)
def publish(**options: Any) -> None:
    """Publish the counts of a round; nothing more is charged."""
    carry_out(options, _publish)


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish the sums of a round; return the message."""
    from geodp.io.folder.staging import require_free
    from geodp.io.memory import work_within
    from geodp.local.collect import Sums
    from geodp.local.collect import publish as make

    output, overwrite = options["output"], options["overwrite"]
    require_free(output, overwrite=overwrite)
    metadata = read_metadata_options(options)
    with time_phase("Reading", "reading", seconds):
        collected = Sums.read(options["sums"])
    with time_phase("Releasing", "mechanism", seconds):
        release = make(collected.round, collected, spread=options["spread"])
        release = replace(release, metadata=metadata)
    run = {
        "inputs": {str(options["sums"]): sha256(options["sums"])},
        "reports": collected.reports,
    }
    with time_phase("Writing", "writing", seconds), work_within(options["memory"]):
        name = options["name"]
        written = release.write(output, name=name, overwrite=overwrite, restricted=run)
    promise = describe_promise(output / "public", release.card())
    fields = {**promise, "reports": collected.reports, "model": "local"}
    sentences = [release.event.statement, "No further charge: computed from local reports."]
    message = format_result(options, written, fields, sentences)
    if options["as_json"]:
        return message
    return "\n".join([message, *list_next(output, choose_area(release.grid))])


@local.command(cls=StrictCommand, hidden=True, no_args_is_help=True)
@with_options(
    Option(
        "--menu",
        "TRUTH:SHARE of every label, separated by commas: the probability that its devices tell "
        "the truth, and their share of all devices. Read exactly; a third is 1/3.",
        required=True,
    ),
    Option("--epsilons", "Read the menu as EPSILON:SHARE instead.", type=bool),
    Option("--values", "Number of values that a device can have.", low=2, default=2),
    Option("--allow-weak", "Accept epsilons above 16.", type=bool),
    Option(
        "--reports",
        "Show the epsilon of 1 to this many reports of a device that keeps its label.",
        low=1,
        high=1000,
        default=1,
    ),
    Option(
        "--devices",
        "Simulate the errors of all estimators of a share with this many devices: with the labels "
        "of the menu hidden or known, and with known labels that protect as much by the indicator.",
        low=2,
        high=10_000,
    ),
    Option("--plot", "PNG, PDF or SVG file of all results.", type=Path),
    _OVERWRITE,
    JSON,
)
def blend(menu: str, epsilons: bool, values: int, allow_weak: bool, **options: Any) -> None:
    """Describe the protection by a menu of epsilons from which devices choose in secret.

    \b
    geodp local blend --menu 0.8:0.5,0.6:0.5
    geodp local blend --menu 0.8:0.5,0.6:0.5 --reports 6 --devices 100 --plot menu.svg
    geodp local blend --menu 1:0.2,0.5:0.8                    # some honest, the others at random
    geodp local blend --menu 2:1/3,1/2:2/3 --epsilons --values 10

    Shows for every label its local epsilon, which is the guarantee, and the indicator of Takagi et
    al., which is not one. The mixture is what a collector learns who never sees the labels. A
    ledger is charged the largest local epsilon.
    """
    from geodp.literature.blending import blend as make

    require_free(options["plot"], "--plot", PICTURES, overwrite=options["overwrite"])
    require_drawn(options["plot"])
    # Numbers stay texts here: shares such as 1/3 are read exactly later.
    pairs = [one.split(":") for one in menu.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise UsageError(
            "--menu is written TRUTH:SHARE,TRUTH:SHARE, such as 0.8:0.5,0.6:0.5.", code="menu-form"
        )
    answers, shares = zip(*pairs, strict=True)
    menu_options = (answers, None) if epsilons else (None, answers)
    blended = make(shares, menu_options[0], values, truths=menu_options[1], allow_weak=allow_weak)
    document = blended.describe(options["reports"])
    if options["devices"] is not None:
        document["errors"] = _estimate_errors(blended.mean_square_errors, options["devices"])
        document["equal_protection"] = {
            "truths": blended.as_disclosed().keep.tolist(),
            "errors": _estimate_errors(blended.compare_estimators, options["devices"]),
        }
    if options["plot"] is not None:
        _draw_menu(blended, options)
    if options["as_json"]:
        _print(document)
        return
    _show_menu(document)
    click.echo(blended.statement)


MENU_SHARES = (0.01, 0.1, 0.25, 0.5)
"""Shares of devices with a value at which estimators are compared; larger ones mirror them."""


def _estimate_errors(simulate: Callable[..., Any], devices: int) -> list[dict[str, Any]]:
    """Simulate the root mean square errors of all estimators, a row for each share."""
    rows = []
    for share in MENU_SHARES:
        errors = simulate(share, devices)
        roots = {name: math.sqrt(error.mean) for name, error in errors.items()}
        rows.append({"devices": devices, "share": share, **roots})
    return rows


def _draw_menu(menu: Blend, options: dict[str, Any]) -> None:
    from geodp.literature.blending import plot_menu

    # A figure of one report would show a single point, so it takes six.
    reports = options["reports"] if options["reports"] > 1 else 6
    draw = partial(plot_menu, menu, devices=options["devices"] or 100, reports=reports)
    write_picture(options["plot"], draw, True, options["overwrite"])


def _show_menu(document: dict[str, Any]) -> None:
    """Print what a menu protects."""
    click.echo("   share    truth  local epsilon  indicator (no guarantee)")
    for row in document["labels"]:
        epsilon, indicator = (_number(row[name]) for name in ("ldp", "indicator"))
        click.echo(f"{row['share']:8.4f} {row['truth']:8.4f} {epsilon:>14} {indicator:>10}")
    mixture = "infinite" if document["mixture"] is None else f"{document['mixture']:.6g}"
    click.echo(f"\nmixture: {mixture}, for those who never learn a label")
    if document["best_shares"] is not None:
        first, second = document["best_shares"]
        click.echo(f"least largest indicator with shares {first:.6f} and {second:.6f}")
    if len(document["repeated"]) > 1:
        click.echo("\nreports  label kept  as many times one report")
        for number, epsilon in enumerate(document["repeated"], 1):
            times = None if document["mixture"] is None else number * document["mixture"]
            click.echo(f"{number:7}  {_number(epsilon):>10}  {_number(times):>24}")
    if "errors" in document:
        equal = document["equal_protection"]
        truths = ", ".join(f"{truth:.4g}" for truth in equal["truths"])
        _show_errors(document["errors"], "the labels hidden, or known")
        _show_errors(
            equal["errors"],
            f"equal indicators: the labels hidden, or known with the truths {truths}",
        )
    click.echo()


def _show_errors(rows: list[dict[str, Any]], title: str) -> None:
    """Print the root mean square errors of estimators, a line for each share."""
    click.echo(f"\nroot mean square error of a share, {rows[0]['devices']:,} devices; {title}")
    names = [name for name in rows[0] if name not in ("devices", "share")]
    click.echo("   share  " + "  ".join(f"{name:>16}" for name in names))
    for row in rows:
        figures = "  ".join(f"{row[name]:16.4f}" for name in names)
        click.echo(f"{row['share']:8.2f}  {figures}")


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _read_places(options: dict[str, Any], grid: Grid) -> IntArray:
    """Read row and column of the cell of every device: int64[2, n]."""
    import numpy as np

    from geodp.grid import domain
    from geodp.io.read.counting.points import PointRows
    from geodp.io.read.points import Points
    from geodp.io.read.rows.survey import Survey
    from geodp.local.collect import OUTSIDE

    if not any(options[name] for name in ("code", "x", "y")):
        options["code"] = "code"
    fields = [one for one in Points.option_fields() if one.name not in OF_OTHERS]
    # A report from another cell would tell that the device was outside.
    points = Points.of(grid, **read_fields(fields, options), outside="error")
    reader, tables, facts = points.resolve(points.open(options["inputs"]))
    survey = Survey()
    try:
        keys = [key for _, key, *_ in PointRows(reader).place(tables, survey, facts=facts)]
    except InputError as error:
        if error.code != domain.OUTSIDE.code:
            raise
        # A device cannot leave its place out, as publishers of a table can (--outside drop).
        raise InputError(OUTSIDE, file=error.file, row=error.row) from None
    if why := survey.reading().why_empty():
        raise UsageError(why)
    return grid.decode(np.concatenate(keys))


def _print(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, indent=1))


def _show(local_plan: LocalPlan) -> None:
    """Print a plan."""
    document = local_plan.to_dict()
    names = " and ".join(dict.fromkeys(document["oracles"]))
    levels = ", ".join(f"{one['children']} ({one['chance']})" for one in document["levels"])
    click.echo(f"Protocol        {document['protocol']} by {names}")
    click.echo(f"Levels          children of a node, and share of devices: {levels}")
    fine_cells = document["fine_cells_of_a_cell"]
    click.echo(f"Release         {document['cells']:,} blocks of {fine_cells:,} cells")
    click.echo(f"Report          {document['report_bytes']} bytes")
    for row in [*document["blocks"], *document["areas"]]:
        what = row.get("level") or f"{area_text(row['cells'])} of these blocks"
        click.echo(f"  {what:<28} standard error {number_text(row['standard_error']):>12}")
    click.echo(local_plan.event.statement)
