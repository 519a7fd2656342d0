"""``geodp audit``: what a conventional table reveals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from click.core import ParameterSource

from geodp.cli.inputs import grid_of, read_named
from geodp.cli.options import GridCommand, grid_options
from geodp.cli.output import PICTURES, REPLACE, require_drawn, require_free, write_picture
from geodp.cli.request import request_options
from geodp.errors import CodeError, GeodpError, InputError, UsageError

if TYPE_CHECKING:
    from geodp.features.audit.api import Threshold

NOTICE = (
    "CONFIDENTIAL, for the operator alone: computed from the table without any protection. None of "
    "it is an epsilon."
)

OF_GRID = {
    *("bounds", "primary", "mask", "mask_source", "order", "regions", "regions_source"),
    *(
        "regions_columns",
        "units_source",
        "units_columns",
        "attribute_order",
        "crs",
        "origin",
        "cell",
        "domain_is_public",
        "pairs",
    ),
    *("labels", "method"),
}
"""Options that say something of the grid."""

NEEDS = {
    "hierarchy": "table",
    "column": "table",
    "count": "table",
    "counts": "table",
    "dataset": "ledger",
    "sample": "ledger",
    "unit": "ledger",
    "epsilon": "rate",
    "delta": "rate",
    "ledger": "rate",
    "resume": "ledger",
    "plot": "threshold",
    "spec": "rate",
}
"""Options that say something about another, which must be there."""


@click.command(cls=GridCommand, no_args_is_help=True)
@click.argument("table", required=False, type=click.Path(path_type=Path))
@click.option("--rate", help="Of the sample: the chance of every record to be in it; 0.2 or 1/5.")
@click.option("--threshold", type=int, help="The smallest count that is published.")
@request_options("epsilon")
@click.option("--delta", help="Instead of --epsilon; with both, finds the smallest --threshold.")
@click.option(
    "--bound",
    type=click.Choice(("exact", "li")),
    default="exact",
    show_default=True,
    help="The least delta, or that of Li, Qardaji and Su 2012.",
)
@click.option(
    "--sample-size", type=int, help="Of a sample of fixed size; refused, with the reason."
)
@click.option("--weight", help="That counts were multiplied by; others than 1 / rate are refused.")
@click.option("--tables", type=int, default=1, help="Made of the sample; several are refused.")
@partial(grid_options, required=False)
@click.option(
    "--method",
    default="pyramid",
    show_default=True,
    help="Of the release that is planned for the same epsilon on the --grid. See: geodp methods.",
)
@click.option("--column", multiple=True, help="Of TABLE, that others may know; repeatable.")
@click.option("--count", help="Column of TABLE: how many records a row stands for.")
@click.option(
    "--counts", nargs=2, help="Two columns of TABLE: people of every class, and those drawn."
)
@click.option(
    "--hierarchy",
    multiple=True,
    help="COLUMN=FILE: a table of its values, and what may stand for them from the finest up; "
    "repeatable. Generalises TABLE until every class has --threshold records.",
)
@click.option("--ledger", type=click.Path(path_type=Path), help="Charges the guarantee.")
@click.option("--dataset", help="Name of the data set in the ledger (see: geodp budget).")
@click.option("--sample", help="Name of the sample, which you vouch to be fresh and secret.")
@click.option("--unit", default="person", show_default=True, help="Whose one record it is.")
@click.option("--plot", type=click.Path(path_type=Path), help="PNG, PDF or SVG: delta by epsilon.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON file of what is found.")
@click.option("--overwrite", is_flag=True, help="Replace these files.")
@click.option(
    "--resume",
    is_flag=True,
    help="Write what an interrupted run of the same command was charged for; nothing is charged.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def audit(**options: Any) -> None:
    """Say what a sampled table with suppressed small counts is in terms of epsilon and delta.

    \b
    geodp audit --rate 0.2 --threshold 10 --delta 1e-6 --plot curve.png
    geodp audit --rate 0.2 --epsilon 1 --delta 1e-6          # the smallest threshold
    geodp audit --rate 0.2 --threshold 10 --epsilon 1 --grid jis:half --bounds 138 35 141 37
    geodp audit people.csv --column sex --column age         # k-anonymity
    geodp audit people.csv --hierarchy age=ages.csv --threshold 10
    geodp audit cells.csv --rate 0.2 --threshold 10 --counts people drawn

    Holds where every record was kept independently with one rate, who was kept stays secret, and
    cells were fixed beforehand. What is computed from a TABLE is for the operator alone.
    """
    _require_sense(click.get_current_context())
    document: dict[str, Any] = {}
    found = _find(options, document)
    if found is not None and options["spec"] is not None:
        from geodp.features.audit.api import release_instead

        grid = grid_of({**options, "inputs": (), "value": None})
        document["instead"] = release_instead(found, grid, options["method"]).to_dict()
    if options["table"] is not None:
        document["confidential"] = {"notice": NOTICE, **_look(options)}
    if options["plot"] is not None:
        _draw(options)
    with _tell_if_charged(found, options), _open_output(options) as output:
        if found is not None and options["ledger"] is not None:
            # A charge is never taken back, so what may fail of the file fails before it.
            if output is not None:
                output.write(_encode({**document, "charge": " " * ROOM_FOR_CHARGE}))
                output.flush()
                output.seek(0)
            document["charge"] = _charge(found, options)
        if output is not None:
            output.write(_encode(document))
            output.truncate()
    text = json.dumps(document, ensure_ascii=False, indent=1)
    click.echo(text if options["as_json"] else _say(document))


COMMAND = audit

ROOM_FOR_CHARGE = 1 << 13
"""Bytes that are written in a charge's place before it is known."""


def _open_output(options: dict[str, Any]) -> AbstractContextManager[BinaryIO | None]:
    """Open what ``--output`` names, which appears when the block ends; None without one."""
    path, overwrite = options["output"], options["overwrite"]
    if path is None:
        return nullcontext()
    from geodp.io.folder.whole import write_atomically

    return write_atomically(
        path, REPLACE.format(path), overwrite=overwrite, public=options["table"] is None
    )


def _encode(document: dict[str, Any]) -> bytes:
    """Return a document as the bytes of its file."""
    return f"{json.dumps(document, ensure_ascii=False, indent=1)}\n".encode()


def _require_sense(context: click.Context) -> None:
    """Raise UsageError for options that do not go together, before anything is read."""
    options = context.params
    names = {one.name: one.opts[-1] for one in context.command.params if one.name is not None}
    names["table"] = "a TABLE"
    given = {n for n in options if context.get_parameter_source(n) is ParameterSource.COMMANDLINE}
    for name in given & NEEDS.keys() - ({"spec"} if options["rate"] else set()):
        if NEEDS[name] not in given:
            raise UsageError(
                f"{names[name]} goes with {names[NEEDS[name]]} only.", code="option-needs-option"
            )
    if (of_grid := given & OF_GRID) and options["spec"] is None:
        raise UsageError(f"{names[min(of_grid)]} goes with --grid only.", code="option-needs-grid")
    if options["ledger"] is not None and not {"dataset", "sample"} <= given:
        raise UsageError("--ledger needs --dataset and --sample.", code="audit-ledger-incomplete")
    if options["hierarchy"]:
        from geodp.features.audit.recoding import CHOSEN

        if options["rate"] is not None:
            raise UsageError(CHOSEN)
        if options["threshold"] is None:
            raise UsageError(
                "--hierarchy goes with --threshold only.", code="hierarchy-needs-threshold"
            )
        if options["column"]:
            raise UsageError(
                "--hierarchy names the columns; leave --column out.", code="hierarchy-or-column"
            )
    if options["rate"] is None and options["table"] is None:
        raise UsageError("Give a --rate, or a TABLE to look at.", code="rate-or-table")
    if options["counts"] and (options["rate"] is None or options["column"]):
        raise UsageError(
            "--counts goes with --rate, and not with --column.", code="counts-need-rate"
        )
    for name, endings in (("output", (".json",)), ("plot", PICTURES)):
        require_free(options[name], f"--{name}", endings, overwrite=options["overwrite"])
    require_drawn(options["plot"])


def _find(options: dict[str, Any], document: dict[str, Any]) -> Threshold | None:
    """Find what the options ask for of a sampled table, if they do; the document is told."""
    if options["rate"] is None:
        return None
    from geodp.features.audit.api import curve, sampled_threshold, smallest_k

    rate, bound = options["rate"], options["bound"]
    given = {name: options[name] for name in ("sample_size", "weight", "tables")}
    k, spent, chance = options["threshold"], options["epsilon"], options["delta"]
    if spent is None and chance is None:
        if options["spec"] is not None or options["ledger"] is not None:
            raise UsageError(
                "--grid and --ledger go with --epsilon or --delta only.", code="grid-needs-epsilon"
            )
        if k is not None:
            document["curve"] = curve(k, rate).to_dict()
        elif not options["counts"]:
            raise UsageError(
                "Give --threshold, or both --epsilon and --delta to find it.",
                code="threshold-or-epsilon",
            )
        return None
    if k is None:
        if spent is None or chance is None:
            raise UsageError(
                "Give --threshold, or both --epsilon and --delta to find it.",
                code="threshold-or-epsilon",
            )
        sampled_threshold(1, rate, spent, bound=bound, **given)  # what is outside the model
        k = smallest_k(rate, spent, chance, bound)
        document["smallest_k"] = {"k": k, "epsilon": spent, "delta": chance}
        chance = None
    found = sampled_threshold(k, rate, spent, chance, bound, **given)
    document["guarantee"] = found.to_dict()
    document["curve"] = curve(k, rate).to_dict()
    return found


def _charge(found: Threshold, options: dict[str, Any]) -> dict[str, Any]:
    """Charge what was found, or find what an interrupted run was charged; return the charge."""
    from geodp.features.audit.api import charge_threshold, find_threshold_charge
    from geodp.privacy.ledger import Ledger

    ledger = Ledger.open(options["ledger"])
    charge = find_threshold_charge if options["resume"] else charge_threshold
    made = charge(found, ledger, options["dataset"], options["sample"], unit=options["unit"])
    return made.describe()


@contextmanager
def _tell_if_charged(found: Threshold | None, options: dict[str, Any]) -> Iterator[None]:
    """Say, where a run ends before its file is there, that what it was charged for is not lost."""
    try:
        yield
    except UsageError:
        raise
    except BaseException:
        if found is not None and options["ledger"] is not None:
            try:
                _charge(found, {**options, "resume": True})
                said = "The ledger has the charge: the same command with --resume writes the file."
            except UsageError:
                said = None
            except GeodpError:
                said = (
                    "If the ledger has the charge, the same command with --resume writes the file."
                )
            if said is not None:
                click.echo(said, err=True)
        raise


def _draw(options: dict[str, Any]) -> None:
    from geodp.features.audit.api import curve
    from geodp.features.audit.figure import plot_curve

    draw = partial(plot_curve, curve(options["threshold"], options["rate"]))
    write_picture(options["plot"], draw, True, options["overwrite"])


def _look(options: dict[str, Any]) -> dict[str, Any]:
    """Return what is computed from the table."""
    from geodp.io.read.rows.records import read_records

    if options["counts"]:
        from geodp.features.audit.api import realized

        read = read_records(options["table"], counts=options["counts"])
        people, drawn = (read[name].to_numpy() for name in options["counts"])
        try:
            found = realized(people, drawn, options["rate"], options["threshold"] or 1)
        except CodeError as error:
            rule = f"Record {error.position + 1}, without the header: {error.rule}"
            raise InputError(rule, file=str(options["table"]), code=error.code) from None
        value = found.value if found.value < float("inf") else None
        return {"realized": value, "record": found.where + 1, "infinite": found.infinite}
    count = [] if options["count"] is None else [options["count"]]
    if options["hierarchy"]:
        return _generalize(options, count)
    from geodp.features.audit.api import k_anonymity

    read = read_records(options["table"], options["column"], count)
    return {"k_anonymity": k_anonymity(read, count=options["count"])}


def _generalize(options: dict[str, Any], count: list[str]) -> dict[str, Any]:
    from geodp.features.audit.api import Taxonomy, generalize
    from geodp.io.read.rows.records import read_records

    trees = {}
    for name, file in read_named(options["hierarchy"], "--hierarchy").items():
        columns = [column.to_pylist() for column in read_records(file).values()]
        rows = ([v for v in row if v not in (None, "")] for row in zip(*columns, strict=True))
        trees[name] = Taxonomy.of_rows(rows)
    read = read_records(options["table"], [*trees], count)
    found = generalize(read, trees, options["threshold"], count=options["count"])
    figures = {"classes": found.count.size, "smallest": found.smallest, "ncp": float(found.ncp)}
    return {"generalized": {**figures, "nodes": found.nodes}}


def _say(document: dict[str, Any]) -> str:
    """Return sentences and tables for people."""
    lines = []
    if "smallest_k" in document:
        found = document["smallest_k"]
        words = f"epsilon {found['epsilon']} and delta {found['delta']}"
        lines.append(f"The smallest threshold for {words}: {found['k']}.")
    if "guarantee" in document:
        lines += [document["guarantee"]["words"], "It holds as long as:"]
        lines += [f"  - {words};" for words in document["guarantee"]["assumed"]]
    if "curve" in document:
        from geodp.features.audit.threshold import show_up

        lines.append("\n   epsilon      delta   Li's bound")
        for point in document["curve"]["points"]:
            exact, li = (show_up(point[name], 3) for name in ("exact", "li"))
            lines.append(f"{point['epsilon']:10.4f} {exact:>10} {li:>12}")
    if "instead" in document:
        lines += ["", document["instead"]["words"]]
        lines.append("    people   published   error, sampled   error, released")
        for size in document["instead"]["sizes"]:
            shown = f"{size['people']:10,} {size['shown']:11.3g}"
            lines.append(f"{shown} {size['sampled']:16,.1f} {size['released']:17,.1f}")
    if "charge" in document:
        charge = document["charge"]
        spent = ", ".join(f"{n} {charge['spent'][n]}" for n in ("epsilon", "delta"))
        lines.append(f"Charged to {charge['dataset']}, which has spent {spent}: {charge['head']}")
    if "confidential" in document:
        lines += _say_confidential(dict(document["confidential"]))
    return "\n".join(lines)


def _say_confidential(found: dict[str, Any]) -> list[str]:
    lines = [found.pop("notice")]
    if "generalized" in found:
        one = found["generalized"]
        lines.append(f"{one['classes']:,} classes, the smallest of {one['smallest']:,} records.")
        lines.append(
            f"Sum of penalties: {one['ncp']:,.2f}. What stands for what: --json, --output."
        )
    elif "realized" in found:
        value = "infinite" if found["realized"] is None else f"{found['realized']:.4g}"
        lines.append(f"Realised number: {value}, in record {found['record']:,} of the table.")
        lines.append(f"Classes of which everybody was drawn: {found['infinite']:,}.")
    else:
        lines.append(f"The smallest class has {found['k_anonymity']:,} records.")
    return lines
