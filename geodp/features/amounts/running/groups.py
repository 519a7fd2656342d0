"""Groups that commands name: labels of attributes."""

from __future__ import annotations

from collections.abc import Iterable

from geodp.errors import UsageError


def read_labels(texts: Iterable[str], option: str) -> dict[str, list[str]]:
    """Read texts ``NAME=LABEL`` as labels by attribute; several of one attribute are added up.

    Raises UsageError for another form, and for a label that is named twice.

    Examples
    --------
    >>> read_labels(["sex=f", "age=30-34", "age=35-39"], "--label")
    {'sex': ['f'], 'age': ['30-34', '35-39']}
    """
    labels: dict[str, list[str]] = {}
    for text in texts:
        name, equals, label = text.partition("=")
        if not (name and equals and label):
            raise UsageError(
                f"{option} {text!r} names no label: write NAME=LABEL, such as sex=f.",
                code="amounts-label-form",
            )
        if label in labels.setdefault(name, []):
            raise UsageError(
                f"{option} {text!r} is there twice; a label is counted once.",
                code="amounts-label-twice",
            )
        labels[name].append(label)
    return labels


def show_labels(labels: dict[str, list[str]]) -> str:
    """Write labels by attribute as they are named in options.

    Examples
    --------
    >>> show_labels({"sex": ["f"], "age": ["30-34", "35-39"]})
    'sex=f, age=30-34+35-39'
    """
    return ", ".join(f"{name}={'+'.join(chosen)}" for name, chosen in labels.items())
