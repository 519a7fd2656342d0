"""How help is laid out: commands in the order of use, and many options in groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import click

STEPS: Mapping[str, tuple[str, ...]] = {
    "See what there is": ("inspect", "methods", "mesh", "sql"),
    "Prepare": ("plan", "key", "budget"),
    "Publish": ("publish", "publish-series", "select", "local", "join", "export", "withdraw"),
    "Use a release": ("report", "map", "estimate", "statistics", "compare", "diff", "verify"),
    "Judge": ("evaluate", "explain", "audit"),
    "This machine": ("doctor", "warmup"),
}
"""Commands in the order of use. Those that are not here, such as others', come last."""

INPUT = (
    *("inputs", "preset", "recipe", "prior", "prior_source", "prior_value"),
    *("public_totals", "public_totals_source"),
)
PRIVACY = (
    *("epsilon", "rho", "delta", "method", "marginals", "neighbours", "contribution", "unit"),
    *("people", "person_in", "noise", "mechanism", "next_epsilon", "plan"),
    *("key_file", "ledger", "dataset"),
)
OUTPUT = (
    *("output", "name", "overwrite", "stop_at", "measurements", "measurements_complete_to"),
    *("smooth", "cycle", "metadata", "supersedes", "display_below", "formats", "as_json"),
)
EXPERT = (
    *(
        "order",
        "attribute_order",
        "regions_columns",
        "units_columns",
        "crs",
        "origin",
        "cell",
        "domain_is_public",
    ),
    *("suppressed", "flags", "points_crs", "allow_ballpark", "truncation", "encoding", "delimiter"),
    *("layer", "header_row", "member", "band", "raster_unit", "memory", "scratch", "simulate"),
    *("records", "pad_time", "resume", "allow_empty", "check", "profile"),
    *("cluster", "workers", "key_folder", "trust_cluster"),
)
"""Parameters whose group their place does not tell; of the others it does."""


class Steps(click.Group):
    """A group whose commands stand in the order of use, each with its whole first sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of :data:`STEPS` in their order, then others by name."""
        known = [name for names in STEPS.values() for name in names]
        names = super().list_commands(ctx)
        return [name for name in known if name in names] + sorted({*names} - {*known})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list of commands for every step."""
        steps = dict(STEPS)
        steps["Others"] = tuple(
            name for name in self.list_commands(ctx) if not any(name in s for s in STEPS.values())
        )
        for title, names in steps.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, one.get_short_help_str(limit=300)) for name, one in found if one]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_spacing=2)


def group_options(
    params: Iterable[click.Parameter], grid: Iterable[str], readers: Iterable[str]
) -> dict[str, list[click.Parameter]]:
    """Return the parameters of a command by group, in the order in which groups are shown.

    Parameters
    ----------
    params : iterable of click.Parameter
    grid, readers : iterable of str
        Names of the options of the public grid, and of those of readers.
    """
    places = {
        **dict.fromkeys((*readers, *INPUT), "Input"),
        **dict.fromkeys(grid, "Domain"),
        **dict.fromkeys(PRIVACY, "Privacy"),
        **dict.fromkeys(OUTPUT, "Output"),
        **dict.fromkeys(EXPERT, "Expert"),
    }
    groups: dict[str, list[click.Parameter]] = {
        name: [] for name in ("Input", "Domain", "Privacy", "Output", "Expert", "Options")
    }
    for one in params:
        groups[places.get(str(one.name), "Options")].append(one)
    return groups
