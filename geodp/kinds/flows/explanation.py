"""Explain a release of flows from its public index alone."""

from __future__ import annotations

from functools import partial
from typing import Literal

from geodp.errors import printable
from geodp.kinds.flows.english import DURATIONS, PAGE, name_attributes
from geodp.kinds.flows.kind import GROUPED, FlowsCard, FlowsGuarantee, StatedStays
from geodp.kinds.flows.reading.rules import split_duration
from geodp.release.report.translation import translate_texts
from geodp.tools.explain.card import explain_index
from geodp.tools.explain.page import Explanation, Writer


def explain_flows(card: FlowsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("flows_title", unit=page.unit(card.guarantee.unit))
    return explain_index(
        page, title, card, partial(_write_together, page, card), partial(_write_promise, page, card)
    )


def name_bound(guarantee: FlowsGuarantee) -> Literal["enforced", "weighed", "vouched"]:
    """Name who bounds the trips of a unit: geodp, by their number or weights, or the office."""
    if guarantee.max_weight is not None:
        return "weighed"
    return "enforced" if guarantee.assumptions[0].stated_by == "geodp" else "vouched"


def _write_promise(page: Writer, card: FlowsCard) -> list[str]:
    """Write how many trips of a unit are counted, and with which weights."""
    guarantee, unit = card.guarantee, page.unit(card.guarantee.unit)
    sentences = [
        page.write(f"flows_{name_bound(guarantee)}", unit=unit, contribution=guarantee.contribution)
    ]
    if guarantee.max_weight is not None:
        sentences.append(page.write("flows_weights", largest=guarantee.max_weight))
    if guarantee.raked_to is not None:
        sentences.append(page.write("flows_raked", totals=printable(guarantee.raked_to)))
    # Units of periods are named after what they are periods of.
    if guarantee.unit.startswith("person-"):
        sentences.append(page.write("flows_period", unit=unit))
    return sentences


def _write_stays(page: Writer, stays: StatedStays) -> str:
    """Write by which rules trips were made of pings or stays."""
    texts = translate_texts(DURATIONS, page.language, "flows_durations")

    def write(seconds: int) -> str:
        number, unit = split_duration(seconds)
        return texts[unit].format(number=f"{number:,}")

    if stays.gap_seconds is None:
        return page.write("flows_stays")
    gap = write(stays.gap_seconds)
    if stays.radius_metres is None or stays.dwell_seconds is None:
        return page.write("flows_stays_gap", gap=gap)
    dwell = write(stays.dwell_seconds)
    return page.write("flows_pings", radius=stays.radius_metres, dwell=dwell, gap=gap)


def _write_together(page: Writer, card: FlowsCard) -> list[str]:
    """Write what is released, and what of it was measured."""
    side = card.guarantee.levels[0].side
    measured = [page.write("flows_zones")]
    of_units = GROUPED in card.constraints
    if side > 1:
        pairs = page.write("flows_pairs", side=side)
        if of_units:
            pairs = page.write("flows_pairs_units", number=side**2)
        measured = [pairs, page.write("flows_estimated")]
    labels = card.guarantee.labels
    if labels is not None:
        texts = translate_texts(PAGE, page.language, "flows")
        named = name_attributes(labels.attributes, texts)
        sides = {"side": labels.side, "pair_side": labels.pair_side}
        sentence = "flows_labels"
        if of_units:
            sides = {"number": labels.side**2, "pair_number": labels.pair_side**2}
            sentence = "flows_labels_zones" if labels.side == 1 else "flows_labels_units"
        unit = page.unit(card.guarantee.unit)
        measured.append(page.write(sentence, attributes=named, unit=unit, **sides))
    if card.prior is not None:
        used = [
            *(["flows_prior"] if card.prior.weight > 0 else []),
            *(["flows_prior_ends"] if any(one.is_used for one in card.prior.ends) else []),
        ]
        source = printable(card.prior.source)
        measured += [page.write(one, source=source) for one in used or ["flows_prior_unused"]]
    made = [] if card.stays is None else [_write_stays(page, card.stays)]
    return [page.write("flows_agree"), *made, *measured]
