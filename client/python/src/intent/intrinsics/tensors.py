"""Tensors, their shapes, records, and the domains that coordinates come from."""

from __future__ import annotations

from .kinds import Intrinsic


@Intrinsic
def full(shape, fill, dtype):
    """An immutable tensor with every element `fill`.

    `shape` is a tuple of literals, `I.index` scalars and domains (their extent), `()` for rank 0; `fill` a scalar that
    `dtype` can represent (E0203). A negative extent is E0306, or a RunError where only the call can tell.

    Example, with x: In f32 (M, N), out: Out f32 (N,):

        total = I.full((x.shape[1],), 0.0, I.f32)
        for i in range(x.shape[0]):
            total = total + x[i, :]
        out[:] = total
    """


@Intrinsic
def zeros(shape, dtype):
    """An immutable tensor of zeros (False for bool): `I.full` with that fill.

    It is a value: a loop updates it by assigning the name anew. `I.buffer` is storage.

    Example, with out: Out f32 (4, 4):

        out[:, :] = I.zeros((4, 4), I.f32)
    """


@Intrinsic
def reshape(value, shape):
    """The elements of a tensor, in row-major order, under another shape.

    The dtype is kept, and so is the number of elements (E0305, or a RunError where only the call can tell). One extent may
    be -1, for what is left; an entry may be a domain, for its extent.

    Example, with x: In f32 (M, N), out: Out f32 (M, 1):

        out[:, :] = I.reshape(I.reduce.sum(x[:, :], axis=1), (x.shape[0], 1))
    """


@Intrinsic
def transpose(value, permutation=None):
    """A tensor with its axes in another order: axis i of the result is axis permutation[i] of `value`.

    A permutation names every axis once (E0304); without one, all axes are reversed.

    Example, with x: In f32 (B, M, N), out: Out f32 (B, N, M):

        out[:, :, :] = I.transpose(x[:, :, :], (0, 2, 1))
    """


@Intrinsic
def permute(value, permutation):
    """`I.transpose` with its permutation.

    Example, with x: In f32 (H, W, C), out: Out f32 (C, H, W):

        out[:, :, :] = I.permute(x[:, :, :], (2, 0, 1))
    """


@Intrinsic
def broadcast(value, shape):
    """A scalar or tensor spread to `shape`, aligned from the right: extents are equal or 1 (E0301).

    Operators and stores broadcast by themselves; this is for where a value of the larger shape is needed, such as the
    initial value of a loop.

    Example, with row: In f32 (N,), count: index, out: Out f32 (M, N):

        out[:, :] = I.broadcast(row[:], out.shape)
    """


@Intrinsic
def join(lhs, rhs):
    """Two tensors of one dtype and shape side by side on a new last axis of extent 2: `lhs` at 0, `rhs` at 1.

    With a reshape, it interleaves.

    Example, with even: In f32 (N,), odd: In f32 (N,), out: Out f32 (N, 2):

        out[:, :] = I.join(even[:], odd[:])
    """


@Intrinsic
def record(**fields):
    """A record of named, ordered fields, given by keyword and read by name.

    A field is a scalar, a tensor or a product of them, each of its own dtype and shape. Records are values of loops,
    helpers, reductions and regions; they are no parameters of kernels.

    Example, with x: In f32 (N,), out: Out f32 (2,):

        bounds = I.record(low=x[0], high=x[0])
        for i in range(x.shape[0]):
            bounds = I.record(low=I.minimum(bounds.low, x[i]), high=I.maximum(bounds.high, x[i]))
        out[0] = bounds.low
        out[1] = bounds.high
    """


@Intrinsic
def domain(begin, end, step=1):
    """The coordinates begin, begin + step, ... below `end`.

    Bounds are literals or `I.index` scalars (E0307 for other integers: cast them); the step is positive (E0306). A domain
    indexes views and tensors, giving an axis of its own, and is what loops run over. `axis[b:e]` is a subregion: it keeps
    absolute coordinates, and begin <= b <= e <= end, nothing is clamped. It is no tensor (`I.indices` makes one) and no
    axis number.

    Example, with x: In f32 (M, N), out: Out f32 (M, N):

        rows, columns = I.domain(0, x.shape[0]), I.domain(0, x.shape[1])
        out[rows, columns] = x[rows, columns] * 2.0
    """


@Intrinsic
def indices(region):
    """The coordinates of a domain or subregion as a tensor of `I.index`, of rank 1.

    They are the absolute coordinates, also of a subregion. Cast them before floating arithmetic.

    Example, with out: Out f32 (N,):

        steps = I.indices(I.domain(0, out.shape[0]))
        out[:] = I.cast(steps, I.f32) * 0.5
    """


@Intrinsic
def end(region):
    """The exclusive end of a domain or subregion, an `I.index` scalar.

    Example, with x: In f32 (N,), out: Out f32 ():

        middle = I.domain(0, x.shape[0])[0 : x.shape[0] // 2]
        total = I.reduce.sum(x[middle], axis=0)
        out[()] = total / I.cast(I.end(middle), I.f32)
    """


@Intrinsic
def parallel(domain):
    """In `for i in I.parallel(domain)`: every point once, in no order.

    `domain` is a domain, a subregion, a `range` or a tuple of domains (`for i, j in ...`). The points carry nothing to
    each other (E0403) and cannot break (E0404); `continue` leaves one out. Their stores must not conflict; atomics and
    I.scatter_reduce may meet.

    Example, with x: In f32 (M, N), out: Out f32 (M,):

        for i in I.parallel(I.domain(0, x.shape[0])):
            out[i] = I.reduce.max(x[i, :], axis=0)
    """


@Intrinsic
def assume_in_bounds(index, resource, *, axis):
    """A promise that every active element of `index` lies within that axis of a view or buffer.

    A statement, without a result; the guard of accesses by that index is left out. A promise that is not kept is
    undefined behaviour.

    Example, with table: In f32 (T,), at: In index (N,), out: Out f32 (N,):

        where = at[:]
        I.assume_in_bounds(where, table, axis=0)
        out[:] = table[where]
    """
