#pragma once

// Textual KIR: for people, tests and bug reports. Every module that DecodeModule can give prints,
// and ParseModule (parse.h) reads it back to the same bytes. The grammar stands in parse.h.
//
//   kernel (%0: view<in, f32, [s0]>, %1: view<out, f32, [s0]> noalias) {
//     %2 = view_load %0 [:] : tensor<f32, [s0]>
//     %3 = binary add %2, %2 : tensor<f32, [s0]>
//     view_store %1 [:] = %3
//     return
//   }
//
// Values are numbered in order of appearance, so equal programs print equally. Thread-safe.

#include <string>

#include "compiler/ir/module.h"

namespace intent {

std::string PrintModule(const Module& module);

}  // namespace intent
