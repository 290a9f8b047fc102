"""Group norm of images [batch, channel, height, width].

A reshape splits the channel axis into groups and members, and one reduction runs over three axes at
once. How many groups there are is a constexpr: it is known when the kernel is compiled, and the call
checks that the channels divide.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def group_norm(
    x: I.In[I.f32, ("B", "C", "H", "W")],
    weight: I.In[I.f32, ("C",)],
    bias: I.In[I.f32, ("C",)],
    epsilon: I.f32,
    y: I.Out[I.f32, ("B", "C", "H", "W")],
    groups: I.Constexpr[int],
):
    B, C, H, W = x.shape
    members = C // groups
    value = I.reshape(x[:, :, :, :], (B, groups, members, H, W))
    count = I.cast(members * H * W, I.f32)
    mean = I.reduce.sum(value, axis=(2, 3, 4)) / count
    moved = value - mean[:, :, None, None, None]
    variance = I.reduce.sum(moved * moved, axis=(2, 3, 4)) / count
    normal = I.reshape(moved * I.rsqrt(variance + epsilon)[:, :, None, None, None], (B, C, H, W))
    y[:, :, :, :] = normal * weight[:][:, None, None] + bias[:][:, None, None]


def check(target=None):
    rng = np.random.default_rng(63)
    x = (rng.standard_normal((2, 6, 5, 7)) * 3 + 1).astype(np.float32)
    weight, bias = rng.standard_normal((2, 6)).astype(np.float32)
    artifact = intent.compile(group_norm, target=target, constexprs={"groups": 3})
    y = artifact.run(x, weight, bias, 1e-5)
    value = x.reshape(2, 3, -1).astype(np.float64)
    normal = (value - value.mean(axis=2, keepdims=True)) / np.sqrt(value.var(axis=2, keepdims=True) + 1e-5)
    want = normal.reshape(x.shape) * weight[:, None, None] + bias[:, None, None]
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)
