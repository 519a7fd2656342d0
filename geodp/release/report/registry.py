"""A release's record for registries of deployments."""

from __future__ import annotations

from typing import Any

from geodp.errors import UsageError
from geodp.privacy.event import CONCENTRATED, PURE
from geodp.release.report.metadata import ReleaseMetadata
from geodp.release.report.sentences import (
    TIMING,
    budget,
    bullets,
    domain_in_words,
    mask_in_words,
    say_captioned,
    say_floating_point,
    say_released,
    sensitivity_in_words,
    unit_in_words,
    width,
)
from geodp.table.card import Card

VARIANTS = {PURE: "Pure DP", CONCENTRATED: "Zero-concentrated DP"}
"""Names that the Differential Privacy Deployments Registry has for a card's variants."""


SECURITY = (
    "Public and restricted outputs are separate folders, the latter readable by its owner only; "
    "the security of the confidential records is the curator's."
)


def registry_record(card: Card, about: ReleaseMetadata) -> dict[str, Any]:
    """Return a record for the Differential Privacy Deployments Registry, as plain values.

    Written as JSON it is YAML 1.2 too.

    Parameters
    ----------
    card : Card
        Of a written release.
    about : ReleaseMetadata

    Raises
    ------
    UsageError
        A release that is not private, or a variant that the registry has no name for.
    """
    if not card.private:
        raise UsageError(
            "The release is not private; it has no place in a registry.",
            code="registry-needs-private",
        )
    if card.guarantee.variant not in VARIANTS:
        raise UsageError(
            f"The registry has no name for the variant {card.guarantee.variant!r}.",
            code="registry-variant-unknown",
        )
    software = str(card.software)
    made = f"Made from the release card of {card.release_id}, {software}."
    return {
        "url_slug": about.slug,
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(about),
            **_privacy(card),
            "deployment_model": _model(card, about),
            "accounting": {
                "post_processing": bullets(card.post_processing),
                "composition": " ".join([sensitivity_in_words(card.guarantee), *budget(card)]),
            },
            "implementation": _implementation(card, software),
            "administrative": {
                "sources": bullets([card.mechanism.citation]),
                "notes": " ".join([made, *say_captioned(card.metadata)]),
                "registry_authors": list(about.authors),
            },
        },
    }


def _basic(about: ReleaseMetadata) -> dict[str, Any]:
    """Return what the publishing office says."""
    curator = {"data_curator_name": about.curator, "data_curator_type": about.curator_type}
    return {
        "name": about.name,
        "data_curators": [curator],
        "intended_use": about.intended_use,
        "data_product_type": "Summary statistics",
        "data_product_region": about.region,
        "description": about.description,
        "publication_date": about.publication_date,
        "data_product_sector": about.sector,
    }


def _privacy(card: Card) -> dict[str, Any]:
    """Return the notion of privacy and what was spent."""
    said = card.guarantee
    return {
        "dp_variant": {
            "variant_name": VARIANTS[said.variant],
            "data_domain": domain_in_words(card.domain),
            "unprotected_quantities": bullets(said.not_protected),
        },
        "privacy_loss": {
            "privacy_unit": f"{said.unit[:1].upper()}{said.unit[1:]}-level",
            "privacy_unit_details": unit_in_words(said),
            "privacy_parameters": said.decimals(),
            "privacy_parameters_details": f"Exactly {said.spends}. {said.in_words}",
        },
    }


def _model(card: Card, about: ReleaseMetadata) -> dict[str, Any]:
    """Return who does what, and how the release is given out."""
    actors = [
        f"Curator: {about.curator} holds the records, runs the mechanism and "
        "publishes the result; it is trusted.",
        f"Data subjects: every {card.guarantee.unit} in the records.",
        "Data users: anyone; they see the release only and are not trusted.",
    ]
    return {
        "model_name": "Central",
        "model_name_details": "A trusted curator counts the records and adds the noise.",
        "actors": bullets(actors),
        "release_type": "One release",
        "release_type_details": f"Release {card.release_id}.",
        "data_source_type": "Static",
        "access_type": "Non-interactive",
        "access_type_details": "The release is a set of files.",
    }


def _implementation(card: Card, software: str) -> dict[str, Any]:
    """Return method, noise and library, and why the claim holds."""
    said, mechanism = card.guarantee, card.mechanism
    lines = [
        f"{mechanism.title}: {mechanism.citation}",
        *say_released(mechanism),
        f"Noise: {mechanism.noise}; format {mechanism.noise_format}.",
        f"{width(said)}.",
        *say_captioned(said),
        f"Library: {software}.",
        f"Key of the noise: {said.noise_key}.",
        f"Floating point: {say_floating_point(mechanism)}",
        f"Timing: {TIMING}",
        f"Security: {SECURITY}",
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": "Precondition of the guarantee: "
        f"{said.precondition}. {' '.join(one.sentence for one in said.assumptions or ())} "
        f"{mask_in_words(card.domain)}",
        "mechanisms": bullets(lines),
        "justification": f"{said.source}.",
    }
