"""What each intrinsic of `intent.language` means: which calls of the builder it becomes."""

from __future__ import annotations

from .. import _core as core
from .. import dtypes, intrinsics
from ..intrinsics import Format, Intrinsic
from ..kernel import Helper
from . import calls, expressions, loops
from .state import Failure
from .values import (
    POISON,
    Domain,
    Iteration,
    Record,
    SparseFormat,
    has_poison,
    is_leaf,
    is_literal,
    is_poison,
    leaves,
    map_leaves,
)


def call(state, node, intrinsic, arguments, keywords):
    """The value of a call of an intrinsic."""
    try:
        bound = intrinsic.__signature__.bind(*arguments, **keywords)
    except TypeError as error:
        state.fail("E0803", _misfit(intrinsic, keywords, error), node)
    if intrinsic.name == "record":
        return _record(state, node, bound.arguments.get("fields", {}))
    bound.apply_defaults()
    return _MEANINGS[intrinsic.name](state, node, *bound.args, **bound.kwargs)


def _misfit(intrinsic, keywords, error) -> str:
    name = f"I.{intrinsic.name}"
    parameters = intrinsic.__signature__.parameters
    for key in keywords:
        if key not in parameters:
            hint = ""
            if key in ("keepdim", "keepdims"):
                hint = "; reduced axes are deleted, and I.reshape puts an axis of extent 1 back"
            return f"{name} has no parameter {key!r}{hint}; its signature is {name}{intrinsic.__signature__}"
    return f"{name}: {error}; its signature is {name}{intrinsic.__signature__}"


# Arguments.


def _dtype(state, node, value):
    if not isinstance(value, dtypes.DType):
        state.fail("E0803", f"a dtype such as I.f32 is needed here, not {_text(state, value)}", node)
    return value.name


def _optional_dtype(state, node, value):
    return None if value is None else _dtype(state, node, value)


def _text(state, value) -> str:
    return state.describe(value)


def _leaf(state, node, value, what="an argument"):
    if isinstance(value, Domain):
        state.fail("E0204", f"{what} must be a scalar or tensor, not a domain; I.indices gives its coordinates", node)
    return state.operand(value, what, node)


def _shape(state, node, value) -> list:
    items = expressions.as_tuple(state, value)
    if items is None:
        if is_poison(value):
            raise Failure
        state.fail("E0803", f"a shape is a tuple, such as (N,), not {_text(state, value)}", node)
    return [
        item.operand if isinstance(item, Domain) else state.index_operand(item, "an extent", node) for item in items
    ]


def _axis(state, node, value) -> int:
    if isinstance(value, Domain):
        state.fail("E0303", "a domain is not an axis; axes are integers, counted from 0", node)
    return state.static_int(value, "an axis", node)


def _axes(state, node, value) -> list:
    if isinstance(value, tuple):
        if not value:
            state.fail("E0303", "at least one axis is needed", node)
        return [_axis(state, node, item) for item in value]
    return [_axis(state, node, value)]


def _pairs(state, node, value, what) -> list:
    if not isinstance(value, tuple) or not all(isinstance(p, tuple) and len(p) == 2 for p in value):
        state.fail("E0602", f"{what} is a tuple of pairs of axes, such as ((1, 0),)", node)
    return [tuple(_axis(state, node, axis) for axis in pair) for pair in value]


def _index(state, node, value) -> list:
    items = expressions.as_tuple(state, value)
    return [expressions.index_term(state, item, node) for item in ((value,) if items is None else items)]


def _resource(state, node, value, what):
    return state.operand(value, what, node)


def _domain_argument(state, node, value):
    if isinstance(value, Domain):
        return value
    if is_poison(value):
        raise Failure
    state.fail("E0204", f"a domain or subregion is needed here, not {_text(state, value)}", node)


def _product(state, node, value, what):
    """A tensor, or a product of tensors, as one operand."""
    if has_poison(value):
        raise Failure
    if is_leaf(value) or isinstance(value, (tuple, Record)):
        return state.pack(value, node)
    state.fail("E0204", f"{what} must be a tensor or a tuple or record of tensors, not {_text(state, value)}", node)


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


# Pointwise.


def _unary(kind):
    def meaning(state, node, x):
        x = _leaf(state, node, x)
        state.at(node)
        return state.builder.unary(kind, x)

    return meaning


def _approximable(kind):
    def meaning(state, node, x, approximate=False, flush_to_zero=False):
        x = _leaf(state, node, x)
        approximate = state.flag(approximate, "approximate", node)
        flush_to_zero = state.flag(flush_to_zero, "flush_to_zero", node)
        state.at(node)
        return state.builder.unary(kind, x, approximate, flush_to_zero)

    return meaning


def _binary(kind):
    def meaning(state, node, a, b):
        a, b = _leaf(state, node, a), _leaf(state, node, b)
        state.at(node)
        return state.builder.binary(kind, a, b)

    return meaning


def _fdiv(state, node, lhs, rhs, approximate, flush_to_zero):
    lhs, rhs = _leaf(state, node, lhs), _leaf(state, node, rhs)
    approximate = state.flag(approximate, "approximate", node)
    flush_to_zero = state.flag(flush_to_zero, "flush_to_zero", node)
    state.at(node)
    return state.builder.binary("div", lhs, rhs, approximate, flush_to_zero)


def _select(state, node, condition, a, b):
    operands = [_leaf(state, node, x) for x in (condition, a, b)]
    state.at(node)
    return state.builder.select(*operands)


def _mask(state, node, value, valid, fill):
    operands = [_leaf(state, node, x) for x in (value, valid, fill)]
    state.at(node)
    return state.builder.mask(*operands)


def _conversion(name):
    def meaning(state, node, x, dtype):
        x, dtype = _leaf(state, node, x), _dtype(state, node, dtype)
        state.at(node)
        return getattr(state.builder, name)(x, dtype)

    return meaning


# Tensors.


def _full(state, node, shape, fill, dtype):
    shape, fill = _shape(state, node, shape), _leaf(state, node, fill, "the fill")
    dtype = _dtype(state, node, dtype)
    state.at(node)
    return state.builder.full(shape, fill, dtype)


def _zeros(state, node, shape, dtype):
    zero = False if dtype is dtypes.dtype("bool") else 0
    if isinstance(dtype, dtypes.DType) and dtype.kind == "float":
        zero = 0.0
    return _full(state, node, shape, zero, dtype)


def _reshape(state, node, value, shape):
    value, shape = _leaf(state, node, value), _shape(state, node, shape)
    state.at(node)
    return state.builder.reshape(value, shape)


def _transpose(state, node, value, permutation=None):
    value = _leaf(state, node, value)
    if permutation is not None:
        if not isinstance(permutation, tuple):
            state.fail("E0304", "a permutation is a tuple of axes", node)
        permutation = [_axis(state, node, axis) for axis in permutation]
    state.at(node)
    return state.builder.transpose(value, permutation)


def _broadcast(state, node, value, shape):
    value, shape = _leaf(state, node, value), _shape(state, node, shape)
    state.at(node)
    return state.builder.broadcast(value, shape)


def _join(state, node, lhs, rhs):
    lhs, rhs = _leaf(state, node, lhs), _leaf(state, node, rhs)
    state.at(node)
    return state.builder.join(lhs, rhs)


def _record(state, node, fields):
    if not fields:
        state.fail("E0803", "a record has at least one field", node)
    for name, value in fields.items():
        if not (is_leaf(value) or isinstance(value, (tuple, Record))):
            state.fail("E0204", f"field {name!r} must be a scalar, tensor or product, not {_text(state, value)}", node)
        if is_leaf(value) and state.is_resource(value):
            state.fail("E0504", f"field {name!r} is storage; read it with an index to get a tensor", node)
    return Record(tuple(fields), tuple(fields.values()))


# Domains.


def _domain(state, node, begin, end, step):
    return calls.make_domain(state, node, begin, end, step)


def _indices(state, node, region):
    region = _domain_argument(state, node, region)
    state.at(node)
    return state.builder.indices(region.operand)


def _end(state, node, region):
    region = _domain_argument(state, node, region)
    state.at(node)
    return state.builder.region_end(region.operand)


def _parallel(state, node, domain):
    inner = loops.as_iteration(state, domain, node)
    return Iteration(inner.domains, inner.single, parallel=True, enumerated=inner.enumerated)


def _assume_in_bounds(state, node, index, resource, axis):
    index = state.index_operand(index, "an index", node)
    resource = _resource(state, node, resource, "the resource")
    axis = _axis(state, node, axis)
    state.at(node)
    state.builder.assume_in_bounds(index, resource, axis)


# Indexed access.


def _gather(state, node, source, index, valid, fill):
    source = _resource(state, node, source, "the source")
    terms = _index(state, node, index)
    valid = None if valid is None else _leaf(state, node, valid, "valid")
    fill = None if fill is None else _leaf(state, node, fill, "the fill")
    state.at(node)
    return state.builder.gather(source, terms, valid, fill)


def _scatter_unique(state, node, destination, index, value):
    destination = _resource(state, node, destination, "the destination")
    terms, value = _index(state, node, index), _leaf(state, node, value, "the value")
    state.at(node)
    state.builder.scatter_unique(destination, terms, value)


def _scatter_reduce(state, node, destination, index, value, combine):
    destination = _resource(state, node, destination, "the destination")
    terms, value = _index(state, node, index), _leaf(state, node, value, "the value")
    if is_poison(destination):
        raise Failure
    kind, region = _builtin_combine(combine), None
    if kind is None:
        element = core.scalar_type(state.builder.type_of(destination).dtype)
        region, _ = _combine_region(state, node, combine, element, ())
    state.at(node)
    state.builder.scatter_reduce(destination, terms, value, kind or "region", region)


# Reductions and scans.


def _builtin_combine(combine):
    """The builder's name of a builtin combine, or None."""
    names = {intrinsics.add: "add", intrinsics.maximum: "maximum", intrinsics.minimum: "minimum"}
    return names.get(combine) if isinstance(combine, Intrinsic) else None


def _combine_region(state, node, combine, schema, captures):
    """(region, capture operands): a helper of two states, traced over a schema."""
    if not isinstance(combine, Helper):
        state.fail(
            "E0601", f"combine is an @intent.fn, or I.add, I.maximum or I.minimum, not {_text(state, combine)}", node
        )
    runtime = [
        leaf for capture in captures for leaf in leaves(capture) if not state.is_static(leaf) and not is_poison(leaf)
    ]
    state.at(node)
    arguments = state.builder.push_region([schema, schema] + [state.builder.type_of(x) for x in runtime], isolated=True)
    states = [unpack(state, node, argument) for argument in arguments[:2]]
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
    operand = _product(state, node, value, "the value")
    start = _product(state, node, _identity(state, node, identity, value), "the identity")
    kind = _builtin_combine(combine)
    if kind is not None:
        if captures:
            state.fail("E0601", "combine_operands belong to a combine that is an @intent.fn", node)
        return operand, start, kind, None, []
    state.at(node)
    schema = state.builder.combine_schema(operand, axes, start)
    if schema is None:
        raise Failure
    region, runtime = _combine_region(state, node, combine, schema, captures)
    return operand, start, "region", region, runtime


def _reduce(state, node, value, axis, identity, combine, combine_operands):
    axes = _axes(state, node, axis)
    parts = _aggregate(state, node, value, axes, identity, combine, combine_operands)
    state.at(node)
    operand, start, kind, region, runtime = parts
    return unpack(state, node, state.builder.reduce(operand, axes, start, kind, region, runtime))


def _scan(state, node, value, axis, identity, combine, inclusive, reverse, combine_operands):
    axis = _axis(state, node, axis)
    inclusive, reverse = state.flag(inclusive, "inclusive", node), state.flag(reverse, "reverse", node)
    operand, start, kind, region, runtime = _aggregate(state, node, value, [axis], identity, combine, combine_operands)
    state.at(node)
    result = state.builder.scan(operand, axis, start, kind, region, runtime, inclusive, reverse)
    return unpack(state, node, result)


def _builtin_reduce(name):
    def meaning(state, node, value, *, axis, acc_dtype=None):
        value, axes = _leaf(state, node, value), _axes(state, node, axis)
        acc_dtype = _optional_dtype(state, node, acc_dtype)
        state.at(node)
        return state.builder.reduce_builtin(name, value, axes, acc_dtype)

    return meaning


def _arg_max(state, node, value, axis, acc_dtype):
    value, axes = _leaf(state, node, value), _axes(state, node, axis)
    if len(axes) != 1:
        state.fail("E0303", "an arg-reduction takes exactly one axis", node)
    acc_dtype = _optional_dtype(state, node, acc_dtype)
    state.at(node)
    result = unpack(state, node, state.builder.arg_max(value, axes[0], acc_dtype))
    return (POISON, POISON) if is_poison(result) else result


def _cumulative(name):
    def meaning(state, node, value, *, axis, inclusive, reverse, acc_dtype):
        value, axis = _leaf(state, node, value), _axis(state, node, axis)
        inclusive, reverse = state.flag(inclusive, "inclusive", node), state.flag(reverse, "reverse", node)
        acc_dtype = _optional_dtype(state, node, acc_dtype)
        state.at(node)
        return state.builder.cumulative(name, value, axis, inclusive, reverse, acc_dtype)

    return meaning


# Contractions.


def _dot(state, node, l, r, *, acc_dtype):
    l, r, acc_dtype = _leaf(state, node, l), _leaf(state, node, r), _dtype(state, node, acc_dtype)
    state.at(node)
    return state.builder.dot(l, r, acc_dtype)


def _vector_product(name):
    def meaning(state, node, first, second, *, acc_dtype, transpose):
        first, second = _leaf(state, node, first), _leaf(state, node, second)
        acc_dtype = _dtype(state, node, acc_dtype)
        transpose = state.static_bool(transpose, "transpose", node)
        state.at(node)
        return getattr(state.builder, name)(first, second, acc_dtype, transpose)

    return meaning


def _matmul(state, node, l, r, *, acc_dtype, transpose_lhs, transpose_rhs):
    l, r, acc_dtype = _leaf(state, node, l), _leaf(state, node, r), _dtype(state, node, acc_dtype)
    transpose_lhs = state.static_bool(transpose_lhs, "transpose_lhs", node)
    transpose_rhs = state.static_bool(transpose_rhs, "transpose_rhs", node)
    state.at(node)
    return state.builder.matmul(l, r, acc_dtype, transpose_lhs, transpose_rhs)


def _outer(state, node, l, r):
    l, r = _leaf(state, node, l), _leaf(state, node, r)
    state.at(node)
    return state.builder.outer(l, r)


def _contract(state, node, l, r, reduce, batch, *, acc_dtype):
    l, r, acc_dtype = _leaf(state, node, l), _leaf(state, node, r), _dtype(state, node, acc_dtype)
    reduce, batch = _pairs(state, node, reduce, "reduce"), _pairs(state, node, batch, "batch")
    state.at(node)
    return state.builder.contract(l, r, reduce, batch, acc_dtype)


def _scaled(state, node, operands, formats, group_size, acc_dtype):
    operands = [_leaf(state, node, x) for x in operands]
    if any(is_poison(x) for x in operands):
        raise Failure
    for f in formats:
        if not isinstance(f, Format) or f.name not in ("e2m1", "e4m3"):
            state.fail("E0603", f"a scaled format is I.e2m1 or I.e4m3, not {_text(state, f)}", node)
    scales = [
        "e8m0" if state.builder.type_of(scale).dtype == "u8" else "e4m3" for scale in (operands[1], operands[3])
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
    if _pairs(state, node, reduce, "reduce") != [(1, 0), (2, 1)] or _pairs(state, node, batch, "batch"):
        state.fail("E0603", "a scaled contraction has reduce=((1, 0), (2, 1)) and no batch", node)
    operands = (lhs, lhs_scale, rhs, rhs_scale)
    return _scaled(state, node, operands, (lhs_format, rhs_format), sizes[0], _dtype(state, node, acc_dtype))


def _scaled_matmul(state, node, lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, group_size, acc_dtype):
    size = state.static_int(group_size, "a group size", node)
    operands = (lhs, lhs_scale, rhs, rhs_scale)
    return _scaled(state, node, operands, (lhs_format, rhs_format), size, _dtype(state, node, acc_dtype))


def _sparse_format(kind):
    def meaning(state, node, *, compression_axis, logical_extent):
        return SparseFormat(kind, _axis(state, node, compression_axis))

    return meaning


def _sparse_contract(state, node, compressed, metadata, dense_rhs, format, reduce, batch, *, acc_dtype):
    if not isinstance(format, SparseFormat):
        state.fail("E0603", "a sparse format is I.sparse.one_of_two(...) or I.sparse.two_of_four(...)", node)
    compressed, dense = _leaf(state, node, compressed), _leaf(state, node, dense_rhs)
    where = _product(state, node, metadata, "the metadata")
    reduce, batch = _pairs(state, node, reduce, "reduce"), _pairs(state, node, batch, "batch")
    acc_dtype = _dtype(state, node, acc_dtype)
    state.at(node)
    return state.builder.sparse_contract(
        compressed, where, dense, format.kind, format.compression_axis, reduce, batch, acc_dtype
    )


def _sparse_matmul(state, node, compressed, metadata, rhs, *, format, acc_dtype):
    return _sparse_contract(state, node, compressed, metadata, rhs, format, ((1, 0),), (), acc_dtype=acc_dtype)


# Histograms, quantised records, storage, atomics, random numbers.


def _histogram(state, node, values, bins, valid, count_dtype):
    values, valid = _leaf(state, node, values), _leaf(state, node, valid)
    bins, count_dtype = state.index_operand(bins, "bins", node), _dtype(state, node, count_dtype)
    state.at(node)
    return state.builder.histogram(values, bins, valid, count_dtype)


def _format(state, node, value, wanted):
    if not isinstance(value, Format) or value.name != wanted:
        state.fail("E0603", f"the format here is I.{wanted}, not {_text(state, value)}", node)


def _quantize(state, node, values, format):
    _format(state, node, format, "quant.q8_k")
    values = _leaf(state, node, values)
    state.at(node)
    return state.builder.quantize(values)


def _quantized_dot(state, node, lhs, rhs, lhs_format, rhs_format, acc_dtype):
    _format(state, node, lhs_format, "quant.q4_k")
    _format(state, node, rhs_format, "quant.q8_k")
    if _dtype(state, node, acc_dtype) != "f32":
        state.fail("E0603", "a quantised dot accumulates in f32", node)
    lhs, rhs = _leaf(state, node, lhs), _leaf(state, node, rhs)
    state.at(node)
    return state.builder.quantized_dot(lhs, rhs)


def _buffer(state, node, shape, dtype, init):
    shape, dtype = _shape(state, node, shape), _dtype(state, node, dtype)
    init = None if init is None else _leaf(state, node, init, "init")
    state.at(node)
    return state.builder.buffer(shape, dtype, init)


def _order(state, node, order):
    if order not in ("relaxed", "acquire", "release", "acq_rel"):
        state.fail("E0507", f"order is 'relaxed', 'acquire', 'release' or 'acq_rel', not {order!r}", node)
    return order


def _atomic_load(state, node, resource, index, *, order):
    resource, terms = _resource(state, node, resource, "the resource"), _index(state, node, index)
    order = _order(state, node, order)
    state.at(node)
    return state.builder.atomic_load(resource, terms, order)


def _atomic_store(state, node, resource, index, value, *, order):
    resource, terms = _resource(state, node, resource, "the resource"), _index(state, node, index)
    value, order = _leaf(state, node, value), _order(state, node, order)
    state.at(node)
    state.builder.atomic_store(resource, terms, value, order)


def _atomic_rmw(kind):
    def meaning(state, node, resource, index, value, *, order):
        resource, terms = _resource(state, node, resource, "the resource"), _index(state, node, index)
        value, order = _leaf(state, node, value), _order(state, node, order)
        state.at(node)
        return state.builder.atomic_rmw(kind, resource, terms, value, order)

    return meaning


def _compare_exchange(state, node, resource, index, expected, desired, *, order):
    resource, terms = _resource(state, node, resource, "the resource"), _index(state, node, index)
    expected, desired = _leaf(state, node, expected), _leaf(state, node, desired)
    order = _order(state, node, order)
    state.at(node)
    return unpack(state, node, state.builder.atomic_cas(resource, terms, expected, desired, order))


def _random_bits(state, node, seed, counter):
    seed, counter = _leaf(state, node, seed, "the seed"), _leaf(state, node, counter, "the counter")
    state.at(node)
    return state.builder.random_bits(seed, counter)


def _random_uniform(state, node, seed, counter, dtype):
    if _dtype(state, node, dtype) != "f32":
        state.fail("E0202", "uniform numbers are f32; cast them to another dtype", node)
    bits = _random_bits(state, node, seed, counter)
    state.at(node)
    top = state.builder.binary("shr", bits, 8)
    return state.builder.binary("mul", state.builder.cast(top, "f32"), 2.0**-24)


def _unsupported(name):
    def meaning(state, node, *args, **kwargs):
        state.fail("E1001", f"I.{name} is not lowered by this version", node)

    return meaning


_MEANINGS = {
    **{
        name: _unary(name)
        for name in (
            "negate abs exp log log1p lgamma sin asin cos floor erf erfc i0 rsqrt sqrt sigmoid".split()
        )
    },
    "exp2": _approximable("exp2"),
    "tanh": _approximable("tanh"),
    **{name: _binary(name) for name in ("add", "maximum", "minimum", "maximum_num", "minimum_num")},
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
    "domain": _domain,
    "indices": _indices,
    "end": _end,
    "parallel": _parallel,
    "assume_in_bounds": _assume_in_bounds,
    "gather": _gather,
    "scatter_unique": _scatter_unique,
    "scatter_reduce": _scatter_reduce,
    "reduce": _reduce,
    "reduce.sum": _builtin_reduce("sum"),
    "reduce.max": _builtin_reduce("max"),
    "reduce.any": _builtin_reduce("any"),
    "reduce.all": _builtin_reduce("all"),
    "arg_reduce.max": _arg_max,
    "scan": _scan,
    "cumsum": _cumulative("sum"),
    "cummax": _cumulative("max"),
    "region_fold": _unsupported("region_fold"),
    "region_scan": _unsupported("region_scan"),
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
