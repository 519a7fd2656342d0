"""The record of a release for registries of differential privacy deployments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import date
from typing import Any

from geodp.errors import UsageError
from geodp.privacy.event import CONCENTRATED, PURE
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


@dataclass(frozen=True)
class ReleaseMetadata:
    """Metadata of a release that its card does not have.

    Attributes
    ----------
    name, description, intended_use : str
        Name, description and intended use of the published data.
    curator, curator_type : str
        Who holds the confidential records, and what kind of organisation that is.
    region : str
        Whom or where the data are about.
    publication_date : str
        ``YYYY-MM-DD``.
    authors : tuple of str
        Authors of the registry record.
    slug : str
        Lower-case letters, digits and hyphens.
    sector : str
    """

    name: str
    curator: str
    curator_type: str
    region: str
    intended_use: str
    description: str
    publication_date: str
    authors: tuple[str, ...]
    slug: str
    sector: str = "Government"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            texts = value if field.name == "authors" else (value,)
            listed = isinstance(texts, tuple) and texts
            if not listed or not all(isinstance(text, str) and text.strip() for text in texts):
                kind = "a list of texts" if field.name == "authors" else "a text"
                raise UsageError(
                    f"{field.name} must be {kind} and not empty.", code="registry-field-kind"
                )
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.slug):
            raise UsageError(
                f"slug is {self.slug!r}, but must consist of lower-case letters and digits, "
                "joined by hyphens.",
                code="registry-slug",
            )
        try:
            # From Python 3.11 on, fromisoformat accepts 20260102 as well: compare with the text.
            exact = date.fromisoformat(self.publication_date).isoformat() == self.publication_date
        except ValueError:
            exact = False
        if not exact:
            raise UsageError(
                f"publication_date is {self.publication_date!r}, but must be a date, YYYY-MM-DD.",
                code="registry-date",
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ReleaseMetadata:
        """Check plain values, as read from TOML; UsageError names missing and unknown fields."""
        required = {field.name: field.default is MISSING for field in fields(cls)}
        missing = [name for name, needed in required.items() if needed and name not in values]
        if missing:
            raise UsageError(
                f"The release metadata lack the fields {', '.join(missing)}; add them.",
                code="registry-fields-missing",
            )
        unknown = sorted(set(values) - set(required))
        if unknown:
            raise UsageError(
                f"The release metadata have unknown fields: {', '.join(unknown)}; "
                f"allowed are {', '.join(required)}.",
                code="registry-fields-unknown",
            )
        # TOML has dates and lists of its own; the fields are a text and a tuple.
        arguments = dict(values)
        if isinstance(arguments["publication_date"], date):
            arguments["publication_date"] = arguments["publication_date"].isoformat()
        if isinstance(arguments["authors"], list):
            arguments["authors"] = tuple(arguments["authors"])
        return cls(**arguments)


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
