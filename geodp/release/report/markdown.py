"""A release explained: a privacy card for people, and a record for a registry.

Both are made of the public card alone, so they say nothing that the release does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from geodp.errors import UsageError
from geodp.privacy.event import ADD_REMOVE, CONCENTRATED, PURE
from geodp.release.report.about import About

VARIANTS = {PURE: "Pure DP", CONCENTRATED: "Zero-concentrated DP"}
"""Names that the Differential Privacy Deployments Registry has for a card's variants."""

FLOATING_POINT = (
    "Counts, sums and noise are integers, and epsilon is a rational number; no floating-point "
    "number decides a draw, and no tail of the noise is cut off."
)
REAL_NUMBERS = (
    "Noise is drawn as integers, in steps of one count or of a fixed fraction of it, and epsilon "
    "is a rational number; no floating-point number decides a draw, and no tail of the noise is "
    "cut off. What is computed from the noisy values afterwards is in 64-bit floating point, and "
    "is post-processing."
)
TIMING = (
    "Running time and memory follow the number of input rows and the released cells; a run is "
    "not to be timed by those who receive the release."
)
SECURITY = (
    "Public and restricted outputs are separate folders, the latter readable by its owner only; "
    "the security of the confidential records is the curator's."
)
HAZARDS = (
    "The guarantee holds for the stated unit; facts about larger units, such as a whole family "
    "where the unit is one person, are protected less.",
    "It says nothing of what others publish about the same people without differential privacy.",
    "It does not hide what is true of a population: that a town is large is what a release is for.",
    "Counts of small areas are mostly noise: read about the expected error first.",
    "Guarantees with other units, neighbours or contribution bounds cannot be compared by their "
    "epsilons alone.",
    TIMING,
)
ONE_STAGE = "Scale of the noise where one stage has the whole budget, sensitivity over epsilon"
NEGATIVE = (
    "Negative values are noise. Sum areas with them: a sum without them, or with 0 in their place, "
    "is too large on average."
)


def registry_record(card: Mapping[str, Any], about: About) -> dict[str, Any]:
    """A record for the Differential Privacy Deployments Registry, as plain values.

    Written as JSON it is YAML 1.2 too.

    Parameters
    ----------
    card : dict
        The public card of a written release.
    about : About

    Raises
    ------
    UsageError
        A release that is not private, or a variant that the registry has no name for.
    """
    said, mechanism = card["guarantee"], card["mechanism"]
    if not card["private"]:
        raise UsageError("The release is not private; it has no place in a registry.")
    if said["variant"] not in VARIANTS:
        raise UsageError(f"The registry has no name for the variant {said['variant']!r}.")
    software = f"{card['software']['name']} {card['software']['version']}"
    return {
        "url_slug": about.slug,
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": about.name,
                "data_curators": [
                    {
                        "data_curator_name": about.curator,
                        "data_curator_type": about.curator_type,
                    }
                ],
                "intended_use": about.intended_use,
                "data_product_type": "Summary statistics",
                "data_product_region": about.region,
                "description": about.description,
                "publication_date": about.publication_date,
                "data_product_sector": about.sector,
            },
            "dp_variant": {
                "variant_name": VARIANTS[said["variant"]],
                "data_domain": _domain_in_words(card["domain"]),
                "unprotected_quantities": _bullets(said["not_protected"]),
            },
            "privacy_loss": {
                "privacy_unit": f"{said['unit'][:1].upper()}{said['unit'][1:]}-level",
                "privacy_unit_details": _unit_in_words(said),
                "privacy_parameters": {
                    name: said[f"{name}_decimal"]
                    for name in ("epsilon", "delta", "rho")
                    if said[name] is not None
                },
                "privacy_parameters_details": f"Exactly {said['spends']}. {said['in_words']}",
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": "A trusted curator counts the records and adds the noise.",
                "actors": _bullets(
                    [
                        f"Curator: {about.curator} holds the records, runs the mechanism and "
                        "publishes the result; it is trusted.",
                        f"Data subjects: every {said['unit']} in the records.",
                        "Data users: anyone; they see the release only and are not trusted.",
                    ]
                ),
                "release_type": "One release",
                "release_type_details": f"Release {card['release_id']}.",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
                "access_type_details": "The release is a set of files.",
            },
            "accounting": {
                "post_processing": _bullets(card["post_processing"]),
                "composition": " ".join([_sensitivity_in_words(said), *_budget(card)]),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Precondition of the guarantee: "
                f"{said['precondition']}. The contribution bound of {said['contribution']} is "
                f"{said['contribution_bound']}. {_mask_in_words(card['domain'])}",
                "mechanisms": _bullets(
                    [
                        f"{mechanism['title']}: {mechanism['citation']}",
                        *_released(mechanism),
                        f"Noise: {mechanism['noise']}; format {mechanism['noise_format']}.",
                        f"{_width(said)}.",
                        f"Library: {software}.",
                        f"Key of the noise: {said['noise_key']}.",
                        f"Floating point: {_floating_point(mechanism)}",
                        f"Timing: {TIMING}",
                        f"Security: {SECURITY}",
                    ]
                ),
                "justification": f"{said['source']}.",
            },
            "administrative": {
                "sources": _bullets([mechanism["citation"]]),
                "notes": f"Made from the release card of {card['release_id']}, {software}.",
                "registry_authors": list(about.authors),
            },
        },
    }


def markdown(card: Mapping[str, Any]) -> str:
    """The privacy card for people, in Markdown.

    Parameters
    ----------
    card : dict
        The public card of a written release.
    """
    said, mechanism, error = card["guarantee"], card["mechanism"], card["expected_error"]
    title = f"# Privacy card: {_plain(card['name'])}, release {card['release_id']}"
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
        f"{_plain(said['in_words'])}\n\n{_bullets(_guarantee(said))}",
        "## What it needs",
        _bullets(
            [
                said["precondition"],
                f"The contribution bound of {said['contribution']} is {said['contribution_bound']}",
                f"Key of the noise: {said['noise_key']}",
            ]
        ),
        "## Domain",
        f"{_plain(_domain_in_words(card['domain']))} {_plain(_mask_in_words(card['domain']))}",
        "## Budget",
        " ".join(_plain(line) for line in _budget(card)),
        "## Mechanism",
        f"{_sentence(mechanism['title'])} {mechanism['citation']}\n\n"
        f"Noise: {mechanism['noise']} (format {mechanism['noise_format']}). "
        f"{_floating_point(mechanism)}",
        _bullets(_released(mechanism)),
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
        _bullets(card["post_processing"]),
        "## Limits and hazards",
        _bullets(
            [
                *(f"Not protected: {what}" for what in said["not_protected"]),
                *HAZARDS,
                *([] if mechanism["nonnegative"] else [NEGATIVE]),
            ]
        ),
        "## Files",
        _table(
            ["file", "what", "SHA-256"],
            [[f"`{f['name']}`", _plain(f["what"]), f"`{f['sha256']}`"] for f in card["files"]],
        ),
        _bullets(f"`{f['name']}` left out: {f['why']}" for f in card["left_out"]),
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
            _plain(row["attribute"]),
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
        f"Unit of privacy: {said['unit']}. {_unit_in_words(said)}",
        _sensitivity_in_words(said),
        _width(said),
        f"Proof: {said['source']}",
    ]


def _width(said: Mapping[str, Any]) -> str:
    if said["noise_sigma2"] is not None:
        return f"{ONE_STAGE}: sigma squared {said['noise_sigma2']}"
    return f"{ONE_STAGE}: {said['noise_scale']} = {said['noise_scale_decimal']!r}"


def _released(mechanism: Mapping[str, Any]) -> list[str]:
    """The mechanism's settings, if it has any, and what its values can be; a line each."""
    words = {repr(True): "yes", repr(False): "no"}
    said = [f"{n} = {words.get(repr(v), v)}" for n, v in mechanism["settings"].items()]
    values = f"Released values: {mechanism['values']}."
    return [f"Settings: {', '.join(said)}.", values] if said else [values]


def _floating_point(mechanism: Mapping[str, Any]) -> str:
    return FLOATING_POINT if mechanism["whole"] else REAL_NUMBERS


def _unit_in_words(said: Mapping[str, Any]) -> str:
    unit = said["unit"]
    change = (
        f"adding or removing one {unit}"
        if said["neighbours"] == ADD_REMOVE
        else f"replacing one {unit} by another"
    )
    return (
        f"Neighbouring data sets differ by {change} ({said['neighbours']}), and one {unit} adds at "
        f"most {said['contribution']} to the sum of all counts: {said['contribution_bound']}."
    )


def _sensitivity_in_words(said: Mapping[str, Any]) -> str:
    why = said.get("sensitivity_counts")
    return f"L1 sensitivity of the measurements: {said['l1_sensitivity']}" + (
        f"; {why}." if why else "."
    )


def _domain_in_words(domain: Mapping[str, Any]) -> str:
    axes = " x ".join(f"{name} {size:,}" for name, size in domain["axes"].items())
    words = [f"Counts of {domain['cells']:,} cells, the empty ones included, on the axes {axes}."]
    for place in domain["places"]:
        code = place["code"] or "cells without published codes"
        bounds = ", ".join(f"{edge!r}" for edge in place["bounds"])
        words.append(f"Places: {code}, CRS {place['crs'] or 'none'}, bounds {bounds}.")
    return " ".join(dict.fromkeys(words))


def _mask_in_words(domain: Mapping[str, Any]) -> str:
    mask, order = domain["mask"], domain["order"]
    if isinstance(order, dict):
        regions = order["regions"]
        levels = ", ".join(f"{name}: {parts}" for name, parts in regions["levels"].items())
        return (
            "Cells that no region of a public table holds do not belong to the domain; regions on "
            f"each level: {levels}; source of the table: {regions['source']}."
        )
    if mask is None:
        return "No mask: every cell of the extent belongs to the domain."
    return f"Cells outside a public mask do not belong to the domain; its source: {mask['source']}."


def _budget(card: Mapping[str, Any]) -> list[str]:
    """What was spent before and with this release, as far as the card knows."""
    charge = card.get("budget")
    if charge is None:
        return [
            f"This release spends {card['guarantee']['spends']}, charged to no ledger; "
            "budgets of other releases about the same people add to it."
        ]
    return [
        f"This release spends {card['guarantee']['spends']}, charged to the data set "
        f"{charge['dataset']} before the noise was drawn, after {charge['earlier_releases']} "
        f"earlier releases. Spent with it: {_loss(charge['spent'])}; cap: {_loss(charge['cap'])}. "
        f"Ledger {charge['ledger']}, entry {charge['sequence']}, chain {charge['head']}."
    ]


def _loss(described: Mapping[str, Any]) -> str:
    """A budget's exact parameters, and those that it was converted from."""
    exact = [name for name in described if f"{name}_decimal" in described]
    words = " and ".join(f"{name} = {described[name]}" for name in exact)
    original = described.get("converted_from")
    return words if original is None else f"{words} (converted from {_loss(original)})"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_plain(line)}" for line in lines)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sentence(text: str) -> str:
    plain = _plain(text)
    return f"{plain[:1].upper()}{plain[1:]}."


def _plain(text: str) -> str:
    """One line that opens neither a table's column nor a tag."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
