"""The surface, construct by construct: what the language lets an author write, in Python, compared with NumPy.

Chapters are those of the language's own document. A row is a chapter, the body of a kernel whose parameters stand in
SIGNATURE, and an expression for what `out` then holds; X, V, K and so on are the arguments. What authors should read
is docs/authoring.md, whose pieces run too; the rows here are the corners of it.
"""

import textwrap

import numpy as np
import pytest

import intent

HELPERS = """
class Mode(I.Enum):
    PLAIN = 0
    DOUBLE = 1


LIMIT = 3
PAIR = (1.0, 2)


@intent.fn
def add(a, b):
    return a + b


@intent.fn
def scaled_add(a, b, factor):
    return (a + b) * factor / factor


@intent.fn
def both(a, b):
    return a[0] + b[0], I.maximum(a[1], b[1])


@intent.fn
def fields(a, b):
    return I.record(total=a.total + b.total, most=I.maximum(a.most, b.most))


@intent.fn
def by_keyword(a, *, times=2.0, mode=Mode.PLAIN):
    if mode == Mode.DOUBLE:
        return a * times * 2.0
    return a * times


@intent.fn
def store(view, at, value):
    view[at] = value


@intent.fn
def ordered(log, place, value):
    log[place] = value
    return value
"""

SIGNATURE = """
@intent.kernel
def kernel(
    x: I.In[I.f32, ("M", "N")],
    v: I.In[I.f32, ("N",)],
    k: I.In[I.i32, ("N",)],
    m: I.In[I.bool, ("N",)],
    fixed: I.In[I.f32, (2, 3)],
    s: I.f32,
    n: I.index,
    out: I.InOut[I.f32, ("M", "N")],
    mode: I.Constexpr[Mode] = Mode.DOUBLE,
    fast: I.Constexpr[bool] = True,
    count: I.Constexpr[int] = 2,
    ratio: I.Constexpr[float] = 0.5,
):
    M, N = x.shape
"""

X = np.arange(15, dtype=np.float32).reshape(3, 5) - 4
V = np.array([3, -1, 4, -1, 5], np.float32)
K = np.array([2, 0, 1, 4, 3], np.int32)
B = np.array([True, False, True, True, False])
FIXED = np.arange(6, dtype=np.float32).reshape(2, 3)
ZERO = np.zeros((3, 5), np.float32)
ROWS = np.arange(3)[:, None]


def rows(of):
    return np.broadcast_to(np.asarray(of, np.float32), (3, 5))


def places(values):
    made = np.zeros((3, 5), np.float32)
    for at, value in values.items():
        made[at] = value
    return made


CONSTRUCTS = [
    # 1: definitions, products.
    ("1", "out[:, :] = by_keyword(x[:, :], times=3.0, mode=mode)", X * 6),
    ("1", "out[:, :] = by_keyword(x[:, :])", X * 2),
    ("1", "a, (b, c) = v[0], (v[1], s)\nout[:, :] = a + b * c", rows(1)),
    ("1", "t = (v[0], (v[1], v[2]))\nout[:, :] = t[0] + t[1][-1]", rows(7)),
    ("1", "t = (1.0, 2.0, 3.0)\nout[:, :] = I.cast(t[1:][0], I.f32) + I.cast(len(t), I.f32)", rows(5)),
    ("1", "r = I.record(a=v[:], b=I.record(c=s))\nout[:, :] = r.a + r.b.c", rows(V + 2)),
    ("1", "store(out, (0, n), 7.0)", np.where((ROWS == 0) & (np.arange(5) == 1), 7, 0)),
    # Arguments are evaluated in the order of the source, once each.
    (
        "1",
        "out[0, 0] = add(b=ordered(out, (1, 1), v[0]), a=ordered(out, (1, 1), v[2]))",
        places({(0, 0): 7, (1, 1): 4}),
    ),
    # 2: literals and promotion.
    ("2", "out[:, :] = I.cast(I.select(m[:], 1.0, -1.0), I.f32)", rows(np.where(B, 1, -1))),
    ("2", "half = 0.5\nout[:, :] = x[:, :] * I.cast(half, I.f32)", X / 2),
    ("2", "out[:, :] = I.maximum(x[:, :], -I.inf) + I.cast(I.LOG2E * 0.0, I.f32)", X),
    ("2", "out[:, :] = x[:, :] + 0x10 - 1e0 + 0b11 - 1_000", X + 16 - 1 + 3 - 1000),
    # 3: domains.
    ("3", "for i in I.domain(0, N, 2):\n    out[0, i] = 1.0", np.where(ROWS == 0, [1, 0, 1, 0, 1], 0)),
    (
        "3",
        "d = I.domain(0, N)\nout[0, d[:2]] = 1.0\nout[0, d[3:]] = 2.0",
        np.where(ROWS == 0, [1, 1, 0, 2, 2], 0),
    ),
    (
        "3",
        "d = I.domain(0, N)[1:4][2:3]\nfor j in d:\n    out[0, j] = I.cast(I.end(d), I.f32)",
        np.where(ROWS == 0, [0, 0, 3, 0, 0], 0),
    ),
    ("3", "d = I.domain(0, N)[2:2]\nfor j in d:\n    out[0, j] = 1.0", ZERO),
    (
        "3",
        "for a, j in enumerate(I.domain(1, N, 2)):\n    out[0, j] = I.cast(a + 1, I.f32)",
        np.where(ROWS == 0, [0, 1, 0, 2, 0], 0),
    ),
    (
        "3",
        "for i, j in (I.domain(0, M), I.domain(1, N)):\n    out[i, j] = x[i, j]",
        np.where(np.arange(5) > 0, X, 0),
    ),
    (
        "3",
        "for i in I.parallel(range(M)):\n    for a, j in I.parallel(enumerate(I.domain(0, N)[1:3])):\n        out[i, j] = I.cast(a, I.f32) + 1.0",
        rows([0, 1, 2, 0, 0]),
    ),
    (
        "3",
        "for i in range(N - 1, N):\n    out[0, i] = 1.0\nfor i in range(0, N, 3):\n    out[1, i] = 2.0",
        np.array([[0, 0, 0, 0, 1], [2, 0, 0, 2, 0], [0] * 5]),
    ),
    (
        "3",
        "i = I.indices(I.domain(0, N)[1:4])\nout[0, i] = I.cast(i, I.f32)",
        np.where(ROWS == 0, [0, 1, 2, 3, 0], 0),
    ),
    # 4: indexing.
    ("4", "out[:, :] = x[...]", X),
    ("4", "out[...] = x[..., :]", X),
    ("4", "out[:] = x[:]", X),
    ("4", "out[:, :] = x[:, None, :][:, 0]", X),
    ("4", "out[:, :] = I.reshape(x[1:3, n], (2, 1))[1]", rows(X[2, 1])),
    ("4", "out[:, :] = fixed[-1, -2] + fixed[1][0]", rows(4 + 3)),
    ("4", "at = (0, n)\nout[:, :] = x[at]", rows(X[0, 1])),
    ("4", "out[:, 1:3] = x[:, 0:2]", np.hstack([ZERO[:, :1], X[:, :2], ZERO[:, 3:]])),
    ("4", "out[:, :] = x[:, k[:]]", X[:, K]),
    ("4", "out[:, k[:]] = x[:, :]", X[:, np.argsort(K)]),
    (
        "4",
        "i = I.indices(I.domain(0, M))\nout[i, k[0:M]] = 1.0 + v[0:M]",
        places({(0, 2): 4, (1, 0): 0, (2, 1): 5}),
    ),
    ("4", "i = I.indices(I.domain(0, M))\nout[:, :] = x[i[:, None], k[:][None, :]]", X[ROWS, K]),
    ("4", "r = I.domain(0, M)[1:3]\nc = I.domain(0, N)\nout[r, c] = x[r, c]", np.where(ROWS > 0, X, 0)),
    ("4", "out[:, :] = I.gather(x, (slice(None), k[:]))", X[:, K]),
    (
        "4",
        "out[0, :] = I.gather(v, k[:] - 1, valid=k[:] > 0)",
        np.where(ROWS == 0, np.where(K > 0, V[K - 1], 0), 0),
    ),
    (
        "4",
        "out[0, :] = I.gather(v, k[:] + 1, valid=k[:] < 4, fill=s)",
        np.where(ROWS == 0, np.where(K < 4, V[(K + 1) % 5], 2), 0),
    ),
    ("4", "I.scatter_unique(out, (0, k[:]), v[:])", np.where(ROWS == 0, V[np.argsort(K)], 0)),
    (
        "4",
        "I.scatter_reduce(out, (0, k[:] // 2), v[:], combine=add)",
        np.where(ROWS == 0, [-1 + 4, 3 + 5, -1, 0, 0], 0),
    ),
    (
        "4",
        "I.scatter_reduce(out, (0, k[:] // 2), v[:], combine=I.maximum)",
        np.where(ROWS == 0, [4, 5, 0, 0, 0], 0),
    ),
    # 5: shapes.
    ("5", "out[:, :] = I.transpose(I.reshape(I.transpose(x[:, :]), (N, M)))", X),
    ("5", "out[:, :] = I.permute(x[:, :], (0, 1)) + I.zeros((M, 1), I.f32)", X),
    ("5", "out[:, :] = I.broadcast(v[:], x.shape) + I.full((), 1, dtype=I.f32)", rows(V + 1)),
    ("5", "d = I.domain(0, N)\nout[:, :] = I.full((d,), 2.0, I.f32)", rows(2)),
    ("5", "j = I.join(v[:], v[:] * 2.0)\nout[0, :] = j[:, 0] + j[:, 1]", np.where(ROWS == 0, V * 3, 0)),
    ("5", "out[:, :] = I.mask(x[:, :], m[:], fill=-1.0)", np.where(B, X, -1)),
    ("5", "out[:, :] = I.bitcast(I.bitcast(x[:, :], I.u32) | I.cast(2147483648, I.u32), I.f32)", -abs(X)),
    ("5", "out[:, :] = I.cast(I.saturating_cast(x[:, :] * 100.0, I.i8), I.f32)", np.clip(X * 100, -128, 127)),
    # 6: functions.
    (
        "6",
        "out[:, :] = I.cast((k[:] - 3) // 2 * 10 + (k[:] - 3) % 2, I.f32)",
        rows((K - 3) // 2 * 10 + (K - 3) % 2),
    ),
    ("6", "out[:, :] = I.cast(k[:] << 2 | 1 ^ k[:] & 3, I.f32)", rows(K << 2 | 1 ^ K & 3)),
    ("6", "out[:, :] = I.cast(~k[:] >> 1, I.f32) + +s ** 2.0", rows((~K >> 1) + 4)),
    ("6", "out[:, :] = I.cast(~m[:] ^ m[:] & (v[:] > 0.0), I.f32)", rows(~B ^ B & (V > 0))),
    ("6", "out[:, :] = I.add(I.negate(x[:, :]), I.abs(x[:, :]))", abs(X) - X),
    ("6", "out[:, :] = I.cast((0.0 <= v[:]) & (v[:] < 4.0) == m[:], I.f32)", rows(((V >= 0) & (V < 4)) == B)),
    (
        "6",
        "out[:, :] = I.fdiv(x[:, :], 2.0, approximate=fast, flush_to_zero=fast) + 0.0 * I.tanh(s, approximate=fast)",
        X / 2,
    ),
    ("6", "out[:, :] = I.maximum_num(x[:, :], I.cast(I.inf, I.f32) - I.inf)", X),
    # 7: reductions and scans.
    ("7", "out[:, :] = I.reduce.sum(x[:, :], axis=(0, 1)) + I.reduce.max(v[:], axis=-1)", rows(X.sum() + 5)),
    ("7", "out[:, :] = I.reduce(x[:, :], 0, 0.0, scaled_add, combine_operands=(s,))", rows(X.sum(axis=0))),
    (
        "7",
        "a, b = I.reduce((v[:], v[:]), axis=0, identity=(0.0, -I.inf), combine=both)\nout[:, :] = a * b",
        rows(50),
    ),
    (
        "7",
        "r = I.reduce(I.record(total=v[:], most=v[:]), axis=0, identity=I.record(total=0.0, most=-I.inf), combine=fields)\nout[:, :] = r.total - r.most",
        rows(5),
    ),
    ("7", "out[:, :] = I.cast(I.reduce.any(m[:], axis=0) & ~I.reduce.all(m[:], axis=0), I.f32)", rows(1)),
    ("7", "out[:, :] = I.cast(I.reduce.sum(k[:], axis=0, acc_dtype=I.i64), I.f32)", rows(10)),
    (
        "7",
        "a, i = I.arg_reduce.max(x[:, :], axis=1)\nout[:, :] = (a + I.cast(i, I.f32))[:, None]",
        X.max(axis=1)[:, None] + 4 + ZERO,
    ),
    ("7", "out[:, :] = I.cumsum(x[:, :], axis=1, inclusive=False)", np.cumsum(X, axis=1) - X),
    ("7", "out[:, :] = I.cumsum(x[:, :], axis=0, reverse=True)", np.cumsum(X[::-1], axis=0)[::-1]),
    ("7", "out[:, :] = I.cummax(v[:], axis=0)", rows(np.maximum.accumulate(V))),
    ("7", "out[:, :] = I.scan(v[:], 0, 0.0, add, inclusive=True)", rows(np.cumsum(V))),
    (
        "7",
        "a, b = I.scan((v[:], v[:]), 0, (0.0, -I.inf), both, inclusive=True)\nout[:, :] = a + b",
        rows(np.cumsum(V) + np.maximum.accumulate(V)),
    ),
    # 9: contractions.
    ("9", "out[:, :] = I.dot(v[:], v[:], acc_dtype=I.f32)", rows(V @ V)),
    ("9", "out[:, :] = I.matvec(x[:, :], v[:], acc_dtype=I.f32)[:, None]", (X @ V)[:, None] + ZERO),
    ("9", "out[:, :] = I.vecmat(I.full((M,), 1.0, I.f32), x[:, :], acc_dtype=I.f32)", rows(X.sum(axis=0))),
    (
        "9",
        "out[:, :] = I.matmul(I.outer(v[:], v[:]), x[:, :], acc_dtype=I.f32, transpose_lhs=True, transpose_rhs=True)[0, 0] + x[:, :] * 0.0",
        rows(V[0] * (V @ X[0])),
    ),
    (
        "9",
        "out[:, :] = I.contract(x[:, :], x[:, :], reduce=((0, 0), (1, 1)), acc_dtype=I.f32)",
        rows((X * X).sum()),
    ),
    (
        "9",
        "out[:, :] = I.contract(x[:, :], x[:, :], reduce=((1, 1),), batch=((0, 0),), acc_dtype=I.f32)[:, None]",
        (X * X).sum(axis=1)[:, None] + ZERO,
    ),
    # 10: counting.
    (
        "10",
        "out[0, :] = I.cast(I.histogram(k[:], bins=N, valid=m[:], count_dtype=I.u32), I.f32)",
        np.where(ROWS == 0, np.bincount(K[B], minlength=5), 0),
    ),
    # 11: control.
    (
        "11",
        "t = 0.0\nif fast:\n    t = v[0]\nelif mode == Mode.PLAIN:\n    t = v[1]\nelse:\n    t = v[2]\nout[:, :] = t",
        rows(3),
    ),
    ("11", "out[:, :] = v[0] if s > 1.0 else v[1] if fast else v[2]", rows(3)),
    ("11", "a, b = v[0], v[1]\nfor i in range(LIMIT):\n    a, b = b, a\nout[:, :] = a - b", rows(-4)),
    (
        "11",
        "i = n\nwhile not i >= N:\n    i += 1\n    if i == 2:\n        continue\n    out[0, i - 1] = 1.0",
        np.where(ROWS == 0, [0, 0, 1, 1, 1], 0),
    ),
    ("11", "out[:, :] = v[0]\nif s > 1.0 or v[n + 100] > 0.0:\n    return\nout[:, :] = 9.0", rows(3)),
    (
        "11",
        "out[:, :] = 0.0\nout[:, :] += x[:, :]\nout[0, 0] -= 1.0\nout[0, 1] *= 2.0\nout[0, 2] /= 4.0",
        X + places({(0, 0): -1, (0, 1): -3, (0, 2): 1.5}),
    ),
    ("11", "y: object = x[:, :]\npass\n'words'\nout[:, :] = y", X),
    (
        "11",
        "for i in I.parallel(I.domain(0, M)):\n    if i == 1:\n        continue\n    for j in range(N):\n        if j == 2:\n            break\n        out[i, j] = 1.0",
        np.where(ROWS != 1, [1, 1, 0, 0, 0], 0),
    ),
    # Constexprs: extents, flags, numbers, enums, outside names.
    (
        "1",
        "out[:, :] = I.reduce.sum(I.full((count, LIMIT), ratio, I.f32), axis=(0, 1)) + PAIR[0] + PAIR[1]",
        rows(6),
    ),
    ("1", "out[:, :] = I.cast(count * 2 + 1, I.f32) * I.cast(ratio / 2.0, I.f32)", rows(1.25)),
    # 12: buffers, atomics, random numbers, assumptions.
    (
        "12",
        "w = I.buffer((N,), I.f32, init=0.0)\nw[1:3] = v[0:2]\nw[k[0]] += 1.0\nout[:, :] = w[:]",
        rows([0, 3, 0, 0, 0]),
    ),
    ("12", "w = I.buffer((), I.f32, init=1.0)\nw[()] = w[()] + s\nout[:, :] = w[()]", rows(3)),
    (
        "12",
        "w = I.buffer((2, N), I.f32, init=x[0:2, :])\nfor a in range(2):\n    store(w, (a, 0), s)\nout[:, :] = w[1, :]",
        rows([2, 2, 3, 4, 5]),
    ),
    (
        "12",
        "w = I.buffer((2,), I.i32, init=0)\nfor i in I.parallel(I.domain(0, N)):\n    I.atomic.add(w, 0, k[i])\n    I.atomic.max(w, 1, k[i], order='acq_rel')\nout[:, :] = I.cast(I.atomic.load(w, 0, order='acquire') + w[1], I.f32)",
        rows(14),
    ),
    (
        "12",
        "w = I.buffer((1,), I.u32, init=5)\na = I.atomic.exchange(w, 0, 6)\nb = I.atomic.compare_exchange(w, 0, 6, 7)\nI.atomic.xor(w, 0, 1)\nI.atomic.or_(w, 0, 8)\nI.atomic.and_(w, 0, 14)\nI.atomic.min(w, 0, 100)\nc = w[0]\nI.atomic.store(w, 0, 0, order='release')\nout[:, :] = I.cast(a + b.old_value * 10 + c * 100, I.f32) + I.cast(b.success, I.f32) / 2.0",
        rows(5 + 60 + 1400 + 0.5),
    ),
    (
        "12",
        "seed = I.cast(7, I.u64)\na = I.random.uniform(seed, I.cast(I.indices(I.domain(0, N)), I.u64))\nb = I.random.bits(seed, I.cast(2, I.u64))\nout[:, :] = a[2] - I.cast(b >> 8, I.f32) / 16777216.0",
        ZERO,
    ),
    ("12", "i = I.indices(I.domain(0, N))\nI.assume_in_bounds(i, v, axis=0)\nout[:, :] = v[i]", rows(V)),
]


def text(body):
    return HELPERS + SIGNATURE + textwrap.indent(body, "    ") + "\n"


@pytest.mark.parametrize(
    "body, want",
    [pytest.param(body, want, id=f"{chapter}: {body[:60]}") for chapter, body, want in CONSTRUCTS],
)
def test_a_construct(author, body, want):
    out = np.zeros((3, 5), np.float32)
    intent.interpret(author(text(body)).kernel, X, V, K, B, FIXED, 2.0, 1, out)
    np.testing.assert_allclose(out, np.asarray(want, np.float32), rtol=1e-6, atol=1e-6)
