"""``geodp local``: mesh counts from devices, without anyone who holds the places."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.inputs import grid_of
from geodp.cli.options import GridCommand, StrictCommand, grid_options
from geodp.cli.output import (
    PICTURES,
    area_text,
    number_text,
    require_drawn,
    require_free,
    write_file,
    write_picture,
)
from geodp.cli.running import report_progress
from geodp.errors import CodeError, InputError, UsageError

if TYPE_CHECKING:
    from geodp.features.local.blending import Blend
    from geodp.features.local.plan import LocalPlan
    from geodp.grid.grid import Grid

_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
_overwrite = click.option("--overwrite", is_flag=True, help="Replace what is there.")


@click.group()
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
@grid_options
@click.option("--devices", type=float, required=True, help="Reports that are expected; a guess.")
@click.option("--epsilon", required=True, help="Of one report, read exactly: 1 or 1/2.")
@click.option("--protocol", help="haar, counts, NAME:SETTING=VALUE.  [default: what suits]")
@click.option("--depth", type=click.IntRange(1), help="Digits of a key.  [default: what suits]")
@click.option("--unit", default="device", show_default=True, help="Whom it protects, in words.")
@click.option("--period", default="day", show_default=True, help="Until a device's next report.")
@click.option("--allow-weak", is_flag=True, help="Take an epsilon above 16.")
@click.option("--output", type=click.Path(path_type=Path), help="TOML file for geodp local open.")
@_overwrite
@_json
def plan(**options: Any) -> None:
    """Say what devices will be asked and how accurate the release will be; no data is read."""
    require_free(options["output"], "--output", (".toml",), overwrite=options["overwrite"])
    from geodp.features.local.plan import plan as make

    names = ("devices", "epsilon", "protocol", "depth", "unit", "period", "allow_weak")
    found = make(grid_of({**options, "inputs": ()}), **{name: options[name] for name in names})
    if options["output"] is not None:
        write_file(options["output"], found.toml().encode(), True, options["overwrite"])
    if options["as_json"]:
        _print(found.to_dict())
    else:
        _show(found)


@local.command(cls=StrictCommand, name="open")
@click.option("--plan", "file", required=True, type=click.Path(path_type=Path), help="Its file.")
@click.option("--ledger", type=click.Path(path_type=Path), help="Ledger file, which is charged.")
@click.option("--dataset", help="A data set of it that was entered with --model local.")
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), help="New file of the round."
)
@_json
def open_(
    file: Path, ledger: Path | None, dataset: str | None, output: Path, as_json: bool
) -> None:
    """Charge the ledger and write the file that devices and servers go by."""
    require_free(output, "--output", (".json",), overwrite=True)  # what is there is looked at below
    from geodp.features.local.opening import open_round
    from geodp.features.local.plan import read_local_plan
    from geodp.privacy.ledger import Ledger

    kept = None if ledger is None else Ledger.open(ledger)
    found = open_round(read_local_plan(file), ledger=kept, dataset=dataset, path=output)
    if as_json:
        _print({"output": str(output), "round": found.digest, "id": found.id})
        return
    click.echo(
        f"{output}: round {found.digest[:16]}, {found.protocol.spec}, {found.event(0).spends}"
    )
    click.echo(found.event(0).words)


@local.command(cls=StrictCommand)
@click.argument("file", metavar="ROUND", type=click.Path(path_type=Path))
@click.argument("cells", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="New file.")
@_json
def randomize(file: Path, cells: Path, output: Path, as_json: bool) -> None:
    """Make the reports of devices, for tests and gateways: a line of CELLS has a device's code.

    CELLS is a CSV file whose first column has codes of cells; it is confidential. A device makes
    its own report with a few lines of any language.
    """
    from geodp.features.local.collect import randomize as make
    from geodp.features.local.files.reports import require_new, write_reports
    from geodp.features.local.round import read_round

    require_new(output)
    found = read_round(file)
    codes, lines = _read_codes(cells, found.grid)
    try:
        reports = make(found, codes)
    except CodeError as error:
        row = lines[error.position]
        raise InputError(error.rule, file=cells.name, row=row) from None
    write_reports(output, found.digest, reports)
    if as_json:
        _print({"output": str(output), "round": found.digest, "reports": reports.size})
    else:
        click.echo(f"{output}: {reports.size:,} reports in random order")


@local.command(cls=StrictCommand)
@click.argument("file", metavar="ROUND", type=click.Path(path_type=Path))
@click.argument("reports", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="New file.")
@_overwrite
@_json
def aggregate(
    file: Path, reports: tuple[Path, ...], output: Path, overwrite: bool, as_json: bool
) -> None:
    """Add up files of reports (.parquet, .jsonl), and sums of others (.sums).

    The file of sums appears whole or not at all: a run that was killed is run again.
    """
    require_free(output, "--output", (".sums",), overwrite=overwrite)
    from geodp.features.local.collect import aggregate as make
    from geodp.features.local.round import read_round

    with report_progress():
        found = make(read_round(file), reports)
    found.write(output, overwrite=overwrite)
    if as_json:
        _print({"output": str(output), "reports": found.reports, "round": found.round.digest})
    else:
        files = "1 file" if len(found.files) == 1 else f"{len(found.files):,} files"
        click.echo(f"{output}: {found.reports:,} reports of {files}")


@local.command(cls=StrictCommand)
@click.argument("sums", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="New folder.")
@click.option("--name", default="population", show_default=True, help="Of the count.")
@click.option("--spread", is_flag=True, help="Spread blocks evenly over the cells of the grid.")
@_overwrite
@_json
def publish(
    sums: Path, output: Path, name: str, spread: bool, overwrite: bool, as_json: bool
) -> None:
    """Publish the counts of a round; nothing is charged any more."""
    from geodp.features.local.collect import Sums
    from geodp.features.local.collect import publish as make

    found = Sums.read(sums)
    with report_progress():
        release = make(found.round, found, spread=spread)
        written = release.write(output, name=name, overwrite=overwrite)
    if as_json:
        _print({"output": str(output), **written, "reports": found.reports, "model": "local"})
        return
    click.echo(f"Published in {output / 'public'}\n{release.event.words}")
    click.echo("No further charge: computed from local reports.")


COMMAND = local


@local.command(cls=StrictCommand, no_args_is_help=True)
@click.option(
    "--menu",
    required=True,
    help="TRUTH:SHARE of every label, commas between: the probability with which its devices tell "
    "the truth, and their share of all devices. Read exactly; a third is 1/3.",
)
@click.option("--epsilons", is_flag=True, help="The menu is EPSILON:SHARE instead.")
@click.option("--values", type=click.IntRange(2), default=2, show_default=True, help="How many.")
@click.option("--allow-weak", is_flag=True, help="Take epsilons above 16 too.")
@click.option(
    "--reports",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Of a device that keeps its label: the epsilon of 1 to so many reports.",
)
@click.option(
    "--devices",
    type=click.IntRange(2, 10_000),
    help="Simulate the errors of all estimators of a share with so many devices.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="PNG, PDF or SVG of all of this.")
@_overwrite
@_json
def blend(menu: str, epsilons: bool, values: int, allow_weak: bool, **options: Any) -> None:
    """Say what a menu of epsilons protects from which devices choose in secret.

    \b
    geodp local blend --menu 0.8:0.5,0.6:0.5
    geodp local blend --menu 0.8:0.5,0.6:0.5 --reports 6 --devices 100 --plot menu.svg
    geodp local blend --menu 1:0.2,0.5:0.8                    # some honest, the others at random
    geodp local blend --menu 2:1/3,1/2:2/3 --epsilons --values 10

    Of every label: its local epsilon, which is the guarantee, and the indicator of Takagi et al.,
    which is none. The mixture is what a collector learns who never knows the labels. A ledger is
    charged the largest local epsilon.
    """
    from geodp.features.local.blending import blend as make

    require_free(options["plot"], "--plot", PICTURES, overwrite=options["overwrite"])
    require_drawn(options["plot"])
    pairs = [one.split(":") for one in menu.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise UsageError(
            "--menu is written TRUTH:SHARE,TRUTH:SHARE, such as 0.8:0.5,0.6:0.5.", code="menu-form"
        )
    answers, shares = zip(*pairs, strict=True)
    given = (answers, None) if epsilons else (None, answers)
    found = make(shares, given[0], values, truths=given[1], allow_weak=allow_weak)
    document = found.describe(options["reports"])
    if options["devices"] is not None:
        document["errors"] = _estimate_errors(found, options["devices"])
    if options["plot"] is not None:
        _draw_menu(found, options)
    if options["as_json"]:
        _print(document)
        return
    _show_menu(document)
    click.echo(found.words)


MENU_SHARES = (0.01, 0.1, 0.25, 0.5)
"""Shares of devices with a value at which estimators are compared; those above mirror them."""


def _estimate_errors(menu: Blend, devices: int) -> list[dict[str, Any]]:
    """Return the simulated root mean square errors of all estimators, a row for each share."""
    rows = []
    for share in MENU_SHARES:
        errors = menu.mean_square_errors(share, devices)
        roots = {name: math.sqrt(error.mean) for name, error in errors.items()}
        rows.append({"devices": devices, "share": share, **roots})
    return rows


def _draw_menu(menu: Blend, options: dict[str, Any]) -> None:
    from geodp.features.local.figure import plot_menu

    reports = options["reports"] if options["reports"] > 1 else 6
    draw = partial(plot_menu, menu, devices=options["devices"] or 100, reports=reports)
    write_picture(options["plot"], draw, True, options["overwrite"])


def _show_menu(document: dict[str, Any]) -> None:
    """Print what a menu protects, in lines for people."""
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
        click.echo(
            f"\nroot mean square error of a share, {document['errors'][0]['devices']:,} devices"
        )
        names = [name for name in document["errors"][0] if name not in ("devices", "share")]
        click.echo("   share  " + "  ".join(f"{name:>16}" for name in names))
        for row in document["errors"]:
            figures = "  ".join(f"{row[name]:16.4f}" for name in names)
            click.echo(f"{row['share']:8.2f}  {figures}")
    click.echo()


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _read_codes(path: Path, grid: Grid) -> tuple[list[str], list[int]]:
    """Return the first column of a CSV file and its lines; without its header, which it needs."""
    import csv

    from geodp.grid.lattice import parse_codes
    from geodp.io.opening import require_regular

    require_regular(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = [(row[0].strip(), reader.line_num) for row in reader if row]
    except OSError as error:
        raise InputError(
            f"The file cannot be read ({error.strerror}).", file=path.name, code="file-unreadable"
        ) from None
    except (ValueError, csv.Error):
        raise InputError(
            "The file is no CSV file in UTF-8.", file=path.name, code="csv-not-utf8"
        ) from None
    if len(rows) < 2:
        raise InputError(
            "The file has no codes; give the name of the column, and a line for each device.",
            file=path.name,
            code="codes-missing",
        )
    with suppress(InputError):
        parse_codes(grid.places[0], [rows[0][0]])
        raise UsageError(
            f"{path.name}: the first line has a code; it must name the column.",
            code="header-is-code",
        )
    codes, lines = zip(*rows[1:], strict=True)
    return list(codes), list(lines)


def _print(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, indent=1))


def _show(found: LocalPlan) -> None:
    """Print what a plan says, in lines for people."""
    said = found.to_dict()
    names = " and ".join(dict.fromkeys(said["oracles"]))
    levels = ", ".join(f"{one['children']} ({one['chance']})" for one in said["levels"])
    click.echo(f"Protocol        {said['protocol']} by {names}")
    click.echo(f"Levels          children of a node, and chance to be asked: {levels}")
    click.echo(
        f"Release         {said['cells']:,} blocks of {said['fine_cells_of_a_cell']:,} cells"
    )
    click.echo(f"Report          {said['report_bytes']} bytes")
    for row in [*said["blocks"], *said["areas"]]:
        what = row.get("level") or f"{area_text(row['cells'])} of these blocks"
        click.echo(f"  {what:<28} standard error {number_text(row['standard_error']):>12}")
    click.echo(found.event.words)
