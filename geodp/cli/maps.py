"""The command of a kind of one's own that consists of several maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import hide, with_options
from geodp.cli.inputs import grid_of
from geodp.cli.layout import complete
from geodp.cli.options import inputs
from geodp.cli.publishing import TablesPublishing
from geodp.cli.readers import ReadingCommand, check_applicable, choose_reader, read
from geodp.cli.running import carry_out
from geodp.errors import UsageError
from geodp.options.option import Option
from geodp.options.shared import CHECK, DOMAIN, FOLDER, LAYOUT, REQUEST

if TYPE_CHECKING:
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
    >>> from geodp.release.maps import MapsKind, MapStream
    >>> class Lit(MapsKind):
    ...     name, title = "lit", "a release of lit places"
    ...     streams = (MapStream("lit", Fraction(1)),)
    >>> publish_maps(Lit()).name
    'lit'
    """

    maps = Option(
        "--map",
        f"Column of the counts of {' and of '.join(one.name for one in kind.streams)}, one "
        "option each.",
        name="maps",
        group="Input",
        many=True,
        metavar="NAME=COLUMN",
    )

    @click.command(kind.name, cls=MapsCommand, no_args_is_help=True)
    @inputs
    @with_options(LAYOUT, DOMAIN, maps, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
    def publish(**options: Any) -> None:
        carry_out(options, lambda *run: MapsPublishing(kind, *run).run())

    publish.help = f"Publish {kind.title} from INPUTS under one budget."
    return publish


class MapsCommand(ReadingCommand):
    """A command that reads one column of counts for each map."""

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return all options, of which that of one column is hidden."""
        return hide(super().list_params(ctx), ("value",))


class MapsPublishing(TablesPublishing):
    """A run of such a command, checked before anything is read."""

    def __init__(self, kind: MapsKind, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        self._kind = kind
        context = click.get_current_context()
        # As if a column was given, so that no layout proposes another one.
        self.inferred = complete(context, options, lambda given: {"value": self._name_first(given)})
        check_applicable(context)
        # A preset or a recipe may have said how the inputs are read.
        require_columns(options)
        self.grid = grid_of(options)
        self.request = self.read_request()

    def _name_first(self, options: Mapping[str, Any]) -> tuple[str]:
        """Read the column of each map from ``--map``, and return the first."""
        named = (text.partition("=")[::2] for text in options["maps"])
        self.columns = {name: column for name, column in named if column}
        names = [one.name for one in self._kind.streams]
        asked = [f"--map {one}=COLUMN" for one in names]
        if sorted(self.columns) != sorted(names) or len(options["maps"]) != len(names):
            raise UsageError(
                f"Name one column for each map: {', '.join(asked)}.",
                code="maps-columns",
            )
        if options["value"]:
            raise UsageError("Leave --value out: --map names the columns.", code="maps-value")
        require_columns(options)
        return (self.columns[names[0]],)

    @property
    def kind(self) -> MapsKind:
        """The kind of release."""
        return self._kind

    def prepare(self) -> Prepared[MapsDesign, Maps]:
        """Read every map, and prepare their release."""
        tables = {
            name: read({**self.options, "value": (column,)}, self.grid, self.request.key)
            for name, column in self.columns.items()
        }
        return self.kind.prepare(tables, self.request)

    def design(self, inputs: Inputs) -> MapsDesign:
        """Design the release from the inputs of an interrupted run."""
        return self.kind.design(self.grid, self.request, inputs)


def require_columns(options: Mapping[str, Any]) -> None:
    """Raise UsageError for inputs that are read without a column of counts, such as points."""
    chosen = choose_reader(options)
    if "value" not in {one.name for one in chosen.option_fields()}:
        raise UsageError(
            f"Not for {chosen.kind}: --map, which names columns of counts.",
            code="map-not-for-input",
        )
