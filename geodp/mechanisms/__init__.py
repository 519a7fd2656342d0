"""Mechanisms of differential privacy: one published method, one file.

Every module of :mod:`geodp.mechanisms.central`, and of :mod:`geodp.mechanisms.baselines` for those
of papers to compare with, adds what its ``METHODS`` lists to :data:`METHODS`. So does every module
of somebody else's package that an entry point ``geodp.methods`` names. The command line, the
conformance tests, the audits and the benchmarks go by that table. Protocols of local collection,
whose reports devices randomise themselves, are a feature's (:mod:`geodp.features.local`).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from geodp.errors import NAMES, UsageError, add_plugins, is_name
from geodp.grid.grid import Grid
from geodp.mechanisms import baselines, central
from geodp.mechanisms.base import Mechanism, Method
from geodp.privacy.event import Guarantee
from geodp.registry import find_modules

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
"""Where geodp's own methods are."""


def _find(package: ModuleType) -> list[Any]:
    names = [info.name for info in pkgutil.iter_modules(package.__path__)]
    modules = [import_module(f"{package.__name__}.{name}") for name in names]
    return [method for module in modules for method in getattr(module, "METHODS", ())]


def _fits(one: object) -> bool:
    """Whether something is a method with what its class must say, which cards and lists quote."""
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
    """A file is loaded when its method is asked for, all files and packages when they are listed.

    What a release does not use costs it nothing: the other methods have kernels of their own.
    """

    def __getitem__(self, name: str) -> Mechanism:
        return _find_own(name) or _find_methods()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_find_methods())

    def __len__(self) -> int:
        return len(_find_methods())


@cache
def _find_own(name: str) -> Mechanism | None:
    """Return the method of geodp's own file of its name; None where there is none."""
    files = [f"{package.__name__}.{name}" for package in PACKAGES if name.isidentifier()]
    modules = [import_module(file) for file in files if find_spec(file) is not None]
    methods = [one for module in modules for one in getattr(module, "METHODS", ())]
    return next((one for one in methods if one.name == name), None)


@cache
def _find_methods() -> dict[str, Mechanism]:
    own = {method.name: method for package in PACKAGES for method in _find(package)}
    return add_plugins(own, "geodp.methods", "METHODS", _fits)


METHODS: Mapping[str, Mechanism] = _Methods()
"""Every method by its name, with its default settings."""


def mechanism(chosen: str | Mechanism) -> Mechanism:
    """Return a method by name, with settings after a colon: ``"hay"``, ``"hay:fanout=4"``.

    A method is returned itself.

    Raises UsageError for an unknown name or setting, and for a method of somebody else's that has
    the name of one of these: cards and ledgers would take it for that.

    Examples
    --------
    >>> mechanism("topdown").spec
    'topdown'
    """
    if isinstance(chosen, Mechanism):
        if not is_name(chosen.name):  # what follows a colon would be read as settings
            raise UsageError(f"A method needs {NAMES}.", code="method-name-form")
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
    """Return the method that is asked for; with None, the default of a grid.

    Raises UsageError as :func:`mechanism`.
    """
    return mechanism(default_method(grid) if chosen is None else chosen)


def default_method(grid: Grid) -> str:
    """Return the name of the method that a grid is released with unless somebody names one.

    Examples
    --------
    >>> grid = Grid.regular((8, 8))
    >>> default_method(grid), default_method(grid.with_attribute("sex", ["f", "m"]))
    ('pyramid', 'parts')
    """
    return "parts" if grid.attributes and not METHODS["parts"].unsupported(grid) else "pyramid"


def find_method(spec: str) -> Method[Any]:
    """Return what made a released table, by the name and settings that its event has.

    One of :data:`METHODS`, or a protocol that a feature offers. Raises UsageError as
    :func:`mechanism`.
    """
    name = spec.partition(":")[0]
    module = None if name in METHODS else _find_protocols(name)
    if module is None:
        return mechanism(spec)
    found: Method[Any] = module.protocol(spec)
    return found


def is_method(spec: str) -> bool:
    """Return whether :func:`find_method` knows the name of a method."""
    name = spec.partition(":")[0]
    return name in METHODS or _find_protocols(name) is not None


def _find_protocols(name: str) -> ModuleType | None:
    """Return the module ``protocols`` of the feature that has a protocol; None where none has."""
    return next((one for one in find_modules("protocols") if name in one.PROTOCOLS), None)
