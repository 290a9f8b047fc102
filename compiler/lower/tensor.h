#pragma once

// What KIR values are during lowering: scalars are tile values, tensors are lazy, products are
// lists.

#include <functional>
#include <memory>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/tile/tile_builder.h"

namespace intent::lower {

using tile::Id;
using tile::kNoId;

// One coordinate in a context of `lanes` lanes: lane l stands at base + l*step, or at general[l].
struct Coord {
  Id base = kNoId;
  int64_t step = 0;
  Id general = kNoId;

  bool uniform() const { return general == kNoId && step == 0; }
};

// Memory that a value lives in or reads from.
struct MemoryOrigin {
  enum class Kind : uint8_t { kPrivate, kView, kBuffer } kind = Kind::kPrivate;
  int view = -1;              // kView: position among view parameters
  ValueId buffer = kNoValue;  // kBuffer: the value that declares it
  bool operator==(const MemoryOrigin&) const = default;
};

struct Tensor;
using TensorPtr = std::shared_ptr<Tensor>;

// A domain or one axis of a product.
struct DomainAxis {
  Id begin = kNoId;
  Id step = kNoId;
  Id extent = kNoId;
  ValueId value = kNoValue;  // the KIR domain it came from
};

// A view or buffer.
struct Resource {
  MemoryOrigin origin;
  Id base = kNoId;
  std::vector<Id> extents;
  std::vector<Id> strides;
  DType dtype = DType::kBool;
};

struct Binding {
  enum class Kind : uint8_t {
    kNone,
    kScalar,
    kTensor,
    kProduct,
    kDomain,
    kResource
  } kind = Kind::kNone;
  Id scalar = kNoId;
  TensorPtr tensor;
  std::vector<Binding> fields;
  std::vector<DomainAxis> domain;
  std::shared_ptr<Resource> resource;

  static Binding Scalar(Id id) {
    Binding binding;
    binding.kind = Kind::kScalar;
    binding.scalar = id;
    return binding;
  }
  static Binding OfTensor(TensorPtr tensor) {
    Binding binding;
    binding.kind = Kind::kTensor;
    binding.tensor = std::move(tensor);
    return binding;
  }
  static Binding Product(std::vector<Binding> fields) {
    Binding binding;
    binding.kind = Kind::kProduct;
    binding.fields = std::move(fields);
    return binding;
  }
  // Scalars and tensors of a product in order; a non-product is its own only leaf.
  void Leaves(std::vector<Binding>* leaves) const {
    if (kind != Kind::kProduct) {
      leaves->push_back(*this);
      return;
    }
    for (const Binding& field : fields) field.Leaves(leaves);
  }
};

// Where one axis of a window's source stands.
struct WindowAxis {
  int axis = -1;     // the axis of the window that runs along it; -1: a single coordinate
  Id begin = kNoId;  // of the source, the window's first coordinate there
};

struct Context;

// A rule for elements that no single operation of KIR stands for, such as decoded operands.
struct Computed {
  std::function<Id(const std::vector<Coord>& coords, const Context& context)> element;
  // By operand and its axis: the tensor's axis whose coordinate it takes unchanged, or -1.
  std::vector<std::vector<int>> follows;
};

// A tensor value. Strided: its elements lie in memory at base[sum coordinate*stride]. Otherwise its
// elements are computed by a rule if there is one, or else from `op` and the bindings of its
// operands, or, without `op`, are those of a window of its one operand.
struct Tensor {
  uint64_t serial = 0;  // unique in one lowering
  DType dtype = DType::kBool;
  std::vector<Id> extents;
  const Op* op = nullptr;  // the KIR operation that gave it; null for carries, results of stages
                           // and windows
  std::vector<Binding> operands;
  std::vector<WindowAxis> window;            // by axis of the operand
  std::shared_ptr<const Computed> computed;  // then `op` is null
  bool strided = false;
  Id base = kNoId;
  std::vector<Id> strides;
  MemoryOrigin origin;  // of strided memory
  // Views that cannot change what this value reads any more: where they overlap it, it reads a
  // copy.
  std::vector<int> separated;
  bool row_local =
      false;     // only the current row block of a group exists, addressed by absolute rows
  int size = 1;  // operations in the lazy expression below, for the plan's limits
  bool expensive = false;  // a transcendental, division or indirect read is in it

  int rank() const { return static_cast<int>(extents.size()); }
};

}  // namespace intent::lower
