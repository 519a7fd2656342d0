"""What a sampled table without its small counts means, from the JSON of ``geodp audit``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any

from geodp.errors import VerificationError
from geodp.features.explain.page import Explanation, Section, Writer
from geodp.features.explain.reach import reach_of_approximate
from geodp.features.explain.sections import (
    beliefs_section,
    factor_sentence,
    guess_section,
    households_section,
    where_section,
)
from geodp.table.plain import AtLeast, Text, read_plain

UNIT = "person"
"""Whose record one is: an audit names no other."""


@dataclass(frozen=True)
class StatedThreshold:
    """What an audit states of a sampled table; it may be a stranger's.

    Attributes
    ----------
    threshold : int
        The smallest count that is published.
    rate : str
        Of the sample, exact.
    epsilon, delta : float
    """

    threshold: Annotated[int, AtLeast(1)]
    rate: Annotated[str, Text(r"[0-9]{1,200}/[0-9]{1,200}")]
    epsilon: Annotated[float, AtLeast(0)]
    delta: Annotated[float, AtLeast(0)]


def explain_audit(document: Any, language: str = "en") -> Explanation:
    """Return what the guarantee in the JSON document of an audit means, for people.

    Parameters
    ----------
    document : plain values
        Of ``geodp audit --json``; what it says of the confidential table is not read.
    language : {"en", "ja"}

    Raises
    ------
    UsageError
        Another language.
    VerificationError
        A document without a guarantee, or with one that is none.

    Examples
    --------
    >>> import geodp
    >>> stated = {"threshold": 10, "rate": "1/5", "epsilon": 1.4, "delta": 1e-6}
    >>> geodp.explain.explain_audit({"guarantee": stated}).title
    'What a sampled table without its small counts reveals'
    """
    found = document.get("guarantee") if isinstance(document, Mapping) else None
    if not isinstance(found, Mapping):
        raise VerificationError(
            "The document states no guarantee: geodp audit states one with --epsilon or --delta.",
            code="audit-without-guarantee",
        )
    known = {field.name: found.get(field.name) for field in fields(StatedThreshold)}
    said = read_plain(StatedThreshold, known, "guarantee")
    page, reach_of = Writer(language), partial(reach_of_approximate, said.epsilon, said.delta)
    title, unit, alone = page.say("audit_title"), page.unit(UNIT), reach_of(1)
    sections = (
        _tell_promise(page, said, factor_sentence(page, alone), unit),
        beliefs_section(page, alone, unit, "add"),
        where_section(page, reach_of, unit),
        guess_section(page, alone, page.say("guess_add", unit=unit)),
        households_section(page, reach_of, "households_delta"),
        _tell_open(page, unit),
    )
    return Explanation(language, title, (*sections, page.list_words()), page.figures)


def _tell_promise(page: Writer, said: StatedThreshold, factor: str, unit: str) -> Section:
    """Return the guarantee, its measures and what it needs."""
    upper, _, lower = said.rate.partition("/")
    if not 0 < int(upper) < int(lower):
        raise VerificationError(
            "The rate of an audit lies between 0 and 1.", code="audit-rate-out-of-range"
        )
    sentences = (
        page.say("suppose_add", unit=unit),
        factor,
        page.say("audit_measure", epsilon=said.epsilon, delta=said.delta),
        page.say("audit_rate", rate=int(upper) / int(lower)),
        page.say("audit_threshold", threshold=said.threshold),
    )
    return Section(page.say("heading_promise"), sentences)


def _tell_open(page: Writer, unit: str) -> Section:
    """Return what is not protected."""
    sentences = (
        page.say("audit_exact"),
        page.say("audit_drawn", unit=unit),
        page.say("audit_again"),
        page.say("open_town"),
        page.say("open_others"),
    )
    return Section(page.say("heading_open"), sentences)
