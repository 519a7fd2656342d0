"""A release explained: a privacy card for people, and a record for a registry.

Both are made of the public card alone, so they say nothing that the release does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geodp.release.report.sentences import (
    HAZARDS,
    NEGATIVE,
    budget,
    bullets,
    domain_in_words,
    floating_point,
    mask_in_words,
    plain,
    released,
    sensitivity_in_words,
    unit_in_words,
    width,
)


def markdown(card: Mapping[str, Any]) -> str:
    """The privacy card for people, in Markdown.

    Parameters
    ----------
    card : dict
        The public card of a written release.
    """
    said, mechanism, error = card["guarantee"], card["mechanism"], card["expected_error"]
    title = f"# Privacy card: {plain(card['name'])}, release {card['release_id']}"
    if not card["private"]:
        title += "\n\n**NOT PRIVATE**: the noise was made with a fixed key, for tests only."
    lines = [
        [f"{row['cells']:,}", f"{row['standard_error']:g}", f"±{row['margin_95']:g}"]
        for row in error["blocks"] or ()
    ]
    levels = [
        [
            row["level"],
            f"{row['cells']:,}",
            f"{row['standard_error']:g}",
            f"±{row['margin_95']:g}",
            f"{row['largest']:g}",
        ]
        for row in error["areas"]
    ]
    parts = [
        title,
        "## Guarantee",
        f"{plain(said['in_words'])}\n\n{bullets(_guarantee(said))}",
        "## What it needs",
        bullets(
            [
                said["precondition"],
                f"The contribution bound of {said['contribution']} is {said['contribution_bound']}",
                f"Key of the noise: {said['noise_key']}",
            ]
        ),
        "## Domain",
        f"{plain(domain_in_words(card['domain']))} {plain(mask_in_words(card['domain']))}",
        "## Budget",
        " ".join(plain(line) for line in budget(card)),
        "## Mechanism",
        f"{_sentence(mechanism['title'])} {mechanism['citation']}\n\n"
        f"Noise: {mechanism['noise']} (format {mechanism['noise_format']}). "
        f"{floating_point(mechanism)}",
        bullets(released(mechanism)),
        "## Expected error",
        _sentence(error["meaning"]),
        _table(["cells in the block", "standard error", "95 % margin"], lines) if lines else "",
        _table(["level", "cells", "standard error", "95 % margin", "largest"], levels)
        if levels
        else "",
        _floor_in_words(error["floor"]),
        *(
            f"{_sentence(lone['meaning'])} Bias {lone['bias']:g}, root-mean-square error "
            f"{lone['rmse']:g}."
            for lone in (error["isolated_cell"], error.get("isolated_block"))
            if lone
        ),
        _labels_in_words(error.get("attributes")),
        "## Post-processing and bias",
        bullets(card["post_processing"]),
        "## Limits and hazards",
        bullets(
            [
                *(f"Not protected: {what}" for what in said["not_protected"]),
                *HAZARDS,
                *([] if mechanism["nonnegative"] else [NEGATIVE]),
            ]
        ),
        "## Files",
        _table(
            ["file", "what", "SHA-256"],
            [[f"`{f['name']}`", plain(f["what"]), f"`{f['sha256']}`"] for f in card["files"]],
        ),
        bullets(f"`{f['name']}` left out: {f['why']}" for f in card["left_out"]),
    ]
    software = card["software"]
    parts.append(f"Made by {software['name']} {software['version']}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _labels_in_words(said: Mapping[str, Any] | None) -> str:
    """The bias of small labels' totals, if there are attributes."""
    if said is None:
        return ""
    columns = ["attribute", "people in a cell", "bias of the total", "standard error", "holds"]
    rows = [
        [
            plain(row["attribute"]),
            f"{row['people_per_cell']:g} ({row['people_from']})",
            f"{row['bias']:+,.0f}",
            f"{row['standard_error']:,.0f}",
            "yes" if row["holds"] else "**no**",
        ]
        for row in said["labels"]
    ]
    return f"{_sentence(said['meaning'])}\n\n{_table(columns, rows)}"


def _floor_in_words(floor: dict[str, Any] | None) -> str:
    """The resolution floor, if somebody guessed the people."""
    if floor is None:
        return ""
    size = floor["cells"]
    found = "none, not even the total" if size is None else f"{size:,} cells"
    return (
        f"Resolution floor: {found}. That is the smallest block whose standard error is at most "
        f"the people expected in it, if there are {floor['people']:,.0f} (a public guess)."
    )


def _guarantee(said: Mapping[str, Any]) -> list[str]:
    """The guarantee's numbers, one a line."""
    return [
        f"Variant: {said['variant']}",
        *(
            f"{name.capitalize()}: {said[name]} = {said[f'{name}_decimal']!r}"
            for name in ("epsilon", "delta", "rho")
            if said[name] is not None
        ),
        f"Unit of privacy: {said['unit']}. {unit_in_words(said)}",
        sensitivity_in_words(said),
        width(said),
        f"Proof: {said['source']}",
    ]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sentence(text: str) -> str:
    words = plain(text)
    return f"{words[:1].upper()}{words[1:]}."
