"""The fast Fourier transform of rows whose length is a power of two.

Iterative, in two buffers: bit reversal, then butterflies whose span doubles. Coordinates are ordinary
numbers of dtype `I.index`, with shifts and bit operations; what enters float arithmetic is cast first.
A tuple of domains would not do here: the two inner loops depend on the outer one.
"""

import numpy as np

import intent
import intent.language as I


@intent.kernel
def fft(
    real: I.In[I.f32, ("M", "N")],
    imaginary: I.In[I.f32, ("M", "N")],
    out_real: I.Out[I.f32, ("M", "N")],
    out_imaginary: I.Out[I.f32, ("M", "N")],
    bits: I.Constexpr[int],
):
    M, N = real.shape
    for m in I.parallel(I.domain(0, M)):
        re = I.buffer((N,), I.f32)
        im = I.buffer((N,), I.f32)
        for i in range(N):
            mirrored = I.cast(0, I.index)
            for bit in range(bits):
                mirrored = (mirrored << 1) | ((i >> bit) & 1)
            re[i] = real[m, mirrored]
            im[i] = imaginary[m, mirrored]
        half = I.cast(1, I.index)
        while half < N:
            for k in range(half):
                angle = I.cast(k, I.f32) / I.cast(half, I.f32) * -3.141592653589793
                c = I.cos(angle)
                s = I.sin(angle)
                for top in range(k, N, 2 * half):
                    low = top + half
                    turned_re = re[low] * c - im[low] * s
                    turned_im = re[low] * s + im[low] * c
                    re[low] = re[top] - turned_re
                    im[low] = im[top] - turned_im
                    re[top] = re[top] + turned_re
                    im[top] = im[top] + turned_im
            half = 2 * half
        out_real[m, :] = re[:]
        out_imaginary[m, :] = im[:]


def check(target=None):
    rng = np.random.default_rng(14)
    real, imaginary = rng.standard_normal((2, 3, 64)).astype(np.float32)
    artifact = intent.compile(fft, target=target, constexprs={"bits": 6})
    got_real, got_imaginary = artifact.run(real, imaginary)
    want = np.fft.fft(real + 1j * imaginary, axis=1)
    np.testing.assert_allclose(got_real + 1j * got_imaginary, want, rtol=1e-5, atol=1e-5)
