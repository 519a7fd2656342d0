"""``geodp audit``: show what a conventional table reveals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from geodp.cli.help import with_options
from geodp.cli.inputs import grid_of, read_named
from geodp.cli.options import GridCommand
from geodp.cli.output import PICTURES, REPLACE, require_drawn, require_free, write_picture
from geodp.errors import CodeError, GeodpError, InputError, UsageError
from geodp.options.option import Option, OptionTable
from geodp.options.shared import DOMAIN, JSON, REQUEST

if TYPE_CHECKING:
    from geodp.tools.audit.api import Threshold

NOTICE = (
    "CONFIDENTIAL, for the operator alone: computed from the table without any protection. None of "
    "it is an epsilon."
)

OF_TABLE = ("hierarchy", "column", "count", "counts")
"""Options about a TABLE."""

GRID = OptionTable(
    replace(one, needs=one.needs or ("spec",)) for one in DOMAIN if one.name != "spec"
)
"""Options of the grid of a release to compare with."""


@click.command(cls=GridCommand, rare=("mask",), no_args_is_help=True)
@click.argument("table", required=False, type=click.Path(path_type=Path))
@with_options(
    Option(
        "--rate",
        "Sampling rate: the probability of each record to be in the sample; 0.2 or 1/5.",
        everyday=True,
    ),
    Option("--threshold", "The smallest count that is published.", type=int, everyday=True),
    REQUEST.one("epsilon", needs=("rate",)),
    Option(
        "--delta",
        "Delta, instead of --epsilon; with both, find the smallest --threshold.",
        everyday=True,
        needs=("rate",),
    ),
    Option(
        "--bound",
        "Use the smallest delta, or that of Li, Qardaji and Su 2012.",
        choices=("exact", "li"),
        default="exact",
    ),
    Option("--sample-size", "Size of a sample of fixed size; refused, with the reason.", type=int),
    Option(
        "--weight",
        "Weight that counts were multiplied by; other weights than 1 / rate are refused.",
    ),
    Option(
        "--tables",
        "Number of tables made from the sample; more than one is refused.",
        type=int,
        default=1,
    ),
    DOMAIN.one("spec", needs=("rate",)),
    GRID,
    Option(
        "--method",
        "Method of the release that is planned for the same epsilon on --grid (see geodp methods).",
        default="pyramid",
        needs=("spec",),
    ),
    Option(
        "--column", "Column of TABLE that others may know; repeatable.", many=True, everyday=True
    ),
    Option("--count", "Column of TABLE with the number of records of each row."),
    Option(
        "--counts",
        "Two columns of TABLE: people of every class, and sampled people.",
        values=2,
        needs=("rate",),
        excludes=("column",),
    ),
    Option(
        "--hierarchy",
        "COLUMN=FILE: a table of the column's values and their generalisations, from the finest "
        "up; repeatable. Generalises TABLE until every class has --threshold records.",
        many=True,
        needs=("threshold",),
        excludes=("column",),
    ),
    Option(
        "--ledger",
        "Ledger file to charge with the guarantee.",
        type=Path,
        everyday=True,
        needs=("rate",),
    ),
    Option(
        "--dataset",
        "Name of the data set in the ledger (see: geodp budget).",
        everyday=True,
        needs=("ledger",),
    ),
    Option(
        "--sample",
        "Name of the sample, which you assert to be fresh and secret.",
        everyday=True,
        needs=("ledger",),
    ),
    Option(
        "--unit", "Unit of privacy: what one record describes.", default="person", needs=("ledger",)
    ),
    Option(
        "--plot",
        "PNG, PDF or SVG file of delta by epsilon.",
        type=Path,
        everyday=True,
        needs=("threshold",),
    ),
    Option("--output", "JSON file of the results.", type=Path, everyday=True),
    Option("--overwrite", "Replace these files.", type=bool, everyday=True),
    Option(
        "--resume",
        "Write the result of an interrupted run that was charged; nothing is charged again.",
        type=bool,
        needs=("ledger",),
    ),
    JSON,
)
def audit(**options: Any) -> None:
    """Compute the epsilon and delta of a sampled table with suppressed small counts.

    \b
    geodp audit --rate 0.2 --threshold 10 --delta 1e-6 --plot curve.png
    geodp audit --rate 0.2 --epsilon 1 --delta 1e-6          # the smallest threshold
    geodp audit --rate 0.2 --threshold 10 --epsilon 1 --grid jis:half --bounds 138 35 141 37
    geodp audit people.csv --column sex --column age         # k-anonymity
    geodp audit people.csv --hierarchy age=ages.csv --threshold 10
    geodp audit cells.csv --rate 0.2 --threshold 10 --counts people drawn

    Valid if every record was sampled independently at one rate, the sample stays secret, and cells
    were fixed beforehand. Results that are computed from a TABLE are for the operator only.
    """
    _check_options(options)
    document: dict[str, Any] = {}
    guarantee = _find_guarantee(options, document)
    if guarantee is not None and options["spec"] is not None:
        from geodp.tools.audit.api import compare_release

        grid = grid_of({**options, "inputs": (), "value": None})
        document["instead"] = compare_release(guarantee, grid, options["method"]).to_dict()
    if options["table"] is not None:
        document["confidential"] = {"notice": NOTICE, **_audit_table(options)}
    # The figure is written before the charge: it needs no ledger, and may fail.
    if options["plot"] is not None:
        _draw(options)
    with _report_charge_on_failure(guarantee, options), _open_output(options) as output:
        if guarantee is not None and options["ledger"] is not None:
            # A charge is never taken back, so what may fail of the file fails before it.
            if output is not None:
                output.write(_encode({**document, "charge": " " * CHARGE_SPACE}))
                output.flush()
                output.seek(0)
            document["charge"] = _charge(guarantee, options)
        if output is not None:
            output.write(_encode(document))
            # The charge is shorter than the space that was reserved for it.
            output.truncate()
    text = json.dumps(document, ensure_ascii=False, indent=1)
    click.echo(text if options["as_json"] else _format_document(document))


CHARGE_SPACE = 1 << 13
"""Bytes that are written in place of a charge before it is known."""


def _open_output(options: dict[str, Any]) -> AbstractContextManager[BinaryIO | None]:
    """Open the file of ``--output``, which appears when the block ends; None without one."""
    path, overwrite = options["output"], options["overwrite"]
    if path is None:
        return nullcontext()
    from geodp.io.folder.atomic import write_atomically

    return write_atomically(
        path, REPLACE.format(path), overwrite=overwrite, public=options["table"] is None
    )


def _encode(document: dict[str, Any]) -> bytes:
    """Encode a document as the bytes of its file."""
    return f"{json.dumps(document, ensure_ascii=False, indent=1)}\n".encode()


def _check_options(options: dict[str, Any]) -> None:
    """Raise UsageError for options that do not go together, before anything is read."""
    stated = [name for name in OF_TABLE if options[name]]
    if stated and options["table"] is None:
        raise UsageError(
            f"--{stated[0]} can only be given with a TABLE.", code="option-needs-table"
        )
    if options["ledger"] is not None and None in (options["dataset"], options["sample"]):
        raise UsageError("--ledger needs --dataset and --sample.", code="audit-ledger-incomplete")
    if options["hierarchy"]:
        from geodp.literature.recoding import RECODED_FROM_DATA

        if options["rate"] is not None:
            raise UsageError(RECODED_FROM_DATA)
    if options["rate"] is None and options["table"] is None:
        raise UsageError("Give a --rate, or a TABLE to audit.", code="rate-or-table")
    for name, endings in (("output", (".json",)), ("plot", PICTURES)):
        require_free(options[name], f"--{name}", endings, overwrite=options["overwrite"])
    require_drawn(options["plot"])


def _find_guarantee(options: dict[str, Any], document: dict[str, Any]) -> Threshold | None:
    """Compute the guarantee of a sampled table, if it is requested, and add it to the document."""
    if options["rate"] is None:
        return None
    from geodp.tools.audit.api import curve, sampled_threshold, smallest_k

    rate, bound = options["rate"], options["bound"]
    model = {name: options[name] for name in ("sample_size", "weight", "tables")}
    k, epsilon, delta = options["threshold"], options["epsilon"], options["delta"]
    if epsilon is None and delta is None:
        if options["spec"] is not None or options["ledger"] is not None:
            raise UsageError(
                "--grid and --ledger can only be given with --epsilon or --delta.",
                code="grid-needs-epsilon",
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
        if epsilon is None or delta is None:
            raise UsageError(
                "Give --threshold, or both --epsilon and --delta to find it.",
                code="threshold-or-epsilon",
            )
        # Refuses what is outside the model, before a search that may be long.
        sampled_threshold(1, rate, epsilon, bound=bound, **model)
        k = smallest_k(rate, epsilon, delta, bound)
        document["smallest_k"] = {"k": k, "epsilon": epsilon, "delta": delta}
        delta = None
    guarantee = sampled_threshold(k, rate, epsilon, delta, bound, **model)
    document["guarantee"] = guarantee.to_dict()
    document["curve"] = curve(k, rate).to_dict()
    return guarantee


def _charge(guarantee: Threshold, options: dict[str, Any]) -> dict[str, Any]:
    """Charge a guarantee, or find the charge of an interrupted run; return the charge."""
    from geodp.privacy.ledger import Ledger
    from geodp.tools.audit.api import charge_threshold, find_threshold_charge

    ledger = Ledger.open(options["ledger"])
    charge = find_threshold_charge if options["resume"] else charge_threshold
    made = charge(guarantee, ledger, options["dataset"], options["sample"], unit=options["unit"])
    return made.describe()


@contextmanager
def _report_charge_on_failure(
    guarantee: Threshold | None, options: dict[str, Any]
) -> Iterator[None]:
    """Print, where a run fails before its file is complete, that its charge is not lost."""
    try:
        yield
    except UsageError:
        raise
    except BaseException:
        if guarantee is not None and options["ledger"] is not None:
            try:
                _charge(guarantee, {**options, "resume": True})
                message = (
                    "The ledger has the charge: the same command with --resume writes the file."
                )
            except UsageError:
                message = None
            except GeodpError:
                message = (
                    "If the ledger has the charge, the same command with --resume writes the file."
                )
            if message is not None:
                click.echo(message, err=True)
        raise


def _draw(options: dict[str, Any]) -> None:
    from geodp.tools.audit.api import curve
    from geodp.tools.audit.threshold import plot_curve

    draw = partial(plot_curve, curve(options["threshold"], options["rate"]))
    write_picture(options["plot"], draw, True, options["overwrite"])


def _audit_table(options: dict[str, Any]) -> dict[str, Any]:
    """Compute the results of the table."""
    from geodp.io.read.rows.columns import read_records

    if options["counts"]:
        from geodp.tools.audit.api import realized

        records = read_records(options["table"], counts=options["counts"])
        people, drawn = (records[name].to_numpy() for name in options["counts"])
        try:
            diagnostic = realized(people, drawn, options["rate"], options["threshold"] or 1)
        except CodeError as error:
            rule = f"Record {error.position + 1}, without the header: {error.rule}"
            raise InputError(rule, file=str(options["table"]), code=error.code) from None
        # JSON has no infinity.
        value = diagnostic.value if diagnostic.value < float("inf") else None
        return {"realized": value, "record": diagnostic.where + 1, "infinite": diagnostic.infinite}
    count = [] if options["count"] is None else [options["count"]]
    if options["hierarchy"]:
        return _generalize(options, count)
    from geodp.tools.audit.api import k_anonymity

    records = read_records(options["table"], options["column"], count)
    return {"k_anonymity": k_anonymity(records, count=options["count"])}


def _generalize(options: dict[str, Any], count: list[str]) -> dict[str, Any]:
    from geodp.io.read.rows.columns import read_records
    from geodp.literature.api import Taxonomy, generalize

    trees = {}
    for name, file in read_named(options["hierarchy"], "--hierarchy").items():
        columns = [column.to_pylist() for column in read_records(file).values()]
        rows = ([v for v in row if v not in (None, "")] for row in zip(*columns, strict=True))
        trees[name] = Taxonomy.of_rows(rows)
    records = read_records(options["table"], [*trees], count)
    recoding = generalize(records, trees, options["threshold"], count=options["count"])
    figures = {
        "classes": recoding.count.size,
        "smallest": recoding.smallest,
        "ncp": float(recoding.ncp),
    }
    return {"generalized": {**figures, "nodes": recoding.nodes}}


def _format_document(document: dict[str, Any]) -> str:
    """Format the document as sentences and tables."""
    lines = []
    if "smallest_k" in document:
        smallest = document["smallest_k"]
        pair = f"epsilon {smallest['epsilon']} and delta {smallest['delta']}"
        lines.append(f"The smallest threshold for {pair}: {smallest['k']}.")
    if "guarantee" in document:
        lines += [document["guarantee"]["words"], "It holds as long as:"]
        lines += [f"  - {assumption};" for assumption in document["guarantee"]["assumed"]]
    if "curve" in document:
        from geodp.tools.audit.threshold import format_up

        lines.append("\n   epsilon      delta   Li's bound")
        for point in document["curve"]["points"]:
            exact, li = (format_up(point[name], 3) for name in ("exact", "li"))
            lines.append(f"{point['epsilon']:10.4f} {exact:>10} {li:>12}")
    if "instead" in document:
        lines += ["", document["instead"]["words"]]
        lines.append("    people   published   error, sampled   error, released")
        for size in document["instead"]["sizes"]:
            shown = f"{size['people']:10,} {size['shown']:11.3g}"
            lines.append(f"{shown} {size['sampled']:16,.1f} {size['released']:17,.1f}")
    if "charge" in document:
        charge = document["charge"]
        total = ", ".join(f"{n} {charge['spent'][n]}" for n in ("epsilon", "delta"))
        lines.append(f"Charged to {charge['dataset']}, which has spent {total}: {charge['head']}")
    if "confidential" in document:
        lines += _format_confidential(dict(document["confidential"]))
    return "\n".join(lines)


def _format_confidential(result: dict[str, Any]) -> list[str]:
    lines = [result.pop("notice")]
    if "generalized" in result:
        recoding = result["generalized"]
        lines.append(
            f"{recoding['classes']:,} classes, the smallest of {recoding['smallest']:,} records."
        )
        lines.append(
            f"Sum of penalties: {recoding['ncp']:,.2f}. The nodes of all values: --json, --output."
        )
    elif "realized" in result:
        value = "infinite" if result["realized"] is None else f"{result['realized']:.4g}"
        lines.append(f"Realised number: {value}, in record {result['record']:,} of the table.")
        lines.append(f"Classes of which all people were drawn: {result['infinite']:,}.")
    else:
        lines.append(f"The smallest class has {result['k_anonymity']:,} records.")
    return lines
