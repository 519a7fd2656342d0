"""Keywords that functions hand on, and hints for names that other libraries have, not geodp."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, cleandoc, get_annotations, isclass, signature
from typing import Any, ParamSpec, TypeVar

MAX_LISTED = 9
"""Largest number of arguments that an error lists."""

CLOSE = 0.8
"""How alike a misspelt name and the right one are: one or two letters of a word differ."""

MEANT = {"eps": "epsilon", "privacy_budget": "epsilon", "seed": "key", "id": "person"}
"""Arguments that other libraries call by other names, of every function that has them."""

SECTION = re.compile(
    r"^(Parameters|Attributes)\n-+\n(.*?)(?=\n\n\S[^\n]*\n-{3}|\Z)", re.DOTALL | re.M
)
"""Section of a docstring in which parameters are described."""

P = ParamSpec("P")
R = TypeVar("R")


def no_attribute(owner: object, kind: str, name: str, hints: Mapping[str, str]) -> AttributeError:
    """Make the AttributeError for a missing name, with a hint at the name to use.

    Parameters
    ----------
    owner : object
    kind : str
        Kind of the owner, as the start of a sentence.
    name : str
    hints : mapping of str to str
        Hints by names, which are separated by blanks.

    Examples
    --------
    >>> print(no_attribute(1, "A release", "save", {"save to_csv": "write(folder) writes it"}))
    A release has no 'save': write(folder) writes it.
    >>> print(no_attribute(1, "A release", "colour", {}))
    A release has no 'colour'.
    """
    hint = next((f": {text}" for names, text in hints.items() if name in names.split()), "")
    return AttributeError(f"{kind} has no {name!r}{hint}.", name=name, obj=owner)


def names_of(module: str, api: str) -> dict[str, Callable[..., Any]]:
    """Return the ``__getattr__`` and ``__dir__`` of a module that has the public names of another.

    Parameters
    ----------
    module, api : str
        Full names; ``api`` is imported when a name is first used, and has nothing else.
    """

    def list_names() -> list[str]:
        return sorted(one for one in vars(import_module(api)) if not one.startswith("_"))

    def get(name: str) -> object:
        owner = sys.modules[module]
        # A file of the package is not looked for among the names, which would load all others.
        inside = "__path__" in vars(owner) and find_spec(f"{module}.{name}") is not None
        names = ["__all__", *list_names()] if not inside else []
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = import_module(api)
        owner.__doc__ = home.__doc__
        value: object = names[1:] if name == "__all__" else getattr(home, name)
        setattr(owner, name, value)
        return value

    return {"__getattr__": get, "__dir__": list_names}


def by_names(**meant: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function suggest the right argument for an unknown keyword.

    Parameters
    ----------
    **meant : str
        The argument that other libraries call by this name; misspellings need no entry.

    Examples
    --------
    >>> @by_names(bbox="bounds")
    ... def mesh(system, *, bounds=None, degrees=False): ...
    >>> mesh("jis:half", bbox=(139, 35, 140, 36))
    Traceback (most recent call last):
    TypeError: mesh() takes no bbox=; give bounds=.
    >>> mesh("jis:half", (139, 35, 140, 36))
    Traceback (most recent call last):
    TypeError: mesh() takes system by place, and the rest by name: bounds=, degrees=.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = signature(function).parameters.values()
        names = [one.name for one in parameters if one.name not in ("self", "cls")]
        named = [f"{one.name}=" for one in parameters if one.kind is Parameter.KEYWORD_ONLY]
        places = len(parameters) - len(named)

        @wraps(function)
        # Checked before the call: a TypeError from inside the function must not be reworded.
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs.keys() - {*names}:
                raise TypeError(f"{function.__name__}() takes no {name}=; {_advise(name)}.")
            if len(args) > places:
                first = " and ".join(names[: len(names) - len(named)])
                rest = f"by place, and the rest by name: {_list()}"
                raise TypeError(f"{function.__name__}() takes {first} {rest}.")
            return function(*args, **kwargs)

        def _advise(name: str) -> str:
            known = meant.get(name) or MEANT.get(name)
            if known in names:
                return f"give {known}="
            close = get_close_matches(name, names, 1, CLOSE)
            return f"give {close[0]}=" if close else f"it takes {_list()}"

        def _list() -> str:
            more = f", and others that help({function.__name__}) lists"
            return ", ".join(named[:MAX_LISTED]) + more * (len(named) > MAX_LISTED)

        return call

    return decorate


def takes(
    *sources: Callable[..., Any], without: Collection[str] = (), **meant: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function list the keywords that it hands on, and refuse others as :func:`by_names`.

    Its signature and docstring get the keywords of the sources in place of ``**options``, each as
    the first source has it.

    Parameters
    ----------
    *sources
        Functions, and data classes, whose fields are the keywords.
    without : collection of str
        Keywords of the sources that the function does not take.
    **meant : str
        See :func:`by_names`.

    Examples
    --------
    >>> def sort(rows, /, *, reverse=False):
    ...     '''Sort rows.
    ...
    ...     Parameters
    ...     ----------
    ...     reverse : bool
    ...         Whether the largest is first.
    ...     '''
    >>> @takes(sort)
    ... def read(path, **options):
    ...     '''Read sorted rows.
    ...
    ...     Parameters
    ...     ----------
    ...     path : path
    ...     '''
    >>> str(signature(read)), read.__doc__.splitlines()[-2:]
    ('(path, *, reverse=False)', ['reverse : bool', '    Whether the largest is first.'])
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        mine = signature(function)
        own = [one for one in mine.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        taken = {one.name for one in own} | {*without}
        more = dict[str, Parameter]()
        for source in sources:
            more |= {one.name: one for one in _keywords(source) if one.name not in {*taken, *more}}
        whole = mine.replace(parameters=[*own, *more.values()])
        setattr(function, "__signature__", whole)  # noqa: B010
        function.__doc__ = _describe(function.__doc__ or "", sources, whole.parameters)
        return by_names(**meant)(function)

    return decorate


def pick(source: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Remove the keywords of a function, or the fields of a class, from options; return them.

    Examples
    --------
    >>> options = {"system": "jis:half", "colour": "red"}
    >>> pick(lambda *, system: system, options), options
    ({'system': 'jis:half'}, {'colour': 'red'})
    """
    names = [one.name for one in _keywords(source)]
    return {name: options.pop(name) for name in names if name in options}


def _keywords(source: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the parameters of a function by name, or the fields of a class with their defaults."""
    defaults = {
        one.name: one.default if one.default_factory is MISSING else one.default_factory()
        for one in (list_fields(source) if isclass(source) else ())
    }
    found = signature(source).parameters
    for one in (found[name] for name in (defaults or found) if name in found):
        if one.kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            default = defaults.get(one.name, one.default)
            default = one.empty if default is MISSING else default
            yield one.replace(kind=Parameter.KEYWORD_ONLY, default=default)


def list_fields(kind: type[Any]) -> list[Field[Any]]:
    """Return the fields of a data class, those of its bases last.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> base = make_dataclass("Base", ["memory"])
    >>> [one.name for one in list_fields(make_dataclass("Reader", ["code"], bases=(base,)))]
    ['code', 'memory']
    """
    known = {one.name: one for one in fields(kind)}
    names = (name for base in kind.__mro__ for name in get_annotations(base))
    return [known[name] for name in dict.fromkeys(names) if name in known]


def _describe(text: str, sources: Collection[Callable[..., Any]], names: Collection[str]) -> str:
    """Add to a docstring what sources say of parameters, where it says nothing of them itself."""
    text = cleandoc(text)
    left = {*names} - {name for named, _ in _entries(text) for name in named}
    lines = list[str]()
    for source in sources:
        for one in source.__mro__ if isclass(source) else (source,):
            for named, about in _entries(one.__doc__ or ""):
                if new := [name for name in named if name in left]:
                    lines.append(", ".join(new) + about)
                    left -= {*new}
    if (found := SECTION.search(text)) is not None:
        return "\n".join([text[: found.end()], *lines]) + text[found.end() :]
    next_one = re.search(r"\n\n\S[^\n]*\n-{3}|\Z", text)
    assert next_one is not None
    begin, end = text[: next_one.start()], text[next_one.start() :]
    return "\n".join([begin, "", "Parameters", "----------", *lines]) + end


@cache
def _entries(text: str) -> list[tuple[list[str], str]]:
    """Return the names that a docstring describes, each group with the text that follows it."""
    found = []
    for section in SECTION.finditer(cleandoc(text)):
        for entry in re.split(r"\n(?=\S)", section[2]):
            if head := re.match(r"[\w, *]*\w", entry):
                found.append((head[0].split(", "), entry[head.end() :]))
    return found
