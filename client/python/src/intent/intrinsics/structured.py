"""Reductions, scans and regions: what is said about a whole axis at once."""

from __future__ import annotations

from .kinds import Intrinsic, Namespace


@Intrinsic
def reduce(value, axis, identity, combine, combine_operands=()):
    """Aggregate along `axis` in any order and grouping: combine is associative and commutative, identity neutral.

    `value` is a tensor, or a tuple or record of tensors; `axis` an integer or a tuple of them, known at compile time
    (E0303). Reduced axes are deleted; none left gives a scalar. `combine` is I.add, I.maximum, I.minimum or a pure helper
    of two states (E0503), whose result has the type of `identity` (E0601): an element scalar, or the whole slice of the
    retained axes. `combine_operands` are further arguments of the helper. An empty axis gives the identity.

    Example:

        @intent.fn
        def longer(a, b):
            return I.select(I.abs(a) >= I.abs(b), a, b)


        @intent.kernel
        def kernel(x: I.In[I.f32, ("M", "N")], out: I.Out[I.f32, ("M",)]):
            out[:] = I.reduce(x[:, :], axis=1, identity=0.0, combine=longer)
    """


@reduce.member("sum")
def _(value, *, axis, acc_dtype=None):
    """Sums along `axis`; their order is not specified.

    The dtype of the result is `acc_dtype`, to which elements are cast first; without one i8 and i16 become i32, u8 and
    u16 u32, f8, f16 and bf16 f32, and others stay. bool is E0202. Reduced axes are deleted, and there is no keepdim.

    Example, with x: In f32 (M, N), out: Out f32 (M, N):

        rows = x[:, :]
        out[:, :] = rows / I.reduce.sum(rows, axis=1)[:, None]
    """


@reduce.member("max")
def _(value, *, axis, acc_dtype=None):
    """Maxima along `axis`; NaN propagates.

    The dtype stays, unless `acc_dtype` says otherwise. An empty axis gives -inf, the least integer, or 0 of an unsigned
    dtype; bool is E0202 (I.reduce.any). For minima, I.reduce with combine=I.minimum.

    Example, with x: In f32 (M, N), out: Out f32 (M,):

        out[:] = I.reduce.max(x[:, :], axis=1)
    """


@reduce.member("any")
def _(value, *, axis):
    """Whether any element of a bool tensor (E0202 otherwise) is true along `axis`; False along an empty one.

    Example, with x: In f32 (N,), out: Out bool ():

        out[()] = I.reduce.any(x[:] < 0.0, axis=0)
    """


@reduce.member("all")
def _(value, *, axis):
    """Whether all elements of a bool tensor (E0202 otherwise) are true along `axis`; True along an empty one.

    Example, with x: In f32 (M, N), out: Out bool (M,):

        out[:] = I.reduce.all(x[:, :] == x[:, :], axis=1)
    """


arg_reduce = Namespace(
    "arg_reduce",
    """Reductions that also tell where: `I.arg_reduce.max`.

    Example, with x: In f32 (N,), best: Out f32 (), where: Out index ():

        value, position = I.arg_reduce.max(x[:], axis=0)
        best[()] = value
        where[()] = position
    """,
)


@arg_reduce.member("max")
def _(value, axis, acc_dtype=None):
    """(values, indices) of the maxima along one axis, a tuple of two.

    Indices are `I.index`, counted along the reduced axis of `value`; ties go to the lowest, and so do NaNs, which win. The
    axis is deleted from both.

    Example, with x: In f32 (M, N), out: Out i64 (M,):

        _, position = I.arg_reduce.max(x[:, :], axis=1)
        out[:] = I.cast(position, I.i64)
    """


@Intrinsic
def scan(value, axis, identity, combine, inclusive, reverse=False, combine_operands=()):
    """Every prefix aggregate along one axis, in order; combine is associative.

    As I.reduce, with one axis, which stays. An inclusive prefix holds its own element, an exclusive one does not and
    begins with the identity. `reverse` runs from the end; what came from later elements is then combine's left argument.

    Example:

        @intent.fn
        def compose(a, b):
            return I.record(scale=a.scale * b.scale, shift=a.shift * b.scale + b.shift)


        @intent.kernel
        def kernel(decay: I.In[I.f32, ("T",)], x: I.In[I.f32, ("T",)], out: I.Out[I.f32, ("T",)]):
            steps = I.record(scale=decay[:], shift=x[:])
            identity = I.record(scale=I.cast(1.0, I.f32), shift=I.cast(0.0, I.f32))
            out[:] = I.scan(steps, axis=0, identity=identity, combine=compose, inclusive=True).shift
    """


@Intrinsic
def cumsum(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Prefix sums along one axis, whose shape the result has; dtypes as of I.reduce.sum.

    Example, with x: In f32 (M, N), out: Out f32 (M, N):

        out[:, :] = I.cumsum(x[:, :], axis=1, inclusive=False)
    """


@Intrinsic
def cummax(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Prefix maxima along one axis, whose shape the result has; dtypes as of I.reduce.max.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.cummax(x[:], axis=0)
    """


@Intrinsic
def region_fold(source, axis, summarize, combine, identity, operands=()):
    """Summarise contiguous slices of `source` and combine the summaries in order; the result is a summary.

    `source` is a tensor or a tuple of tensors that share the extent of `axis`. summarize(slices..., operands...) gives the
    summary of one slice, combine(lhs, rhs) that of two neighbours; both are pure helpers (E0503), and `identity` has the
    summary's type (E0601). The summary of a whole equals the combination of its parts, wherever it is cut: the compiler
    chooses where, and a slice's extent must not enter results (E0604). Coordinates come in as a component `I.indices`.

    Example:

        @intent.fn
        def summarize(part):
            peak = I.reduce.max(part, axis=0)
            return I.record(peak=peak, total=I.reduce.sum(I.exp(part - peak), axis=0), valid=peak == peak)


        @intent.fn
        def combine(a, b):
            peak = I.select(a.valid, I.select(b.valid, I.maximum(a.peak, b.peak), a.peak), b.peak)
            left = I.select(a.valid, a.total * I.exp(a.peak - peak), 0.0)
            right = I.select(b.valid, b.total * I.exp(b.peak - peak), 0.0)
            return I.record(peak=peak, total=left + right, valid=a.valid | b.valid)


        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ()]):
            nothing = I.record(peak=I.cast(0.0, I.f32), total=I.cast(0.0, I.f32), valid=False)
            whole = I.region_fold(x[:], 0, summarize, combine, nothing)
            out[()] = whole.peak + I.log(whole.total)
    """


@Intrinsic
def region_scan(source, axis, summarize, combine, identity, initial_state, apply, emit, operands=()):
    """(outputs, final state): slices in order, each of which sees the state that those before it left.

    As I.region_fold, and two more pure helpers: apply(summary, state) gives the state behind a slice, of initial_state's
    type; emit(slices..., state, operands...) gives the outputs of a slice, each with the slice's extent exactly once
    (E0604), which becomes the whole extent. An empty source gives empty outputs and the initial state.

    Example:

        @intent.fn
        def summarize(part):
            return I.reduce.sum(part, axis=0)


        @intent.fn
        def add(a, b):
            return a + b


        @intent.fn
        def emit(part, before):
            return before + I.cumsum(part, axis=0)


        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)], last: I.Out[I.f32, ()]):
            zero = I.cast(0.0, I.f32)
            sums, total = I.region_scan(x[:], 0, summarize, add, zero, zero, add, emit)
            out[:] = sums
            last[()] = total
    """
