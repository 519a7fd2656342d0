"""What a call of ``geodp new`` says so far: its words, and what follows from them and the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.check import require_unpublished
from geodp.cli.inputs import grid_of
from geodp.cli.layout import INPUTS, layout_names, list_arguments, resolve_inputs
from geodp.cli.output import require_free
from geodp.cli.request import terms_of
from geodp.errors import Rule, UsageError
from geodp.io.opening import require_regular
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.layout.presets import OF_FILE, find_preset
from geodp.io.read.layout.propose import DOMAIN, FIXED_EXTENT

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.layout.presets import Preset
    from geodp.privacy.terms import Terms

OF_LAYOUT, WHOLE, VOUCHED = "layout", "all", "public"
"""Words of ``--area`` that are no places."""

OWN = ("area", "recipe", "overwrite", "output")
"""Options of ``geodp new`` that ``geodp publish`` does not have, or has with another default."""

ANY_BUDGET = "1"
"""An epsilon with which the other terms are checked before one is chosen."""

NOT_OF_LAYOUT = Rule("area-not-of-layout", "No layout states an area of this file; name one.")

GIVE_URL = Rule("url-as-answer", "A URL is given in the command itself: geodp new URL.")

STATED_ALREADY = Rule(
    "area-stated-by-layout",
    "The layout states where people may be, and nothing but bounds or a mask takes its place; "
    "name a larger area.",
)


@dataclass(frozen=True)
class Call:
    """A call, of which all that was said is right, and what it leaves open.

    Attributes
    ----------
    words : tuple of str
        All words of the call, not quoted.
    context : Context
        Of the command, parsed from them, and filled in by the layout.
    options : mapping
        Its options, filled in, too.
    inputs : tuple of str
        The inputs as they were given: files, folders, patterns.
    asks : tuple of str
        What publishing would ask for: a sentence each, with options.
    preset : Preset or None
        The layout that fits the file, or that was named.
    """

    words: tuple[str, ...]
    context: click.Context
    options: Mapping[str, Any]
    inputs: tuple[str, ...]
    asks: tuple[str, ...] = ()
    preset: Preset | None = None

    @property
    def asks_of_file(self) -> list[str]:
        """What is asked about columns, rows and the grid."""
        return [one for one in self.asks if not (is_of_area(one) or is_of_persons(one))]

    @property
    def states_contribution(self) -> bool:
        """Whether the layout states how often a person is counted in this table."""
        asked = any(map(is_of_persons, self.asks))
        return self.preset is not None and self.preset.contribution is not None and not asked

    @property
    def bounds_persons(self) -> bool:
        """Whether somebody answers for how often a person is counted."""
        said = [self.options["contribution"], self.options["person"]]
        return said != [None, None] or self.states_contribution

    @property
    def grid_kind(self) -> str:
        """What stands before the colon of ``--grid``; empty where it is not known yet."""
        named = self.options["spec"]
        return "" if named is None else str(named).partition(":")[0]

    @property
    def asks_area(self) -> bool:
        """Whether the area is still to be named."""
        if self.options["area"] is not None or any(map(self._is_given, DOMAIN)):
            return False
        if any(map(is_of_area, self.asks)) or not self.grid_kind:
            return True
        return self.grid_kind not in FIXED_EXTENT

    @property
    def stated_area(self) -> list[str]:
        """Words of the options by which the layout states where people may be."""
        if any(map(self._is_given, DOMAIN)):
            return []
        others = {str(one.name) for one in self.context.command.get_params(self.context)}
        return list_arguments(self.context, self.options, without=others - {*DOMAIN})

    def _is_given(self, name: str) -> bool:
        return self.context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    @property
    def columns(self) -> list[str]:
        """Names or labels of the first input's columns; none of a raster, or without a header."""
        if not self.inputs:
            return []
        texts = {name: self.options[name] for name in OF_FILE}
        table = inspect(self.options["inputs"][0], **texts).get("tables", [{}])[0]
        return [str(one.get("label") or one["name"]) for one in table.get("columns") or ()]

    @cached_property
    def grid(self) -> Grid:
        """The public grid, of a call that names it and its area."""
        return grid_of(self.options)

    @cached_property
    def terms(self) -> Terms:
        """The terms, with a budget of 1 where none is chosen yet."""
        terms = terms_of({**self.options, "epsilon": self.options["epsilon"] or ANY_BUDGET})
        if terms.contribution is not None:
            return terms
        if self.options["person"] is not None:
            enforced = self.options["cells"] * self.options["per_cell"]
            return replace(terms, contribution=enforced)
        if self.states_contribution and self.preset is not None:
            return replace(terms, contribution=self.preset.contribution)
        return terms

    @property
    def publish_words(self) -> list[str]:
        """Options of ``geodp publish`` that no recipe holds: vouching and budget."""
        return list_arguments(self.context, self.options, without={*layout_names(), *OWN})


def is_of_area(ask: str) -> bool:
    """Whether a sentence asks where people may be."""
    return ask.startswith("state the public area") or "--domain-is-public" in ask


def is_of_persons(ask: str) -> bool:
    """Whether a sentence asks how often a person is counted."""
    return "--contribution" in ask


def words_of_area(text: str) -> list[str]:
    """Return options of ``geodp publish`` that an answer of ``--area`` stands for."""
    word = text.strip()
    if word in (OF_LAYOUT, WHOLE):
        return []
    if word == VOUCHED:
        return ["--domain-is-public"]
    if word.startswith("land:"):
        return ["--mask", word]
    return ["--grid" if word.startswith("like:") else "--bounds", word]


def read_call(outer: click.Context, words: tuple[str, ...], fetched: Mapping[str, Path]) -> Call:
    """Read words as a call of the command of a context, and look at the form of its inputs.

    ``fetched``: files of URLs. Raises UsageError, InputError and Click's errors for what is wrong
    in it.
    """
    context = _parse(outer, words)
    area = context.params["area"]
    if area is not None:
        context = _parse(outer, (*words_of_area(area), *words))
    inputs = [fetched.get(str(path), path) for path in context.params["inputs"]]
    if any(isinstance(path, str) for path in inputs):
        raise UsageError(GIVE_URL)
    for path in inputs:
        require_regular(path)
    context.params["inputs"] = tuple(inputs)
    options = dict(context.params)
    preset = options.pop("preset")
    given = tuple(map(str, context.meta[INPUTS]))
    if not options["inputs"]:
        return Call(words, context, options, given)
    _choose_names(options, given)
    found = resolve_inputs(context, options, {}, preset)
    proposal = found.proposal
    name = preset or (proposal.preset if proposal is not None else "")
    more = () if proposal is None else filter(is_of_persons, proposal.questions)
    asks = tuple(dict.fromkeys((*found.questions, *more)))
    call = Call(words, context, options, given, asks, find_preset(name) if name else None)
    if area == OF_LAYOUT and not call.stated_area and call.grid_kind:
        raise UsageError(NOT_OF_LAYOUT)
    if area == WHOLE and call.stated_area:
        raise UsageError(STATED_ALREADY)
    if not (call.asks_of_file or call.asks_area):
        _ = call.grid  # a name that there is not is told at once
    _ = call.terms
    return call


def _parse(outer: click.Context, words: tuple[str, ...]) -> click.Context:
    return outer.command.make_context(str(outer.info_name), [*words], parent=outer.parent)


def _choose_names(options: dict[str, Any], given: tuple[str, ...]) -> None:
    """Name the recipe and the folder of the release after the inputs, where nobody did."""
    stem = Path(given[0]).name.partition(".")[0] if len(given) == 1 else ""
    before = f"{stem}-" if stem and "*" not in stem else ""
    if options["recipe"] is None:
        options["recipe"] = Path(f"{before}recipe.toml")
    if options["output"] is None:
        options["output"] = Path(f"{before}release")
    require_free(options["recipe"], "--recipe", (".toml",), overwrite=options["overwrite"])
    require_unpublished(options["output"])
