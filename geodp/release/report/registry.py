"""The record of a release for registries of differential privacy deployments."""

from __future__ import annotations

from typing import Any

from geodp.errors import UsageError
from geodp.privacy.event import CONCENTRATED, PURE
from geodp.release.report.metadata import ReleaseMetadata
from geodp.release.report.sentences import (
    TIMING,
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
)
from geodp.table.card import Card

VARIANTS = {PURE: "Pure DP", CONCENTRATED: "Zero-concentrated DP"}
"""Names that the Differential Privacy Deployments Registry has for a card's variants."""


SECURITY = (
    "Public and restricted outputs are separate folders, the latter readable by its owner only; "
    "the security of the confidential records is the curator's."
)


def registry_record(card: Card, about: ReleaseMetadata) -> dict[str, Any]:
    """Build a record for the Differential Privacy Deployments Registry, as plain values.

    Written as JSON, it is also YAML 1.2.

    Parameters
    ----------
    card : Card
        Card of a written release.
    about : ReleaseMetadata

    Raises
    ------
    UsageError
        The release is not private, or the registry has no name for its variant.
    """
    # A release with a fixed key is a test; a registry lists deployments.
    if not card.private:
        raise UsageError(
            "The release is not private (fixed key); a registry lists private releases only.",
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
                "composition": " ".join(
                    [describe_sensitivity(card.guarantee), *describe_budget(card)]
                ),
            },
            "implementation": _implementation(card, software),
            "administrative": {
                "sources": bullets([card.mechanism.citation]),
                "notes": " ".join([made, *format_captioned(card.metadata)]),
                "registry_authors": list(about.authors),
            },
        },
    }


def _basic(about: ReleaseMetadata) -> dict[str, Any]:
    """Build the part that the publisher states."""
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
    """Build the part on the variant of differential privacy and the privacy loss."""
    guarantee = card.guarantee
    return {
        "dp_variant": {
            "variant_name": VARIANTS[guarantee.variant],
            "data_domain": describe_domain(card.domain),
            "unprotected_quantities": bullets(guarantee.not_protected),
        },
        "privacy_loss": {
            "privacy_unit": f"{guarantee.unit[:1].upper()}{guarantee.unit[1:]}-level",
            "privacy_unit_details": describe_unit(guarantee),
            "privacy_parameters": guarantee.decimals(),
            "privacy_parameters_details": f"Exactly {guarantee.spends}. {guarantee.in_words}",
        },
    }


def _model(card: Card, about: ReleaseMetadata) -> dict[str, Any]:
    """Build the part on the trust model, the actors and the access."""
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
    """Build the part on the method, the noise and the library, with the proof's source."""
    guarantee, mechanism = card.guarantee, card.mechanism
    lines = [
        f"{mechanism.title}: {mechanism.citation}",
        *describe_values(mechanism),
        f"Noise: {mechanism.noise}; format {mechanism.noise_format}.",
        f"{describe_width(guarantee)}.",
        *format_captioned(guarantee),
        f"Library: {software}.",
        f"Key of the noise: {guarantee.noise_key}.",
        f"Floating point: {describe_floating_point(mechanism)}",
        f"Timing: {TIMING}",
        f"Security: {SECURITY}",
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": "Precondition of the guarantee: "
        f"{guarantee.precondition}. "
        f"{' '.join(one.sentence for one in guarantee.assumptions or ())} "
        f"{describe_mask(card.domain)}",
        "mechanisms": bullets(lines),
        "justification": f"{guarantee.source}.",
    }
