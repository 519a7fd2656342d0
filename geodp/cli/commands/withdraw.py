"""``geodp withdraw``: write a notice that a release must not be used any more."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path

import click

from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.cli.output import write_file
from geodp.errors import UsageError
from geodp.options.option import Option


@click.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@with_options(
    Option("--reason", "Reason, in a sentence that everybody may read.", required=True),
    Option("--use", "Folder of the release to use instead.", type=Path),
    Option("--date", "YYYY-MM-DD.  [default: today]", name="day"),
    Option("--overwrite", "Replace an earlier notice.", type=bool),
)
def withdraw(
    release: Path, reason: str, use: Path | None, day: str | None, overwrite: bool
) -> None:
    """Withdraw a RELEASE or a series: write a notice that is shown to everyone who opens it here.

    \b
    geodp withdraw release-2025 --reason "One district was counted twice." --use release-2025-2

    Its files are not changed, copies elsewhere carry no notice, and what was published stays known:
    a withdrawal returns no budget.
    """
    from geodp.io.folder.manifest import sha256
    from geodp.io.verify.card import identify_release, notice_of, public_folder, seal_of
    from geodp.table.card import NOTICE_SCHEMA, Withdrawal

    if release.is_file() and release.suffix != ".json":
        raise UsageError(
            "Name the folder of a release: a notice stands beside it, in no archive.",
            code="withdraw-needs-folder",
        )
    folder = public_folder(release)
    path = notice_of(folder)
    # The notice lies next to the public folder, whose checksums must stay valid.
    if path is None or folder.absolute().name != "public":
        raise UsageError(
            "Name the folder of a release, or of a whole series, that holds its public folder.",
            code="withdraw-needs-release",
        )
    if path.exists() and not overwrite:
        raise UsageError(
            "This release is withdrawn already; change the notice with --overwrite.",
            code="already-withdrawn",
        )
    release_id = identify_release(release)
    replacement = None if use is None else identify_release(use)
    # A notice that points to its own release would send readers in a circle.
    if replacement == release_id:
        raise UsageError(
            "--use names the release that is withdrawn.", code="replacement-is-withdrawn"
        )
    notice = Withdrawal(
        schema=NOTICE_SCHEMA,
        release_id=release_id,
        card_sha256=sha256(seal_of(folder)),
        date=day or date.today().isoformat(),
        reason=_end(reason.strip()),
        use=replacement,
    )
    text = json.dumps(notice.to_json(), ensure_ascii=False, indent=1)
    write_file(path, f"{text}\n".encode(), public=True, overwrite=overwrite)
    click.echo(str(path if release.is_absolute() else os.path.relpath(path)))


def _end(sentence: str) -> str:
    """Return a sentence with a full stop, unless it ends with punctuation already."""
    if not sentence or not sentence[-1].isalnum():
        return sentence
    kana_or_kanji = "\u3040" <= sentence[-1] <= "\u9fff"
    return sentence + ("\u3002" if kana_or_kanji else ".")
