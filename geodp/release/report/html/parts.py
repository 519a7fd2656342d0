"""Sections of a page from the card: guarantee, errors, budget, domain, hazards, files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from geodp.io.write.map.look import Language
from geodp.release.report.html.english import FORMS
from geodp.release.report.html.frame import write_bounds, write_figure
from geodp.release.report.html.markup import (
    Html,
    Page,
    bullets,
    element,
    english,
    escape,
    join,
    pairs,
    table,
)
from geodp.release.report.sentences import describe_loss
from geodp.table.card import Card
from geodp.table.index import TablesCard
from geodp.table.plain import list_captioned
from geodp.table.stated.error import StatedBlock, StatedError, StatedLevel


def quote(page: Page, text: str) -> Html:
    """Quote a sentence of the card, translated where the page has a translation."""
    said = _translate(page, text)
    return english(text) if said is None else Html(escape(said))


def _translate(page: Page, text: str) -> str | None:
    """Translate a sentence of the card; None where the page has no translation."""
    # The page's texts include those of the card, whose keys are the English sentences.
    if text in page:
        return page[text]
    for form in FORMS:
        found = _pattern_of(form).fullmatch(text)
        if found and form in page:
            figures = found.groupdict()
            rows = _translate(page, figures.get("rows", ""))
            if "rows" not in figures or rows is not None:
                return page[form].format(**figures | {"rows": rows})
    return None


@cache
def _pattern_of(form: str) -> re.Pattern[str]:
    """Return the pattern of sentences of a form, with a group for each field."""
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(form)))


def reading_section(page: Page, unit: str) -> Html:
    """Write the section on how to read a release, and how not to."""
    items = []
    for heading, name in (("read_yes", "read"), ("read_no", "not")):
        lines = [page[f"{name}_{i}"].format(unit=unit) for i in range(1, 5)]
        items.append(element("div", element("h3", page[heading]), bullets(lines)))
    return element("div", *items, class_="two")


def guarantee_section(explained: Sequence[Any]) -> Html:
    """Write the section that explains the guarantee to people.

    ``explained``: sections of an explanation, see :mod:`geodp.tools.explain.page`.
    """
    items = []
    for part in explained:
        items += [element("h3", part.heading), *(element("p", one) for one in part.sentences)]
        if part.head:
            items.append(table(part.heading, part.head, part.rows, repeats=True))
    return join(items)


def errors_section(page: Page, card: Card) -> Html:
    """Write the section with the chart and the tables of expected errors."""
    error = card.expected_error
    if error.blocks is None:
        return element("p", page["error_unknown"])
    names = ("column_cells", "column_error", "column_margin", "column_largest")
    head = [page[name] for name in names]
    rows = [_write_figures(one) for one in error.blocks]
    # Before the chart and not in its small print: most land is not where its figures hold.
    exception = [element("p", page["error_exception"])] if card.mechanism.nonnegative else []
    items = [
        *(element("p", line) for line in _explain_growth(page, error.blocks)),
        *exception,
        *(element("p", line) for line in _explain_isolated(page, error)),
        element(
            "div",
            draw_errors(error.blocks, page),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=page["error_chart"],
        ),
        table(page["error_table"], head, rows),
        element(
            "p", quote(page, f"{error.meaning[:1].upper()}{error.meaning[1:]}."), class_="small"
        ),
    ]
    if error.areas:
        levels = [(one.level, *_write_figures(one)) for one in error.areas]
        items.append(table(page["error_levels"], [page["column_level"], *head], levels))
    return join(items)


def _write_figures(one: StatedBlock | StatedLevel) -> tuple[str, ...]:
    """Write the cells of a sum, its error and its margin, and the largest error anywhere."""
    figures = [write_figure(error) for error in (one.standard_error, one.margin_95, one.largest)]
    return f"{one.cells:,}", figures[0], f"±{figures[1]}", figures[2]


def _explain_growth(page: Page, blocks: Sequence[StatedBlock]) -> Iterator[str]:
    """Yield sentences on how the error grows with blocks of cells; blocks smallest first."""
    first, last = blocks[0], blocks[-1]
    if last.standard_error * first.cells < first.standard_error * last.cells:
        yield page["error_why"].format(
            first=_write_error(first),
            cells=last.cells,
            last=_write_error(last),
            more=write_figure(float(f"{last.standard_error / first.standard_error:.2g}")),
        )
    # In hierarchical methods a larger block can have the smaller error: name the first such pair.
    for less, more in pairwise(blocks):
        if more.standard_error < less.standard_error:
            yield page["error_dip"].format(
                more=more.cells,
                less_error=_write_error(more),
                fewer=less.cells,
                error=_write_error(less),
            )
            return


def _explain_isolated(page: Page, error: StatedError) -> Iterator[str]:
    """Yield a sentence on the clamping bias of isolated cells, where the card has it."""
    if (isolated := error.isolated_cell) is not None:
        bias, rmse = write_figure(abs(isolated.bias)), write_figure(isolated.rmse)
        yield page["error_lone"].format(bias=bias, rmse=rmse)


def _write_error(block: StatedBlock) -> str:
    return write_figure(block.standard_error)


def budget_section(page: Page, card: Card) -> Html:
    """Write the section on the release's entry in the ledger."""
    spends, charge = card.guarantee.spends, card.budget
    if charge is None:
        return join([element("p", page["budget_none"]), pairs([(page["term_spends"], spends)])])
    rows = [
        ("spends", spends),
        ("dataset", charge.dataset),
        ("earlier", f"{charge.earlier_releases:,}"),
        ("spent", describe_loss(charge.spent)),
        ("cap", describe_loss(charge.cap)),
        ("ledger", charge.ledger),
        ("entry", str(charge.sequence)),
        ("chain", charge.head),
    ]
    entry = pairs((page[f"term_{name}"], what) for name, what in rows)
    return join([element("p", page["budget_entry"]), entry])


def domain_section(page: Page, card: Card, language: Language) -> Html:
    """Write the section on the domain, the units and the input."""
    domain, guarantee = card.domain, card.guarantee
    rows: list[tuple[str, str]] = [
        ("cells", f"{domain.cells:,}"),
        ("axes", " × ".join(f"{name} {size:,}" for name, size in domain.axes.items())),
    ]
    # The axes name both ends of pairs; the lattice is described for the first.
    for place in domain.places[:1]:
        rows += [
            ("grid", place.code or "–"),
            ("crs", place.crs or "–"),
            ("degrees", write_bounds(place, page) or "–"),
            ("bounds", ", ".join(f"{edge:.10g}" for edge in place.bounds)),
        ]
    rows.append(("mask", domain.source or page["no_mask"]))
    for one in domain.attributes:
        rows.append(("attributes", f"{one.attribute}: {', '.join(one.labels)}"))
    if card.reading is not None:
        rows.append(("reading", english(" ".join(card.reading.list_sentences()))))
    rows += [("unit", guarantee.unit), ("neighbours", guarantee.neighbours)]
    named = [(page[f"term_{name}"], what) for name, what in rows]
    return pairs([*named, *_list_captioned(page, guarantee, language)])


def _list_captioned(page: Page, part: Any, language: Language) -> Iterator[tuple[str, Html]]:
    """Yield caption and value of the captioned fields of a part of the card."""
    for _, one, value in list_captioned(part):
        yield one.in_language(language), quote(page, str(value))


def hazards_section(page: Page, card: Card, unit: str) -> Html:
    """Write the section on hazards: the answer to each, who gives it, and what is unprotected."""
    rows = [
        (page[f"hazard_{name}"].format(unit=unit), answer, page[f"by_{who}"])
        for name, answer, who in _answers(page, card)
    ]
    head = [page["column_hazard"], page["column_answer"], page["column_who"]]
    quoted = [quote(page, line) for line in card.guarantee.not_protected]
    items = [element("p", page["hazards_intro"]), table(page["hazards_table"], head, rows)]
    if quoted:
        items += [element("p", page["not_protected"]), bullets(quoted)]
    return join(items)


def _answers(page: Page, card: Card) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each hazard, its answer and who answers for it."""
    guarantee, domain = card.guarantee, card.domain
    # Texts with markup in their fields are escaped first: the field itself must not be.
    answer = escape(page["answer_key" if card.private else "answer_key_not"])
    yield "key", Html(answer.format(key=quote(page, guarantee.noise_key))), "tool"
    bound = f"{guarantee.contribution:,}"
    if guarantee.model == "local":
        yield "bound", page["answer_local"].format(bound=bound), "office"
    elif guarantee.enforced:
        yield "bound", page["answer_enforced"].format(bound=bound), "tool"
    elif guarantee.layout:
        layout = quote(page, guarantee.layout)
        yield (
            "bound",
            Html(escape(page["answer_layout"]).format(bound=bound, layout=layout)),
            "office",
        )
    else:
        yield "bound", page["answer_vouched"].format(bound=bound), "office"
    charged = card.budget is not None
    yield (
        "budget",
        page["answer_budget" if charged else "answer_budget_none"],
        ("tool" if charged else "nobody"),
    )
    if domain.source is None:
        yield "domain", page["answer_box"], "tool"
    else:
        yield "domain", page["answer_mask"].format(source=domain.source), "office"
    yield "float", page["answer_whole"], "tool"
    yield "time", page["answer_time"], "office"
    yield "clamp", page["answer_clamp" if card.mechanism.nonnegative else "answer_signed"], "tool"
    yield "others", page["answer_others"], "nobody"


def office_section(page: Page, card: Card, language: Language, *, has_data: bool) -> Html:
    """Write the section of the publisher's metadata, in the language in which they are.

    ``has_data``: whether the source of the page contains the released numbers, for its script.
    """
    metadata = card.metadata
    if metadata is None:
        return element("p", page["office_none"])
    rows = [
        (one.in_language(language), element("span", text, lang=metadata.language))
        for _, one, text in list_captioned(metadata)
    ]
    items = [element("p", page["office_own"]), pairs(rows)] if rows else []
    if metadata.display_below is not None:
        text = page["office_few" if has_data else "office_few_static"]
        items.append(element("p", text.format(limit=metadata.display_below)))
    return join(items)


def registry_section(page: Page, record: Mapping[str, Any]) -> Html:
    """Write the section with the registry record, as JSON to be copied."""
    text = json.dumps(record, ensure_ascii=False, indent=2)
    heading = page["heading_registry"]
    # The record is English on every page, and wide: it scrolls, and can be reached by keyboard.
    shown = element("pre", text, tabindex="0", role="region", aria_label=heading, lang="en")
    return join([element("p", page["registry"]), shown])


def files_section(page: Page, card: Card | TablesCard) -> Html:
    """Write the section on the files with their checksums, and those left out."""
    rows = [
        (
            element("code", file.name),
            quote(page, file.what),
            element("code", file.sha256, class_="digest"),
        )
        for file in card.files
    ]
    head = [page["column_file"], page["column_what"], "SHA-256"]
    items = [table(page["files_table"], head, rows)]
    if card.left_out:
        left = [
            Html(f"{element('code', one.name)}: {quote(page, one.why)}") for one in card.left_out
        ]
        items += [element("p", page["files_left"]), bullets(left)]
    return join(items)


def method_section(page: Page, card: Card, language: Language) -> Html:
    """Write the section on the method, its settings and the software."""
    mechanism = card.mechanism
    # Only booleans are looked up: a setting of 1 equals True and would become "yes".
    yes_no = {True: "yes", False: "no"}
    settings = ", ".join(
        f"{name} = {yes_no[value] if isinstance(value, bool) else value}"
        for name, value in mechanism.settings.items()
        if value not in ("", None)
    )
    rows = [
        ("method", english(f"{mechanism.title} ({mechanism.spec}, {mechanism.version})")),
        ("source", quote(page, mechanism.citation)),
        ("noise", english(f"{mechanism.noise} ({mechanism.noise_format})")),
        ("settings", settings or "–"),
        ("software", str(card.software)),
        ("schema", card.schema),
    ]
    named = [(page[f"term_{name}"], what) for name, what in rows]
    items = [pairs([*named, *_list_captioned(page, mechanism, language)])]
    if card.post_processing:
        lines = [quote(page, line) for line in card.post_processing]
        items += [element("p", page["post_processing"]), bullets(lines)]
    return join(items)


WIDTH, HEIGHT = 400, 300
LEFT, RIGHT, TOP, BOTTOM = 66, 34, 60, 46
"""Margins around the lines; the legend is above them, so that it fits the width of a phone."""

MAX_TICKS = 6
"""Labelled powers of ten on an axis."""


def draw_errors(blocks: Sequence[StatedBlock], texts: Mapping[str, str]) -> Html:
    """Draw standard errors and 95 % margins of blocks by their number of cells, as SVG.

    ``blocks``: two or more, of different sizes, single cells first.
    """
    sizes = [block.cells for block in blocks]
    errors = [(block.standard_error, block.margin_95) for block in blocks]
    above = [value for pair in errors for value in pair if value > 0]
    # A logarithmic axis needs positive values, and a line two points.
    if len(sizes) < 2 or not above:
        return Html("")
    across = _Axis(min(sizes), max(sizes), LEFT, WIDTH - RIGHT)
    up = _Axis(min(above), max(above), HEIGHT - BOTTOM, TOP)
    text = texts["error_chart_text"].format(
        first=_short(sizes[0]),
        first_error=_short(errors[0][0]),
        last=_short(sizes[-1]),
        last_error=_short(errors[-1][0]),
    )
    parts = [
        element("title", texts["error_chart"], id="chart-title"),
        element("desc", text, id="chart-text"),
        *_axes(across, up, texts),
    ]
    # Colour alone may not tell the lines apart: the margin is dashed.
    for which, (name, dash) in enumerate((("column_error", None), ("column_margin", "7 4"))):
        points = [(across.at(s), up.at(e[which])) for s, e in zip(sizes, errors, strict=True)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            element(
                "polyline", points=line, fill="none", stroke="#732081", stroke_width="2",
                stroke_dasharray=dash,
            )
        )  # fmt: skip
        start, y = LEFT + which * (WIDTH - LEFT) / 2, 14.0
        parts.append(
            element(
                "line", x1=f"{start:.1f}", y1=f"{y - 4}", x2=f"{start + 24:.1f}", y2=f"{y - 4}",
                stroke="#732081", stroke_width="2", stroke_dasharray=dash,
            )
        )  # fmt: skip
        parts.append(_draw_text(start + 30, y, texts[name], "start"))
    return element(
        "svg", join(parts), viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img",
        aria_labelledby="chart-title chart-text", class_="chart",
    )  # fmt: skip


class _Axis:
    """Logarithmic axis: maps values to pixels between two ends."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.first, self.last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        # An axis of no length would divide by 0 below.
        self.last = max(self.last, self.first + 1)
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        # Zero has no logarithm: errors of 0 lie on the axis itself.
        part = (math.log10(max(value, 10.0**self.first)) - self.first) / (self.last - self.first)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[int]:
        """List the exponents of the labelled powers of ten."""
        step = -(-(self.last - self.first + 1) // MAX_TICKS)
        return list(range(self.first, self.last + 1, step))


def _axes(across: _Axis, up: _Axis, texts: Mapping[str, str]) -> list[Html]:
    parts = []
    for power in across.ticks():
        x = f"{across.at(10.0**power):.1f}"
        parts.append(_line(x, f"{TOP}", x, f"{HEIGHT - BOTTOM}"))
        parts.append(_draw_text(float(x), HEIGHT - BOTTOM + 18, _short(10.0**power), "middle"))
    for power in up.ticks():
        y = f"{up.at(10.0**power):.1f}"
        parts.append(_line(f"{LEFT}", y, f"{WIDTH - RIGHT}", y))
        parts.append(_draw_text(LEFT - 8, float(y) + 4, _short(10.0**power), "end"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_draw_text(middle, HEIGHT - 8, texts["axis_cells"], "middle"))
    parts.append(_draw_text(LEFT - 8, TOP - 16, texts["axis_error"], "end"))
    return parts


def _line(x1: str, y1: str, x2: str, y2: str) -> Html:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="#c9c9ce")


def _draw_text(x: float, y: float, text: str, anchor: str) -> Html:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _short(value: float) -> str:
    """Format a number in the chart; large ones as powers of ten.

    Examples
    --------
    >>> [_short(value) for value in (0.01, 31.1, 262144, 10**9)]
    ['0.01', '31.1', '262,144', '10^9']
    """
    if value >= 1e7:
        power = math.log10(value)
        return f"10^{power:.0f}" if power == int(power) else f"10^{power:.1f}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
