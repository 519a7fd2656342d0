"""``geodp explain``: explain in plain language what a release reveals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import is_zipfile

import click

from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.errors import InputError, UsageError
from geodp.options.option import Option, joined
from geodp.options.shared import JSON, LANGUAGE

if TYPE_CHECKING:
    from geodp.tools.explain.page import Explanation

CARD = "release.json"
"""File name of a card, repeated here so that ``--help`` imports nothing heavy."""


EXPLAIN = joined(
    Option(
        "--differencing",
        "Instead of a release: explain what seven questions about a fictitious class reveal "
        "together.",
        type=bool,
    ),
    Option(
        "--epsilon",
        "With --differencing: epsilon of all noisy answers together.  [default: 1]",
        needs=("differencing",),
    ),
    LANGUAGE,
    JSON,
)
"""Options of an explanation."""


@click.command(cls=StrictCommand)
@click.argument("release", required=False, type=click.Path(path_type=Path))
@with_options(EXPLAIN)
def explain(
    release: Path | None, differencing: bool, epsilon: str | None, language: str, as_json: bool
) -> None:
    """Explain in plain language what a RELEASE reveals about one person, from its card alone.

    \b
    geodp explain release
    geodp explain --differencing --epsilon 1

    RELEASE may also be the output of geodp select, a card or an index alone (such as release.json),
    or the JSON file of geodp audit.
    """
    if (release is None) != differencing:
        raise UsageError(
            "Name a RELEASE, or give --differencing, which needs none.",
            code="explain-names-nothing",
        )
    if release is None:
        from geodp.tools.explain.differencing import explain_differencing

        explanation = explain_differencing("1" if epsilon is None else epsilon, language)
    # A release is a folder, a zip archive or a card alone; any other file is an audit.
    elif release.is_file() and not _is_card(release) and not is_zipfile(release):
        explanation = _explain_file(release, language)
    else:
        explanation = _explain(release, language)
    if as_json:
        click.echo(json.dumps(explanation.to_json(), ensure_ascii=False, indent=1))
    else:
        click.echo(explanation.to_text(), nl=False)


def _is_card(file: Path) -> bool:
    """Test by its name whether a file is the card of a release, or its index."""
    from geodp.io.folder.kinds import find_card

    return file.name == CARD or file == find_card(file.parent)


def _explain(folder: Path, language: str) -> Explanation:
    """Explain a written release."""
    from geodp.io.verify.card import find_notice, public_folder, read_card
    from geodp.tools.explain.card import explain as explain_card
    from geodp.tools.explain.page import add_notice

    public = public_folder(folder)
    return add_notice(explain_card(read_card(public), language), find_notice(public))


def _explain_file(path: Path, language: str) -> Explanation:
    """Explain the JSON file of an audit."""
    from geodp.io.opening import read_json
    from geodp.tools.explain.audit import explain_audit

    try:
        document = read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"it is not readable as JSON ({error}); give the folder of a release or its zip "
            f"archive, its card {CARD}, or the JSON file of geodp audit.",
            file=str(path),
            code="document-not-json",
        ) from None
    return explain_audit(document, language)
