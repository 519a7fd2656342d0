"""Mechanisms of differential privacy, with one file for each published method.

Every module of :mod:`geodp.mechanisms.central`, and of :mod:`geodp.mechanisms.baselines` for
methods of papers that geodp is compared with, registers its ``METHODS`` in :data:`METHODS`. So does
every module of another package that an entry point ``geodp.methods`` names. The command line, the
conformance tests, the audits and the benchmarks use that table. Protocols of local collection, in
which devices randomise their own reports, are in :mod:`geodp.local`.

Start with :mod:`geodp.mechanisms.base` for the interface of a method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from geodp.errors import NAMES, Rule, UsageError, add_plugins, is_name
from geodp.grid.grid import Grid
from geodp.mechanisms import baselines, central
from geodp.mechanisms.base import Mechanism, Method
from geodp.privacy.event import Guarantee
from geodp.registry import find_modules, list_offered

__all__ = [
    "METHODS",
    "Mechanism",
    "choose_method",
    "default_method",
    "find_method",
    "is_method",
    "mechanism",
]


PACKAGES = (central, baselines)
"""Packages of the built-in methods."""


def _fits(one: object) -> bool:
    """Test whether an object is a method whose class has all attributes that cards quote."""
    if not isinstance(one, Mechanism):
        return False
    texts, promises = (one.title, one.citation, one.noise), (one.whole, one.nonnegative)
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(promise, bool) for promise in promises)
        and isinstance(one.version, int)
        and isinstance(one.guarantee, Guarantee)
    )


class _Methods(Mapping[str, Mechanism]):
    """A lazy table: a file is loaded with its method, and all files when the table is listed."""

    # Each method brings kernels of its own, so a release should not load the others.

    def __getitem__(self, name: str) -> Mechanism:
        return _find_builtin(name) or _find_methods()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_find_methods())

    def __len__(self) -> int:
        return len(_find_methods())


@cache
def _find_builtin(name: str) -> Mechanism | None:
    """Return the built-in method whose file has its name; None if there is none."""
    files = [f"{package.__name__}.{name}" for package in PACKAGES if name.isidentifier()]
    modules = [import_module(file) for file in files if find_spec(file) is not None]
    methods = [one for module in modules for one in getattr(module, "METHODS", ())]
    return next((one for one in methods if one.name == name), None)


@cache
def _find_methods() -> dict[str, Mechanism]:
    listed = [one for package in PACKAGES for one in list_offered(package.__name__, "METHODS")]
    builtin = {method.name: method for method in listed}
    return add_plugins(builtin, "geodp.methods", "METHODS", _fits)


METHODS: Mapping[str, Mechanism] = _Methods()
"""Every method by its name, with its default settings."""


def mechanism(chosen: str | Mechanism) -> Mechanism:
    """Return a method by name, with settings after a colon: ``"hay"``, ``"hay:fanout=4"``.

    A method object is returned unchanged. Raises UsageError for an unknown name or setting, and for
    another package's method with the name of a built-in one.

    Examples
    --------
    >>> mechanism("topdown").spec
    'topdown'
    """
    if isinstance(chosen, Mechanism):
        if not is_name(chosen.name):  # what follows a colon would be read as settings
            raise UsageError(f"A method needs {NAMES}.", code="method-name-form")
        # Cards and ledgers identify a method by name: two of one name would be indistinguishable.
        if type(METHODS.get(chosen.name, chosen)) is not type(chosen):
            raise UsageError(
                f"{chosen.name} is the name of a method of geodp; choose another.",
                code="method-name-taken",
            )
        return chosen
    name, _, settings = str(chosen).partition(":")
    if name not in METHODS:
        raise UsageError(f"method must be one of: {', '.join(METHODS)}.", code="method-unknown")
    return METHODS[name].with_settings(settings)


def choose_method(chosen: str | Mechanism | None, grid: Grid) -> Mechanism:
    """Return the chosen method; with None, the default for a grid.

    Raises UsageError as :func:`mechanism`.
    """
    return mechanism(default_method(grid) if chosen is None else chosen)


def default_method(grid: Grid) -> str:
    """Return the name of the default method for a grid.

    Raises UsageError for a grid with more combinations of labels than ``parts`` takes: other
    methods bias the totals of small labels by many times their stated errors, and are only taken
    where they are named.

    Examples
    --------
    >>> grid = Grid.regular((8, 8))
    >>> default_method(grid), default_method(grid.with_attribute("sex", ["f", "m"]))
    ('pyramid', 'parts')
    """
    refusal = METHODS["parts"].unsupported(grid) if grid.attributes else None
    if isinstance(refusal, Rule) and refusal.code == "parts-too-many-combinations":
        raise UsageError(refusal)
    return "parts" if grid.attributes and refusal is None else "pyramid"


def find_method(spec: str) -> Method[Any]:
    """Find the method of a released table by its event's name and settings.

    It is one of :data:`METHODS`, or a protocol of a feature. Raises UsageError as
    :func:`mechanism`.
    """
    name, _, settings = spec.partition(":")
    protocol = None if name in METHODS else _find_protocol(name)
    return mechanism(spec) if protocol is None else protocol.with_settings(settings)


def is_method(spec: str) -> bool:
    """Test whether :func:`find_method` knows the name of a method."""
    name = spec.partition(":")[0]
    return name in METHODS or _find_protocol(name) is not None


def _find_protocol(name: str) -> Method[Any] | None:
    """Return the protocol of a feature with its default settings; None if no feature has it."""
    modules = (module for kind in ("methods", "protocols") for module in find_modules(kind))
    return next((one.PROTOCOLS[name] for one in modules if name in one.PROTOCOLS), None)
