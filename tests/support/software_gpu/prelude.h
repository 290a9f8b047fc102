#pragma once

// Every kernel of the software GPU begins with this, precompiled: the builtins and the device
// library, with what is the machine's replaced.

#include "compiler/cuda/device_on_host/launch_builtins.h"
// Words of the builtins come first.
#include "intent/atomics.cuh"
#include "intent/contract.cuh"
#include "intent/contract_widened.cuh"
#include "intent/core.cuh"
#include "intent/math.cuh"
#include "intent/narrow.cuh"
#include "intent/special.cuh"
#include "intent/unit.cuh"
#include "intent/wide.cuh"

// Launches kernel `name` of the emitter: `words` are its Arguments as they lie in memory.
#define INTENT_SOFTWARE_KERNEL(name)                                                       \
  extern "C" const unsigned long name##_argument_bytes = sizeof(intent::Arguments);        \
  extern "C" void name##_launch(const emulation::Launch* launch, const void* words) {      \
    intent::Arguments arguments;                                                           \
    std::memcpy(&arguments, words, sizeof arguments);                                      \
    emulation::RunGrid(                                                                    \
        *launch, [] { return intent::dynamic_shared; }, [&] { intent::name(arguments); }); \
  }

namespace intent {
alignas(1024) inline thread_local char dynamic_shared[emulation::kSharedLimit];
}  // namespace intent
