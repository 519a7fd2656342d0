"""``geodp report``: report on a written release of any kind, as text, page or document."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.help import GroupedOption, with_options
from geodp.cli.options import is_stated
from geodp.cli.output import require_unsealed, write_file
from geodp.cli.running import report_progress
from geodp.cli.using import UsingCommand, read_kind_options
from geodp.errors import Rule, UsageError
from geodp.io.folder.stopping import complete_with_commit
from geodp.options.option import Option, joined
from geodp.options.shared import JSON, LANGUAGE, MEMORY, PART, PLACES

if TYPE_CHECKING:
    from geodp.io.folder.kinds import Kind

OF_PAGES = joined(
    PLACES,
    LANGUAGE,
    Option(
        "--embed",
        "Write a map of at most 100 kB without scripts, to embed in another page.",
        group="Output",
        type=bool,
        excludes=("about",),
    ),
)
"""Options that pages alone have."""

REPORT = joined(
    PART,
    OF_PAGES,
    Option(
        "--about",
        "TOML file with facts that only the office knows: name, curator, curator_type, region, "
        "intended_use, description, publication_date, authors, slug; sector if not Government. "
        "The page has them as a record for the DP Deployments Registry, and --json prints that "
        "record in place of the card.",
        group="Output",
        type=Path,
        needs=("output", "as_json"),
    ),
    Option(
        "--output",
        "File to write: a page (.html), or the text.  [default: print the text]",
        group="Output",
        type=Path,
        everyday=True,
        excludes=("as_json",),
    ),
    JSON,
    MEMORY,
)
"""Options of a report."""


@click.command(cls=UsingCommand, door="page")
@click.argument("release", type=click.Path(path_type=Path))
@with_options(REPORT)
def report(release: Path, **options: Any) -> None:
    """Describe a RELEASE of any kind from its public card, or as a page with maps for a browser.

    \b
    geodp report release
    geodp report release --output release.html
    geodp report release --places municipalities.geojson --output release.html
    geodp report release --embed --output map.html

    The page loads nothing from the network. That of flows lists the largest flows of every place,
    with 95 % intervals that fail more often where trips concentrate on few pairs (docs/flows.md).
    """
    from geodp.io.folder.kinds import kind_of
    from geodp.io.verify.card import find_notice, read_card
    from geodp.release.opening import find_part
    from geodp.table.card import Card

    output: Path | None = options["output"]
    is_page = output is not None and output.suffix.lower() in (".html", ".htm")
    _require_fitting(options, is_page)
    require_unsealed(output)
    named = {"time": options["time"], "table": options["table"]}
    folder = find_part(release, **named, last=options["embed"]).folder
    card: Any = read_card(folder)
    notice = find_notice(folder)
    kind = None if isinstance(card, Card) else kind_of(card)
    record = _make_record(card, kind, options)
    if is_page:
        from geodp.io.verify.readback import REPORTING, read_within

        with report_progress(), read_within([folder], options["memory"], REPORTING):
            progress.begin("Writing the page", public=True)
            text = _write_page(folder, kind, record, notice, options)
    elif options["as_json"]:
        text = json.dumps(record or card.to_json(), ensure_ascii=False, indent=2) + "\n"
    else:
        text = _write_text(folder, card, kind, notice)
    if output is None:
        click.echo(text, nl=False)
        return
    # The file is all that this run makes: once it is in place, a signal has nothing left to stop.
    complete_with_commit()
    write_file(output, text.encode(), True, True)
    click.echo(str(output))


NO_MAP = Rule(
    "embed-needs-map", "--embed draws a map, but the cells of this release are not on a map."
)


def _require_fitting(options: dict[str, Any], is_page: bool) -> None:
    """Raise UsageError for options of pages where none is written."""
    context = click.get_current_context()
    every = [one for one in context.command.get_params(context) if isinstance(one, GroupedOption)]
    given = [one.stated for one in every if one.stated and is_stated(context, one.name)]
    names = {*(one.name for one in OF_PAGES), *([] if options["as_json"] else ["about"])}
    for one in [] if is_page else given:
        if one.kinds or one.name in names:
            raise UsageError(
                f"{one.flag} is for pages: name one with --output, such as release.html.",
                code="option-of-pages",
            )


def _make_record(card: Any, kind: Kind | None, options: dict[str, Any]) -> Any:
    """Make the record for the registry; None without --about.

    Raises UsageError for what only the release of one table has.
    """
    from geodp.release.metadata import read_office_file
    from geodp.release.report.registry import ReleaseMetadata, registry_record

    about: Path | None = options["about"]
    if kind is not None and about is not None:
        raise UsageError(
            f"--about is for one table, and this is {kind.title}; {kind.instead}.",
            code="report-of-one-table",
        )
    return about and registry_record(card, read_office_file(about, ReleaseMetadata.of))


def _write_text(folder: Path, card: Any, kind: Kind | None, notice: Any) -> str:
    """Write the report of a release as text."""
    from geodp.release.opening import find_first_card
    from geodp.release.report.markdown import markdown, markdown_of

    if kind is None:
        return markdown(card, notice)
    return markdown_of(card, kind.title, find_first_card(folder), notice)


def _write_page(
    folder: Path, kind: Kind | None, record: Any, notice: Any, options: dict[str, Any]
) -> str:
    """Write the page of a release: that of its kind, or the general one."""
    from geodp.io.read.public.polygons import read_places
    from geodp.release.folder_map import draw_folder
    from geodp.release.opening import open_written
    from geodp.release.report.html.embedded import write_drawn, write_embed
    from geodp.release.report.html.general import write_general
    from geodp.release.report.html.page import write_page
    from geodp.release.report.html.periods import write_periods
    from geodp.tools.explain.card import explain_people
    from geodp.tools.explain.page import Writer

    own, opened = read_kind_options(kind), open_written(folder)
    language, card, places = options["language"], opened.card(), options["places"]
    unit = Writer(language).unit(card.guarantee.unit)
    if places is not None:
        places = read_places(places, opened.ground, name=options["place_name"])
    if options["embed"]:
        if kind is None and not opened.card().domain.has_units:
            return write_embed(opened.view(), unit, language, places, notice)
        if not hasattr(opened, "tables"):
            raise UsageError(NO_MAP)
        return write_drawn(opened, partial(draw_folder, folder), language, places, notice)
    if kind is None:
        people = explain_people(card, language)
        return write_page(opened.view(), people, unit, language, record, places, notice)
    if (write := kind.find("page")) is not None:
        page: str = write(opened, language, places=places, notice=notice, **own)
        return page
    write = write_periods if hasattr(opened, "times") else write_general
    return write(opened, kind.explain(card, language), unit, language, places, notice)
