"""Explain a sampled table without its small counts, from the JSON of ``geodp audit``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any

from geodp.errors import VerificationError
from geodp.table.plain import AtLeast, Text, read_plain
from geodp.tools.explain.bayes import reach_of_approximate
from geodp.tools.explain.page import (
    Explanation,
    Section,
    Writer,
    beliefs_section,
    factor_sentence,
    guess_section,
    households_section,
    where_section,
)

UNIT = "person"
"""Unit of privacy: an audit has no other."""


@dataclass(frozen=True)
class StatedThreshold:
    """Guarantee of a sampled table, as an audit states it; the file may be untrusted.

    Attributes
    ----------
    threshold : int
        The smallest count that is published.
    rate : str
        Sampling rate, exact, as a fraction.
    epsilon, delta : float
    """

    threshold: Annotated[int, AtLeast(1)]
    rate: Annotated[str, Text(r"[0-9]{1,200}/[0-9]{1,200}")]
    epsilon: Annotated[float, AtLeast(0)]
    delta: Annotated[float, AtLeast(0)]


def explain_audit(document: Any, language: str = "en") -> Explanation:
    """Explain the guarantee in the JSON document of an audit.

    Parameters
    ----------
    document : plain values
        Output of ``geodp audit --json``; its facts about the confidential table are not read.
    language : {"en", "ja"}

    Raises
    ------
    UsageError
        For another language.
    VerificationError
        For a document without a guarantee, or with an invalid one.

    Examples
    --------
    >>> import geodp
    >>> stated = {"threshold": 10, "rate": "1/5", "epsilon": 1.4, "delta": 1e-6}
    >>> geodp.explain.explain_audit({"guarantee": stated}).title
    'What a sampled table without its small counts reveals'
    """
    stated = document.get("guarantee") if isinstance(document, Mapping) else None
    if not isinstance(stated, Mapping):
        raise VerificationError(
            "The document states no guarantee: geodp audit states one with --epsilon or --delta.",
            code="audit-without-guarantee",
        )
    values = {field.name: stated.get(field.name) for field in fields(StatedThreshold)}
    # Only these fields are checked and read; an audit also has statistics of confidential counts.
    guarantee = read_plain(StatedThreshold, values, "guarantee")
    page, reach_of = (
        Writer(language),
        partial(reach_of_approximate, guarantee.epsilon, guarantee.delta),
    )
    title, unit, loss = page.write("audit_title"), page.unit(UNIT), reach_of(1)
    sections = (
        _promise_section(page, guarantee, factor_sentence(page, loss), unit),
        beliefs_section(page, loss, unit, "add"),
        where_section(page, reach_of, unit),
        guess_section(page, loss, page.write("guess_add", unit=unit)),
        households_section(page, reach_of, "households_delta"),
        _open_section(page, unit),
    )
    return Explanation(language, title, (*sections, page.write_glossary()), page.figures)


def _promise_section(page: Writer, guarantee: StatedThreshold, factor: str, unit: str) -> Section:
    """Write the section on the guarantee, its measures and its conditions."""
    upper, _, lower = guarantee.rate.partition("/")
    if not 0 < int(upper) < int(lower):
        raise VerificationError(
            "The rate of an audit lies between 0 and 1.", code="audit-rate-out-of-range"
        )
    sentences = (
        page.write("suppose_add", unit=unit),
        factor,
        page.write("audit_measure", epsilon=guarantee.epsilon, delta=guarantee.delta),
        page.write("audit_rate", rate=int(upper) / int(lower)),
        page.write("audit_threshold", threshold=guarantee.threshold),
    )
    return Section(page.write("heading_promise"), sentences)


def _open_section(page: Writer, unit: str) -> Section:
    """Write the section on what is not protected."""
    sentences = (
        page.write("audit_exact"),
        page.write("audit_drawn", unit=unit),
        page.write("audit_again"),
        page.write("open_town"),
        page.write("open_others"),
    )
    return Section(page.write("heading_open"), sentences)
