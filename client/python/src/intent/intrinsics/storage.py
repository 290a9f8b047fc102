"""Indexed access beyond subscripts, buffers, atomics and random numbers."""

from __future__ import annotations

from .. import dtypes as _dtypes
from .kinds import Intrinsic, Namespace

_F32 = _dtypes.dtype("f32")


@Intrinsic
def gather(source, index, valid=None, fill=None):
    """source[index] where `valid` is true, else `fill`; nothing is read there.

    `source` is a view, buffer or tensor, `index` one term of a subscript or a tuple of them; index tensors pair point by
    point, domains add axes. `valid` is bool (E0204), `fill` of source's dtype, zero without one; both broadcast to the
    result and never enlarge it (E0301).

    Example, with x: In f32 (N,), out: Out f32 (N,):

        left = I.indices(I.domain(0, x.shape[0])) - 1
        out[:] = I.gather(x, left, valid=left >= 0)
    """


@Intrinsic
def scatter_unique(destination, index, value):
    """destination[index] = value, where no two elements meet; that is the author's promise.

    The index is as in a subscript; `value` has the destination's dtype and broadcasts to the result of the index. There is
    no mask: store under a scalar `if`.

    Example, with x: In f32 (N,), order: In index (N,), out: Out f32 (N,):

        I.scatter_unique(out, order[:], x[:])
    """


@Intrinsic
def scatter_reduce(destination, index, value, combine):
    """Combine every element of `value` into destination[index]; updates that meet are not lost.

    `combine` is I.add, I.maximum, I.minimum or a pure helper of two elements (E0503). The order is not specified. What the
    destination holds takes part, so that it must be readable: an InOut view, or an Out view written before (E0502).

    Example, with x: In f32 (N,), bin: In index (N,), total: InOut f32 (B,):

        I.scatter_reduce(total, bin[:], x[:], I.add)
    """


@Intrinsic
def buffer(shape, dtype, init=None):
    """Mutable storage of this kernel: read with an index, written by assignment to a subscript.

    `init` is a tensor that broadcasts to `shape`, or a scalar; without one, elements are undefined until written. The name
    is storage, not a value (E0504: read it, `b[:]`); it lives in its block and cannot be returned or carried (E0505). A
    view element type is needed (E0206).

    Example, with x: In f32 (N,), out: Out f32 (N,):

        work = I.buffer(x.shape, I.f32, init=x[:])
        for i in range(1, x.shape[0]):
            work[i] = I.maximum(work[i], work[i - 1])
        out[:] = work[:]
    """


atomic = Namespace(
    "atomic",
    """Indivisible accesses to one element of a view or buffer: load, store, exchange, add, max, min, and_, or_, xor and
    compare_exchange.

    The index is a scalar or a tuple of scalars, one for each axis (E0307). Integers of 32 and 64 bits take part in all of
    them; floats in load, store, exchange, add, max, min and compare_exchange (E0202). `order` is "relaxed" unless given;
    loads may be "acquire", stores "release", all others "acquire", "release" or "acq_rel" (E0507).

    Example, with x: In i32 (N,), counts: InOut i32 (B,):

        for i in I.parallel(I.domain(0, x.shape[0])):
            I.atomic.add(counts, I.cast(x[i], I.index), 1)
    """,
)

_ELEMENT = (
    "`resource` is a view or buffer, `index` one scalar for each axis, `value` a scalar of the element's dtype (E0201). Out "
    "views are undefined until written (E0502); In views can only be loaded (E0501)."
)
_OLD = " The result is the old value."


@atomic.member("load")
def _(resource, index, *, order="relaxed"):
    """The element, read atomically. The order is "relaxed" or "acquire" (E0507).

    Example, with flag: InOut i32 (1,), out: Out i32 ():

        out[()] = I.atomic.load(flag, 0, order="acquire")
    """


@atomic.member("store", _ELEMENT)
def _(resource, index, value, *, order="relaxed"):
    """Write the element atomically. The order is "relaxed" or "release" (E0507).

    Example, with flag: InOut i32 (1,):

        I.atomic.store(flag, 0, 1, order="release")
    """


@atomic.member("exchange", _ELEMENT + _OLD)
def _(resource, index, value, *, order="relaxed"):
    """Replace the element.

    Example, with slot: InOut i32 (1,), out: Out i32 ():

        out[()] = I.atomic.exchange(slot, 0, 7)
    """


@atomic.member("add", _ELEMENT + _OLD)
def _(resource, index, value, *, order="relaxed"):
    """Add to the element. Integers wrap; the order in which floats are added is not specified.

    Example, with x: In f32 (N,), total: InOut f32 (1,):

        for i in I.parallel(I.domain(0, x.shape[0])):
            I.atomic.add(total, 0, x[i])
    """


@atomic.member("max", _ELEMENT + _OLD)
def _(resource, index, value, *, order="relaxed"):
    """Keep the greater, as I.maximum.

    Example, with x: In i32 (N,), peak: InOut i32 (1,):

        for i in I.parallel(I.domain(0, x.shape[0])):
            I.atomic.max(peak, 0, x[i])
    """


@atomic.member("min", _ELEMENT + _OLD)
def _(resource, index, value, *, order="relaxed"):
    """Keep the lesser, as I.minimum.

    Example, with x: In i32 (N,), least: InOut i32 (1,):

        for i in I.parallel(I.domain(0, x.shape[0])):
            I.atomic.min(least, 0, x[i])
    """


@atomic.member("and_", _ELEMENT + _OLD)
def _(resource, index, value, *, order="relaxed"):
    """Keep the bitwise and, of integers.

    Example, with x: In u32 (N,), common: InOut u32 (1,):

        for i in I.parallel(I.domain(0, x.shape[0])):
            I.atomic.and_(common, 0, x[i])
    """


@atomic.member("or_", _ELEMENT + _OLD)
def _(resource, index, value, *, order="relaxed"):
    """Keep the bitwise or, of integers.

    Example, with x: In u32 (N,), seen: InOut u32 (1,):

        for i in I.parallel(I.domain(0, x.shape[0])):
            I.atomic.or_(seen, 0, x[i])
    """


@atomic.member("xor", _ELEMENT + _OLD)
def _(resource, index, value, *, order="relaxed"):
    """Keep the bitwise exclusive or, of integers.

    Example, with x: In u32 (N,), parity: InOut u32 (1,):

        for i in I.parallel(I.domain(0, x.shape[0])):
            I.atomic.xor(parity, 0, x[i])
    """


@atomic.member("compare_exchange")
def _(resource, index, expected, desired, *, order="relaxed"):
    """Replace the element by `desired` if its bits are those of `expected`.

    Both are scalars of the element's dtype. The result is a record: `old_value`, and `success` (bool). After a failure the
    order is "relaxed" for "release", "acquire" for "acq_rel".

    Example, with slot: InOut i32 (1,), out: Out bool ():

        found = I.atomic.compare_exchange(slot, 0, 0, 1, order="acq_rel")
        out[()] = found.success
    """


random = Namespace(
    "random",
    """Random numbers from a seed and a counter (Philox4x32-10): pure, without hidden state.

    Equal seeds and counters give equal numbers, on every target. Give each number a counter of its own.

    Example, with seed: u64, out: Out f32 (N,):

        out[:] = I.random.uniform(seed, I.indices(I.domain(0, out.shape[0])))
    """,
)


@random.member("bits")
def _(seed, counter):
    """32 random bits, u32.

    `seed` is a u64 scalar, `counter` a u64 or index scalar or tensor, whose shape the result has.

    Example, with seed: u64, out: Out u32 (N,):

        out[:] = I.random.bits(seed, I.indices(I.domain(0, out.shape[0])))
    """


@random.member("uniform")
def _(seed, counter, dtype=_F32):
    """A number in [0, 1): the top 24 bits of `I.random.bits`, scaled.

    It is f32 (E0202 for others: cast it), of the counter's shape.

    Example, with seed: u64, x: In f32 (N,), out: Out f32 (N,):

        chance = I.random.uniform(seed, I.indices(I.domain(0, x.shape[0])))
        out[:] = I.select(chance < 0.9, x[:] / 0.9, 0.0)
    """
