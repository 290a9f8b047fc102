#pragma once

// The Python class Builder over KernelBuilder: every method takes and gives Python values, names
// kinds by their text, and adds nothing to what the builder means.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "client/python/core/convert.h"

namespace intent::python {

// A finished block that no operation owns yet.
struct RegionHandle {
  KernelBuilder::RegionPtr region;
};

using BuilderClass = nanobind::class_<KernelBuilder>;
using AxisPairs = std::vector<std::pair<int64_t, int64_t>>;

void BindFrame(BuilderClass& builder);       // places, diagnostics, signature, facts, regions, end
void BindValues(BuilderClass& builder);      // pointwise, shapes, domains, products, memory
void BindStructured(BuilderClass& builder);  // reductions, scans, contractions, formats

}  // namespace intent::python
