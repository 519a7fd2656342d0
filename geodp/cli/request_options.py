"""Options of a release's request, in one table by the field of the request.

An option needs an entry in ``FIELDS`` and, in ``PLAIN`` or ``makers``, the field of
:class:`geodp.release.request.Request` that it sets; then every command that uses the field has it.
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
    from geodp.io.folder.kinds import Kind
    from geodp.mechanisms import Mechanism
    from geodp.privacy.key import NoiseKey
    from geodp.privacy.ledger import Ledger
    from geodp.privacy.terms import Terms
    from geodp.release.request import Request

NEIGHBOURS = ("add-remove-one", "replace-one")
"""Values of the library, repeated so that ``--help`` imports nothing heavy."""

RECORDS = ("all", "fresh-sample", "same-sample")

prior_options = (
    option(
        "--prior-source",
        group="Input",
        help="Where the prior was published, which the card quotes. A release that was charged to "
        "a ledger needs none.",
    ),
    option(
        "--prior-is-public",
        group="Input",
        is_flag=True,
        help="Assert that everybody may already have the prior, which is used without noise: it is "
        "published where --prior-source says. A release that was charged to a ledger needs no "
        "such assertion.",
    ),
)
"""Options by which the operator vouches for a prior, at every kind of release that takes one."""

FIELDS: Mapping[str, tuple[Callable[[Any], Any], ...]] = {
    "epsilon": (
        option(
            "--epsilon",
            group="Privacy",
            everyday=True,
            help="Privacy budget, read exactly: 0.1 or 1/10.",
        ),
    ),
    "rho": (
        option(
            "--rho",
            group="Privacy",
            help="Budget of zero-concentrated differential privacy, instead of --epsilon: "
            "Gaussian noise.",
        ),
    ),
    "delta": (
        option(
            "--delta",
            group="Privacy",
            everyday=True,
            help="With --epsilon: use Gaussian noise for this epsilon and delta. With --rho: also "
            "state the epsilon for this delta.",
        ),
    ),
    "method": (
        option(
            "--method",
            group="Privacy",
            help="Method, as NAME or NAME:SETTING=VALUE (see geodp methods). pyramid suits cells, "
            "municipalities and polygons, pyramid:setting=R aligned blocks of all sizes.  "
            "[default: parts on a grid with attributes below its cells, otherwise pyramid]",
        ),
        option(
            "--marginals",
            group="Privacy",
            help="Sums over attributes that the method parts also measures directly, separated by "
            "commas: sex,age,sex*age. Each gets as much of the budget as all parts together.",
        ),
    ),
    "neighbours": (
        option(
            "--neighbours",
            group="Privacy",
            type=click.Choice(NEIGHBOURS),
            default="add-remove-one",
            show_default=True,
            help="What the guarantee protects: whether any one person is in the data, or which "
            "person it is.",
        ),
    ),
    "contribution": (
        option(
            "--contribution",
            group="Privacy",
            everyday=True,
            type=click.IntRange(1),
            help="How often one person is counted at most in all inputs together, which you "
            "assert. Required unless --person enforces it, or the layout of one official "
            "table states it.",
        ),
    ),
    "unit": (
        option(
            "--unit",
            group="Privacy",
            default="person",
            show_default=True,
            help="Unit of privacy: whom the guarantee protects, as a noun.",
        ),
    ),
    "people": (
        option(
            "--people",
            group="Privacy",
            type=float,
            help="A public guess of the sum of all counts, never taken from the data, for the "
            "resolution floor.",
        ),
    ),
    "key": (
        option(
            "--key-file",
            group="Privacy",
            type=click.Path(path_type=Path),
            help="File of a stored noise key (see geodp key).",
        ),
    ),
    "ledger": (
        option(
            "--ledger",
            group="Privacy",
            everyday=True,
            type=click.Path(path_type=Path),
            help="Ledger file, charged once, before any file is written.",
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
            help="What the inputs are, once a table of a secret sample of the data set was "
            "charged to the ledger (see geodp audit): all records, a fresh sample, or the "
            "same sample, which is refused.",
        ),
    ),
    "allow_empty": (
        option(
            "--allow-empty",
            group="Run",
            is_flag=True,
            help="Publish even if no row of a file is selected and in the domain, which is "
            "refused otherwise.",
        ),
    ),
    "measurements": (
        option(
            "--measurements",
            group="Output",
            is_flag=True,
            help="Also publish the noisy measurements before clamping, as tidy Parquet with a "
            "codebook; this costs nothing extra.",
        ),
        option(
            "--measurements-complete-to",
            group="Output",
            help="With --measurements: the smallest areas that are all measured: a level such as "
            "jis:basic, cell, or the number of cells of a block.  [default: levels of up to "
            "65,536 areas]",
        ),
    ),
    "totals": (
        option(
            "--public-totals",
            group="Input",
            type=click.Path(path_type=Path),
            help="Totals of areas that are already public and that the table has: columns code "
            "and total, or with --regions its levels and total. The release matches them exactly.",
        ),
        option(
            "--public-totals-source",
            group="Input",
            help="Where the totals were published, which the card quotes. By naming it you assert "
            "that they are public.",
        ),
    ),
    "prior": (
        option(
            "--prior",
            group="Input",
            type=click.Path(path_type=Path),
            help="Where people are likely to be: a public file that is read like INPUTS, such as "
            "an earlier census, or the folder of an earlier release. The measurements stay "
            "the same; estimates use it as far as the noisy counts show that it can be "
            "trusted.",
        ),
        *prior_options,
        option(
            "--prior-value",
            group="Input",
            multiple=True,
            help="Label or name of the column of counts in the prior, if it differs; repeatable.",
        ),
    ),
    "simulate": (
        option(
            "--simulate",
            group="Output",
            type=int,
            default=0,
            help="Number of releases to simulate for the intervals of cells and for the card's "
            "figures on settlements; 0: use margins measured on public maps.",
        ),
    ),
    "metadata": (
        option(
            "--metadata",
            group="Output",
            type=click.Path(path_type=Path),
            help="TOML file of the office's metadata for the card: title, publisher, licence and "
            "so on (docs/outputs.md lists all).",
        ),
        option(
            "--display-below",
            group="Output",
            type=click.IntRange(2, 1 << 31),
            metavar="K",
            help="Show released counts above 0 and below K as <K on maps, on pages and in printed "
            "estimates. This display rule gives no protection: the files contain the counts.",
        ),
    ),
    # A part of the metadata, but separate: what a plan or a selection writes supersedes nothing.
    "supersedes": (
        option(
            "--supersedes",
            group="Output",
            type=click.Path(path_type=Path),
            help="Folder of a published release of the same kind that this one corrects: it stays "
            "in place, and the card names its id.",
        ),
    ),
}
"""Options by the field of a request, or of its terms, that they set, in the order of help."""


def request_options(*fields: str, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of a request to a command.

    Parameters
    ----------
    fields : str
        Names of :data:`FIELDS`. Default: all of them.
    without : collection of str
        Fields that the command does not have.
    """
    chosen = [name for name in fields or FIELDS if name not in without]
    return add_options(*(one for name in FIELDS if name in chosen for one in FIELDS[name]))


def read_request(
    options: dict[str, Any], grid: Grid, *, kind: Kind | None = None, **fields: Any
) -> Request:
    """Make the request from a command's options; fields without an option keep their defaults.

    Parameters
    ----------
    options : dict
        Options of the command. The inputs are not read.
    grid : Grid
        The grid that is published.
    kind : Kind, optional
        The kind of release that is published. Default: the release of a table.
    **fields
        Fields that are not made from options here.
    """
    from geodp.release.request import Request

    makers: dict[str, Callable[[], Any]] = {
        # Lazy, as a command lacks some options and passes some fields ready-made.
        "terms": lambda: terms_of(options),
        "method": lambda: choose_with_marginals(options, grid),
        "key": lambda: open_key(options),
        "ledger": lambda: open_ledger(options),
        "totals": lambda: read_public_totals(options, grid),
        "prior": lambda: read_prior(options, grid),
        # True means the default depth; a text names the smallest complete areas.
        "measurements": lambda: (
            options["measurements"] and (options["measurements_complete_to"] or True)
        ),
        "metadata": lambda: read_metadata_options(options, kind),
        **{name: partial(options.get, name) for name in PLAIN},
    }
    available = {"terms", *(name for name in makers if SOURCES.get(name, name) in options)}
    return Request(
        **{name: makers[name]() for name in makers if name in available - {*fields}}, **fields
    )


PLAIN = ("dataset", "records", "allow_empty", "simulate")
"""Fields that equal their option."""

SOURCES = {"key": "key_file", "totals": "public_totals"}
"""Options whose names differ from their field's."""


def open_key(options: Mapping[str, Any]) -> NoiseKey | None:
    """Read the key of --key-file; None without the option."""
    from geodp.privacy.key import NoiseKey

    return None if options["key_file"] is None else NoiseKey.from_file(options["key_file"])


def open_ledger(options: Mapping[str, Any]) -> Ledger | None:
    """Open the ledger of --ledger; None without the option."""
    from geodp.privacy.ledger import Ledger

    return None if options["ledger"] is None else Ledger.open(options["ledger"])


def terms_of(options: dict[str, Any]) -> Terms:
    """Make the terms from a command's options; options that it lacks are left out."""
    from geodp.privacy.terms import NAMES, Terms

    return Terms.of(**{name: options[name] for name in NAMES if name in options})


def choose_with_marginals(options: dict[str, Any], grid: Grid) -> Mechanism:
    """Return the requested method, or the default for a grid, with marginals if any."""
    from geodp.mechanisms import choose_method

    method = choose_method(options["method"] or None, grid)
    if options["marginals"] is None:
        return method
    if method.name != "parts":
        raise UsageError(
            f"--marginals is for attributes that the method parts splits, and {method.name} is "
            "another one.",
            code="marginals-need-parts",
        )
    if "marginals" in dict(method.settings):
        raise UsageError(
            "Give marginals once: by --marginals, or in --method.", code="marginals-twice"
        )
    # Settings of a method are separated by commas themselves, so marginals use a plus sign there.
    return method.with_settings(f"marginals={options['marginals'].replace(',', '+')}")
