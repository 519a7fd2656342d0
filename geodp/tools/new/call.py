"""A call of ``geodp new``: its arguments so far, and what follows from them and the file."""

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
from geodp.cli.request_options import terms_of
from geodp.errors import Rule, UsageError
from geodp.io.opening import require_regular
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.layout.presets import find_preset
from geodp.io.read.layout.propose import DOMAIN, FIXED_EXTENT
from geodp.io.read.rows.span import OPENING

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.layout.presets import Preset
    from geodp.privacy.terms import Terms

OF_LAYOUT, ENTIRE, VOUCHED = "layout", "all", "public"
"""Values of ``--area`` that are not names of places."""

NEW_OPTIONS = ("area", "recipe", "overwrite", "output")
"""Options of ``geodp new`` that ``geodp publish`` does not have, or has with another default."""

ANY_BUDGET = "1"
"""An epsilon with which the other terms are checked before one is chosen."""

NOT_OF_LAYOUT = Rule("area-not-of-layout", "No layout states an area of this file; name one.")

URL_NOT_IN_COMMAND = Rule("url-as-answer", "A URL is given in the command itself: geodp new URL.")

LAYOUT_AREA_STAYS = Rule(
    "area-stated-by-layout",
    "The layout states where people may be, and nothing but bounds or a mask takes its place; "
    "name a larger area.",
)


@dataclass(frozen=True)
class DraftCall:
    """A valid call, and what it leaves open.

    Attributes
    ----------
    arguments : tuple of str
        All arguments of the call, unquoted.
    context : Context
        Context of the command, parsed from them, and completed by the layout.
    options : mapping
        Its options, completed as well.
    inputs : tuple of str
        The inputs as they were given: files, folders, patterns.
    prompts : tuple of str
        Decisions that publishing would ask for: a sentence each, with options.
    preset : Preset or None
        The layout that fits the file, or that was named.
    """

    arguments: tuple[str, ...]
    context: click.Context
    options: Mapping[str, Any]
    inputs: tuple[str, ...]
    prompts: tuple[str, ...] = ()
    preset: Preset | None = None

    @property
    def file_prompts(self) -> list[str]:
        """The decisions that concern columns, rows and the grid."""
        return [
            item for item in self.prompts if not (is_about_area(item) or is_about_persons(item))
        ]

    @property
    def layout_bounds_contribution(self) -> bool:
        """Whether the layout bounds how often a person is counted in this table."""
        prompted = any(map(is_about_persons, self.prompts))
        return self.preset is not None and self.preset.contribution is not None and not prompted

    @property
    def bounds_persons(self) -> bool:
        """Whether anything bounds how often a person is counted."""
        bounds = [self.options["contribution"], self.options["person"]]
        return bounds != [None, None] or self.layout_bounds_contribution

    @property
    def grid_kind(self) -> str:
        """The part of ``--grid`` before the colon; empty where it is not known yet."""
        spec = self.options["spec"]
        return "" if spec is None else str(spec).partition(":")[0]

    @property
    def needs_area(self) -> bool:
        """Whether the area still has to be named."""
        if self.options["area"] is not None or any(map(self._is_on_command_line, DOMAIN)):
            return False
        if any(map(is_about_area, self.prompts)) or not self.grid_kind:
            return True
        return self.grid_kind not in FIXED_EXTENT

    @property
    def layout_area(self) -> list[str]:
        """The options by which the layout bounds where people may be."""
        if any(map(self._is_on_command_line, DOMAIN)):
            return []
        others = {str(item.name) for item in self.context.command.get_params(self.context)}
        return list_arguments(self.context, self.options, without=others - {*DOMAIN})

    def _is_on_command_line(self, name: str) -> bool:
        return self.context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    @property
    def columns(self) -> list[str]:
        """The names or labels of the first input's columns; none for a raster or without header."""
        if not self.inputs:
            return []
        texts = {name: self.options[name] for name in OPENING}
        table = inspect(self.options["inputs"][0], **texts).get("tables", [{}])[0]
        return [str(item.get("label") or item["name"]) for item in table.get("columns") or ()]

    @cached_property
    def grid(self) -> Grid:
        """The public grid of a call that names it and its area."""
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
        if self.layout_bounds_contribution and self.preset is not None:
            return replace(terms, contribution=self.preset.contribution)
        return terms

    @property
    def publish_options(self) -> list[str]:
        """The options of ``geodp publish`` that no recipe holds: declarations and budget."""
        return list_arguments(self.context, self.options, without={*layout_names(), *NEW_OPTIONS})


def is_about_area(ask: str) -> bool:
    """Return whether a sentence asks where people may be."""
    return ask.startswith("state the public area") or "--domain-is-public" in ask


def is_about_persons(ask: str) -> bool:
    """Return whether a sentence asks how often a person is counted."""
    return "--contribution" in ask


def area_options(text: str) -> list[str]:
    """Convert an answer to ``--area`` to options of ``geodp publish``."""
    word = text.strip()
    if word in (OF_LAYOUT, ENTIRE):
        return []
    if word == VOUCHED:
        return ["--domain-is-public"]
    if word.startswith("land:"):
        return ["--mask", word]
    return ["--grid" if word.startswith("like:") else "--bounds", word]


def read_call(
    outer: click.Context, arguments: tuple[str, ...], fetched: Mapping[str, Path]
) -> DraftCall:
    """Parse a call of a command, and inspect the form of its inputs.

    ``fetched``: files of URLs. Raises UsageError, InputError and Click's errors for an invalid
    call.
    """
    context = _parse(outer, arguments)
    area = context.params["area"]
    if area is not None:
        # The area is expanded to options of publish, which come first so that explicit ones win.
        context = _parse(outer, (*area_options(area), *arguments))
    inputs = [fetched.get(str(path), path) for path in context.params["inputs"]]
    if any(isinstance(path, str) for path in inputs):
        raise UsageError(URL_NOT_IN_COMMAND)
    for path in inputs:
        require_regular(path)
    context.params["inputs"] = tuple(inputs)
    options = dict(context.params)
    preset = options.pop("preset")
    names = tuple(map(str, context.meta[INPUTS]))
    if not options["inputs"]:
        return DraftCall(arguments, context, options, names)
    _choose_names(options, names)
    resolved = resolve_inputs(context, options, {}, preset)
    proposal = resolved.proposal
    name = preset or (proposal.preset if proposal is not None else "")
    persons = () if proposal is None else filter(is_about_persons, proposal.questions)
    prompts = tuple(dict.fromkeys((*resolved.questions, *persons)))
    call = DraftCall(
        arguments, context, options, names, prompts, find_preset(name) if name else None
    )
    if area == OF_LAYOUT and not call.layout_area and call.grid_kind:
        raise UsageError(NOT_OF_LAYOUT)
    if area == ENTIRE and call.layout_area:
        raise UsageError(LAYOUT_AREA_STAYS)
    # The grid can only be built once its columns and its area are known.
    if not (call.file_prompts or call.needs_area):
        # An unknown name is refused now, and not after all questions are answered.
        _ = call.grid
    _ = call.terms
    return call


def _parse(outer: click.Context, arguments: tuple[str, ...]) -> click.Context:
    return outer.command.make_context(str(outer.info_name), [*arguments], parent=outer.parent)


def _choose_names(options: dict[str, Any], names: tuple[str, ...]) -> None:
    """Name the recipe and the folder of the release after the inputs, unless they are named."""
    # Several inputs have no common name, so the default names are plain.
    stem = Path(names[0]).name.partition(".")[0] if len(names) == 1 else ""
    prefix = f"{stem}-" if stem and "*" not in stem else ""
    if options["recipe"] is None:
        options["recipe"] = Path(f"{prefix}recipe.toml")
    if options["output"] is None:
        options["output"] = Path(f"{prefix}release")
    require_free(options["recipe"], "--recipe", (".toml",), overwrite=options["overwrite"])
    # Checked before the first question: an occupied folder would waste all answers.
    require_unpublished(options["output"])
