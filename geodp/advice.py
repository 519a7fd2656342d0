"""Say what is meant where a call uses a name that geodp has not, but that other libraries have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

MOST = 9
"""Arguments that an error lists."""

P = ParamSpec("P")
R = TypeVar("R")


def no_attribute(owner: object, kind: str, name: str, instead: Mapping[str, str]) -> AttributeError:
    """Return the error of a name that something has not, with what to ask for instead.

    Parameters
    ----------
    owner : object
    kind : str
        What it is, as it begins a sentence.
    name : str
    instead : mapping of str to str
        From names with blanks between to what does their job.

    Examples
    --------
    >>> print(no_attribute(1, "A release", "save", {"save to_csv": "write(folder) writes it"}))
    A release has no 'save': write(folder) writes it.
    >>> print(no_attribute(1, "A release", "colour", {}))
    A release has no 'colour'.
    """
    said = next((f": {words}" for names, words in instead.items() if name in names.split()), "")
    return AttributeError(f"{kind} has no {name!r}{said}.", name=name, obj=owner)


def by_names(**meant: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function say which argument is meant by a name that it has not.

    Parameters
    ----------
    **meant : str
        The argument that others call so; misspellings are found without.

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
        known = [one.name for one in parameters if one.name not in ("self", "cls")]
        named = [f"{one.name}=" for one in parameters if one.kind is Parameter.KEYWORD_ONLY]
        places = len(parameters) - len(named)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs.keys() - {*known}:
                raise TypeError(f"{function.__name__}() takes no {name}=; {_advise(name)}.")
            if len(args) > places:
                first = " and ".join(known[: len(known) - len(named)])
                rest = f"by place, and the rest by name: {_list()}"
                raise TypeError(f"{function.__name__}() takes {first} {rest}.")
            return function(*args, **kwargs)

        def _advise(name: str) -> str:
            close: list[Any] = [meant[name]] if name in meant else get_close_matches(name, known, 1)
            return f"give {close[0]}=" if close else f"it takes {_list()}"

        def _list() -> str:
            return ", ".join([*named[:MOST], *["..."] * (len(named) > MOST)])

        return call

    return decorate
