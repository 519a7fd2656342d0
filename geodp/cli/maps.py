"""The command of a kind of one's own that consists of several maps."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check, check_options
from geodp.cli.help import option
from geodp.cli.inputs import grid_of
from geodp.cli.layout import complete, layout_options
from geodp.cli.options import folder_options, grid_options, inputs
from geodp.cli.publishing import Publishing
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import carry_out
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.io.folder.staged_release import StagedTables
    from geodp.release.maps import Maps, MapsDesign, MapsKind
    from geodp.release.transaction import Inputs, Prepared

ELSEWHERE = ("method", "measurements", "totals", "prior", "simulate")
"""Fields of a request that such a release does not have."""


def publish_maps(kind: MapsKind) -> click.Command:
    """Make the command that publishes a kind of release, for a package that adds the kind.

    Its options are those of every kind; ``--map NAME=COLUMN`` names the column of each map.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from geodp.release.maps import MapsKind, Stream
    >>> class Lit(MapsKind):
    ...     name, title = "lit", "a release of lit places"
    ...     streams = (Stream("lit", Fraction(1)),)
    >>> publish_maps(Lit()).name
    'lit'
    """

    @click.command(kind.name, cls=ReadingCommand, no_args_is_help=True)
    @inputs
    @layout_options
    @partial(grid_options, required=False)
    @option(
        "--map",
        "maps",
        group="Input",
        everyday=True,
        metavar="NAME=COLUMN",
        multiple=True,
        required=True,
        help=f"Column of the counts of {' and of '.join(one.name for one in kind.streams)}, one "
        "option each.",
    )
    @request_options(without=ELSEWHERE)
    @folder_options
    @check_options
    def publish(**options: Any) -> None:
        carry_out(options, lambda *run: MapsPublishing(kind, *run).run())

    publish.help = f"Publish {kind.title} from INPUTS under one budget."
    return publish


class MapsPublishing(Publishing):
    """A run of such a command, checked before anything is read."""

    def __init__(self, kind: MapsKind, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        self.kind = kind
        context = click.get_current_context()
        named = (text.partition("=")[::2] for text in options["maps"])
        self.columns = {name: column for name, column in named if column}
        names = [one.name for one in kind.streams]
        asked = [f"--map {one}=COLUMN" for one in names]
        if sorted(self.columns) != sorted(names) or len(options["maps"]) != len(names):
            raise UsageError(
                f"Name one column for each map: {', '.join(asked)}.",
                code="maps-columns",
            )
        options["value"] = (self.columns[names[0]],)
        self.inferred = complete(context, options)
        check_applicable(context)
        complete_with_commit()
        self.grid = grid_of(options)
        self.request = read_request(begin_check(options), self.grid, kind=kind)

    def prepare(self) -> Prepared[MapsDesign, Maps]:
        """Read every map, and prepare their release."""
        tables = {
            name: read({**self.options, "value": (column,)}, self.grid, self.request.key)
            for name, column in self.columns.items()
        }
        prepared = self.kind.prepare(tables, self.request)
        output, overwrite = self.options["output"], self.options["overwrite"]
        prepared.design.preview.check_place(output, overwrite=overwrite)
        return prepared

    def design(self, inputs: Inputs) -> MapsDesign:
        """Design the release from the inputs of an interrupted run."""
        return self.kind.design(self.grid, self.request, inputs)

    def stage(self) -> AbstractContextManager[StagedTables]:
        """Yield the folder of the release."""
        from geodp.io.folder.staged_release import StagedTables

        return StagedTables.stage(**self.place)

    def try_out(self, place: StagedTables, prepared: Prepared[MapsDesign, Maps]) -> None:
        """Write empty maps."""
        place.try_out(prepared.design.preview, [prepared.cells])
