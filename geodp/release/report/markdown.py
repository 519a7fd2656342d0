"""A release explained to people: a privacy card in Markdown.

It is made of the public card alone, so it says nothing that the release does not.
"""

from __future__ import annotations

from geodp.release.report.sentences import (
    HAZARDS,
    NEGATIVE,
    budget,
    bullets,
    domain_in_words,
    mask_in_words,
    plain,
    say_captioned,
    say_floating_point,
    say_released,
    sensitivity_in_words,
    unit_in_words,
    width,
)
from geodp.table.caption import list_captioned
from geodp.table.card import Card
from geodp.table.display import show_limit
from geodp.table.stated.error import (
    StatedCells,
    StatedError,
    StatedFloor,
    StatedLabels,
    StatedSettlements,
)
from geodp.table.stated.release import StatedGuarantee, StatedMechanism


def markdown(card: Card) -> str:
    """Return the privacy card for people, in Markdown, of a written release's card."""
    said, mechanism = card.guarantee, card.mechanism
    title = f"# Privacy card: {plain(card.name)}, release {card.release_id}"
    if not card.private:
        title += "\n\n**NOT PRIVATE**: the noise was made with a fixed key, for tests only."
    needs = [
        said.precondition,
        *(one.sentence for one in said.assumptions or ()),
        f"Key of the noise: {said.noise_key}",
    ]
    parts = [
        title,
        *_office(card),
        "## Guarantee",
        f"{plain(said.in_words)}\n\n{bullets(_guarantee(said))}",
        "## What it needs",
        bullets(needs),
        "## Domain",
        f"{plain(domain_in_words(card.domain))} {plain(mask_in_words(card.domain))}",
        *_reading(card),
        "## Budget",
        " ".join(plain(line) for line in budget(card)),
        "## Mechanism",
        *_mechanism(mechanism),
        "## Expected error",
        *_error(card.expected_error),
        "## Post-processing and bias",
        bullets(card.post_processing),
        "## Limits and hazards",
        bullets(_hazards(said, mechanism)),
        *_display(card),
        "## Files",
        *_files(card),
        f"Made by {card.software}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _office(card: Card) -> list[str]:
    """Return what the publishing office says, in its words."""
    said = [f"{one.heading}: {text}" for _, one, text in list_captioned(card.metadata)]
    return ["## From the publisher", bullets(said)] if said else []


def _reading(card: Card) -> list[str]:
    """Return how the input was read, where all of it was read in one way."""
    said = [] if card.reading is None else card.reading.list_sentences()
    return ["## Input", bullets(map(plain, said))] if said else []


def _mechanism(mechanism: StatedMechanism) -> list[str]:
    """Return title, source and noise of the method, and what it releases."""
    return [
        f"{_sentence(mechanism.title)} {mechanism.citation}\n\n"
        f"Noise: {mechanism.noise} (format {mechanism.noise_format}). "
        f"{say_floating_point(mechanism)}",
        bullets(say_released(mechanism)),
    ]


def _error(error: StatedError) -> list[str]:
    """Return what is known of the error: blocks, levels, limit, lone cells and small labels."""
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
        _floor_in_words(error.floor),
        *(
            f"{_sentence(lone.meaning)} Bias {lone.bias:g}, root-mean-square error {lone.rmse:g}."
            for lone in (error.isolated_cell, error.isolated_block)
            if lone is not None
        ),
        _cells_in_words(error.cells),
        _settlements_in_words(error.settlements),
        _labels_in_words(error.attributes),
    ]


def _cells_in_words(cells: StatedCells | None) -> str:
    """Return the intervals of cells that are not listed."""
    if cells is None:
        return ""
    return (
        f"{_sentence(cells.meaning)} low {cells.low:g}, beside {cells.beside:g}, "
        f"alone {cells.alone:g}."
    )


def _settlements_in_words(said: StatedSettlements | None) -> str:
    """Return biases of settlements by size and surroundings, where they were simulated."""
    if said is None:
        return ""
    columns = ["people", "lies", "own cells", "cells within reach"]
    rows = [
        [
            f"{row.people:,} and more" if row.below is None else f"{row.people:,} to {row.below:,}",
            row.surroundings,
            f"{row.own:+.1f} % ± {row.own_simulation_error:.1f}",
            f"{row.near:+.1f} % ± {row.near_simulation_error:.1f}",
        ]
        for row in said.settlements
    ]
    return f"{_sentence(said.meaning)}\n\n{_table(columns, rows)}"


def _hazards(said: StatedGuarantee, mechanism: StatedMechanism) -> list[str]:
    """Return what is not protected and what else a reader must know."""
    return [
        *(f"Not protected: {what}" for what in said.not_protected),
        *HAZARDS,
        *([] if mechanism.nonnegative else [NEGATIVE]),
    ]


def _display(card: Card) -> list[str]:
    """Return the office's rule of display, if it has one."""
    limit = card.display_below
    if limit is None:
        return []
    few = plain(show_limit(limit))
    return [
        "## Display",
        f"By the publisher's rule, maps, pages and printed estimates show counts above 0 and below "
        f"{limit:,} as {few}. The rule protects nobody, which the noise does: the files have the "
        "released counts, and differences of shown sums tell them.",
    ]


def _files(card: Card) -> list[str]:
    """Return the files with their digests, and those that were left out."""
    rows = [[f"`{f.name}`", plain(f.what), f"`{f.sha256}`"] for f in card.files]
    return [
        _table(["file", "what", "SHA-256"], rows),
        bullets(f"`{f.name}` left out: {f.why}" for f in card.left_out),
    ]


def _labels_in_words(said: StatedLabels | None) -> str:
    """Return the bias of small labels' totals, if there are attributes."""
    if said is None:
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
        for row in said.labels
    ]
    return f"{_sentence(said.meaning)}\n\n{_table(columns, rows)}"


def _floor_in_words(floor: StatedFloor | None) -> str:
    """Return the resolution limit, if somebody guessed the people."""
    if floor is None:
        return ""
    found = "none, not even the total" if floor.cells is None else f"{floor.cells:,} cells"
    return (
        f"Resolution floor: {found}. That is the smallest block whose standard error is at most "
        f"the people expected in it, if there are {floor.people:,.0f} (a public guess)."
    )


def _guarantee(said: StatedGuarantee) -> list[str]:
    """Return the guarantee's numbers, one a line."""
    exact = {"epsilon": said.epsilon, "delta": said.delta, "rho": said.rho}
    return [
        f"Variant: {said.variant}",
        *(
            f"{name.capitalize()}: {exact[name]} = {decimal!r}"
            for name, decimal in said.decimals().items()
        ),
        f"Unit of privacy: {said.unit}. {unit_in_words(said)}",
        sensitivity_in_words(said),
        width(said),
        f"Proof: {said.source}",
        *say_captioned(said),
    ]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sentence(text: str) -> str:
    words = plain(text)
    return f"{words[:1].upper()}{words[1:]}."
