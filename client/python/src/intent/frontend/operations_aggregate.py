"""Meanings of reductions and scans, whose combines are traced over the schema of their states."""

from __future__ import annotations

from collections.abc import Callable

from .. import intrinsics
from ..intrinsics import Intrinsic
from ..kernel import Helper
from . import arguments as args
from . import calls
from .state import Failure
from .values import POISON, Record, is_leaf, is_literal, is_poison, leaves, map_leaves

# Reductions and scans.


def builtin_combine(combine):
    """The builder's name of a builtin combine, or None."""
    names = {intrinsics.add: "add", intrinsics.maximum: "maximum", intrinsics.minimum: "minimum"}
    return names.get(combine) if isinstance(combine, Intrinsic) else None


def combine_region(state, node, combine, schema, captures):
    """(region, capture operands): a helper of two states, traced over a schema."""
    if not isinstance(combine, Helper):
        state.fail(
            "E0601",
            f"combine is an @intent.fn, or I.add, I.maximum or I.minimum, not {state.describe(combine)}",
            node,
        )
    runtime = [
        leaf
        for capture in captures
        for leaf in leaves(capture)
        if not state.is_static(leaf) and not is_poison(leaf)
    ]
    state.at(node)
    arguments = state.builder.push_region(
        [schema, schema] + [state.builder.type_of(x) for x in runtime], isolated=True
    )
    states = [args.unpack(state, node, argument) for argument in arguments[:2]]
    supply = iter(arguments[2:])
    inside = [_replace_runtime(state, capture, supply) for capture in captures]
    try:
        result = calls.call_helper(state, node, combine, [*states, *inside], {})
        operand = _pack_as(state, node, result, schema)
    except Failure:
        state.builder.drop_region()
        raise
    state.at(node)
    return state.builder.pop_region([operand]), runtime


def _replace_runtime(state, value, supply):
    return map_leaves(lambda leaf: leaf if state.is_static(leaf) or is_poison(leaf) else next(supply), value)


def _pack_as(state, node, value, schema):
    """One operand for a value, whose literals take the dtypes of the schema."""
    if is_leaf(value):
        if state.is_static(value) and schema.kind in ("scalar", "tensor"):
            state.at(node)
            return state.builder.instantiate(value, schema.dtype)
        return value
    parts = value.fields if isinstance(value, Record) else value
    if isinstance(value, (tuple, Record)) and len(parts) == len(schema.fields):
        packed = [_pack_as(state, node, part, field) for part, field in zip(parts, schema.fields)]
        state.at(node)
        if isinstance(value, Record):
            return state.builder.make_record(list(value.names), packed)
        return state.builder.make_tuple(packed)
    if value is None:
        state.fail("E0601", "the combine returns nothing", node)
    return state.pack(value, node)


def _identity(state, node, identity, value):
    """The identity with its literals in the dtypes of the value's components."""
    if is_leaf(identity) or not isinstance(identity, (tuple, Record)):
        return identity
    own = identity.fields if isinstance(identity, Record) else identity
    others = value.fields if isinstance(value, Record) else value if isinstance(value, tuple) else ()
    if len(own) != len(others):
        return identity
    parts = []
    for part, other in zip(own, others):
        if is_literal(part) and is_leaf(other) and state.kind(other) in ("scalar", "tensor"):
            state.at(node)
            part = state.builder.instantiate(part, state.builder.type_of(other).dtype)
        else:
            part = _identity(state, node, part, other)
        parts.append(part)
    return Record(identity.names, tuple(parts)) if isinstance(identity, Record) else tuple(parts)


def _aggregate(state, node, value, axes, identity, combine, captures):
    """(value operand, identity operand, kind, region, captures) of a reduce or scan."""
    operand = args.product(state, node, value, "the value")
    start = args.product(state, node, _identity(state, node, identity, value), "the identity")
    kind = builtin_combine(combine)
    _check_operands(state, node, "combine_operands", captures)
    if kind is not None:
        if captures:
            state.fail("E0601", "combine_operands belong to a combine that is an @intent.fn", node)
        return operand, start, kind, None, []
    state.at(node)
    schema = state.builder.combine_schema(operand, axes, start)
    if schema is None:
        raise Failure
    region, runtime = combine_region(state, node, combine, schema, captures)
    return operand, start, "region", region, runtime


def _reduce(state, node, value, axis, identity, combine, combine_operands):
    axes = args.axes(state, node, axis)
    parts = _aggregate(state, node, value, axes, identity, combine, combine_operands)
    state.at(node)
    operand, start, kind, region, runtime = parts
    return args.unpack(state, node, state.builder.reduce(operand, axes, start, kind, region, runtime))


def _scan(state, node, value, axis, identity, combine, inclusive, reverse, combine_operands):
    axis = args.axis(state, node, axis)
    inclusive, reverse = state.flag(inclusive, "inclusive", node), state.flag(reverse, "reverse", node)
    operand, start, kind, region, runtime = _aggregate(
        state, node, value, [axis], identity, combine, combine_operands
    )
    state.at(node)
    result = state.builder.scan(operand, axis, start, kind, region, runtime, inclusive, reverse)
    return args.unpack(state, node, result)


def _builtin_reduce(name):
    def meaning(state, node, value, *, axis, acc_dtype=None):
        value, axes = args.leaf(state, node, value), args.axes(state, node, axis)
        acc_dtype = args.optional_dtype(state, node, acc_dtype)
        state.at(node)
        return state.builder.reduce_builtin(name, value, axes, acc_dtype)

    return meaning


def _arg_max(state, node, value, axis, acc_dtype):
    value, axes = args.leaf(state, node, value), args.axes(state, node, axis)
    if len(axes) != 1:
        state.fail("E0303", "an arg-reduction takes exactly one axis", node)
    acc_dtype = args.optional_dtype(state, node, acc_dtype)
    state.at(node)
    result = args.unpack(state, node, state.builder.arg_max(value, axes[0], acc_dtype))
    return (POISON, POISON) if is_poison(result) else result


def _cumulative(name):
    def meaning(state, node, value, *, axis, inclusive, reverse, acc_dtype):
        value, axis = args.leaf(state, node, value), args.axis(state, node, axis)
        inclusive, reverse = state.flag(inclusive, "inclusive", node), state.flag(reverse, "reverse", node)
        acc_dtype = args.optional_dtype(state, node, acc_dtype)
        state.at(node)
        return state.builder.cumulative(name, value, axis, inclusive, reverse, acc_dtype)

    return meaning


# Region operations: callbacks see slices, states and captures, and nothing else.


def _callback(state, node, what, helper, types, captures, runtime, schema):
    """(region, type of what it gives): a helper traced over arguments of these types.

    `schema` types its literals; None takes them as they come.
    """
    if not isinstance(helper, Helper):
        state.fail("E0601", f"{what} is an @intent.fn, not {state.describe(helper)}", node)
    _check_arity(state, node, what, helper, len(types), len(captures))
    state.at(node)
    captured = [state.builder.type_of(leaf) for leaf in runtime]
    arguments = state.builder.push_region([*types, *captured], isolated=True)
    own = [args.unpack(state, node, argument) for argument in arguments[: len(types)]]
    supply = iter(arguments[len(types) :])
    own += [_replace_runtime(state, capture, supply) for capture in captures]
    try:
        result = calls.call_helper(state, node, helper, own, {})
        operand = _pack_as(state, node, result, schema) if schema else state.pack(state.settle(result), node)
    except Failure:
        state.builder.drop_region()
        raise
    state.at(node)
    operand = state.builder.materialize(operand)
    kind = state.builder.type_of(operand)
    region = state.builder.pop_region([operand])
    if is_poison(operand):
        raise Failure
    return region, kind


def _check_operands(state, node, name, operands):
    if is_poison(operands):
        raise Failure
    if not isinstance(operands, tuple):
        state.fail("E0803", f"{name} is a tuple, such as (x,), not {state.describe(operands)}", node)


def _check_arity(state, node, what, helper, own, captures):
    """A callback that takes another number of arguments than it gets is told what it gets."""
    arguments = helper.tree().args
    takes = len(arguments.posonlyargs + arguments.args)
    optional = len(helper.function.__defaults__ or ())
    if takes - optional <= own + captures <= takes or arguments.vararg:
        return
    gets = {
        "summarize": _counted(own, "slice"),
        "combine": "two summaries",
        "apply": "a summary and the state",
        "emit": f"{_counted(own - 1, 'slice')}, the state",
    }[what]
    if captures:
        gets += f" and {_counted(captures, 'operand')}"
    name = helper.function.__name__
    state.fail(
        "E0803",
        f"{what} gets {_counted(own + captures, 'argument')} ({gets}), but {name!r} takes {takes}",
        node,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _region_source(state, node, source, axis, operands):
    """(source operand, slices, captures, their runtime leaves)."""
    operand = args.product(state, node, source, "the source")
    axis = args.axis(state, node, axis)
    state.at(node)
    slices = state.builder.slices(operand, axis)
    _check_operands(state, node, "operands", operands)
    if slices is None:
        raise Failure
    runtime = [x for capture in operands for x in leaves(capture) if not state.is_static(x)]
    if any(is_poison(x) for x in runtime):
        raise Failure
    return operand, slices, operands, runtime


def _region_fold(state, node, source, axis, summarize, combine, identity, operands):
    operand, slices, captures, runtime = _region_source(state, node, source, axis, operands)
    first, summary = _callback(state, node, "summarize", summarize, slices.types, captures, runtime, None)
    start = _pack_as(state, node, identity, summary)
    second, _ = _callback(state, node, "combine", combine, [summary, summary], (), [], summary)
    state.at(node)
    result = state.builder.region_fold(operand, slices, start, first, second, runtime)
    return args.unpack(state, node, result)


def _region_scan(
    state, node, source, axis, summarize, combine, identity, initial_state, apply, emit, operands
):
    operand, slices, captures, runtime = _region_source(state, node, source, axis, operands)
    first, summary = _callback(state, node, "summarize", summarize, slices.types, captures, runtime, None)
    start = _pack_as(state, node, identity, summary)
    second, _ = _callback(state, node, "combine", combine, [summary, summary], (), [], summary)
    begin = args.product(state, node, state.settle(initial_state), "the initial state")
    entered = state.builder.type_of(begin)
    third, _ = _callback(state, node, "apply", apply, [summary, entered], (), [], entered)
    fourth, _ = _callback(state, node, "emit", emit, [*slices.types, entered], captures, runtime, None)
    state.at(node)
    result = state.builder.region_scan(operand, slices, start, begin, first, second, third, fourth, runtime)
    unpacked = args.unpack(state, node, result)
    return (POISON, POISON) if is_poison(unpacked) else unpacked


MEANINGS: dict[str, Callable] = {
    "reduce": _reduce,
    "reduce.sum": _builtin_reduce("sum"),
    "reduce.max": _builtin_reduce("max"),
    "reduce.any": _builtin_reduce("any"),
    "reduce.all": _builtin_reduce("all"),
    "arg_reduce.max": _arg_max,
    "scan": _scan,
    "cumsum": _cumulative("sum"),
    "cummax": _cumulative("max"),
    "region_fold": _region_fold,
    "region_scan": _region_scan,
}
