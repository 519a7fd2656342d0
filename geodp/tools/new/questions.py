"""The questions that a call leaves open, their answers, and tables of errors for budgets.

A call is the command line of a release as far as it is known.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.check import require_unpublished
from geodp.cli.inputs import find_unit_names, grid_of, request_sources
from geodp.cli.layout import INPUTS, list_arguments, resolve_inputs
from geodp.cli.output import require_free
from geodp.cli.recipes import layout_names
from geodp.cli.request_options import terms_of
from geodp.cli.translation import translate, translate_message
from geodp.errors import Rule, UsageError
from geodp.io.opening import require_regular
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.layout.presets import find_preset
from geodp.io.read.layout.propose import DOMAIN, FIXED_EXTENT, REQUEST_CONTRIBUTION
from geodp.io.read.rows.names import list_names
from geodp.io.read.rows.span import OPENING, suggest_header
from geodp.options.file_question import ASK_CONTRIBUTION, COUNTS, HOW_MANY
from geodp.release.file_answers import FileAnswer, are_trips, list_answers

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.layout.presets import Preset
    from geodp.privacy.terms import Terms
    from geodp.tools.plan.plan import Plan, Planned


OF_LAYOUT, ENTIRE, VOUCHED = "layout", "all", "public"
"""Values of ``--area`` that are not names of places."""

NEW_OPTIONS = ("question", "area", "recipe", "overwrite", "output")
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
class NewCall:
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
    answers : tuple of FileAnswer
        Questions that the file can answer, if one is to be chosen; else the chosen one, unless it
        is that of counts.
    unknown : mapping of str to str
        Options that its command needs and that only the operator knows, each with a sentence.
    """

    arguments: tuple[str, ...]
    context: click.Context
    options: Mapping[str, Any]
    inputs: tuple[str, ...]
    prompts: tuple[str, ...] = ()
    preset: Preset | None = None
    answers: tuple[FileAnswer, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> FileAnswer | None:
        """The question that is answered; None for counts, and where none is chosen yet."""
        return None if self.options["question"] in (None, COUNTS) else self.answers[0]

    @property
    def command(self) -> str:
        """The command that publishes, without ``geodp``."""
        return self.options["question"] or COUNTS

    @property
    def takes_recipe(self) -> bool:
        """Whether the command that publishes finds a layout, so that a recipe is written for it."""
        return self.answer is None or any(
            one.name == "preset" for one in self.context.command.get_params(self.context)
        )

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
        if self.answer is not None:
            return True  # it is among the questions of its command
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
        table = _inspect(self.options).get("tables", [{}])[0]
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
        """The options of the command that no recipe holds: declarations and budget."""
        of_recipe = layout_names(self.context.command) if self.takes_recipe else set()
        return list_arguments(self.context, self.options, without={*of_recipe, *NEW_OPTIONS})


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
) -> NewCall:
    """Parse a call of a command, and inspect the form of its inputs.

    ``fetched``: files of URLs. Raises UsageError, InputError and Click's errors for an invalid
    call.
    """
    context = _parse(outer, arguments)
    area = context.params["area"]
    if area is not None:
        # The area is expanded to options of publish, which come first so that explicit ones win.
        context = _parse(outer, (*area_options(area), *arguments))
    if (named := find_unit_names(context.params)) is not None:
        return read_call(outer, ("--units-name", named, *arguments), fetched)
    inputs = [fetched.get(str(path), path) for path in context.params["inputs"]]
    if any(isinstance(path, str) for path in inputs):
        raise UsageError(URL_NOT_IN_COMMAND)
    for path in inputs:
        require_regular(path)
    context.params["inputs"] = tuple(inputs)
    names = tuple(map(str, context.meta[INPUTS]))
    if not inputs:
        return NewCall(arguments, context, dict(context.params), names)
    description = _inspect(context.params)
    answers = _list_all_answers(description, inputs)
    question = context.params["question"]
    if question is None and len(answers) == 1 and answers[0].command != COUNTS:
        return read_call(outer, ("--question", answers[0].command, *arguments), fetched)
    if question not in (None, COUNTS):
        return _read_call_of_kind(outer, arguments, context, description, answers)
    options = dict(context.params)
    preset = options.pop("preset")
    _choose_names(options, names)
    resolved = resolve_inputs(context, options, preset)
    proposal = resolved.proposal
    name = preset or (proposal.preset if proposal is not None else "")
    persons = () if proposal is None else filter(is_about_persons, proposal.questions)
    prompts = tuple(dict.fromkeys((*resolved.questions, *persons)))
    layout = find_preset(name) if name else None
    open_answers = tuple(answers) if question is None and len(answers) > 1 else ()
    call = NewCall(arguments, context, options, names, prompts, layout, open_answers)
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


def _inspect(options: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the form of the first input."""
    return inspect(options["inputs"][0], **{name: options[name] for name in OPENING})


def _list_all_answers(description: Mapping[str, Any], files: Sequence[Path]) -> list[FileAnswer]:
    """List the questions that files can answer, counts last."""
    # Trips have no one place at which they could be counted.
    counts = [] if are_trips(description) else [FileAnswer(HOW_MANY, COUNTS, {}, (), ())]
    return [*list_answers(description, files), *counts]


def _read_call_of_kind(
    outer: click.Context,
    arguments: tuple[str, ...],
    context: click.Context,
    description: Mapping[str, Any],
    answers: Sequence[FileAnswer],
) -> NewCall:
    """Complete a call of a command of a kind by the columns of its first input.

    What the operator decides, and what is in capitals, is asked.
    """
    inputs, command = context.params["inputs"], context.params["question"]
    answer = next((one for one in answers if one.command == command), None)
    if answer is None:
        raise UsageError(
            f"The columns of {inputs[0]} do not show that geodp {command} can read it: give that "
            "command the names of its columns itself.",
            code="question-not-of-file",
        )
    stated = _list_stated(context)
    unknown = _list_unknown(context, answer)
    proposed = [
        word
        for flag, values in answer.options.items()
        if flag not in {*stated, *unknown}
        for word in (flag, *values)
    ]
    area = context.params["area"]
    words = () if area is None else area_options(area)
    completed = _parse(outer, (*words, *proposed, *arguments))
    completed.params["inputs"] = inputs
    options = dict(completed.params)
    names = tuple(map(str, context.meta[INPUTS]))
    _choose_names(options, names)
    prompts = [] if options["spec"] is None else request_sources(options)
    table = description["tables"][0]
    if "header_row" in table:  # a wrong guess would drop records
        prompts.append(suggest_header(table["header_row"], table["first_row"]))
    remaining = {flag: ask for flag, ask in unknown.items() if flag not in stated}
    call = NewCall(arguments, completed, options, names, tuple(prompts), None, (answer,), remaining)
    if not (call.file_prompts or call.needs_area):
        _ = call.grid
    return call


def _list_stated(context: click.Context) -> set[str]:
    """List the flags of a call's command line."""
    return {
        one.opts[-1]
        for one in context.command.get_params(context)
        if context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
    }


def _list_unknown(context: click.Context, answer: FileAnswer) -> dict[str, str]:
    """Return the flags of what only the operator knows, each with a sentence, or its help."""
    unknown = {flag: ask for ask in answer.asks for flag in _find_flags(ask)[:1]}
    params = context.command.get_params(context)
    helps = {one.opts[-1]: one.help for one in params if isinstance(one, click.Option)}
    return unknown | {flag: str(helps[flag]) for flag in answer.blanks if flag not in unknown}


def _find_flags(text: str) -> list[str]:
    """Return the flags of the options in a sentence."""
    return re.findall(r"--[a-z][a-z-]*", text)


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


EPSILONS = ("0.1", "0.5", "1", "2")
"""Epsilons whose errors are shown before one is chosen."""

SIZES = (16, 256, 4096)
"""Cells of the blocks that are shown where a grid has no published areas."""

TITLE = "95 % margin of error of a sum, in people, by epsilon, before any data is read"


def show_errors(grid: Grid, terms: Terms, epsilons: Sequence[str]) -> Plan:
    """Print the errors of the same areas under each budget; return the plan of the first."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from geodp.privacy.loss import budget
    from geodp.tools.plan.plan import Planner

    all_terms = [replace(terms, loss=budget(epsilon, None, None)) for epsilon in epsilons]
    plans = [Planner(grid, candidate).plan(None) for candidate in all_terms]
    first = plans[0]
    table = Table(box=None, pad_edge=False)
    table.add_column(translate("area"), overflow="fold")
    for epsilon in epsilons:
        table.add_column(escape(epsilon), justify="right")
    if first.people is not None:
        table.add_column(translate("people there, on average"), justify="right")
    for number, area in enumerate(_areas(first)):
        margins = [_areas(plan)[number].margin_95 for plan in plans]
        shown = ("" if margin is None else f"{margin:,.1f}" for margin in margins)
        row = [escape(_title(area)), *shown]
        if first.people is not None:
            row.append(f"{first.people * area.cells / first.grid.size:,.1f}")
        table.add_row(*row)
    click.echo(f"\n{translate(TITLE)}")
    console = Console(highlight=False)
    # A narrow terminal would fold the columns of numbers.
    console.width = max(console.width, 100)
    console.print(table)
    return first


def _areas(plan: Plan) -> list[Planned]:
    """List a cell and the larger published areas, or else blocks of some sizes."""
    blocks = [one for one in plan.blocks if one.standard_error is not None]
    larger = [one for one in plan.areas if one.standard_error is not None and one.cells > 1]
    if not larger:
        larger = [one for one in blocks if one.cells in SIZES]
    return [*blocks[:1], *sorted(larger, key=lambda one: one.cells)]


def _title(area: Planned) -> str:
    if area.name:
        return f"{area.name} ({translate_message(_cells(area.cells))})"
    return translate_message(_cells(area.cells))


def _cells(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells:,} cells"


WHICH_FILE = "Which file? A path, several, a folder or a pattern such as 'data/*.zip'."

WHICH_QUESTION = "Which question is to be answered?"

WHICH_AREA = (
    "Which area? Where people may be counted is public, and is never taken from the rows of a file."
)

WHICH_EPSILON = (
    "Which epsilon? The smaller, the better everybody is protected, and the larger the errors. "
    "Releases about the same people add up."
)

MORE = ("--OPTION ...", "options of the command that publishes, as on its command line")

UNKNOWN = Rule(
    "contribution-unknown",
    "Ask the maker of the file. A table of residents counts everybody once; a total next to its "
    "parts counts everybody twice, so leave out one of them; for visits or trips, first limit how "
    "many of one person are in the file. Records that identify the person need no answer: --points "
    "--person COLUMN. Otherwise nothing can be guaranteed.",
)

MAX_NAMES = 4
"""Number of areas that are proposed by name."""


@dataclass(frozen=True)
class OpenQuestion:
    """A question of the interview.

    Attributes
    ----------
    number : int
        Which of the four it is.
    text : str
        Text, as the catalogue has it.
    prompt : str
        Label in front of the answer.
    option : str
        Option that gives the answer without a question.
    make : callable
        Converts an answer to options. UsageError for an invalid one.
    rows : tuple of pairs of str
        Possible answers, and their meanings.
    default : str, optional
        Given only where it vouches for nothing.
    notes : tuple of str
        Sentences that follow the text, in the reader's language.
    show : callable, optional
        Prints information that helps to answer.
    """

    number: int
    text: str
    prompt: str
    option: str
    make: Callable[[str], list[str]]
    rows: tuple[tuple[str, str], ...] = ()
    default: str | None = None
    notes: tuple[str, ...] = ()
    show: Callable[[], None] | None = None

    def options_for(self, answer: str) -> list[str]:
        """Convert an answer to options, unless it consists of options itself."""
        return split_arguments(answer) if answer.startswith("--") else self.make(answer)


def split_arguments(answer: str) -> list[str]:
    """Split an answer into arguments, as a shell does; on Windows a backslash is part of a path."""
    lexer = shlex.shlex(answer, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    # On Windows a backslash separates folders and must not escape.
    lexer.escape = "" if os.name == "nt" else lexer.escape
    try:
        return list(lexer)
    except ValueError:
        raise UsageError("A quotation mark is not closed.", code="answer-quote-open") from None


def list_questions(call: NewCall) -> list[OpenQuestion]:
    """List the questions that a call leaves open, in their order."""
    if call.options["question"] is None and call.answers:
        return [_which_question(call)]
    of_file = (
        [_file_prompt_question(call, prompt) for prompt in call.file_prompts]
        if call.inputs
        else [OpenQuestion(1, WHICH_FILE, "File", "FILE", split_arguments)]
    )
    if of_file and (columns := call.columns):
        of_file[0] = replace(of_file[0], notes=(_list_columns(columns),))
    questions = [*(_flag_question(call, flag) for flag in call.unknown), *of_file]
    if not call.inputs or call.needs_area:
        questions.append(_area_question(call))
    if not call.inputs or not call.bounds_persons:
        questions.append(_contribution_question(call))
    # The errors by epsilon need the grid and the terms, so all other questions come first.
    if call.options["epsilon"] is None:
        questions.append(_epsilon_question(call, has_grid=not questions))
    return sorted(questions, key=lambda one: one.number)


def _which_question(call: NewCall) -> OpenQuestion:
    """Build the question of which question the file is to answer."""
    numbered = {str(number): one for number, one in enumerate(call.answers, start=1)}
    rows = [(number, one.question) for number, one in numbered.items()]
    commands = {number: one.command for number, one in numbered.items()}

    def choose(answer: str) -> list[str]:
        if answer not in commands:
            raise UsageError(f"Answer with a number: 1 to {len(commands)}.", code="answer-number")
        return ["--question", commands[answer]]

    return OpenQuestion(
        1,
        WHICH_QUESTION,
        "Question",
        "--question",
        choose,
        tuple(rows),
    )


def _flag_question(call: NewCall, flag: str) -> OpenQuestion:
    """Build the question for an option of the command of a kind."""
    params = call.context.command.get_params(call.context)
    (option,) = (one for one in params if isinstance(one, click.Option) and one.opts[-1] == flag)
    text, several = call.unknown[flag], option.nargs > 1
    row = (flag, option.help or "")
    return OpenQuestion(
        3 if flag == "--contribution" else 1,
        _sentence(text),
        flag.removeprefix("--"),
        flag,
        lambda answer: [flag, *(split_arguments(answer) if several else [answer])],
        (MORE,) if text == option.help else (row, MORE),
    )


def _list_columns(columns: Sequence[str]) -> str:
    """Format the columns of a file as a sentence."""
    return translate_message(f"Its columns: {list_names(columns)}.")


def _file_prompt_question(call: NewCall, ask: str) -> OpenQuestion:
    """Build the question for a decision about the form of the file, with the options it names."""
    params = call.context.command.get_params(call.context)
    flags = {
        parameter.opts[-1]: parameter for parameter in params if isinstance(parameter, click.Option)
    }
    names = dict.fromkeys(re.findall(r"--[a-z][a-z-]*", ask))
    named = [flags[name] for name in names if name in flags]
    taking = [parameter for parameter in named if not parameter.is_flag]
    flag = (taking or named)[0].opts[-1] if named else "--preset"
    rows = [(parameter.opts[-1], parameter.help or "") for parameter in named]
    return OpenQuestion(
        1,
        _sentence(ask),
        flag.removeprefix("--"),
        flag,
        lambda answer: [flag, answer],
        (*rows, MORE),
    )


def _sentence(ask: str) -> str:
    """Format a decision as a sentence in the reader's language, without repeating the question."""
    english = ask.removeprefix(REQUEST_CONTRIBUTION)
    text = translate_message(english).removeprefix("; ")
    if text == english:  # some are sentences elsewhere, with a full stop
        text = translate_message(f"{english}.").removesuffix(".")
    stop = "." if text.isascii() or text == english else "。"
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(("。", ".", "?")) else stop)


def _area_question(call: NewCall) -> OpenQuestion:
    rows: list[tuple[str, str]] = []
    default = None
    if options := call.layout_area:
        # A default is allowed here, as the layout answers for the area and not the operator.
        default = OF_LAYOUT
        rows.append((OF_LAYOUT, f"as the layout states it: {' '.join(options)}"))
    if any("--domain-is-public" in prompt for prompt in call.prompts):
        rows.append((VOUCHED, "you vouch that its extent was not chosen by where people are"))
        rows.append(("like:TEMPLATE.tif", "the cells and the extent of a public raster"))
    else:
        rows += _places(call)
        if call.grid_kind and not options and not any(map(is_about_area, call.prompts)):
            rows.append((ENTIRE, f"the whole extent of {call.options['spec']}"))
    return OpenQuestion(
        2,
        WHICH_AREA,
        "Area",
        "--area",
        lambda answer: ["--area", answer],
        (*rows, MORE),
        default,
    )


def _places(call: NewCall) -> list[tuple[str, str]]:
    """List the public areas that may be named, first those that the grid is made for."""
    from geodp.grid.codes import code_system
    from geodp.io.read.public.areas import list_areas

    named: tuple[str, ...] = ()
    if call.grid_kind and call.grid_kind not in FIXED_EXTENT:
        named = list_areas(code_system(str(call.options["spec"])))
    countries = [area for area in named if area.isascii()]
    # A code system of no country, or of a continent, proposes examples.
    if len(countries) != 1:
        countries, named = ["germany"], ("germany", "bayern", "東京都")
    names = ", ".join(named[:MAX_NAMES])
    return [
        (f"land:{countries[0]}", "land by name, widened by 10 km: countries, europe, world"),
        (named[0], f"bounds of a public area by its name: {names} ..."),
        ("W S E N degrees", "bounds in degrees; without the word in units of the grid"),
    ]


def _contribution_question(call: NewCall) -> OpenQuestion:
    prompts = [
        prompt
        for prompt in call.prompts
        if is_about_persons(prompt) and prompt != REQUEST_CONTRIBUTION
    ]
    named = [prompt for prompt in prompts if "--person" in prompt]
    rows = [
        ("1", "everybody is counted once, such as residents in a census"),
        ("N", "up to N times, such as trips of which a person has N at most"),
        *(("--person COLUMN", _sentence(prompt)) for prompt in named),
        ("?", "you do not know"),
    ]
    return OpenQuestion(
        3,
        ASK_CONTRIBUTION,
        "Times",
        "--contribution",
        _contribution_options,
        (*rows, MORE),
        notes=tuple(_sentence(prompt) for prompt in prompts if prompt not in named),
    )


def _contribution_options(answer: str) -> list[str]:
    if answer == "?":
        raise UsageError(UNKNOWN)
    return ["--contribution", answer]


def _epsilon_question(call: NewCall, *, has_grid: bool) -> OpenQuestion:
    rows = (
        ("0.1", "or another of these, or any number above 0"),
        ("--people N", "a public guess of how many are counted, shown next to the errors"),
    )

    if call.answer is not None:
        has_grid = False  # the errors of other releases than counts are those of their own plans

    def show() -> None:
        show_errors(call.grid, call.terms, EPSILONS)

    return OpenQuestion(
        4,
        WHICH_EPSILON,
        "Epsilon",
        "--epsilon",
        lambda answer: ["--epsilon", answer],
        (*rows, MORE),
        show=show if has_grid else None,
    )


def print_question(question: OpenQuestion, formatter: click.HelpFormatter) -> None:
    """Print a question, and the possible answers."""
    text = " ".join((translate_message(question.text), *question.notes))
    formatter.write_text(f"{question.number}. {text}")
    with formatter.indentation():
        if question.rows:
            formatter.write_dl(
                [(answer, translate_message(meaning)) for answer, meaning in question.rows]
            )
    click.echo(formatter.getvalue(), nl=False)
    if question.show is not None:
        question.show()
