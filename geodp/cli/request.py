"""Options of what a release is asked for: one table from the fields of a request to them.

A new field of :class:`geodp.release.request.Request` is a line here, too, and every command that
takes it has its options.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import Command, add_options, option
from geodp.cli.inputs import read_public_totals
from geodp.cli.readers import read_prior
from geodp.cli.stated import read_metadata_options
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.mechanisms import Mechanism
    from geodp.privacy.key import NoiseKey
    from geodp.privacy.ledger import Ledger
    from geodp.privacy.terms import Terms
    from geodp.release.request import Request

NEIGHBOURS = ("add-remove-one", "replace-one")
"""Names of the library, repeated so that ``--help`` imports nothing heavy."""

RECORDS = ("all", "fresh-sample", "same-sample")

FIELDS: Mapping[str, tuple[Callable[[Any], Any], ...]] = {
    "epsilon": (
        option(
            "--epsilon", group="Privacy", everyday=True, help="Budget, read exactly: 0.1 or 1/10."
        ),
    ),
    "rho": (
        option(
            "--rho",
            group="Privacy",
            help="Instead: Gaussian noise under zero-concentrated privacy.",
        ),
    ),
    "delta": (
        option(
            "--delta",
            group="Privacy",
            everyday=True,
            help="With --epsilon: Gaussian noise for both; with --rho: states epsilon too.",
        ),
    ),
    "method": (
        option(
            "--method",
            group="Privacy",
            help="See: geodp methods. NAME:SETTING=VALUE; pyramid is for cells, municipalities "
            "and polygons, pyramid:setting=R for aligned blocks of all sizes.  [default: parts "
            "on a grid with attributes below its cells, otherwise pyramid]",
        ),
        option(
            "--marginals",
            group="Privacy",
            help="Sums over attributes that the method parts measures by themselves as well, with "
            "commas between: sex,age,sex*age. Each has as much of the budget as all parts have.",
        ),
    ),
    "neighbours": (
        option(
            "--neighbours",
            group="Privacy",
            type=click.Choice(NEIGHBOURS),
            default="add-remove-one",
            show_default=True,
            help="What stays hidden: whether any one person is there, or who it is.",
        ),
    ),
    "contribution": (
        option(
            "--contribution",
            group="Privacy",
            everyday=True,
            type=click.IntRange(1),
            help="How often a person is counted at most, in all inputs together; you vouch for "
            "it. Asked for unless --person enforces it, or the layout of one official table "
            "states it.",
        ),
    ),
    "unit": (
        option(
            "--unit",
            group="Privacy",
            default="person",
            show_default=True,
            help="Whom it protects, in words.",
        ),
    ),
    "people": (
        option(
            "--people",
            group="Privacy",
            type=float,
            help="A public guess of the sum of all counts, never taken from the data; for the "
            "resolution floor.",
        ),
    ),
    "key": (
        option(
            "--key-file",
            group="Privacy",
            type=click.Path(path_type=Path),
            help="Kept key (see: geodp key).",
        ),
    ),
    "ledger": (
        option(
            "--ledger",
            group="Privacy",
            everyday=True,
            type=click.Path(path_type=Path),
            help="Charged once, before any file is written.",
        ),
    ),
    "dataset": (
        option(
            "--dataset",
            group="Privacy",
            everyday=True,
            help="Name of the data set in the ledger (see: geodp budget).",
        ),
    ),
    "records": (
        option(
            "--records",
            group="Privacy",
            type=click.Choice(RECORDS),
            help="What the inputs are, where a table of a secret sample of the data set was "
            "charged to the ledger (see: geodp audit): all records, a fresh sample, or the same, "
            "which is refused.",
        ),
    ),
    "allow_empty": (
        option(
            "--allow-empty",
            group="Run",
            is_flag=True,
            help="Publish even if no row of a file meets the selection and the domain, which is "
            "refused otherwise.",
        ),
    ),
    "measurements": (
        option(
            "--measurements",
            group="Output",
            is_flag=True,
            help="Also publish what was measured before any clamp, as tidy Parquet with a "
            "codebook; it costs no more.",
        ),
        option(
            "--measurements-complete-to",
            group="Output",
            help="The smallest areas of which all are measured, with --measurements: a level such "
            "as jis:basic, cell, or cells of a block.  [default: levels of up to 65,536 areas]",
        ),
    ),
    "totals": (
        option(
            "--public-totals",
            group="Input",
            type=click.Path(path_type=Path),
            help="Totals of areas that are public already and that the table has: columns code "
            "and total, or with --regions its levels and total. They are met exactly.",
        ),
        option(
            "--public-totals-source",
            group="Input",
            help="Where they were published, in words. With it you vouch that they are public; "
            "the card quotes it.",
        ),
    ),
    "prior": (
        option(
            "--prior",
            group="Input",
            type=click.Path(path_type=Path),
            help="Where people are likely to be: a public file that is read as INPUTS are, such "
            "as an earlier census, or the folder of an earlier release. Measured is the same; "
            "estimates go by it as far as the noisy counts tell that it can be trusted.",
        ),
        option(
            "--prior-source",
            group="Input",
            help="Where the prior was published, in words. With it you vouch that the prior is "
            "public; the card quotes it. A release that was charged to a ledger needs none.",
        ),
        option(
            "--prior-value",
            group="Input",
            multiple=True,
            help="Label or name of the count's column in the prior, if it is another; repeatable.",
        ),
    ),
    "simulate": (
        option(
            "--simulate",
            group="Output",
            type=int,
            default=0,
            help="Releases that are simulated for the intervals of cells, and for what the card "
            "says of settlements; 0: margins of public maps.",
        ),
    ),
    "metadata": (
        option(
            "--metadata",
            group="Output",
            type=click.Path(path_type=Path),
            help="TOML file of what the office says for the card: title, publisher, licence and so "
            "on (docs/outputs.md has all of them).",
        ),
        option(
            "--display-below",
            group="Output",
            type=click.IntRange(2, 1 << 31),
            metavar="K",
            help="Show released counts above 0 and below K as <K on maps, on pages and in printed "
            "estimates. A rule of display that protects nobody: the files have the counts.",
        ),
    ),
    # Of the metadata, too: a series replaces none.
    "supersedes": (
        option(
            "--supersedes",
            group="Output",
            type=click.Path(path_type=Path),
            help="Folder of a published release that this one corrects: it stays, and the card "
            "names its id.",
        ),
    ),
}
"""Options by the field of a request, or of its terms, that is made of them; help has this order."""


def request_options(*fields: str, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the options of a request.

    Parameters
    ----------
    fields : str
        Names of :data:`FIELDS`. Default: all of them.
    without : collection of str
        Fields that the command does not have.
    """
    chosen = [name for name in fields or FIELDS if name not in without]
    options = [one for name in FIELDS if name in chosen for one in FIELDS[name]]
    return lambda command: add_options(command, options)


def read_request(options: dict[str, Any], grid: Grid, **fields: Any) -> Request:
    """Return the request that a command's options make; fields that it lacks keep their defaults.

    Parameters
    ----------
    options : dict
        Of the command. Nothing of the inputs is read.
    grid : Grid
        The grid that is published.
    **fields
        Fields that are not made of options here.
    """
    from geodp.release.request import Request

    made: dict[str, Callable[[], Any]] = {
        "terms": lambda: terms_of(options),
        "method": lambda: choose_with_marginals(options, grid),
        "key": lambda: open_key(options),
        "ledger": lambda: open_ledger(options),
        "totals": lambda: read_public_totals(options, grid),
        "prior": lambda: read_prior(options, grid),
        "measurements": lambda: _ask_measurements(options),
        "metadata": lambda: read_metadata_options(options),
        **{name: partial(options.get, name) for name in PLAIN},
    }
    asked = {"terms", *(name for name in made if SOURCES.get(name, name) in options)}
    return Request(**{name: made[name]() for name in made if name in asked - {*fields}}, **fields)


PLAIN = ("dataset", "records", "allow_empty", "simulate")
"""Fields that are what their option is."""

SOURCES = {"key": "key_file", "totals": "public_totals"}
"""Options of fields that are named otherwise."""


def _ask_measurements(options: Mapping[str, Any]) -> bool | str:
    """Return whether measurements are published, or down to which areas all of them."""
    return bool(options["measurements"]) and (options["measurements_complete_to"] or True)


def open_key(options: Mapping[str, Any]) -> NoiseKey | None:
    """Return the kept key that the options name; None where they name none."""
    from geodp.privacy.key import NoiseKey

    return None if options["key_file"] is None else NoiseKey.from_file(options["key_file"])


def open_ledger(options: Mapping[str, Any]) -> Ledger | None:
    """Return the ledger that the options name; None where they name none."""
    from geodp.privacy.ledger import Ledger

    return None if options["ledger"] is None else Ledger.open(options["ledger"])


def terms_of(options: dict[str, Any]) -> Terms:
    """Return the terms of a command's options; those that it does not have are left out."""
    from geodp.privacy.terms import NAMES, Terms

    return Terms.of(**{name: options[name] for name in NAMES if name in options})


def choose_with_marginals(options: dict[str, Any], grid: Grid) -> Mechanism:
    """Return the method that is asked for, or the default of a grid; with marginals, if any."""
    from geodp.mechanisms import choose_method

    found = choose_method(options["method"] or None, grid)
    if options["marginals"] is None:
        return found
    if found.name != "parts":
        raise UsageError(
            f"--marginals is for attributes that the method parts splits, and {found.name} is "
            "another one.",
            code="marginals-need-parts",
        )
    if "marginals" in dict(found.settings):
        raise UsageError(
            "Give marginals once: by --marginals, or in --method.", code="marginals-twice"
        )
    return found.with_settings(f"marginals={options['marginals'].replace(',', '+')}")
