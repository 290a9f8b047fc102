"""Running sums that start anew at every flag.

The classic pair of flag and value: whoever comes from the right and begins a segment forgets what came
before. The combine is associative but not commutative, which is why it is a scan and not a reduction.
The components of a state may have different dtypes.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def restart(a, b):
    return I.record(begins=a.begins | b.begins, total=I.select(b.begins, b.total, a.total + b.total))


@intent.kernel
def segmented_sums(
    x: I.In[I.f32, ("N",)],
    begins: I.In[I.bool, ("N",)],
    sums: I.Out[I.f32, ("N",)],
):
    so_far = I.scan(
        I.record(begins=begins[:], total=x[:]),
        axis=0,
        identity=I.record(begins=False, total=I.cast(0.0, I.f32)),
        combine=restart,
        inclusive=True,
    )
    sums[:] = so_far.total


def check(target=None):
    rng = np.random.default_rng(27)
    x = rng.integers(-9, 10, 203).astype(np.float32)
    begins = rng.random(203) < 0.1
    sums = intent.compile(segmented_sums, target=target).run(x, begins)
    parts = np.split(x, np.flatnonzero(begins))
    np.testing.assert_array_equal(sums, np.concatenate([np.cumsum(part) for part in parts]))
