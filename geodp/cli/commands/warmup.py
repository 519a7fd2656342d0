"""``geodp warmup``: compile once what publish, evaluate and verify will call."""

from __future__ import annotations

import json
import time

import click

from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.errors import OutputError, Rule

NO_CACHE = Rule(
    "no-place-for-compiled",
    "Compiled code can be kept nowhere, so every call would compile anew. {} Let the environment "
    "variable NUMBA_CACHE_DIR name a folder that you alone may write to (what lies in it is run), "
    "here and for every later call.",
)


@click.command(cls=StrictCommand)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def warmup(as_json: bool) -> None:
    """Compile once what publish, evaluate and verify call, and keep it for later calls.

    Where geodp came with compiled inner loops for this processor, they are tried, and nothing is
    left to do. Elsewhere geodp compiles them for this machine when they are first called, and keeps
    the result on disk, until geodp, Numba or the processor change; this command does it ahead. No
    data are read, no budget is spent. Methods other than pyramid, parts and topdown compile the
    little that they need beyond when they are first used.
    """
    from geodp.kernels.jit import CACHE, SHIPPED, cache_folder, count_compiled
    from geodp.kernels.signatures import listed

    started = time.perf_counter()
    calls = list(listed())
    folder = cache_folder()
    if folder is None and not SHIPPED.target:
        raise OutputError(NO_CACHE.format(CACHE.wrong))
    with report_progress():
        for kernel, types, _ in calls:
            kernel.compile(types)
    made, found = count_compiled()
    took = time.perf_counter() - started
    if as_json:
        said = {"compiled": made, "found": found, "seconds": took, "folder": folder}
        click.echo(json.dumps({**said, "shipped": SHIPPED.target}))
        return
    what = f"Compiled {made} functions" if made else "Nothing was left to compile"
    click.echo(f"{what} in {took:.1f} s; {found} were there.")
    if SHIPPED.target:
        click.echo(f"They came with geodp, compiled for {SHIPPED.target}.")
    if made or not SHIPPED.target:
        click.echo(f"Kept in {folder}; another place: NUMBA_CACHE_DIR.")


COMMAND = warmup
