"""``geodp report``: report on a written release, as text, page or registry record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.options import StrictCommand, memory_option
from geodp.cli.output import require_unsealed, write_file
from geodp.cli.pages import read_notice
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.io.write.map.look import Language
    from geodp.release.report.registry import ReleaseMetadata


@click.command(cls=StrictCommand)
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["md", "html", "json", "registry"]),
    default="md",
    show_default=True,
    help="Format of the report: for people as text or as one page with maps; the card itself; or "
    "a record for the DP Deployments Registry.",
)
@click.option(
    "--language",
    type=click.Choice(["en", "ja"]),
    help="Language of the page (--format html). Default: en.",
)
@click.option(
    "--about",
    type=click.Path(path_type=Path),
    help="TOML file with facts that only the office knows, for the registry's record and the "
    "page: name, curator, curator_type, region, intended_use, description, publication_date, "
    "authors, slug; sector if not Government.",
)
@click.option(
    "--places",
    type=click.Path(path_type=Path),
    help="Public list of places for the page's search (--format html): polygons with names, as of "
    "estimate --polygons; or a table with the columns name and code, or name, longitude, latitude "
    "and km. A column region or prefecture distinguishes places with the same name.",
)
@click.option("--place-name", help="Field or column that names the places; default: name.")
@click.option(
    "--embed",
    is_flag=True,
    help="Write a map of at most 100 kB without scripts, to embed in another page (--format html).",
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="File to write. Default: standard output."
)
@memory_option
def report(release: Path, output: Path | None, memory: str | None, **options: Any) -> None:
    """Describe a RELEASE from its public card, or as HTML from its public folder.

    \b
    geodp report release --format html --output release.html
    geodp report release --format html --places municipalities.geojson --output release.html
    geodp report release --format html --embed --output map.html
    """
    from geodp.io.verify.card import public_folder, read_table_card
    from geodp.release.report.markdown import markdown
    from geodp.release.report.registry import registry_record

    form, about = options["form"], options["about"]
    _require_fitting(options)
    require_unsealed(output)
    card = read_table_card(public_folder(release))
    if form == "html":
        from geodp.io.verify.readback import REPORTING, read_within

        with report_progress(), read_within([release], memory, REPORTING):
            progress.begin("Writing the page", public=True)
            text = _page(release, options)
    elif form == "md":
        text = markdown(card, read_notice(release))
    else:
        values = card.to_json() if about is None else registry_record(card, _about(about))
        text = json.dumps(values, ensure_ascii=False, indent=2) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    # The file is all that this run makes: once it is in place, a signal has nothing left to stop.
    complete_with_commit()
    write_file(output, text.encode(), True, True)
    click.echo(str(output))


COMMAND = report

FOR_PAGES = {
    "language": "--language",
    "places": "--places",
    "place_name": "--place-name",
    "embed": "--embed",
}
"""Parameters that only pages have, and their options."""


def _require_fitting(options: dict[str, Any]) -> None:
    """Raise UsageError for options that do not go together."""
    form, about = options["form"], options["about"]
    if form == "registry" and about is None:
        raise UsageError("--format registry needs --about FILE.toml.", code="registry-needs-about")
    if about is not None and form not in ("html", "registry"):
        raise UsageError(
            "--about is for --format html and registry only.", code="about-needs-html-or-registry"
        )
    for name, flag in FOR_PAGES.items():
        if options[name] and form != "html":
            raise UsageError(f"{flag} is for --format html only.", code="option-needs-html")
    if options["place_name"] and not options["places"]:
        raise UsageError("--place-name needs --places.", code="place-name-needs-places")
    if options["embed"] and about is not None:
        raise UsageError(
            "--about adds the registry's record to a page, which --embed does not have; leave one "
            "out.",
            code="embed-without-about",
        )


def _page(path: Path, options: dict[str, Any]) -> str:
    """Render a release as one HTML page, with a registry record if the office's file is given."""
    from geodp.io.read.public.polygons import read_places
    from geodp.release.opening import open_view
    from geodp.release.report.html.embedded import write_embed
    from geodp.release.report.html.page import write_page
    from geodp.release.report.registry import registry_record
    from geodp.tools.explain.card import explain_people
    from geodp.tools.explain.page import Writer

    language: Language = options["language"] or "en"
    about_values = None if options["about"] is None else _about(options["about"])
    view, notice = open_view(path), read_notice(path)
    card = view.card
    unit, places = Writer(language).unit(card.guarantee.unit), None
    if options["places"] is not None:
        places = read_places(options["places"], view.table.grid, name=options["place_name"])
    if options["embed"]:
        return write_embed(view, unit, language, places, notice)
    record = None if about_values is None else registry_record(card, about_values)
    sections = explain_people(card, language)
    return write_page(view, sections, unit, language, record, places, notice)


def _about(path: Path) -> ReleaseMetadata:
    """Read the office's TOML file for the registry."""
    from geodp.release.metadata import read_office_file
    from geodp.release.report.registry import ReleaseMetadata

    return read_office_file(path, ReleaseMetadata.of)
