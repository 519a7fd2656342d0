"""Run a selection as a command: prepared, charged once, written whole, answered, and resumed.

Commands of other features that choose a setting of their release, such as a clip, run here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from geodp.cli.inputs import sha256
from geodp.cli.publishing import store_before_charge
from geodp.cli.request_options import open_ledger
from geodp.cli.running import carry_out, describe_call, format_result
from geodp.errors import UsageError, VerificationError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.features.select.card import SelectionCard
    from geodp.features.select.selected import Selected, SelectionDesign
    from geodp.io.folder.packing import Packed
    from geodp.release.transaction import Prepared

FIELDS = (
    *("epsilon", "neighbours", "contribution", "unit"),
    *("key", "ledger", "dataset", "records", "allow_empty"),
)
"""Fields of a request that a selection takes."""

Card: TypeAlias = "SelectionCard"
"""The public card of an answer."""

Ready: TypeAlias = "tuple[Prepared[SelectionDesign, Selected], Mapping[str, Any]]"
"""What is ready to be charged, and facts for the operator alone."""


class Shown(NamedTuple):
    """What a command says of the answer.

    Attributes
    ----------
    lines : list of str
        In the language of the operator.
    fields : mapping
        Fields of the JSON document beside those of every selection.
    """

    lines: list[str]
    fields: Mapping[str, Any]


def run_selection(
    options: dict[str, Any],
    question: str,
    prepare: Callable[[], Ready],
    show: Callable[[Card], Shown],
) -> None:
    """Choose, write, and print what was chosen.

    Parameters
    ----------
    options : dict
        Options of the command.
    question : str
        Name of the question with its settings, the same in a run that resumes this one.
    prepare : callable
        Reads the inputs, and does everything that comes before the charge; not called to resume.
    show : callable
        Says what was chosen, by the public card alone.

    Raises
    ------
    GeodpError
        As for ``prepare``, and for the budget and the folder; nothing was charged then.
    """
    complete_with_commit()
    call = {"question": question, **describe_call(options)}

    def work(options: dict[str, Any], _seconds: dict[str, float]) -> str:
        if options["resume"]:
            card, written = _resume(options, call)
        else:
            card, written = _choose(options, call, prepare)
        return _format_answer(options, card, written, show(card))

    carry_out(options, work)


def _resume(
    options: dict[str, Any], call: Mapping[str, str]
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
    options: dict[str, Any], call: Mapping[str, str], prepare: Callable[[], Ready]
) -> tuple[SelectionCard, dict[str, list[str]]]:
    """Read, charge, draw and write; whatever can be refused is refused before the charge."""
    from geodp.features.select.files import stage_selection
    from geodp.io.folder.staging import require_free, require_uninterrupted

    output, overwrite = options["output"], options["overwrite"]
    # Not required by Click, as --resume takes no budget.
    if options["epsilon"] is None:
        raise UsageError(
            "Add --epsilon, the budget, such as --epsilon 0.1.", code="epsilon-missing"
        )
    # Before reading: a folder that is taken must not wait for a large file.
    require_free(output, overwrite=overwrite)
    require_uninterrupted(output)
    prepared, facts = prepare()
    run = {"inputs": {str(path): sha256(path) for path in options["inputs"]}, **facts}
    design = prepared.design
    preview = design.preview.card()

    def pack(drawn: Selected) -> Packed:
        return drawn.card().to_json(), {}

    # Staged before the charge, so that a full disk or a bad path costs no budget.
    with stage_selection(preview, output, overwrite=overwrite) as place:
        with store_before_charge(place.folder, design.request, call, run, pack) as keep:
            card = prepared.release(keep).card()
        return card, place.write(card, run)


def _format_answer(
    options: dict[str, Any], card: SelectionCard, written: dict[str, list[str]], shown: Shown
) -> str:
    """Format the answer of a run for the terminal."""
    fields = {
        "chosen": [dict(candidate) for candidate in card.chosen],
        "epsilon": card.guarantee.epsilon,
        "mechanism": card.guarantee.mechanism,
        "private": card.private,
        **shown.fields,
    }
    result = format_result(options, written, fields, [card.guarantee.in_words])
    return result if options["as_json"] else "\n".join([*shown.lines, result])
