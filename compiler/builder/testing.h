#pragma once

// Short hands for tests of the builder.

#include <string>
#include <vector>

#include "compiler/builder/builder.h"

namespace intent {

inline Operand Int(__int128 value) { return Literal{Literal::Kind::kInt, value, 0}; }
inline Operand Float(double value) { return Literal{Literal::Kind::kFloat, 0, value}; }
inline Operand Bool(bool value) { return Literal{Literal::Kind::kBool, value, 0}; }

// "E0201 f32 and f64 ..." of every diagnostic.
inline std::vector<std::string> Messages(const KernelBuilder& builder) {
  std::vector<std::string> messages;
  for (const Diagnostic& diagnostic : builder.diagnostics()) {
    messages.push_back(std::string(CodeText(diagnostic.code)) + " " + diagnostic.message);
  }
  return messages;
}

// The names of the kernel's operations in pre-order.
inline std::string Kinds(const Module& module) {
  std::string text;
  ForEachOp(module.kernel_function().body, [&](const Op& op) {
    text += (text.empty() ? "" : " ") + std::string(InfoOf(op.kind).name);
  });
  return text;
}

inline IndexItem At(Operand operand) {
  return {.kind = IndexItem::Kind::kOperand, .operand = std::move(operand)};
}
inline IndexItem All() { return {.kind = IndexItem::Kind::kFull}; }
inline IndexItem Slice(std::optional<Operand> start, std::optional<Operand> stop) {
  return {.kind = IndexItem::Kind::kSlice, .start = std::move(start), .stop = std::move(stop)};
}

}  // namespace intent
