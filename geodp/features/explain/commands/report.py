"""``geodp report``: a written release, explained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geodp import progress
from geodp.cli.options import StrictCommand, memory_option
from geodp.cli.output import require_unsealed, write_file
from geodp.cli.running import tell_steps
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.io.write.map.captions import Language
    from geodp.release.report.metadata import ReleaseMetadata


@click.command(cls=StrictCommand)
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["md", "html", "json", "registry"]),
    default="md",
    show_default=True,
    help="For people, as text or as one page with maps; the card itself; or a record for the DP "
    "Deployments Registry.",
)
@click.option(
    "--language",
    type=click.Choice(["en", "ja"]),
    help="Of the page (--format html). Default: en.",
)
@click.option(
    "--about",
    type=click.Path(path_type=Path),
    help="TOML with what only the office knows, for the registry's record, which a page then "
    "shows, too: name, curator, curator_type, region, intended_use, "
    "description, publication_date, authors, slug; sector if not Government.",
)
@click.option("--output", type=click.Path(path_type=Path), help="File; default: standard output.")
@memory_option
def report(
    release: Path,
    form: str,
    language: Language | None,
    about: Path | None,
    output: Path | None,
    memory: str | None,
) -> None:
    """Explain a written RELEASE from its public card; as HTML from its whole public folder.

    \b
    geodp report release --format html --output release.html
    """
    from geodp.io.verify.card import public_folder, read_table_card
    from geodp.release.report.markdown import markdown
    from geodp.release.report.registry import registry_record

    if form == "registry" and about is None:
        raise UsageError("--format registry needs --about FILE.toml.", code="registry-needs-about")
    if about is not None and form not in ("html", "registry"):
        raise UsageError(
            "--about is for --format html and registry only.", code="about-needs-html-or-registry"
        )
    if language is not None and form != "html":
        raise UsageError("--language is for --format html only.", code="language-needs-html")
    require_unsealed(output)
    card = read_table_card(public_folder(release))
    if form == "html":
        from geodp.io.verify.room import REPORTING, read_within

        with tell_steps(), read_within([release], memory, REPORTING):
            progress.begin("Writing the page", public=True)
            text = _page(release, language or "en", about)
    elif form == "md":
        text = markdown(card)
    else:
        values = card.to_json() if about is None else registry_record(card, _about(about))
        text = json.dumps(values, ensure_ascii=False, indent=2) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    complete_with_commit()
    write_file(output, text.encode(), True, True)
    click.echo(str(output))


COMMAND = report


def _page(path: Path, language: Language, about: Path | None) -> str:
    """Return a release as one HTML page, with its record where the office says the rest."""
    from geodp.features.explain.card import explain
    from geodp.features.explain.page import Writer
    from geodp.release.opening import open_release
    from geodp.release.report.html.page import write_page
    from geodp.release.report.registry import registry_record

    said = None if about is None else _about(about)
    release = open_release(path)
    card = release.card()
    record = None if said is None else registry_record(card, said)
    unit = Writer(language).unit(card.guarantee.unit)
    return write_page(release, explain(card, language).sections, unit, language, record)


def _about(path: Path) -> ReleaseMetadata:
    """Return what the office says in a TOML file."""
    from geodp.release.metadata import read_office_file
    from geodp.release.report.metadata import ReleaseMetadata

    return read_office_file(path, ReleaseMetadata.of)
