"""Meanings of intrinsics on memory: indexed access, buffers, atomics; histograms, records and random numbers."""

from __future__ import annotations

from collections.abc import Callable

from .. import _core as core
from ..intrinsics import Format
from . import arguments as args
from .operations_aggregate import builtin_combine, combine_region
from .state import Failure
from .values import is_poison

# Indexed access.


def _gather(state, node, source, index, valid, fill):
    source = args.resource(state, node, source, "the source")
    terms = args.index(state, node, index)
    valid = None if valid is None else args.leaf(state, node, valid, "valid")
    fill = None if fill is None else args.leaf(state, node, fill, "the fill")
    state.at(node)
    return state.builder.gather(source, terms, valid, fill)


def _scatter_unique(state, node, destination, index, value):
    destination = args.resource(state, node, destination, "the destination")
    terms, value = args.index(state, node, index), args.leaf(state, node, value, "the value")
    state.at(node)
    state.builder.scatter_unique(destination, terms, value)


def _scatter_reduce(state, node, destination, index, value, combine):
    destination = args.resource(state, node, destination, "the destination")
    terms, value = args.index(state, node, index), args.leaf(state, node, value, "the value")
    if is_poison(destination):
        raise Failure
    kind, region = builtin_combine(combine), None
    if kind is None:
        element = core.scalar_type(state.builder.type_of(destination).dtype)
        region, _ = combine_region(state, node, combine, element, ())
    state.at(node)
    state.builder.scatter_reduce(destination, terms, value, kind or "region", region)


# Storage, atomics, histograms, quantised records, random numbers.


def _histogram(state, node, values, bins, valid, count_dtype):
    values, valid = args.leaf(state, node, values), args.leaf(state, node, valid)
    bins, count_dtype = state.index_operand(bins, "bins", node), args.dtype(state, node, count_dtype)
    state.at(node)
    return state.builder.histogram(values, bins, valid, count_dtype)


def _format(state, node, value, wanted):
    if not isinstance(value, Format) or value.name != wanted:
        state.fail("E0603", f"the format here is I.{wanted}, not {state.describe(value)}", node)


def _quantize(state, node, values, format):
    _format(state, node, format, "quant.q8_k")
    values = args.leaf(state, node, values)
    state.at(node)
    return state.builder.quantize(values)


def _quantized_dot(state, node, lhs, rhs, lhs_format, rhs_format, acc_dtype):
    _format(state, node, lhs_format, "quant.q4_k")
    _format(state, node, rhs_format, "quant.q8_k")
    if args.dtype(state, node, acc_dtype) != "f32":
        state.fail("E0603", "a quantised dot accumulates in f32", node)
    lhs, rhs = args.leaf(state, node, lhs), args.leaf(state, node, rhs)
    state.at(node)
    return state.builder.quantized_dot(lhs, rhs)


def _buffer(state, node, shape, dtype, init):
    shape, dtype = args.shape(state, node, shape), args.dtype(state, node, dtype)
    init = None if init is None else args.leaf(state, node, init, "init")
    state.at(node)
    return state.builder.buffer(shape, dtype, init)


def _order(state, node, order):
    if order not in ("relaxed", "acquire", "release", "acq_rel"):
        state.fail("E0507", f"order is 'relaxed', 'acquire', 'release' or 'acq_rel', not {order!r}", node)
    return order


def _atomic_load(state, node, resource, index, *, order):
    resource, terms = args.resource(state, node, resource, "the resource"), args.index(state, node, index)
    order = _order(state, node, order)
    state.at(node)
    return state.builder.atomic_load(resource, terms, order)


def _atomic_store(state, node, resource, index, value, *, order):
    resource, terms = args.resource(state, node, resource, "the resource"), args.index(state, node, index)
    value, order = args.leaf(state, node, value), _order(state, node, order)
    state.at(node)
    state.builder.atomic_store(resource, terms, value, order)


def _atomic_rmw(kind):
    def meaning(state, node, resource, index, value, *, order):
        resource, terms = args.resource(state, node, resource, "the resource"), args.index(state, node, index)
        value, order = args.leaf(state, node, value), _order(state, node, order)
        state.at(node)
        return state.builder.atomic_rmw(kind, resource, terms, value, order)

    return meaning


def _compare_exchange(state, node, resource, index, expected, desired, *, order):
    resource, terms = args.resource(state, node, resource, "the resource"), args.index(state, node, index)
    expected, desired = args.leaf(state, node, expected), args.leaf(state, node, desired)
    order = _order(state, node, order)
    state.at(node)
    return args.unpack(state, node, state.builder.atomic_cas(resource, terms, expected, desired, order))


def _random_bits(state, node, seed, counter):
    seed, counter = args.leaf(state, node, seed, "the seed"), args.leaf(state, node, counter, "the counter")
    state.at(node)
    return state.builder.random_bits(seed, counter)


def _random_uniform(state, node, seed, counter, dtype):
    if args.dtype(state, node, dtype) != "f32":
        state.fail("E0202", "uniform numbers are f32; cast them to another dtype", node)
    bits = _random_bits(state, node, seed, counter)
    state.at(node)
    top = state.builder.binary("shr", bits, 8)
    return state.builder.binary("mul", state.builder.cast(top, "f32"), 2.0**-24)


MEANINGS: dict[str, Callable] = {
    "gather": _gather,
    "scatter_unique": _scatter_unique,
    "scatter_reduce": _scatter_reduce,
    "histogram": _histogram,
    "quantize": _quantize,
    "quantized_dot": _quantized_dot,
    "buffer": _buffer,
    "atomic.load": _atomic_load,
    "atomic.store": _atomic_store,
    "atomic.exchange": _atomic_rmw("exchange"),
    "atomic.add": _atomic_rmw("add"),
    "atomic.max": _atomic_rmw("max"),
    "atomic.min": _atomic_rmw("min"),
    "atomic.and_": _atomic_rmw("and"),
    "atomic.or_": _atomic_rmw("or"),
    "atomic.xor": _atomic_rmw("xor"),
    "atomic.compare_exchange": _compare_exchange,
    "random.bits": _random_bits,
    "random.uniform": _random_uniform,
}
