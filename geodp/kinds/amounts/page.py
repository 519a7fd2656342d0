"""The page of a release, with maps and regions, in one HTML file, and its explanation in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from geodp.errors import UsageError, printable
from geodp.grid.region import Region, find_named
from geodp.io.read.public.polygons import Circle
from geodp.io.write.drawing.render import draw_png
from geodp.io.write.map.look import Language, Look
from geodp.io.write.picture import why_no_picture
from geodp.kinds.amounts.drawing import Blocks, Quantity, draw_quantity, estimate_blocks
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
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.general import (
    MAX_LISTED,
    list_lines,
    read_page,
    tabulate_places,
    write_figures,
    write_head,
)
from geodp.release.report.html.markup import Html, Page, element, join
from geodp.release.report.html.page import (
    DPI,
    SIDE,
    draw_worded,
    embed_picture,
    name_domain,
    write_static,
)
from geodp.release.report.html.parts import files_section, guarantee_section
from geodp.release.report.html.places import NamedRegion, list_regions
from geodp.release.report.translation import translate_texts
from geodp.table.card import Notice
from geodp.table.index import find_period
from geodp.tools.explain.card import explain_index, name_ends, series_sentence
from geodp.tools.explain.page import Explanation, Writer

Line = tuple[str, Any, AmountEstimate]
"""Name of a place, its region, and its estimates."""


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
    page = read_page(language, PAGE, "amounts")
    page = {**page, "title": _write_title(release, page, language)}
    lines = _estimate(release, regions, page, language)
    quoted = {**page, **describe_files(release.index.amount, language)}
    sections: list[tuple[str, Html]] = [
        *_maps(release, page, language),
        ("places", _places_section(release, lines, regions, page)),
        ("always", _always_section(release, page)),
        ("guarantee", guarantee_section(explain_amounts(release.index, language).sections)),
        # Of a release in memory there are no files yet.
        *([("files", files_section(quoted, release.index))] if release.index.files else []),
    ]
    header = write_head(page["title"], release.index, page, *_list_head(release, page, language))
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
    """Yield what numbers are, and of which series a period is."""
    amount, promise = release.index.amount, release.index.guarantee
    facts = {"name": amount.name, "unit": amount.unit, "lower": amount.lower}
    one = Writer(language).unit(promise.unit)
    intro = page["intro"].format(upper=amount.upper, one=one, **facts)
    yield element("p", intro, class_="intro")
    yield element("p", page["alone"])
    if (period := find_period(promise.not_protected)) is not None:
        yield element("p", page["period"].format(**period._asdict()))


def _estimate(
    release: AmountNumbers, regions: Mapping[str, Any], page: Page, language: Language
) -> list[Line]:
    """Estimate the given regions in their order, or those of the grid, largest first."""
    grid = release.count.grid
    if regions:
        given = find_named(regions, partial(Region.of, grid))
        estimates = release.estimate_all(given.values())
        return [*zip(given, given.values(), estimates, strict=True)]
    listed: Sequence[NamedRegion] = []
    if grid.places and not grid.maps.missing:
        listed = list_regions(grid)
    texts = {**texts_of(language).script, **name_domain(release.count.view(COUNT), page)}
    return list_lines(listed, release.estimate_all(one.region for one in listed), COUNT, texts)


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
        picture = draw_worded(partial(_draw, release, blocks, name), look)
        label = page[f"map_{name}"].format(name=amount.name, unit=amount.unit)
        yield name, embed_picture(picture, label)


def _draw(release: AmountNumbers, blocks: Blocks, name: Quantity, look: Look) -> bytes:
    """Draw the map of a quantity."""
    return draw_png(draw_quantity(release, blocks, name, look), DPI)


def _places_section(
    release: AmountNumbers, lines: Sequence[Line], regions: Mapping[str, Any], page: Page
) -> Html:
    """Write the table of places, and which given regions lie partly outside the map."""
    columns = [COUNT] + ([SUM, MEAN] if release.sum is not None else [])
    columns += [MEDIAN] if release.classes else []
    unit, limit = release.index.amount.unit, release.count.card().display_below
    head = [page[f"column_{name}"].format(unit=unit) for name in ("place", *columns)]
    rows = []
    for name, _, one in lines:
        figures = {quantity: getattr(one, quantity) for quantity in columns}
        rows.append((name, *write_figures(figures, page, limit)))
    outside = {
        name: share_outside(release.count.grid, regions[name])
        for name, *_ in rows[:MAX_LISTED]
        if name in regions
    }
    return join(
        [
            *tabulate_places(rows, head, page, f"{NAME}.csv"),
            *(element("p", one) for one in list_outside(outside, page["outside"])),
        ]
    )


def _always_section(release: AmountNumbers, page: Page) -> Html:
    """Write what holds in every area."""
    amount = release.index.amount
    names = ["always_means"] if release.sum is not None else []
    names += ["always_classes"] if release.classes else []
    related = release.index.related
    names += [] if related is None else [f"always_{related.relation}"]
    facts = {"lower": amount.lower, "upper": amount.upper, "unit": amount.unit}
    return join(element("p", page[name].format(**facts)) for name in names)


def explain_amounts(card: AmountsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    unit = page.unit(card.guarantee.unit)
    title = page.write("amounts_title", name=card.amount.name, unit=unit)
    together = [*_describe_amounts(page, card.amount), *_describe_prior(page, card.prior)]
    if (period := find_period(card.guarantee.not_protected)) is not None:
        named = {"time": period.time, "first": period.first, "last": period.last}
        together.insert(0, page.write("amounts_period", number=int(period.number), **named))
    if card.related is not None:
        given = card.related.release
        named = {"spent": given.spent, "new": given.new}
        together.append(page.write(f"amounts_given_{card.related.relation}", **named))
    return _write_page(page, title, card, together, "amounts")


def explain_series(card: AmountsSeriesCard, language: str) -> Explanation:
    """Explain a series in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    named = {"name": card.amount.name, "unit": page.unit(card.guarantee.unit)}
    title = page.write("amounts_series_title", **named, **name_ends(card))
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
