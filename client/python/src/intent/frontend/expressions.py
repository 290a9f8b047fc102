"""Expressions: operators, subscripts, attributes, conditions."""

from __future__ import annotations

import ast
import types

from .. import _core as core
from .. import dtypes, intrinsics
from ..annotations import Enum
from . import branches, calls, hints, origins, scopes, syntax
from .state import State
from .values import (
    POISON,
    Domain,
    EnumConstexpr,
    Record,
    Shape,
    is_leaf,
    is_literal,
    is_poison,
)

_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "shr",
}

_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}

_OTHER_COMPARISONS = {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}
_COMPARED_BY = "values are compared by == != < <= > >=, and I.reduce.any tells of a whole tensor"

_NOT_PART = {
    ast.Lambda: "a lambda; write a helper with @intent.fn",
    ast.ListComp: "a comprehension; use tensors or a loop",
    ast.SetComp: "a comprehension; use tensors or a loop",
    ast.DictComp: "a comprehension; use tensors or a loop",
    ast.GeneratorExp: "a generator; use tensors or a loop",
    ast.List: "a list; use a tuple",
    ast.Dict: "a dict; use I.record",
    ast.Set: "a set; use a tuple",
    ast.JoinedStr: "a formatted string",
    ast.NamedExpr: "an assignment inside an expression; write it as a statement",
    ast.Starred: "unpacking with *",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Slice: "a slice outside a subscript; slice(start, stop) makes one",
}


def evaluate(state: State, node):
    """The value of an expression."""
    state.step(node)
    handler = _HANDLERS.get(type(node))
    if handler is None:
        what = _NOT_PART.get(type(node), f"{type(node).__name__} expressions")
        state.fail("E0802", f"not part of the language: {what}", node)
    return handler(state, node)


def _constant(state, node):
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool):
        return scopes.check_integer(state, value, node)
    if isinstance(value, (bool, float, str, type(None), type(...))):
        return value
    state.fail("E0802", f"a literal of type {type(value).__name__} is not part of the language", node)


def _name(state, node):
    return scopes.lookup(state, node.id, node)


def _tuple(state, node):
    return tuple(evaluate(state, item) for item in node.elts)


def as_tuple(state, value):
    """A tuple's items, or None if `value` is no tuple; the extents of a shape become values."""
    if isinstance(value, Shape):
        return tuple(state.builder.dim(value.source, axis) for axis in range(value.rank))
    return value if isinstance(value, tuple) else None


# Operators.


def _unary(state, node):
    value = evaluate(state, node.operand)
    if isinstance(node.op, ast.Not):
        if isinstance(value, bool):
            return not value
        value = state.operand(value, "the operand of `not`", node)
        state.at(node)
        return state.builder.logical_not(value)
    value = state.operand(value, "the operand", node)
    if isinstance(node.op, ast.USub):
        if is_literal(value) and not isinstance(value, bool):
            return -value
        state.at(node)
        return state.builder.unary("negate", value)
    if isinstance(node.op, ast.UAdd):
        return value
    state.at(node)
    return state.builder.unary("not", value)


def _binary(state, node):
    # Long sums lean to the left: walk that spine without recursion.
    spine = [node]
    while isinstance(spine[-1].left, ast.BinOp):
        spine.append(spine[-1].left)
    left = evaluate(state, spine[-1].left)
    for current in reversed(spine):
        if current is not node:
            state.step(current)
        left = apply_binary(state, current, current.op, left, evaluate(state, current.right))
    return left


def apply_binary(state, node, op, left, right):
    if isinstance(op, ast.MatMult):
        state.fail(
            "E0802",
            "the operator @ is not part of the language; use I.matmul, I.matvec, I.vecmat or I.dot with its acc_dtype",
            node,
        )
    if isinstance(op, ast.Add) and isinstance(left, (tuple, Shape)) and isinstance(right, (tuple, Shape)):
        state.at(node)
        return as_tuple(state, left) + as_tuple(state, right)
    left = state.operand(left, "the left operand", node)
    right = state.operand(right, "the right operand", node)
    state.at(node)
    return state.builder.binary(_BINARY[type(op)], left, right)


def _compare(state, node):
    left = evaluate(state, node.left)
    result = None
    for op, right_node in zip(node.ops, node.comparators):
        right = evaluate(state, right_node)
        one = _compare_two(state, node, op, left, right)
        if result is None:
            result = one
        elif isinstance(result, bool) and isinstance(one, bool):
            result = result and one
        else:
            state.at(node)
            result = state.builder.binary("and", result, one)
        left = right
    return result


def _compare_two(state, node, op, left, right):
    if type(op) not in _COMPARE:
        word = _OTHER_COMPARISONS[type(op)]
        state.fail("E0802", f"the comparison `{word}` is not part of the language; {_COMPARED_BY}", node)
    if any(isinstance(x, (Enum, EnumConstexpr)) for x in (left, right)):
        return _compare_enums(state, node, op, left, right)
    if (
        isinstance(left, dtypes.DType)
        and isinstance(right, dtypes.DType)
        and isinstance(op, (ast.Eq, ast.NotEq))
    ):
        return (left is right) == isinstance(op, ast.Eq)
    left = state.operand(left, "the left side of a comparison", node)
    right = state.operand(right, "the right side of a comparison", node)
    state.at(node)
    return state.builder.compare(_COMPARE[type(op)], left, right)


def _compare_enums(state, node, op, left, right):
    def type_of(value):
        return value.type if isinstance(value, EnumConstexpr) else type(value)

    if not isinstance(op, (ast.Eq, ast.NotEq)):
        state.fail("E0202", "members of an enum are compared by == and != only", node)
    if type_of(left) is not type_of(right):
        names = " and ".join(getattr(type_of(x), "__name__", "?") for x in (left, right))
        state.fail("E0204", f"only members of one enum can be compared, not {names}", node)
    if isinstance(left, Enum) and isinstance(right, Enum):
        return (left is right) == isinstance(op, ast.Eq)

    def operand(value):
        if isinstance(value, EnumConstexpr):
            return value.operand
        return state.builder.enum_member(state.enums[type(value)], value.value)

    state.at(node)
    return state.builder.compare(_COMPARE[type(op)], operand(left), operand(right))


def condition(state, value, what: str, node):
    """A scalar bool: a literal, a constexpr or a value; anything else is refused."""
    if isinstance(value, bool) or is_poison(value):
        return value
    if isinstance(value, core.Operand):
        kind = state.kind(value)
        if kind == "constexpr":
            return value
        if kind == "scalar" and state.builder.type_of(value).dtype == "bool":
            return value
        if kind == "tensor":
            return state.error(
                "E0401",
                f"{what} must be a scalar bool, not {state.describe(value)}; I.select chooses between elements of "
                "tensors, and I.reduce.any makes a scalar of them",
                node,
            )
    number = is_leaf(value) and state.kind(value) in ("scalar", "literal")
    hint = "; compare it, as in n != 0" if number else ""
    return state.error("E0401", f"{what} must be a scalar bool, not {state.describe(value)}{hint}", node)


def _bool(state, node):
    conjunction = isinstance(node.op, ast.And)
    word = "and" if conjunction else "or"
    left = evaluate(state, node.values[0])
    for right_node in node.values[1:]:
        if isinstance(left, bool):
            if left != conjunction:
                return left
            left = evaluate(state, right_node)
            continue
        left = state.operand(left, f"the left side of `{word}`", node)
        short = state.kind(left) == "scalar" and not syntax.is_total(right_node)
        if short:
            # The right side may fail or cost something: it happens only where it decides.
            def decide(right_node=right_node):
                return condition(
                    state, evaluate(state, right_node), f"the right side of `{word}`", right_node
                )

            arms = (decide, lambda: False) if conjunction else (lambda: True, decide)
            left = branches.choose(state, node, left, *arms)
            continue
        right = state.operand(evaluate(state, right_node), f"the right side of `{word}`", node)
        state.at(node)
        left = (state.builder.logical_and if conjunction else state.builder.logical_or)(left, right)
    return left


def _if_expression(state, node):
    test = condition(state, evaluate(state, node.test), "the condition", node.test)
    if isinstance(test, bool):
        return evaluate(state, node.body if test else node.orelse)
    return branches.choose(
        state, node, test, lambda: evaluate(state, node.body), lambda: evaluate(state, node.orelse)
    )


# Attributes.


def _attribute(state, node):
    base = evaluate(state, node.value)
    name = node.attr
    if is_poison(base):
        return POISON
    if isinstance(base, Record):
        if name in base.names:
            return base.fields[base.names.index(name)]
        state.fail("E0801", f"the record has no field {name!r}; its fields are {', '.join(base.names)}", node)
    if (
        isinstance(base, core.Operand)
        and name == "shape"
        and state.kind(base) in ("view", "tensor", "buffer")
    ):
        return Shape(base, state.builder.type_of(base).rank)
    if isinstance(base, (types.ModuleType, intrinsics.Intrinsic, intrinsics.Namespace)):
        return _member(state, base, name, node)
    if isinstance(base, type) and issubclass(base, Enum):
        if name in base.__members__:
            return base[name]
        state.fail("E0801", f"{base.__name__} has no member {name!r}", node)
    if is_leaf(base) or isinstance(base, (tuple, Domain, Shape)):
        what = (
            "a scalar"
            if is_leaf(base) and state.kind(base) in ("scalar", "literal")
            else state.describe(base)
        )
        hint = "; only views, buffers and tensors have a shape" if name == "shape" else ""
        if instead := hints.attribute(name):
            hint = f"; use {instead}"
        state.fail("E0801", f"{what} has no attribute {name!r}{hint}", node)
    state.fail("E0801", f"{base!r} has no attribute {name!r} in the language", node)


def _member(state, base, name, node):
    if not name.startswith("_"):
        try:
            return scopes.outside(state, getattr(base, name), name, node)
        except AttributeError:
            pass
    is_language = isinstance(base, types.ModuleType) and base.__name__ == "intent.language"
    known = base.__all__ if is_language else [n for n in dir(base) if not n.startswith("_")]
    prefix = "I." if is_language else f"{_title(base)}."
    instead = hints.intrinsic(f"{prefix}{name}".removeprefix("I."))
    hint = f"; use {instead}" if instead else hints.nearest(name, known, prefix)
    state.fail("E0801", f"unknown intrinsic {prefix}{name}{hint}", node)


def _title(base):
    return base.__name__ if isinstance(base, types.ModuleType) else f"I.{base.name}"


# Subscripts.


def _subscript(state, node):
    base = evaluate(state, node.value)
    if is_poison(base):
        return POISON
    if isinstance(base, (tuple, Shape)):
        return _tuple_item(state, base, node)
    if isinstance(base, Domain):
        return _subregion(state, base, node)
    if isinstance(base, Record):
        state.fail("E0307", f"a record's fields are read by name: {', '.join(base.names)}", node)
    index = index_terms(state, node.slice)
    base = state.operand(base, "what is indexed", node)
    state.at(node)
    return state.builder.load(base, index)


def _tuple_item(state, base, node):
    length = base.rank if isinstance(base, Shape) else len(base)
    if isinstance(node.slice, ast.Slice):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        bounds = [p and state.static_int(evaluate(state, p), "a tuple's slice", p) for p in parts]
        state.at(node)
        return as_tuple(state, base)[slice(*bounds)]
    position = state.static_int(evaluate(state, node.slice), "a tuple's index", node)
    if not -length <= position < length:
        state.fail("E0308", f"index {position} of a tuple of {length}", node)
    if isinstance(base, Shape):
        state.at(node)
        return state.builder.dim(base.source, position % length)
    return base[position]


def _subregion(state, base, node):
    if not isinstance(node.slice, ast.Slice) or node.slice.step is not None:
        state.fail("E0307", "a domain is only sliced, as axis[begin:end], to make a subregion", node)
    start, stop = (_bound(state, part) for part in (node.slice.lower, node.slice.upper))
    state.at(node)
    operand = state.builder.subregion(base.operand, start, stop)
    if is_poison(operand):
        return POISON
    return Domain(
        operand, base.begin if start is None else start, base.end if stop is None else stop, base.step
    )


def _bound(state, node):
    if node is None:
        return None
    return state.index_operand(evaluate(state, node), "a bound", node)


def index_terms(state, node) -> list:
    """The terms of a subscript, as the builder takes them."""
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    terms = []
    for item in items:
        if isinstance(item, ast.Slice):
            if item.step is not None:
                state.fail("E0307", "a slice has no step; index with I.domain(begin, end, step)", item)
            terms.append(slice(_bound(state, item.lower), _bound(state, item.upper)))
        else:
            value = evaluate(state, item)
            if isinstance(value, tuple) and len(items) == 1:
                terms = [index_term(state, part, item) for part in value]
            else:
                terms.append(index_term(state, value, item))
    _note_mixed(state, [term for term in terms if isinstance(term, core.Operand)], node)
    return terms


def _note_mixed(state, terms, node):
    """Remembers what a mistake of shapes may come from: terms that do not do what they look like."""
    place = (state.frame.definition.file, node.lineno, node.col_offset + 1)
    domains = [term.id for term in terms if state.kind(term) == "domain"]
    if domains and any(state.kind(term) == "tensor" for term in terms):
        state.mixed.append((origins.MIXED, *place))
    if len(set(domains)) < len(domains):
        state.mixed.append((origins.TWICE, *place))


def index_term(state, value, node):
    """One term from a value: None is a new axis, slice(...) a slice, a domain or operand itself."""
    if value is None or value is ... or isinstance(value, slice):
        return value
    if isinstance(value, Domain):
        return value.operand
    return state.index_operand(value, "an index", node)


def _call(state, node):
    return calls.call(state, node)


_HANDLERS = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _bool,
    ast.IfExp: _if_expression,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
