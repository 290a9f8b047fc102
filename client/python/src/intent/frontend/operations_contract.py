"""Meanings of contractions: dense, scaled and sparse."""

from __future__ import annotations

from collections.abc import Callable

from ..intrinsics import Format
from . import arguments as args
from .state import Failure
from .values import SparseFormat, is_poison

# Contractions.


def _dot(state, node, l, r, *, acc_dtype):
    l, r, acc_dtype = args.leaf(state, node, l), args.leaf(state, node, r), args.dtype(state, node, acc_dtype)
    state.at(node)
    return state.builder.dot(l, r, acc_dtype)


def _vector_product(name):
    def meaning(state, node, first, second, *, acc_dtype, transpose):
        first, second = args.leaf(state, node, first), args.leaf(state, node, second)
        acc_dtype = args.dtype(state, node, acc_dtype)
        transpose = state.static_bool(transpose, "transpose", node)
        state.at(node)
        return getattr(state.builder, name)(first, second, acc_dtype, transpose)

    return meaning


def _matmul(state, node, l, r, *, acc_dtype, transpose_lhs, transpose_rhs):
    l, r, acc_dtype = args.leaf(state, node, l), args.leaf(state, node, r), args.dtype(state, node, acc_dtype)
    transpose_lhs = state.static_bool(transpose_lhs, "transpose_lhs", node)
    transpose_rhs = state.static_bool(transpose_rhs, "transpose_rhs", node)
    state.at(node)
    return state.builder.matmul(l, r, acc_dtype, transpose_lhs, transpose_rhs)


def _outer(state, node, l, r):
    l, r = args.leaf(state, node, l), args.leaf(state, node, r)
    state.at(node)
    return state.builder.outer(l, r)


def _contract(state, node, l, r, reduce, batch, *, acc_dtype):
    l, r, acc_dtype = args.leaf(state, node, l), args.leaf(state, node, r), args.dtype(state, node, acc_dtype)
    reduce, batch = args.pairs(state, node, reduce, "reduce"), args.pairs(state, node, batch, "batch")
    state.at(node)
    return state.builder.contract(l, r, reduce, batch, acc_dtype)


def _scaled(state, node, operands, formats, group_size, acc_dtype):
    operands = [args.leaf(state, node, x) for x in operands]
    if any(is_poison(x) for x in operands):
        raise Failure
    for f in formats:
        if not isinstance(f, Format) or f.name not in ("e2m1", "e4m3"):
            state.fail("E0603", f"a scaled format is I.e2m1 or I.e4m3, not {state.describe(f)}", node)
    scales = [
        "e8m0" if state.builder.type_of(scale).dtype == "u8" else "e4m3"
        for scale in (operands[1], operands[3])
    ]
    state.at(node)
    return state.builder.scaled_contract(
        *operands, formats[0].name, scales[0], formats[1].name, scales[1], group_size, acc_dtype
    )


def _scaled_contract(
    state,
    node,
    lhs,
    lhs_scale,
    rhs,
    rhs_scale,
    *,
    lhs_format,
    rhs_format,
    lhs_group_size,
    rhs_group_size,
    reduce,
    batch,
    acc_dtype,
):
    sizes = [state.static_int(size, "a group size", node) for size in (lhs_group_size, rhs_group_size)]
    if sizes[0] != sizes[1]:
        state.fail("E0603", f"both sides have one group size, not {sizes[0]} and {sizes[1]}", node)
    if args.pairs(state, node, reduce, "reduce") != [(1, 0), (2, 1)] or args.pairs(
        state, node, batch, "batch"
    ):
        state.fail("E0603", "a scaled contraction has reduce=((1, 0), (2, 1)) and no batch", node)
    operands = (lhs, lhs_scale, rhs, rhs_scale)
    return _scaled(
        state, node, operands, (lhs_format, rhs_format), sizes[0], args.dtype(state, node, acc_dtype)
    )


def _scaled_matmul(
    state, node, lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, group_size, acc_dtype
):
    size = state.static_int(group_size, "a group size", node)
    operands = (lhs, lhs_scale, rhs, rhs_scale)
    return _scaled(state, node, operands, (lhs_format, rhs_format), size, args.dtype(state, node, acc_dtype))


def _sparse_format(kind):
    def meaning(state, node, *, compression_axis, logical_extent):
        return SparseFormat(kind, args.axis(state, node, compression_axis))

    return meaning


def _sparse_contract(state, node, compressed, metadata, dense_rhs, format, reduce, batch, *, acc_dtype):
    if not isinstance(format, SparseFormat):
        state.fail("E0603", "a sparse format is I.sparse.one_of_two(...) or I.sparse.two_of_four(...)", node)
    compressed, dense = args.leaf(state, node, compressed), args.leaf(state, node, dense_rhs)
    where = args.product(state, node, metadata, "the metadata")
    reduce, batch = args.pairs(state, node, reduce, "reduce"), args.pairs(state, node, batch, "batch")
    acc_dtype = args.dtype(state, node, acc_dtype)
    state.at(node)
    return state.builder.sparse_contract(
        compressed, where, dense, format.kind, format.compression_axis, reduce, batch, acc_dtype
    )


def _sparse_matmul(state, node, compressed, metadata, rhs, *, format, acc_dtype):
    return _sparse_contract(
        state, node, compressed, metadata, rhs, format, ((1, 0),), (), acc_dtype=acc_dtype
    )


MEANINGS: dict[str, Callable] = {
    "dot": _dot,
    "matvec": _vector_product("matvec"),
    "vecmat": _vector_product("vecmat"),
    "matmul": _matmul,
    "outer": _outer,
    "contract": _contract,
    "scaled_contract": _scaled_contract,
    "scaled_matmul": _scaled_matmul,
    "sparse_contract": _sparse_contract,
    "sparse_matmul": _sparse_matmul,
    "sparse.one_of_two": _sparse_format("one_of_two"),
    "sparse.two_of_four": _sparse_format("two_of_four"),
}
