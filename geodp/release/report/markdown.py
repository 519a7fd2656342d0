"""The privacy card of a release in Markdown, for people.

It is written from the public card alone, so it reveals nothing that the release does not. The
sentences are those of :mod:`geodp.release.report.sentences`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from geodp.release.report.sentences import (
    HAZARDS,
    NEGATIVE,
    bullets,
    describe_budget,
    describe_domain,
    describe_floating_point,
    describe_mask,
    describe_sensitivity,
    describe_unit,
    describe_values,
    describe_width,
    format_captioned,
    plain,
)
from geodp.table.card import Card, Notice, StatedMetadata
from geodp.table.display import show_limit
from geodp.table.index import TablesCard
from geodp.table.plain import list_captioned
from geodp.table.stated.error import (
    StatedCells,
    StatedError,
    StatedFloor,
    StatedLabels,
    StatedSettlements,
)
from geodp.table.stated.release import StatedGuarantee, StatedMechanism


def markdown(card: Card, notice: Notice | None = None) -> str:
    """Format the card of a written release as a privacy card in Markdown.

    ``notice``: the notice of a withdrawal that lies beside the release.
    """
    guarantee, mechanism = card.guarantee, card.mechanism
    title = _write_title(f"{card.name}, release {card.release_id}", card, notice)
    needs = [
        guarantee.precondition,
        *(one.sentence for one in guarantee.assumptions or ()),
        f"Key of the noise: {guarantee.noise_key}",
    ]
    parts = [
        title,
        *_describe_publisher(card.metadata),
        "## Guarantee",
        f"{plain(guarantee.in_words)}\n\n{bullets(_list_guarantee(guarantee))}",
        "## Assumptions",
        bullets(needs),
        "## Domain",
        f"{plain(describe_domain(card.domain))} {plain(describe_mask(card.domain))}",
        *_describe_reading(card),
        "## Budget",
        " ".join(plain(line) for line in describe_budget(card)),
        "## Mechanism",
        *_describe_mechanism(mechanism),
        "## Expected error",
        *_describe_error(card.expected_error),
        "## Post-processing and bias",
        bullets(card.post_processing),
        "## Limits and hazards",
        bullets(_list_hazards(guarantee, mechanism)),
        *_describe_display(card),
        *_list_files(card),
        f"Made by {card.software}.",
    ]
    return _join(parts)


def markdown_of(card: Any, title: str, first: Card | None, notice: Notice | None = None) -> str:
    """Format the card of any other release, such as an index of tables, in Markdown.

    Parameters
    ----------
    card : PublicCard
        With ``guarantee``, ``private``, ``budget`` and ``software``.
    title : str
        What the release is.
    first : Card or None
        Card of its first table, which has the publisher's metadata; None: it has no table, and
        its own card may have them.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.
    """
    guarantee, tables = card.guarantee, getattr(card, "tables", ())
    vouched = getattr(guarantee, "assumptions", None) or ()
    stated = [
        f"Spends: {guarantee.spends}",
        f"Unit of privacy: {guarantee.unit} ({guarantee.neighbours}), which adds at most "
        f"{guarantee.contribution:,}",
        f"Mechanism: {guarantee.mechanism}",
        *([f"Proof: {guarantee.source}"] if hasattr(guarantee, "source") else []),
    ]
    parts = [
        _write_title(title, card, notice),
        *_describe_publisher(getattr(first or card, "metadata", None)),
        "## Guarantee",
        f"{plain(guarantee.in_words)}\n\n{bullets(stated)}",
        *_list("Assumptions", (one.sentence for one in vouched)),
        *_list("What always holds", getattr(card, "constraints", ())),
        *_list("Answer", (_join_values(one) for one in getattr(card, "chosen", ()))),
        *_list("Periods", getattr(card, "times", ())),
        *_list("Tables", (f"{one.name}, release {one.release_id}" for one in tables)),
        "## Budget",
        " ".join(plain(line) for line in describe_budget(card)),
        *([] if first is None else _describe_display(first)),
        *(_list_files(card) if hasattr(card, "left_out") else []),
        f"Made by {card.software}.",
    ]
    return _join(parts)


def _join(parts: Iterable[str]) -> str:
    """Join paragraphs."""
    # Parts without content are empty texts: they must not leave blank paragraphs.
    return "\n\n".join(part for part in parts if part) + "\n"


def _write_title(title: str, card: Any, notice: Notice | None) -> str:
    """Write the heading, with what warns of the release."""
    text = f"# Privacy card: {plain(title)}{_describe_withdrawal(notice)}"
    if not card.private:
        text += "\n\n**NOT PRIVATE**: the noise was made with a fixed key, for tests only."
    return text


def _list(heading: str, lines: Iterable[str]) -> list[str]:
    """Write a section of lines; nothing without any."""
    listed = bullets(lines)
    return [f"## {heading}", listed] if listed else []


def _join_values(answer: Mapping[str, Any]) -> str:
    """Join the codes and labels of a candidate."""
    return ", ".join(f"{name} {value}" for name, value in answer.items())


def _describe_withdrawal(notice: Notice | None) -> str:
    """Describe the notice of a withdrawal, as a paragraph; empty without one."""
    if notice is None:
        return ""
    stated = notice.withdrawal
    if stated is None:
        return "\n\n**A notice of withdrawal** lies beside this release, and cannot be read."
    use = "" if stated.use is None else f" Use the release {plain(stated.use)} instead."
    return f"\n\n**WITHDRAWN** on {stated.date}: {plain(stated.reason)}{use}"


def _describe_publisher(metadata: StatedMetadata | None) -> list[str]:
    """List the publisher's metadata; nothing if there are none."""
    lines = [f"{one.heading}: {text}" for _, one, text in list_captioned(metadata)]
    return _list("From the publisher", lines)


def _describe_reading(card: Card) -> list[str]:
    """Describe how the input was read; nothing where the card does not record it."""
    return _list("Input", [] if card.reading is None else card.reading.list_sentences())


def _describe_mechanism(mechanism: StatedMechanism) -> list[str]:
    """Describe title, source and noise of the method, and its settings."""
    return [
        f"{_sentence(mechanism.title)} {mechanism.citation}\n\n"
        f"Noise: {mechanism.noise} (format {mechanism.noise_format}). "
        f"{describe_floating_point(mechanism)}",
        bullets(describe_values(mechanism)),
    ]


def _describe_error(error: StatedError) -> list[str]:
    """Describe the expected error: blocks, levels, resolution, isolated cells and small labels."""
    blocks = [
        [f"{row.cells:,}", f"{row.standard_error:g}", f"±{row.margin_95:g}"]
        for row in error.blocks or ()
    ]
    levels = [
        [
            row.level,
            f"{row.cells:,}",
            f"{row.standard_error:g}",
            f"±{row.margin_95:g}",
            f"{row.largest:g}",
        ]
        for row in error.areas
    ]
    head = ["cells in the block", "standard error", "95 % margin"]
    return [
        _sentence(error.meaning),
        _table(head, blocks) if blocks else "",
        _table(["level", "cells", "standard error", "95 % margin", "largest"], levels)
        if levels
        else "",
        _describe_floor(error.floor),
        *(
            f"{_sentence(isolated.meaning)} Bias {isolated.bias:g}, "
            f"root-mean-square error {isolated.rmse:g}."
            for isolated in (error.isolated_cell, error.isolated_block)
            if isolated is not None
        ),
        _describe_cells(error.cells),
        _describe_settlements(error.settlements),
        _describe_labels(error.attributes),
    ]


def _describe_cells(cells: StatedCells | None) -> str:
    """Describe the intervals of cells that are not listed."""
    if cells is None:
        return ""
    low, high = cells.ends
    return f"{_sentence(cells.meaning)} low {low:g}, high {high:g}."


def _describe_settlements(simulated: StatedSettlements | None) -> str:
    """Format the biases of settlements by size and surroundings, where they were simulated."""
    if simulated is None:
        return ""
    columns = ["people", "lies", "own cells", "cells within reach"]
    rows = [
        [
            f"{row.people:,} and more" if row.below is None else f"{row.people:,} to {row.below:,}",
            row.surroundings,
            f"{row.own:+.1f} % ± {row.own_simulation_error:.1f}",
            f"{row.near:+.1f} % ± {row.near_simulation_error:.1f}",
        ]
        for row in simulated.settlements
    ]
    return f"{_sentence(simulated.meaning)}\n\n{_table(columns, rows)}"


def _list_hazards(guarantee: StatedGuarantee, mechanism: StatedMechanism) -> list[str]:
    """List what the guarantee does not protect, and the hazards of reading the counts."""
    return [
        *(f"Not protected: {what}" for what in guarantee.not_protected),
        # These hold for every release; negative values only for methods without a clamp.
        *HAZARDS,
        *([] if mechanism.nonnegative else [NEGATIVE]),
    ]


def _describe_display(card: Card) -> list[str]:
    """Describe the publisher's rule for displaying small counts, if there is one."""
    limit = card.display_below
    if limit is None:
        return []
    # The limit is shown as "<10": without escaping it would open an HTML tag.
    few = plain(show_limit(limit))
    return [
        "## Display",
        f"By the publisher's rule, maps, pages and printed estimates show counts above 0 and below "
        f"{limit:,} as {few}. The rule protects nobody, which the noise does: the files have the "
        "released counts, and differences of shown sums tell them.",
    ]


def _list_files(card: Card | TablesCard) -> list[str]:
    """Format the files with their digests, and list those that were left out."""
    rows = [[f"`{f.name}`", plain(f.what), f"`{f.sha256}`"] for f in card.files]
    return [
        "## Files",
        _table(["file", "what", "SHA-256"], rows),
        bullets(f"`{f.name}` left out: {f.why}" for f in card.left_out),
    ]


def _describe_labels(totals: StatedLabels | None) -> str:
    """Format the bias of small labels' totals, if there are attributes."""
    if totals is None:
        return ""
    columns = ["attribute", "people in a cell", "bias of the total", "standard error", "holds"]
    rows = [
        [
            plain(row.attribute),
            f"{row.people_per_cell:g} ({row.people_from})",
            f"{row.bias:+,.0f}",
            f"{row.standard_error:,.0f}",
            "yes" if row.holds else "**no**",
        ]
        for row in totals.labels
    ]
    return f"{_sentence(totals.meaning)}\n\n{_table(columns, rows)}"


def _describe_floor(floor: StatedFloor | None) -> str:
    """Describe the smallest useful block, if a guess of the total count was given."""
    if floor is None:
        return ""
    smallest = "none, not even the total" if floor.cells is None else f"{floor.cells:,} cells"
    return (
        f"Resolution floor: {smallest}. That is the smallest block whose standard error is at most "
        f"the people expected in it, if there are {floor.people:,.0f} (a public guess)."
    )


def _list_guarantee(guarantee: StatedGuarantee) -> list[str]:
    """List the parameters of the guarantee, one a line."""
    # The exact value is the guarantee; the decimal beside it is rounded and only for reading.
    exact = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "rho": guarantee.rho}
    return [
        f"Variant: {guarantee.variant}",
        *(
            f"{name.capitalize()}: {exact[name]} = {decimal!r}"
            for name, decimal in guarantee.decimals().items()
        ),
        f"Unit of privacy: {guarantee.unit}. {describe_unit(guarantee)}",
        describe_sensitivity(guarantee),
        describe_width(guarantee),
        f"Proof: {guarantee.source}",
        *format_captioned(guarantee),
    ]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sentence(text: str) -> str:
    line = plain(text)
    return f"{line[:1].upper()}{line[1:]}."
