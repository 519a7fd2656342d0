"""``geodp warmup``: compile in advance what publish, evaluate and verify call."""

from __future__ import annotations

import json
import time

import click

from geodp.cli.help import with_options
from geodp.cli.options import StrictCommand
from geodp.cli.running import report_progress
from geodp.errors import OutputError, Rule
from geodp.options.shared import JSON

NO_CACHE = Rule(
    "no-place-for-compiled",
    "There is no folder for compiled code, so every call would compile again. {} Set the "
    "environment variable NUMBA_CACHE_DIR to a folder that only you can write to (its content is "
    "executed), here and for every later call.",
)


@click.command(cls=StrictCommand)
@with_options(JSON)
def warmup(as_json: bool) -> None:
    """Compile the functions of publish, evaluate and verify once, and keep them for later calls.

    If geodp came with compiled inner loops for this processor, they are tested, and nothing else
    is done. Otherwise geodp compiles them for this machine when they are first called, and keeps
    the result on disk until geodp, Numba or the processor change; this command does it in advance.
    It reads no data and spends no budget. Methods other than pyramid, parts and topdown compile
    their remaining functions when they are first used.
    """
    from geodp.kernels.jit import CACHE, SHIPPED, cache_folder, count_compiled
    from geodp.kernels.shipped import listed

    started = time.perf_counter()
    calls = list(listed())
    folder = cache_folder()
    # Without a cache, compiling now would help no later call.
    if folder is None and not SHIPPED.target:
        raise OutputError(NO_CACHE.format(CACHE.wrong))
    with report_progress():
        for kernel, types, _ in calls:
            kernel.compile(types)
    made, cached = count_compiled()
    took = time.perf_counter() - started
    if as_json:
        counts = {"compiled": made, "found": cached, "seconds": took, "folder": folder}
        click.echo(json.dumps({**counts, "shipped": SHIPPED.target}))
        return
    what = f"Compiled {made} functions" if made else "Nothing was left to compile"
    click.echo(f"{what} in {took:.1f} s; {cached} were there.")
    if SHIPPED.target:
        click.echo(f"They came with geodp, compiled for {SHIPPED.target}.")
    if made or not SHIPPED.target:
        click.echo(f"Kept in {folder}; another place: NUMBA_CACHE_DIR.")
