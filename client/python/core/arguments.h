#pragma once

// The arguments of a call, read from Python objects into what Bind (compiler/runtime) takes.
// Reading accepts what is right and quick to see; for all else it says no, and the package's
// marshal.py, which knows every protocol and every message, looks again: it converts the arguments,
// or raises.
//
// What reads an array is given by the caller: memory of the host (arrays.h) or of a device. Needs
// the GIL.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "client/python/core/arrays.h"
#include "compiler/ir/dtype.h"
#include "compiler/runtime/bind_arguments.h"

namespace intent::python {

// One runtime parameter of a kernel.
struct ParameterSpec {
  bool is_view = false;
  DType dtype = DType::kBool;
  std::string dtype_name;
  // Of a view.
  bool is_out = false;
  ArrayRules rules;
  std::optional<std::string> alias;  // views of one group lie in one object's memory
  struct Extent {
    bool is_symbol = false;
    int64_t value = 0;  // the extent, or the symbol's number
  };
  std::vector<Extent> shape;
};

// A call's arguments in the order of the signature. Spans point into `arrays`: never copied or
// moved after reading. The memory and the objects stay the caller's.
struct ArgumentList {
  ArgumentList() = default;
  ArgumentList(const ArgumentList&) = delete;
  ArgumentList& operator=(const ArgumentList&) = delete;

  std::vector<ArrayView> arrays;             // one per view
  std::vector<BoundAllocation> allocations;  // one per view
  std::vector<CallArgument> arguments;       // one per parameter
};

class Signature {
 public:
  // What reads one array argument; ReadArray without subclasses, for example.
  using Reader = std::optional<ArrayView> (*)(PyObject* value, const ArrayRules& rules);

  // `parameters`: for each runtime parameter a tuple (dtype) of a scalar, or (dtype, access, shape,
  // alias, numpy dtype, carrier dtype or None) of a view; a shape holds integers and symbols'
  // names.
  explicit Signature(nanobind::list parameters);

  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  size_t inputs() const { return inputs_; }  // parameters that are not Out

  // Reads one object for each parameter; false where marshal.py must look again. Null stands for an
  // Out array that is to be made, of NumPy's, of the extents that the other arrays give; they are
  // added to `made`.
  bool Read(const std::vector<PyObject*>& values, Reader reader, ArgumentList* list,
            std::vector<nanobind::object>* made) const;

 private:
  std::optional<uint64_t> ScalarBits(PyObject* value, const ParameterSpec& parameter) const;
  bool AliasesHold(const ArgumentList& list) const;
  // The extents of an Out array from those of the arrays that were given.
  std::optional<std::vector<int64_t>> OutExtents(const ParameterSpec& parameter,
                                                 const std::vector<PyObject*>& values,
                                                 const ArgumentList& list) const;

  std::vector<ParameterSpec> parameters_;
  size_t inputs_ = 0;
  size_t views_ = 0;
  bool has_aliases_ = false;
  nanobind::object scalar_bits_;  // intent.numbers.scalar_bits
};

}  // namespace intent::python
