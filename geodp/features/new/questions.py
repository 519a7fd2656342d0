"""The questions that a call leaves open, in their order, and the options that answers stand for."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import click

from geodp.cli.translation import translate_message
from geodp.errors import Rule, UsageError
from geodp.features.new.call import OF_LAYOUT, VOUCHED, WHOLE, Call, is_of_area, is_of_persons
from geodp.features.new.errors import EPSILONS, show_errors
from geodp.io.read.layout.propose import REQUEST_CONTRIBUTION
from geodp.io.read.rows.names import list_names

WHICH_FILE = "Which file? A path, several, a folder or a pattern such as 'data/*.zip'."

WHICH_AREA = (
    "Which area? Where people may be counted is public, and is never taken from the rows of a file."
)

HOW_OFTEN = (
    "How often is one person counted at most, in all rows and files together? You vouch for it; no "
    "row tells it."
)

WHICH_EPSILON = (
    "Which epsilon? The smaller, the better everybody is protected, and the larger the errors. "
    "Releases about the same people add up."
)

MORE = ("--OPTION ...", "options of geodp publish, as on its command line")

UNKNOWN = Rule(
    "contribution-unknown",
    "Ask who made the file. A table of residents counts everybody once; a total beside its parts "
    "counts everybody twice, so leave out one of them; of visits or trips limit first how many of "
    "a person are in the file. Records that name their person need no answer: --points --person "
    "COLUMN. Without any of these nothing can be promised.",
)

MOST_NAMES = 4
"""Areas that are proposed by name."""


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes
    ----------
    number : int
        Of the four that there are.
    text : str
        As the catalogue has it.
    prompt : str
        What stands before the answer.
    option : str
        That gives the answer without a question.
    make : callable
        Returns the words of options that an answer stands for. UsageError for one that is none.
    rows : tuple of pairs of str
        What may be answered, and what it means.
    default : str, optional
        Only where it vouches for nothing.
    notes : tuple of str
        Sentences that follow the text, in the reader's language.
    show : callable, optional
        Prints what helps to answer.
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

    def words_of(self, answer: str) -> list[str]:
        """Return the words of options that an answer stands for, or that it is."""
        return split_words(answer) if answer.startswith("--") else self.make(answer)


def split_words(answer: str) -> list[str]:
    """Split an answer into words, as a shell does; a backslash of Windows is one of a path."""
    lexer = shlex.shlex(answer, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    lexer.escape = "" if os.name == "nt" else lexer.escape
    try:
        return list(lexer)
    except ValueError:
        raise UsageError(
            "A quotation mark has no other that ends it.", code="answer-quote-open"
        ) from None


def list_questions(call: Call) -> list[Question]:
    """Return what a call leaves open, in the order of the questions."""
    questions = [_of_ask(call, one) for one in call.asks_of_file] if call.inputs else [_of_file()]
    if questions and (columns := call.columns):
        questions[0] = replace(questions[0], notes=(_list_columns(columns),))
    if not call.inputs or call.asks_area:
        questions.append(_of_area(call))
    if not call.inputs or not call.bounds_persons:
        questions.append(_of_contribution(call))
    if call.options["epsilon"] is None:
        questions.append(_of_epsilon(call, known=not questions))
    return questions


def _list_columns(columns: Sequence[str]) -> str:
    """Return the columns of a file as a sentence."""
    return translate_message(f"Its columns: {list_names(columns)}.")


def _of_file() -> Question:
    return Question(1, WHICH_FILE, "File", "FILE", split_words)


def _of_ask(call: Call, ask: str) -> Question:
    """Return the question for what the form of the file leaves open, with the options it names."""
    params = call.context.command.get_params(call.context)
    flags = {one.opts[-1]: one for one in params if isinstance(one, click.Option)}
    words = dict.fromkeys(re.findall(r"--[a-z][a-z-]*", ask))
    named = [flags[word] for word in words if word in flags]
    taking = [one for one in named if not one.is_flag]
    flag = (taking or named)[0].opts[-1] if named else "--preset"
    rows = [(one.opts[-1], one.help or "") for one in named]
    return Question(
        1,
        _sentence(ask),
        flag.removeprefix("--"),
        flag,
        lambda answer: [flag, answer],
        (*rows, MORE),
    )


def _sentence(ask: str) -> str:
    """Return what is asked as a sentence, in the reader's language; not a question once more."""
    text = translate_message(ask.removeprefix(REQUEST_CONTRIBUTION)).removeprefix("; ")
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(("。", ".")) else ".")


def _of_area(call: Call) -> Question:
    rows: list[tuple[str, str]] = []
    default = None
    if stated := call.stated_area:
        default = OF_LAYOUT
        rows.append((OF_LAYOUT, f"as the layout states it: {' '.join(stated)}"))
    if any("--domain-is-public" in one for one in call.asks):
        rows.append((VOUCHED, "you vouch that its extent was not chosen by where people are"))
        rows.append(("like:TEMPLATE.tif", "the cells and the extent of a public raster"))
    else:
        rows += _places(call)
        if call.grid_kind and not stated and not any(map(is_of_area, call.asks)):
            rows.append((WHOLE, f"the whole extent of {call.options['spec']}"))
    return Question(
        2,
        WHICH_AREA,
        "Area",
        "--area",
        lambda answer: ["--area", answer],
        (*rows, MORE),
        default,
    )


def _places(call: Call) -> list[tuple[str, str]]:
    """Return the public areas that may be named, first those that the grid is made for."""
    from geodp.grid.codes import code_system
    from geodp.io.read.layout.propose import OWN_EXTENT
    from geodp.io.read.public.areas import list_areas

    named: tuple[str, ...] = ()
    if call.grid_kind and call.grid_kind not in OWN_EXTENT:
        named = list_areas(code_system(str(call.options["spec"])))
    countries = [one for one in named if one.isascii()]
    if len(countries) != 1:  # of no country, or of a continent
        countries, named = ["germany"], ("germany", "bayern", "東京都")
    names = ", ".join(named[:MOST_NAMES])
    return [
        (f"land:{countries[0]}", "land by name, widened by 10 km: countries, europe, world"),
        (named[0], f"bounds of a public area by its name: {names} ..."),
        ("W S E N degrees", "bounds in degrees; without the word in units of the grid"),
    ]


def _of_contribution(call: Call) -> Question:
    told = [one for one in call.asks if is_of_persons(one) and one != REQUEST_CONTRIBUTION]
    named = [one for one in told if "--person" in one]
    rows = [
        ("1", "everybody is counted once, such as residents in a census"),
        ("N", "up to N times, such as trips of which a person has N at most"),
        *(("--person COLUMN", _sentence(one)) for one in named),
        ("?", "you do not know"),
    ]
    return Question(
        3,
        HOW_OFTEN,
        "Times",
        "--contribution",
        _words_of_contribution,
        (*rows, MORE),
        notes=tuple(_sentence(one) for one in told if one not in named),
    )


def _words_of_contribution(answer: str) -> list[str]:
    if answer == "?":
        raise UsageError(UNKNOWN)
    return ["--contribution", answer]


def _of_epsilon(call: Call, *, known: bool) -> Question:
    rows = (
        ("0.1", "or another of these, or any number above 0"),
        ("--people N", "a public guess of all who are counted, to be seen beside the errors"),
    )

    def show() -> None:
        show_errors(call.grid, call.terms, EPSILONS)

    return Question(
        4,
        WHICH_EPSILON,
        "Epsilon",
        "--epsilon",
        lambda answer: ["--epsilon", answer],
        (*rows, MORE),
        show=show if known else None,
    )


def say(question: Question, formatter: click.HelpFormatter) -> None:
    """Print a question, and what may be answered."""
    text = " ".join((translate_message(question.text), *question.notes))
    formatter.write_text(f"{question.number}. {text}")
    with formatter.indentation():
        if question.rows:
            formatter.write_dl([(one, translate_message(what)) for one, what in question.rows])
    click.echo(formatter.getvalue(), nl=False)
    if question.show is not None:
        question.show()
