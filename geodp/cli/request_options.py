"""The request of a release, made of a command's options.

An option needs an entry in ``REQUEST`` of :mod:`geodp.options.shared`; where it is a field of
:class:`geodp.release.request.Request` and not that field's value, ``read_request`` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from geodp.cli.inputs import read_public_totals
from geodp.cli.readers import read_prior
from geodp.cli.stated import read_metadata_options
from geodp.errors import UsageError
from geodp.options.shared import REQUEST

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.folder.kinds import Kind
    from geodp.mechanisms import Mechanism
    from geodp.privacy.key import NoiseKey
    from geodp.privacy.ledger import Ledger
    from geodp.privacy.terms import Terms
    from geodp.release.request import Request


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
    from geodp.privacy.terms import NAMES
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
    }
    # The first option of a field is the one that says whether a command has it.
    asked = {one.field: one.name for one in reversed(REQUEST) if one.name in options}
    # Terms are of several options; what is superseded, and the limit, are parts of the metadata.
    without = {*NAMES, "supersedes", "display_below", *fields}
    found = {
        name: makers[name]() if name in makers else options[asked[name]]
        for name in dict.fromkeys((*makers, *asked))
        if name not in without and name in {"terms", *asked}
    }
    return Request(**found, **fields)


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
