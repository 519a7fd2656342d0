"""``geodp select``: read, choose, write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from geodp import progress
from geodp.cli.draw_storage import Packed, store_before_charge
from geodp.cli.help import add_options, option
from geodp.cli.inputs import grid_of, sha256
from geodp.cli.options import grid_options, inputs, output_folder
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import open_ledger, read_request, request_options
from geodp.cli.running import describe_call, report_progress, report_stored_draw
from geodp.cli.translation import translate_message
from geodp.errors import UsageError, VerificationError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.features.select.card import SelectionCard
    from geodp.features.select.question import Question
    from geodp.features.select.selected import Selected

Command = TypeVar("Command", bound=Callable[..., Any])

FIELDS = (
    *("epsilon", "neighbours", "contribution", "unit"),
    *("key", "ledger", "dataset", "records", "allow_empty"),
)
"""Fields of a request that a selection takes."""

MECHANISMS = ("permute-and-flip", "exponential")
"""Names of the mechanisms, repeated so that ``--help`` imports nothing heavy."""

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    option(
        "--mechanism",
        group="Privacy",
        type=click.Choice(MECHANISMS),
        default=MECHANISMS[0],
        show_default=True,
        help="Mechanism that draws the candidates; the first is never worse.",
    ),
    output_folder,
    option(
        "--overwrite",
        group="Output",
        everyday=True,
        is_flag=True,
        help="Replace an earlier release.",
    ),
    option(
        "--resume",
        group="Run",
        is_flag=True,
        help="Complete an interrupted run of the same command from what it was charged for; "
        "nothing is read, drawn or charged.",
    ),
    option(
        "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
    ),
)


def _with_shared_options(command: Command) -> Command:
    """Add the options for inputs, grid, budget and output to a command."""
    return inputs(grid_options(request_options(*FIELDS)(add_options(command, _OPTIONS))))


@click.group()
def select() -> None:
    """Select places with differential privacy: their codes are released, without counts.

    \b
    geodp select top FILE --grid jis:half ... --k 10 --epsilon 1 --contribution 1 --output out
    geodp select level FILE --grid jis:half ... --next-epsilon 1 --epsilon 1/10 ...
    """


@select.command(cls=ReadingCommand, no_args_is_help=True)
@_with_shared_options
@option("--k", group="Privacy", type=int, required=True, help="Number of cells or areas to select.")
@option(
    "--level",
    group="Domain",
    help="Select areas instead of cells: a published area such as jis:basic, a number of cells "
    "per side, or a level of --regions.",
)
def top(**options: Any) -> None:
    """Select the K cells or areas of INPUTS with the most people."""
    from geodp.features.select.hot_spots import Top

    _run(options, Top(options["k"], options["level"]))


@select.command(cls=ReadingCommand, no_args_is_help=True)
@_with_shared_options
@option(
    "--next-epsilon",
    group="Privacy",
    required=True,
    help="Budget of the release that follows at the selected level.",
)
def level(**options: Any) -> None:
    """Select the level at which publishing INPUTS has the smallest error."""
    from geodp.features.select.resolution import Level
    from geodp.privacy.budget import rational

    _run(options, Level(rational(options["next_epsilon"], "next_epsilon")))


@select.command(cls=ReadingCommand, no_args_is_help=True)
@_with_shared_options
@option(
    "--q",
    group="Privacy",
    required=True,
    help="Share of all people, above 0 and below 1: 0.5 or 1/4.",
)
@option(
    "--along", group="Domain", required=True, help="Axis: row, col, or the name of an attribute."
)
def quantile(**options: Any) -> None:
    """Select the position along an axis that a share of all people of INPUTS lies before."""
    from geodp.features.select.quantiles import Quantile
    from geodp.privacy.budget import rational

    _run(options, Quantile(rational(options["q"], "q"), options["along"]))


@select.command("median-centre", cls=ReadingCommand, no_args_is_help=True)
@_with_shared_options
def median_centre(**options: Any) -> None:
    """Select the cell at the medians of the rows and columns of INPUTS."""
    from geodp.features.select.quantiles import MedianCentre

    _run(options, MedianCentre())


COMMAND = select


def _run(options: dict[str, Any], question: Question) -> None:
    """Choose, write, and print what was chosen."""
    check_applicable(click.get_current_context())
    complete_with_commit()
    call = {"question": repr(question), **describe_call(options)}
    with report_progress(), report_stored_draw(options["output"]):
        choose = _resume if options["resume"] else _choose
        card, written = choose(options, question, call)
    click.echo(_format_answer(options, card, written))


def _resume(
    options: dict[str, Any], _question: Question, call: Mapping[str, str]
) -> tuple[SelectionCard, dict[str, list[str]]]:
    """Complete an interrupted run; nothing is read, drawn or charged."""
    from geodp.features.select.card import SelectionCard
    from geodp.features.select.files import stage_selection
    from geodp.io.folder.pending import read_pending_draw, unreadable
    from geodp.release.charging import find_charge
    from geodp.table.charged import StatedCharge

    options_of_stage = {"overwrite": options["overwrite"], "resume": True}
    ledger = open_ledger(options)
    with stage_selection(None, options["output"], **options_of_stage) as staged:
        pending = read_pending_draw(staged.folder, call)
        try:
            card = SelectionCard.from_json(pending.card)
        except VerificationError:
            raise unreadable(staged.folder) from None
        # The card on disk is from before the charge, which only the ledger records.
        charge = find_charge(ledger, pending.dataset, pending.fingerprint)
        card = card.with_budget(StatedCharge.of(charge))
        return card, staged.write(card, dict(pending.run))


def _choose(
    options: dict[str, Any], question: Question, call: Mapping[str, str]
) -> tuple[SelectionCard, dict[str, list[str]]]:
    """Read, charge, draw and write; whatever can be refused is refused before the charge."""
    from geodp.features.select.files import stage_selection
    from geodp.features.select.selected import prepare
    from geodp.io.folder.staging import require_free, require_uninterrupted

    output, overwrite = options["output"], options["overwrite"]
    # Not required by Click, as --resume takes no budget.
    if options["epsilon"] is None:
        raise UsageError(
            "Add --epsilon, the budget, such as --epsilon 0.1.", code="epsilon-missing"
        )
    grid = grid_of(options)
    # Before reading: a question that does not suit the grid must not wait for a large file.
    question.candidates(grid)
    request = read_request(options, grid)
    require_free(output, overwrite=overwrite)
    require_uninterrupted(output)
    progress.begin("Reading")
    table = read(options, grid, request.key)
    prepared = prepare(table, question, request, options["mechanism"])
    run = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_cells": int(table.key.size),
        "people": int(table.count.sum()),
    }
    preview = prepared.preview.card()

    def pack(drawn: Selected) -> Packed:
        return drawn.card().to_json(), {}

    # Staged before the charge, so that a full disk or a bad path costs no budget.
    with stage_selection(preview, output, overwrite=overwrite) as place:
        with store_before_charge(place.folder, request, call, run, pack) as keep:
            card = prepared.release(keep).card()
        return card, place.write(card, run)


def _format_answer(
    options: dict[str, Any], card: SelectionCard, written: dict[str, list[str]]
) -> str:
    """Format the answer of a run for the terminal."""
    below = None if card.false_hot_spots is None else card.false_hot_spots.count
    if options["as_json"]:
        document = {
            "output": str(options["output"]),
            **written,
            "chosen": [dict(candidate) for candidate in card.chosen],
            "epsilon": card.guarantee.epsilon,
            "mechanism": card.guarantee.mechanism,
            "private": card.private,
            "false_hot_spots_below": below,
        }
        return json.dumps(document, ensure_ascii=False, indent=1)
    public, restricted = options["output"] / "public", options["output"] / "restricted"
    chosen = [" ".join(map(str, candidate.values())) for candidate in card.chosen]
    lines = []
    if below is not None:
        lines.append(f"Below {below:,.0f} people false hot spots are to be expected.")
    lines.append(f"Published in {public}; for the operator only: {restricted}")
    lines.append(card.guarantee.in_words)
    return "\n".join([*chosen, *map(translate_message, lines)])
