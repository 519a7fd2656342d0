"""Public inputs of commands of amounts: priors, and releases that are opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.readers import read, read_prior, reader_options, require_public_prior
from geodp.errors import UsageError
from geodp.kinds.amounts.running.options import PRIOR_READING

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.kinds.amounts.amounts import Amounts


def read_amounts_prior(options: dict[str, Any], grid: Grid) -> tuple[Any, str | None]:
    """Read the prior of the options, if any, and return it with the source that it still needs."""
    path, source = options["prior"], options["prior_source"]
    if path is None:
        return None, source
    # An earlier release of amounts has a prior for every stream.
    if path.is_dir():
        from geodp.io.verify.verify import verify
        from geodp.release.opening import open_written

        if options["prior_value"]:
            raise UsageError(
                "--prior-value is a column of a file, and the prior is a release: leave it out.",
                code="amounts-prior-value-unused",
            )
        # Its charge vouches for what was released, and not for what was changed afterwards.
        if failed := [check.name for check in verify(path) if not check.ok]:
            raise UsageError(
                f"The prior {path} is no consistent release ({', '.join(failed)}): geodp verify "
                "says what differs; take it as it was published.",
                code="amounts-prior-inconsistent",
            )
        release: Any = open_written(path)
        # A map of people states its charge itself, and a release of amounts in its index.
        stated = release.index.budget if hasattr(release, "index") else release.charge
        require_public_prior(options, stated)
        return release, source
    # A file has counts of people, and nothing of what selects records.
    return read_prior({**options, "where": ()}, grid), None


def read_known_prior(context: click.Context, release: Amounts) -> Any:
    """Read the prior of a release again, a folder or a file; None without one.

    Raises UsageError for options of a file where the prior is none.
    """
    options, path = context.params, context.params["prior"]
    if path is not None and not path.is_dir():
        # What selects records, and bounds those of persons, is none of a public file.
        stated = [one.stated for one in reader_options() if one.stated is not None]
        defaults = {one.name: () if one.many else one.default for one in stated}
        # Rows outside were left out or were none; the digest in the index tells other cells.
        fixed = {"spec": "", "public_file": (), "outside": "drop"}
        column = {"inputs": (path,), "value": options["prior_value"]}
        return read({**defaults, **options, **fixed, **column}, release.count.grid, None)
    names = {"prior_value", *PRIOR_READING}
    used = [
        one.opts[-1]
        for one in context.command.get_params(context)
        if one.name in names
        and context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
    ]
    if used:
        raise UsageError(
            f"{', '.join(used)}: these say how the file of a prior is read, and --prior names no "
            "file: leave them out, or name it.",
            code="amounts-prior-reading-unused",
        )
    if path is None:
        return None
    from geodp.release.opening import open_written

    return open_written(path)


def open_amounts(path: Path, time: str | None = None) -> Amounts:
    """Open a written release of amounts, or a period of a series; UsageError for another kind."""
    from geodp.kinds.amounts.amounts import Amounts
    from geodp.kinds.amounts.series import AmountsSeries
    from geodp.release.opening import open_written

    release = open_written(path)
    if isinstance(release, AmountsSeries):
        if time is None:
            raise UsageError(
                "This is a series of amounts: name one of its periods (--time), or give the folder "
                "of one, inside its public folder.",
                code="amounts-period-unnamed",
            )
        period: Amounts = release[time]
        return period
    if not isinstance(release, Amounts):
        raise UsageError(
            f"{path} holds no release of amounts: give a folder that geodp amounts publish wrote; "
            "geodp estimate knows releases of counts.",
            code="amounts-release-expected",
        )
    if time is not None:
        raise UsageError(
            "This release of amounts is no series and has no periods: leave out --time.",
            code="amounts-time-unused",
        )
    return release


def open_all(paths: tuple[Path, ...], times: tuple[str, ...]) -> list[Amounts]:
    """Open the releases to compare, or two periods of one series."""
    if not times:
        return [open_amounts(path) for path in paths]
    if len(paths) != 1 or len(times) != 2:
        raise UsageError(
            "Two periods of one series are compared: give its folder, and --time twice.",
            code="amounts-two-times",
        )
    return [open_amounts(paths[0], time) for time in times]
