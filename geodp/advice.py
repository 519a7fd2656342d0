"""Hints for names that other libraries have and geodp lacks, in AttributeError and TypeError."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

MAX_LISTED = 9
"""Largest number of arguments that an error lists."""

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
            close: list[Any] = [meant[name]] if name in meant else get_close_matches(name, names, 1)
            return f"give {close[0]}=" if close else f"it takes {_list()}"

        def _list() -> str:
            return ", ".join([*named[:MAX_LISTED], *["..."] * (len(named) > MAX_LISTED)])

        return call

    return decorate
