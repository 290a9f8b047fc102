"""Arguments of intrinsics: what each place takes, and what is said when something else stands there."""

from __future__ import annotations

from .. import dtypes
from . import expressions, hints
from .state import Failure
from .values import Domain, Record, has_poison, is_leaf, is_poison


def dtype(state, node, value):
    if is_poison(value):
        raise Failure
    if not isinstance(value, dtypes.DType):
        instead = hints.dtype(value) if isinstance(value, str) else None
        wanted = instead or "a dtype such as I.f32"
        state.fail("E0803", f"{wanted} is needed here, not {state.describe(value)}", node)
    return value.name


def optional_dtype(state, node, value):
    return None if value is None else dtype(state, node, value)


def leaf(state, node, value, what="an argument"):
    if isinstance(value, Domain):
        state.fail(
            "E0204", f"{what} must be a scalar or tensor, not a domain; I.indices gives its coordinates", node
        )
    return state.operand(value, what, node)


def shape(state, node, value) -> list:
    items = expressions.as_tuple(state, value)
    if items is None:
        if is_poison(value):
            raise Failure
        state.fail("E0803", f"a shape is a tuple, such as (N,), not {state.describe(value)}", node)
    return [
        item.operand if isinstance(item, Domain) else state.index_operand(item, "an extent", node)
        for item in items
    ]


def axis(state, node, value) -> int:
    if isinstance(value, Domain):
        state.fail("E0303", "a domain is not an axis; axes are integers, counted from 0", node)
    return state.static_int(value, "an axis", node)


def axes(state, node, value) -> list:
    if isinstance(value, tuple):
        if not value:
            state.fail("E0303", "at least one axis is needed", node)
        return [axis(state, node, item) for item in value]
    return [axis(state, node, value)]


def pairs(state, node, value, what) -> list:
    if not isinstance(value, tuple) or not all(isinstance(p, tuple) and len(p) == 2 for p in value):
        state.fail("E0602", f"{what} is a tuple of pairs of axes, such as ((1, 0),)", node)
    return [tuple(axis(state, node, each) for each in pair) for pair in value]


def index(state, node, value) -> list:
    items = expressions.as_tuple(state, value)
    return [expressions.index_term(state, item, node) for item in ((value,) if items is None else items)]


def resource(state, node, value, what):
    return state.operand(value, what, node)


def domain(state, node, value):
    if isinstance(value, Domain):
        return value
    if is_poison(value):
        raise Failure
    state.fail("E0204", f"a domain or subregion is needed here, not {state.describe(value)}", node)


def product(state, node, value, what):
    """A tensor, or a product of tensors, as one operand."""
    if has_poison(value):
        raise Failure
    if is_leaf(value) or isinstance(value, (tuple, Record)):
        return state.pack(value, node)
    state.fail(
        "E0204", f"{what} must be a tensor or a tuple or record of tensors, not {state.describe(value)}", node
    )


def unpack(state, node, operand):
    """The structural value of a product operand."""
    kind = state.kind(operand)
    if kind not in ("tuple", "record"):
        return operand
    type_of = state.builder.type_of(operand)
    parts = []
    for position in range(len(type_of.fields)):
        state.at(node)
        parts.append(unpack(state, node, state.builder.extract(operand, position)))
    return Record(tuple(type_of.names), tuple(parts)) if kind == "record" else tuple(parts)
