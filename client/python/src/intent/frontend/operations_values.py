"""Meanings of intrinsics that make values: pointwise functions, tensors, records, domains."""

from __future__ import annotations

from collections.abc import Callable

from .. import dtypes
from . import arguments as args
from . import calls, loops
from .values import Iteration, Record, is_leaf, is_poison

# Pointwise.


def _unary(kind):
    def meaning(state, node, x):
        x = args.leaf(state, node, x)
        state.at(node)
        return state.builder.unary(kind, x)

    return meaning


def _approximable(kind):
    def meaning(state, node, x, approximate=False, flush_to_zero=False):
        x = args.leaf(state, node, x)
        approximate = state.flag(approximate, "approximate", node)
        flush_to_zero = state.flag(flush_to_zero, "flush_to_zero", node)
        state.at(node)
        return state.builder.unary(kind, x, approximate, flush_to_zero)

    return meaning


def _binary(kind):
    def meaning(state, node, a, b):
        a, b = args.leaf(state, node, a), args.leaf(state, node, b)
        state.at(node)
        return state.builder.binary(kind, a, b)

    return meaning


def _fdiv(state, node, lhs, rhs, approximate, flush_to_zero):
    lhs, rhs = args.leaf(state, node, lhs), args.leaf(state, node, rhs)
    approximate = state.flag(approximate, "approximate", node)
    flush_to_zero = state.flag(flush_to_zero, "flush_to_zero", node)
    state.at(node)
    return state.builder.binary("div", lhs, rhs, approximate, flush_to_zero)


def _select(state, node, condition, a, b):
    operands = [args.leaf(state, node, x) for x in (condition, a, b)]
    state.at(node)
    return state.builder.select(*operands)


def _mask(state, node, value, valid, fill):
    operands = [args.leaf(state, node, x) for x in (value, valid, fill)]
    state.at(node)
    return state.builder.mask(*operands)


def _conversion(name):
    def meaning(state, node, x, dtype):
        x, dtype = args.leaf(state, node, x), args.dtype(state, node, dtype)
        state.at(node)
        return getattr(state.builder, name)(x, dtype)

    return meaning


# Tensors.


def _full(state, node, shape, fill, dtype):
    shape, fill = args.shape(state, node, shape), args.leaf(state, node, fill, "the fill")
    dtype = args.dtype(state, node, dtype)
    state.at(node)
    return state.builder.full(shape, fill, dtype)


def _zeros(state, node, shape, dtype):
    zero: bool | int | float = False if dtype is dtypes.dtype("bool") else 0
    if isinstance(dtype, dtypes.DType) and dtype.kind == "float":
        zero = 0.0
    return _full(state, node, shape, zero, dtype)


def _reshape(state, node, value, shape):
    value, shape = args.leaf(state, node, value), args.shape(state, node, shape)
    state.at(node)
    return state.builder.reshape(value, shape)


def _transpose(state, node, value, permutation=None):
    value = args.leaf(state, node, value)
    if permutation is not None:
        if not isinstance(permutation, tuple):
            state.fail("E0304", "a permutation is a tuple of axes", node)
        permutation = [args.axis(state, node, axis) for axis in permutation]
    state.at(node)
    return state.builder.transpose(value, permutation)


def _broadcast(state, node, value, shape):
    value, shape = args.leaf(state, node, value), args.shape(state, node, shape)
    state.at(node)
    return state.builder.broadcast(value, shape)


def _join(state, node, lhs, rhs):
    lhs, rhs = args.leaf(state, node, lhs), args.leaf(state, node, rhs)
    state.at(node)
    return state.builder.join(lhs, rhs)


def _record(state, node, **fields):
    if not fields:
        state.fail("E0803", "a record has at least one field", node)
    for name, value in fields.items():
        if not (is_leaf(value) or isinstance(value, (tuple, Record))):
            state.fail(
                "E0204",
                f"field {name!r} must be a scalar, tensor or product, not {state.describe(value)}",
                node,
            )
        if is_leaf(value) and state.is_resource(value):
            state.fail("E0504", f"field {name!r} is storage; read it with an index to get a tensor", node)
    return Record(tuple(fields), tuple(fields.values()))


# Domains.


def _domain(state, node, begin, end, step):
    return calls.make_domain(state, node, begin, end, step)


def _indices(state, node, region):
    region = args.domain(state, node, region)
    state.at(node)
    return state.builder.indices(region.operand)


def _end(state, node, region):
    region = args.domain(state, node, region)
    state.at(node)
    return state.builder.region_end(region.operand)


def _parallel(state, node, domain):
    if is_poison(domain):
        return domain
    inner = loops.as_iteration(state, domain, node)
    return Iteration(inner.domains, inner.single, parallel=True, enumerated=inner.enumerated)


def _assume_in_bounds(state, node, index, resource, axis):
    index = state.index_operand(index, "an index", node)
    resource = args.resource(state, node, resource, "the resource")
    axis = args.axis(state, node, axis)
    state.at(node)
    state.builder.assume_in_bounds(index, resource, axis)


_UNARY = "negate abs exp log log1p lgamma sin asin cos floor erf erfc i0 rsqrt sqrt sigmoid"
_BINARY = "add maximum minimum maximum_num minimum_num"

MEANINGS: dict[str, Callable] = {
    **{name: _unary(name) for name in _UNARY.split()},
    **{name: _binary(name) for name in _BINARY.split()},
    "exp2": _approximable("exp2"),
    "tanh": _approximable("tanh"),
    "fdiv": _fdiv,
    "select": _select,
    "mask": _mask,
    "cast": _conversion("cast"),
    "saturating_cast": _conversion("saturating_cast"),
    "bitcast": _conversion("bitcast"),
    "full": _full,
    "zeros": _zeros,
    "reshape": _reshape,
    "transpose": _transpose,
    "permute": _transpose,
    "broadcast": _broadcast,
    "join": _join,
    "record": _record,
    "domain": _domain,
    "indices": _indices,
    "end": _end,
    "parallel": _parallel,
    "assume_in_bounds": _assume_in_bounds,
}
