"""``geodp verify``: check the consistency of a written release."""

from __future__ import annotations

import json
from pathlib import Path

import click

from geodp import progress
from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.cli.translation import translate, translate_message
from geodp.errors import VerificationError, printable
from geodp.options.shared import JSON, MEMORY


@click.command(cls=StrictCommand)
@click.argument("release", type=click.Path(path_type=Path))
@with_options(JSON, MEMORY)
def verify(release: Path, as_json: bool, memory: str | None) -> None:
    """Check that a RELEASE or a series is consistent; exit code 3 if not."""
    from geodp.io.verify.readback import VERIFYING, read_within
    from geodp.io.verify.verify import verify as run
    from geodp.release.opening import errors_of, open_view

    with report_progress(), read_within([release], memory, VERIFYING):
        progress.begin("Verifying", public=True)
        checks = run(release, errors_of, open_view)
    if as_json:
        rows = [{"check": c.name, "ok": c.ok, "detail": c.detail} for c in checks]
        click.echo(json.dumps({"ok": all(c.ok for c in checks), "checks": rows}, indent=1))
    else:
        for c in checks:
            label, name = translate("ok    " if c.ok else "FAILED"), translate(c.name)
            click.echo(f"{label}  {name}: {printable(translate_message(c.detail))}")
    failed = [translate(c.name) for c in checks if not c.ok]
    if failed:
        raise VerificationError(
            f"The release is inconsistent: {', '.join(failed)}.",
            code="release-contradicts-itself",
        )
