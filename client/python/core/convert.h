#pragma once

// Python values to what KernelBuilder takes, and back. Literals are Python's own bool, int and
// float on the Python side; every other operand is an Operand object.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "compiler/builder/builder.h"

namespace intent::python {

// Raises TypeError for what is no operand and OverflowError for integers beyond 128 bits.
Operand ToOperand(nanobind::handle value);
std::optional<Operand> ToOptionalOperand(nanobind::handle value);  // None: absent
std::vector<Operand> ToOperands(nanobind::handle sequence);
nanobind::object FromOperand(const Operand& operand);
nanobind::list FromOperands(const std::vector<Operand>& operands);

// A list of index terms: an empty slice, a slice of operands, None (new axis), Ellipsis, an
// operand.
std::vector<IndexItem> ToIndex(nanobind::handle sequence);

// Canonical names; ValueError for unknown ones.
DType ToDType(nanobind::handle name);
std::optional<DType> ToOptionalDType(nanobind::handle name);
UnaryKind ToUnaryKind(const std::string& name);
BinaryKind ToBinaryKind(const std::string& name);
CompareKind ToCompareKind(const std::string& name);
RmwKind ToRmwKind(const std::string& name);
MemoryOrder ToMemoryOrder(const std::string& name);
CombineKind ToCombineKind(const std::string& name);
DiagnosticCode ToDiagnosticCode(const std::string& text);

}  // namespace intent::python
