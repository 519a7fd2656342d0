"""Every error of geodp says by a code which rule was broken."""

import ast
import pickle
from collections import defaultdict
from pathlib import Path

import pytest

from geodp.errors import CodeError, GeodpError, InputError, Rule, UsageError, is_name
from tests.sources import FILES, walk

SEVERAL_WORDINGS = {
    *("attribute-of-other-name", "attribute-order-unknown"),
    *("code-missing", "coordinate-missing"),
    *("crs-unknown", "library-missing", "listed-file-missing", "mask-code-too-fine"),
    *("mask-source-missing", "method-has-no-gaussian"),
    *("option-not-for-reader", "question-open", "release-id-differs", "released-table-expected"),
    "table-expected",
    *("where-spelt-variously", "axis-column-missing", "column-unknown", "labels-differ"),
    *("pairs-take-no-attributes", "layout-incomplete", "code-unknown", "kind-lacks"),
    "option-excludes-option",
}
"""Codes of rules that are worded in several ways, by what was asked for."""


@pytest.fixture(scope="module")
def sources() -> dict[Path, list[ast.AST]]:
    """All nodes of the classes, calls and assignments of every module."""
    kept = (ast.ClassDef, ast.Call, ast.Assign)
    return {path: [node for node in walk(path) if isinstance(node, kept)] for path in FILES}


@pytest.fixture(scope="module")
def kinds(sources) -> set[str]:
    """Names of all classes of errors of geodp."""
    found = {GeodpError.__name__}
    bases = {
        one.name: {base.id for base in one.bases if isinstance(base, ast.Name)}
        for nodes in sources.values()
        for one in nodes
        if isinstance(one, ast.ClassDef)
    }
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def said(call: ast.Call) -> ast.expr | None:
    """The code that a call gives, by its keyword or, of a rule, first."""
    if getattr(call.func, "id", "") == "Rule":
        return call.args[0]
    return next((one.value for one in call.keywords if one.arg == "code"), None)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


@pytest.fixture(scope="module")
def calls(sources, kinds) -> list[tuple[str, ast.Call]]:
    """All calls that make an error or a rule, by the name of the class."""
    found = [one for nodes in sources.values() for one in nodes if isinstance(one, ast.Call)]
    return [(n, one) for one in found if (n := getattr(one.func, "id", "")) in {*kinds, "Rule"}]


def test_every_message_has_a_code_and_every_code_is_a_name(calls):
    assert len(calls) > 1000
    silent = [ast.unparse(one) for _, one in calls if said(one) is None and is_text(one.args[-1])]
    assert silent == []
    codes = [one.value for _, call in calls if isinstance(one := said(call), ast.Constant)]
    assert [one for one in codes if not is_name(one)] == []


def test_a_code_is_one_class_of_error_and_one_rule(calls):
    classes, wordings = defaultdict(set), defaultdict(set)
    for name, call in calls:
        if isinstance(code := said(call), ast.Constant):
            classes[code.value] |= {name} - {"Rule"}
            wordings[code.value].add(ast.unparse(call.args[-1]))
    assert {code: of for code, of in classes.items() if len(of) > 1} == {}
    assert {code for code, of in wordings.items() if len(of) > 1} == SEVERAL_WORDINGS


def test_a_sentence_that_has_a_name_is_raised_as_a_rule(sources, kinds):
    """Otherwise its code is lost: of what has a name in a module and is raised by it."""
    for path, nodes in sources.items():
        plain = {
            target.id
            for one in nodes
            if isinstance(one, ast.Assign) and is_text(one.value)
            for target in one.targets
            if isinstance(target, ast.Name) and target.id.isupper()
        }
        for call in (one for one in nodes if isinstance(one, ast.Call)):
            if getattr(call.func, "id", "") in kinds and said(call) is None and call.args:
                sentence = call.args[-1]
                if isinstance(sentence, ast.BinOp):  # what is added to a rule changes nothing
                    sentence = sentence.left
                names = {one.id for one in ast.walk(sentence) if isinstance(one, ast.Name)}
                assert not names & plain, f"{path.name}, line {call.lineno}: {names & plain}"


def test_a_rule_keeps_its_code_until_it_is_raised():
    rule = Rule("file-exists", "{} exists;") + " replace it."
    assert pickle.loads(pickle.dumps(rule)).code == "file-exists"
    assert UsageError(rule.format("a.csv")).code == "file-exists"
    error = InputError(rule.format("it"), file="a.csv", row=3)
    assert (str(error), error.rule.code) == ("a.csv, row 3: it exists; replace it.", "file-exists")
    assert InputError(error.rule).code == CodeError(1, error.rule).code == "file-exists"
    assert pickle.loads(pickle.dumps(error)).code == "file-exists"
    assert UsageError("What a package says.").code == ""
