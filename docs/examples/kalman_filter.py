"""A Kalman filter for many series at once, each of position and velocity.

Series are points of a parallel loop; time is an ordinary loop whose carried state is a record: the two
estimates, and the three different entries of their covariance. A record keeps its type from round to
round, and a helper makes the next one from the last.
"""

import numpy as np

import intent
import intent.language as I


@intent.fn
def predict(s, noise):
    """One step on: the position moves by the velocity."""
    return I.record(
        x=s.x + s.v, v=s.v, xx=s.xx + 2.0 * s.xv + s.vv + noise, xv=s.xv + s.vv, vv=s.vv + noise
    )


@intent.fn
def correct(s, seen, doubt):
    """What a measured position changes."""
    surprise, weight = seen - s.x, 1.0 / (s.xx + doubt)
    gain_x, gain_v = s.xx * weight, s.xv * weight
    return I.record(
        x=s.x + gain_x * surprise,
        v=s.v + gain_v * surprise,
        xx=s.xx - gain_x * s.xx,
        xv=s.xv - gain_x * s.xv,
        vv=s.vv - gain_v * s.xv,
    )


@intent.kernel
def filtered(z: I.In[I.f64, ("B", "T")], noise: I.f64, doubt: I.f64, out: I.Out[I.f64, ("B", "T")]):
    B, T = z.shape
    for b in I.parallel(I.domain(0, B)):
        s = I.record(x=0.0, v=0.0, xx=10.0, xv=0.0, vv=10.0)
        for t in range(T):
            s = correct(predict(s, noise), z[b, t], doubt)
            out[b, t] = s.x


def reference(z, noise, doubt):
    step, state, cover, found = np.array([[1, 1], [0, 1]]), np.zeros(2), np.eye(2) * 10.0, []
    for seen in z:
        state, cover = step @ state, step @ cover @ step.T + np.eye(2) * noise
        gain = cover[:, 0] / (cover[0, 0] + doubt)
        state, cover = state + gain * (seen - state[0]), cover - np.outer(gain, cover[0])
        found.append(state[0])
    return found


def check(target=None):
    z = np.cumsum(np.random.default_rng(63).standard_normal((7, 40)), axis=1)
    got = intent.compile(filtered, target=target).run(z, 0.01, 0.5)
    np.testing.assert_allclose(got, [reference(row, 0.01, 0.5) for row in z], rtol=1e-8, atol=1e-10)
