"""Which mutants a module has, and how one is made."""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
    ast.Invert: ast.UAdd,
}

TURNED = {"max": "min", "min": "max", "all": "any", "any": "all"}
"""Functions of which one is easily meant and the other written."""

SAID = ast.Raise | ast.Assert | ast.Import | ast.ImportFrom
"""What tells something or brings it in, and computes nothing."""

Edit = Callable[[ast.AST], None]


@dataclass(frozen=True)
class Mutant:
    """One change of one module; ``name`` stays the same when other lines change."""

    module: str
    function: str
    kind: str
    before: str
    after: str
    place: int
    node: int
    edit: Edit

    @property
    def name(self) -> str:
        change = f"{self.before} -> {self.after}"
        where = "" if self.place == 0 else f" (occurrence {self.place + 1})"
        return f"{self.module}:{self.function} {self.kind}: {change}{where}"

    def applied(self, tree: ast.Module) -> ast.Module:
        changed = copy.deepcopy(tree)
        self.edit(list(ast.walk(changed))[self.node])
        return ast.fix_missing_locations(changed)


def mutants(module: str, tree: ast.Module, functions: tuple[str, ...] = ()) -> list[Mutant]:
    """All of a module, or of those functions: ``name``, ``Class.name``, ``Class``."""
    number = {id(node): place for place, node in enumerate(ast.walk(tree))}
    found, seen = [], Counter()
    for function, node in _functions(tree):
        if functions and not any(function == f or function.startswith(f"{f}.") for f in functions):
            continue
        for inner in _code(node):
            for kind, edit in _changes(inner):
                before, after = _said(inner, edit)
                if before == after:
                    continue
                key = (function, kind, before, after)
                place = number[id(inner)]
                found.append(Mutant(module, function, kind, before, after, seen[key], place, edit))
                seen[key] += 1
    missing = [f for f in functions if not any(f in (m.function, *_above(m)) for m in found)]
    if missing:
        raise LookupError(f"{module} has no mutants in {', '.join(missing)}")
    return found


def _above(mutant: Mutant) -> list[str]:
    parts = mutant.function.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts))]


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions with their names, and what else a module or class says, as ``<module>``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.If):
            yield f"{prefix}<module>" if not prefix else f"{prefix}<class>", node


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """What is run of a function: no text of errors, docstring, annotation or decorator.

    Nor ``strict`` of zip, which only says what the programmer takes for granted.
    """
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            words = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            strict = isinstance(child, ast.keyword) and child.arg == "strict"
            if isinstance(child, ast.AST) and not (words or strict or isinstance(child, SAID)):
                yield from _code(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            for new in COMPARED[type(op)]:
                yield "comparison", _replace("ops", new(), place)
        # One part of what must agree altogether, such as the hash beside the number of an entry.
        number = len(_compared(node)[0].elts) if _compared(node) else 0
        yield from (("part", _drop_part(place)) for place in range(number))
    elif isinstance(node, ast.Constant):
        for value in _values(node.value):
            yield "constant", _replace("value", value)
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp | ast.UnaryOp):
        if type(node.op) in OPERATORS:
            yield "operator", _replace("op", OPERATORS[type(node.op)]())
    elif isinstance(node, ast.Call):
        turned = TURNED.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if turned is not None:
            yield "function", _replace("func", ast.Name(turned, ast.Load()))
        yield from (("argument", _drop("args", place)) for place in range(len(node.args)))
        named = [place for place, word in enumerate(node.keywords) if word.arg != "strict"]
        yield from (("argument", _drop("keywords", place)) for place in named)
    elif isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 1:
        if not isinstance(getattr(node, "ctx", None), ast.Store):
            yield from (("element", _drop("elts", place)) for place in range(len(node.elts)))
    elif isinstance(node, ast.Dict):
        yield from (("element", _drop_entry(place)) for place in range(len(node.keys)))
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        if not isinstance(node.test, ast.Compare):
            yield "condition", _negate
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise):
            yield "guard", _replace("test", ast.Constant(False))
    elif isinstance(node, ast.comprehension):
        yield from (("filter", _drop("ifs", place)) for place in range(len(node.ifs)))


def _values(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1)
    if isinstance(value, float):
        return (value * 2,)
    if isinstance(value, str):
        sentence = " " in value and value.endswith(".")  # what is said to people, such as errors
        return () if sentence else (f"{value}x",)
    if isinstance(value, bytes):
        return (value + b"x",)
    return ()


def _replace(field: str, new: object, place: int | None = None) -> Edit:
    def edit(node: ast.AST) -> None:
        if place is None:
            setattr(node, field, new)
        else:
            getattr(node, field)[place] = new

    return edit


def _drop(field: str, place: int) -> Edit:
    def edit(node: ast.AST) -> None:
        del getattr(node, field)[place]

    return edit


def _compared(node: ast.Compare) -> tuple[ast.Tuple, ...]:
    """Two tuples of one length that are compared, or that are looked for in a set of such."""
    other = node.comparators[0]
    other = other.elt if isinstance(other, ast.SetComp) else other
    both = tuple(one for one in (node.left, other) if isinstance(one, ast.Tuple))
    return both if len(both) == 2 and len(both[0].elts) == len(both[1].elts) else ()


def _drop_part(place: int) -> Edit:
    def edit(node: ast.AST) -> None:
        for one in _compared(node):
            del one.elts[place]

    return edit


def _drop_entry(place: int) -> Edit:
    def edit(node: ast.AST) -> None:
        del node.keys[place], node.values[place]

    return edit


def _negate(node: ast.AST) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)


def copied(node: ast.AST) -> ast.AST:
    """Return a node and its lists anew, which an edit changes; what is below them is shared."""
    if isinstance(node, ast.Compare):  # parts of what is compared are changed, too
        return copy.deepcopy(node)
    new = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(new, name, [*value])
    return new


def _said(node: ast.AST, edit: Edit) -> tuple[str, str]:
    """A node before and after, in a line."""
    new = copied(node)
    edit(new)
    if isinstance(node, ast.If | ast.While):
        node, new = node.test, new.test
    if isinstance(node, ast.comprehension):
        return _line(node), _line(new)
    return _line(node), _line(ast.fix_missing_locations(new))


def _line(node: ast.AST) -> str:
    try:
        text = ast.unparse(node)
    except ValueError:  # Python 3.11 has no words for some texts inside an f-string
        text = ast.dump(node)
    return " ".join(text.split())
