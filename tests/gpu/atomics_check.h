#pragma once

// Atomics of the device library on a GPU: what many threads do to few elements, with every order.

#include <string>

#include "tests/gpu/device_session.h"
#include "tests/gpu/images.h"
#include "tests/gpu/tally.h"

namespace intent::gpu_test {

// The kernels, CUDA C++.
std::string AtomicsSource();

void CheckAtomics(const DeviceSession& session, const Images& images, Tally* tally);

}  // namespace intent::gpu_test
