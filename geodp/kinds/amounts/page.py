"""The page of a release, with maps and regions, in one HTML file, and its explanation in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

from geodp.accuracy.interval import Interval
from geodp.errors import UsageError, printable
from geodp.grid.region import Region, find_named
from geodp.io.read.public.polygons import Circle
from geodp.io.write.drawing.render import draw_png
from geodp.io.write.map.look import Language, Look
from geodp.io.write.picture import why_no_picture
from geodp.kinds.amounts.drawing import Quantity, draw_quantity, estimate_blocks
from geodp.kinds.amounts.english import FILES, PAGE, FileKind, describe_file
from geodp.kinds.amounts.estimates import AmountEstimate, list_outside, share_outside
from geodp.kinds.amounts.joint import NAME
from geodp.kinds.amounts.kind import (
    COUNT,
    MEAN,
    MEDIAN,
    SUM,
    AmountsCard,
    AmountsSeriesCard,
    StatedAmount,
    StatedAmountsPrior,
)
from geodp.kinds.amounts.numbers import AmountNumbers
from geodp.release.report.html.markup import Html, Page, bind, element, join, table
from geodp.release.report.html.page import DPI, embed_picture, name_domain, write_static
from geodp.release.report.html.parts import files_section, guarantee_section
from geodp.release.report.html.places import NamedRegion, Rounded, list_regions
from geodp.release.report.html.quotes import quote_places, round_interval, write_ends
from geodp.release.report.html.texts import texts_of
from geodp.release.report.translation import translate_texts
from geodp.table.display import is_below
from geodp.table.index import find_period
from geodp.table.withdrawal import Notice
from geodp.tools.explain.card import explain_index, series_sentence
from geodp.tools.explain.page import Explanation, Writer

SIDE = 720
"""Pixels of the longer side of a map."""

MAX_LISTED = 1000
"""Most rows of the table of places."""


@dataclass(frozen=True)
class _Row:
    """A place with its estimates."""

    name: str
    estimate: AmountEstimate


def write_page(
    release: AmountNumbers,
    language: Language = "en",
    places: Mapping[str, Any] | None = None,
    notice: Notice | None = None,
) -> str:
    """Write a release as one HTML page that loads nothing from the network and runs no script.

    Parameters
    ----------
    release : AmountNumbers
    language : {"en", "ja"}
    places : mapping of str to region, optional
        By the names under which they are shown, in their order. Default: the regions of the grid's
        table, or areas of its code system, or squares of cells.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.

    Raises
    ------
    UsageError
        The language is not available.
    """
    # A circle is estimated as the polygon around it.
    regions = {
        name: one.shape if isinstance(one, Circle) else one for name, one in (places or {}).items()
    }
    texts = texts_of(language)
    page = {**texts.page, **translate_texts(PAGE, language, "amounts")}
    page = {name: bind(text) for name, text in page.items()}
    page = {**page, "title": _write_title(release, page, language)}
    rows = _estimate(release, regions, page, texts.script)
    quoted = {**page, **texts.card, **describe_files(release.index.amount, language)}
    sections: list[tuple[str, Html]] = [
        *_maps(release, page, language),
        ("places", _places_section(release, rows, regions, page)),
        ("always", _always_section(release, page)),
        ("guarantee", guarantee_section(explain_amounts(release.index, language).sections)),
        # Of a release in memory there are no files yet.
        *([("files", files_section(quoted, release.index))] if release.index.files else []),
    ]
    header = element("header", *_list_head(release, page, language))
    view = release.count.view(COUNT)
    return write_static(view.card, header, sections, page, language, notice=notice)


def describe_files(amount: StatedAmount, language: Language) -> dict[str, str]:
    """Describe the files of a release in a language, by their descriptions in its index."""
    texts = translate_texts(FILES, language, "amounts_files")
    kinds = get_args(FileKind)
    return {
        describe_file(FILES, kind, amount): describe_file(texts, kind, amount) for kind in kinds
    }


def _write_title(release: AmountNumbers, page: Page, language: Language) -> str:
    """Return the publisher's title, or the name of the amount, and the period of a series."""
    metadata = release.count.card().metadata
    if metadata is not None and metadata.title is not None:
        return metadata.title
    period = find_period(release.index.guarantee.not_protected)
    name = release.index.amount.name
    # The name begins the English title; Japanese has no capitals, and the body has it as it is.
    named = {"name": f"{name[:1].upper()}{name[1:]}" if language == "en" else name}
    if period is None:
        return page["title"].format(**named)
    return page["title_period"].format(time=period.time, **named)


def _list_head(release: AmountNumbers, page: Page, language: Language) -> Iterator[Html]:
    """Yield the title, what numbers are, and of which series a period is."""
    amount, promise = release.index.amount, release.index.guarantee
    yield element("h1", page["title"])
    if not release.index.private:
        yield element("p", page["not_private"], class_="alarm")
    facts = {"name": amount.name, "unit": amount.unit, "lower": amount.lower}
    one = Writer(language).unit(promise.unit)
    intro = page["intro"].format(upper=amount.upper, one=one, **facts)
    yield element("p", intro, class_="intro")
    if (period := find_period(promise.not_protected)) is not None:
        yield element("p", page["period"].format(**period._asdict()))


def _estimate(
    release: AmountNumbers, regions: Mapping[str, Any], page: Page, script: Mapping[str, str]
) -> list[_Row]:
    """Estimate the given regions in their order, or those of the grid, largest first."""
    grid = release.count.grid
    if regions:
        given = find_named(regions, partial(Region.of, grid))
        found = release.estimate_all(given.values())
        return [_Row(*pair) for pair in zip(given, found, strict=True)]
    listed: Sequence[NamedRegion] = []
    if grid.places and not grid.maps.missing:
        listed = list_regions(grid)
    estimates = release.estimate_all(one.region for one in listed)
    named = [place.with_estimate(one.count) for place, one in zip(listed, estimates, strict=True)]
    quotes = quote_places(named, {**script, **name_domain(release.count.view(COUNT), page)}, None)
    rows = [_Row(one.place, found) for one, found in zip(quotes, estimates, strict=True)]
    return sorted(rows, key=lambda row: -row.estimate.count.low)


def _maps(release: AmountNumbers, page: Page, language: Language) -> Iterator[tuple[str, Html]]:
    """Yield a section with a map of each quantity; none without places on one map."""
    grid = release.count.grid
    if why_no_picture(grid) is not None or grid.maps.one is None:
        return
    look = Look(language=language, size=SIDE)
    try:
        blocks = estimate_blocks(release, look)
    except UsageError as error:
        if error.code != "amounts-map-too-large":
            raise
        first: Quantity = "median" if release.sum is None else "mean"
        yield first, element("p", page["map_too_large"])
        return
    amount = release.index.amount
    for name in blocks.levels:
        try:
            sheet = draw_quantity(release, blocks, name, look)
        except UsageError as error:
            if error.code != "font-lacks-letters":
                raise
            sheet = draw_quantity(release, blocks, name, replace(look, language="en"))
        label = page[f"map_{name}"].format(name=amount.name, unit=amount.unit)
        yield name, embed_picture(draw_png(sheet, DPI), label)


def _places_section(
    release: AmountNumbers, rows: Sequence[_Row], regions: Mapping[str, Any], page: Page
) -> Html:
    """Write the table of places, and which given regions lie partly outside the map."""
    if not rows:
        return element("p", page["places_none"])
    columns = ["place", COUNT] + ([SUM, MEAN] if release.sum is not None else [])
    columns += [MEDIAN] if release.classes else []
    unit = release.index.amount.unit
    head = [page[f"column_{name}"].format(unit=unit) for name in columns]
    shown, limit = rows[:MAX_LISTED], release.count.card().display_below
    lines = [
        (row.name, *(_write(row.estimate, name, page, limit) for name in columns[1:]))
        for row in shown
    ]
    text = "places_help" if len(shown) == len(rows) else "places_more"
    if len(rows) == 1:
        text = "places_one"
    listed = {row.name for row in shown}
    outside = {
        name: share_outside(release.count.grid, one)
        for name, one in regions.items()
        if name in listed
    }
    return join(
        [
            element("p", page[text].format(n=f"{len(shown):,}", file=f"{NAME}.csv")),
            table(page["heading_places"], head, lines, repeats=True),
            *(element("p", one) for one in list_outside(outside, page["outside"])),
        ]
    )


def _write(one: AmountEstimate, name: str, page: Page, limit: int | None) -> str:
    """Write a number of a place and its interval, to the digits that the interval supports."""
    if is_below(one.count.count, limit):
        return page["below"].format(limit=f"{limit:,}") if name == COUNT else "–"
    if name == COUNT:
        ends = write_ends(one.count, Rounded.of(one.count), page, limit)
        return page["figures"].format(value=ends["count"], low=ends["low"], high=ends["high"])
    interval: Interval | None = getattr(one, name)
    if interval is None:
        return page["unknown"]
    value, low, high = round_interval(interval)
    # The end of the sum would reveal that of the count.
    if name == SUM and is_below(one.count.high, limit):
        return page["figures_hidden"].format(value=value)
    return page["figures"].format(value=value, low=low, high=high)


def _always_section(release: AmountNumbers, page: Page) -> Html:
    """Write what holds in every area."""
    amount = release.index.amount
    names = ["always_means"] if release.sum is not None else []
    names += ["always_classes"] if release.classes else []
    facts = {"lower": amount.lower, "upper": amount.upper, "unit": amount.unit}
    return join(element("p", page[name].format(**facts)) for name in names)


def explain_amounts(card: AmountsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("amounts_title", name=card.amount.name)
    together = [*_describe_amounts(page, card.amount), *_describe_prior(page, card.prior)]
    if (period := find_period(card.guarantee.not_protected)) is not None:
        named = {"time": period.time, "first": period.first, "last": period.last}
        together.insert(0, page.write("amounts_period", number=int(period.number), **named))
    return _write_page(page, title, card, together, "amounts")


def explain_series(card: AmountsSeriesCard, language: str) -> Explanation:
    """Explain a series in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("amounts_series_title", name=card.amount.name)
    together = [series_sentence(page, card), *_describe_amounts(page, card.amount)]
    if card.prior is not None:
        # Whether it was used is known of each period.
        together.append(page.write("amounts_series_prior", source=printable(card.prior.source)))
    return _write_page(page, title, card, together, "amounts_series")


def _write_page(
    page: Writer,
    title: str,
    card: AmountsCard | AmountsSeriesCard,
    together: list[str],
    names: str,
) -> Explanation:
    """Write the page of a release or a series.

    ``together``: what is released; ``names``: how names of sentences on the contribution begin.
    """

    def write_promise() -> list[str]:
        guarantee = card.guarantee
        enforced = guarantee.assumptions[0].stated_by == "geodp"
        answers = "enforced" if enforced else "vouched"
        if card.amount.max_weight is not None:
            answers = f"weighed_{answers}"
        unit, contribution = page.unit(guarantee.unit), guarantee.contribution
        return [page.write(f"{names}_{answers}", unit=unit, contribution=contribution)]

    return explain_index(page, title, card, lambda: together, write_promise)


def _describe_amounts(page: Writer, amount: StatedAmount) -> list[str]:
    """Write what is released, and between which ends amounts count."""
    ends = {"lower": amount.lower, "upper": amount.upper, "measure": amount.unit}
    sentences = [page.write("amounts_clipped", **ends)]
    if amount.notches:
        sentences.insert(0, page.write("amounts_means", name=amount.name))
    if amount.edges:
        sentences.append(page.write("amounts_classes", name=amount.name))
    if amount.max_weight is not None:
        sentences.append(page.write("amounts_weights", largest=amount.max_weight))
    return sentences


def _describe_prior(page: Writer, prior: StatedAmountsPrior | None) -> list[str]:
    """Write which prior was used, if any."""
    if prior is None:
        return []
    used = "amounts_prior" if prior.is_used else "amounts_prior_unused"
    return [page.write(used, source=printable(prior.source))]
