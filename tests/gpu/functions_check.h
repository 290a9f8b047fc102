#pragma once

// The functions of the device library on a GPU.

#include <cstddef>

#include "tests/gpu/device_session.h"
#include "tests/gpu/images.h"
#include "tests/gpu/tally.h"

namespace intent::gpu_test {

// Every exact function of every dtype against compiler/numerics, bit for bit.
void CheckExactFunctions(const DeviceSession& session, const Images& images, Tally* tally);

// Real functions against MPFR on about `points` arguments (all of them for small formats), and the
// table of errors that docs/numerics.md shows.
void CheckRealFunctions(const DeviceSession& session, const Images& images, size_t points,
                        Tally* tally);

// The approximate forms: bounds, special values and flushing (seed 000 chapter 5.1).
void CheckApproximateForms(const DeviceSession& session, const Images& images, Tally* tally);

}  // namespace intent::gpu_test
